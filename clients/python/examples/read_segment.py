"""Reads a segment, from docs/format.md alone: FILE.seg lists its PVs, FILE.seg NAME prints the samples of one."""

import struct
import sys
from io import BytesIO
from typing import Any

import numpy
from pcodec import standalone
from pvdata_types import leaves
from xxhash import xxh3_64_intdigest
from zstandard import ZstdDecompressor

TYPES = "? i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 i4 text structure".split()  # elements 0 to 13, numbers as numpy names them
KINDS = {"f4": "floats", "f8": "floats", "text": "texts", "structure": "texts"}  # all others are integers


class Bytes(BytesIO):
    """What is still to be read of a piece of the file."""

    def number(self, form: str = "B") -> Any:
        return struct.unpack("<" + form, self.read(struct.calcsize(form)))[0]

    def varint(self) -> int:
        return int(byte) if (byte := self.number()) < 128 else byte - 128 + 128 * self.varint()

    def zigzag(self) -> int:
        return (number := self.varint()) >> 1 ^ -(number & 1)

    def blob(self) -> "Bytes":
        return Bytes(self.read(self.varint()))

    def plain(self, count: int, type_: str) -> Any:
        return numpy.frombuffer(self.read(count * numpy.dtype(type_).itemsize), type_)

    def zstd(self) -> bytes:
        size, stored = self.varint(), self.varint()
        return ZstdDecompressor().decompress(self.read(stored), size) if stored < size else self.read(size)

    def runs(self, count: int, read: Any) -> list[Any]:
        rows: list[Any] = []
        while len(rows) < count:
            rows += self.varint() * [read()]
        return rows

    def column(self, count: int, kind: str = "integers", type_: str = "i8") -> Any:
        return CODECS[f"{kind} {self.number()}"](self, count, type_) if count else numpy.zeros(0, "i8")

    def values(self, count: int, type_: str, is_array: int = 0) -> Any:
        if is_array:
            lengths = self.column(count)
            return CODECS[f"arrays {self.number()}"](self, lengths, type_)
        column = self.column(count, KINDS.get(type_, "integers"), type_)
        return column if KINDS.get(type_) == "texts" else column.astype(type_)

    def packed(self, count: int, codec: int) -> Any:
        least, width = self.zigzag(), self.number()
        bits = numpy.unpackbits(self.plain((count * width + 7) // 8, "u1"), count=count * width, bitorder="little")
        numbers = (bits.reshape(count, width) @ (1 << numpy.arange(width, dtype="u8"))).view("i8") + least
        patches = [(self.varint(), self.zigzag()) for _ in range(self.varint() if codec > 4 else 0)]
        gaps, highs = numpy.array(patches, "i8").reshape(-1, 2).T
        numbers[gaps.cumsum()] += highs << width
        return numbers

    def grid(self, count: int, type_: str) -> Any:
        least, step, corrections = self.number("d"), self.number("d"), self.column(self.varint())
        nearest = (least + (codes := self.column(count)) * step).astype(type_)
        places = floats_at(nearest.view("i" + type_[1]), type_).view("i" + type_[1])  # the way back is the same
        return floats_at(places + (corrections[codes] if len(corrections) else 0), type_)

    def texts(self, count: int, type_: str) -> Any:
        lengths, content = self.column(count), Bytes(self.zstd())
        pieces = [content.read(length) for length in lengths.tolist()]
        return numpy.array([piece.decode() for piece in pieces] if type_ == "text" else pieces, object)

    def fields(self, count: int, _: str) -> list[dict[str, Any]]:
        columns = [(path, self.blob().values(count, type_, array)) for path, type_, array in leaves(self.blob(), "")]
        return [{path: column[row] for path, column in columns} for row in range(count)]

    def shuffled(self, lengths: Any, type_: str, are_differences: bool) -> list[Any]:
        planes = numpy.frombuffer(self.zstd(), "u1").reshape(numpy.dtype(type_).itemsize, -1)
        frames = numpy.split(planes.T.copy(), lengths.cumsum()[:-1])
        for before, frame in zip(frames, frames[1:], strict=False) if are_differences else ():
            frame[: len(before)] ^= before[: len(frame)]
        return [frame.reshape(-1).view(type_) for frame in frames]

    def pieces(self, count: int, type_: str) -> Any:
        pieces: list[Any] = []
        while (left := count - sum(map(len, pieces))) > 0:
            length, codec = numpy.array([min(self.varint(), left)]), self.number()
            pieces.append(CODECS[f"arrays {codec}"](self, length, type_)[0])
        return numpy.concatenate(pieces) if pieces else numpy.zeros(0, type_)

    def cells(self, lengths: Any, type_: str, first: Any) -> list[Any]:
        sizes, frames = lengths * numpy.dtype(type_).itemsize, [first(int(lengths[0]), type_).view("u1")]
        changes = self.column(len(lengths) - 1)
        places, content = self.column(int(changes.sum())), Bytes(self.zstd())
        for size, changed in zip(sizes[1:], numpy.split(places, changes.cumsum()[:-1]), strict=False):
            frames.append(frames[-1].copy() if len(frames[-1]) == size else numpy.zeros(size, "u1"))
            at = (64 * changed[:, None] + numpy.arange(64)).ravel()
            frames[-1][at[at < size]] = content.plain((at < size).sum(), "u1")
        return [frame.view(type_) for frame in frames]


def floats_at(places: Any, type_: str) -> Any:
    bits = places.astype("i" + type_[1])
    return numpy.where(bits < 0, bits ^ numpy.iinfo(bits.dtype).max, bits).view(type_)


CODECS: dict[str, Any] = {
    "integers 0": lambda of, n, _: numpy.full(n, of.zigzag()),
    **{f"integers {c}": lambda of, n, _, c=c: of.packed(n, c) for c in (1, 5)},
    **{f"integers {c}": lambda of, n, _, c=c: numpy.append(of.zigzag(), of.packed(n - 1, c)).cumsum() for c in (2, 6)},
    "integers 3": lambda of, n, _: numpy.array(of.runs(n, of.zigzag)),
    **dict.fromkeys(["integers 4", "floats 2"], lambda of, n, _: standalone.simple_decompress(of.blob().read())),
    "integers 7": lambda of, n, _: of.column(of.varint())[of.column(n)],
    "times 0": lambda of, n, _: of.number("q") + numpy.arange(n) * of.zigzag(),
    "times 1": lambda of, n, _: of.number("q") + CODECS["ticks 1"](of, n, _),
    "times 2": lambda of, n, _: numpy.append(of.number("q"), of.column(n - 1)).cumsum(),
    "times 3": lambda of, n, _: of.number("q") + of.varint() * of.column(n, "ticks"),
    "ticks 1": lambda of, n, _: (numpy.arange(n).astype(object) * of.number("q") >> 16).astype("i8") + of.column(n),
    "ticks 2": lambda of, n, _: numpy.append(0, of.column(n - 1)).cumsum(),
    "floats 0": lambda of, n, type_: of.plain(1, type_).repeat(n),
    "floats 1": lambda of, n, type_: of.plain(n, type_),
    "floats 3": lambda of, n, type_: (scale := 10.0 ** of.number()) and of.column(n) / scale,
    "floats 4": lambda of, n, type_: of.plain(of.varint(), type_)[of.column(n)],
    "floats 5": Bytes.grid,
    "floats 6": lambda of, n, type_: floats_at(of.column(n), type_),
    "floats 7": lambda of, n, type_: floats_at(of.column(of.varint()), type_)[of.column(n)],
    "texts 0": Bytes.texts,
    "texts 1": lambda of, n, type_: of.texts(of.varint(), type_)[of.column(n)],
    "texts 2": Bytes.fields,
    "arrays 0": lambda of, n, type_: numpy.split(of.values(int(n.sum()), type_), n.cumsum()[:-1]),
    **{f"arrays {c}": lambda of, n, type_, c=c: of.shuffled(n, type_, c == 2) for c in (1, 2)},
    "arrays 3": lambda of, n, type_: of.cells(n, type_, of.values),
    "arrays 4": lambda of, n, type_: numpy.split(of.pieces(int(n.sum()), type_), n.cumsum()[:-1]),
    "arrays 5": lambda of, n, type_: of.cells(n, type_, of.pieces),
}


def checked(data: bytes, check: int) -> Bytes:
    assert check == xxh3_64_intdigest(data), "a check is wrong: the file is damaged"
    return Bytes(data)


def block(data: bytes) -> Any:
    body = checked(data[8:], *struct.unpack_from("<Q", data))
    type_, is_array, count = TYPES[body.number("8xB")], body.number(), body.varint()
    times, values = body.blob().column(count, "times").tolist(), body.blob().values(count, type_, is_array)
    of, pulses = body.blob(), body.blob()
    alarms = of.runs(count, lambda: (of.number(), of.varint(), of.blob().read().decode() if of.number() else None))
    pulse = pulses.column(count).view("u8").tolist() if pulses.number() else pulses.runs(count, pulses.varint)
    return zip(times, *zip(*alarms, strict=True), pulse, values, strict=True)


def samples(data: bytes, record: tuple[int, ...]) -> Any:
    _, blocks, _, at, index_at, index_len, only, check = record
    index = checked(data[index_at : index_at + index_len], check) if index_len else None
    assert index is None or index.varint() == blocks, "the index has not a row for each block"
    for length in index.blob().column(blocks).tolist() if index else [only & 0xFFFFFF]:
        yield from block(data[at : at + length])
        at += length


def segment(data: bytes) -> dict[str, tuple[int, ...]]:
    """The PVs by name, with their records in the directory."""
    footer = data[-16 - struct.unpack_from("<I", data, len(data) - 16)[0] : -16]
    check, version, pages_at, names_at, names_check = struct.unpack_from("<QH54xQQQ", footer)
    assert data.endswith(b"GESKRAVP") and version in (1, 2, 3), "this is no segment of version 1 to 3"
    checked(footer[8:], check)
    names = checked(data[names_at : -16 - len(footer)], names_check)
    rows = names.varint()
    numbers, texts = names.blob().column(rows).tolist(), names.blob().column(rows, "texts", "text")
    pages = [data[at : min(at + 4056, names_at)] for at in range(pages_at, names_at, 4056)]
    bodies = [checked(page[8:], *struct.unpack_from("<Q", page)).read() for page in pages]
    records = {record[0]: record for record in struct.iter_unpack("<IIQ16xQQI8xIQ16x", b"".join(bodies))}
    return {text: records[number] for number, text in zip(numbers, texts, strict=True)}


if __name__ == "__main__":
    found = segment(file := numpy.fromfile(sys.argv[1], "u1").tobytes())
    for name, record in found.items() if len(sys.argv) == 2 else ():
        print(f"PV {record[0]}: {name}, {record[2]} samples")
    for time, *rest in samples(file, found[sys.argv[2]]) if len(sys.argv) == 3 else ():
        print(f"{numpy.datetime64(time, 'ns')}Z", *rest)
