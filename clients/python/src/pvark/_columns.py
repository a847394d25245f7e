"""Values of one type as a numpy column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

NOTHING = np.array(None, dtype=object)
"""What columns without a message are made of."""

DTYPES: dict[str, type[np.generic]] = {
    "bool": np.bool_,
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "u16": np.uint16,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "f32": np.float32,
    "f64": np.float64,
    "enum": np.int32,
}


def column(type_name: str, values: Sequence[Any]) -> npt.NDArray[Any]:
    """The values of one type. Numbers too large for JSON come as texts, and so do NaN and the infinities."""
    if type_name.endswith("[]"):
        return table_of([column(type_name[:-2], value) for value in values])
    dtype = DTYPES.get(type_name)
    if dtype is None:
        return objects(values)
    if dtype in (np.int64, np.uint64):
        values = [int(value) for value in values]
    elif dtype in (np.float32, np.float64):
        values = [float(value) for value in values]
    return np.array(values, dtype=dtype)


def table_of(rows: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Arrays of one length as (row, index), others as one object a row."""
    lengths = {len(row) for row in rows}
    return np.stack(rows) if len(lengths) == 1 and lengths != {0} else objects(rows)


def apart(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A table of arrays as one object a row; anything else as it is."""
    return objects(list(rows)) if rows.ndim > 1 else rows


def joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Parts of a column one after another, as a table if all their arrays have one length."""
    if len({part.shape[1:] for part in parts}) > 1:
        parts = [apart(part) for part in parts]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def objects(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    """A column of anything, one object a row even if all rows are arrays of equal length."""
    array = np.empty(len(values), dtype=object)
    for index, value in enumerate(values):
        array[index] = value
    return array
