"""A pvAccess server of one PV that says little by megabytes: `pva_giant.py NAME KIND MEGABYTES`; prints its TCP port.

It is searched by TCP, as a name server. KIND is what its only update is made of:
texts      string[] of an NTScalarArray, each of one letter
anys       any[] of a structure, each a byte with its type
bytes      ubyte[] of an NTScalarArray, as a camera would send it
segments   the texts, in segments of 64 kB
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
import threading

NAME, KIND, MEGABYTES = sys.argv[1], sys.argv[2], int(sys.argv[3])
OK = b"\xff"


def string(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def size(count: int) -> bytes:
    return bytes([count]) if count < 254 else b"\xfe" + struct.pack("<I", count)


def head(command: int, length: int, segment: int = 0) -> bytes:
    return bytes([0xCA, 2, 0x40 | segment, command]) + struct.pack("<I", length)


def message(command: int, payload: bytes) -> bytes:
    return head(command, len(payload)) + payload


ELEMENTS = {
    "texts": (0x68, b"\x01x"),
    "segments": (0x68, b"\x01x"),
    "anys": (0x8A, b"\x01\x24\x07"),
    "bytes": (0x2C, b"\x07"),
}
CODE, ELEMENT = ELEMENTS[KIND]
STRUCTURE = "x" if KIND == "anys" else "epics:nt/NTScalarArray:1.0"
TYPE = b"\x80" + string(STRUCTURE) + b"\x01" + string("value") + bytes([CODE])


def update(ioid: int) -> tuple[bytes, int]:
    """What stands before the elements, and how many there are."""
    count = (MEGABYTES << 20) // len(ELEMENT)
    return struct.pack("<I", ioid) + b"\x00" + b"\x01\x01" + size(count), count


def send_update(peer: socket.socket, ioid: int) -> None:
    before, count = update(ioid)
    block = ELEMENT * (65536 // len(ELEMENT))
    blocks, rest = divmod(count * len(ELEMENT), len(block))
    if KIND != "segments":
        peer.sendall(head(13, len(before) + count * len(ELEMENT) + 1) + before)
        for _ in range(blocks):
            peer.sendall(block)
        peer.sendall(block[:rest] + b"\x00")
        return
    peer.sendall(head(13, len(before), 0x10) + before)
    for _ in range(blocks):
        peer.sendall(head(13, len(block), 0x30) + block)
    peer.sendall(head(13, rest + 1, 0x20) + block[:rest] + b"\x00")


def take(peer: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = peer.recv(length - len(data))
        if not more:
            raise ConnectionError
        data += more
    return data


def found(payload: bytes) -> bytes | None:
    """The answer to a search, if it is for the PV."""
    at = 4 + 4 + 16 + 2
    protocols = payload[at]
    at += 1
    for _ in range(protocols):
        at += 1 + payload[at]
    (count,) = struct.unpack_from("<H", payload, at)
    at += 2
    for _ in range(count):
        (number,) = struct.unpack_from("<I", payload, at)
        length = payload[at + 4]
        if payload[at + 5 : at + 5 + length].decode() == NAME:
            answer = NAME.encode().ljust(12, b"\0")[:12] + payload[:4] + bytes(16) + struct.pack("<H", PORT)
            return answer + string("tcp") + b"\x01" + struct.pack("<HI", 1, number)
        at += 5 + length
    return None


def talk(peer: socket.socket) -> None:
    peer.sendall(bytes([0xCA, 2, 0x41, 2, 0, 0, 0, 0]))
    peer.sendall(message(1, struct.pack("<IH", 65536, 32767) + b"\x01" + string("anonymous")))
    while True:
        _, _, flags, command = take(peer, 4)
        (length,) = struct.unpack("<I", take(peer, 4))
        if flags & 1:
            continue
        payload = take(peer, length)
        if command == 1:
            peer.sendall(message(9, OK))
        elif command == 2:
            peer.sendall(message(2, payload))
        elif command == 3 and (answer := found(payload)):
            peer.sendall(message(4, answer))
        elif command == 7:
            (cid,) = struct.unpack_from("<I", payload, 2)
            peer.sendall(message(7, struct.pack("<II", cid, 1) + OK))
        elif command == 13:
            _, ioid, order = struct.unpack_from("<IIB", payload)
            if order & 0x08:
                peer.sendall(message(13, struct.pack("<I", ioid) + b"\x08" + OK + TYPE))
            elif order & 0x44 == 0x44:
                send_update(peer, ioid)


def serve(peer: socket.socket) -> None:
    with contextlib.suppress(OSError), peer:
        talk(peer)


listener = socket.create_server(("127.0.0.1", 0))
PORT = listener.getsockname()[1]
print(PORT, flush=True)
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
