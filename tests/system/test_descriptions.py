"""Descriptions of records, which Channel Access does not bring with values: read when a client asks for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from archiver import Pvark
from ioc import Ioc
from referees import pva_context
from waiting import wait_for

RECORDS = """
record(ai, "D:said") { field(PINI, "YES") field(DESC, "beam current") field(EGU, "mA") }
record(ai, "D:silent") { field(PINI, "YES") }
"""


def described(server: Pvark, pv: str, more: str = "&fetchLatestMetadata=true") -> str | None:
    (answer,) = server.json(f"/retrieval/data/getData.json?pv={pv}{more}")
    found: str | None = answer["meta"].get("DESC")
    return found


def test_a_description_is_read_when_a_client_asks_for_it(
    start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]
) -> None:
    ioc = start_ioc(RECORDS)
    server = start_pvark(ioc)
    server.archive.add("ca://D:said", "ca://D:silent")
    server.wait_connected("D:said", "D:silent")
    assert described(server, "D:said", "") is None, "nobody has asked for it"
    assert described(server, "D:said") == "beam current"
    assert described(server, "D:silent") is None, "an empty one says nothing"
    assert server.json("/engine/bpl/getMetadata?pv=D:said")["DESC"] == "beam current"
    assert server.json("/retrieval/bpl/getMetadata?pv=D:said")["DESC"] == "beam current"
    status, _, body = server.request("GET", "/retrieval/data/getData.raw?pv=D:said&fetchLatestMetadata=true")
    assert status == 200 and b"beam current" in body
    with pva_context(ioc) as context:
        context.put("D:said.DESC", "something else", timeout=10)
    assert described(server, "D:said") == "beam current", "what was read holds for a while"
    ioc.kill()
    wait_for("the loss", lambda: server.archive.status().pvs["connected"] == 0, 60)
    assert described(server, "D:said") is None, "who is not connected is not asked"


def test_a_server_that_knows_no_descriptions_costs_one_wait(tmp_path: Path, start_pvark: Callable[..., Pvark]) -> None:
    ioc = Ioc.of_script(tmp_path, "caproto_types.py").start()
    try:
        server = start_pvark(ioc)
        server.archive.add("ca://C:double", "ca://C:integer")
        server.wait_connected("C:double", "C:integer")
        for pv, seconds in (("C:double", 3.0), ("C:integer", 0.45)):
            begun = time.monotonic()
            assert described(server, pv) is None
            assert time.monotonic() - begun < seconds, pv
    finally:
        ioc.kill()
