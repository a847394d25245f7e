"""`durable` in the config, from the file to the log: when the watermark moves, and what it promises after a kill."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from archiver import Pvark
from ioc import Ioc
from waiting import wait_for

RECORDS = """
record(calc, "T:count") { field(SCAN, ".1 second") field(CALC, "VAL+1") }
record(calc, "T:other") { field(SCAN, ".1 second") field(CALC, "VAL+2") }
"""
PVS = ("T:count", "T:other")
LONG_AGO = "2000-01-01T00:00:00Z"


@pytest.mark.parametrize("durable", ["20ms", "1s", "off"])
def test_what_was_reported_as_durable_is_there_after_a_kill(
    durable: str, start_ioc: Callable[[str], Ioc], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = Pvark(tmp_path, [start_ioc(RECORDS)], more=f'durable = "{durable}"\n')
    request.addfinalizer(server.kill)
    archive = server.start().archive
    archive.add(*PVS)
    wait_for("samples", lambda: all(len(archive.get(pv)) > 20 for pv in PVS))
    begin = archive.status()
    if durable != "off":
        wait_for("samples to be durable", lambda: archive.status().durable > begin.appended)
    wait_for("more samples", lambda: archive.status().appended > begin.appended + 40)
    status = archive.status()
    seconds = (status.now - begin.now) / np.timedelta64(1, "s")
    syncs = status.store["syncs"] - begin.store["syncs"]
    if durable == "off":
        assert (status.durable, status.store["syncs"]) == (0, 0), (
            "nothing is in blocks yet, and the log is never synced"
        )
        assert status.problems == []
    elif durable == "1s":
        assert 0 < syncs <= seconds + 2
    else:
        wait_for("many syncs", lambda: archive.status().store["syncs"] - begin.store["syncs"] > 20)

    seen = {pv: archive.get(pv, LONG_AGO) for pv in PVS}
    behind = archive.status().appended
    wait_for("the log to be handed to the system", lambda: archive.status().appended > behind + 10)
    promised = archive.status().durable
    server.kill()
    server.start()
    found = {pv: archive.get(pv, LONG_AGO) for pv in PVS}
    assert sum(len(samples) for samples in found.values()) >= promised
    assert archive.status().durable >= promised
    for pv, step in (("T:count", 1), ("T:other", 2)):
        before = len(seen[pv])
        assert len(found[pv]) >= before, "a dying process takes nothing that the system has"
        assert np.array_equal(found[pv].values[:before], seen[pv].values)
        assert np.all(np.diff(found[pv].values[:before]) == step)
