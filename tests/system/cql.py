"""Statements for a Cassandra, in the few frames of its protocol that they need: what its administrator does."""

from __future__ import annotations

import socket
import struct

STARTUP, ERROR, AUTHENTICATE, QUERY, AUTH_RESPONSE = 0x01, 0x00, 0x03, 0x07, 0x0F
QUORUM = 4


def tell(node: str, user: str, password: str, *statements: str) -> None:
    """Sends statements to a node, `host:port`, one after the other; an OSError if it refuses one, or the password."""
    host, port = node.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        options = struct.pack(">H", 1) + _string("CQL_VERSION") + _string("3.0.0")
        if _asked(connection, STARTUP, options) == AUTHENTICATE:
            secret = f"\0{user}\0{password}".encode()
            _asked(connection, AUTH_RESPONSE, struct.pack(">i", len(secret)) + secret)
        for statement in statements:
            text = statement.encode()
            _asked(connection, QUERY, struct.pack(">i", len(text)) + text + struct.pack(">HB", QUORUM, 0))


def _string(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def _asked(connection: socket.socket, opcode: int, body: bytes) -> int:
    connection.sendall(struct.pack(">BBhBi", 0x04, 0, 0, opcode, len(body)) + body)
    _, _, _, answer, length = struct.unpack(">BBhBi", _exactly(connection, 9))
    told = _exactly(connection, length)
    if answer == ERROR:
        (length,) = struct.unpack_from(">H", told, 4)
        raise OSError(f"the database refuses: {told[6 : 6 + length].decode()}")
    return int(answer)


def _exactly(connection: socket.socket, length: int) -> bytes:
    received = b""
    while len(received) < length:
        piece = connection.recv(length - len(received))
        if not piece:
            raise OSError("the database has closed the connection")
        received += piece
    return received
