"""Reads the PVs of a server with p4p, the reference client, and prints each as a line of JSON.

pva_referee.py ADDRESS_LIST get NAME…       the value of each
pva_referee.py ADDRESS_LIST type NAME…      the id of each
pva_referee.py ADDRESS_LIST count NAME OPTIONS SECONDS-MAX LAST
                                            all values of a counter until LAST, one at a time, after "ready"
It exits with 77 if p4p is not installed.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

try:
    import numpy as np
    from p4p import Value
    from p4p.client.thread import Context
except ImportError as error:
    print(error)
    sys.exit(77)


def plain(value: Any) -> Any:
    """What JSON can say of it; a union is the member that it has."""
    if isinstance(value, Value):
        return {name: plain(value[name]) for name in value.keys()}
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value.tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def say(what: Any) -> None:
    """Prints one line at once."""
    print(json.dumps(what, separators=(",", ":")), flush=True)


def count(context: Context, name: str, options: str, seconds: float, last: int) -> None:
    """Prints all values of a counter until the last; begins to read slowly."""
    seen: list[int] = []
    done = threading.Event()

    def receive(value: Value) -> None:
        if not seen:
            say("ready")
            time.sleep(1.0)
        seen.append(int(value["value"]))
        if seen[-1] >= last:
            done.set()

    subscription = context.monitor(name, receive, request=options)
    if not done.wait(seconds):
        print(f"{name}: {len(seen)} values until {seen[-1:]} in {seconds} s", file=sys.stderr)
    say(seen)
    subscription.close()


def main() -> None:
    """Does what the command line says."""
    addresses, command, *names = sys.argv[1:]
    conf = {"EPICS_PVA_ADDR_LIST": addresses, "EPICS_PVA_AUTO_ADDR_LIST": "NO", "EPICS_PVA_BROADCAST_PORT": "1"}
    with Context("pva", conf=conf, nt=False, useenv=False) as context:
        if command == "count":
            count(context, names[0], names[1], float(names[2]), int(names[3]))
            return
        for name in names:
            value = context.get(name, timeout=20)
            say(plain(value) if command == "get" else value.getID())


main()
