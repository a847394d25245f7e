"""The client over HTTP: requests that say what was asked, errors that say what went wrong."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
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


def awaited(archive: pvark.Archiver) -> pvark.AsyncArchiver:
    return pvark.AsyncArchiver(archive._http.url, timeout=20)


def test_names_and_times_arrive_as_they_were_given() -> None:
    with answering(200, b'{"gaps":[]}') as (archive, asked):
        archive.gaps("LAB:{1}/x?y", "2026-11-21T08:00:00+01:00", "2026-11-21T09:00:00Z")
    url = urlsplit(asked[0].removeprefix("GET "))
    assert url.path == "/api/v1/pvs/LAB:%7B1%7D%2Fx%3Fy/gaps"
    assert parse_qs(url.query) == {"from": ["2026-11-21T08:00:00+01:00"], "to": ["2026-11-21T09:00:00Z"]}


def test_texts_for_times_go_over_the_wire_unharmed() -> None:
    texts = ["- 8 H", "2026-06-01+08:30", "2026-06-01T08:30:00+02:00", "\u00b110min", "a&b=c;d%41#e/?", "", " Now "]
    for text in texts:
        with answering(200, b'{"gaps":[]}') as (archive, asked):
            archive.gaps("A", text)
            asyncio.run(awaited(archive).gaps("A", text))
        for line in asked:
            assert parse_qs(line.partition("?")[2], keep_blank_values=True) == {"from": [text]}


def test_few_names_stand_in_the_url_and_many_in_the_body() -> None:
    answer = b'{"time":"2026-11-21T08:00:00Z","pvs":[],"unknown":[]}'
    with answering(200, answer) as (archive, asked):
        archive.at(["A&b", "C"])
        archive.at([f"P{index}" for index in range(21)], "2026-11-21T08:00:00Z")
    assert asked[0] == "GET /api/v1/at?pv=A%26b&pv=C"
    assert asked[1] == "POST /api/v1/at?time=2026-11-21T08%3A00%3A00Z"
    assert len(json.loads(asked[2])) == 21


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


def stream_of(values: list[float], **facts: str) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    times = pyarrow.array(range(len(values)), pyarrow.timestamp("ns", "UTC"))
    schema = pyarrow.schema({"time": times.type, "value": pyarrow.float64()}, facts)
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, schema) as writer:
        writer.write(pyarrow.record_batch([times, pyarrow.array(values)], schema=schema))
    return bytes(sink.getvalue())


def test_answers_that_break_off_anywhere_are_told_as_such() -> None:
    whole = stream_of([1.5, 2.5], pv="X", type="f64")
    with answering(200, whole) as (archive, _):
        assert archive.get("X").values.tolist() == asyncio.run(awaited(archive).get("X")).values.tolist() == [1.5, 2.5]
    for kept in (0, 3, 8, 100, len(whole) - 8, len(whole) - 1):
        # With a length that was announced and not kept, and without one.
        for length in (len(whole), None):
            with answering(200, whole[:kept], length) as (archive, _):
                with pytest.raises(pvark.BrokenOff, match="middle"):
                    archive.get("X")
                with pytest.raises(pvark.BrokenOff, match="middle"):
                    asyncio.run(awaited(archive).get("X"))


def waves_of(batches: list[list[list[float]]]) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    kind = pyarrow.large_list(pyarrow.float64())
    schema = pyarrow.schema({"time": pyarrow.timestamp("ns", "UTC"), "value": kind}, {"pv": "X", "type": "f64[]"})
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, schema) as writer:
        for rows in batches:
            times = pyarrow.array(range(len(rows)), pyarrow.timestamp("ns", "UTC"))
            writer.write(pyarrow.record_batch([times, pyarrow.array(rows, kind)], schema=schema))
    return bytes(sink.getvalue())


def test_waveforms_are_times_by_index_as_long_as_all_have_one_length() -> None:
    short, long, none, empty = [[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0, 7.0]], list[list[float]](), [list[float]()]
    for batches in ([short, none, short], [none, short], [short] * 50, [empty * 3]):
        with answering(200, waves_of(batches)) as (archive, _):
            values = archive.get("X").values
        rows = [row for batch in batches for row in batch]
        assert [row.tolist() for row in values] == rows
        assert values.ndim == (2 if any(rows) else 1) and values[0].dtype == "f8"
    for batches in ([short, long], [long, short], [short + long], [short + long, short, short], [short, empty, short]):
        with answering(200, waves_of(batches)) as (archive, _):
            values = archive.get("X").values
        assert values.shape == (sum(map(len, batches)),) and values.dtype == object
        assert [row.tolist() for row in values] == [row for batch in batches for row in batch]


def test_an_answer_in_json_that_breaks_off_is_a_failed_connection() -> None:
    with answering(200, b'{"pv":', length=100) as (archive, _):
        with pytest.raises(pvark.ConnectionFailed, match="middle"):
            archive.gaps("X")
        with pytest.raises(pvark.ConnectionFailed, match="middle"):
            asyncio.run(awaited(archive).gaps("X"))


def test_bytes_that_are_no_arrow_stream_are_an_unexpected_answer() -> None:
    whole = stream_of([1.5, 2.5], pv="X", type="f64")
    for place in range(0, len(whole), 7):
        spoilt = whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :]
        with answering(200, spoilt) as (archive, _), contextlib.suppress(pvark.UnexpectedAnswer, pvark.BrokenOff):
            archive.get("X")


def test_silence_is_told_as_such() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(pvark.TimedOut, match="within 0.2 s"):
            pvark.Archiver(url, timeout=0.2).status()
        with pytest.raises(pvark.TimedOut, match="silent for 0.2 s"):
            asyncio.run(pvark.AsyncArchiver(url, timeout=0.2).status())


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
    page = {"total": 3, "pvs": [pv, pv | {"name": "B"}]}
    with answering(200, json.dumps(page).encode()) as (archive, asked):
        assert [found.name for found in archive.search("A*")] == ["A", "B"], "nobody is there twice"
    assert [parse_qs(urlsplit(line).query)["offset"] for line in asked] == [["0"], ["2"]]


def test_a_token_is_shown_from_a_file_that_nobody_else_may_read(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("pvk_abcdefgh_secret\n")
    file.chmod(0o640)
    with pytest.raises(PermissionError, match="others may read"):
        pvark.Archiver("http://127.0.0.1:1", token_file=file)
    file.chmod(0o600)
    shown: list[str | None] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.append(self.headers.get("Authorization"))
            body = b'{"error":{"code":"unauthorized","message":"the token has expired"}}'
            self.send_response(401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Not on the terminal of the tests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        with pytest.raises(pvark.Unauthorized, match="expired"):
            pvark.Archiver(url, token_file=file).status()
        with pytest.raises(pvark.Unauthorized, match="expired"):
            asyncio.run(pvark.AsyncArchiver(url, token_file=file).status())
        with pytest.raises(pvark.Unauthorized):
            pvark.Archiver(url).status()
    finally:
        server.shutdown()
        server.server_close()
    assert shown == ["Bearer pvk_abcdefgh_secret"] * 2 + [None]
