"""The history of metadata over starts: a row where the IOC says something else, and none where it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archiver import Pvark
from ioc import Ioc
from referees import pva_context
from waiting import wait_for

# Alarm limits that a record does not use are served as NaN by both protocols.
RECORDS = """
record(calc, "M:ca") { field(SCAN, ".1 second") field(CALC, "VAL+1") field(EGU, "mA") field(HOPR, "10") }
record(calc, "M:pva") { field(SCAN, ".1 second") field(CALC, "VAL+1") field(EGU, "mA") field(HOPR, "10") }
"""
PVS = ["M:ca", "M:pva"]


@pytest.fixture
def server(tmp_path: Path, start_ioc: Callable[[str], Ioc]) -> Iterator[tuple[Pvark, Ioc]]:
    ioc = start_ioc(RECORDS)
    server = Pvark(tmp_path, [ioc])
    yield server, ioc
    server.kill()


def rows(server: Pvark, pv: str) -> list[dict[str, Any]]:
    """All metadata that was ever in force."""
    found: list[dict[str, Any]] = server.json(f"/api/v1/pvs/{pv}/metadata?from=2000-01-01T00:00:00Z")["metadata"]
    return found


def units(server: Pvark, pv: str) -> list[Any]:
    return [row["units"] for row in rows(server, pv)]


def listen(server: Pvark) -> None:
    """Until each PV has a second of samples of this connection: its description, if there is any, has long come."""

    def newest(pv: str) -> np.datetime64:
        return np.datetime64(server.archive.pv(pv).details["last"]["time"].rstrip("Z"), "ns")

    wait_for("all PVs to be connected", lambda: server.archive.status().pvs["connected"] == len(PVS), 30)
    begun = {pv: newest(pv) for pv in PVS}
    for pv in PVS:
        wait_for(f"more of {pv}", lambda pv=pv: newest(pv) - begun[pv] > np.timedelta64(1, "s"), 30)  # type: ignore[misc]


def set_units(ioc: Ioc, text: str) -> None:
    with pva_context(ioc) as context:
        for pv in PVS:
            context.put(f"{pv}.EGU", text, timeout=10)


def test_five_starts_add_no_row_and_other_units_add_one(server: tuple[Pvark, Ioc]) -> None:
    archiver, ioc = server
    archiver.start()
    archiver.archive.add("ca://M:ca", "pva://M:pva")
    archiver.wait_connected(*PVS)
    for pv in PVS:
        wait_for("the description", lambda pv=pv: rows(archiver, pv)[-1]["units"] == "mA")  # type: ignore[misc]
    first = {pv: rows(archiver, pv) for pv in PVS}
    assert {pv: len(of) for pv, of in first.items()} == dict.fromkeys(PVS, 1), first
    assert all(of[0]["alarm"] is None or None in of[0]["alarm"].values() for of in first.values()), first
    for start in range(5):
        # A crash leaves the metadata in the log, an orderly end in the catalogue.
        if start % 2:
            archiver.kill()
        else:
            assert archiver.terminate() == 0
        archiver.start()
        listen(archiver)
        assert {pv: rows(archiver, pv) for pv in PVS} == first, f"start {start}"

    assert archiver.terminate() == 0
    set_units(ioc, "A")
    for _ in range(2):
        archiver.start()
        listen(archiver)
        assert {pv: units(archiver, pv) for pv in PVS} == dict.fromkeys(PVS, ["mA", "A"])
        assert archiver.terminate() == 0
    archiver.start()
    listen(archiver)
    set_units(ioc, "kA")
    for pv in PVS:
        wait_for("the change", lambda pv=pv: units(archiver, pv) == ["mA", "A", "kA"])  # type: ignore[misc]
