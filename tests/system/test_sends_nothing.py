"""What the program sends to servers, byte by byte: it never writes, calls, or tells an IOC to hold updates back."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import caproto
import pytest
from archiver import Pvark, run_program
from farm import Farm
from ioc import Ioc
from p4p.client.thread import Context
from ports import free_port
from tap import CA_FORBIDDEN, PVA_FORBIDDEN, Tap, ca_commands
from waiting import wait_for

RECORDS = """
record(calc, "S:fast") { field(SCAN, ".1 second") field(CALC, "VAL+1") field(HIHI, "1e9") field(EGU, "mm") }
record(calc, "S:slow") { field(SCAN, "1 second") field(CALC, "VAL+1") field(DESC, "counts") }
record(mbbo, "S:state") { field(ZRST, "off") field(ONST, "on") field(PINI, "YES") }
record(stringout, "S:text") { field(VAL, "idle") field(PINI, "YES") }
record(waveform, "S:wave") { field(FTVL, "DOUBLE") field(NELM, "100") field(SCAN, "1 second") }
record(bo, "S:switch") { field(VAL, "1") field(PINI, "YES") alias("S:other") }
"""
PVS = ["S:fast", "S:slow", "S:state", "S:text", "S:wave", "S:other"]
POLICIES = """
[[policy]]
name = "fast"
match = ["S:fast"]
deadband = 0.5
rate_cap = "5/s"
pipeline = true
fields = ["HIHI", "EGU"]
[[policy]]
name = "slow"
match = ["S:slow"]
method = "scan"
period = "2s"
groups = ["beam"]
[[group]]
name = "beam"
enabled_by = ["S:switch"]
"""


def connected_by(server: Pvark, tap: Tap) -> Pvark:
    """The same archiver, with the tap as the only way to its PVs."""
    text = server.config_path.read_text()
    line = f'[{tap.protocol}]\nname_servers = ["{tap.address}"]'
    policies = POLICIES.replace("S:switch", f"{tap.protocol}://S:switch")
    server.config_path.write_text(
        f'default_protocol = "{tap.protocol}"\n{text}'.replace(f"[{tap.protocol}]", line) + policies
    )
    return server


@pytest.mark.parametrize("protocol", ["ca", "pva"])
def test_all_that_an_archiver_does_with_its_pvs_writes_nothing(
    start_ioc: Callable[[str], Ioc], tmp_path: Path, protocol: str
) -> None:
    ioc = start_ioc(RECORDS)
    tap = Tap(ioc.ca_port if protocol == "ca" else ioc.pva_port, protocol)
    server = connected_by(Pvark(tmp_path), tap).start()
    try:
        server.archive.add(*PVS)
        server.wait_connected(*PVS[:5])
        for order in ("pause S:fast", "resume S:fast", "pause S:text", "resume S:text"):
            verb, name = order.split()
            assert server.request("POST", f"/api/v1/pvs/{name}/{verb}")[0] == 200
        for path in (
            "/mgmt/bpl/changeArchivalParameters?pv=S:state&samplingperiod=2&samplingmethod=SCAN",
            "/mgmt/bpl/getPVDetails?pv=S:fast",
            "/mgmt/bpl/getPVStatus?pv=*",
            "/retrieval/bpl/getMetadata?pv=S:fast",
            "/retrieval/data/getData.json?pv=S:fast&fetchLatestMetadata=true",
            "/api/v1/pvs/S:fast/explain",
        ):
            assert server.request("GET", path)[0] == 200, path
        assert run_program("rename", "S:text", "S:words", "--server", server.url).returncode in (0, 1)
        ioc.kill()
        wait_for("the loss to be noticed", lambda: server.archive.pv("S:fast").details["state"] != "connected", 60)
        ioc.start()
        wait_for("the PVs to come back", lambda: server.archive.pv("S:fast").details["state"] == "connected", 60)
        assert run_program("remove", "S:wave", "--server", server.url).returncode in (0, 1)
        assert server.terminate() == 0
        sent = tap.commands()
        print(dict(sent))
        asks = {"ca": {"SEARCH", "CREATE_CHAN", "EVENT_ADD"}, "pva": {"SEARCH", "CREATE_CHANNEL", "MONITOR"}}
        assert asks[protocol] <= sent.keys(), "what it must send to be an archiver at all"
        assert max(sent["HOST_NAME"], sent["CONNECTION_VALIDATION"]) >= 2, "it has connected again"
        assert not sent.keys() & (CA_FORBIDDEN if protocol == "ca" else PVA_FORBIDDEN)
    finally:
        server.kill()
        tap.close()


@pytest.mark.parametrize("protocol", ["ca", "pva"])
def test_an_archiver_that_was_stopped_for_a_while_does_not_hold_its_servers_back(tmp_path: Path, protocol: str) -> None:
    port = "--port" if protocol == "ca" else "--pva-port"
    farm = Farm("--protocol", protocol, port, str(free_port()), "--group", "name=F:,count=500,rate=50")
    tap = Tap((farm.ca if protocol == "ca" else farm.pva)[0], protocol)
    server = connected_by(Pvark(tmp_path), tap).start()
    try:
        server.archive.add(*(f"F:{n}" for n in range(500)))
        server.wait_connected("F:0", "F:499", seconds=60)
        assert server.process is not None
        for _ in range(2):
            os.kill(server.process.pid, signal.SIGSTOP)
            time.sleep(3)
            os.kill(server.process.pid, signal.SIGCONT)
            seen = server.archive.status().durable
            wait_for("updates to come again", lambda seen=seen: server.archive.status().durable > seen + 1000)  # type: ignore[misc]
        sent = tap.commands()
        assert sent["EVENT_ADD"] + sent["MONITOR"] >= 500, sent
        assert not sent.keys() & (CA_FORBIDDEN | PVA_FORBIDDEN), sent
    finally:
        server.kill()
        farm.kill()
        tap.close()


def test_a_tap_sees_what_a_client_that_writes_sends(start_ioc: Callable[[str], Ioc]) -> None:
    """Without this the tests above would pass as well if a tap were deaf."""
    ioc = start_ioc(RECORDS)
    tap = Tap(ioc.pva_port, "pva")
    conf = ioc.environment() | {"EPICS_PVA_ADDR_LIST": "", "EPICS_PVA_NAME_SERVERS": tap.address}
    try:
        with Context("pva", conf=conf, useenv=False) as context:
            context.put("S:text", "written", timeout=10)
            assert context.get("S:text", timeout=10).raw.value == "written"
        assert tap.commands()["PUT"] >= 1
    finally:
        tap.close()
    orders = [
        caproto.WriteNotifyRequest(data=(1.0,), data_type=6, data_count=1, sid=1, ioid=1),
        caproto.WriteRequest(data=(1.0,), data_type=6, data_count=1, sid=1, ioid=1),
        caproto.EventsOffRequest(),
        caproto.EventsOnRequest(),
    ]
    assert set(ca_commands(b"".join(bytes(order) for order in orders))) == CA_FORBIDDEN - {"PUT_SYNC"}
