"""Estimators for scikit-learn: pipelines, grid searches, clones and pickles work as with its own.

They see binary columns. `binarize` is the threshold above which a number is 1 (data of zeros and ones need none);
None insists on zeros and ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, DensityMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._errors import DataError

__all__ = ["HerdingClassifier", "Ising", "RBM"]


def _seed(random_state: Any) -> int:
    """A seed of drover from what scikit-learn takes for one."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


class _Binary(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: rows of zeros and ones."""

    binarize: float | None

    def _rows(self, X: Any, reset: bool) -> Any:  # noqa: N803
        X = self._validate_data(X, reset=reset, dtype=np.float64)  # noqa: N806
        if self.binarize is not None:
            return (X > self.binarize).astype(np.uint8)
        if not np.isin(X, (0, 1)).all():
            raise DataError("X has numbers other than 0 and 1; choose binarize, a threshold")
        return X.astype(np.uint8)


class RBM(TransformerMixin, _Binary):  # type: ignore[misc]
    """A restricted Boltzmann machine: features that are the probabilities of its hidden units.

    Parameters
    ----------
    n_components : int
        Hidden units.
    learning_rate : float
    batch_size : int
    n_iter : int
        Steps of learning, a batch each.
    method : str
        Where the statistics of the model come from: block-gibbs, pmp, ...; `drover.learn` says which.
    persistent : bool
        Whether chains go on from step to step (PCD) or start at the data (CD).
    binarize : float or None
        The threshold above which an entry of X is 1.
    random_state : int, RandomState or None

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
    intercept_hidden_, intercept_visible_ : ndarray
    model_ : drover.Model
    result_ : drover.LearnResult
    """

    def __init__(self, n_components: int = 64, *, learning_rate: float = 0.01, batch_size: int = 100, n_iter: int = 1000,
                 method: str = "auto", persistent: bool = True, binarize: float | None = 0.5, random_state: Any = None) -> None:
        self.n_components = n_components
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.n_iter = n_iter
        self.method = method
        self.persistent = persistent
        self.binarize = binarize
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> RBM:  # noqa: N803
        """Learn from the rows of X."""
        rows = self._rows(X, reset=True)
        result = _core.learn("rbm", rows, hidden=self.n_components, rate=self.learning_rate, batch=self.batch_size,
                             iterations=self.n_iter, method=self.method, reset=not self.persistent, seed=_seed(self.random_state))
        self.components_ = np.array(result.weights.T, dtype=np.float64)
        self.intercept_visible_ = np.array(result.biases[: result.visible], dtype=np.float64)
        self.intercept_hidden_ = np.array(result.biases[result.visible :], dtype=np.float64)
        self.model_ = result.model
        self._n_features_out = self.n_components
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """The probability of every hidden unit, given each row."""
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        return 1 / (1 + np.exp(-(rows @ self.components_.T + self.intercept_hidden_)))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """rbm0, rbm1, ..."""
        return np.array([f"rbm{k}" for k in range(self._n_features_out)], dtype=object)

    def sample(self, n_samples: int = 1, **options: Any) -> Any:
        """Rows that the machine draws; options are those of drover.Model.sample."""
        check_is_fitted(self)
        options.setdefault("seed", _seed(self.random_state))
        draws = self.model_.sample(n_samples, **options)
        return draws.values.reshape(-1, len(self.model_))[:n_samples, : self.n_features_in_]


class Ising(DensityMixin, _Binary):  # type: ignore[misc]
    """An Ising model of all pairs of columns, as a density.

    Parameters
    ----------
    method : str
        How it is learnt: pseudo-likelihood, exact, gibbs, ...; auto chooses.
    l1, l2 : float
        Weights of the penalties.
    n_iter : int
        Steps of learning.
    binarize : float or None
        The threshold above which an entry of X is 1.
    random_state : int, RandomState or None

    Attributes
    ----------
    model_ : drover.Model
    log_z_ : float
        The logarithm of its partition function.
    """

    def __init__(self, method: str = "auto", *, l1: float = 0.0, l2: float = 0.01, n_iter: int = 200, binarize: float | None = 0.5,
                 random_state: Any = None) -> None:
        self.method = method
        self.l1 = l1
        self.l2 = l2
        self.n_iter = n_iter
        self.binarize = binarize
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Ising:  # noqa: N803
        """Learn from the rows of X."""
        rows = self._rows(X, reset=True)
        seed = _seed(self.random_state)
        self.model_ = _core.learn("ising", rows, method=self.method, l1=self.l1, l2=self.l2, iterations=self.n_iter, seed=seed).model
        self.log_z_ = float(self.model_.logz(seed=seed))
        return self

    def score_samples(self, X: Any) -> Any:  # noqa: N803
        """The log-likelihood of every row."""
        check_is_fitted(self)
        return self.model_.log_score(self._rows(X, reset=False)) - self.log_z_

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """The mean log-likelihood."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1, **options: Any) -> Any:
        """Rows that the model draws; options are those of drover.Model.sample."""
        check_is_fitted(self)
        options.setdefault("seed", _seed(self.random_state))
        draws = self.model_.sample(n_samples, **options)
        return draws.values.reshape(-1, self.n_features_in_)[:n_samples]


class HerdingClassifier(ClassifierMixin, _Binary):  # type: ignore[misc]
    """A classifier that sees nothing but moments: logistic regression on pseudo-samples of herding.

    The moments of pairs of columns and classes are herded, and the classifier is learnt from the pseudo-samples alone.

    Parameters
    ----------
    n_samples : int
        Pseudo-samples.
    order : {1, 2, 3}
        Which moments.
    binarize : float or None
        The threshold above which an entry of X is 1.

    Attributes
    ----------
    classes_ : ndarray
    coef_ : ndarray of shape (n_features_in_, classes)
    intercept_ : ndarray of shape (classes,)
    """

    def __init__(self, n_samples: int = 20_000, *, order: int = 2, binarize: float | None = 0.5) -> None:
        self.n_samples = n_samples
        self.order = order
        self.binarize = binarize

    def _more_tags(self) -> dict[str, Any]:
        return {"poor_score": True}  # of real numbers, of which it sees one bit each

    def fit(self, X: Any, y: Any) -> HerdingClassifier:  # noqa: N803
        """Herd the moments of rows and classes."""
        X, y = self._validate_data(X, y, dtype=np.float64)  # noqa: N806
        check_classification_targets(y)
        rows = self._rows(X, reset=False)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(f"y has 1 class: {self.classes_[0]}; expected two or more classes")
        varying = np.flatnonzero(rows.min(axis=0) != rows.max(axis=0))  # a constant column has no moments to herd
        self.coef_ = np.zeros((rows.shape[1], len(self.classes_)))
        if len(varying):
            data = np.column_stack([rows[:, varying], labels])
            binarise = None if len(self.classes_) == 2 else "none"
            names = [f"x{v}" for v in varying] + ["class"]
            herded = _core.herd(data, samples=self.n_samples, order=self.order, names=names, binarise=binarise).values
            self.coef_[varying], self.intercept_ = _core._learn_stream(herded, len(self.classes_))
        else:
            self.intercept_ = np.log(np.bincount(labels) / len(labels))
        return self

    def decision_function(self, X: Any) -> Any:  # noqa: N803
        """A score for each class; of two classes, that of the second over that of the first."""
        check_is_fitted(self)
        scores = self._rows(X, reset=False) @ self.coef_ + self.intercept_
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The probability of each class."""
        check_is_fitted(self)
        scores = self._rows(X, reset=False) @ self.coef_ + self.intercept_
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The most probable class."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
