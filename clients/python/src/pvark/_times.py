"""Times: what callers may give, as the text that the archiver reads, and back, without losing a nanosecond."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Moment: TypeAlias = str | datetime | date | timedelta | np.datetime64
"""A text, which the archiver reads (`2026-06-01 08:30`, `-8h`, `yesterday`, `2026-06-01T08:30:00.5+02:00`; UTC without
an offset), a datetime with zone, a date (its midnight in UTC), a (negative) timedelta from now, a numpy time (UTC)."""

TimeArray: TypeAlias = npt.NDArray[np.datetime64]


def to_iso(moment: Moment, now: datetime | None = None) -> str:
    """The text for a URL, with timedeltas counted from `now`. Texts go as they are: what they mean is decided in one
    place, which is the archiver."""
    if isinstance(moment, str):
        return moment
    if isinstance(moment, np.datetime64):
        if np.isnat(moment):
            raise ValueError("NaT is no time")
        return f"{np.datetime_as_string(moment.astype('datetime64[ns]'))}Z"
    if isinstance(moment, timedelta):
        moment = (now or datetime.now(timezone.utc)) + moment
    if isinstance(moment, date) and not isinstance(moment, datetime):
        return f"{moment.isoformat()}T00:00:00Z"
    if not isinstance(moment, datetime):
        raise TypeError(
            f"{moment!r} is no time: give a text, a datetime with its zone, a timedelta or a numpy.datetime64"
        )
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
