"""A reader that was written from docs/format.md alone finds in segments what the archiver answers, of every type."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from archiver import ROOT, Pvark
from ioc import Ioc
from test_types import DATABASE, P4P, RECORDS

sys.path.insert(0, str(ROOT / "clients/python/examples"))
read_segment = pytest.importorskip("read_segment", reason="pcodec, zstandard or xxhash is not installed")

ADDRESSES = [
    *(f"ca://{name}" for name in RECORDS),
    *(f"pva://P:{name}{suffix}" for name in P4P for suffix in ("", ":array")),
    *(f"pva://P:{name}" for name in ("described", "enum", "table", "image", "odd")),
]


@pytest.fixture(scope="module")
def archive(module_folder: Path) -> Iterator[Pvark]:
    """Everything recorded, flushed to segments by an orderly end, and served again without IOCs."""
    iocs = [Ioc.of_records(module_folder, DATABASE), Ioc.of_script(module_folder, "p4p_types.py")]
    pvark = Pvark(module_folder, iocs)
    try:
        for ioc in iocs:
            ioc.start()
        pvark.start()
        pvark.archive.add(*ADDRESSES)
        pvark.wait_connected(*(address.split("://")[1] for address in ADDRESSES))
        for ioc in iocs:
            ioc.kill()
        assert pvark.terminate() == 0
        yield pvark.start()
    finally:
        pvark.kill()
        for ioc in iocs:
            ioc.kill()


def plain(value: Any) -> Any:
    """Without numpy, whose numbers do not look like others."""
    return value.tolist() if isinstance(value, numpy.ndarray | numpy.generic) else value


def test_the_reader_finds_every_sample_of_every_type(archive: Pvark) -> None:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for file in sorted(archive.data.glob("*/*.seg")):
        data = file.read_bytes()
        for name, record in read_segment.segment(data).items():
            samples = list(read_segment.samples(data, record))
            assert len(samples) == record[2]
            if not name.startswith("ledger:"):  # what the archive keeps for itself is no PV of the interface
                found.setdefault(name, []).extend(samples)
    types = set()
    for name, samples in found.items():
        answer = archive.archive.get(name, "1970-01-01T00:00:00Z", "2200-01-01T00:00:00Z")
        types.add(answer.type)
        assert [sample[0] for sample in samples] == answer.times.astype("i8").tolist(), name
        assert [sample[1] for sample in samples] == answer.severity.tolist()
        assert [sample[2] for sample in samples] == answer.status.tolist()
        assert [sample[3] for sample in samples] == answer.message.tolist()
        assert [sample[4] for sample in samples] == answer.pulse.tolist()
        if answer.type != "structure":
            read = [plain(sample[5]) for sample in samples]
            assert repr(read) == repr([plain(value) for value in answer.values]), name  # a NaN equals none
    assert len(found) == len(ADDRESSES) and len(types) >= 20, types


def test_the_reader_takes_structures_apart_into_their_fields(archive: Pvark) -> None:
    structures = {}
    for file in archive.data.glob("*/*.seg"):
        data = file.read_bytes()
        for name, record in read_segment.segment(data).items():
            structures[name] = next(read_segment.samples(data, record))[5]
    odd = structures["P:odd"]
    assert odd["count"] == 3
    assert (odd["inner.x"], plain(odd["inner.names"])) == (0.5, ["p", "q"])
    assert plain(structures["P:table"]["labels"]) == ["name", "value"]


def test_the_reader_refuses_a_damaged_segment(archive: Pvark) -> None:
    data = bytearray(next(archive.data.glob("*/*.seg")).read_bytes())
    data[100] ^= 1  # in the first block
    with pytest.raises(AssertionError, match="a check is wrong"):
        for record in read_segment.segment(bytes(data)).values():
            list(read_segment.samples(bytes(data), record))
