"""Requests over HTTP/1.1 with the standard library: one connection a request, error answers become exceptions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from ._errors import ConnectionFailed, PvarkError, UnexpectedAnswer, refused

BROKEN = (OSError, HTTPException)


class Transport:
    """The archiver at one address."""

    def __init__(self, url: str, timeout: float) -> None:
        self.url = url.rstrip("/")
        self.timeout = timeout

    def json(self, method: str, path: str, query: Mapping[str, object] | None = None, body: object = None) -> Any:
        """The answer to one request, read whole."""
        text = self.read(method, path, query or {}, None if body is None else json.dumps(body).encode())
        try:
            return json.loads(text)
        except ValueError as error:
            raise UnexpectedAnswer(f"{self.url}{path} did not answer in JSON: {text[:80]!r}") from error

    def read(self, method: str, path: str, query: Mapping[str, object], data: bytes | None = None) -> bytes:
        """The bytes of the answer to one request."""
        with self._open(method, path, query, data) as answer:
            try:
                return answer.read()
            except BROKEN as error:
                raise ConnectionFailed(f"{self.url} stopped in the middle of its answer: {error}") from error

    def lines(self, path: str, query: Mapping[str, object]) -> Iterator[str]:
        """The lines of an answer that goes on for ever, each as it comes."""
        with self._open("GET", path, query, None) as answer:
            try:
                for line in answer:
                    yield line.decode().rstrip("\r\n")
            except BROKEN as error:
                raise ConnectionFailed(f"{self.url} stopped sending: {error}") from error

    def _open(self, method: str, path: str, query: Mapping[str, object], data: bytes | None) -> HTTPResponse:
        given = {name: value for name, value in query.items() if value is not None}
        address = f"{self.url}/api/v1{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")
        headers = {"Accept": "application/json"} | ({"Content-Type": "application/json"} if data is not None else {})
        request = Request(address, data, headers, method=method)
        try:
            answer: HTTPResponse = urlopen(request, timeout=self.timeout)
            return answer
        except HTTPError as error:
            raise _error_of(address, error) from None
        except URLError as error:
            raise ConnectionFailed(f"no archiver answers at {self.url}: {error.reason}") from error
        except BROKEN as error:
            raise ConnectionFailed(f"no archiver answers at {self.url}: {error}") from error


def _error_of(address: str, answer: HTTPError) -> PvarkError:
    with answer:
        text = answer.read()
    try:
        error = json.loads(text)["error"]
        return refused(answer.code, error["code"], error["message"], error.get("hint"))
    except (ValueError, KeyError, TypeError):
        return UnexpectedAnswer(f"{address} answered {answer.code} without saying why: {text[:80]!r}")


def quoted(pv: str) -> str:
    """A PV name as one segment of a path."""
    return quote(pv, safe=":")
