"""Clients that are silent, slow, deaf or ask for too much: others are answered, and no sample is lost."""

from __future__ import annotations

import json
import resource
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from archiver import Pvark
from farm import Farm
from waiting import wait_for

COUNT = 50
NAMES = [f"H:{n}" for n in range(COUNT)]
ALWAYS = "2000-01-01T00:00:00Z"
SILENT, SLOW, DEAF = 1200, 100, 60
MEMORY_MAX = 256_000 * (SILENT + SLOW + DEAF)


@pytest.fixture
def farm() -> Iterator[Farm]:
    # An IOC throws nothing away, however busy the machine is: what is missing would be missing here.
    farm = Farm("--queue", "0", "--group", f"name=H:,count={COUNT},rate=20,slices=10")
    yield farm
    farm.kill()


@pytest.fixture
def server(tmp_path: Path, farm: Farm) -> Iterator[Pvark]:
    server = Pvark(tmp_path, [farm])  # type: ignore[list-item]
    server.start()
    server.archive.add(*NAMES)
    wait_for("all PVs to connect", lambda: server.archive.status().pvs["connected"] == COUNT)
    yield server
    server.kill()


def memory(server: Pvark) -> int:
    """Of the server, in bytes."""
    assert server.process is not None
    for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the process has no memory")


def connected(server: Pvark, count: int) -> list[socket.socket]:
    return [socket.create_connection(("127.0.0.1", server.port), 30) for _ in range(count)]


def answer_of(server: Pvark, head: bytes) -> tuple[int, bytes]:
    """What is said to these bytes, status and body."""
    with socket.create_connection(("127.0.0.1", server.port), 30) as client:
        client.sendall(head)
        text = b""
        while more := client.recv(1 << 16):
            text += more
    head, _, body = text.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def test_hostile_clients_hinder_nobody_and_cost_no_sample(server: Pvark) -> None:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files[1] < 4 * (SILENT + SLOW + DEAF):
        pytest.skip(f"the system lets a program have {files[1]} connections only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
    before = memory(server)
    crowd = connected(server, SILENT)
    slow, deaf = connected(server, SLOW), connected(server, DEAF)
    for client in deaf:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(f"GET /api/v1/samples?match=H:*&from={ALWAYS} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    over = threading.Event()

    def dawdle() -> None:
        for byte in b"GET /api/v1/status HTTP/1.1\r\nX-Slow: " + b"x" * 1000:
            for client in slow:
                try:
                    client.sendall(bytes([byte]))
                except OSError:
                    pass  # the server has had enough of it, as it should
            if over.wait(0.2):
                return

    dawdler = threading.Thread(target=dawdle)
    dawdler.start()
    try:
        taken = []
        end = time.monotonic() + 6
        while time.monotonic() < end:
            begun = time.monotonic()
            assert server.json("/api/v1/status")["pvs"]["connected"] == COUNT
            taken.append(time.monotonic() - begun)
            time.sleep(0.02)
        assert np.median(taken) < 1, "an honest client waits"
        assert memory(server) - before < MEMORY_MAX
    finally:
        over.set()
        dawdler.join()
        for client in crowd + slow + deaf:
            client.close()
    for name in NAMES:
        values = server.archive.get(name, ALWAYS).values
        assert len(values) > 50, name
        assert (np.diff(values) == 1).all(), f"updates of {name} are missing"


@pytest.mark.parametrize("where", ["/api/v1/pvs?match=%s", "/retrieval/data/getData.json?pv=%s", "/%s"])
def test_ten_megabytes_of_url_are_refused_in_words(server: Pvark, where: str) -> None:
    before = memory(server)
    long = where.replace("%s", "x" * 10_000_000)
    status, body = answer_of(server, f"GET {long} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert status in (414, 431)
    assert json.loads(body)["error"]["code"] == "too_large"
    assert memory(server) - before < 20_000_000


@pytest.mark.parametrize(
    "operator",
    [
        "mean_1",
        "firstFill_1",
        "median_86400",
        "loess_86400",
        "ignoreflyers_86400",
        "optimized_1000000",
        "caplotbinning_1",
    ],
)
def test_absurd_questions_end_soon(server: Pvark, operator: str) -> None:
    """Of half a millennium, with bins of a second."""
    path = f"/retrieval/data/getData.json?pv={operator}(H:0)&from=1700-01-01T00:00:00Z&to=2250-01-01T00:00:00Z"
    begun = time.monotonic()
    status, headers, body = server.request("GET", path)
    assert time.monotonic() - begun < 10
    assert headers["content-type"] == "application/json"
    if status != 200:
        assert (status, json.loads(body)["error"]["code"]) == (400, "bad_request")
