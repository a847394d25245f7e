"""Arrow IPC streams → numpy columns, with numpy alone. Pure: whoever drives a decoder reads the bytes that it wants.

    answer := stream*            stream := schema batch* end
    message := 0xFFFFFFFF length:i32 flatbuffer[length] body

Each stream has columns of its own types; an answer for several PVs is one stream after another. What is read of a
batch is copied into columns that grow, so a long answer is in memory once.
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._columns import NOTHING, apart, objects
from ._errors import UnexpectedAnswer

HEADER_BYTES_MAX = 16 << 20
"""The longest flatbuffer of a message: metadata with a thousand labels has a few kilobytes."""

BODY_BYTES_MAX = 8 << 30
"""The longest body of a batch: a few samples of 100 MB each."""

SCHEMA, DICTIONARY, BATCH = 1, 2, 3
INT, FLOAT, BINARY, UTF8, BOOL, TIMESTAMP, LIST, LARGE_LIST = 2, 3, 4, 5, 6, 10, 12, 21

INTS: dict[tuple[int, int], str] = {
    (bits, signed): f"{'i' if signed else 'u'}{bits // 8}" for bits in (8, 16, 32, 64) for signed in (0, 1)
}
FLOATS = {1: "f4", 2: "f8"}


class Want(NamedTuple):
    """So many bytes are needed next: all that are left if it is None; none at all are fine where the answer may end."""

    size: int | None
    may_end: bool = False


Bytes = bytes | bytearray | memoryview
Wants = Generator[Want, Bytes, Any]
"""A decoder: it says what it wants, and is sent it. What it was sent is not touched after the next want."""


@dataclass(frozen=True)
class ColumnType:
    """How one column is laid out."""

    name: str
    kind: int
    dtype: np.dtype[Any] | None
    """Of numbers and times; None for texts, bytes and lists."""
    item: ColumnType | None
    nullable: bool


@dataclass
class Column:
    """The rows of one column so far, in room that grows. Lists are rows of a table if all have one length."""

    type: ColumnType
    length: int = 0
    rows: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0))
    is_null: npt.NDArray[np.bool_] | None = None
    """Which rows hold nothing; None as long as all hold something."""

    def __post_init__(self) -> None:
        self.rows = np.empty(0, object if self.type.dtype is None else self.type.dtype)

    def extend(self, rows: npt.NDArray[Any], is_null: npt.NDArray[np.bool_] | None) -> None:
        """Copies rows to the end."""
        if not len(rows):
            return
        if not self.length:
            self.rows = np.empty((0, *rows.shape[1:]), rows.dtype)
        elif rows.shape[1:] != self.rows.shape[1:]:
            self.rows, rows = apart(self.finished()), apart(rows.copy())
        end = self.length + len(rows)
        if end > len(self.rows):
            # The room moves without being copied where the system can remap pages; nobody else refers to it yet. New
            # arrays instead, for which numpy asks for huge pages, took three times the time where memory was short.
            self._resize(max(end, len(self.rows) + (len(self.rows) >> 2)))
        self.rows[self.length : end] = rows
        if is_null is not None and self.is_null is None:
            self.is_null = np.zeros(self.length, np.bool_)
        if self.is_null is not None:
            more = np.zeros(len(rows), np.bool_) if is_null is None else is_null
            self.is_null = np.concatenate([self.is_null, more])
        self.length = end

    def finished(self) -> npt.NDArray[Any]:
        """The rows, without the room that is left."""
        if self.length < len(self.rows):
            self._resize(self.length)
        return self.rows

    def _resize(self, length: int) -> None:
        self.rows.resize((length, *self.rows.shape[1:]), refcheck=False)


@dataclass
class Stream:
    """What one stream holds, or several of one PV and type: facts about it, and its columns by name."""

    facts: dict[str, str]
    columns: dict[str, Column]

    def __len__(self) -> int:
        return max((column.length for column in self.columns.values()), default=0)

    def goes_on_as(self, facts: dict[str, str], types: list[ColumnType]) -> bool:
        """Whether another stream has more rows of the same, perhaps with more columns or fewer."""
        alike = (facts.get(name) == self.facts.get(name) for name in ("pv", "type"))
        known = (one.name not in self.columns or self.columns[one.name].type == one for one in types)
        return "pv" in facts and all(alike) and all(known)

    def level(self) -> None:
        """Fills up columns that some streams leave out, because there is nothing in them."""
        rows = len(self)
        for column in self.columns.values():
            missing = rows - column.length
            if missing and column.type.dtype is None:
                column.extend(np.broadcast_to(NOTHING, missing), None)
            elif missing:
                column.extend(np.zeros(missing, column.type.dtype), None)


def streams(may_be_none: bool = False) -> Generator[Want, Bytes, list[Stream]]:
    """Reads all streams of an answer. Those that follow one of the same PV and type are joined to it."""
    found: list[Stream] = []
    try:
        while prefix := (yield Want(8, may_end=may_be_none or bool(found))):
            yield from _stream(bytes(prefix), found)
    except (struct.error, IndexError, KeyError, ValueError) as error:
        raise UnexpectedAnswer(f"the answer is no Arrow stream: {error}") from error
    return found


def _stream(prefix: bytes, found: list[Stream]) -> Generator[Want, Bytes, None]:
    columns: list[Column] | None = None
    layout, layout_of = None, b""
    while length := _message_length(prefix):
        header = bytes((yield Want(length)))
        kind, message, body_bytes = _message(header)
        if kind == BATCH and columns is not None:
            # Batches of equal length have equal headers, if there are no texts or lists in them.
            if layout is None or header != layout_of:
                layout, layout_of = _layout(message), header
            body = yield Want(body_bytes)
            _take(columns, layout, memoryview(body))
        elif kind == SCHEMA and columns is None and not body_bytes:
            columns = _begin(message, found)
        else:
            raise ValueError(f"a message of kind {kind} is out of place")
        prefix = bytes((yield Want(8)))
    if columns is None:
        raise ValueError("it has no schema")
    found[-1].level()


def _begin(schema: _Table, found: list[Stream]) -> list[Column]:
    """The columns of a stream in its order, those of the stream before it where it goes on with that."""
    facts = {pair.text(0): pair.text(1) for pair in schema.tables(2)}
    types = [_column_type(one) for one in schema.tables(1)]
    if found and found[-1].goes_on_as(facts, types):
        stream = found[-1]
        stream.facts |= facts
        for one in types:
            stream.columns.setdefault(one.name, Column(one))
        stream.level()
    else:
        stream = Stream(facts, {one.name: Column(one) for one in types})
        found.append(stream)
    return [stream.columns[one.name] for one in types]


def _message_length(prefix: bytes) -> int:
    mark, length = struct.unpack("<II", prefix)
    if mark != 0xFFFFFFFF or length > HEADER_BYTES_MAX:
        raise ValueError(f"it begins with {prefix!r}")
    return int(length)


class _Table:
    """A table of a flatbuffer: fields by number, absent ones with their default."""

    __slots__ = ("at", "data", "fields")

    def __init__(self, data: bytes, at: int) -> None:
        (back,) = struct.unpack_from("<i", data, at)
        vtable = at - back
        if vtable < 0:
            raise ValueError("a table lies outside of its message")
        (size,) = struct.unpack_from("<H", data, vtable)
        self.data, self.at = data, at
        self.fields = struct.unpack_from(f"<{max(size - 4, 0) // 2}H", data, vtable + 4)

    def place(self, index: int) -> int:
        offset = self.fields[index] if index < len(self.fields) else 0
        return self.at + offset if offset else 0

    def number(self, index: int, form: str, default: int = 0) -> int:
        place = self.place(index)
        return int(struct.unpack_from(form, self.data, place)[0]) if place else default

    def _target(self, index: int) -> int:
        place = self.place(index)
        return place + int(struct.unpack_from("<I", self.data, place)[0]) if place else 0

    def table(self, index: int) -> _Table:
        target = self._target(index)
        if not target:
            raise ValueError(f"field {index} of a table is missing")
        return _Table(self.data, target)

    def text(self, index: int) -> str:
        target = self._target(index)
        if not target:
            return ""
        (length,) = struct.unpack_from("<I", self.data, target)
        return self.data[target + 4 : target + 4 + length].decode()

    def vector(self, index: int) -> tuple[int, int]:
        """Where its elements begin and how many there are."""
        target = self._target(index)
        return (target + 4, int(struct.unpack_from("<I", self.data, target)[0])) if target else (0, 0)

    def tables(self, index: int) -> list[_Table]:
        start, count = self.vector(index)
        places = range(start, min(start + 4 * count, len(self.data)), 4)
        return [_Table(self.data, place + int(struct.unpack_from("<I", self.data, place)[0])) for place in places]


def _message(header: bytes) -> tuple[int, _Table, int]:
    (root,) = struct.unpack_from("<I", header, 0)
    message = _Table(header, root)
    body_bytes = message.number(3, "<q")
    if not 0 <= body_bytes <= BODY_BYTES_MAX:
        raise ValueError(f"a body of {body_bytes} bytes is too long")
    return message.number(1, "<B"), message.table(2), body_bytes


def _column_type(one: _Table) -> ColumnType:
    kind, nullable = one.number(2, "<B"), bool(one.number(1, "<B"))
    dtype: np.dtype[Any] | None = None
    item = None
    if kind == INT:
        dtype = np.dtype("<" + INTS[one.table(3).number(0, "<i"), one.table(3).number(1, "<B")])
    elif kind == FLOAT:
        dtype = np.dtype("<" + FLOATS[one.table(3).number(0, "<h")])
    elif kind == TIMESTAMP:
        if one.table(3).number(0, "<h") != 3:
            raise ValueError("times are not in nanoseconds")
        dtype = np.dtype("datetime64[ns]")
    elif kind == BOOL:
        dtype = np.dtype(np.bool_)
    elif kind == LARGE_LIST:
        (child,) = one.tables(5)
        item = _column_type(child)
    elif kind not in (UTF8, BINARY):
        raise ValueError(f"columns of kind {kind} are unknown")
    return ColumnType(one.text(0), kind, dtype, item, nullable)


class _Layout(NamedTuple):
    rows: int
    nulls: tuple[int, ...]
    """Of each column, those of lists behind their lists."""
    buffers: tuple[tuple[int, int], ...]
    """Where each begins in the body, and how long it is."""


def _layout(batch: _Table) -> _Layout:
    if batch.place(3):
        raise ValueError("its bodies are compressed")
    nodes_at, nodes = batch.vector(1)
    buffers_at, buffers = batch.vector(2)
    numbers = struct.unpack_from(f"<{2 * nodes}q", batch.data, nodes_at)
    places = struct.unpack_from(f"<{2 * buffers}q", batch.data, buffers_at)
    return _Layout(batch.number(0, "<q"), numbers[1::2], tuple(zip(places[::2], places[1::2], strict=True)))


class _Body:
    """The buffers of a batch, taken one after another."""

    def __init__(self, layout: _Layout, body: memoryview) -> None:
        self.body = body
        self.nulls = iter(layout.nulls)
        self.buffers = iter(layout.buffers)

    def buffer(self) -> memoryview:
        start, length = next(self.buffers, (0, 0))
        return self.body[start : start + length]

    def column(self, kind: ColumnType, rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
        nulls, validity = next(self.nulls, 0), self.buffer()
        is_null = ~_bits(validity, rows) if nulls and len(validity) else None
        if kind.kind == BOOL:
            return _bits(self.buffer(), rows), is_null
        if kind.dtype is not None:
            return np.frombuffer(self.buffer(), kind.dtype, rows), is_null
        offsets = self.buffer()
        ends = np.frombuffer(offsets, "<i8" if kind.item else "<i4", rows + 1 if len(offsets) else 0).tolist()
        if kind.item is None:
            texts = self.buffer()
            if nulls == rows:
                return np.broadcast_to(NOTHING, rows), is_null
            data = bytes(texts)
            cut = [data[start:end] for start, end in zip(ends, ends[1:], strict=False)]
            column = objects([text.decode() for text in cut] if kind.kind == UTF8 else cut)
            if is_null is not None:
                column[is_null] = None
            return column, is_null
        items, _ = self.column(kind.item, ends[-1] if ends else 0)
        if len(items) and not nulls and not ends[0] and (np.diff(ends) == len(items) / rows).all():
            return items.reshape(rows, -1), is_null
        items = items.copy()
        return objects([items[start:end] for start, end in zip(ends, ends[1:], strict=False)]), is_null


def _take(columns: list[Column], layout: _Layout, body: memoryview) -> None:
    source = _Body(layout, body)
    for column in columns:
        column.extend(*source.column(column.type, layout.rows))


def _bits(buffer: memoryview, rows: int) -> npt.NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(buffer, np.uint8), count=rows, bitorder="little").astype(np.bool_)
