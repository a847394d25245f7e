"""Exports: a file is fetched piece by piece, whatever breaks meanwhile, and appears only when all of it is there."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pvark
import pytest

FILE = bytes(range(256)) * 40
JOB: dict[str, Any] = {
    "number": 3,
    "state": "running",
    "file": "pvark-raw.csv",
    "pvs": 2,
    "pvs_done": 1,
    "samples": 10,
    "bytes": 0,
    "progress": 0.5,
    "without": ["B"],
    "without_count": 1,
    "gaps": 2,
    "damage": [],
    "notes": ["a note"],
    "error": None,
    "etag": None,
}
DONE = JOB | {"state": "done", "bytes": len(FILE), "progress": 1.0, "etag": '"3-ab"', "pvs_done": 2}


class Server(ThreadingHTTPServer):
    """An archiver with one export, whose connections break in the middle of every other piece."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.asked: list[str] = []
        self.looked = 0
        self.jobs: list[dict[str, Any]] = [JOB, DONE]
        self.breaks = True


class Asked(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        wanted = self.headers.get("Range")
        server.asked.append(" ".join(filter(None, [self.command, self.path, sent, wanted])))
        if not self.path.endswith("/file"):
            job = server.jobs[min(server.looked, len(server.jobs) - 1)] if self.command == "GET" else JOB
            server.looked += self.command == "GET"
            return self.answer(201 if self.command == "POST" else 200, json.dumps(job).encode())
        ends = re.fullmatch(r"bytes=(\d+)-(\d+)", wanted or "")
        assert ends and self.headers["If-Range"] == '"3-ab"'
        piece = FILE[int(ends[1]) : int(ends[2]) + 1]
        server.breaks = not server.breaks
        self.answer(206, piece, len(piece) // 2 if server.breaks else len(piece))

    do_POST = do_DELETE = do_GET

    def answer(self, status: int, body: bytes, comes: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:comes])

    def log_message(self, *_: object) -> None:
        """Not on the terminal of the tests."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr("pvark._exports.PIECE_BYTES", 4096)
    monkeypatch.setattr("pvark._exports.ASKED_EACH", 0.001)
    monkeypatch.setattr("pvark._exports.TRY_AFTER", 0.001)
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def test_what_breaks_is_asked_for_again(server: Server, tmp_path: Path) -> None:
    heard: list[float] = []
    archive = pvark.Archiver(url(server))
    got = archive.export(["A", "B"], tmp_path / "x.csv", "2026-01-01", progress=lambda job: heard.append(job.progress))
    assert (tmp_path / "x.csv").read_bytes() == FILE and got.path == str(tmp_path / "x.csv")
    assert heard == [0.5, 1.0] and (got.without, got.gaps, got.notes) == (("B",), 2, ("a note",))
    order = "POST /api/v1/exports?from=2026-01-01&format=csv&rows=raw&before=false"
    assert server.asked[0] == f'{order} ["A", "B"]'
    ranges = [line.rpartition(" ")[2] for line in server.asked if "/file" in line]
    assert [first for first in dict.fromkeys(ranges)] == ["bytes=0-4095", "bytes=4096-8191", "bytes=8192-10239"]
    assert len(ranges) > 3 and list(tmp_path.iterdir()) == [tmp_path / "x.csv"]


def test_a_part_that_is_there_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "pvark-raw.csv.3-ab.part").write_bytes(FILE[:9000])
    (tmp_path / "pvark-raw.csv.3-aa.part").write_bytes(b"of another file")
    asyncio.run(pvark.AsyncArchiver(url(server)).fetch_export(3, tmp_path))
    assert (tmp_path / "pvark-raw.csv").read_bytes() == FILE
    assert {line.rpartition(" ")[2] for line in server.asked if "/file" in line} == {"bytes=9000-10239"}


def test_one_that_has_failed_says_why(server: Server, tmp_path: Path) -> None:
    server.jobs = [JOB | {"state": "failed", "error": {"code": "too_large", "message": "too long", "hint": "less"}}]
    with pytest.raises(pvark.PvarkError, match=r"export 3 has failed: too long \(less\)"):
        pvark.Archiver(url(server)).fetch_export(3, tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


def test_two_that_fetch_the_same_at_once_write_one_file(server: Server, tmp_path: Path) -> None:
    """Both have opened the part before either has written a piece."""
    opened = threading.Barrier(2)
    jobs: list[pvark.Export] = []

    def fetch() -> None:
        opened.wait()
        jobs.append(pvark.Archiver(url(server)).fetch_export(3, tmp_path / "x.csv"))

    for _ in range(20):
        threads = [threading.Thread(target=fetch) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (tmp_path / "x.csv").read_bytes() == FILE and list(tmp_path.iterdir()) == [tmp_path / "x.csv"]
        (tmp_path / "x.csv").unlink()
    assert len(jobs) == 40


def test_a_folder_with_a_dot_is_no_format(server: Server, tmp_path: Path) -> None:
    (tmp_path / "results.v2").mkdir()
    archive = pvark.Archiver(url(server))
    got = archive.export(["A", "B"], tmp_path / "results.v2", "2026-01-01")
    assert got.path == str(tmp_path / "results.v2" / "pvark-raw.csv") and "&format=csv&" in server.asked[0]
    asked = len(server.asked)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        archive.export(["A", "B"], f"{tmp_path}/results.v3/", "2026-01-01")
    assert len(server.asked) == asked
