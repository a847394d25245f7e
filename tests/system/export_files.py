"""A month of twenty PVs of many kinds, and whether a file that was exported of it holds what `get` and `aligned` give.
PVARK_EXPORT_EACH=60 takes a sample a minute in place of one in ten."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pvark
import pyarrow.feather
import pyarrow.parquet
from archiver import Pvark

START, END = "2026-05-01T00:00:00Z", "2026-05-31T00:00:00Z"
EACH = int(os.environ.get("PVARK_EXPORT_EACH", "600"))
SECONDS = 30 * 86_400
FLOATS = [f"SR:C{cell:02}:BPM{cell % 4}:X" for cell in range(17)]
LONG_NAME = "SR:C17:A-NAME-LONGER-THAN-THE-NAME-OF-A-SHEET:TEXT"
PVS = [*FLOATS, "SR:STATE", LONG_NAME, "SR:COUNT"]


def lines(pv: str, number: int) -> str:
    """A sample every so often, with odd ones among them."""
    start = np.datetime64("2026-05-01T00:00:00", "ns")
    rows = []
    for index, second in enumerate(range(number, SECONDS, EACH)):
        when = start + np.timedelta64(second, "s") + np.timedelta64(123_456_789 + index, "ns")
        value: object = round(np.sin(index / 40 + number) * 3, 6)
        if pv == "SR:STATE":
            value = index % 3
        elif pv == LONG_NAME:
            value = ['=HYPERLINK("http://x")', "+1", "plain", "-2", "@SUM(A1)"][index % 5].replace('"', "'")
        elif pv == "SR:COUNT":
            value = 2**60 + index
        elif index % 997 == 5:
            value = ["NaN", "inf", "-inf"][index % 3]
        rows.append(f"{when}Z,{value},{index % 50 == 0:d},0\n")
    return "".join(rows)


def start_with_month(server: Pvark) -> None:
    """Starts an archiver that may make exports on any disk, and gives it the month."""
    server.config_path.write_text(server.config_path.read_text() + "[exports]\nfree_megabytes_min = 100\n")
    server.start()
    server.archive.add(*(f"ca://{pv}" for pv in PVS))
    types = {"SR:STATE": "i32", LONG_NAME: "string", "SR:COUNT": "i64"}
    for number, pv in enumerate(PVS):
        server.take(pv, types.get(pv, "f64"), lines(pv, number))


def told(value: Any) -> Any:
    """A value as a workbook has it."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer):
        return int(value) if abs(int(value)) <= 2**53 else str(int(value))
    if np.isfinite(value):
        return float(value)
    return "NaN" if np.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def same(a: Any, b: Any) -> bool:
    return bool(a == b or (a != a and b != b))


def same_row(a: Any, b: Any) -> bool:
    """The same where None is no value, for which Python has NaN, and so floats for all integers beside it."""
    if a is None:
        return b is None or bool(b != b)
    return same(a, told(b)) or same(told(a), told(b)) or (isinstance(b, float) and float(a) == b)


def nanos(text: str) -> int:
    return int(np.datetime64(text.removesuffix("Z"), "ns").astype("int64"))


def sheets(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    book = openpyxl.load_workbook(path, read_only=True)
    found = {sheet.title: [tuple(row) for row in sheet.iter_rows(values_only=True)] for sheet in book}
    book.close()
    return found


def is_workbook_of_samples(path: Path, given: dict[str, pvark.Samples]) -> None:
    """Every sample stands in the sheet of its PV."""
    found = sheets(path)
    of = {row[0]: row[1] for row in found["PVs"][1:]}
    assert list(of) == PVS and all(len(sheet) <= 31 for sheet in of.values())
    for pv in PVS:
        heading, *rows = found[of[pv]]
        assert heading[:4] == ("time", "date", "value", "severity")
        samples = given[pv]
        assert [nanos(row[0]) for row in rows] == samples.times.astype("int64").tolist()
        assert [row[2] for row in rows] == [told(value) for value in samples.values]
        assert [row[3] for row in rows] == samples.severity.tolist()
        for row in rows[:50]:
            shown = np.datetime64(row[1].replace(tzinfo=None), "us")
            assert abs(nanos(str(shown)) - nanos(row[0])) < 2_000_000


def is_workbook_of_rows(path: Path, given: pvark.Aligned, columns_each: int = 1) -> None:
    """All PVs stand on the same times, each in a column, or in two with its severity."""
    heading, *rows = sheets(path)["rows"]
    assert heading[2::columns_each] == tuple(PVS)
    assert [nanos(row[0]) for row in rows] == given.times.astype("int64").tolist()
    for number, pv in enumerate(PVS):
        column = 2 + columns_each * number
        cells = [row[column] if len(row) > column else None for row in rows]
        assert all(same_row(a, b) for a, b in zip(cells, given.values[pv].tolist(), strict=True)), pv


READERS = {"parquet": pyarrow.parquet.read_table, "arrow": pyarrow.feather.read_table}


def is_zip_of_samples(path: Path, form: str, given: dict[str, pvark.Samples]) -> None:
    """Every sample stands in the file of its PV."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for pv in PVS:
            name = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in pv)
            table = READERS[form](io.BytesIO(archive.read(f"{name}.{form}")))
            assert table.column("time").cast("int64").to_pylist() == given[pv].times.astype("int64").tolist()
            values = table.column("value").to_pylist()
            assert all(same(a, b) for a, b in zip(values, given[pv].values.tolist(), strict=True)), pv


def is_table_of_rows(path: Path, form: str, given: pvark.Aligned, pvs: Sequence[str] = PVS) -> None:
    """All PVs stand on the same times, each in a column."""
    table = READERS[form](path)
    assert table.column_names == ["time", *pvs]
    assert table.column("time").cast("int64").to_pylist() == given.times.astype("int64").tolist()
    for pv in pvs:
        both = zip(table.column(pv).to_pylist(), given.values[pv].tolist(), strict=True)
        assert all(same_row(a, b) for a, b in both), pv
