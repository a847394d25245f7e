"""Prints every update of the PVs that are named, as p4p hands them over: one JSON list a line."""

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from p4p.client.thread import Context

REQUEST = "record[queueSize=1000]field()"
PRINTING = threading.Lock()


def print_line(told: Any) -> None:
    """Whole, whichever thread comes with it."""
    with PRINTING:
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


def printer(name: str) -> Callable[[Any], None]:
    """What prints the updates of one PV. A lost connection comes as an exception, and says nothing here."""

    def on_update(update: Any) -> None:
        if isinstance(update, Exception):
            return
        value = update.value.index if update.getID().startswith("epics:nt/NTEnum") else update.value
        stamp, alarm = update.timeStamp, update.alarm
        plain = value.tolist() if hasattr(value, "tolist") else value
        line = [name, stamp.secondsPastEpoch, stamp.nanoseconds, alarm.severity, alarm.status, plain]
        print_line(line)

    return on_update


context = Context("pva", nt=False)
kept = [context.monitor(name, printer(name), request=REQUEST, notify_disconnect=True) for name in sys.argv[1:]]
print_line("ready")
while True:
    time.sleep(1)
