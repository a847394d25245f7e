"""A pvAccess server whose clock is the test's: each line of its input is a PV, a stamp and a value to post."""

import sys

from p4p import Value
from p4p.nt import NTScalar
from p4p.server import Server
from p4p.server.thread import SharedPV

TYPE = NTScalar.buildType("d")
PVS = {name: SharedPV(initial=Value(TYPE, {"value": -1.0})) for name in ("K:leap", "K:wrong", "K:day")}


def main() -> None:
    with Server(providers=[PVS]):
        print("ready", flush=True)
        for line in sys.stdin:
            name, seconds, nanos, value = line.split()
            stamp = {"secondsPastEpoch": int(seconds), "nanoseconds": int(nanos)}
            PVS[name].post(Value(TYPE, {"value": float(value), "timeStamp": stamp}))


main()
