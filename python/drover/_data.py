"""Tables of data as the library reads them."""

from __future__ import annotations

import csv
import io
import os
from typing import Any

import numpy as np

from ._errors import UsageError


def _text(rows: Any, names: list[str]) -> tuple[str, str]:
    target = io.StringIO()
    writer = csv.writer(target, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return "text", target.getvalue()


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def prepared(data: Any, names: Any = None) -> tuple[Any, ...]:
    """A path, an array of numbers with names, or a text with a header, as the first of the tuple says."""
    if isinstance(data, (str, os.PathLike)):
        return "path", os.fspath(data)
    if names is None and hasattr(data, "columns"):
        names = [str(name) for name in data.columns]
    array = data.to_numpy() if hasattr(data, "to_numpy") else np.asarray(data)
    if array.ndim != 2:
        raise UsageError(f"data: expected rows and columns, found an array of {array.ndim} dimensions")
    names = [f"x{k}" for k in range(array.shape[1])] if names is None else [str(name) for name in names]
    if len(names) != array.shape[1]:
        raise UsageError(f"names: expected {array.shape[1]}, found {len(names)}")
    if array.dtype.kind in "biuf" and len(names) > 0:
        return "numbers", array, names
    return _text(([("" if _is_missing(x) else x) for x in row] for row in array.tolist()), names)
