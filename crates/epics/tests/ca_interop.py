"""Compares this crate with libca, the reference client, on one real IOC: each value, stamp, alarm, limit and label.

ca_interop.py CAMONITOR starts an IOC on loopback ports of its own, lets libca and the camonitor example subscribe to
the same PVs, and prints every difference. It exits with 1 if there are any, with 77 if the EPICS libraries are not
installed.
"""

from __future__ import annotations

import ctypes as c
import json
import math
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

DATABASE = Path(__file__).with_suffix(".db")
SECONDS = 5.0
NORMAL = 1
EPICS_EPOCH = 631_152_000

STRING, SHORT, FLOAT, ENUM, CHAR, LONG, DOUBLE = range(7)
NAMES = ["string", "i16", "f32", "enum", "u8", "i32", "f64"]
ELEMENTS = [c.c_char * 40, c.c_int16, c.c_float, c.c_uint16, c.c_uint8, c.c_int32, c.c_double]
TIME_OFFSETS = [12, 14, 12, 14, 15, 12, 16]
TIME, CTRL = 14, 28
ARCHIVE, ALARM = 2, 4


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


def free_ports(count: int) -> list[int]:
    """Ports that were free for TCP and UDP a moment ago."""
    sockets, ports = [], []
    while len(ports) < count:
        tcp, udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        sockets += [tcp, udp]
        tcp.bind(("127.0.0.1", 0))
        port = tcp.getsockname()[1]
        try:
            udp.bind(("127.0.0.1", port))
        except OSError:
            continue
        ports.append(port)
    for each in sockets:
        each.close()
    return ports


def private_environment() -> dict[str, str]:
    ca, repeater, pva, broadcast = map(str, free_ports(4))
    lists = ["CA_ADDR_LIST", "CAS_INTF_ADDR_LIST", "CAS_BEACON_ADDR_LIST"]
    lists += ["PVA_ADDR_LIST", "PVAS_INTF_ADDR_LIST", "PVAS_BEACON_ADDR_LIST"]
    switches = ["CA_AUTO_ADDR_LIST", "CAS_AUTO_BEACON_ADDR_LIST", "PVA_AUTO_ADDR_LIST", "PVAS_AUTO_BEACON_ADDR_LIST"]
    values = {f"EPICS_{name}": "127.0.0.1" for name in lists} | {f"EPICS_{name}": "NO" for name in switches}
    values |= {"EPICS_CA_SERVER_PORT": ca, "EPICS_CA_REPEATER_PORT": repeater}
    values |= {"EPICS_PVAS_SERVER_PORT": pva, "EPICS_PVAS_BROADCAST_PORT": broadcast}
    return values | {"EPICS_PVA_SERVER_PORT": pva, "EPICS_PVA_BROADCAST_PORT": broadcast}


def text(raw: bytes) -> str:
    raw = raw.split(b"\0")[0]
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def number(value: float) -> float | str:
    value = float(value)
    return value if math.isfinite(value) else {"nan": "NaN"}.get(str(value), str(value))


class Referee:
    """The same PVs as libca sees them."""

    def __init__(self, names: list[str]) -> None:
        from epicscorelibs.ca.cadef import libca  # reads the environment, so not before it is set

        self.libca = libca
        libca.ca_field_type.restype = c.c_short
        libca.ca_element_count.restype = c.c_ulong
        libca.ca_field_type.argtypes = libca.ca_element_count.argtypes = [c.c_void_p]
        libca.ca_create_channel.argtypes = [c.c_char_p, c.c_void_p, c.c_void_p, c.c_uint, c.c_void_p]
        libca.ca_array_get.argtypes = [c.c_long, c.c_ulong, c.c_void_p, c.c_void_p]
        libca.ca_create_subscription.argtypes = [c.c_long, c.c_ulong, c.c_void_p, c.c_long, EventHandler]
        libca.ca_create_subscription.argtypes += [c.c_void_p, c.c_void_p]
        libca.ca_pend_io.argtypes = libca.ca_pend_event.argtypes = [c.c_double]
        self.readings: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        self.descriptions: dict[str, dict[str, Any]] = {}
        self.callbacks: list[Any] = []  # libca calls them for as long as it lives
        channels = {name: c.c_void_p() for name in names}
        libca.ca_context_create(1)
        for name, channel in channels.items():
            libca.ca_create_channel(name.encode(), None, None, 0, c.byref(channel))
        if libca.ca_pend_io(20.0) != NORMAL:
            raise SystemExit("libca could not connect")
        for name, channel in channels.items():
            self.subscribe(name, channel)

    def subscribe(self, name: str, channel: c.c_void_p) -> None:
        field, count = self.libca.ca_field_type(channel), self.libca.ca_element_count(channel)
        is_text = name.endswith("$")
        limits = c.create_string_buffer(500)
        self.libca.ca_array_get(CTRL + field, 1, channel, limits)
        if self.libca.ca_pend_io(10.0) != NORMAL:
            raise SystemExit(f"libca could not read the limits of {name}")
        self.descriptions[name] = describe(limits.raw, field, count, is_text)

        def take(args: EventArgs) -> None:
            raw = c.string_at(args.dbr, TIME_OFFSETS[field] + c.sizeof(ELEMENTS[field]) * args.count)
            self.readings[name].append(read(raw, field, args.count, count != 1, is_text))

        self.callbacks.append(EventHandler(take))
        self.libca.ca_create_subscription(TIME + field, 0, channel, ARCHIVE | ALARM, self.callbacks[-1], None, None)

    def listen(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.libca.ca_pend_event(0.05)


def read(raw: bytes, field: int, count: int, is_array: bool, is_text: bool) -> dict[str, Any]:
    status, severity = (c.c_int16 * 2).from_buffer_copy(raw, 0)
    seconds, nanos = (c.c_uint32 * 2).from_buffer_copy(raw, 4)
    offset, kind = TIME_OFFSETS[field], NAMES[field]
    value: Any
    if is_text:
        kind, value = "string", text(raw[offset : offset + count])
    else:
        value = [element(each, field) for each in (ELEMENTS[field] * count).from_buffer_copy(raw, offset)]
        kind, value = (kind + "[]", value) if is_array else (kind, value[0])
    stamp = {"seconds": seconds + EPICS_EPOCH, "nanos": nanos}
    return {"type": kind, "value": value, "severity": severity, "status": status} | stamp


def element(value: Any, field: int) -> Any:
    if field == STRING:
        return text(value.raw)
    return number(value) if field in (FLOAT, DOUBLE) else value


def describe(raw: bytes, field: int, count: int, is_text: bool) -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(["units", "precision", "display", "control", "warning", "alarm"])
    found |= {"count": 1 if is_text else count, "labels": []}
    if field == ENUM:
        labels = c.c_int16.from_buffer_copy(raw, 4).value
        found["labels"] = [text(raw[6 + 26 * i : 32 + 26 * i]) for i in range(labels)]
    elif field != STRING and not is_text:
        offset = 4
        if field in (FLOAT, DOUBLE):
            offset, found["precision"] = 8, c.c_int16.from_buffer_copy(raw, 4).value
        found["units"] = text(raw[offset : offset + 8])
        limits = map(number, (ELEMENTS[field] * 8).from_buffer_copy(raw, offset + 8))
        display1, display0, alarm1, warning1, warning0, alarm0, control1, control0 = limits
        found |= {"display": [display0, display1], "control": [control0, control1]}
        found |= {"warning": [warning0, warning1], "alarm": [alarm0, alarm1]}
    return found


def differences(name: str, ours: list[dict[str, Any]], referee: Referee) -> list[str]:
    if not ours:
        return [f"{name}: nothing came"]
    found = []
    for key, expected in referee.descriptions[name].items():
        if ours[-1].get(key) != expected:
            found.append(f"{name}: {key} is {ours[-1].get(key)!r}, by libca {expected!r}")
    theirs = {(line["seconds"], line["nanos"]): line for line in referee.readings[name]}
    common = [line for line in ours if (line["seconds"], line["nanos"]) in theirs]
    for line in common:
        expected = theirs[line["seconds"], line["nanos"]]
        found += [
            f"{name}: {key} is {line[key]!r}, by libca {expected[key]!r}"
            for key in expected
            if line[key] != expected[key]
        ]
    least = 8 * SECONDS if name == "CA:calc" else 1  # it counts at 10 Hz
    if len(common) < least:
        found.append(f"{name}: only {len(common)} updates have the stamps of libca's {len(theirs)}")
    return found


def main(camonitor: str) -> int:
    try:
        import epicscorelibs  # noqa: F401
        import pvxslibs  # noqa: F401
    except ImportError as missing:
        print(missing)
        return 77
    os.environ |= private_environment()
    names = [line.split('"')[1] for line in DATABASE.read_text().splitlines() if line.startswith("record")]
    names += ["CA:lsi.VAL$", "CA:ai.DESC$", "CA:ai.HIHI", "CA:ai.SEVR", "CA:ai.SCAN", "CA:ai.NAME"]
    command = [sys.executable, "-m", "pvxslibs.ioc", "-d", str(DATABASE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as ioc:
        try:
            referee = Referee(names)
            command = [camonitor, "--json", "--wait", str(SECONDS), *names]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as monitor:
                referee.listen(SECONDS + 1)
                lines = [json.loads(line) for line in monitor.communicate()[0].splitlines()]
        finally:
            ioc.kill()
    found = []
    for name in names:
        found += differences(name, [line for line in lines if line["name"] == name], referee)
    print("\n".join([*found, f"{len(names)} PVs, {len(lines)} updates, {len(found)} differences"]))
    sys.stdout.flush()
    os._exit(1 if found else 0)  # libca's own end would complain of the IOC that is gone


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
