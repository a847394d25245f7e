"""A pvAccess server whose PVs are structures with a number and a waveform, posted ten times a second."""

import time

import numpy as np
from p4p import Type, Value
from p4p.server import Server
from p4p.server.thread import SharedPV

ALARM = ("S", "alarm_t", [("severity", "i"), ("status", "i"), ("message", "s")])
STAMP = ("S", "time_t", [("secondsPastEpoch", "l"), ("nanoseconds", "i"), ("userTag", "i")])
TYPE = Type([("value", ("S", None, [("rms", "d"), ("wave", "ad")])), ("alarm", ALARM), ("timeStamp", STAMP)], "wave_t")
NAMES = ("W:one", "W:two", "W:three")


def wave(count: int) -> Value:
    """The next one, with noise that cannot be packed."""
    seconds, nanos = divmod(time.time_ns(), 1_000_000_000)
    noise = np.random.default_rng(count).random(500)
    return Value(
        TYPE,
        {
            "value": {"rms": float(count), "wave": noise},
            "alarm": {"severity": count % 3, "message": "hot" if count % 3 else ""},
            "timeStamp": {"secondsPastEpoch": seconds, "nanoseconds": nanos},
        },
    )


def main() -> None:
    pvs = {name: SharedPV(initial=wave(0)) for name in NAMES}
    with Server(providers=[pvs]):
        print("ready", flush=True)
        count = 0
        while True:
            time.sleep(0.1)
            count += 1
            for pv in pvs.values():
                pv.post(wave(count))


main()
