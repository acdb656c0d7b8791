"""Herding, learning, diagnosis, models that change, runs that are held, pickles."""

import copy
import pickle
import time

import numpy as np
import pytest
from conftest import MODELS, enumerate_marginals, run_command

import drover as dv

GARDEN = MODELS / "garden.csv"


def test_herding_has_the_moments_of_the_data():
    rng = np.random.default_rng(2)
    data = (rng.random((500, 4)) < 0.3) | (rng.random((500, 1)) < 0.2)
    herding = dv.Herding.from_data(data, order=2)
    samples = herding.sample(20_000)
    assert samples.shape == (20_000, 4) and not samples.flags.writeable
    np.testing.assert_allclose(samples.mean(axis=0), data.mean(axis=0), atol=1e-3)
    assert herding.probability({"x0": 1, 2: 1}) == pytest.approx((data[:, 0] & data[:, 2]).mean(), abs=1e-3)
    assert herding.result.moment_error_max < 1e-3 and "HerdResult" in repr(herding)
    with pytest.raises(dv.UsageError, match="unknown variable 'y'"):
        herding.probability({"y": 1})


def test_herding_is_that_of_the_command(tmp_path):
    pandas = pytest.importorskip("pandas")
    expected = run_command("herd", GARDEN, "--samples", 3000, "--query", "rain=1")
    for data in (GARDEN, pandas.read_csv(GARDEN)):
        result = dv.herd(data, samples=3000, query="rain=1")
        assert result.moment_error_max == expected["moment_error_max"] and result.weight_norm == expected["weight_norm"]
        assert result.samples == 3000 and len(result.expectations) == 1
    with pytest.raises(dv.UsageError, match="unknown option smaples; did you mean samples"):
        dv.herd(GARDEN, smaples=10)


def test_numbers_need_a_decision():
    data = np.arange(40).reshape(20, 2)
    with pytest.raises(dv.DataError, match="numbers other than 0 and 1"):
        dv.herd(data, samples=10)
    assert dv.herd(data, samples=10, binarise="median").samples == 10
    holes = np.array([[0, 1.0], [1, np.nan], [1, 0], [0, 1]])
    with pytest.raises(dv.DataError, match="NaN in row 1"):
        dv.herd(holes, samples=10)
    assert dv.herd(holes, samples=10, missing="drop").rows == 3


def test_learning_is_that_of_the_command(tmp_path):
    options = {"iterations": 30, "hidden": 3, "seed": 4, "columns": "rain,sprinkler"}
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    run_command("learn", "rbm", GARDEN, *flags, "--out", tmp_path / "command.drv")
    result = dv.learn("rbm", GARDEN, **options)
    result.save(tmp_path / "python.drv")
    theirs, ours = dv.read(tmp_path / "command.drv"), dv.read(tmp_path / "python.drv")
    states = np.array([[0, 1, 1, 0, 1], [1, 1, 0, 1, 1]])
    np.testing.assert_array_equal(theirs.log_score(states), ours.log_score(states))
    np.testing.assert_array_equal(result.model.log_score(states), ours.log_score(states))
    assert result.weights.shape == (2, 3) and result.biases.shape == (5,) and result.names == ["rain", "sprinkler"]
    assert result.verdict in ("good", "caution", "bad") and "LearnResult" in repr(result)


def test_an_ising_model_is_learnt_from_its_own_samples():
    model = dv.ising([[0, 1], [1, 2]], [0.6, -0.4], [0.2, 0.0, -0.1])
    data = model.sample(20_000, method="exact", seed=1).values.reshape(-1, 3)
    learnt = dv.learn("ising", data, method="exact", iterations=300).model
    np.testing.assert_allclose(learnt.marginals().values, np.bincount(np.repeat(np.arange(3), len(data)) * 2 + data.T.ravel(),
                                                                       minlength=6) / len(data), atol=0.005)


def test_diagnosis_of_anyones_draws(tmp_path):
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(4, 1000, 2))
    diagnosis = dv.diagnose(draws, names=["a", "b"])
    assert diagnosis.converged and diagnosis.rhat_max < 1.01 and diagnosis.names == ["a", "b"]
    np.testing.assert_allclose(diagnosis.mean, draws.mean(axis=(0, 1)))
    np.testing.assert_allclose(diagnosis.mcse, draws.std(axis=(0, 1)) / np.sqrt(4000), rtol=0.2)
    np.savez(tmp_path / "draws.npz", draws=draws)
    expected = run_command("diagnose", tmp_path / "draws.npz")
    assert diagnosis.rhat.tolist() == [v["rhat"] for v in expected["variables"]]
    apart = draws + np.arange(4)[:, None, None]
    assert not dv.diagnose(apart).converged and dv.diagnose(apart).verdict == "bad"
    pytest.importorskip("pandas")
    assert list(diagnosis.to_frame().index) == ["a", "b"]
    summary = dv.grid(3, 3, coupling=0.1).sample(8000, method="exact").summary()
    assert summary.converged and len(summary.names) == 9 and len(repr(summary).splitlines()) < 20


def test_a_model_that_changes():
    model = dv.Model({"a": 2, "b": 2, "c": 3})
    model.factor("a", [0.4, 0.6])
    dynamic = dv.DynamicModel(model, seed=1)
    factor = dynamic.add_factor("a", "b", coupling=0.7)
    table = np.array([[1.0, 2.0, 0.5], [0.3, 1.0, 1.5]])
    dynamic.add_factor("b", "c", table=table)
    dynamic.sweep(100)
    dynamic.forget()
    dynamic.sweep(2000)
    same = dynamic.model()
    expected, _ = enumerate_marginals(same)
    found = dynamic.marginals()
    for name, row in zip("abc", expected):
        np.testing.assert_allclose(found[name], row, atol=0.03)
    assert found.sweeps == 2100 and dynamic.factors == 2
    dynamic.remove_factor(factor)
    dynamic.clamp("b", 1)
    dynamic.add_variable("d", field=0.5)
    dynamic.sweep(10)
    assert dynamic.marginals(["b"])["b"].tolist() == [0, 1] and dynamic.factors == 1 and dynamic.variables == 4
    for wrong in (lambda: dynamic.clamp("z", 1), lambda: dynamic.remove_factor(factor), lambda: dynamic.add_factor("a", "b")):
        with pytest.raises(dv.UsageError, match="expected"):
            wrong()
    hard = dv.Model(2)
    hard.factor([0, 1], [[1, 0], [0, 1]])
    with pytest.raises(dv.MisfitError):
        dv.DynamicModel(hard)


def test_a_run_that_is_held():
    run = dv.grid(20, 20, coupling=0.2).start_sampling(method="gibbs", chains=64, burn_in=5, thin=20)
    deadline = time.monotonic() + 30
    while run.inspect().draws == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert run.inspect().running and run.inspect().draws > 0
    run.pause()
    held, before = run.inspect(), -1
    while held.draws != before and time.monotonic() < deadline:  # what is under way ends first
        before = held.draws
        time.sleep(0.5)
        held = run.inspect()
    assert held.paused and held.draws == before
    run.resume()
    draws = run.stop()
    assert draws.values.shape[0] == 64 and draws.draws * 64 >= held.draws and not run.inspect().running
    assert draws.interrupted
    again = run.stop()
    np.testing.assert_array_equal(again.values, draws.values)


def test_a_held_run_gives_what_sample_gives():
    model = dv.grid(5, 5, coupling=0.2)
    options = {"method": "gibbs", "chains": 64, "samples": 6400, "seed": 3, "burn_in": 50}
    expected = model.sample(**options).values
    np.testing.assert_array_equal(model.start_sampling(**options).wait().values, expected)
    with pytest.raises(dv.MisfitError):
        dv.read(MODELS / "sprinkler.bif").start_sampling(method="swendsen-wang", samples=10).wait()
    run = model.start_sampling(method="gibbs")
    del run


test_a_held_run_gives_what_sample_gives = pytest.mark.filterwarnings("ignore::drover.ConvergenceWarning")(
    test_a_held_run_gives_what_sample_gives)


@pytest.mark.filterwarnings("ignore::drover.ConvergenceWarning")
def test_pickles(sprinkler):
    gates = dv.Model(3)
    gates.gate("noisy-or", [0, 1, 2], [0.5, 0.6], leak=0.1)
    net = dv.BayesNet()
    net.add("a", ["x", "y"], [0.5, 0.5])
    for model in (sprinkler, gates, net, dv.rbm(np.ones((2, 2)), 0.1, 0.2), dv.grid(3, 3, coupling=0.2)):
        again = pickle.loads(pickle.dumps(model))
        assert type(again) is type(model) and again.names == model.names and again.source == model.source
        np.testing.assert_array_equal(again.marginals().values, model.marginals().values)
        np.testing.assert_array_equal(copy.deepcopy(model).marginals().values, model.marginals().values)
    for answer in (sprinkler.marginals({"lawn": "wet"}, pairs=True), sprinkler.marginals(method="gibbs", sweeps=50), sprinkler.map(),
                   sprinkler.logz(method="bp"), sprinkler.sample(64, method="gibbs")):
        again = pickle.loads(pickle.dumps(answer))
        assert again.to_json() == answer.to_json() and repr(again) == repr(answer) and again.evidence == answer.evidence
        assert copy.deepcopy(answer).to_json() == answer.to_json()
        if hasattr(answer, "values"):
            np.testing.assert_array_equal(again.values, answer.values)
    with pytest.raises(dv.DataError):
        dv.Model.__new__(dv.Model).__setstate__(b"nonsense")
