"""Servers that break the protocol, have names that others have, or come back elsewhere: no other PV suffers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from archiver import Pvark
from farm import Farm
from ports import free_port
from waiting import wait_for

GOOD = [f"G:{n}" for n in range(20)]
GOOD_GROUP = ("--group", "name=G:,count=20,rate=10", "--queue", "0")
ALWAYS = "2000-01-01T00:00:00Z"


@pytest.fixture
def farm() -> Iterator[Callable[..., Farm]]:
    started: list[Farm] = []

    def start(*options: str) -> Farm:
        started.append(Farm(*options))
        return started[-1]

    yield start
    for farm in started:
        farm.kill()


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Callable[..., Pvark]]:
    started: list[Pvark] = []

    def start(*farms: Farm) -> Pvark:
        started.append(Pvark(tmp_path, farms))  # type: ignore[arg-type]
        return started[-1].start()

    yield start
    for server in started:
        server.kill()


def assert_whole(server: Pvark, since: np.datetime64) -> None:
    """No update of the good PVs is missing, by their counters, and no gap was noted."""
    for name in GOOD:
        told = server.archive.explain(name, since, proof="counter")
        assert told.complete == "proved", (name, told)


@pytest.mark.parametrize("protocol", ["ca", "pva"])
def test_nonsense_of_one_server_costs_the_others_nothing(
    farm: Callable[..., Farm], record: Callable[..., Pvark], protocol: str
) -> None:
    good = farm("--protocol", protocol, *GOOD_GROUP)
    if protocol == "ca":
        bad = farm("--protocol", "ca", "--nonsense", "0.2", "--storm", "3", "--group", "name=B:,count=20,rate=10")
        bad_names = [f"B:{n}" for n in range(20)]
    else:
        breaches = ("garbage", "truncated", "oversize", "wrong-request", "introspection", "lost-segment", "framing")
        groups = [f"name=B:{breach},rate=10,breach={breach}/10" for breach in (*breaches, "monster", "silence")]
        bad = farm("--protocol", "pva", *(word for group in groups for word in ("--group", group)))
        bad_names = [f"B:{breach}" for breach in (*breaches, "monster", "silence")]
    server = record(good, bad)
    server.archive.add(*(f"{protocol}://{name}" for name in [*GOOD, *bad_names]))
    server.wait_connected(*GOOD)
    since = np.datetime64(time.time_ns(), "ns")

    def errors() -> int:
        metrics = server.request("GET", "/metrics")[2].decode()
        lines = [line for line in metrics.splitlines() if line.startswith("pvark_client_protocol_errors_total")]
        return sum(int(line.split()[-1]) for line in lines)

    wait_for("breaches to be noticed", lambda: errors() >= 3, 60)
    wait_for("samples of good PVs", lambda: len(server.archive.get(GOOD[-1], since)) > 50)
    assert_whole(server, since)
    assert server.process is not None and server.process.poll() is None
    assert "panicked" not in server.log_path.read_text()


@pytest.mark.parametrize("protocol", ["ca", "pva"])
def test_a_name_on_two_servers_is_taken_from_one(
    farm: Callable[..., Farm], record: Callable[..., Pvark], protocol: str
) -> None:
    port = "--port" if protocol == "ca" else "--pva-port"  # given, it is that of circuits too
    first = farm("--protocol", protocol, port, str(free_port()), *GOOD_GROUP)
    second = farm("--protocol", protocol, port, str(free_port()), "--seed", "77", *GOOD_GROUP)
    server = record(first, second)
    since = np.datetime64(time.time_ns(), "ns")
    server.archive.add(*(f"{protocol}://{name}" for name in GOOD))
    server.wait_connected(*GOOD)
    wait_for("samples", lambda: len(server.archive.get(GOOD[-1], since)) > 30)
    for name in GOOD:
        # Both count from their own start: samples of two would not rise by one.
        told = server.archive.explain(name, since, proof="counter")
        assert (told.proof or {})["missing"] == 0 and (told.proof or {})["restarts"] == 0, told
    if protocol == "pva":
        metrics = server.request("GET", "/metrics")[2].decode()
        (line,) = [line for line in metrics.splitlines() if line.startswith("pvark_client_duplicates_total")]
        assert int(line.split()[-1]) >= 1, "it is told that there are two"
    (address,) = {server.archive.metadata(name)[-1].server for name in GOOD[:1]}
    ports = first.ca if protocol == "ca" else first.pva
    is_first = int(str(address).rsplit(":", 1)[1]) in ports
    killed = np.datetime64(time.time_ns(), "ns")
    (first if is_first else second).kill()
    wait_for("the other one to take over", lambda: len(server.archive.get(GOOD[0], killed)) > 10, 60)
    kinds = {reason.kind for reason in server.archive.explain(GOOD[0], since).reasons}
    assert {"disconnected", "ioc_restarted" if protocol == "pva" else "ioc_moved"} <= kinds, (kinds, address, ports)


def test_a_server_that_comes_back_at_another_port_is_found_and_named(
    farm: Callable[..., Farm], record: Callable[..., Pvark]
) -> None:
    moving = farm("--restart", "6", "--group", "name=M:,count=20,rate=10", "--queue", "0")
    good = farm(*GOOD_GROUP)
    server = record(moving, good)
    server.archive.add(*GOOD, *(f"M:{n}" for n in range(20)))
    server.wait_connected(*GOOD, "M:0", "M:19")
    since = np.datetime64(time.time_ns(), "ns")

    def moved() -> bool:
        return "ioc_moved" in {reason.kind for reason in server.archive.explain("M:0", since).reasons}

    wait_for("the move to be told", moved, 60)
    connected = {server.archive.pv(f"M:{n}").details["state"] for n in range(20)}
    assert connected <= {"connected", "disconnected"}
    assert_whole(server, since)
