"""Reads a segment of a pvark archive without pvark, written from docs/format.md alone: FILE.seg [NAME].

Without a name it lists the PVs; with one it prints time, severity, status, message, pulse, value and odd stamp.
"""

import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
from pcodec import standalone
from xxhash import xxh3_64_intdigest
from zstandard import ZstdDecompressor

TYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "i4"]  # elements 0 to 11 as numpy names them
TEXT, STRUCTURE = 12, 13
PVDATA = dict(zip(bytes.fromhex("00 20 24 21 25 22 26 23 27 42 43"), range(11), strict=True)) | {0x60: 12, 0x83: 12}


def flipped(numbers: Any) -> Any:
    """The places of floats from their bits, and back."""
    return numpy.where(numbers < 0, numbers ^ numpy.iinfo(numbers.dtype).max, numbers).astype(numbers.dtype)


class Bytes:
    """What is still to be read of a piece of the file."""

    def __init__(self, data: bytes, check: int | None = None) -> None:
        assert check in (None, xxh3_64_intdigest(data)), "a check is wrong: the file is damaged"
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, form: str = "B") -> int:
        return int(struct.unpack("<" + form, self.take(struct.calcsize(form)))[0])

    def varint(self) -> int:
        return byte if (byte := self.number()) < 128 else byte - 128 + 128 * self.varint()

    def zigzag(self) -> Any:
        number = self.varint()
        return numpy.uint64(((number >> 1) ^ -(number & 1)) % 2**64).astype("i8")

    def blob(self) -> "Bytes":
        return Bytes(self.take(self.varint()))

    def runs(self, count: int, read: Callable[[], Any]) -> list[Any]:
        rows: list[Any] = []
        while len(rows) < count:
            rows += self.varint() * [read()]
        return rows

    def integers(self, count: int) -> Any:
        if count == 0 or (tag := self.number()) == 0:
            return numpy.full(count, self.zigzag() if count else 0)
        if tag == 3:
            return numpy.array(self.runs(count, self.zigzag))
        if tag == 4:
            return standalone.simple_decompress(self.blob().data)
        if tag == 7:
            return self.integers(self.varint())[self.integers(count)]
        first = [self.zigzag()] if tag in (2, 6) else []
        least, width, place, count = self.zigzag(), self.number(), 0, count - len(first)
        bits = numpy.unpackbits(numpy.frombuffer(self.take((count * width + 7) // 8), "u1"), bitorder="little")
        weights = numpy.uint64(1) << numpy.arange(width, dtype="u8")
        numbers = (bits[: count * width].reshape(count, width) * weights).sum(axis=1, dtype="u8").view("i8") + least
        for _ in range(self.varint() if tag in (5, 6) else 0):
            place += self.varint()
            numbers[place] += self.zigzag() << numpy.int64(width)
        return numpy.append(first, numbers).astype("i8").cumsum() if first else numbers

    def times(self, count: int) -> Any:
        tag, first = self.number(), self.number("q")
        if tag == 0:
            return first + numpy.arange(count) * self.zigzag()
        tick, tag = (self.varint(), self.number()) if tag == 3 else (1, tag)
        if tag == 2:
            return first + tick * numpy.append(0, self.integers(count - 1)).cumsum()
        period = self.number("q")
        return first + tick * (numpy.array([row * period >> 16 for row in range(count)]) + self.integers(count))

    def floats(self, count: int, dtype: str) -> Any:
        if (tag := self.number()) == 2:
            return standalone.simple_decompress(self.blob().data)
        if tag == 3:
            scale = 10.0 ** self.number()
            return (self.integers(count) / scale).astype(dtype)
        if tag == 5:
            least, step, corrections = *struct.unpack("<dd", self.take(16)), self.integers(self.varint())
            codes = self.integers(count)
            nearest = flipped((least + codes * step).astype(dtype).view("i" + dtype[1]))
            return flipped(nearest + (corrections[codes] if len(corrections) else 0)).view(dtype)
        if tag in (6, 7):
            places = self.integers(count if tag == 6 else self.varint()).astype("i" + dtype[1])
            return flipped(places if tag == 6 else places[self.integers(count)]).view(dtype)
        plain = {0: 1, 1: count}.get(tag) or self.varint()
        values = numpy.frombuffer(self.take(plain * int(dtype[1])), "<" + dtype)
        return values[self.integers(count)] if tag == 4 else values.repeat(count // plain)

    def packed(self) -> bytes:
        size, stored = self.varint(), self.varint()
        return ZstdDecompressor().decompress(self.take(stored), size) if stored < size else self.take(size)

    def texts(self, count: int, tag: int | None = None) -> list[bytes]:
        if count and (self.number() if tag is None else tag) == 1:
            entries = self.texts(self.varint(), 0)
            return [entries[index] for index in self.integers(count)]
        lengths, content = self.integers(count), Bytes(self.packed() if count else b"")
        return [content.take(length) for length in lengths.tolist()]

    def arrays(self, count: int, element: int) -> list[Any]:
        ends = (lengths := self.integers(count)).cumsum()
        if (tag := self.number()) == 0:
            return numpy.split(self.values(int(ends[-1]), element, 0), ends[:-1])
        if tag == 3:
            return self.cells(lengths.tolist(), element)
        planes = numpy.frombuffer(self.packed(), "u1").reshape(numpy.dtype(TYPES[element]).itemsize, -1)
        frames = numpy.split(planes.T.copy(), ends[:-1])
        for before, frame in zip(frames, frames[1:], strict=False) if tag == 2 else ():
            frame[: len(before)] ^= before[: len(frame)]
        return [frame.reshape(-1).view(TYPES[element]) for frame in frames]

    def cells(self, lengths: list[int], element: int) -> list[Any]:
        frames = [bytearray(self.values(lengths[0], element, 0).tobytes())]
        changes = self.integers(len(lengths) - 1)
        places, content = iter(self.integers(int(changes.sum())).tolist()), Bytes(self.packed())
        for length, changed in zip(lengths[1:], changes, strict=True):
            size = length * numpy.dtype(TYPES[element]).itemsize
            frame = bytearray(frames[-1] if len(frames[-1]) == size else size)
            for at in [64 * next(places) for _ in range(changed)]:
                frame[at : at + 64] = content.take(min(64, size - at))
            frames.append(frame)
        return [numpy.frombuffer(frame, TYPES[element]) for frame in frames]

    def values(self, count: int, element: int, shape: int) -> Any:
        if shape == 1:
            return self.arrays(count, element)
        if element == STRUCTURE and self.data[self.at : self.at + 1] == b"\2":
            self.number()
            columns = [(path, self.blob().values(count, *type_)) for path, *type_ in leaves(self.blob(), "")]
            return [{path: column[row] for path, column in columns} for row in range(count)]
        if element == STRUCTURE:
            return self.texts(count)
        if element == TEXT:
            return numpy.array([text.decode() for text in self.texts(count)], object)
        if element in (9, 10) and count:
            return self.floats(count, TYPES[element])
        return self.integers(count).astype(TYPES[element])


def leaves(of: Bytes, path: str) -> list[tuple[str, int, int]]:
    """Of a pvData type, depth first: path, element, shape."""
    code, below = of.number(), []
    if code in (0x88, 0x89):  # of structures and of unions in arrays the type follows
        leaves(of, path)
    if code & 0x10 or code == 0x83:  # of bounded arrays and texts, and of arrays of one length, that follows
        of.number()
    if code in (0x80, 0x81):
        of.take(of.number())
        for _ in range(of.number()):
            below += leaves(of, f"{path}.{of.take(of.number()).decode()}".lstrip("."))
    return below if code == 0x80 else [(path, PVDATA.get(code & 0xE7, STRUCTURE), int(0 < code & 0x18 and code < 0x80))]


def block(data: bytes) -> Iterator[tuple[Any, ...]]:
    body = Bytes(data[8:], *struct.unpack_from("<Q", data))
    body.take(8)
    element, shape, count = body.number(), body.number(), body.varint()
    times, values = body.blob().times(count), body.blob().values(count, element, shape)
    of, pulses = body.blob(), body.blob()
    alarms = of.runs(count, lambda: (of.number(), of.varint(), of.blob().data.decode() if of.number() else None))
    pulse = pulses.integers(count).view("u8") if pulses.number() else pulses.runs(count, pulses.varint)
    stamps = body.blob() if body.at < len(body.data) else Bytes(bytes([255, 127, 0]))
    quality = stamps.runs(count, stamps.number)[:count]
    others = iter(stamps.integers(count - quality.count(0)))
    for row, time in enumerate(times.tolist()):
        odd = [quality[row], time + next(others)] if quality[row] else []
        yield time, *alarms[row], int(pulse[row]), values[row], *odd


def samples(data: bytes, record: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    _, blocks, _, _, _, at, index_at, index_len, *_, check, _, _ = record
    index = Bytes(data[index_at : index_at + index_len], check)
    assert index.varint() == blocks, "the index has not a row for each block"
    for length in index.blob().integers(blocks).tolist():
        yield from block(data[at : at + length])
        at += length


def segment(data: bytes) -> dict[str, tuple[int, ...]]:
    """The PVs by name, with their records in the directory."""
    footer = data[-16 - struct.unpack_from("<I", data, len(data) - 16)[0] : -16]
    check, version, _, pvs, pages_at, names_at, names_check = struct.unpack_from("<QHHI48xQQQ", footer)
    assert data.endswith(b"GESKRAVP") and version == 1, "this is no segment of version 1"
    Bytes(footer[8:], check)
    names = Bytes(data[names_at : -16 - len(footer)], names_check)
    rows = names.varint()
    numbers, texts = names.blob().integers(rows).tolist(), names.blob().texts(rows)
    records: dict[int, tuple[int, ...]] = {}
    for page in range(pages_at, names_at, 4056):
        body = Bytes(data[page + 8 : min(page + 4056, names_at)], *struct.unpack_from("<Q", data, page))
        records |= {record[0]: record for record in struct.iter_unpack("<IIQqqQQIIIIQQQ", body.data)}
    assert len(records) == pvs, "the directory has not a record for each PV"
    return {text.decode(): records[number] for number, text in zip(numbers, texts, strict=True)}


if __name__ == "__main__":
    file = Path(sys.argv[1]).read_bytes()
    found = segment(file)
    for name, record in found.items() if len(sys.argv) == 2 else ():
        print(f"PV {record[0]}: {name}, {record[2]} samples")
    for time, *rest in samples(file, found[sys.argv[2]]) if len(sys.argv) == 3 else ():
        print(f"{numpy.datetime64(time, 'ns')}Z", *rest)
