"""The worst that can be asked of every URL, one at a time and twenty at once: the program keeps below the memory that
docs/operate.md states, others are answered at once, and ingest loses nothing.

`PVARK_WORST=long` asks every URL everything, and is to run by itself; without it each gets a share of it."""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from archiver import ROOT, Pvark, program
from farm import Farm
from waiting import wait_for

LONG = os.environ.get("PVARK_WORST") == "long"
PVS = 20_000
LIVE = 50
NAMES = [f"H:{n}" for n in range(LIVE)]
ALWAYS = "2000-01-01T00:00:00Z"
QUEUE, HEAD, ANSWERS = 16, 16, 64
#: As docs/operate.md adds it up: queue, heads, answers, the program, bins, and what each PV takes.
STATED_MEGABYTES = QUEUE + 2 * HEAD + ANSWERS + 192 + 64 + 3 * (PVS + LIVE) // 1000
CONFIG = (
    f"queue_megabytes_max = {QUEUE}\nhead_megabytes_max = {HEAD}\nanswers_megabytes_max = {ANSWERS}\n"
    "reserve_megabytes = 1\n"
)
CROWD = 20
#: One that is not optimized takes ten times the processor, which twenty clients then have among them.
FIRST_BYTE_SECONDS = 1.0 if "debug" in program().parts else 0.25
BODY_BYTES = 15 << 20
SHARE = 2


@dataclass(frozen=True)
class Ask:
    """One request."""

    method: str
    target: str
    content_type: str = ""
    body: bytes = b""

    def __str__(self) -> str:
        return f"{self.method} {self.target[:100]} with {len(self.body)} bytes of {self.content_type}"


def lists() -> list[str]:
    """Values of parameters, about as long as a URL can be."""
    return [
        ",".join("*" * 400),
        ",".join(f"*{n}*" for n in range(1500)),
        quote(r"\w") * 3000,
        quote(r"~SR.{60}[A-Z].{60}[^x]\W"),
        quote(f"({'|'.join(['[A-Z0-9:]{1,9}'] * 400)}){{1,9}}x"),
        "." * 15_000,
        "mean_1(" * 1500,
        "99999999999999999999",
    ]


def repeated(before: str, text: str, after: str) -> bytes:
    return (before + (text * (BODY_BYTES // len(text)))[:-1] + after).encode()


def bodies() -> list[tuple[str, bytes]]:
    """As long as they can be."""
    json_bodies = [
        repeated("[", '"",', "]"),
        repeated("[", '"*",', "]"),
        repeated("[", '{"pv":"A"},', "]"),
        repeated("[", '{"pvName":"A"},', "]"),
        repeated('{"pvs":[', '"A",', "]}"),
        repeated('{"pvs":[{"name":"A","deadband":[', "0,", "]}]}"),
    ]
    texts = [repeated("", "A\n", ""), repeated("", ".", ""), repeated("", "*,", "")]
    form = repeated("", "a&", "")
    return [
        *(("application/json", body) for body in json_bodies),
        *(("text/plain", body) for body in texts),
        ("application/x-www-form-urlencoded", form),
    ]


def table() -> list[tuple[str, str, list[str]]]:
    """Every URL with its method and the parameters that it takes."""
    description = json.loads((ROOT / "testdata" / "openapi.json").read_text())
    shared = description["components"].get("parameters", {})
    rows = []
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            parameters = [
                shared[parameter["$ref"].rsplit("/", 1)[1]] if "$ref" in parameter else parameter
                for parameter in operation.get("parameters", [])
            ]
            rows.append((method.upper(), path, [one["name"] for one in parameters if one["in"] == "query"]))
    return rows


def takes_away(ask: Ask) -> bool:
    """What takes PVs away, or stops them, is asked of others than the live ones, and last."""
    return ask.method == "DELETE" or any(
        word in ask.target for word in ("delete", "abort", "remove", "purge", "pause", "resume", "apply", "append")
    )


def asks() -> list[Ask]:
    all_lists, all_bodies = itertools.cycle(lists()), itertools.cycle(bodies())
    rows: list[Ask] = []
    for method, path, parameters in table():
        if path == "/api/v1/live":
            continue
        calls = ["getData.json", "getDataForPVs.raw", "getDataAtTime"] if "{call}" in path else [""]
        for call in calls:
            filled = path.replace("{call}", call).replace("{pv}", "W:00007").replace("{alias}", "X")
            filled = filled.replace("{group}", "g").replace("{number}", "1").replace("{page}", "p")
            everything = {
                "pv": "W:*", "match": "W:*", "regex": "W:.*", "limit": "100000", "from": "1970-01-01T00:00:00Z",
                "to": "2100-01-01T00:00:00Z", "bins": "100000", "step": "60",
            }  # fmt: skip
            taken = {name: value for name, value in everything.items() if name in parameters or "/api/" not in path}
            rows.append(Ask(method, filled + "?" + "&".join(f"{name}={value}" for name, value in taken.items())))
            for name in parameters:
                count = len(lists()) if LONG else SHARE
                # A glob that fits all PVs would take the live ones away with them.
                rows.extend(
                    Ask(method, f"{filled}?{name}={value.replace('*', 'W*') if name == 'pv' else value}")
                    for value in itertools.islice(all_lists, count)
                )
        if method in ("POST", "PUT"):
            needed = {"/api/v1/import": "?import=i&part=p", "/api/v1/import/type-info": "?import=i&part=p"}.get(
                path, ""
            )
            needed += "?pv=A&createnew=true" if path.endswith("putPVTypeInfo") else ""
            for kind, body in itertools.islice(all_bodies, len(bodies()) if LONG else SHARE):
                rows.append(Ask(method, filled + needed, kind, body))
    live_is_safe = [ask for ask in rows if not (takes_away(ask) and b"*" in ask.body)]
    return sorted(live_is_safe, key=takes_away)


def send(port: int, ask: Ask) -> tuple[int, int]:
    """The status, and how many bytes the answer has, which are thrown away."""
    head = f"{ask.method} {ask.target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Pvark: 1\r\n"
    if ask.body:
        head += f"Content-Type: {ask.content_type}\r\nContent-Length: {len(ask.body)}\r\n"
    with socket.create_connection(("127.0.0.1", port), 60) as client:
        client.sendall(head.encode() + b"\r\n")
        try:
            client.sendall(ask.body)
        except OSError:
            pass  # it is refused before all of it has come
        first, count = b"", 0
        try:
            while more := client.recv(1 << 18):
                first = first or more
                count += len(more)
        except ConnectionResetError:
            pass
    return (int(first.split(b" ", 2)[1]) if first else 0), count


class Meanwhile:
    """Another client, who asks for what is small all the time: how long each first byte takes."""

    def __init__(self, port: int) -> None:
        self.command = [sys.executable, str(Path(__file__).parent / "first_bytes.py"), str(port), "/api/v1/pvs/H:0"]
        self.seconds: list[float] = []

    def __enter__(self) -> Meanwhile:
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        output, _error = self.process.communicate(timeout=60)
        self.seconds = json.loads(output) if self.process.returncode == 0 else []

    def told(self) -> str:
        taken = 1000 * np.array(self.seconds)
        late = np.percentile(taken, 99)
        return (
            f"{len(taken)} first bytes, median {np.median(taken):.1f} ms, 99 % {late:.0f} ms, most {taken.max():.0f} ms"
        )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Pvark, Farm]]:
    # An IOC throws nothing away, however busy the machine is: what is missing would be missing here.
    farm = Farm("--queue", "0", "--group", f"name=H:,count={LIVE},rate=20,slices=10")
    server = Pvark(tmp_path, [farm], more=CONFIG)  # type: ignore[list-item]
    try:
        server.start()
        server.archive.add(*NAMES)
        wait_for("all PVs to connect", lambda: server.archive.status().pvs["connected"] == LIVE)
        yield server, farm
    finally:
        server.kill()
        farm.kill()


def megabytes(server: Pvark, line: str) -> int:
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    found = [int(one.split()[1]) >> 10 for one in status if one.startswith(line)]
    assert found, f"the program has ended: {server.log()}"
    return found[0]


def forget_peak(server: Pvark) -> None:
    assert server.process is not None
    Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")


def test_no_request_takes_more_than_is_stated_or_hinders_others(server: tuple[Pvark, Farm]) -> None:
    archiver, _ = server
    begun = time.monotonic()
    added = json.dumps({"pvs": [f"W:{n:05}" for n in range(PVS)]}).encode()
    assert archiver.request("POST", "/api/v1/pvs", added)[0] == 200
    print(f"{PVS} PVs added in {time.monotonic() - begun:.1f} s")
    rows = asks()
    most = (0, "")
    with Meanwhile(archiver.port) as alone:
        for ask in rows:
            forget_peak(archiver)
            status, count = send(archiver.port, ask)
            assert status, f"no answer to {ask}: {archiver.log()}"
            peak = megabytes(archiver, "VmHWM")
            most = max(most, (peak, str(ask)))
            assert peak < STATED_MEGABYTES, f"{peak} MB, {status} with {count} bytes: {ask}"
            assert status < 500 or status == 503, f"{status}: {ask}"
    print(f"{len(rows)} requests in {time.monotonic() - begun:.0f} s, stated {STATED_MEGABYTES} MB, most {most}")
    print("one at a time:", alone.told())
    forget_peak(archiver)
    begun = time.monotonic()
    with Meanwhile(archiver.port) as crowded, ThreadPoolExecutor(CROWD) as crowd:
        statuses = list(crowd.map(lambda ask: send(archiver.port, ask)[0], rows))
    peak = megabytes(archiver, "VmHWM")
    told = {status: statuses.count(status) for status in sorted(set(statuses))}
    print(f"{CROWD} at once: {peak} MB, {time.monotonic() - begun:.0f} s, {told}; {crowded.told()}")
    assert peak < STATED_MEGABYTES
    assert alone.seconds and crowded.seconds, "the other client was refused"
    # Beside other tests the machine decides how long it takes: only by itself is it held against the bar.
    first_byte_max = FIRST_BYTE_SECONDS if LONG else 20 * FIRST_BYTE_SECONDS
    assert np.percentile(alone.seconds, 99) < first_byte_max
    assert np.percentile(crowded.seconds, 99) < first_byte_max
    assert archiver.json("/api/v1/status")["samples"]["dropped_queue"] == 0
    # The table of which lists are made is kept for ten minutes.
    kept = 150 * PVS
    assert archiver.json("/api/v1/status")["answers"]["bytes"] < kept + (1 << 20), "something was not given back"
    for name in NAMES:
        values = archiver.archive.get(name, ALWAYS).values
        assert len(values) > 100 and (np.diff(values) == 1).all(), f"updates of {name} are missing"
