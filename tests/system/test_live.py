"""Live PVs of real IOCs: what was recorded is, update by update, what libca and p4p were handed."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archiver import Pvark, clean_environment
from ioc import Ioc
from waiting import wait_for

DATABASE = Path(__file__).parent / "live.db"
WATCHERS = Path(__file__).parent / "watchers"
PVS = [name for name in re.findall(r'^record\((?!fanout)\w+, "([^"]+)"', DATABASE.read_text(), re.M)]
UPDATES = 30

# Seconds, nanoseconds, severity, status, value.
Update = tuple[int, int, int, int, Any]


class Watcher:
    """A client of others in a process of its own."""

    def __init__(self, path: Path, process: subprocess.Popen[bytes]) -> None:
        self.path = path
        self.process = process

    def updates(self) -> dict[str, list[Update]]:
        """What it was handed up to now, by PV."""
        found: dict[str, list[Update]] = {pv: [] for pv in PVS}
        text = self.path.read_text()
        for line in text[: text.rfind("\n") + 1].splitlines():
            told = json.loads(line)
            if told != "ready":
                found[told[0]].append(tuple(told[1:]))
        return found


@contextmanager
def watching(folder: Path, ioc: Ioc, program: str) -> Iterator[Watcher]:
    path = folder / f"{program}.jsonl"
    command = [sys.executable, str(WATCHERS / program), *PVS]
    environment = clean_environment() | {"PATH": os.environ["PATH"]} | ioc.environment()
    with path.open("wb") as out, subprocess.Popen(command, env=environment, stdout=out) as process:
        watcher = Watcher(path, process)
        try:
            wait_for(f"{program} to be ready", lambda: '"ready"' in path.read_text())
            yield watcher
        finally:
            process.kill()


def recorded(server: Pvark, pv: str) -> list[Update]:
    """All samples with a stamp of the present."""
    path = f"/api/v1/pvs/{pv}/samples?from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z"
    found: list[Update] = []
    for chunk in server.json(path)["chunks"]:
        columns = (chunk[name] for name in ("seconds", "nanos", "severity", "status", "values"))
        for seconds, nanos, severity, status, value in zip(*columns, strict=True):
            found.append((seconds, nanos, severity, status, from_json(chunk["type"], value)))
    return found


def from_json(type_name: str, value: Any) -> Any:
    """As the others have it: JSON has floats of 32 bits as short as tells them apart, and texts for NaN."""
    if isinstance(value, list):
        return [from_json(type_name.removesuffix("[]"), element) for element in value]
    if type_name == "f32":
        return float(np.float32(value))
    if type_name == "f64":
        return float(value)
    return int(value) if type_name in ("i64", "u64") else value


def between(updates: list[Update], first: Update, last: Update) -> list[str]:
    """Those stamped after the one and up to the other, as texts, in which NaN is equal to itself."""
    return [json.dumps(update) for update in updates if first[:2] < update[:2] <= last[:2]]


def of_life(updates: list[Update], begin: float, end: float) -> list[Update]:
    """What an IOC stamped while it lived. Records that were not processed yet have a stamp of 1990."""
    return [update for update in updates if begin <= update[0] + update[1] / 1e9 <= end]


@pytest.mark.parametrize(("protocol", "program"), [("ca", "libca.py"), ("pva", "p4p_monitors.py")])
def test_what_was_recorded_is_what_the_reference_client_was_handed(tmp_path: Path, protocol: str, program: str) -> None:
    ioc = Ioc.of_records(tmp_path, DATABASE)
    server = Pvark(tmp_path, [ioc])
    lives = []
    try:
        started = time.time()
        ioc.start()
        server.start().archive.add(*(f"{protocol}://{pv}" for pv in PVS))
        with watching(tmp_path, ioc, program) as watcher:
            for life in (1, 2):
                if life == 2:
                    started = time.time()
                    ioc.start()

                def have(life_began: float = started) -> bool:
                    handed = watcher.updates()
                    return all(
                        len(of_life(updates, life_began, math.inf)) >= UPDATES
                        for pv in PVS
                        for updates in (handed[pv], recorded(server, pv))
                    )

                wait_for("updates of all PVs", have, 60)
                ioc.kill()
                lives.append((started, time.time()))
            handed = watcher.updates()
        for pv in PVS:
            for began, ended in lives:
                theirs, ours = of_life(handed[pv], began, ended), of_life(recorded(server, pv), began, ended)
                # What is handed over first is the present value, which nobody else need have been told: the record
                # posts none where NaN follows on NaN. What was on its way at the end may have come to one of them only.
                first, last = max(theirs[0], ours[0], key=stamp), min(theirs[-1], ours[-1], key=stamp)
                assert between(ours, first, last) == between(theirs, first, last), pv
                assert len(between(ours, first, last)) >= UPDATES // 2, pv
    finally:
        server.kill()
        ioc.kill()


def stamp(update: Update) -> tuple[int, int]:
    """Seconds and nanoseconds."""
    return update[:2]
