"""A network that passes no packets while every socket stays open: noticed, told, got over, no matter to other PVs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from archiver import Pvark
from farm import Farm
from ioc import Ioc
from silent import Way
from waiting import wait_for

COUNT = 20
RECORDS = "".join(f'record(calc, "H:{i}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n' for i in range(COUNT))
PVS = [f"H:{i}" for i in range(COUNT)]
GOOD = [f"G:{n}" for n in range(COUNT)]
SILENCE = 3
ECHO = 5


@pytest.fixture
def good() -> Iterator[Farm]:
    farm = Farm("--group", f"name=G:,count={COUNT},rate=10", "--queue", "0")
    yield farm
    farm.kill()


@pytest.mark.parametrize("protocol", ["ca", "pva"])
def test_a_server_that_falls_silent_with_its_sockets_open_is_given_up_and_found_again(
    start_ioc: Callable[[str], Ioc], good: Farm, tmp_path: Path, protocol: str
) -> None:
    ioc = start_ioc(RECORDS)
    way = Way(ioc.ca_port if protocol == "ca" else ioc.pva_port)
    server = Pvark(tmp_path, [good])  # type: ignore[list-item]
    server.environment = {"EPICS_CA_CONN_TMO": str(SILENCE), "EPICS_PVA_CONN_TMO": str(SILENCE)}
    text = server.config_path.read_text()
    server.config_path.write_text(text.replace(f"[{protocol}]", f'[{protocol}]\nname_servers = ["{way.address}"]'))
    try:
        server.start()
        archive = server.archive
        archive.add(*(f"{protocol}://{name}" for name in PVS), *(f"ca://{name}" for name in GOOD))
        server.wait_connected(*PVS, *GOOD)
        assert way.opened > 0 and archive.pv(PVS[0]).details["server"] == way.address
        since = np.datetime64(time.time_ns(), "ns")

        def connected() -> int:
            return sum(archive.pv(name).details["state"] == "connected" for name in PVS)

        way.go_dead()
        begun = time.monotonic()
        wait_for("the silence to be noticed", lambda: connected() == 0, 30)
        assert time.monotonic() - begun < SILENCE + ECHO + 5
        time.sleep(2)
        assert connected() == 0, "a circuit that is silent from its beginning is no connection"
        way.revive()
        back = np.datetime64(time.time_ns(), "ns")
        wait_for("all PVs to come back", lambda: connected() == COUNT, 60)
        for name in PVS:
            wait_for("new samples", lambda name=name: len(archive.get(name, back)) > 5, 30)  # type: ignore[misc]
            causes = [gap.cause for gap in archive.gaps(name, since) if gap.scope == "pv"]
            assert causes and set(causes) == {"disconnected"}, (name, causes)
        for name in GOOD:
            told = archive.explain(name, since, proof="counter")
            assert told.complete == "proved", (name, told)
    finally:
        server.kill()
        way.close()
