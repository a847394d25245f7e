"""A pvAccess server with one PV of each type that p4p can build, each with a stamp to the nanosecond and an alarm."""

import time

import numpy as np
from p4p import Type, Value
from p4p.nt import NTEnum, NTNDArray, NTScalar, NTTable
from p4p.server import Server
from p4p.server.thread import SharedPV

SECONDS, NANOS = 1_795_000_000, 123_456_789

SCALARS = {
    "?": True,
    "b": -128,
    "B": 255,
    "h": -32768,
    "H": 65535,
    "i": -(2**31),
    "I": 2**32 - 1,
    "l": -(2**63),
    "L": 2**64 - 1,
    "f": 0.1,
    "d": -1e-300,
    "s": "a text of more than forty characters, with äöü and 漢字 in it",
}

STAMP = {"secondsPastEpoch": SECONDS, "nanoseconds": NANOS, "userTag": 42}
ALARM = {"severity": 2, "status": 3, "message": "words of the alarm"}


def stamped(value: Value) -> Value:
    """The same stamp and alarm on everything."""
    value.timeStamp = STAMP
    value.alarm = ALARM
    return value


def pvs() -> dict[str, SharedPV]:
    """One PV of each type."""
    values: dict[str, Value] = {}
    for code, number in SCALARS.items():
        name = "bool" if code == "?" else f"{code}{'u' if code.isupper() else ''}"
        scalar = NTScalar(code, display=code not in "s?", control=code not in "s?", valueAlarm=code not in "s?")
        values[f"P:{name}"] = scalar.wrap(number)
        values[f"P:{name}:array"] = NTScalar("a" + code).wrap([number, number])
    display = {"limitLow": -5, "limitHigh": 5, "units": "kV", "description": "With everything"}
    described = NTScalar("d", display=True, control=True, valueAlarm=True).wrap(1.5)
    described.display = display
    described.control = {"limitLow": -4, "limitHigh": 4}
    described.valueAlarm = {"lowAlarmLimit": -3, "lowWarningLimit": -2, "highWarningLimit": 2, "highAlarmLimit": 3}
    values["P:described"] = described
    values["P:enum"] = NTEnum().wrap({"index": 1, "choices": ["Off", "On", "Broken"]})
    table = NTTable([("name", "s"), ("value", "d")])
    values["P:table"] = table.wrap([{"name": "a", "value": 1.5}, {"name": "b", "value": -2.5}])
    values["P:image"] = NTNDArray().wrap(np.arange(12, dtype="u2").reshape(3, 4))
    inner = Type([("x", "d"), ("names", "as")], id="inner_t")
    outer = Type(
        [("count", "i"), ("inner", inner), ("either", ("U", None, [("text", "s"), ("number", "i")]))], id="odd_t"
    )
    odd = Value(outer, {"count": 3, "inner": {"x": 0.5, "names": ["p", "q"]}})
    odd.either = ("number", 7)
    values["P:odd"] = odd
    served = {}
    for name, value in values.items():
        served[name] = SharedPV(initial=value if name == "P:odd" else stamped(value))
    return served


with Server(providers=[pvs()]):
    print("ready", flush=True)
    while True:
        time.sleep(1)
