"""Answers: views of their memory, words for people, other packages' objects, errors."""

import gc
import json
import warnings

import numpy as np
import pytest
from conftest import MODELS, run_command

import drover as dv


@pytest.fixture
def posterior(sprinkler):
    return sprinkler.marginals({"lawn": "wet"})


def test_marginals_are_read_only_views(posterior):
    assert posterior.exact and posterior.converged and posterior.verdict == "good" and posterior.method == "exact"
    assert posterior.because and not posterior.interrupted
    values = posterior.values
    assert not values.flags.writeable and not values.flags.owndata and values.base is not None
    assert np.shares_memory(values, posterior.values) and np.shares_memory(values, posterior["rain"])
    with pytest.raises(ValueError):
        values[0] = 1
    kept = posterior["rain"]
    expected = kept.tolist()
    del posterior, values
    gc.collect()
    assert kept.tolist() == expected


def test_a_million_variables_without_a_copy():
    model = dv.grid(1000, 1000, coupling=0.2)
    answer = model.marginals(method="bp", iterations=2, damping=0)
    first, second = answer.values, answer.values
    assert first.shape == (2_000_000,) and first.ctypes.data == second.ctypes.data
    assert answer.offsets[-1] == 2_000_000 and answer.mcse.shape == first.shape
    assert len(repr(answer).splitlines()) < 20


test_a_million_variables_without_a_copy = pytest.mark.filterwarnings("ignore::drover.ConvergenceWarning")(
    test_a_million_variables_without_a_copy)


@pytest.mark.parametrize("observed", [{"lawn": "wet"}, {"lawn": 1}, "lawn=wet", {"lawn": np.int64(1)}])
def test_evidence_by_name_and_number(sprinkler, observed, posterior):
    lawn = sprinkler.names.index("lawn")
    assert sprinkler.states("lawn")[1] == "wet"
    np.testing.assert_array_equal(sprinkler.marginals(observed).values, posterior.values)
    np.testing.assert_array_equal(sprinkler.marginals({lawn: "wet"}).values, posterior.values)
    assert posterior.evidence == {"lawn": "wet"}
    assert posterior["lawn", "wet"] == 1


def test_repr_is_short_and_names_the_verdict(posterior):
    text = repr(posterior)
    assert "rain" in text and "exact" in text and "good" in text and len(text.splitlines()) < 20
    many = dv.Model({f"v{i}": [f"state {k}" for k in range(50)] for i in range(100)})
    text = repr(many.marginals())
    assert len(text.splitlines()) < 20 and "and 90 more" in text and "44 more" in text


def test_best_state_and_log_z(sprinkler):
    best = sprinkler.map({"lawn": "wet"})
    assert best["lawn"] == "wet" and best.optimal and best.to_dict()["lawn"] == "wet"
    assert sprinkler.log_score(best.assignment) == pytest.approx(best.log_score)
    z = sprinkler.logz({"lawn": "wet"})
    assert z.exact and float(z) == z.log_z and np.exp(z.log_z) == pytest.approx(sprinkler.marginals()["lawn", "wet"])
    assert "LogZ" in repr(z) and "BestState" in repr(best)


def test_draws_are_views_too(sprinkler):
    draws = sprinkler.sample(2000, {"lawn": "wet"}, method="gibbs", chains=4, seed=3, burn_in=100)
    assert draws.values.shape == (4, 500, len(sprinkler)) and draws.values.dtype == np.uint8
    assert draws.log_scores.shape == (4, 500) and not draws.values.flags.writeable
    assert np.shares_memory(draws.values, draws["rain"]) and draws["rain"].shape == (4, 500)
    np.testing.assert_array_equal(draws["rain"], draws.values[:, :, sprinkler.names.index("rain")])
    assert (draws["lawn"] == 1).all() and len(draws) == 2000
    np.testing.assert_allclose(sprinkler.log_score(draws.values[2]), draws.log_scores[2], rtol=1e-6)
    assert np.asarray(draws).shape == (4, 500, len(sprinkler))


test_draws_are_views_too = pytest.mark.filterwarnings("ignore::drover.ConvergenceWarning")(test_draws_are_views_too)


def test_many_states_take_two_bytes():
    model = dv.Model([300, 2])
    draws = model.sample(100, method="exact")
    assert draws.values.dtype == np.uint16 and draws.values.max() > 255


def test_draws_to_files_are_those_of_the_command(sprinkler, tmp_path):
    draws = sprinkler.sample(300, method="exact", seed=5)
    for name in ("kept.npz", "streamed.npz"):
        if name == "kept.npz":
            draws.save(tmp_path / name)
        else:
            streamed = sprinkler.sample(300, method="exact", seed=5, out=str(tmp_path / name))
            assert streamed.out.endswith(name) and streamed.values.size == 0
    run_command("sample", MODELS / "sprinkler.bif", "--samples", 300, "--method", "exact", "--seed", 5, "--out", tmp_path / "command.npz")
    expected = np.load(tmp_path / "command.npz")["draws"]
    for name in ("kept.npz", "streamed.npz"):
        np.testing.assert_array_equal(np.load(tmp_path / name)["draws"], expected)
    np.testing.assert_array_equal(draws.values.transpose(1, 0, 2), expected)


def test_frames_and_datasets(sprinkler, posterior, tmp_path):
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    frame = posterior.to_frame()
    assert isinstance(frame, pandas.DataFrame) and frame.probability.sum() == pytest.approx(len(sprinkler))
    assert frame.set_index(["variable", "state"]).probability["rain", "heavy"] == posterior["rain", "heavy"]
    assert posterior.to_dict()["rain"]["heavy"] == posterior["rain", "heavy"]
    assert float(posterior.to_xarray().probability.sel(variable="rain")[2]) == posterior["rain", "heavy"]
    assert len(sprinkler.marginals(query=["rain"]).to_frame()) == 3
    draws = sprinkler.sample(60, method="exact")
    assert draws.to_frame().shape == (60, len(sprinkler)) and draws.to_frame()["rain"].iloc[7] == draws["rain"].ravel()[7]
    dataset = draws.to_xarray()
    assert dataset.x.dims == ("chain", "draw", "variable") and np.shares_memory(dataset.x.values, draws.values)
    pytest.importorskip("netCDF4")
    draws.to_netcdf(tmp_path / "draws.nc")
    stored = xarray.open_dataset(tmp_path / "draws.nc", group="posterior", engine="netcdf4")
    np.testing.assert_array_equal(stored.x.values, draws.values)


def test_saving_answers(sprinkler, posterior, tmp_path):
    posterior.save(tmp_path / "a.MAR")
    assert (tmp_path / "a.MAR").read_text().split()[0] == "MAR"
    sprinkler.map().save(tmp_path / "a.MAP")
    sprinkler.logz().save(tmp_path / "a.PR")
    posterior.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["method"] == "exact"
    with pytest.raises(dv.UsageError, match="ends in .MAR or .json"):
        posterior.save(tmp_path / "a.txt")
    with pytest.raises(dv.WriteError):
        posterior.save(tmp_path / "no" / "a.MAR")


def test_html_without_script(sprinkler, posterior, tmp_path):
    page = posterior._repr_html_()
    assert "<svg" in page and "rain" in page and "<script" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")
    path = posterior.report(tmp_path / "page.html", open=False)
    text = (tmp_path / "page.html").read_text()
    assert path.endswith("page.html") and "<html" in text and "sprinkler" in text
    for answer in (sprinkler.map(), sprinkler.logz(), sprinkler.sample(50, method="exact")):
        assert "<script" not in answer._repr_html_() and answer.verdict in answer._repr_html_()
        answer.report(tmp_path / "page.html", open=False)


def test_info_and_methods(sprinkler):
    info = sprinkler.info()
    assert info.variables == len(sprinkler) and info.treewidth_bound >= 1
    fits = {m["name"]: m["fits"] for m in info.methods if m["task"] == "marginals"}
    assert fits["exact"] and not fits["swendsen-wang"]
    assert {"gibbs", "exact", "bp"} <= {m["name"] for m in dv.methods()}
    assert "burn_in" in [option[0] for option in dv.options("marginals")]
    assert len(repr(info).splitlines()) < 20


def test_errors_have_the_words_of_the_command(sprinkler, tmp_path):
    with pytest.raises(dv.UsageError, match="unknown option burnin; did you mean burn_in?"):
        sprinkler.marginals(burnin=3)
    with pytest.raises(dv.UsageError, match="burn_in=-1: expected a whole number from 0 to 1e"):
        sprinkler.marginals(burn_in=-1)
    with pytest.raises(dv.UsageError, match="scan=sideways: expected fixed or random"):
        sprinkler.marginals(scan="sideways")
    with pytest.raises(dv.UsageError, match="method=gibs: .* did you mean gibbs"):
        sprinkler.marginals(method="gibs")
    with pytest.raises(dv.UsageError, match='unknown variable "rian"; did you mean "rain"'):
        sprinkler.marginals({"rian": 1})
    with pytest.raises(dv.UsageError, match="out of range"):
        sprinkler.marginals({"rain": 7})
    with pytest.raises(dv.MisfitError, match="swendsen-wang"):
        sprinkler.marginals(method="swendsen-wang")
    with pytest.raises(dv.ReadError, match="nothing.uai"):
        dv.read(tmp_path / "nothing.uai")
    (tmp_path / "bad.uai").write_text("MARKOV 2 2 x")
    with pytest.raises(dv.DataError, match=r"bad.uai:1"):
        dv.read(tmp_path / "bad.uai")
    contradiction = dv.Model(1)
    contradiction.factor(0, [0, 0])
    with pytest.raises(dv.DataError):
        contradiction.marginals()
    for kind in (dv.UsageError, dv.DataError, dv.MisfitError):
        assert issubclass(kind, ValueError) and issubclass(kind, dv.Error)
    for kind in (dv.ReadError, dv.WriteError):
        assert issubclass(kind, OSError) and issubclass(kind, dv.Error)


def test_a_run_that_has_not_converged_warns():
    frustrated = dv.ising(*random_couplings(), None)
    with pytest.warns(dv.ConvergenceWarning, match="not converged|too short"):
        answer = frustrated.marginals(method="gibbs", sweeps=10, burn_in=0, chains=4)
    assert not answer.converged and answer.verdict != "good"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dv.grid(3, 3, coupling=0.1).marginals(method="gibbs").converged


def random_couplings():
    rng = np.random.default_rng(1)
    edges = np.array([(i, j) for i in range(12) for j in range(i)])
    return edges, 3 * rng.normal(size=len(edges))


def test_options_are_those_that_ran(sprinkler):
    answer = dv.grid(4, 4, coupling=0.2).marginals(method="gibbs", chains=64, sweeps=np.int64(500), burn_in=50.0, seed=9)
    assert answer.options["chains"] == 64 and answer.options["sweeps"] == 500 and answer.options["burn-in"] == 50
    assert answer.seed == 9 and answer.chains == 64 and answer.sweeps == 500
    pairs = sprinkler.marginals(pairs=True).pairs
    assert pairs and all(abs(table.sum() - 1) < 1e-9 for table in pairs.values())
