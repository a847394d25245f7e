"""kill -9 under load: what was reported as durable is there afterwards, nothing is invented, and losses have a place.

2,000 counters count up ten times a second each. Lost samples show as steps other than one, invented ones as values that
an independent client, which listens all the time, never saw with that stamp. PVARK_KILL_CYCLES sets how often
(default 5, `make crash` 20), PVARK_KILL_SEED repeats the moments of an earlier run. The store alone is killed far more
often by kill_loop.py.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kill_loop
import numpy as np
import pvark
import pytest
from archiver import Pvark
from ioc import Ioc
from referees import pva_context
from waiting import wait_for

COUNT = 2000
CYCLES = int(os.environ.get("PVARK_KILL_CYCLES", "5"))
SEED = int(os.environ.get("PVARK_KILL_SEED", str(time.time_ns() % 1_000_000)))
NAMES = [f"K:{i:04}" for i in range(COUNT)]
COUNTERS = "".join(f'record(calc, "{name}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n' for name in NAMES)
OBSERVED = NAMES[:: COUNT // 20]
LONG_AGO = "2000-01-01T00:00:00Z"


class Witness:
    """An independent pvAccess client that remembers every (stamp, value) of some of the counters."""

    def __init__(self, context: Any) -> None:
        self.seen: dict[str, dict[int, float]] = defaultdict(dict)
        self.subscriptions = [
            context.monitor(pv, self._saw(pv), request="record[queueSize=100]field(value,timeStamp)") for pv in OBSERVED
        ]

    def _saw(self, pv: str) -> Callable[[Any], None]:
        def saw(update: Any) -> None:
            stamp = update.timeStamp
            self.seen[pv][stamp.secondsPastEpoch * 1_000_000_000 + stamp.nanoseconds] = update.value

        return saw

    def newest(self, pv: str) -> float:
        return max(dict(self.seen[pv]).values(), default=0)


class Durability:
    """Asks all the time how much is durable and keeps the last answer that was given."""

    def __init__(self, archive: pvark.Archiver) -> None:
        self.archive = archive
        self.promised = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._ask)
        self.thread.start()

    def _ask(self) -> None:
        while not self.ended.wait(0.05):
            try:
                self.promised = self.archive.status().durable
            except pvark.PvarkError:
                return

    def last(self) -> int:
        self.ended.set()
        self.thread.join()
        return self.promised


@pytest.mark.skipif(not kill_loop.victim().exists(), reason="`cargo build --release -p store --example victim` first")
def test_a_store_survives_being_killed_at_any_moment(tmp_path: Path) -> None:
    state = kill_loop.run(tmp_path, 40, SEED)
    assert state.cycle == 40 and state.durable > 0


@pytest.fixture
def witness(start_ioc: Callable[[str], Ioc]) -> Iterator[tuple[Ioc, Witness]]:
    ioc = start_ioc(COUNTERS)
    with pva_context(ioc) as context:
        yield ioc, Witness(context)


@pytest.mark.timeout(60 + 45 * CYCLES)
def test_what_was_durable_survives_kill_9_and_nothing_is_invented(tmp_path: Path, witness: tuple[Ioc, Witness]) -> None:
    ioc, observer = witness
    print(f"PVARK_KILL_SEED={SEED}")
    moments = random.Random(SEED)
    server = Pvark(tmp_path, [ioc]).start()
    kills: list[np.datetime64] = []
    try:
        assert set(server.archive.add(*(f"ca://{name}" for name in NAMES)).values()) == {"added"}
        for _cycle in range(CYCLES):
            promised = record_and_kill(server, moments.uniform(1.5, 5))
            kills.append(np.datetime64(time.time_ns(), "ns"))
            let_counters_move(observer)
            restarted = np.datetime64(time.time_ns(), "ns")
            server.start()
            verify(server.archive, observer, kills, restarted, promised)
            wait_for("all PVs to connect again", lambda: server.archive.status().pvs["connected"] == COUNT, 30)
    finally:
        server.kill()


def record_and_kill(server: Pvark, seconds: float) -> int:
    """Records under full load, kills, and gives the last promise that was made before."""
    wait_for("all PVs to connect", lambda: server.archive.status().pvs["connected"] == COUNT, 30)
    durability = Durability(server.archive)
    time.sleep(seconds)  # the load itself, not a hope that something happens meanwhile
    server.kill()
    return durability.last()


def let_counters_move(observer: Witness) -> None:
    """So that the first value after the restart is a new one, not a repeat of the last before the kill."""
    marks = {pv: observer.newest(pv) for pv in OBSERVED}
    wait_for("the counters to move", lambda: all(observer.newest(pv) > marks[pv] + 2 for pv in OBSERVED))


def verify(
    archive: pvark.Archiver, observer: Witness, kills: list[np.datetime64], restarted: np.datetime64, promised: int
) -> None:
    """Reads everything that was recorded before the restart, while new samples come in."""
    total = 0
    for pv in NAMES:
        samples = archive.get(pv, LONG_AGO, restarted)
        total += len(samples)
        steps = np.diff(samples.values)
        assert np.all(steps > 0), f"{pv} repeats or goes back"
        assert np.all(np.diff(samples.times) > np.timedelta64(0)), f"{pv} has two values for one stamp"
        for jump in np.flatnonzero(steps != 1):
            across = [kill for kill in kills if samples.times[jump] <= kill <= samples.times[jump + 1]]
            assert across, f"{pv} jumps by {steps[jump]} at {samples.times[jump]}, and no kill is near"
        if pv in observer.seen:
            seen = dict(observer.seen[pv])
            recorded = zip(samples.times.astype(np.int64).tolist(), samples.values.tolist(), strict=True)
            invented = [pair for pair in recorded if pair[0] >= min(seen) and seen.get(pair[0]) != pair[1]]
            assert not invented, f"{pv} holds what the IOC never sent: {invented[:3]}"
    assert total >= promised, f"{promised} samples were durable, {total} are there"
    assert promised > 0, "nothing was ever reported as durable"
    stops = [gap for gap in archive.gaps(NAMES[0], LONG_AGO) if gap.cause == "archiver_stopped"]
    for kill in kills:
        assert any(gap.start <= kill and gap.end is not None and gap.end >= kill for gap in stops), (kill, stops)
