"""The example that reads segments finds in every golden block what stands beside it as text."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "clients/python/examples"))
read_segment = pytest.importorskip("read_segment", reason="pcodec, zstandard or xxhash is not installed")

BLOCKS = sorted((ROOT / "testdata/blocks/v1").glob("*.block"))


def numbers_of(text: str) -> list[str]:
    return re.findall(r"NaN|-?inf|-?\d[-+.e\d]*", text)


@pytest.mark.parametrize("path", BLOCKS, ids=lambda path: path.stem)
def test_a_golden_block_holds_what_its_text_says(path: Path) -> None:
    title, *lines = path.with_suffix(".txt").read_text().splitlines()
    samples = list(read_segment.block(path.read_bytes()))
    assert len(samples) == len(lines) == int(title.split()[2])
    for (time, _, status, message, pulse, value, *_), line in zip(samples, lines, strict=True):
        stamp, _, rest = line.split(" ", 2)
        assert f"{numpy.datetime64(time, 'ns')}Z" == stamp
        alarm = re.match(r'(\d+) "(.*?)" (\d+) (.*)', rest)
        assert alarm is not None
        assert (str(status), message or "-", str(pulse)) == alarm.groups()[:3]
        written = alarm[4].partition("[" if "[" in alarm[4] else "(")[2]
        if isinstance(value, numpy.ndarray) and value.dtype != object and value.dtype != bool:
            assert [repr(value.dtype.type(number)) for number in numbers_of(written)] == list(map(repr, value))
        elif isinstance(value, numpy.number):
            assert repr(type(value)(numbers_of(written)[0])) == repr(value)


def test_every_golden_block_is_there() -> None:
    assert len(BLOCKS) >= 31


@pytest.mark.parametrize("version", ["v1", "v2", "v3"])
def test_a_golden_segment_has_the_names_of_its_text_and_all_their_samples(version: str) -> None:
    path = ROOT / f"testdata/segments/{version}/small.seg"
    data, text = path.read_bytes(), path.with_suffix(".txt").read_text()
    records = read_segment.segment(data)
    assert list(records) == re.findall(r"^name \d+ (\S+)", text, re.MULTILINE)
    for record in records.values():
        assert len(list(read_segment.samples(data, record))) == record[2]
