"""Soft evidence, rows of evidence, joint distributions, several best states, marginal MAP: against enumeration."""

import itertools
import json
import pickle

import numpy as np
import pytest
from conftest import MODELS, run_command

import drover as dv


def random_model(seed):
    rng = np.random.default_rng(seed)
    model = dv.Model({"a": ["no", "yes"], "b": ["low", "mid", "high"], "c": 2, "d": ["1", "2", "3"]})
    for scope in (["a", "b"], ["b", "c", "d"], ["a", "d"], ["c"]):
        shape = [len(model.states(name)) for name in scope]
        model.factor(scope, rng.random(shape) + 0.05)
    return model


def enumerated(model, weight=lambda state: 1.0):
    """Probabilities of every state, times a weight."""
    states = np.array(list(itertools.product(*[range(k) for k in model.cardinalities])))
    p = np.exp(model.log_score(states)) * [weight(state) for state in states]
    return states, p / p.sum()


def marginal(states, p, v, size):
    return np.bincount(states[:, v], p, minlength=size)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("form", ["list", "array", "dict", "word"])
def test_soft_evidence(seed, form):
    model = random_model(seed)
    likelihood = np.array([0.2, 0.5, 0.9])
    given = {"list": likelihood.tolist(), "array": likelihood, "dict": dict(zip(["low", "mid", "high"], likelihood)),
             "word": "0.2:0.5:0.9"}[form]
    states, p = enumerated(model, lambda x: likelihood[x[1]] * (x[0] == 1))
    r = model.marginals({"b": given, "a": "yes"}, method="exact")
    for v in range(4):
        np.testing.assert_allclose(r[v], marginal(states, p, v, model.cardinalities[v]), rtol=1e-9)
    assert r.evidence["a"] == "yes"
    np.testing.assert_allclose(r.evidence["b"], likelihood)
    again = pickle.loads(pickle.dumps(r))
    np.testing.assert_allclose(again.evidence["b"], likelihood)


def test_soft_evidence_heeded_by_every_question():
    model = random_model(7)
    soft = {"b": [0.0, 1.0, 3.0]}
    states, p = enumerated(model, lambda x: soft["b"][x[1]])
    assert model.map(soft, method="exact").assignment.tolist() == states[np.argmax(p)].tolist()
    joint = model.joint(["d", "a"], soft, method="exact")
    expected = np.zeros((3, 2))
    np.add.at(expected, (states[:, 3], states[:, 0]), p)
    np.testing.assert_allclose(joint.values, expected, rtol=1e-9)
    draws = model.sample(2000, soft, method="exact", seed=3)
    assert not (draws["b"] == 0).any()


def test_what_is_wrong_with_soft_evidence_is_said():
    model = random_model(1)
    for wrong in ([0.5, 0.5], [0.1, -0.2, 0.3], [0, 0, 0], [np.nan, 1, 1], [[0.1, 0.2, 0.3], [0, 1, 1]]):
        with pytest.raises(dv.DataError, match="b"):
            model.marginals({"b": wrong})
    with pytest.raises(dv.Error, match="medium"):
        model.marginals({"b": {"medium": 1.0}})


def test_what_is_not_there_is_not_observed():
    model = random_model(2)
    bare = model.marginals({"a": "no"}, method="exact")
    other = model.marginals({"a": "no", "b": None, "c": float("nan")}, method="exact")
    np.testing.assert_array_equal(bare.values, other.values)
    pandas = pytest.importorskip("pandas")
    row = pandas.DataFrame({"a": ["no"], "b": [None], "c": [np.nan]}).iloc[0]
    np.testing.assert_array_equal(model.marginals(row, method="exact").values, bare.values)


def test_names_come_before_numbers():
    """As in the command: of states called 1, 2, 3 the number 1 is the first."""
    model = random_model(3)
    np.testing.assert_array_equal(model.marginals({"d": 1}).values, model.marginals({"d": "1"}).values)
    np.testing.assert_array_equal(model.marginals({"c": 1}).values, model.marginals({"c": True}).values)
    assert model.marginals({"d": 3})["d"].tolist() == [0, 0, 1]


ROWS = [{"a": "yes", "b": None, "d": 2}, {"b": "high"}, {}, {"a": "no", "b": "low", "c": 1}]


def tables_of_rows(model):
    pandas = pytest.importorskip("pandas")
    names = ["a", "b", "c", "d"]
    columns = {name: [row.get(name) for row in ROWS] for name in names}
    number = {"a": ["no", "yes"], "b": ["low", "mid", "high"], "c": ["0", "1"], "d": ["1", "2", "3"]}
    array = np.array([[np.nan if row.get(name) is None else (row[name] if name in "cd" else number[name].index(row[name]))
                       for name in names] for row in ROWS])
    frame = pandas.DataFrame(columns, index=["p", "q", "r", "s"])
    yield "dicts", ROWS
    yield "columns", columns
    yield "frame", frame
    yield "categories", frame.assign(b=frame["b"].astype("category"))
    yield "array", array
    yield "masked", np.ma.masked_invalid(array)
    yield "nullable", frame.assign(d=frame["d"].astype("Int64"))


def test_rows_are_the_answers_one_by_one():
    model = random_model(4)
    for name, rows in tables_of_rows(model):
        r = model.marginals(rows=rows, query=["c", "b"], method="exact")
        assert len(r) == 4 and r.exact and r.verdict == "good" and r.of == ["c", "b"], name
        for k, row in enumerate(ROWS):
            one = model.marginals(row, method="exact")
            np.testing.assert_allclose(r["c"][k], one["c"], rtol=1e-9, err_msg=name)
            np.testing.assert_allclose(r["b", "high"][k], one["b", "high"], rtol=1e-9, err_msg=name)
            assert r.log_z[k] == pytest.approx(float(model.logz(row, method="exact")))
        assert r.values.shape == (4, 5) and not r.values.flags.writeable
        frame = r.to_frame()
        assert list(frame.columns[:2]) == [("c", "0"), ("c", "1")]
        if name == "frame":
            assert list(frame.index) == ["p", "q", "r", "s"]
            assert list(pickle.loads(pickle.dumps(r)).to_frame().index) == ["p", "q", "r", "s"]


def test_rows_with_soft_evidence_and_with_what_holds_in_all():
    model = random_model(5)
    soft = np.array([[0.1, 0.2, 0.7], [np.nan] * 3, [1.0, 0.0, 0.0]])
    r = model.marginals({"a": "yes"}, rows={"b": soft, "c": [None, 1, 0]}, method="exact")
    mixed = model.marginals({"a": "yes"}, rows={"b": [[0.1, 0.2, 0.7], None, "low"], "c": [None, 1, 0]}, method="exact")
    for k, row in enumerate([{"b": soft[0]}, {"c": 1}, {"b": "low", "c": 0}]):
        one = model.marginals({"a": "yes", **row}, method="exact")
        np.testing.assert_allclose(r.values[k], one.values, rtol=1e-9)
        np.testing.assert_allclose(mixed.values[k], one.values, rtol=1e-9)


def test_rows_of_a_file_as_the_command_answers_them(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("lawn,rain\nwet,\n,none\nwet,heavy\n")
    model = dv.read(MODELS / "sprinkler.bif")
    r = model.marginals(rows=path, query=["sprinkler"])
    r.save(tmp_path / "answers.csv")
    expected = run_command("marginals", MODELS / "sprinkler.bif", "--cases", path, "--query", "sprinkler", "--out", tmp_path / "c.csv")
    assert (tmp_path / "answers.csv").read_text() == (tmp_path / "c.csv").read_text()
    assert json.loads(r.to_json())["cases"] == expected["cases"] == 3


def test_rows_that_cannot_be():
    model = dv.Model({"x": 2, "y": 2})
    model.factor(["x", "y"], [[1, 0], [1, 1]])
    r = model.marginals(rows=[{"x": 0, "y": 1}, {"x": 1}])
    assert r.impossible.tolist() == [0] and np.isnan(r.values[0]).all() and np.isfinite(r.values[1]).all()
    assert "impossible" in repr(r) and r.log_z[0] == -np.inf
    for rows, what in (({"z": [1]}, "z"), ({"x": [7]}, "row 0"), ({"x": ["no"]}, "row 0"), ({"x": [0.5]}, "row 0"), ({"x": np.array([1, 0.5])}, "row 1.*0.5 is no state"),
                       (np.zeros((2, 3)), "2 variables"), ({"x": [1], "y": [1, 0]}, "one length")):
        with pytest.raises(dv.Error, match=what):
            model.marginals(rows=rows)
    with pytest.raises(dv.UsageError, match="joint"):
        model.marginals(rows=[{"x": 1}], joint=[["x", "y"]])
    assert len(model.marginals(rows=[])) == 0


def test_joint_distributions():
    model = random_model(6)
    states, p = enumerated(model, lambda x: x[2] == 1)
    joint = model.joint(["b", "a"], {"c": 1}, method="exact")
    expected = np.zeros((3, 2))
    np.add.at(expected, (states[:, 1], states[:, 0]), p)
    np.testing.assert_allclose(joint.values, expected, rtol=1e-9)
    np.testing.assert_array_equal(np.asarray(joint), joint.values)
    assert joint.of == ["b", "a"] and joint["high", "yes"] == joint.values[2, 1] and joint.exact
    assert joint.to_xarray().sel(b="high", a="yes") == joint.values[2, 1]
    frame = joint.to_frame()
    assert list(frame.columns) == ["b", "a", "probability", "mcse"] and len(frame) == 6
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(joint)).values, joint.values)
    r = model.marginals({"c": 1}, joint=[["b", "a"], ["d", "a"]], method="exact")
    np.testing.assert_array_equal(r.joints["b", "a"], joint.values)
    assert set(r.joints) == {("b", "a"), ("d", "a")}
    assert set(model.marginals(joint=["b", "a"]).joints) == {("b", "a")}
    with pytest.raises(dv.UsageError):
        joint["high"]


@pytest.mark.filterwarnings("ignore::drover.ConvergenceWarning")
def test_joint_distributions_by_sampling():
    model = random_model(6)
    exact = model.joint(["b", "a"], method="exact")
    sampled = model.joint(["b", "a"], method="gibbs", sweeps=4000, seed=5)
    assert (sampled.mcse > 0).all()
    assert (np.abs(sampled.values - exact.values) < 5 * sampled.mcse + 1e-3).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_best_states(seed):
    model = random_model(seed)
    states, p = enumerated(model, lambda x: x[0] == 1)
    best = model.n_best(5, {"a": "yes"})
    order = np.argsort(-p)[:5]
    np.testing.assert_array_equal(best.assignments, states[order])
    np.testing.assert_allclose(best.log_scores, model.log_score(states[order]))
    assert best.optimal and len(best) == 5 and [s.log_score for s in best] == best.log_scores.tolist()
    assert best[0]["a"] == "yes" and best[-1].assignment.tolist() == states[order[-1]].tolist()
    with pytest.raises(IndexError):
        best[5]
    assert list(best.to_frame()["b"]) == [s["b"] for s in best]
    assert len(pickle.loads(pickle.dumps(best))) == 5 and len(model.n_best(1)) == 1
    np.testing.assert_array_equal(model.map({"a": "yes"}, best=5).states, best.assignments)


@pytest.mark.parametrize("seed", range(5))
def test_marginal_map(seed):
    model = random_model(seed)
    states, p = enumerated(model, lambda x: x[2] == 0)
    table = np.zeros((3, 2))
    np.add.at(table, (states[:, 3], states[:, 0]), p)
    best = model.marginal_map(["d", "a"], {"c": 0})
    d, a = np.unravel_index(np.argmax(table), table.shape)
    assert best.assignment.tolist() == [d, a] and best.optimal
    assert best.log_probability == pytest.approx(np.log(table.max()))
    assert best.to_dict() == {"d": model.states("d")[d], "a": model.states("a")[a]} and best["d"] == model.states("d")[d]
    assert pickle.loads(pickle.dumps(best)).to_dict() == best.to_dict()
    with pytest.raises(dv.UsageError, match="not asked"):
        best["b"]


def test_interventions_and_targets_as_in_the_command(sprinkler):
    r = sprinkler.marginals({"lawn": "wet"}, do={"sprinkler": "on"})
    expected = run_command("marginals", MODELS / "sprinkler.bif", "--observe", "lawn=wet", "--do", "sprinkler=on")
    assert [r[v].tolist() for v in range(len(sprinkler))] == expected["marginals"]
    assert r.interventions == {"sprinkler": "on"}
    info = sprinkler.info({"lawn": "wet"}, target="rain")
    expected = run_command("info", MODELS / "sprinkler.bif", "--observe", "lawn=wet", "--target", "rain")
    assert list(info.information.values()) == [one["mutual_information"] for one in expected["information"]]
    assert len(info.sensitivity) == len(expected["sensitivity"])
    with pytest.raises(dv.UsageError):
        sprinkler.map(target="rain")


def test_texts_of_answers_are_short():
    model = dv.Model({f"a variable with a name as long as that, number {k} ü": 40 for k in range(30)})
    rng = np.random.default_rng(0)
    for k in range(29):
        model.factor([k, k + 1], rng.random((40, 40)))
    for answer in (model.marginals(), model.joint([0, 1]), model.n_best(30), model.marginal_map([0, 1]), model.map(),
                   model.marginals(rows=[{0: 1}] * 50)):
        text = repr(answer)
        assert text.count("\n") < 20, text
        assert "<pre>" in answer._repr_html_() or "<table>" in answer._repr_html_()
