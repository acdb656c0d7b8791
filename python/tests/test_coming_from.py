"""The right-hand sides of docs/coming-from.md do what the page says."""

import numpy as np
import pytest

import drover as dv


def test_pgmpy():
    net = dv.BayesNet()
    net.add("rain", ["no", "yes"], [.8, .2])
    net.add("lawn", ["dry", "wet"], [[.9, .1], [.2, .8]], parents=["rain"])
    wet = net.marginals({"lawn": "wet"})["rain"]
    np.testing.assert_allclose(wet, np.array([.08, .16]) / .24)
    soft = net.marginals({"lawn": [.2, .8]})["rain"]
    np.testing.assert_allclose(soft[1], .2 * (.2 * .2 + .8 * .8) / (.2 * (.2 * .2 + .8 * .8) + .8 * (.9 * .2 + .1 * .8)))
    assert net.map().to_dict() == {"rain": "no", "lawn": "dry"}
    assert net.marginal_map(["lawn"])["lawn"] == "dry"
    np.testing.assert_allclose(net.joint(["rain", "lawn"]).values, [[.72, .08], [.04, .16]])
    rows = net.marginals(rows={"lawn": ["wet", "dry"]}, query=["rain"])
    np.testing.assert_allclose(rows["rain"][0], wet)
    np.testing.assert_allclose(net.marginals(do={"rain": "yes"})["lawn"], [.2, .8])


def test_pgmax():
    n, states, pairs = 5, 3, [[0, 1], [1, 2], [2, 3], [3, 4]]
    rng = np.random.default_rng(0)
    log_tables = rng.normal(size=(states, states))
    m = dv.Model(np.full(n, states))
    m.factors(pairs, log_tables, log=True)
    best = m.map(method="max-product", iterations=200)
    truth = m.map(method="exact")
    assert best.log_score == pytest.approx(truth.log_score) and len(best.assignment) == n
    assert best.upper >= truth.log_score - 1e-9 and isinstance(best.optimal, bool)
    np.testing.assert_allclose(m.marginals(method="bp").values, m.marginals(method="exact").values, atol=1e-8)  # a tree
    assert m.sample(64, method="pmp").values.shape == (1, 64, n)


def test_dimod():
    h, J = {"a": .3, "b": -.2, "c": 0.}, {("a", "b"): 1., ("b", "c"): -.5}
    m = dv.from_bqm(h, J, vartype="SPIN", beta=2.0)
    best = m.map(method="annealed-gibbs", chains=100)
    spins = {v: 2 * int(best[v]) - 1 for v in h}
    energy = sum(h[v] * spins[v] for v in h) + sum(w * spins[a] * spins[b] for (a, b), w in J.items())
    assert best.log_score == pytest.approx(-2.0 * energy)
    proven = m.map()
    assert proven.optimal and proven.upper == pytest.approx(best.log_score)
    assert dv.from_bqm(h, J, vartype="SPIN").sample(64_000, method="gibbs").values.shape[2] == 3


def test_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    from drover.sklearn import RBM, CRFTagger, TextNB

    rng = np.random.default_rng(0)
    X, y = rng.random((200, 8)), np.arange(200) % 2
    X[:, 0] = y
    rbm = RBM(16, n_iter=200, random_state=1)
    assert make_pipeline(rbm, LogisticRegression()).fit(X, y).score(X, y) > .5
    assert len(rbm.model_) == 8 + 16

    words = np.array(["sun", "rain", "wind", "snow", "fog"])
    texts = [" ".join(rng.choice(words, 12, p=np.roll([.5, .2, .1, .1, .1], k % 2))) for k in range(60)]
    labels = [k % 2 for k in range(60)]
    theirs = make_pipeline(CountVectorizer(), MultinomialNB(alpha=1)).fit(texts, labels)
    ours = TextNB(alpha=1).fit(texts, labels)
    np.testing.assert_allclose(ours.predict_proba(texts), theirs.predict_proba(texts), rtol=1e-6)
    some = TextNB(unlabelled=-1, random_state=0).fit(texts, [label if k < 20 else -1 for k, label in enumerate(labels)])
    assert set(some.predict(texts)) <= {0, 1}

    sentences = [["Anna", "met", "Bob"], ["rain", "fell"], ["Bob", "slept"]] * 5
    tags = [["B-PER", "O", "B-PER"], ["O", "O"], ["B-PER", "O"]] * 5
    assert CRFTagger(l2=1, n_iter=20, random_state=0).fit(sentences, tags).score(sentences, tags) > .9
