"""Exports: many PVs for long ranges as one file, which the archiver makes while nobody waits for an answer. It is
fetched piece by piece, so that a connection that breaks costs a piece, and a program that ended goes on where it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ._asking import Question, Talk, as_bytes, of_json, pause
from ._errors import ConnectionFailed, PvarkError, UnexpectedAnswer
from ._models import Export, ExportPlan
from ._names import Names, asked
from ._talks import seconds, time_range
from ._times import Moment

PIECE_BYTES = 8 << 20
"""So much is fetched at a time."""

ASKED_EACH = 0.3
"""So many seconds pass until it is asked again how far an export is."""

TRIES_MAX = 30
TRY_AFTER = 1.0
"""So often a question is asked again of an archiver that does not answer, so many seconds after the other."""

Told = Callable[[Export], object]


def export(
    pvs: Names,
    path: str | PathLike[str],
    t0: Moment | None = None,
    t1: Moment | None = None,
    *,
    form: str | None = None,
    before: bool = False,
    aligned: bool = False,
    period: timedelta | np.timedelta64 | float | None = None,
    times_of: str | None = None,
    method: str = "previous",
    tolerance: timedelta | np.timedelta64 | float | None = None,
    severity: bool = False,
    progress: Told | None = None,
) -> Talk[Export]:
    """Exports PVs into a file, or into a folder, where the archiver names it, as `form` says, or the end of `path`:
    `csv`, `parquet`, `arrow`, `xlsx` or `mat`. Every sample as `get` gives it; or, with `aligned`, `period` or
    `times_of`, rows as `aligned` gives them, with severities if wanted. `progress` is told how far it is. The file
    appears when all of it is there. The archiver keeps its own for a day; `remove_export` takes it away."""
    _folder(path)
    query = _ordered(path, form, t0, t1, before, aligned, period, times_of, method, tolerance, severity)
    wanted = asked(pvs)
    job = _export((yield of_json("POST", "/exports", query | wanted.query(), wanted.names)))
    return (yield from fetch(job.number, path, progress=progress))


def plan(
    pvs: Names,
    t0: Moment | None = None,
    t1: Moment | None = None,
    *,
    form: str = "csv",
    before: bool = False,
    aligned: bool = False,
    period: timedelta | np.timedelta64 | float | None = None,
    times_of: str | None = None,
    method: str = "previous",
    tolerance: timedelta | np.timedelta64 | float | None = None,
    severity: bool = False,
) -> Talk[ExportPlan]:
    """What an export would be: about how many samples and bytes, and what does not go into its form; see `export`."""
    query = _ordered("", form, t0, t1, before, aligned, period, times_of, method, tolerance, severity)
    wanted = asked(pvs)
    answer = yield of_json("POST", "/exports", query | wanted.query() | {"plan": "true"}, wanted.names)
    return ExportPlan(
        answer["file"],
        answer["pvs"],
        answer["samples"],
        answer["rows_count"],
        answer["bytes"],
        answer["bytes_free"],
        tuple(answer["notes"]),
        _why(answer["refused"]),
    )


def listed() -> Talk[list[Export]]:
    """The exports that whoever asks has ordered, the newest first."""
    return [_export(row) for row in (yield of_json("GET", "/exports"))["exports"]]


def remove(number: int) -> Talk[Export]:
    """Ends an export, and takes its file away from the archiver."""
    return _export((yield of_json("DELETE", f"/exports/{number:d}")))


def fetch(number: int, path: str | PathLike[str], *, progress: Told | None = None) -> Talk[Export]:
    """Waits until the archiver has made the export of that number, and writes it into a file, or into a folder. What an
    earlier call has fetched of it is not fetched again. Without an answer it is asked for half a minute."""
    is_folder = _folder(path)
    job = yield from _made(number, progress)
    target = Path(path)
    if is_folder:
        target /= job.file
    mark = "".join(letter for letter in job.etag or "" if letter.isalnum() or letter == "-")
    part = target.with_name(f"{target.name}.{mark}.part")
    # Each piece is written at its place, so that nothing comes twice where two programs fetch the same.
    with open(part, "r+b", opener=lambda name, flags: os.open(name, flags | os.O_CREAT, 0o666)) as file:
        here = os.fstat(file.fileno()).st_size
        if here > job.bytes:
            here = file.truncate(0)
        while here < job.bytes:
            last = min(here + PIECE_BYTES, job.bytes) - 1
            said = {"Range": f"bytes={here}-{last}", "If-Range": job.etag or ""}
            piece = yield from _patiently(Question("GET", f"/exports/{number:d}/file", as_bytes, said=said))
            if len(piece) != last - here + 1:
                raise UnexpectedAnswer(
                    f"export {number} has another file now: {len(piece)} bytes came in place of a part"
                )
            file.seek(here)
            file.write(piece)
            here = last + 1
        file.flush()
        os.fsync(file.fileno())
        own = os.fstat(file.fileno())
    if own.st_size != job.bytes:
        raise PvarkError(f"{part} has {own.st_size} bytes and not {job.bytes}: another program writes it too")
    _put_in_place(own, part, target)
    return replace(job, path=str(target))


def _put_in_place(own: os.stat_result, part: Path, target: Path) -> None:
    """Gives the part its name, unless another program that fetched the same has done so."""
    if _is_there(target, own):
        return
    if not _is_there(part, own):
        raise PvarkError(f"another program has taken {part} away")
    try:
        os.replace(part, target)
    except FileNotFoundError:
        if not _is_there(target, own):
            raise


def _is_there(path: Path, own: os.stat_result) -> bool:
    """Whether that file lies there."""
    try:
        return os.path.samestat(os.stat(path), own)
    except FileNotFoundError:
        return False


def _folder(path: str | PathLike[str]) -> bool:
    """Whether a file is to come into a folder of that name, however the name ends."""
    if Path(path).is_dir():
        return True
    if os.fspath(path).endswith(("/", os.sep)):
        raise FileNotFoundError(f"there is no folder {os.fspath(path)}: make it, or leave the / at its end out")
    return False


def _made(number: int, progress: Told | None) -> Talk[Export]:
    while True:
        job = _export((yield from _patiently(of_json("GET", f"/exports/{number:d}"))))
        if progress is not None:
            progress(job)
        if job.state == "done":
            return job
        if job.state == "failed":
            raise PvarkError(f"export {number} has failed: {job.error}")
        yield pause(ASKED_EACH)


def _patiently(question: Question[Any]) -> Talk[Any]:
    """The answer, however often nobody answers before, up to a bound."""
    for _ in range(TRIES_MAX):
        try:
            return (yield question)
        except ConnectionFailed:
            yield pause(TRY_AFTER)
    return (yield question)


def _ordered(
    path: str | PathLike[str],
    form: str | None,
    t0: Moment | None,
    t1: Moment | None,
    before: bool,
    aligned: bool,
    period: timedelta | np.timedelta64 | float | None,
    times_of: str | None,
    method: str,
    tolerance: timedelta | np.timedelta64 | float | None,
    severity: bool,
) -> dict[str, object]:
    """What is ordered, as parameters."""
    query = time_range(t0, t1) | {"format": form or _end(path) or "csv"}
    if not (aligned or period is not None or times_of is not None):
        return query | {"rows": "raw", "before": "true" if before else "false"}
    return query | {
        "rows": "aligned",
        "period": None if period is None else seconds(period),
        "times_of": times_of,
        "method": method,
        "tolerance": None if tolerance is None else seconds(tolerance),
        "severity": "true" if severity else "false",
    }


def _end(path: str | PathLike[str]) -> str:
    """What the name of a file ends with; a folder says nothing of its files."""
    return "" if Path(path).is_dir() else Path(path).suffix.removeprefix(".")


def _why(error: Mapping[str, Any] | None) -> str | None:
    if error is None:
        return None
    hint = error.get("hint")
    return str(error["message"]) + (f" ({hint})" if hint else "")


def _export(row: Mapping[str, Any]) -> Export:
    return Export(
        row["number"],
        row["state"],
        row["file"],
        row["pvs"],
        row["pvs_done"],
        row["samples"],
        row["bytes"],
        row["progress"],
        tuple(row["without"]),
        row["without_count"],
        row["gaps"],
        tuple(row["damage"]),
        tuple(row["notes"]),
        _why(row["error"]),
        row["etag"],
    )
