"""Rows of evidence as the library takes them: numbers of states, and likelihoods."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import DataError, Error, UsageError

_Codes = NDArray[np.int32]
_Soft = NDArray[np.float64]


def _is_missing(value: Any) -> bool:
    return value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType") or (
        isinstance(value, float) and value != value)


class _Column:
    """A column of evidence about one variable."""

    def __init__(self, model: Any, key: Any) -> None:
        self.model = model
        self.variable: int = model._variable(key)
        self.count: int = len(model.states(self.variable))

    def state(self, value: Any, row: int) -> int:
        try:
            return int(self.model._state(self.variable, value))
        except Error as error:
            raise DataError(f"rows: row {row}: {error}") from None

    def likelihood(self, values: Any, row: int) -> _Soft:
        found = np.asarray(values, dtype=float)
        if found.shape != (self.count,):
            name = self.model.names[self.variable]
            raise DataError(f"rows: row {row}: variable {name}: expected a state, or a likelihood for each of {self.count} states")
        return found

    def of_distinct(self, distinct: NDArray[Any], places: NDArray[Any]) -> _Codes:
        """From the values that occur, and which of them each row has."""
        first = np.full(len(distinct), len(places))
        np.minimum.at(first, places, np.arange(len(places)))
        states: _Codes = np.array([self.state(value.item(), int(row)) for value, row in zip(distinct, first)], dtype=np.int32)
        found: _Codes = states[places]
        return found

    def of_numbers(self, values: NDArray[Any]) -> _Codes:
        codes = np.full(len(values), -1, dtype=np.int32)
        seen = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
        kept = values[seen]
        if values.dtype.kind == "f":
            if not np.all(kept == np.floor(kept)):
                row = int(np.flatnonzero(seen)[np.argmax(kept != np.floor(kept))])
                raise DataError(f"rows: row {row}: variable {self.model.names[self.variable]}: {values[row]} is no state")
            kept = kept.astype(np.int64)
        if len(kept):
            distinct, places = np.unique(kept, return_inverse=True)
            codes[seen] = self.of_distinct(distinct, places)
        return codes

    def of_objects(self, values: Iterable[Any], length: int) -> tuple[_Codes, _Soft | None]:
        codes = np.full(length, -1, dtype=np.int32)
        soft: _Soft | None = None
        known: dict[Any, int] = {}
        for row, value in enumerate(values):
            try:
                code = known.get(value)
            except TypeError:  # a list or an array, which is no key
                if soft is None:
                    soft = np.full((length, self.count), np.nan)
                soft[row] = self.likelihood(value, row)
                continue
            if code is None:
                if isinstance(value, tuple):
                    if soft is None:
                        soft = np.full((length, self.count), np.nan)
                    soft[row] = self.likelihood(value, row)
                    continue
                if isinstance(value, float) and value == np.floor(value):
                    value = int(value)
                code = known[value] = -1 if _is_missing(value) else self.state(value, row)
            codes[row] = code
        return codes, soft


def _checked(column: _Column, soft: _Soft) -> _Soft:
    known = ~np.isnan(soft[:, 0])
    if np.any(soft[known] < 0) or np.isnan(soft[known]).any() or not np.all(soft[known].max(axis=1, initial=0) > 0):
        name = column.model.names[column.variable]
        raise DataError(f"rows: variable {name}: expected likelihoods of 0 or more, not all 0")
    return soft


def _read(column: _Column, values: Any) -> tuple[_Codes, _Soft | None]:
    """States by number, and likelihoods."""
    categories = getattr(getattr(values, "cat", None), "categories", None)
    if categories is not None:  # pandas: values that occur are named already
        codes = np.asarray(values.cat.codes)
        found = np.full(len(codes), -1, dtype=np.int32)
        if (codes >= 0).any():
            distinct, places = np.unique(codes[codes >= 0], return_inverse=True)
            rows = np.flatnonzero(codes >= 0)
            found[rows] = np.array([column.state(categories[code], int(rows[np.argmax(places == k)]))
                                    for k, code in enumerate(distinct)], dtype=np.int32)[places]
        return found, None
    if isinstance(values, np.ma.MaskedArray):
        array = np.array(values.data, dtype=object)
        array[np.broadcast_to(values.mask, array.shape)] = None
    elif hasattr(values, "to_numpy"):
        array = values.to_numpy()
    elif isinstance(values, np.ndarray):
        array = values
    else:
        values = list(values)
        has_lists = any(isinstance(value, (list, tuple, np.ndarray)) for value in values)
        array = np.empty(len(values), dtype=object)
        array[:] = values if not has_lists else [None] * len(values)
        if has_lists:
            for row, value in enumerate(values):
                array[row] = value
    if array.ndim == 2:
        if array.shape[1] != column.count:
            raise DataError(f"rows: variable {column.model.names[column.variable]}: expected {column.count} likelihoods in a row, "
                            f"found {array.shape[1]}")
        return np.full(len(array), -1, dtype=np.int32), np.asarray(array, dtype=float)
    if array.dtype.kind in "fiu":
        return column.of_numbers(array), None
    return column.of_objects(array.tolist() if array.dtype.kind != "O" else array, len(array))


def _columns(rows: Any, names: list[str]) -> tuple[dict[Any, Any], int, Any]:
    """Columns by variable, how many rows, and the index of a frame."""
    if hasattr(rows, "columns") and hasattr(rows, "index"):
        if not rows.columns.is_unique:
            raise UsageError("rows: expected every column once")
        return {key: rows[key] for key in rows.columns}, len(rows), rows.index
    if isinstance(rows, Mapping):
        columns = dict(rows)
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise UsageError(f"rows: expected columns of one length, found {sorted(lengths)}")
        return columns, lengths.pop() if lengths else 0, None
    if not isinstance(rows, np.ndarray):
        rows = list(rows)
        if not rows:
            return {}, 0, None
        if all(isinstance(row, Mapping) for row in rows):
            keys = list(dict.fromkeys(key for row in rows for key in row))
            return {key: [row.get(key) for row in rows] for key in keys}, len(rows), None
        rows = np.array(rows, dtype=object)
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise UsageError(f"rows: expected an array with a column for each of the {len(names)} variables, or named columns "
                         "(a frame, or a dict)")
    return {v: rows[:, v] for v in range(rows.shape[1])}, len(rows), None


def prepared(model: Any, rows: Any) -> tuple[Any, list[int], _Codes, list[tuple[int, _Soft]], Any]:
    """(path or None, variables, states by number (row, variable) with -1 where not observed, likelihoods, index)."""
    if isinstance(rows, (str, os.PathLike)):
        return os.fspath(rows), [], np.zeros((0, 0), np.int32), [], None
    columns, count, index = _columns(rows, model.names)
    variables: list[int] = []
    states = np.full((count, len(columns)), -1, dtype=np.int32)
    soft: list[tuple[int, _Soft]] = []
    for key, values in columns.items():
        column = _Column(model, key)
        states[:, len(variables)], likelihoods = _read(column, values)
        if likelihoods is not None:
            soft.append((column.variable, _checked(column, likelihoods)))
        variables.append(column.variable)
    return None, variables, states, soft, index
