"""A short table for people: the first and last rows of some columns, aligned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

ENDS = 5
WIDTH_MAX = 40


def table(title: str, columns: Mapping[str, Sequence[Any] | np.ndarray[Any, Any]]) -> str:
    """The title, the names of the columns, and at most five rows from each end."""
    length = min(map(len, columns.values()), default=0)
    if length <= 2 * ENDS + 1:
        rows: list[int | None] = list(range(length))
    else:
        rows = [*range(ENDS), None, *range(length - ENDS, length)]
    cells = [
        [name, *("..." if row is None else _cell(column[row]) for row in rows)] for name, column in columns.items()
    ]
    widths = [max(map(len, cell)) for cell in cells]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in zip(*cells, strict=True)
    ]
    return "\n".join([title, *lines])


def _cell(value: Any) -> str:
    if isinstance(value, np.datetime64):
        return f"{value}Z"
    if isinstance(value, float | np.floating):
        return f"{value:.9g}"
    if isinstance(value, np.ndarray):
        value = f"[{len(value)}] " + " ".join(map(_cell, value[:6]))
    text = str(value).replace("\n", " ")
    return text if len(text) <= WIDTH_MAX else text[: WIDTH_MAX - 3] + "..."
