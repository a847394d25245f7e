"""SIGTERM loses nothing: every sample that had arrived is there after the next start."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from archiver import Pvark
from ioc import Ioc
from waiting import wait_for

NAMES = [f"S:{i}" for i in range(500)]
COUNTERS = "".join(f'record(calc, "{name}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n' for name in NAMES)


def test_sigterm_loses_nothing(start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]) -> None:
    server = start_pvark(start_ioc(COUNTERS))
    server.archive.add(*(f"ca://{name}" for name in NAMES[:250]), *(f"pva://{name}" for name in NAMES[250:]))
    wait_for("samples of all", lambda: all(len(server.archive.get(pv)) > 10 for pv in (NAMES[0], NAMES[-1])))
    newest = {pv: server.archive.get(pv).values[-1] for pv in NAMES}
    stopping = np.datetime64(time.time_ns(), "ns")
    assert server.terminate() == 0
    stopped = np.datetime64(time.time_ns(), "ns")
    server.start()
    (stop,) = [gap for gap in server.archive.gaps(NAMES[0]) if gap.cause == "archiver_stopped"]
    assert stop.scope == "archiver"
    assert stopping - np.timedelta64(1, "s") <= stop.start <= stopped + np.timedelta64(1, "s")
    for pv in NAMES:
        samples = server.archive.get(pv, "2000-01-01T00:00:00Z", stop.start)  # the IOC goes on while the archiver stops
        assert samples.values[-1] >= newest[pv], pv
        assert np.all(np.diff(samples.values) == 1), pv
        assert samples.times[-1] > stopping - np.timedelta64(500, "ms"), pv
