"""Herding as an object that is asked again and again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import HerdResult, herd
from ._errors import UsageError


class Herding:
    """Pseudo-samples that have the moments of data; no model is fitted, and nothing is left to chance.

    Attributes
    ----------
    result : HerdResult or None
        What the last `sample` gave: moment errors, weights, verdict.
    """

    def __init__(self, data: Any, **options: Any) -> None:
        self._data, self._options = data, options
        self.result: HerdResult | None = None

    @classmethod
    def from_data(cls, data: Any, *, order: int = 2, **options: Any) -> Herding:
        """Herd the moments of rows of data.

        Parameters
        ----------
        data : array_like, DataFrame or path
        order : {1, 2, 3}
            Features: singles, also pairs, also triples.
        **options
            Those of the command `herd`.
        """
        return cls(data, order=order, **options)

    @classmethod
    def from_moments(cls, path: Any, **options: Any) -> Herding:
        """Herd the moments of a file that holds nothing but moments."""
        return cls(path, **options)

    def sample(self, samples: int = 100_000, **options: Any) -> NDArray[np.uint16]:
        """Pseudo-samples, (sample, variable), as numbers of states; a read-only view."""
        self.result = herd(self._data, samples=samples, **{**self._options, **options})
        return self.result.values

    def probability(self, event: Mapping[Any, Any]) -> float:
        """The share of the pseudo-samples in which all of these variables have these states."""
        if self.result is None:
            self.sample()
        assert self.result is not None
        names, values = self.result.names, self.result.values
        hits = np.ones(len(values), dtype=bool)
        for key, state in event.items():
            v = key if isinstance(key, (int, np.integer)) else names.index(key) if key in names else -1
            if not 0 <= v < len(names):
                raise UsageError(f"unknown variable {key!r} (there are: {', '.join(names[:12])})")
            hits &= values[:, v] == self._state(int(v), state)
        return float(hits.mean())

    def _state(self, variable: int, state: Any) -> int:
        assert self.result is not None
        states = self.result.states(variable)
        if str(state) in states:
            return states.index(str(state))
        if isinstance(state, (int, np.integer)) and 0 <= state < len(states):
            return int(state)
        raise UsageError(f"unknown state {state!r} of {self.result.names[variable]} (there are: {', '.join(states[:12])})")

    def __repr__(self) -> str:
        return "<Herding, nothing sampled yet>" if self.result is None else repr(self.result)
