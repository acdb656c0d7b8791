"""A model that changes while 64 chains sample it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import Model, _DynamicTalk
from ._errors import UsageError


class DynamicMarginals(Mapping[str, NDArray[np.float64]]):
    """Marginals of a DynamicModel at a moment: a mapping from variables to distributions.

    Attributes
    ----------
    mcse : dict
        An upper bound of the standard error of each.
    sweeps : int
        Sweeps so far.
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        names = [str(name) for name in answer["variables"]]
        self._rows = {name: np.array(row) for name, row in zip(names, answer["marginals"])}
        self.mcse = {name: np.array(row) for name, row in zip(names, answer["mcse"])}
        self.sweeps = int(answer["sweeps"])
        for row in (*self._rows.values(), *self.mcse.values()):
            row.flags.writeable = False

    def __getitem__(self, name: Any) -> NDArray[np.float64]:
        return self._rows[str(name)]

    def __iter__(self) -> Any:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        rows = [f"  {name}  {np.array2string(row, precision=4)}" for name, row in list(self._rows.items())[:10]]
        more = [f"  ... and {len(self) - 10} more"] if len(self) > 10 else []
        return "\n".join([f"DynamicMarginals after {self.sweeps} sweeps", *rows, *more])


class DynamicModel:
    """A pairwise model that is edited while 64 chains sample it; an edit costs the same whatever the size of the model.

    Parameters
    ----------
    model : Model, optional
        What it starts with: variables of 2 to 64 states, strictly positive factors of one or two variables.
    seed : int
    half_life : float
        Sweeps after which a sweep counts half as much in the marginals.
    """

    def __init__(self, model: Model | None = None, *, seed: int = 1, half_life: float = 100.0) -> None:
        self._talk = _DynamicTalk(Model(0) if model is None else model, seed, half_life)

    def _ask(self, op: str, **members: Any) -> dict[str, Any]:
        line = json.dumps({"op": op, **{name: value for name, value in members.items() if value is not None}}, default=_plain)
        answer = self._talk.ask(line)
        if not answer:
            return {}
        found: dict[str, Any] = json.loads(answer)
        if "error" in found:
            raise UsageError(found["error"])
        return found

    def add_variable(self, name: str | None = None, *, states: int | None = None, field: float | None = None, unary: Any = None) -> Any:
        """Add a variable; its name, or its number when it has none."""
        answer = self._ask("add_variable", name=name, states=states, field=field, unary=unary)
        return name if name is not None else answer["variable"]

    def remove_variable(self, variable: Any) -> None:
        """Remove a variable and its factors."""
        self._ask("remove_variable", variable=variable)

    def add_factor(self, first: Any, second: Any, *, coupling: float | None = None, potts: float | None = None, table: Any = None,
                   name: str | None = None) -> Any:
        """Add exp(coupling s s'), exp(potts [x = x']) or a table, the second variable fastest; its name or number."""
        flat = None if table is None else np.asarray(table, dtype=float).ravel()
        answer = self._ask("add_factor", variables=[first, second], coupling=coupling, potts=potts, table=flat, name=name)
        return name if name is not None else answer["factor"]

    def remove_factor(self, factor: Any) -> None:
        """Remove a factor that add_factor gave."""
        self._ask("remove_factor", factor=factor)

    def set_unary(self, variable: Any, *, field: float | None = None, unary: Any = None) -> None:
        """Replace a variable's own potential: exp(field s), or one number for each state."""
        self._ask("set_unary", variable=variable, field=field, unary=unary)

    def clamp(self, variable: Any, value: int) -> None:
        """Hold a variable at a state until release()."""
        self._ask("clamp", variable=variable, value=value)

    def release(self, variable: Any) -> None:
        """Let a clamped variable go."""
        self._ask("release", variable=variable)

    def sweep(self, count: int = 1) -> None:
        """Sweep all chains."""
        self._ask("sweep", count=count)

    def forget(self) -> None:
        """Let all marginals start afresh."""
        self._ask("forget")

    def marginals(self, variables: Iterable[Any] | None = None) -> DynamicMarginals:
        """The marginals as they are estimated now."""
        return DynamicMarginals(self._ask("marginals", variables=None if variables is None else list(variables)))

    @property
    def sweeps(self) -> int:
        """Sweeps so far."""
        return self._talk.sweeps

    @property
    def variables(self) -> int:
        """How many variables there are."""
        return self._talk.variables

    @property
    def factors(self) -> int:
        """How many pair factors there are."""
        return self._talk.factors

    def model(self) -> Model:
        """The model as it is now; its variables are in the order of the marginals."""
        return self._talk.model()

    def __repr__(self) -> str:
        return f"<DynamicModel of {self.variables} variables and {self.factors} pair factors, {self.sweeps} sweeps>"


def _plain(value: Any) -> Any:
    """What NumPy has, for JSON."""
    return value.tolist()
