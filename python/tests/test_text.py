"""Texts and tagged sentences as scikit-learn's users have them."""

import json
import pickle
import subprocess

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
from conftest import COMMAND  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.feature_extraction.text import CountVectorizer  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.naive_bayes import MultinomialNB  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

import drover as dv  # noqa: E402
from drover.sklearn import CRFTagger, TextNB  # noqa: E402


def documents(count=200, seed=0):
    """Two kinds of texts with some words in common."""
    rng = np.random.default_rng(seed)
    words = np.array([f"word{k}" for k in range(60)])
    rates = np.stack([np.r_[np.full(20, 3.0), np.full(20, 1.0), np.full(20, 1.0)], np.r_[np.full(20, 1.0), np.full(20, 3.0), np.full(20, 1.0)]])
    y = rng.integers(0, 2, count)
    texts = [" ".join(rng.choice(words, 25, p=rates[k] / rates[k].sum())) for k in y]
    return texts, np.array(["tea", "coffee"])[y]


def test_all_labelled_is_multinomial_naive_bayes():
    texts, y = documents()
    ours = TextNB(alpha=0.5, class_alpha=1e-9, random_state=0).fit(texts, y)
    counts = CountVectorizer(vocabulary=ours.vocabulary_)
    theirs = MultinomialNB(alpha=0.5).fit(counts.fit_transform(texts), y)
    others, _ = documents(seed=1)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_allclose(ours.predict_proba(others), theirs.predict_proba(counts.transform(others)), rtol=1e-6)
    np.testing.assert_allclose(ours.feature_count_, theirs.feature_count_)
    np.testing.assert_allclose(ours.predict_log_proba(others[:3]), np.log(ours.predict_proba(others[:3])))


def test_counts_are_as_good_as_texts():
    texts, y = documents()
    vectorizer = CountVectorizer()
    counts = vectorizer.fit_transform(texts)
    of_texts = TextNB(random_state=0).fit(texts, y).predict_proba(texts[:20])
    np.testing.assert_allclose(TextNB(random_state=0).fit(counts, y).predict_proba(counts[:20]), of_texts, rtol=1e-9)
    np.testing.assert_allclose(TextNB(random_state=0).fit(counts.toarray(), y).predict_proba(counts[:20]), of_texts, rtol=1e-9)
    assert make_pipeline(CountVectorizer(), TextNB(random_state=0)).fit(texts, y).score(texts, y) > 0.9
    with pytest.raises(dv.DataError, match="counts"):
        TextNB().fit(np.array([[0.5, 1], [1, 2]]), [0, 1])


def test_documents_without_labels_teach():
    texts, y = documents(400)
    others, truth = documents(300, seed=2)
    few = np.where(np.arange(len(y)) < 6, y, None)
    both = TextNB(random_state=1, sweeps=200, chains=4).fit(texts, few)
    alone = TextNB(random_state=1).fit(texts[:6], y[:6])
    assert both.score(others, truth) > alone.score(others, truth) + 0.05
    assert np.mean(both.transduction_ == y) > 0.9 and both.verdict_ == "good"
    marked = np.where(np.arange(len(y)) < 6, (y == "tea").astype(int), -1)
    same = TextNB(random_state=1, sweeps=200, chains=4, unlabelled=-1).fit(texts, marked)
    assert same.classes_.tolist() == [0, 1] and same.score(others, truth == "tea") == both.score(others, truth)
    none = TextNB(random_state=1, n_classes=2, sweeps=200, chains=4).fit(texts)
    assert max(np.mean(none.transduction_ == none.classes_[0]) for _ in [0]) > 0.2 and none.classes_.tolist() == ["class 1", "class 2"]


def test_words_unknown_and_words_that_tell():
    texts, y = documents()
    model = TextNB(random_state=0).fit(texts, y)
    p = model.predict_proba(["nothing that was ever seen", ""])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    words = model.top_words(5)
    assert set(words) == {"coffee", "tea"} and all(int(word[4:]) < 20 for word in words["tea"])


def test_what_users_of_scikit_learn_do_with_texts(tmp_path):
    texts, y = documents()
    model = TextNB(random_state=0, ngrams=2, min_count=2)
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(model, {"alpha": [0.1, 1.0], "ngrams": [1, 2]}, cv=3).fit(texts, y)
    assert search.best_score_ > 0.9
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict_proba(texts), search.best_estimator_.predict_proba(texts))
    with pytest.raises(sklearn.exceptions.NotFittedError):
        model.predict(texts)
    for wrong in (("one text", y), (texts, y[:5]), (texts, ["tea"] * len(texts))):
        with pytest.raises(dv.DataError):
            clone(model).fit(*wrong)
    again.save(tmp_path / "model.drv")
    (tmp_path / "new.tsv").write_text("".join(f"\t{text}\n" for text in texts[:5]))
    told = json.loads(subprocess.run([COMMAND, "text", "predict", tmp_path / "model.drv", tmp_path / "new.tsv", "--json", "--quiet"],
                                     capture_output=True, text=True, check=True).stdout)
    np.testing.assert_allclose(told["probabilities"], again.predict_proba(texts[:5]), rtol=1e-12)


NAMES = {"PER": ["Anna", "Bert", "Clara", "Dora"], "LOC": ["Ulm", "Bonn", "Kiel", "Trier"]}


def sentences(count=120, seed=0, prefixes=True):
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(count):
        words, labels = [], []
        for kind in rng.permutation(["PER", "LOC", "-", "-"]):
            if kind == "-":
                words.append(str(rng.choice(["sees", "in", "the", "from", "to"])))
                labels.append("O")
                continue
            for k in range(rng.integers(1, 3)):
                words.append(str(rng.choice(NAMES[kind])))
                labels.append((("B-" if k == 0 else "I-") if prefixes else "") + str(kind))
        X.append(words)
        y.append(labels)
    return X, y


def test_a_tagger_finds_names():
    X, y = sentences()
    others, truth = sentences(seed=1)
    tagger = CRFTagger(n_iter=40, random_state=0).fit(X, y)
    assert tagger.score(others, truth) > 0.95
    found = tagger.predict(others)
    assert [len(labels) for labels in found] == [len(words) for words in others]
    assert {label for labels in found for label in labels} <= {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"}  # as y was written
    report = tagger.report(others, truth)
    assert set(report["types"]) == {"PER", "LOC"} and report["f1"] == tagger.score(others, truth)
    sure = tagger.predict_confidence(others)
    assert all(len(a) == len(b) and (a > 0).all() and (a <= 1 + 1e-6).all() for a, b in zip(sure, others))
    sentence, begin, end, kind, text, _ = tagger.entities([["Anna", "sees", "Bonn"], [], ["in", "Kiel"]])[0]
    assert (sentence, begin, end, kind, text) == (0, 0, 1, "PER", "Anna")
    assert tagger.entities([["Anna"], [], ["Kiel"]])[1][0] == 2
    assert tagger.predict([[], ["Anna"], []])[0] == [] and tagger.predict([]) == [] and tagger.predict([[]]) == [[]]


@pytest.mark.parametrize("scheme", ["bio", "iobes", "raw"])
def test_labels_come_back_in_the_scheme_they_had(scheme):
    X, y = sentences(prefixes=scheme != "raw")
    if scheme == "iobes":
        fix = {"B": "S", "I": "E"}
        y = [[label if label == "O" else (label if label[0] == "B" and k + 1 < len(row) and row[k + 1][0] == "I" else fix[label[0]] + label[1:])
              for k, label in enumerate(row)] for row in y]
    tagger = CRFTagger(n_iter=40, random_state=0).fit(X, y)
    share = np.mean([a == b for mine, theirs in zip(tagger.predict(X), y) for a, b in zip(mine, theirs)])
    assert share > 0.98 and tagger.score(X, y) > 0.95


def test_columns_documents_and_skip_factors(tmp_path):
    X, y = sentences()
    columns = [[(word, "NAME" if word[0].isupper() else "word") for word in words] for words in X]
    (tmp_path / "templates").write_text("column2[0]\nlabels\n")
    tagger = CRFTagger(templates=tmp_path / "templates", n_iter=30, random_state=0).fit(columns, y)
    assert len(tagger.predict(columns[:3])) == 3
    with pytest.raises(dv.Error, match="columns"):
        tagger.predict(X[:1])
    skip = CRFTagger(skip=True, n_iter=30, random_state=0).fit(X, y, documents=np.arange(len(X)) // 10)
    assert len(skip.predict(X[:20], documents=np.arange(20) // 10)) == 20


def test_what_users_of_scikit_learn_do_with_a_tagger(tmp_path):
    X, y = sentences()
    tagger = CRFTagger(n_iter=20, random_state=3)
    assert clone(tagger).get_params() == tagger.get_params()
    search = GridSearchCV(tagger, {"l2": [0.1, 1.0], "algorithm": ["lbfgs", "sgd"]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9 and cross_val_score(tagger, X, y, cv=2).min() > 0.9
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert again.predict(X) == search.best_estimator_.predict(X)
    assert clone(tagger).fit(X, y).predict(X) == clone(tagger).fit(X, y).predict(X)
    for wrong in ((X, y[:3]), (["a text"], [["O"]]), ([["a", "b"]], [["O"]]), ([["a"], [("b", "c")]], [["O"], ["O"]])):
        with pytest.raises(dv.Error):
            clone(tagger).fit(*wrong)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        tagger.predict(X)
    again.save(tmp_path / "tagger.drv")
    (tmp_path / "new.conll").write_text("\n".join("\n".join(words) + "\n" for words in X[:5]))
    subprocess.run([COMMAND, "tag", tmp_path / "tagger.drv", tmp_path / "new.conll", "--quiet"], capture_output=True, check=True)
