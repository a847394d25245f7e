"""Prints every update of the PVs that are named, as libca hands them over: one JSON list a line."""

import json
import sys
import threading
import time
from typing import Any

import numpy as np
from epics import ca, dbr

PRINTING = threading.Lock()


def print_line(told: Any) -> None:
    """Whole, whichever thread comes with it."""
    with PRINTING:
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


def watch(name: str) -> list[Any]:
    """Subscribes once; libca subscribes anew whenever the channel comes back."""
    channel = ca.create_channel(name)
    if not ca.connect_channel(channel, timeout=20):
        raise SystemExit(f"{name} does not connect")

    def on_update(value: Any, posixseconds: int, nanoseconds: int, severity: int, status: int, **_more: Any) -> None:
        plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        line = [name, int(posixseconds), int(nanoseconds), int(severity), int(status), plain]
        print_line(line)

    mask = dbr.DBE_LOG | dbr.DBE_ALARM
    return [ca.create_subscription(channel, use_time=True, mask=mask, callback=on_update)]


kept = [watch(name) for name in sys.argv[1:]]
print_line("ready")
while True:
    time.sleep(1)
