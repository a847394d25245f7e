"""What is asked and how its answer is read, for whoever carries it: the transports are told all by these.

A `Talk` yields questions and is sent their answers; so a method that turns pages, or asks again in another way, is
written once and works with and without `await`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

from ._arrow import Bytes, Want
from ._errors import BrokenOff, PvarkError, UnexpectedAnswer, refused

T = TypeVar("T")

Reading: TypeAlias = Generator[Want, Bytes, T]
"""Reads an answer: says how many bytes it wants, is sent them, and returns what they say."""

URL_NAMES_MAX = 20
"""More names than this go into the body of a POST."""


@dataclass(frozen=True)
class Question(Generic[T]):
    """One request."""

    method: str
    path: str
    reading: Callable[[], Reading[T]]
    query: Mapping[str, object] = field(default_factory=dict)
    body: object = None
    said: Mapping[str, str] = field(default_factory=dict)
    """Headers besides those that every request has."""

    def address(self, url: str) -> str:
        """The whole URL."""
        given = {name: value for name, value in self.query.items() if value is not None}
        return f"{url}/api/v1{self.path}" + (f"?{urlencode(given, doseq=True, quote_via=quote)}" if given else "")

    def data(self) -> bytes | None:
        """The body as it is sent."""
        return None if self.body is None else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Pause(Question[None]):
    """No question: so many seconds before the next."""

    seconds: float = 0.0


def pause(seconds: float) -> Pause:
    """Nothing is asked for so many seconds."""
    return Pause("", "", as_nothing, seconds=seconds)


Talk: TypeAlias = Generator[Question[Any], Any, T]


def drive(reading: Reading[T], data: Bytes | None) -> tuple[Want | None, T | None]:
    """One step: what is wanted next, or the result."""
    try:
        return (next(reading) if data is None else reading.send(data)), None
    except StopIteration as end:
        return None, end.value


def headers(data: bytes | None) -> dict[str, str]:
    """What every request says of itself."""
    return {"Accept": "*/*"} | ({"Content-Type": "application/json"} if data is not None else {})


def token_of(file: str | PathLike[str] | None) -> str | None:
    """The token in a file, or in the one that PVARK_TOKEN_FILE names. One that others may read is refused."""
    named = file or os.environ.get("PVARK_TOKEN_FILE")
    if not named:
        return None
    with open(named, encoding="ascii") as opened:
        if os.fstat(opened.fileno()).st_mode & 0o077:
            raise PermissionError(f"others may read the token in {os.fspath(named)}; chmod 600 it")
        return opened.read().strip()


def as_json() -> Reading[Any]:
    """The whole answer as JSON."""
    text = bytes((yield Want(None)))
    try:
        return json.loads(text)
    except ValueError as error:
        raise UnexpectedAnswer(f"the archiver did not answer in JSON: {text[:80]!r}") from error


def as_nothing() -> Reading[None]:
    """Nothing is read."""
    yield Want(0)


def as_bytes() -> Reading[bytes]:
    """The whole answer as it is."""
    return bytes((yield Want(None)))


def of_json(method: str, path: str, query: Mapping[str, object] | None = None, body: object = None) -> Question[Any]:
    """A question that is answered in JSON."""
    return Question(method, path, as_json, query or {}, body)


def of_many(path: str, reading: Callable[[], Reading[T]], names: list[str], query: Mapping[str, object]) -> Question[T]:
    """A question about many PVs: named in the URL if they are few, or to be found by `match`."""
    if len(names) <= URL_NAMES_MAX and (names or query.get("match")):
        return Question("GET", path, reading, {"pv": names, **query})
    return Question("POST", path, reading, query, names)


def error_of(address: str, status: int, text: bytes) -> PvarkError:
    """The exception for an answer that is no success."""
    try:
        error = json.loads(text)["error"]
        return refused(status, error["code"], error["message"], error.get("hint"))
    except (ValueError, KeyError, TypeError):
        return UnexpectedAnswer(f"{address} answered {status} without saying why: {text[:80]!r}")


def broken_off(url: str, received: int, error: object = None) -> NoReturn:
    """An answer ended before its end."""
    why = f": {error}" if error else ""
    raise BrokenOff(f"{url} stopped in the middle of its answer, after {received} bytes{why}")


def quoted(pv: str) -> str:
    """A PV name as one segment of a path."""
    return quote(pv, safe=":")
