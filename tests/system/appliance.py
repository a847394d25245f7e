"""A small server that speaks the Archiver Appliance's URLs, with answers of its own choice and faults on demand."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

YEAR = 2026
YEAR_START = 1_767_225_600
DOUBLE = 6


def varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def named(number: int, name: str, value: str) -> bytes:
    return field(number, field(1, name.encode()) + field(2, value.encode()))


def line(message: bytes) -> bytes:
    escaped = message.replace(b"\x1b", b"\x1b\x01").replace(b"\n", b"\x1b\x02").replace(b"\r", b"\x1b\x03")
    return escaped + b"\n"


def header(pv: str, kind: int = DOUBLE, **headers: str) -> bytes:
    start = b"\x08" + varint(kind) + field(2, pv.encode()) + b"\x18" + varint(YEAR)
    return line(start + b"".join(named(15, name, value) for name, value in headers.items()))


def sample(nanos: int, value: bytes, **fields: str) -> bytes:
    """A line; `nanos` count from 1970, `value` is field 3 as it is written."""
    seconds, nano = divmod(nanos, 1_000_000_000)
    message = b"\x08" + varint(seconds - YEAR_START) + b"\x10" + varint(nano) + value
    message += b"\x20\x00\x28\x00"
    return line(message + b"".join(named(7, name, text) for name, text in fields.items()))


def time_of(text: bytes) -> int:
    """The time of a line of this year."""
    message = text.rstrip(b"\n").replace(b"\x1b\x02", b"\n").replace(b"\x1b\x03", b"\r").replace(b"\x1b\x01", b"\x1b")
    place, numbers = 0, []
    for _ in range(2):
        place, number, shift = place + 1, 0, 0
        while True:
            number |= (message[place] & 0x7F) << shift
            place, shift = place + 1, shift + 7
            if message[place - 1] < 0x80:
                break
        numbers.append(number)
    return (YEAR_START + numbers[0]) * 1_000_000_000 + numbers[1]


def nanos_of(text: str) -> int:
    """Of an ISO time with nine digits behind the point."""
    whole, _, part = text.rstrip("Z").partition(".")
    seconds = int(datetime.fromisoformat(whole + "+00:00").timestamp())
    return seconds * 1_000_000_000 + int((part or "0").ljust(9, "0"))


class Appliance:
    """What it has, and what goes wrong: `faults` are used up one a request, then it is `always`."""

    def __init__(self) -> None:
        self.samples: dict[str, tuple[bytes, list[bytes]]] = {}
        self.type_infos: dict[str, dict[str, Any]] = {}
        self.aliases: dict[str, str] = {}
        self.faults: list[str] = []
        self.always: str | None = None
        self.fault_of: dict[str, str] = {}
        self.asked: list[str] = []
        appliance = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                appliance.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        asked = urlparse(request.path)
        query = {key: values[0] for key, values in parse_qs(asked.query).items()}
        if asked.path == "/retrieval/data/getData.raw":
            self.raw(request, unquote(query["pv"]), nanos_of(query["from"]), nanos_of(query["to"]))
            return
        answers: dict[str, Any] = {
            "/retrieval/bpl/getVersion": {"version": "a test"},
            "/mgmt/bpl/getAllPVs": [*self.samples, *self.aliases],
            "/mgmt/bpl/getAllAliases": [{"aliasName": a, "srcPVName": pv} for a, pv in self.aliases.items()],
            "/mgmt/bpl/getPVTypeInfo": self.type_infos.get(query.get("pv", "")),
        }
        body = answers.get(asked.path)
        text = json.dumps(body).encode()
        request.send_response(404 if body is None else 200)
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    def raw(self, request: BaseHTTPRequestHandler, pv: str, first: int, last: int) -> None:
        self.asked.append(pv)
        fault = self.fault_of.get(pv) or (self.faults.pop(0) if self.faults else self.always)
        if fault == "gone" or pv not in self.samples:
            request.send_error(404)
            return
        if fault == "error":
            request.send_error(500)
            return
        head, lines = self.samples[pv]
        before = [text for text in lines if time_of(text) <= first][-1:]  # its first-sample rule
        body = [*before, *(text for text in lines if first < time_of(text) <= last)]
        request.send_response(200)
        request.send_header("Content-Type", "application/x-protobuf")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        for chunk in self.chunks(head, body, fault):
            request.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            request.wfile.flush()
        if fault in ("drop", "torn"):
            request.close_connection = True
        else:
            request.wfile.write(b"0\r\n\r\n")

    def chunks(self, head: bytes, body: list[bytes], fault: str | None) -> Iterator[bytes]:
        half = body[: (len(body) + 1) // 2]
        if not body:
            return
        if fault == "short" and len(body) > 2:
            yield head + b"".join(half)
        elif fault == "drop":
            yield head + b"".join(half)
        elif fault == "torn":
            yield (head + b"".join(half))[:-3]
        elif fault == "garbage":
            yield head + b"".join(half) + b"<html>Out of memory</html>\n"
        elif fault == "slow":
            for text in [head, *body]:
                for place in range(0, len(text), 7):
                    yield text[place : place + 7]
                    time.sleep(0.001)
        else:
            yield head + b"\n" + head + b"".join(body)  # it says its header again where a stream begins
