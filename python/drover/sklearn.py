"""Estimators for scikit-learn: pipelines, grid searches, clones and pickles work as with its own.

RBM, Ising and HerdingClassifier see binary columns. `binarize` is the threshold above which a number is 1 (data of zeros
and ones need none); None insists on zeros and ones. TextNB sees texts or counts of words, CRFTagger sentences.
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

__all__ = ["CRFTagger", "HerdingClassifier", "Ising", "RBM", "TextNB"]


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


class _Machine(_Binary):
    """A model of the columns that is learnt from rows, and draws others."""

    model_: _core.Model
    random_state: Any

    def _learn(self, kind: str, X: Any, **options: Any) -> _core.LearnResult:  # noqa: N803
        rows = self._rows(X, reset=True)
        result = _core.learn(kind, rows, seed=_seed(self.random_state), **options)
        self.model_ = result.model
        return result

    def sample(self, n_samples: int = 1, **options: Any) -> Any:
        """Rows that the model draws; options are those of drover.Model.sample."""
        check_is_fitted(self)
        options.setdefault("seed", _seed(self.random_state))
        draws = self.model_.sample(n_samples, **options)
        return draws.values.reshape(-1, len(self.model_))[:n_samples, : self.n_features_in_]


class RBM(TransformerMixin, _Machine):  # type: ignore[misc]
    """A restricted Boltzmann machine: features that are the probabilities of its hidden units.

    Parameters
    ----------
    n_components : int
        Hidden units.
    learning_rate : float, optional
        None: what suits the method and the number of columns.
    batch_size : int
    n_iter : int
        Steps of learning, a batch each; not passes over the data.
    method : str
        Where the statistics of the model come from: block-gibbs, pmp, ...; `drover.learn` says which.
    persistent : bool
        Whether chains go on from step to step (PCD) or start at the data (CD).
    binarize : float or None
        The threshold above which an entry of X is 1.
    random_state : int, RandomState or None

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
    intercept_hidden_, intercept_visible_ : ndarray
    model_ : drover.Model
    result_ : drover.LearnResult
    """

    def __init__(self, n_components: int = 64, *, learning_rate: float | None = None, batch_size: int = 100, n_iter: int = 1000,
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
        """Learn from the rows of X, all of them: none is kept aside."""
        result = self._learn("rbm", X, hidden=self.n_components, rate=self.learning_rate, batch=self.batch_size,
                             iterations=self.n_iter, method=self.method, reset=not self.persistent, held_out=0.0)
        self.components_ = np.array(result.weights.T, dtype=np.float64)
        self.intercept_visible_ = np.array(result.biases[: result.visible], dtype=np.float64)
        self.intercept_hidden_ = np.array(result.biases[result.visible :], dtype=np.float64)
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



class Ising(DensityMixin, _Machine):  # type: ignore[misc]
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
        self._learn("ising", X, method=self.method, l1=self.l1, l2=self.l2, iterations=self.n_iter)
        self.log_z_ = float(self.model_.logz(seed=_seed(self.random_state)))
        return self

    def score_samples(self, X: Any) -> Any:  # noqa: N803
        """The log-likelihood of every row."""
        check_is_fitted(self)
        return self.model_.log_score(self._rows(X, reset=False)) - self.log_z_

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """The mean log-likelihood."""
        return float(np.mean(self.score_samples(X)))



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
    coef_ : ndarray of shape (n_features, classes)
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

    def _scores(self, X: Any) -> Any:  # noqa: N803
        check_is_fitted(self)
        return self._rows(X, reset=False) @ self.coef_ + self.intercept_

    def decision_function(self, X: Any) -> Any:  # noqa: N803
        """A score for each class; of two classes, that of the second over that of the first."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The probability of each class."""
        scores = self._scores(X)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The most probable class."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def _is_unknown(label: Any, mark: Any) -> bool:
    return label is None or label != label or (mark is not None and bool(label == mark))


class TextNB(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes of documents of which some, all or none need a label, by Gibbs sampling.

    With every document labelled it is ordinary multinomial naive Bayes. Documents without a label are sampled together
    with the word probabilities, so that they teach too.

    Parameters
    ----------
    method : {"auto", "gibbs", "collapsed-gibbs"}
    alpha : float
        Pseudo-count of every word in every class.
    class_alpha : float
        Pseudo-count of every class.
    n_classes : int, optional
        How many classes there are, when some or all of them have no labelled document.
    ngrams : int
        Runs of up to so many neighbouring words count as words too.
    min_count : int
        Words that are seen less often in all are left out.
    stop_words : {"english"} or path, optional
    keep_case : bool
    chains, sweeps, burn_in : int, optional
        Of the sampler; without them it chooses.
    unlabelled : optional
        The value in y that means that a document has no label, -1 for instance; None and NaN always do.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : ndarray
    vocabulary_ : list of str
        The words, the most frequent first.
    class_count_ : ndarray of shape (classes,)
        Documents, of those without a label a part in each class.
    feature_count_ : ndarray of shape (classes, words)
    transduction_ : ndarray
        The class of every document that it was fitted on.
    verdict_, verdict_text_ : str
        Whether the chains agree.
    """

    def __init__(self, *, method: str = "auto", alpha: float = 1.0, class_alpha: float = 1.0, n_classes: int | None = None,
                 ngrams: int = 1, min_count: int = 1, stop_words: str | None = None, keep_case: bool = False,
                 chains: int | None = None, sweeps: int | None = None, burn_in: int | None = None, unlabelled: Any = None,
                 random_state: Any = None) -> None:
        self.method = method
        self.alpha = alpha
        self.class_alpha = class_alpha
        self.n_classes = n_classes
        self.ngrams = ngrams
        self.min_count = min_count
        self.stop_words = stop_words
        self.keep_case = keep_case
        self.chains = chains
        self.sweeps = sweeps
        self.burn_in = burn_in
        self.unlabelled = unlabelled
        self.random_state = random_state

    def _more_tags(self) -> dict[str, Any]:
        return {"X_types": ["string", "sparse"]}

    @staticmethod
    def _documents(X: Any) -> Any:  # noqa: N803
        """Texts, or a sparse matrix of counts in parts."""
        if isinstance(X, str):
            raise DataError("X: expected a list of texts, found one text")
        if hasattr(X, "tocsr"):
            counts = X.tocsr().copy()
            counts.sum_duplicates()
            counts.eliminate_zeros()
            parts, numbers, columns = (counts.indptr, counts.indices), counts.data, counts.shape[1]
        else:
            array = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
            if array.ndim == 1:
                return [str(text) for text in array]
            rows, where = np.nonzero(array)
            parts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(array)))]), where
            numbers, columns = array[rows, where], array.shape[1]
        if np.any(numbers < 0) or np.any(numbers != np.floor(numbers)):
            raise DataError("X: expected counts of words, whole numbers of 0 or more")
        return (*parts, numbers.astype(np.int64), columns)

    def fit(self, X: Any, y: Any = None) -> TextNB:  # noqa: N803
        """Learn from documents.

        Parameters
        ----------
        X : list of str, or matrix of counts (document, word), dense or sparse
        y : list of labels, optional
            None, NaN and `unlabelled` are documents without one.
        """
        documents = self._documents(X)
        size = len(documents[0]) - 1 if isinstance(documents, tuple) else len(documents)
        given = [None] * size if y is None else list(y)
        if len(given) != size:
            raise DataError(f"y: expected {size} labels, found {len(given)}")
        known = [not _is_unknown(label, self.unlabelled) for label in given]
        labels = np.full(size, -1)
        self.classes_ = np.array([])
        if any(known):
            self.classes_, labels[known] = np.unique([label for label, is_known in zip(given, known) if is_known],
                                                     return_inverse=True)
        count = max(self.n_classes or 0, len(self.classes_))
        if count < 2:
            raise DataError("y has fewer than two classes; n_classes says how many there are when labels do not")
        if len(self.classes_) < count:  # names for those without a labelled document
            made_up = [f"class {k + 1}" for k in range(len(self.classes_), count)]
            self.classes_ = np.concatenate([self.classes_.astype(object), made_up]) if len(self.classes_) else np.array(made_up)
        self._model = _core._fit_text(
            documents, labels.tolist(), [str(name) for name in self.classes_], method=self.method, word_pseudo_count=self.alpha,
            class_pseudo_count=self.class_alpha, ngrams=self.ngrams, min_count=self.min_count, stop_words=self.stop_words,
            keep_case=self.keep_case, chains=self.chains, sweeps=self.sweeps, burn_in=self.burn_in, seed=_seed(self.random_state))
        self.vocabulary_ = self._model.words
        self.class_count_ = self._model.class_documents
        self.feature_count_ = self._model.word_counts.T
        self.transduction_ = self.classes_[np.argmax(self._model.probabilities, axis=1)]
        self.verdict_, self.verdict_text_ = self._model.verdict, self._model.verdict_text
        return self

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The probability of each class, a row for each document."""
        check_is_fitted(self)
        return self._model.predict(self._documents(X))

    def predict_log_proba(self, X: Any) -> Any:  # noqa: N803
        """Logarithms of predict_proba."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The most probable class of each document."""
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, axis=1)]

    def top_words(self, n_words: int = 10) -> dict[Any, list[str]]:
        """The words that tell each class from the others."""
        check_is_fitted(self)
        return {name: [word for word, _ in self._model.top_words(k, n_words)] for k, name in enumerate(self.classes_.tolist())}

    def save(self, path: Any) -> None:
        """Write the model: .drv, which the command `drover text predict` reads."""
        check_is_fitted(self)
        self._model.save(path)


class CRFTagger(BaseEstimator):  # type: ignore[misc]
    """Labels of the words of sentences: a conditional random field, with skip factors when asked for.

    Parameters
    ----------
    algorithm : {"lbfgs", "sgd"}
    l1, l2 : float
        Weights of the penalties.
    n_iter : int, optional
        Iterations at most, or passes of sgd.
    min_count : int
        Features that occur less often are left out.
    scheme : {"bio", "iob1", "iobes", "raw"}, optional
        That labels are learnt in; predictions are in the scheme of y.
    skip : bool
        Factors between equal capitalised words of a document; `documents` of fit and predict say which sentences belong
        together.
    templates : path, optional
        Of a file of feature templates; without it, a set for named entities.
    gazetteers : dict of name to path, optional
        Lists of names, one entry a line.
    held_out : float
        The share of documents kept aside for checks.
    patience : int, optional
        Stop after so many iterations without a better one on held-out text.
    method : {"viterbi", "gibbs", "herded-gibbs", "bp", "max-product"}, optional
        How labels are found.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : ndarray
        The labels, in the scheme that they were learnt in.
    verdict_, verdict_text_ : str
    """

    def __init__(self, *, algorithm: str = "lbfgs", l1: float = 0.0, l2: float | None = None, n_iter: int | None = None,
                 min_count: int = 1, scheme: str | None = None, skip: bool = False, templates: Any = None,
                 gazetteers: dict[str, Any] | None = None, held_out: float = 0.0, patience: int | None = None,
                 method: str | None = None, random_state: Any = None) -> None:
        self.algorithm = algorithm
        self.l1 = l1
        self.l2 = l2
        self.n_iter = n_iter
        self.min_count = min_count
        self.scheme = scheme
        self.skip = skip
        self.templates = templates
        self.gazetteers = gazetteers
        self.held_out = held_out
        self.patience = patience
        self.method = method
        self.random_state = random_state

    def _more_tags(self) -> dict[str, Any]:
        return {"X_types": ["string"], "non_deterministic": False}

    @staticmethod
    def _grouped(X: Any, documents: Any) -> list[int]:  # noqa: N803
        if documents is None:
            return []
        _, numbers = np.unique(np.asarray(documents), return_inverse=True)
        if len(numbers) != len(X):
            raise DataError(f"documents: expected one for each of {len(X)} sentences, found {len(numbers)}")
        return [int(number) for number in numbers]

    def fit(self, X: Any, y: Any, documents: Any = None) -> CRFTagger:  # noqa: N803
        """Learn from labelled sentences.

        Parameters
        ----------
        X : list of sentences
            Each a list of words, or of tuples of columns whose first is the word.
        y : list of lists of labels
        documents : array_like, optional
            The document of each sentence; without it every sentence is one of its own.
        """
        if len(X) != len(y):
            raise DataError(f"y: expected the labels of {len(X)} sentences, found {len(y)}")
        lists = ",".join(f"{name}={path}" for name, path in (self.gazetteers or {}).items())
        self._tagger = _core._fit_tagger(
            X, y, self._grouped(X, documents), algorithm=self.algorithm, l1=self.l1, l2=self.l2, iterations=self.n_iter,
            min_count=self.min_count, scheme=self.scheme, skip=self.skip or None, no_skip=not self.skip or None, templates=self.templates,
            gazetteers=lists or None, held_out=self.held_out, patience=self.patience, seed=_seed(self.random_state))
        self.classes_ = np.array(self._tagger.labels)
        self.verdict_, self.verdict_text_ = self._tagger.verdict, self._tagger.verdict_text
        return self

    def _options(self) -> dict[str, Any]:
        check_is_fitted(self)
        return {"method": self.method, "seed": _seed(self.random_state)}

    def predict(self, X: Any, documents: Any = None) -> list[list[str]]:  # noqa: N803
        """The labels of each sentence."""
        options = self._options()
        return self._tagger.label(X, self._grouped(X, documents), **options)[0]

    def predict_confidence(self, X: Any, documents: Any = None) -> list[Any]:  # noqa: N803
        """How probable each of the labels that `predict` gives is, an array for each sentence."""
        options = self._options()
        return self._tagger.label(X, self._grouped(X, documents), **options)[1]

    def entities(self, X: Any, documents: Any = None) -> list[tuple[int, int, int, str, str, float]]:  # noqa: N803
        """(sentence, first word, word after the last, type, text, probability) of each entity found."""
        options = self._options()
        return self._tagger.entities(X, self._grouped(X, documents), **options)

    def report(self, X: Any, y: Any, documents: Any = None) -> dict[str, Any]:  # noqa: N803
        """F1, precision and recall of entities, in all and by type, and the share of words with the right label."""
        options = self._options()
        return self._tagger.score(X, y, self._grouped(X, documents), **options)

    def score(self, X: Any, y: Any, documents: Any = None) -> float:  # noqa: N803
        """F1 of entities; of labels without prefixes such as B- and I-, the share of words with the right one."""
        found = self.report(X, y, documents)
        return float(found["f1"] if self._tagger.has_prefixes else found["accuracy"])

    def save(self, path: Any) -> None:
        """Write the tagger: .drv, which the command `drover tag` reads."""
        check_is_fitted(self)
        self._tagger.save(path)
