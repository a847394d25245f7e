"""Requests over HTTP/1.1 with the standard library: one connection a request, error answers become exceptions."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from os import PathLike
from typing import Any, TypeVar, cast
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from ._arrow import Bytes, Want
from ._asking import Pause, Question, Talk, broken_off, drive, error_of, headers, token_of
from ._errors import ConnectionFailed, PvarkError, TimedOut
from ._near import advised

T = TypeVar("T")

BROKEN = (OSError, HTTPException)


class Transport:
    """The archiver at one address."""

    def __init__(
        self,
        url: str,
        timeout: float,
        ca: str | PathLike[str] | None = None,
        token_file: str | PathLike[str] | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self.timeout = timeout
        self.trusted = trusted(ca)
        self.token = token_of(token_file)

    def talk(self, talk: Talk[T]) -> T:
        """Asks until all is said."""
        talk = advised(talk)
        say: Callable[[Any], Question[Any]] = talk.send
        answer: Any = None
        try:
            while True:
                question = say(answer)
                if isinstance(question, Pause):
                    time.sleep(question.seconds)
                    say, answer = talk.send, None
                    continue
                try:
                    say, answer = talk.send, self.ask(question)
                except PvarkError as error:
                    say, answer = talk.throw, error
        except StopIteration as end:
            return cast(T, end.value)

    def ask(self, question: Question[T]) -> T:
        """The answer to one request."""
        reading = question.reading()
        want, result = drive(reading, None)
        with self._open(question) as answer:
            body = _Body(self, answer)
            while want is not None:
                want, result = drive(reading, body.take(want))
        return cast(T, result)

    def lines(self, question: Question[Any]) -> Iterator[str]:
        """The lines of an answer that goes on for ever, each as it comes."""
        with self._open(question) as answer:
            try:
                for line in answer:
                    yield line.decode().rstrip("\r\n")
            except BROKEN as error:
                raise self.failed(error, "stopped sending") from error

    def _open(self, question: Question[Any]) -> HTTPResponse:
        address, data = question.address(self.url), question.data()
        request = Request(address, data, {**headers(data), **question.said}, method=question.method)
        if self.token is not None:
            # Wherever an answer leads to, the token does not go there.
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        try:
            return cast(HTTPResponse, urlopen(request, timeout=self.timeout, context=self.trusted))
        except HTTPError as error:
            with error:
                raise error_of(address, error.code, error.read()) from None
        except URLError as error:
            raise self.failed(error.reason, "does not answer") from error
        except BROKEN as error:
            raise self.failed(error, "does not answer") from error

    def failed(self, error: object, what: str) -> ConnectionFailed:
        """The exception for a connection that failed."""
        if isinstance(error, TimeoutError | socket.timeout):
            return TimedOut(f"{self.url} {what} within {self.timeout:g} s")
        if what == "does not answer":
            return ConnectionFailed(f"no archiver answers at {self.url}: {error}")
        return ConnectionFailed(f"{self.url} {what}: {error}")


def trusted(ca: str | PathLike[str] | None) -> ssl.SSLContext | None:
    """By what servers with https are known: the authorities of a file in PEM, or those that this machine trusts."""
    return None if ca is None else ssl.create_default_context(cafile=ca)


class _Body:
    """The body of an answer, read in the pieces that are wanted."""

    def __init__(self, transport: Transport, answer: HTTPResponse) -> None:
        self.transport = transport
        self.answer = answer
        self.received = 0
        self.room = bytearray(1 << 16)

    def take(self, want: Want) -> Bytes:
        try:
            return self._all() if want.size is None else self._exactly(want.size, want.may_end)
        except TimeoutError as error:
            raise self.transport.failed(error, "stopped in the middle of its answer: nothing came") from error
        except BROKEN as error:
            broken_off(self.transport.url, self.received, error)

    def _all(self) -> bytes:
        return self.answer.read()

    def _exactly(self, size: int, may_end: bool) -> Bytes:
        if size > len(self.room):
            self.room = bytearray(size)
        room = memoryview(self.room)[:size]
        filled = 0
        while filled < size:
            count = self.answer.readinto(room[filled:])
            if not count:
                break
            filled += count
        self.received += filled
        # A body of a known length that ends early gives no error by itself.
        if filled < size and not (may_end and filled == 0 and not self.answer.length):
            broken_off(self.transport.url, self.received)
        return room[:filled]
