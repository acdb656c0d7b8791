"""The same bits as the command: every method that fits, on twelve models."""

import warnings

import numpy as np
import pytest
from conftest import MODELS, run_command

import drover as dv

FILES = ["sprinkler.bif", "grid-3x3.uai", "colours.fg", "triangle.coo", "xor.uai", "odd-cycle.uai"]
MADE = {
    "torus": lambda: dv.grid(4, 4, coupling=0.3, field=0.1, periodic=True),
    "potts": lambda: dv.potts([[0, 1], [1, 2], [0, 2], [2, 3]], [0.5, 0.7, 0.2, 0.4], states=3, fields=np.linspace(0, 1, 12).reshape(4, 3)),
    "rbm": lambda: dv.rbm(np.linspace(-1, 1, 12).reshape(4, 3), 0.1, -0.2),
    "glass": lambda: dv.ising([(i, j) for i in range(7) for j in range(i)], np.sin(np.arange(21)), 0.05),
    "tables": lambda: tables(),
    "chain": lambda: dv.ising([[i, i + 1] for i in range(9)], np.cos(np.arange(9)), np.linspace(-1, 1, 10)),
}
# Short runs: bits are compared, not quality.
SHORT = {"chains": 8, "sweeps": 60, "burn_in": 20, "samples": 64, "iterations": 50, "temperatures": 3}


def tables():
    model = dv.Model([2, 3, 2, 4])
    rng = np.random.default_rng(3)
    model.factor([0, 1, 2], rng.random((2, 3, 2)))
    model.factor([2, 3], rng.random((2, 4)))
    model.factor([1, 3], rng.random((3, 4)))
    return model


def cases():
    for name in [*FILES, *MADE]:
        yield name


@pytest.fixture(scope="module", params=list(cases()))
def both(request, tmp_path_factory):
    if request.param in FILES:
        path = MODELS / request.param
    else:
        path = tmp_path_factory.mktemp("models") / f"{request.param}.uai"
        MADE[request.param]().write(path)
    return path, dv.read(path)


def asked(task, method):
    known = {option[0] for option in dv.options(task)}
    options = {name: value for name, value in SHORT.items() if name in known}
    if task == "sample" and "sweeps" in options:
        del options["sweeps"]
    return {"method": method, "seed": 7, **options}


def flags(options):
    return [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]


def floats(rows):
    return [[np.nan if x is None else x for x in row] for row in rows]


def test_every_method(both, tmp_path):
    path, model = both
    ran = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dv.ConvergenceWarning)
        for fit in model.info().methods:
            if not fit["fits"]:
                continue
            task, options = fit["task"], asked(fit["task"], fit["name"])
            where = f"{path.name} {task} {fit['name']}"
            if task == "sample":
                expected = run_command(task, path, *flags(options), "--out", tmp_path / "draws.npz")
                draws = model.sample(**options)
                np.testing.assert_array_equal(draws.values.transpose(1, 0, 2), np.load(tmp_path / "draws.npz")["draws"], where)
            else:
                expected = run_command(task, path, *flags(options))
                answer = getattr(model, task)(**options)
                if task == "marginals":
                    assert [answer[v].tolist() for v in range(len(model))] == expected["marginals"], where
                    np.testing.assert_array_equal(answer.mcse, np.concatenate(floats(expected["mcse"])), where)
                elif task == "map":
                    assert answer.assignment.tolist() == expected["assignment"] and answer.log_score == expected["log_score"], where
                else:
                    assert answer.log_z == expected["log_z"], where
            ran += 1
    assert ran >= 15, f"only {ran} methods fit {path.name}"
