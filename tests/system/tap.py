"""Keeps what a client sends to a server and takes it apart into commands, without any of our own code."""

from __future__ import annotations

import socket
import struct
from collections import Counter

from silent import Way

#: What can change a record, call something, or tell an IOC to hold its updates back.
CA_FORBIDDEN = {"WRITE", "WRITE_NOTIFY", "PUT_SYNC", "EVENTS_OFF", "EVENTS_ON"}
PVA_FORBIDDEN = {"PUT", "PUT_GET", "PROCESS", "RPC", "ARRAY"}

CA_COMMANDS = {
    0: "VERSION", 1: "EVENT_ADD", 2: "EVENT_CANCEL", 3: "READ", 4: "WRITE", 5: "SNAPSHOT", 6: "SEARCH", 7: "BUILD",
    8: "EVENTS_OFF", 9: "EVENTS_ON", 10: "READ_SYNC", 11: "ERROR", 12: "CLEAR_CHANNEL", 13: "RSRV_IS_UP",
    14: "NOT_FOUND", 15: "READ_NOTIFY", 16: "READ_BUILD", 17: "REPEATER_CONFIRM", 18: "CREATE_CHAN",
    19: "WRITE_NOTIFY", 20: "CLIENT_NAME", 21: "HOST_NAME", 22: "ACCESS_RIGHTS", 23: "ECHO", 24: "REPEATER_REGISTER",
    25: "SIGNAL", 26: "CREATE_CH_FAIL", 27: "SERVER_DISCONN",
}  # fmt: skip
PVA_COMMANDS = {
    0: "BEACON", 1: "CONNECTION_VALIDATION", 2: "ECHO", 3: "SEARCH", 4: "SEARCH_RESPONSE", 5: "AUTHNZ",
    6: "ACL_CHANGE", 7: "CREATE_CHANNEL", 8: "DESTROY_CHANNEL", 9: "CONNECTION_VALIDATED", 10: "GET", 11: "PUT",
    12: "PUT_GET", 13: "MONITOR", 14: "ARRAY", 15: "DESTROY_REQUEST", 16: "PROCESS", 17: "GET_FIELD", 18: "MESSAGE",
    19: "MULTIPLE_DATA", 20: "RPC", 21: "CANCEL_REQUEST", 22: "ORIGIN_TAG",
}  # fmt: skip


class Tap(Way):
    """A way to a server on which every byte of the client is kept, by its connection."""

    def __init__(self, port: int, protocol: str) -> None:
        self.protocol = protocol
        self._kept: dict[socket.socket, bytearray] = {}
        super().__init__(port)

    def hear(self, source: socket.socket, data: bytes) -> None:
        if source.getsockname() == self.near:  # an end that a client has opened
            self._kept.setdefault(source, bytearray()).extend(data)

    def commands(self) -> Counter[str]:
        """How often the client has sent what. Bytes that are no message of the protocol are an error."""
        split = ca_commands if self.protocol == "ca" else pva_commands
        return sum((split(bytes(data)) for data in list(self._kept.values())), Counter())


def ca_commands(data: bytes) -> Counter[str]:
    """Commands of a stream of Channel Access; the last message may be in two parts."""
    found: Counter[str] = Counter()
    while len(data) >= 16:
        command, size, _, count = struct.unpack_from(">HHHH", data)
        head = 16
        if size == 0xFFFF and count == 0:
            if len(data) < 24:
                break
            (size,) = struct.unpack_from(">I", data, 16)
            head = 24
        found[CA_COMMANDS[command]] += 1
        data = data[head + size :]
    return found


def pva_commands(data: bytes) -> Counter[str]:
    """Commands of a stream of pvAccess, `CONTROL` for control messages."""
    found: Counter[str] = Counter()
    while len(data) >= 8:
        magic, _, flags, command = data[:4]
        assert magic == 0xCA, data[:16]
        assert not flags & 0x40, "this is what a server sends"
        (size,) = struct.unpack_from(">I" if flags & 0x80 else "<I", data, 4)
        found["CONTROL" if flags & 1 else PVA_COMMANDS[command]] += 1
        data = data[8 + (0 if flags & 1 else size) :]
    return found
