"""scikit-learn's own checks, and what its users do: pipelines, grid searches, clones, pickles."""

import pickle

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks  # noqa: E402

import drover as dv  # noqa: E402
from drover.sklearn import RBM, HerdingClassifier, Ising  # noqa: E402

ESTIMATORS = [RBM(4, n_iter=20, random_state=0), Ising(n_iter=20, random_state=0), HerdingClassifier(2000)]


@parametrize_with_checks(ESTIMATORS)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_checks_ran():
    """They are left out in silence for estimators that do not say they take two-dimensional arrays."""
    for estimator in ESTIMATORS:
        assert estimator._get_tags()["X_types"] == ["2darray"]
        assert len(list(check_estimator(estimator, generate_only=True))) > 25


def digits():
    from sklearn.datasets import load_digits

    X, y = load_digits(n_class=3, return_X_y=True)
    return X / 16, y


def test_a_pipeline_and_a_grid_search():
    X, y = digits()
    pipeline = make_pipeline(RBM(12, n_iter=200, random_state=1), LogisticRegression(max_iter=500))
    search = GridSearchCV(pipeline, {"rbm__n_components": [4, 12]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    assert search.best_params_["rbm__n_components"] in (4, 12)


def test_features_tell_as_much_as_those_of_scikit_learn():
    """Both at their defaults but for the size, after as many rows."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import BernoulliRBM

    X, y = load_digits(return_X_y=True)
    X = (X > 8).astype(float)
    train, test = np.arange(len(y)) % 4 != 0, np.arange(len(y)) % 4 == 0

    def accuracy(machine):
        head = LogisticRegression(max_iter=2000).fit(machine.fit(X[train]).transform(X[train]), y[train])
        return head.score(machine.transform(X[test]), y[test])

    steps = 10 * int(train.sum()) // 100
    assert accuracy(RBM(60, n_iter=steps, random_state=1)) >= accuracy(BernoulliRBM(60, n_iter=10, batch_size=100, random_state=1))


def test_the_same_seed_gives_the_same_machine():
    X, _ = digits()
    first, second = RBM(8, n_iter=50, random_state=3).fit(X), clone(RBM(8, n_iter=50, random_state=3)).fit(X)
    np.testing.assert_array_equal(first.components_, second.components_)
    again = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(again.transform(X), first.transform(X))
    assert first.sample(50, method="gibbs", chains=10, burn_in=5).shape == (50, 64)


test_the_same_seed_gives_the_same_machine = pytest.mark.filterwarnings("ignore::drover.ConvergenceWarning")(
    test_the_same_seed_gives_the_same_machine)


def test_transform_is_the_conditional_of_the_model():
    X, _ = digits()
    machine = RBM(5, n_iter=50, random_state=3).fit(X)
    row = (X[0] > 0.5).astype(int)
    exact = machine.model_.marginals({v: int(x) for v, x in enumerate(row)}, method="exact")
    np.testing.assert_allclose(machine.transform(X[:1])[0], [exact[64 + k][1] for k in range(5)], rtol=1e-5)


def test_a_density_sums_to_one():
    rng = np.random.default_rng(0)
    X = rng.random((300, 6)) < [0.2, 0.5, 0.7, 0.4, 0.9, 0.3]
    model = Ising().fit(X)
    states = np.array(np.meshgrid(*[[0, 1]] * 6)).reshape(6, -1).T
    assert np.exp(model.score_samples(states)).sum() == pytest.approx(1, rel=1e-9)
    assert model.score(X) == pytest.approx(np.mean(model.score_samples(X)))
    assert model.sample(20, method="exact").shape == (20, 6)


def test_herding_classifies_digits():
    X, y = digits()
    train, test = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
    classifier = HerdingClassifier(20_000).fit(X[train], np.array(["zero", "one", "two"])[y[train]])
    assert classifier.score(X[test], np.array(["zero", "one", "two"])[y[test]]) > 0.9


def test_numbers_without_a_threshold_are_refused():
    with pytest.raises(dv.DataError, match="choose binarize"):
        RBM(binarize=None).fit(np.array([[0.5, 1.0], [0.0, 1.0]]))
