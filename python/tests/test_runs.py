"""Runs: Ctrl-C, time limits, progress, threads, forks."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import drover as dv

LONG = {"method": "gibbs", "chains": 64, "sweeps": 10**9, "burn_in": 10}


def interrupted_after(seconds, work):
    """Runs `work` and sends SIGINT meanwhile; gives its result and how long it took from there."""
    sent = []

    def send():
        time.sleep(seconds)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = work()
        return result, time.monotonic() - sent[0], {w.category for w in caught}
    finally:
        thread.join()


@pytest.mark.parametrize("task", ["marginals", "sample"])
def test_ctrl_c_gives_the_result_so_far(task):
    model = dv.grid(30, 30, coupling=0.2)
    options = dict(LONG, samples=10**9, thin=10) if task == "sample" else LONG
    if task == "sample":
        del options["sweeps"]
    result, _, categories = interrupted_after(1, lambda: getattr(model, task)(**options))
    assert result.interrupted and dv.InterruptedWarning in categories and result.sweeps > 0
    assert "interrupted" in " ".join(result.warnings)


def test_ctrl_c_in_a_search_for_the_best_state():
    rng = np.random.default_rng(0)
    edges = np.array([(i, j) for i in range(300) for j in range(i)])
    model = dv.ising(edges, rng.normal(size=len(edges)))
    best, _, _ = interrupted_after(1, lambda: model.map(method="annealed-gibbs", sweeps=10**8))
    assert best.interrupted and len(best.assignment) == 300


def test_a_result_after_an_interrupt_is_whole():
    model = dv.grid(30, 30, coupling=0.2)
    result, _, _ = interrupted_after(1, lambda: model.marginals(**LONG))
    np.testing.assert_allclose(result.values.reshape(-1, 2).sum(axis=1), 1, rtol=1e-9)
    assert model.marginals(method="gibbs", sweeps=100, chains=64).interrupted is False


test_a_result_after_an_interrupt_is_whole = pytest.mark.filterwarnings("ignore::drover.ConvergenceWarning")(
    test_a_result_after_an_interrupt_is_whole)


def test_nothing_yet_is_a_keyboard_interrupt():
    """Exact inference has no result before its end."""
    rng = np.random.default_rng(0)
    edges = np.array([(i, j) for i in range(26) for j in range(i)])
    model = dv.ising(edges, rng.normal(size=len(edges)))
    with pytest.raises(KeyboardInterrupt):
        interrupted_after(0.1, lambda: [model.marginals(method="exact", memory_limit=8) for _ in range(1000)])


def test_time_limits():
    model = dv.grid(30, 30, coupling=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = model.marginals(time=2, method="gibbs")
    assert not answer.interrupted and answer.sweeps > 0
    assert issubclass(dv.StoppedError, TimeoutError)


def test_progress_is_called_and_may_end_the_run():
    seen = []
    model = dv.grid(30, 30, coupling=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.marginals(method="gibbs", time=2, progress=seen.append)
    assert seen and {"phase", "fraction", "sweeps", "updates", "rhat_max", "seconds"} <= set(seen[0])

    def enough(progress):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        model.marginals(**LONG, progress=enough)


def test_threads_run_side_by_side():
    """Two questions at once, from two threads, give what they give alone."""
    model = dv.grid(20, 20, coupling=0.2)
    alone = [model.sample(6400, method="gibbs", chains=64, seed=s, threads=1).values for s in (1, 2)]
    found = [None, None]

    def ask(k):
        found[k] = model.sample(6400, method="gibbs", chains=64, seed=k + 1, threads=1).values

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(2):
        np.testing.assert_array_equal(found[k], alone[k])


test_threads_run_side_by_side = pytest.mark.filterwarnings("ignore::drover.ConvergenceWarning")(test_threads_run_side_by_side)


def test_other_threads_run_while_drover_works():
    model = dv.grid(40, 40, coupling=0.2)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.marginals(method="gibbs", time=2)
    done.set()
    thread.join()
    assert len(ticks) > 10


def test_other_threads_run_while_states_are_scored():
    model = dv.grid(100, 100, coupling=0.2)
    states = np.zeros((1000, 10_000), dtype=np.int64)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    scores = model.log_score(states)
    end = time.monotonic()
    done.set()
    thread.join()
    np.testing.assert_array_equal(scores, scores[0])
    assert sum(begin < t < end for t in ticks) > 2


def test_draws_of_a_run_that_was_held_are_not_copied():
    run = dv.grid(10, 10, coupling=0.2).start_sampling(method="gibbs", chains=4)
    while not run.inspect().draws:
        time.sleep(0.01)
    first, second = run.stop(), run.stop()
    assert np.shares_memory(first.values, second.values) and first.values.shape[0] == 4
    assert not first.values.flags.writeable


def python(code):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False, timeout=60)


def test_a_fork_says_so_instead_of_hanging():
    result = python("""
        import os, drover as dv
        m = dv.grid(4, 4, coupling=.1)
        m.marginals()
        if os.fork() == 0:
            try:
                m.marginals()
            except dv.UsageError as error:
                os.write(1, str(error).encode())
            os._exit(0)
        os.wait()
    """)
    assert "forked" in result.stdout, result.stderr


def test_a_fork_before_the_first_question_is_fine():
    result = python("""
        import os, drover as dv
        m = dv.grid(4, 4, coupling=.1)
        if os.fork() == 0:
            os.write(1, str(m.marginals()[0, 1]).encode())
            os._exit(0)
        os.wait()
    """)
    assert float(result.stdout) == pytest.approx(0.5), result.stderr


def test_import_needs_numpy_only():
    result = python("""
        import sys
        import drover
        print(sorted(set(sys.modules) & {"scipy", "pandas", "xarray", "networkx", "sklearn", "matplotlib", "IPython"}))
    """)
    assert result.stdout.strip() == "[]", result.stderr


def test_ctrl_c_ends_every_task():
    """A round of what tools/python_interrupts measures; no clock decides here."""
    script = Path(__file__).resolve().parents[2] / "tools" / "python_interrupts"
    result = subprocess.run([sys.executable, script, "--rounds", "1", "--limit", "0"], capture_output=True, text=True, check=False, timeout=500)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("in time") > 20
