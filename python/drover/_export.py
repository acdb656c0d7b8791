"""Answers as frames, datasets and dicts of other packages, which are imported only here and only when asked for."""

from __future__ import annotations

from typing import Any

import numpy as np


def _shown(answer: Any) -> list[int]:
    return list(answer.query) or list(range(answer.variables))


def marginals_dict(answer: Any) -> dict[str, dict[str, float]]:
    names, model = answer.names, answer.model
    return {names[v]: dict(zip(model.states(v), answer[v].tolist())) for v in _shown(answer)}


def marginals_frame(answer: Any) -> Any:
    import pandas as pd

    shown, offsets, model, names = _shown(answer), answer.offsets, answer.model, answer.names
    counts = np.diff(offsets)[shown]
    rows = np.concatenate([np.arange(offsets[v], offsets[v + 1]) for v in shown]) if shown else np.zeros(0, int)
    return pd.DataFrame({
        "variable": np.repeat(np.array([names[v] for v in shown], dtype=object), counts),
        "state": [state for v in shown for state in model.states(v)],
        "probability": answer.values[rows],
        "mcse": answer.mcse[rows],
        "rhat": np.repeat(answer.rhat[shown], counts),
        "ess": np.repeat(answer.ess[shown], counts),
    })


def marginals_xarray(answer: Any) -> Any:
    import xarray as xr

    shown, offsets = _shown(answer), answer.offsets
    most = int(np.diff(offsets).max(initial=0))
    padded = {"probability": np.full((len(shown), most), np.nan), "mcse": np.full((len(shown), most), np.nan)}
    for row, v in enumerate(shown):
        padded["probability"][row, : offsets[v + 1] - offsets[v]] = answer[v]
        padded["mcse"][row, : offsets[v + 1] - offsets[v]] = answer.mcse[offsets[v] : offsets[v + 1]]
    data: dict[str, Any] = {name: (("variable", "state"), values) for name, values in padded.items()}
    data["rhat"] = ("variable", answer.rhat[shown])
    data["ess"] = ("variable", answer.ess[shown])
    names = answer.names
    return xr.Dataset(data, coords={"variable": [names[v] for v in shown], "state": np.arange(most)},
                      attrs={"method": answer.method, "seed": answer.seed, "verdict": answer.verdict})


def joint_frame(answer: Any) -> Any:
    import pandas as pd

    states = pd.MultiIndex.from_product([answer.model.states(name) for name in answer.of], names=answer.of)
    return pd.DataFrame({"probability": answer.values.ravel(), "mcse": answer.mcse.ravel()}, index=states).reset_index()


def joint_xarray(answer: Any) -> Any:
    import xarray as xr

    return xr.DataArray(answer.values, dims=answer.of, coords={name: answer.model.states(name) for name in answer.of},
                        name="probability", attrs={"method": answer.method, "seed": answer.seed, "verdict": answer.verdict})


def states_frame(answer: Any) -> Any:
    import pandas as pd

    shown = _shown(answer)
    names, model = answer.names, answer.model
    columns = {names[v]: np.array(model.states(v), dtype=object)[answer.assignments[:, v]] for v in shown}
    return pd.DataFrame({"log_score": answer.log_scores, **columns})


def values_dict(answer: Any) -> dict[str, Any]:
    return {name: answer[name] for name in answer.of}


def rows_frame(answer: Any) -> Any:
    import pandas as pd

    columns = pd.MultiIndex.from_tuples([(name, state) for name in answer.of for state in answer.model.states(name)],
                                        names=["variable", "state"])
    index = None if answer._index is None else answer._index[: len(answer)]
    return pd.DataFrame(answer.values, index=index, columns=columns)


def state_dict(answer: Any) -> dict[str, Any]:
    return {name: answer[v] for v, name in enumerate(answer.names)}


def draws_xarray(draws: Any) -> Any:
    import xarray as xr

    return xr.Dataset({"x": (("chain", "draw", "variable"), draws.values), "lp": (("chain", "draw"), draws.log_scores)},
                      coords={"chain": np.arange(draws.chains), "draw": np.arange(draws.draws), "variable": draws.names},
                      attrs={"method": draws.method, "seed": draws.seed, "created_by": "drover"})


def draws_arviz(draws: Any) -> Any:
    import arviz

    coords = {"variable": draws.names}
    return arviz.from_dict(posterior={"x": draws.values}, sample_stats={"lp": draws.log_scores}, coords=coords,
                           dims={"x": ["variable"]})


def draws_frame(draws: Any) -> Any:
    import pandas as pd

    index = pd.MultiIndex.from_product([range(draws.chains), range(draws.draws)], names=["chain", "draw"])
    return pd.DataFrame(draws.values.reshape(draws.chains * draws.draws, draws.variables), index=index, columns=draws.names)


def draws_summary(draws: Any) -> Any:
    from ._core import diagnose

    return diagnose(draws)


def diagnosis_frame(diagnosis: Any) -> Any:
    import pandas as pd

    columns = ["mean", "rhat", "ess_bulk", "ess_tail", "mcse", "autocorrelation"]
    return pd.DataFrame({name: getattr(diagnosis, name) for name in columns}, index=pd.Index(diagnosis.names, name="variable"))
