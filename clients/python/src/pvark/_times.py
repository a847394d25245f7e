"""Times: what callers may give, as the text that the archiver reads, and back, without losing a nanosecond."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Moment: TypeAlias = str | datetime | timedelta | np.datetime64
"""ISO 8601 text, a datetime with zone, a (negative) timedelta from now, or a numpy time, which is UTC."""

TimeArray: TypeAlias = npt.NDArray[np.datetime64]


def to_iso(moment: Moment) -> str:
    """The text for a URL."""
    if isinstance(moment, str):
        return moment
    if isinstance(moment, np.datetime64):
        return f"{np.datetime_as_string(moment.astype('datetime64[ns]'))}Z"
    if isinstance(moment, timedelta):
        moment = datetime.now(timezone.utc) + moment
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone: write datetime(..., tzinfo=timezone.utc) or the zone you mean")
    # pandas keeps nanoseconds in a datetime of its own, which isoformat() prints with nine digits.
    return moment.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def from_parts(seconds: Sequence[int], nanos: Sequence[int]) -> TimeArray:
    """Times from whole seconds since 1970 and the nanoseconds within them."""
    total = np.asarray(seconds, dtype=np.int64) * 1_000_000_000 + np.asarray(nanos, dtype=np.int64)
    return total.astype("datetime64[ns]")


def from_iso(text: str) -> np.datetime64:
    """A time as the archiver prints it, in UTC with `Z`."""
    return np.datetime64(text.removesuffix("Z"), "ns")


def maybe_from_iso(text: Any) -> np.datetime64 | None:
    """The same where null is allowed."""
    return None if text is None else from_iso(text)
