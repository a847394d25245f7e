"""Reads PVs that this crate's Channel Access server serves with libca, the reference client, as every type there is.

ca_served.py reads from its standard input one JSON object: the port of the server, and of each PV its name, native type
and elements. It prints every difference; it exits with 1 if there are any, with 77 if the EPICS libraries are missing.
"""

from __future__ import annotations

import ctypes as c
import json
import os
import struct
import sys
import time
from typing import Any

NORMAL = 1
STRING, SHORT, FLOAT, ENUM, CHAR, LONG, DOUBLE = range(7)
CODES = ["40s", "h", "f", "H", "B", "i", "d"]
STSACK_STRING, CLASS_NAME = 37, 38
OFFSETS = [
    [0] * 7,
    [4, 4, 4, 4, 5, 4, 8],
    [12, 14, 12, 14, 15, 12, 16],
    [4, 24, 40, 422, 19, 36, 64],
    [4, 28, 48, 422, 21, 44, 80],
]
DISPLAY, ALARM, WARNING, CONTROL = (-100.0, 100.0), (-80.0, 80.0), (-50.0, 50.0), (-90.0, 90.0)
LABELS = ["off", "on", "unknown"]
EPICS_EPOCH = 631_152_000


class EventArgs(c.Structure):
    """What libca gives to the callback of a subscription."""

    _fields_ = [
        ("usr", c.c_void_p),
        ("chid", c.c_void_p),
        ("type", c.c_long),
        ("count", c.c_long),
        ("dbr", c.c_void_p),
        ("status", c.c_int),
    ]


EventHandler = c.CFUNCTYPE(None, EventArgs)


def text(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode()


def expected(element: Any, native: int, field: int) -> Any:
    """An element as another type."""
    if field == STRING:
        if native == ENUM:
            return LABELS[element]
        return element if native == STRING else f"{element:.{2 if native in (FLOAT, DOUBLE) else 0}f}"
    number = float(element)
    if field in (FLOAT, DOUBLE):
        return number
    whole = int(number)
    return {CHAR: whole & 0xFF, ENUM: whole & 0xFFFF, SHORT: (whole + 0x8000 & 0xFFFF) - 0x8000}.get(field, whole)


def limits(raw: bytes, kind: int, field: int) -> list[str]:
    """What is wrong with the units, limits and labels of a GR or CTRL type."""
    if field == STRING:
        return []
    if field == ENUM:
        (count,) = struct.unpack_from("h", raw, 4)
        labels = [text(raw[6 + 26 * i : 32 + 26 * i]) for i in range(count)]
        return [] if labels == LABELS else [f"labels {labels}"]
    at = 8 if field in (FLOAT, DOUBLE) else 4
    found = [] if text(raw[at : at + 8]) == "mm" else [f"units {raw[at : at + 8]!r}"]
    if at == 8 and struct.unpack_from("h", raw, 4)[0] != 2:
        found.append("precision")
    wanted = [DISPLAY[1], DISPLAY[0], ALARM[1], WARNING[1], WARNING[0], ALARM[0], CONTROL[1], CONTROL[0]]
    wanted = [expected(limit, DOUBLE, field) for limit in wanted[: 8 if kind == 4 else 6]]
    code = CODES[field]
    seen = list(struct.unpack_from(f"{len(wanted)}{code}", raw, at + 8))
    return found if seen == wanted else [*found, f"limits {seen}, not {wanted}"]


class Referee:
    """libca."""

    def __init__(self, pvs: list[dict[str, Any]]) -> None:
        from epicscorelibs.ca.cadef import libca  # reads the environment, so not before it is set

        self.ca = libca
        pointer = c.c_void_p
        libca.ca_create_channel.argtypes = [c.c_char_p, pointer, pointer, c.c_uint, pointer]
        libca.ca_array_get.argtypes = [c.c_long, c.c_ulong, pointer, pointer]
        libca.ca_create_subscription.argtypes = [c.c_long, c.c_ulong, pointer, c.c_long, EventHandler, pointer, pointer]
        libca.ca_pend_io.argtypes = libca.ca_pend_event.argtypes = [c.c_double]
        libca.ca_field_type.restype, libca.ca_element_count.restype = c.c_short, c.c_ulong
        libca.ca_field_type.argtypes = libca.ca_element_count.argtypes = [pointer]
        libca.ca_write_access.argtypes = libca.ca_read_access.argtypes = [pointer]
        libca.ca_context_create(1)
        self.channels = {pv["name"]: c.c_void_p() for pv in pvs}
        for name, channel in self.channels.items():
            libca.ca_create_channel(name.encode(), None, None, 0, c.byref(channel))
        if libca.ca_pend_io(20.0) != NORMAL:
            raise SystemExit("libca could not connect")
        self.callbacks: list[Any] = []  # libca calls them for as long as it lives
        self.heard: dict[str, list[tuple[int, int, float]]] = {pv["name"]: [] for pv in pvs}

    def check(self, pv: dict[str, Any]) -> list[str]:
        """All types of one PV."""
        channel, native, elements = self.channels[pv["name"]], pv["type"], pv["elements"]
        found = []
        if (self.ca.ca_field_type(channel), self.ca.ca_element_count(channel)) != (native, len(elements)):
            found.append(f"{pv['name']}: another type or count")
        if (self.ca.ca_read_access(channel), self.ca.ca_write_access(channel)) != (1, 0):
            found.append(f"{pv['name']}: other rights than to read")
        for data_type in [*range(35), STSACK_STRING, CLASS_NAME]:
            buffer = c.create_string_buffer(500 + 48 * len(elements))
            self.ca.ca_array_get(data_type, len(elements) if data_type != CLASS_NAME else 1, channel, buffer)
            if self.ca.ca_pend_io(10.0) != NORMAL:
                found.append(f"{pv['name']}: type {data_type} cannot be read")
                continue
            found += [f"{pv['name']} as {data_type}: {words}" for words in differences(buffer.raw, data_type, pv)]
        return found

    def subscribe(self, name: str, native: int, count: int) -> None:
        def take(args: EventArgs) -> None:
            raw = c.string_at(args.dbr, OFFSETS[2][native] + struct.calcsize(CODES[native]))
            seconds, nanos = struct.unpack_from("II", raw, 4)
            (value,) = struct.unpack_from(CODES[native], raw, OFFSETS[2][native])
            self.heard[name].append((seconds, nanos, float(text(value) if native == STRING else value)))

        self.callbacks.append(EventHandler(take))
        channel = self.channels[name]
        self.ca.ca_create_subscription(14 + native, count, channel, 1 | 4, self.callbacks[-1], None, None)


def differences(raw: bytes, data_type: int, pv: dict[str, Any]) -> list[str]:
    if data_type == CLASS_NAME:
        return [] if text(raw[:40]) == "simulated" else [f"class {raw[:40]!r}"]
    native, elements = pv["type"], pv["elements"]
    kind, field = (1, STRING) if data_type == STSACK_STRING else divmod(data_type, 7)
    offset = 8 if data_type == STSACK_STRING else OFFSETS[kind][field]
    found = []
    if kind > 0 and struct.unpack_from("hh", raw, 0) != (4, 1):
        found.append(f"alarm {struct.unpack_from('hh', raw, 0)}")
    if kind == 2 and struct.unpack_from("II", raw, 4) != (1_700_000_000 - EPICS_EPOCH + 7, 123_456_789):
        found.append(f"stamp {struct.unpack_from('II', raw, 4)}")
    if kind > 2:
        found += limits(raw, kind, field)
    seen = struct.unpack_from("=" + CODES[field] * len(elements), raw, offset)
    for element, value in zip(elements, seen, strict=True):
        wanted = expected(element, native, field)
        shown = text(value) if field == STRING else value
        if shown != wanted:
            return [*found, f"element {shown!r}, not {wanted!r}"]
    return found


def main() -> int:
    try:
        import epicscorelibs  # noqa: F401
    except ImportError as missing:
        print(missing)
        return 77
    order = json.load(sys.stdin)
    os.environ |= {"EPICS_CA_ADDR_LIST": "127.0.0.1", "EPICS_CA_AUTO_ADDR_LIST": "NO"}
    os.environ |= {"EPICS_CA_SERVER_PORT": str(order["port"]), "EPICS_CA_REPEATER_PORT": str(order["repeater"])}
    pvs = order["pvs"]
    referee = Referee(pvs)
    found = [words for pv in pvs for words in referee.check(pv)]
    for pv in pvs:
        referee.subscribe(pv["name"], pv["type"], len(pv["elements"]))
    end = time.monotonic() + 20
    while time.monotonic() < end and any(len(heard) < 1 + order["updates"] for heard in referee.heard.values()):
        referee.ca.ca_pend_event(0.02)
    for name, heard in referee.heard.items():
        seconds = [second for second, _, _ in heard]
        if seconds != list(range(seconds[0], seconds[0] + 1 + order["updates"])):
            found.append(f"{name}: updates {seconds}")
    print("\n".join([*found, f"{len(pvs)} PVs, {len(found)} differences"]))
    sys.stdout.flush()
    os._exit(1 if found else 0)  # libca's own end would wait for the server


if __name__ == "__main__":
    sys.exit(main())
