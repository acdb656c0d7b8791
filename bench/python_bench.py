#!/usr/bin/env python3
"""The Python package beside what Debian offers, in one run: bench/python_bench.py (build it first; `make python`).

Every figure is the best of several runs; ratios are within this run. Prints a table. Words choose parts of it: bench/python_bench.py threads
"""

import math
import random
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "build" / "python"))
import drover as dv  # noqa: E402

warnings.simplefilter("ignore")


def best(work, runs=5):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def row(what, ours, others="", note=""):
    print(f"{what:48} {ours:>14} {others:>18}   {note}", flush=True)


def import_time():
    def load(module):
        code = f"import time; s = time.perf_counter(); import numpy; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
        return min(float(subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(TOP / 'build' / 'python')!r}); {code}"],
                                        capture_output=True, text=True, check=True).stdout) for _ in range(3))

    row("import beyond NumPy's own", f"{1e3 * load('drover'):.0f} ms", f"{1e3 * load('sklearn.neural_network'):.0f} ms", "sklearn.neural_network")
    size = sum(f.stat().st_size for f in (TOP / "build" / "python" / "drover").glob("*") if f.is_file())
    row("installed size", f"{size / 1e6:.1f} MB")


def overhead():
    model = dv.read(TOP / "models" / "sprinkler.bif")
    calls = 1000
    seconds = best(lambda: [model.marginals({"lawn": "wet"}) for _ in range(calls)], 10) / calls
    one = dv.Model(1)
    bare = best(lambda: [one.marginals() for _ in range(calls)], 10) / calls
    row("marginals of a 5-variable network, whole call", f"{1e6 * seconds:.1f} us", f"{1e6 * bare:.1f} us", "drover, of one variable: the way there and back")


def threads():
    model = dv.grid(100, 100, coupling=0.3)

    def work(seed):
        model.sample(64 * 200, method="gibbs", chains=64, seed=seed, threads=1, burn_in=100, progress=False)

    def two():
        both = [threading.Thread(target=work, args=(s,)) for s in (1, 2)]
        [t.start() for t in both]
        [t.join() for t in both]

    one = best(lambda: work(1))
    row("two threads, two runs, against one run", f"{best(two) / one:.2f} times", "", f"one takes {one:.2f} s")


def views():
    """A million marginals: how long the answer takes to be there as an array, beside a copy of it."""
    answer = dv.grid(1000, 1000, coupling=0.3).marginals(method="mean-field", iterations=1, progress=False)
    copied = best(lambda: answer.values.copy())
    view = best(lambda: answer.values, 100)
    same = np.shares_memory(answer.values, answer.values) and not answer.values.flags.owndata
    row("10^6 marginals as an array", f"{1e6 * view:.1f} us", f"{1e3 * copied:.1f} ms", f"a copy of it; the answer's own memory: {same}")


def rows_of_data():
    model = dv.read(TOP / "models" / "sprinkler.bif")
    rng = np.random.default_rng(0)
    data = {"lawn": rng.choice(["dry", "wet"], 20_000), "sprinkler": rng.choice(["off", "on"], 20_000)}
    many = best(lambda: model.marginals(rows=data, query=["rain"]), 3)
    one = best(lambda: [model.marginals({"lawn": a, "sprinkler": b}) for a, b in zip(data["lawn"][:1000], data["sprinkler"][:1000])], 3)
    row("20,000 rows of a 5-variable network", f"{20_000 / many / 1e3:.0f} k/s", f"{1e3 / one / 1e3:.0f} k/s", "drover, a question for each")


def first_answer():
    """From edges to exact marginals: one process that imports, builds and asks; beside NumPy enumerating the states."""
    size = 18
    edges = np.array([(i, (i + 1) % size) for i in range(size)] + [(i, (i + 5) % size) for i in range(size)])
    ours = best(lambda: dv.ising(edges, 0.3, np.linspace(-1, 1, size)).marginals())

    def enumerate_states():
        spins = 2 * (np.arange(2**size)[:, None] >> np.arange(size) & 1) - 1
        weight = np.exp(0.3 * (spins[:, edges[:, 0]] * spins[:, edges[:, 1]]).sum(axis=1) + spins @ np.linspace(-1, 1, size))
        return (weight @ (spins > 0)) / weight.sum()

    row("an Ising model of 18 spins, built and answered", f"{1e3 * ours:.2f} ms", f"{1e3 * best(enumerate_states, 2):.0f} ms", "NumPy, all states")


def numpy_loop():
    """Gibbs on a chequerboard, vectorised by NumPy over sites of one colour and over chains."""
    size, chains, sweeps, coupling = 64, 64, 100, 0.3
    rng = np.random.default_rng(0)
    spins = rng.choice(np.array([-1, 1], dtype=np.int8), size=(chains, size, size))
    colour = np.add.outer(np.arange(size), np.arange(size)) % 2 == 0

    def sweep():
        for mask in (colour, ~colour):
            field = np.roll(spins, 1, 1) + np.roll(spins, -1, 1) + np.roll(spins, 1, 2) + np.roll(spins, -1, 2)
            p = 1 / (1 + np.exp(-2 * coupling * field[:, mask]))
            spins[:, mask] = np.where(rng.random(p.shape) < p, 1, -1)

    theirs = best(lambda: [sweep() for _ in range(sweeps)], 2)
    model = dv.grid(size, size, coupling=coupling, periodic=True)
    ours = best(lambda: model.marginals(method="gibbs", chains=chains, sweeps=sweeps, burn_in=0, threads=1, progress=False), 3)
    updates = chains * sweeps * size * size
    row("Gibbs, 64 chains of a 64 x 64 torus, 1 thread", f"{updates / ours / 1e6:.0f} M/s", f"{updates / theirs / 1e6:.0f} M/s",
        f"NumPy by colours; {theirs / ours:.0f} times")


def plain_loop():
    """One chain of the same torus by a loop over its sites, without any package."""
    size, coupling = 64, 0.3
    spins = [[random.choice((-1, 1)) for _ in range(size)] for _ in range(size)]
    up = {field: 1 / (1 + math.exp(-2 * coupling * field)) for field in range(-4, 5)}

    def sweep():
        for y in range(size):
            above, here, below = spins[y - 1], spins[y], spins[(y + 1) % size]
            for x in range(size):
                field = above[x] + below[x] + here[x - 1] + here[(x + 1) % size]
                here[x] = 1 if random.random() < up[field] else -1

    row("the same", "", f"{size * size / best(sweep, 20) / 1e6:.1f} M/s", "a loop in plain Python, one chain")


def text():
    """Fit on labelled texts and name the class of others."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    from drover.sklearn import TextNB

    rng = np.random.default_rng(0)
    words = np.array([f"word{k}" for k in range(3000)])
    labels = rng.integers(0, 3, 4000)
    texts = [" ".join(words[(rng.zipf(1.3, 60) * (3 + label)) % 3000]) for label in labels]
    known, others = slice(0, 3000), slice(3000, None)

    def score(machine):
        start = time.perf_counter()
        machine.fit(texts[known], labels[known])
        found = machine.score(texts[others], labels[others])
        return time.perf_counter() - start, found

    ours = min(score(TextNB(random_state=1)) for _ in range(3))
    theirs = min(score(make_pipeline(CountVectorizer(), MultinomialNB())) for _ in range(3))
    row("4,000 texts of 60 words, all labelled", f"{ours[0]:.2f} s, {ours[1]:.3f}", f"{theirs[0]:.2f} s, {theirs[1]:.3f}",
        "CountVectorizer, MultinomialNB; seconds, accuracy")


def against_scikit_learn():
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB, MultinomialNB
    from sklearn.neural_network import BernoulliRBM

    from drover.sklearn import RBM, HerdingClassifier

    X, y = load_digits(return_X_y=True)
    X = (X > 8).astype(float)
    train, test = np.arange(len(y)) % 4 != 0, np.arange(len(y)) % 4 == 0
    passes, batch = 20, 100
    steps = passes * train.sum() // batch

    def score(machine):
        start = time.perf_counter()
        machine.fit(X[train])
        seconds = time.perf_counter() - start
        head = LogisticRegression(max_iter=2000).fit(machine.transform(X[train]), y[train])
        return seconds, head.score(machine.transform(X[test]), y[test])

    ours = min(score(RBM(100, n_iter=int(steps), batch_size=batch, random_state=1)) for _ in range(3))
    theirs = min(score(BernoulliRBM(100, n_iter=passes, batch_size=batch, learning_rate=0.06, random_state=1)) for _ in range(3))
    row("RBM, 100 hidden, 20 passes over digits", f"{ours[0]:.2f} s, {ours[1]:.3f}", f"{theirs[0]:.2f} s, {theirs[1]:.3f}",
        "BernoulliRBM; seconds, accuracy")
    start = time.perf_counter()
    herding = HerdingClassifier(20_000).fit(X[train], y[train])
    seconds = time.perf_counter() - start
    others = max(nb().fit(X[train], y[train]).score(X[test], y[test]) for nb in (MultinomialNB, BernoulliNB))
    row("classes of digits from moments", f"{seconds:.2f} s, {herding.score(X[test], y[test]):.3f}", f"{others:.3f}",
        "the better of MultinomialNB, BernoulliNB")


def networkx_model():
    import networkx as nx

    graph = nx.grid_2d_graph(300, 300)
    nx.set_edge_attributes(graph, 0.2, "weight")
    row("a model of 90,000 variables from networkx", f"{best(lambda: dv.from_networkx(graph), 3):.2f} s")
    edges = np.array([(300 * a + b, 300 * c + d) for (a, b), (c, d) in graph.edges()])
    row("the same from arrays", f"{1e3 * best(lambda: dv.ising(edges, 0.2), 3):.1f} ms")


PARTS = {"import": import_time, "overhead": overhead, "threads": threads, "views": views, "first": first_answer, "rows": rows_of_data,
         "numpy": numpy_loop, "loop": plain_loop, "networkx": networkx_model, "text": text, "sklearn": against_scikit_learn}


def main():
    row("", "drover", "the other")
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
