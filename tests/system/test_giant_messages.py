"""Servers that send a hundred megabytes in the smallest pieces: memory stays bounded, and no other PV suffers."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from archiver import Pvark
from farm import Farm
from waiting import wait_for

SERVER = Path(__file__).parent / "servers" / "pva_giant.py"
MEGABYTES = 126
SERVERS = 10
#: What `docs/operate.md` says: the queue, the head, the messages, and one message that is taken apart.
STATED_MEGABYTES = 200 + 256 + 256 + 512 + 5 * MEGABYTES
GOOD = [f"G:{n}" for n in range(20)]


@pytest.fixture
def giants(request: pytest.FixtureRequest) -> Iterator[list[int]]:
    kinds = [request.param] * SERVERS if request.param != "mixed" else ["texts", "anys", "bytes", "segments"] * 3
    command = [sys.executable, str(SERVER)]
    servers = [
        subprocess.Popen([*command, f"HUGE:{n}", kind, str(MEGABYTES)], stdout=subprocess.PIPE)
        for n, kind in enumerate(kinds[:SERVERS])
    ]
    yield [int(server.stdout.readline()) for server in servers if server.stdout]
    for server in servers:
        server.kill()
        server.wait()


def peak_megabytes(server: Pvark) -> int:
    assert server.process is not None
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("VmHWM:")]
    return int(line.split()[1]) // 1024


@pytest.mark.parametrize("giants", ["texts", "anys", "mixed"], indirect=True)
def test_ten_servers_with_giant_messages_take_no_more_memory_than_is_stated(tmp_path: Path, giants: list[int]) -> None:
    good = Farm("--protocol", "pva", "--group", "name=G:,count=20,rate=10", "--queue", "0")
    server = Pvark(tmp_path, [good])  # type: ignore[list-item]
    servers = ", ".join(f'"127.0.0.1:{port}"' for port in giants)
    server.config_path.write_text(server.config_path.read_text() + f"name_servers = [{servers}]\n")
    try:
        server.start()
        server.archive.add(*(f"pva://{name}" for name in GOOD))
        server.wait_connected(*GOOD)
        since = np.datetime64(time.time_ns(), "ns")
        server.archive.add(*(f"pva://HUGE:{n}" for n in range(SERVERS)))

        def told() -> bool:
            """Of each giant PV its message has come: there is a sample, or the monitor was given up because of it."""
            details = [server.archive.pv(f"HUGE:{n}").details for n in range(SERVERS)]
            return all(each["last"] or each["reconnects"] or each["state"] == "disconnected" for each in details)

        wait_for("what became of the giants", told, 120)
        wait_for("samples of good PVs", lambda: len(server.archive.get(GOOD[-1], since)) > 50)
        for name in GOOD:
            assert server.archive.explain(name, since, proof="counter").complete == "proved", name
        peak = peak_megabytes(server)
        print(f"peak {peak} MB, stated {STATED_MEGABYTES} MB")
        assert peak < STATED_MEGABYTES
    finally:
        server.kill()
        good.kill()
