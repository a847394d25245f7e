"""Two archivers record the same PVs, and each reads both: what one lacks the other gives, and each comes once."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from archiver import Pvark
from ioc import Ioc
from ports import free_port
from waiting import wait_for

RECORDS = """
record(calc, "P:count") { field(SCAN, ".1 second") field(CALC, "VAL+1") }
record(calc, "P:scan") { field(SCAN, ".1 second") field(CALC, "VAL+1") }
record(calc, "P:band") { field(SCAN, ".1 second") field(CALC, "VAL>=39?0:VAL+1") }
record(ao, "P:never") { field(VAL, "7") }
"""
PVS = ["ca://P:count", "ca://P:scan", "pva://P:band", "ca://P:never"]
NAMES = [pv.split("//")[1] for pv in PVS]
POLICIES = """
[[policy]]
name = "scanned"
match = ["P:scan"]
method = "scan"
period = "1s"
[[policy]]
name = "banded"
match = ["P:band"]
deadband = 4.5
"""
KILLS = 5


class Pair:
    """Two archivers that name each other."""

    def __init__(self, folder: Path, ioc: Ioc) -> None:
        self.key = folder / "nodes.key"
        self.key.write_text(secrets.token_hex(32))
        self.key.chmod(0o600)
        self.node_ports = [free_port(), free_port()]
        self.both: list[Pvark] = []
        for index in range(2):
            own = folder / "ab"[index]
            own.mkdir()
            self.both.append(Pvark(own, [ioc]))
            self.configure(index)

    def configure(self, index: int, key: Path | None = None) -> None:
        """Writes what the config says of nodes behind what was there."""
        server, path = self.both[index], json.dumps(str(key or self.key))
        rest = server.config_path.read_text().split("[nodes]")[0]
        own, other = self.node_ports[index], self.node_ports[1 - index]
        nodes = f'[nodes]\nlisten = "127.0.0.1:{own}"\nkey = {path}\n'
        copy = f'[[copy]]\nname = "{"ba"[index]}"\naddress = "127.0.0.1:{other}"\n'
        server.config_path.write_text(rest + nodes + copy + POLICIES)

    def wait_paired(self, seconds: float = 30) -> None:
        """Until each reads the other and all PVs are connected."""
        for server in self.both:
            ready = lambda server=server: away(server) is None and connected(server)  # noqa: E731
            wait_for("the pair to be whole", ready, seconds)


def connected(server: Pvark) -> bool:
    """Whether all PVs are, and have been for long enough to have a sample of this connection."""
    return bool(server.archive.status().pvs["connected"] == len(PVS))


def away(server: Pvark) -> str | None:
    """Why the other one is not asked."""
    (copy,) = server.json("/api/v1/status")["copies"]
    told: str | None = copy["away"]
    return told


def now() -> np.datetime64:
    return np.datetime64(time.time_ns(), "ns")


@pytest.fixture
def pair(tmp_path: Path, start_ioc: Callable[[str], Ioc]) -> Iterator[Pair]:
    pair = Pair(tmp_path, start_ioc(RECORDS))
    try:
        for server in pair.both:
            server.start()
            server.archive.add(*PVS)
        pair.wait_paired()
        yield pair
    finally:
        for server in pair.both:
            server.kill()


def whole(values: np.ndarray, times: np.ndarray) -> tuple[int, int]:
    """How many counts are missing between the first and the last, and how many are there twice."""
    assert np.all(np.diff(times.astype("int64")) >= 0), "times go back"
    counts = values.astype("int64")
    expected = int(counts[-1] - counts[0]) + 1
    return expected - len(set(counts.tolist())), len(counts) - len(set(counts.tolist()))


def rows(body: bytes) -> int:
    """Samples in an answer in CSV."""
    return body.count(b"\n") - 1


def test_five_kills_of_each_cost_no_sample(pair: Pair) -> None:
    time.sleep(2)
    first = now()
    for _ in range(KILLS):
        for server in pair.both:
            server.kill()
            time.sleep(2)
            server.start()
            pair.wait_paired()
            time.sleep(1.5)
    last = now()
    time.sleep(2)
    span = int((last - first) / np.timedelta64(1, "s"))
    end = first + np.timedelta64(span, "s")
    for server in pair.both:
        got = server.archive.get("P:count", first, end)
        assert whole(got.values, got.times) == (0, 0), (server.port, len(got))
        assert abs(len(got) - 10 * span) <= 10, (len(got), span)
        # One alone has holes: the test would prove nothing otherwise.
        gaps = server.archive.gaps("P:count", first, end)
        assert gaps == [], gaps
        bins = server.archive.bins("P:count", first, end, span)
        places = ((got.times - first) / np.timedelta64(1, "s")).astype(int)
        assert bins.count.tolist() == np.bincount(places, minlength=span).tolist()
        assert bins.min.tolist() == [got.values[places == place].min() for place in range(span)]
        assert bins.max.tolist() == [got.values[places == place].max() for place in range(span)]
        window = f"from={first}Z&to={end}Z".replace("+", "%2B")
        old = server.json(f"/retrieval/data/getData.json?pv=P:count&{window}")[0]["data"]
        assert whole(np.array([row["val"] for row in old]), np.array([row["secs"] for row in old])) == (0, 0)
        at = server.json(f"/api/v1/at?pv=P:count&time={end}Z&format=json")
        assert str(int(got.values[-1])) in json.dumps(at), at
    answers = [server.archive.get("P:count", first, end) for server in pair.both]
    assert answers[0].times.tolist() == answers[1].times.tolist()
    # Without the other one each has lost something.
    for index, server in enumerate(pair.both):
        pair.both[1 - index].kill()
        wait_for("the other one to be missed", partial(away, server), 20)
        got = server.archive.get("P:count", first, end)
        missing, twice = whole(got.values, got.times)
        assert missing >= 10 and twice == 0, (missing, twice)
        assert any(gap.cause == "archiver_stopped" for gap in server.archive.gaps("P:count", first, end))
        pair.both[1 - index].start()
        pair.wait_paired()


def test_two_recorders_choose_alike(pair: Pair) -> None:
    # Each hears its first update at its own time: they agree from the first jump beyond both on, 4 s later at most.
    time.sleep(12)
    last = now() - np.timedelta64(3, "s")
    first = last - np.timedelta64(4, "s")
    together = {pv: pair.both[0].archive.get(pv, first, last).values.tolist() for pv in NAMES}
    since = first - np.timedelta64(60, "s")
    never = [server.archive.get("P:never", since, last).values.tolist() for server in pair.both]
    alone = []
    for index, server in enumerate(pair.both):
        pair.both[1 - index].kill()
        wait_for("the other one to be missed", partial(away, server), 20)
        alone.append({pv: server.archive.get(pv, first, last).values.tolist() for pv in NAMES})
        pair.both[1 - index].start()
        pair.wait_paired()
    assert 3 <= len(together["P:scan"]) <= 5, together
    assert 7 <= len(together["P:band"]) <= 10, together
    assert together == alone[0] == alone[1]
    assert never == [[7.0], [7.0]], "a value that was never processed came once, although each heard it at its own time"


def test_one_alone_goes_on_and_says_so(pair: Pair) -> None:
    a, b = pair.both
    path = f"/api/v1/pvs/P:count/samples?from={now() - np.timedelta64(60, 's')}Z&to={now()}Z&format=csv"
    status, headers, _ = a.request("GET", path)
    assert status == 200 and "pvark-incomplete" not in headers, headers
    b.kill()
    slowest = 0.0
    for _ in range(20):
        begun = time.monotonic()
        status, headers, body = a.request("GET", path)
        slowest = max(slowest, time.monotonic() - begun)
        assert status == 200 and rows(body) > 0
        assert "'b'" in headers["pvark-incomplete"] or '"b"' in headers["pvark-incomplete"], headers
    assert slowest < 2, slowest
    wait_for("the problem to be told", lambda: [p for p in a.json("/api/v1/status")["problems"] if '"b"' in p], 10)
    reasons = a.archive.explain("P:count", now() - np.timedelta64(20, "s")).reasons
    assert any(reason.kind == "copy_not_asked" for reason in reasons), reasons
    b.start()
    pair.wait_paired()
    _, headers, _ = a.request("GET", path)
    assert "pvark-incomplete" not in headers, headers


def test_a_frozen_or_foreign_copy_holds_up_nobody(pair: Pair) -> None:
    a, b = pair.both
    path = f"/api/v1/pvs/P:count/samples?from={now() - np.timedelta64(60, 's')}Z&to={now()}Z&format=csv"
    assert b.process is not None
    b.process.send_signal(signal.SIGSTOP)
    try:
        wait_for("the frozen one to be noticed", lambda: away(a), 20)
        begun = time.monotonic()
        status, headers, _ = a.request("GET", path)
        assert status == 200 and "pvark-incomplete" in headers and time.monotonic() - begun < 2
    finally:
        b.process.send_signal(signal.SIGCONT)
    pair.wait_paired()
    other = pair.key.with_name("other.key")
    other.write_text(secrets.token_hex(32))
    other.chmod(0o600)
    b.kill()
    pair.configure(1, other)
    b.start()
    wait_for("the other key to be noticed", lambda: "key" in (away(a) or "") and "key" in (away(b) or ""), 20)
    assert a.request("GET", path)[0] == 200


def test_readers_meet_kills_and_never_get_a_short_answer(pair: Pair) -> None:
    """Whoever reads while the other one is killed gets all samples, or is told, or sees a broken transfer."""
    a, b = pair.both
    time.sleep(5)
    first, last = now() - np.timedelta64(5, "s"), now() - np.timedelta64(1, "s")
    path = f"/api/v1/pvs/P:count/samples?from={first}Z&to={last}Z&format=csv"
    expected = rows(a.request("GET", path)[2])  # with the one before
    assert expected == len(a.archive.get("P:count", first, last)) + 1
    stop, wrong, read = threading.Event(), [], [0]

    def reading() -> None:
        while not stop.is_set():
            try:
                status, headers, body = a.request("GET", path)
                count = rows(body)
            except (OSError, http.client.HTTPException):  # a broken transfer
                continue
            read[0] += 1
            if status == 200 and count != expected and "pvark-incomplete" not in headers:
                wrong.append((count, expected))

    reader = threading.Thread(target=reading)
    reader.start()
    try:
        for _ in range(3):
            b.kill()
            time.sleep(1)
            b.start()
            pair.wait_paired()
    finally:
        stop.set()
        reader.join()
    assert not wrong and read[0] > 20, (wrong, read)


def test_a_key_that_others_may_read_is_refused_at_the_start(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(secrets.token_hex(32))
    os.chmod(key, 0o644)
    server = Pvark(tmp_path)
    config = server.config_path.read_text() + f'[nodes]\nlisten = "127.0.0.1:{free_port()}"\nkey = "{key}"\n'
    server.config_path.write_text(config)
    with pytest.raises(RuntimeError, match="chmod 600"):
        server.start()
