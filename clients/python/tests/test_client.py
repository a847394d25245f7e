"""The client over HTTP: requests that say what was asked, errors that say what went wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pvark
import pytest


@contextmanager
def answering(status: int, body: bytes, length: int | None = None) -> Iterator[tuple[pvark.Archiver, list[str]]]:
    """A server that gives the same answer to everything, and the list of what it was asked."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if sent:
                asked.append(sent.decode())
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) if length is None else length))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_DELETE = do_GET

        def log_message(self, *_: object) -> None:
            """Not on the terminal of the tests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        yield pvark.Archiver(f"http://127.0.0.1:{server.server_port}/"), asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_names_and_times_arrive_as_they_were_given() -> None:
    with answering(200, b'{"pv":"A","chunks":[]}') as (archive, asked):
        archive.get("LAB:{1}/x?y", "2026-11-21T08:00:00+01:00", "2026-11-21T09:00:00Z", before=True)
    url = urlsplit(asked[0].removeprefix("GET "))
    assert url.path == "/api/v1/pvs/LAB:%7B1%7D%2Fx%3Fy/samples"
    query = {"from": ["2026-11-21T08:00:00+01:00"], "to": ["2026-11-21T09:00:00Z"], "before": ["true"]}
    assert parse_qs(url.query) == query


def test_adding_sends_the_method_only_when_asked() -> None:
    with answering(200, b'{"pvs":[{"name":"A","status":"added"}]}') as (archive, asked):
        assert archive.add("A") == {"A": "added"}
        archive.add("pva://B", period=2.5)
    assert json.loads(asked[1]) == {"pvs": [{"name": "A"}]}
    assert json.loads(asked[3]) == {"pvs": [{"name": "pva://B", "method": "scan", "period": 2.5}]}


def test_what_the_archiver_refuses_becomes_an_exception_with_its_words() -> None:
    answer = {"error": {"code": "unknown_pv", "message": 'no PV of this archive is called "X"', "hint": "ask /pvs"}}
    with answering(404, json.dumps(answer).encode()) as (archive, _), pytest.raises(pvark.UnknownPv) as caught:
        archive.get("X")
    assert str(caught.value) == 'no PV of this archive is called "X" (ask /pvs)'
    assert (caught.value.http_status, caught.value.code) == (404, "unknown_pv")
    assert isinstance(caught.value, pvark.PvarkError)


def test_codes_of_later_versions_are_refusals_too() -> None:
    with (
        answering(418, b'{"error":{"code":"new","message":"m"}}') as (archive, _),
        pytest.raises(pvark.Refused) as caught,
    ):
        archive.status()
    assert type(caught.value) is pvark.Refused


@pytest.mark.parametrize("status", [200, 500])
def test_a_server_that_is_no_archiver_is_noticed(status: int) -> None:
    with answering(status, b"<html>hello</html>") as (archive, _), pytest.raises(pvark.UnexpectedAnswer):
        archive.gaps("X")


def test_nobody_there_is_a_failed_connection() -> None:
    with answering(200, b"{}") as (archive, _):
        pass
    with pytest.raises(pvark.ConnectionFailed, match="no archiver answers at http://127.0.0.1"):
        archive.status()


def test_an_answer_that_breaks_off_is_a_failed_connection() -> None:
    with answering(200, b'{"pv":', length=100) as (archive, _), pytest.raises(pvark.ConnectionFailed, match="middle"):
        archive.get("X")


def test_live_gives_samples_and_changes_of_state_and_skips_comments() -> None:
    chunk = {"pv": "A", "type": "f64", "seconds": [1], "nanos": [2], "values": ["NaN"], "severity": [3], "status": [17]}
    stream = 'event: state\ndata: {"pv":"A","state":"connected","since":null}\n\n: alive\n\n'
    stream += f"event: samples\ndata: {json.dumps(chunk)}\n\n"
    with answering(200, stream.encode()) as (archive, asked):
        updates = list(archive.live("A", "B"))
    assert asked == ["GET /api/v1/live?pv=A&pv=B"]
    assert (updates[0].pv, updates[0].state, updates[0].samples) == ("A", "connected", None)
    assert updates[1].samples is not None and updates[1].samples.severity.tolist() == [3]


def test_a_search_turns_pages_until_all_is_there() -> None:
    pv = {"name": "A", "protocol": "ca", "method": "monitor", "period": None, "state": "connected", "since": None}
    with answering(200, json.dumps({"total": 3, "pvs": [pv, pv]}).encode()) as (archive, asked):
        assert len(archive.search("A*", limit=4)) == 4
    assert [parse_qs(urlsplit(line).query)["offset"] for line in asked] == [["0"], ["2"]]
