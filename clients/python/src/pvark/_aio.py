"""The same archiver for programs with an event loop: the same questions, carried by asyncio alone."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from functools import wraps
from os import PathLike
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload
from urllib.parse import urlsplit

from . import _exports, _talks
from ._arrow import Bytes, Want
from ._asking import Pause, Question, Talk, broken_off, drive, error_of, headers, token_of
from ._errors import ConnectionFailed, PvarkError, TimedOut, UnexpectedAnswer, UnknownPv
from ._models import ManySamples, Samples, Update
from ._names import Names, is_pattern
from ._near import advice, advised
from ._times import Moment
from ._transport import trusted

P = ParamSpec("P")
T = TypeVar("T")

BUFFER_BYTES = 1 << 20
BROKEN = (OSError, EOFError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
ENDS_WITH_CONNECTION = -1
"""The length of a body that does not say how long it is."""


class _Asks(Generic[P, T]):
    """A talk as a coroutine method, which is typed and documented as the talk is."""

    def __init__(self, talk: Callable[P, Talk[T]]) -> None:
        self.talk = talk
        self.__doc__ = talk.__doc__

    @overload
    def __get__(self, archive: None, owner: type) -> _Asks[P, T]: ...

    @overload
    def __get__(self, archive: AsyncArchiver, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, archive: AsyncArchiver | None, owner: type) -> Any:
        if archive is None:
            return self

        @wraps(self.talk)
        async def ask(*args: P.args, **kwargs: P.kwargs) -> T:
            return await archive._http.talk(self.talk(*args, **kwargs))

        return ask


class AsyncArchiver:
    """A pvark archiver at a URL, with the methods of `Archiver` as coroutines. Holds no connection. When nothing comes
    for `timeout` seconds, a question fails with TimedOut; one that is cancelled closes its connection."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:17665",
        timeout: float = 60.0,
        ca: str | PathLike[str] | None = None,
        token_file: str | PathLike[str] | None = None,
    ) -> None:
        self._http = AsyncTransport(url, timeout, ca, token_file)

    @overload
    async def get(  # type: ignore[overload-overlap]  # a single name is an iterable of letters, too
        self,
        pvs: str,
        t0: Moment | None = None,
        t1: Moment | None = None,
        *,
        before: bool = False,
        limit: int | None = None,
    ) -> Samples: ...

    @overload
    async def get(
        self,
        pvs: Iterable[str],
        t0: Moment | None = None,
        t1: Moment | None = None,
        *,
        before: bool = False,
        limit: int | None = None,
    ) -> ManySamples: ...

    async def get(
        self,
        pvs: str | Iterable[str],
        t0: Moment | None = None,
        t1: Moment | None = None,
        *,
        before: bool = False,
        limit: int | None = None,
    ) -> Samples | ManySamples:
        """As `Archiver.get`."""
        if isinstance(pvs, str) and not is_pattern(pvs):
            return await self._http.talk(_talks.get_one(pvs, t0, t1, before=before, limit=limit))
        return await self._http.talk(_talks.get_many(pvs, t0, t1, before=before, limit=limit))

    search = _Asks(_talks.search)
    listed = _Asks(_talks.listed)
    iocs = _Asks(_talks.iocs)
    pv = _Asks(_talks.pv)
    table = _Asks(_talks.table)
    at = _Asks(_talks.at)
    aligned = _Asks(_talks.aligned)
    bins = _Asks(_talks.bins)
    array_bins = _Asks(_talks.array_bins)
    diff = _Asks(_talks.diff)
    when = _Asks(_talks.when)
    formula = _Asks(_talks.formula)
    formula_bins = _Asks(_talks.formula_bins)
    stats = _Asks(_talks.stats)
    xy = _Asks(_talks.xy)
    histogram = _Asks(_talks.histogram)
    fft = _Asks(_talks.fft)
    view = _Asks(_talks.view)
    export = _Asks(_exports.export)
    export_plan = _Asks(_exports.plan)
    exports = _Asks(_exports.listed)
    fetch_export = _Asks(_exports.fetch)
    remove_export = _Asks(_exports.remove)
    gaps = _Asks(_talks.gaps)
    ledger = _Asks(_talks.ledger)
    explain = _Asks(_talks.explain)
    metadata = _Asks(_talks.metadata)
    tree = _Asks(_talks.tree)
    upkeep = _Asks(_talks.upkeep)
    status = _Asks(_talks.status)
    add = _Asks(_talks.add)
    pause = _Asks(_talks.pause)
    resume = _Asks(_talks.resume)
    remove = _Asks(_talks.remove)
    undoable = _Asks(_talks.undoable)
    undo_plan = _Asks(_talks.undo_plan)
    undo = _Asks(_talks.undo)
    notes = _Asks(_talks.notes)
    note = _Asks(_talks.note)
    remove_note = _Asks(_talks.remove_note)
    views = _Asks(_talks.views)
    saved_view = _Asks(_talks.saved_view)
    save_view = _Asks(_talks.save_view)
    remove_view = _Asks(_talks.remove_view)

    async def live(self, *pvs: Names, since: Moment | None = None) -> AsyncIterator[Update]:
        """New samples and changes of connection as they come, for ever. Ends with ConnectionFailed."""
        lines = _talks.LiveLines()
        names = await self._http.talk(_talks.names_of(pvs))
        try:
            async for line in self._http.lines(_talks.live(names, since)):
                update = lines.update(line)
                if update is not None:
                    yield update
        except UnknownPv as error:
            raise await self._http.talk(advice(error)) from None


class AsyncTransport:
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

    async def talk(self, talk: Talk[T]) -> T:
        """Asks until all is said."""
        talk = advised(talk)
        say: Callable[[Any], Question[Any]] = talk.send
        answer: Any = None
        try:
            while True:
                question = say(answer)
                if isinstance(question, Pause):
                    await asyncio.sleep(question.seconds)
                    say, answer = talk.send, None
                    continue
                try:
                    say, answer = talk.send, await self.ask(question)
                except PvarkError as error:
                    say, answer = talk.throw, error
        except StopIteration as end:
            return cast(T, end.value)

    async def ask(self, question: Question[T]) -> T:
        """The answer to one request."""
        reading = question.reading()
        want, result = drive(reading, None)
        async with self._open(question) as body:
            while want is not None:
                want, result = drive(reading, await body.take(want))
        return cast(T, result)

    async def lines(self, question: Question[Any]) -> AsyncIterator[str]:
        """The lines of an answer that goes on for ever, each as it comes."""
        async with self._open(question) as body:
            waiting = b""
            while piece := await body.some():
                *lines, waiting = (waiting + piece).split(b"\n")
                for line in lines:
                    yield line.decode().rstrip("\r")

    @asynccontextmanager
    async def _open(self, question: Question[Any]) -> AsyncIterator[_Body]:
        address, data = question.address(self.url), question.data()
        parts = urlsplit(address)
        secure = (self.trusted or ssl.create_default_context()) if parts.scheme == "https" else None
        port = parts.port or (443 if secure else 80)
        try:
            opening = asyncio.open_connection(parts.hostname, port, ssl=secure, limit=BUFFER_BYTES)
            reader, writer = await asyncio.wait_for(opening, self.timeout)
        except asyncio.TimeoutError as error:
            raise TimedOut(f"{self.url} does not answer within {self.timeout:g} s") from error
        except OSError as error:
            raise ConnectionFailed(f"no archiver answers at {self.url}: {error}") from error
        body = _Body(self, reader, writer)
        try:
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            said = (
                {"Host": parts.netloc.rpartition("@")[2], "Connection": "close"} | headers(data) | dict(question.said)
            )
            said |= {"Authorization": f"Bearer {self.token}"} if self.token is not None else {}
            said |= {"Content-Length": str(len(data))} if data is not None else {}
            lines = [f"{question.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in said.items())]
            writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (data or b""))
            status = await body.head()
            if status >= 300:
                raise error_of(address, status, bytes(await body.take(Want(None))))
            yield body
        finally:
            body.close()


class _Body:
    """The head and the body of an answer, read in the pieces that are wanted. When nothing comes for too long, the
    connection is cut off, which ends whatever waits for it."""

    def __init__(self, http: AsyncTransport, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.http = http
        self.reader = reader
        self.writer = writer
        self.received = 0
        self.loop = asyncio.get_running_loop()
        self.heard = self.loop.time()
        self.silent = False
        self.watch = self.loop.call_later(http.timeout, self._watch)
        # What is left of the present chunk, or of the whole body.
        self.left = 0
        self.chunked = False
        self.ended = False

    def _watch(self) -> None:
        quiet = self.loop.time() - self.heard
        if quiet >= self.http.timeout:
            self.silent = True
            self.writer.transport.abort()
            self.reader.set_exception(ConnectionResetError("nothing came"))
        else:
            self.watch = self.loop.call_later(self.http.timeout - quiet, self._watch)

    def close(self) -> None:
        self.watch.cancel()
        self.writer.close()

    async def head(self) -> int:
        """Reads up to the body, and gives the status."""
        try:
            text = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except BROKEN as error:
            raise self._failed(error) from error
        first, *lines = text.rstrip("\r\n").split("\r\n")
        said = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        words = first.split(" ", 2)
        length = said.get("content-length", str(ENDS_WITH_CONNECTION))
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise UnexpectedAnswer(f"{self.http.url} does not speak HTTP: {first[:80]!r}")
        if not length.lstrip("-").isdigit():
            raise UnexpectedAnswer(f"{self.http.url} sends {length[:80]!r} bytes")
        self.chunked = said.get("transfer-encoding", "").lower() == "chunked"
        self.left = 0 if self.chunked else int(length)
        self.heard = self.loop.time()
        return int(words[1])

    async def some(self) -> bytes:
        """Whatever has come, at least a byte; nothing at the end."""
        try:
            if self.chunked and not self.left:
                await self._next_chunk()
            if self.ended or self.left == 0:
                return b""
            piece = await self.reader.read(BUFFER_BYTES if self.left < 0 else min(self.left, BUFFER_BYTES))
            return await self._took(piece)
        except BROKEN as error:
            raise self._failed(error) from error

    async def take(self, want: Want) -> Bytes:
        if want.size is None:
            pieces = []
            while piece := await self.some():
                pieces.append(piece)
            return b"".join(pieces)
        filled = bytearray()
        while len(filled) < want.size:
            piece = await self._piece(want.size - len(filled))
            if not piece:
                break
            if len(piece) == want.size:
                return piece
            filled += piece
        if len(filled) < want.size and not (want.may_end and not filled):
            broken_off(self.http.url, self.received)
        return filled

    async def _piece(self, size: int) -> bytes:
        try:
            if self.chunked and not self.left:
                await self._next_chunk()
            if self.ended or self.left == 0:
                return b""
            if self.left < 0:
                return await self._took(await self.reader.read(size))
            return await self._took(await self.reader.readexactly(min(size, self.left)))
        except BROKEN as error:
            raise self._failed(error) from error

    async def _next_chunk(self) -> None:
        if self.ended:
            return
        line = await self.reader.readuntil(b"\r\n")
        try:
            self.left = int(line.split(b";")[0], 16)
        except ValueError as error:
            raise UnexpectedAnswer(f"{self.http.url} sends a chunk of {line[:80]!r} bytes") from error
        if not self.left:
            self.ended = True
            await self.reader.readuntil(b"\r\n")

    async def _took(self, piece: bytes) -> bytes:
        self.heard = self.loop.time()
        self.received += len(piece)
        if not piece:
            if self.left > 0:
                raise EOFError("the connection was closed")
            self.ended = True
        elif self.left > 0:
            self.left -= len(piece)
            if self.chunked and not self.left:
                await self.reader.readexactly(2)
        return piece

    def _failed(self, error: BaseException) -> ConnectionFailed:
        if self.silent:
            return TimedOut(f"{self.http.url} was silent for {self.http.timeout:g} s, after {self.received} bytes")
        try:
            broken_off(self.http.url, self.received, error)
        except ConnectionFailed as failure:
            return failure
