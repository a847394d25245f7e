"""Fields of structures in a running archiver: kept for less long than the rest, or not recorded at all."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archiver import Pvark, run_program
from ioc import Ioc
from test_policies import add, details
from waiting import wait_for

ALWAYS = "2000-01-01T00:00:00Z"
EVER = "2100-01-01T00:00:00Z"
DAY = 86_400
WAVE_BYTES = 500 * 8

# The program reads the clock of the machine, and nothing that it records is a week old before a week has passed.
CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, at);
    const char *ahead = getenv("CLOCK_AHEAD");
    if (clock == CLOCK_REALTIME && ahead) at->tv_sec += atol(ahead);
    return result;
}
"""


class Weeks:
    """An archiver of waveforms that can be started when some days have passed."""

    def __init__(self, folder: Path) -> None:
        self.ioc = Ioc.of_script(folder, "p4p_waves.py")
        self.server = Pvark(folder, [self.ioc])
        self.config = self.server.config_path.read_text()
        self.library = folder / "clock.so"
        source = folder / "clock.c"
        source.write_text(CLOCK)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.library, source, "-ldl"], check=True, timeout=60)

    def start(self, days: int, more: str = "") -> Pvark:
        self.server.config_path.write_text(self.config + more)
        self.server.environment = {"LD_PRELOAD": str(self.library), "CLOCK_AHEAD": str(days * DAY)}
        return self.server.start()

    def bytes(self) -> int:
        """Of all segments."""
        return sum(path.stat().st_size for path in self.server.data.glob("*/*.seg"))


@pytest.fixture
def weeks(tmp_path: Path) -> Iterator[Weeks]:
    weeks = Weeks(tmp_path)
    try:
        weeks.ioc.start()
        yield weeks
    finally:
        weeks.server.kill()
        weeks.ioc.kill()


def values(server: Pvark, pv: str) -> list[Any]:
    samples = server.json(f"/api/v1/pvs/{pv}/samples?from={ALWAYS}&to={EVER}")
    return [value for chunk in samples["chunks"] for value in chunk["values"]]


def sealed(server: Pvark) -> bool:
    """Whether all weeks but the one that goes on are over, and their files too."""
    status: dict[str, Any] = server.json("/api/v1/status")
    weeks = status["store"]["weeks"]
    return bool(weeks) and weeks[0]["state"] == "sealed"


def test_a_waveform_goes_after_its_week_and_its_number_stays(weeks: Weeks) -> None:
    server = weeks.start(0)
    add(server, name="pva://W:one")
    wait_for("some waveforms", lambda: len(values(server, "W:one.value.wave")) >= 50)
    assert server.terminate() == 0
    weeks.ioc.kill()
    weeks.start(9)
    wait_for("the week to be sealed", lambda: sealed(server))
    numbers, alarms = values(server, "W:one.value.rms"), values(server, "W:one.alarm.severity")
    waves = len(values(server, "W:one.value.wave"))
    assert waves == len(numbers) >= 50
    assert server.terminate() == 0
    whole = weeks.bytes()

    rules = '{ pvs = "W:*.value.wave", keep = "1d" }, { pvs = "W:*", keep = "forever" }'
    weeks.start(20, f"[retention]\nrules = [{rules}]\n")
    wait_for("the waveforms to go", lambda: values(server, "W:one.value.wave") == [])
    assert values(server, "W:one.value.rms") == numbers and values(server, "W:one.alarm.severity") == alarms
    assert details(server, "W:one")["extent"]["samples"] == waves
    wait_for("their room to be free", lambda: weeks.bytes() < whole - waves * WAVE_BYTES * 0.8)
    lines = [line for line in server.json("/api/v1/audit")["audit"] if line["action"] == "expired"]
    assert len(lines) == 1 and lines[0]["detail"].endswith(", the fields W:one.value.wave"), lines
    assert lines[0]["bytes"] == whole - weeks.bytes() and lines[0]["samples"] == 0
    gaps = server.json(f"/api/v1/pvs/W:one.value.wave/gaps?from={ALWAYS}&to={EVER}")["gaps"]
    (expired,) = [gap for gap in gaps if gap["cause"] == "expired"]
    assert expired["lost"] == waves and expired["to_seconds"] > expired["from_seconds"]
    whole_gaps = server.json(f"/api/v1/pvs/W:one/gaps?from={ALWAYS}&to={EVER}")["gaps"]
    assert all(gap["cause"] != "expired" for gap in whole_gaps), "the samples themselves are all there"
    reasons = server.json(f"/api/v1/pvs/W:one/explain?from={ALWAYS}&to={EVER}")["reasons"]
    assert any(reason["kind"] == "expired" and "value.wave" in reason["text"] for reason in reasons), reasons
    refused = server.request("DELETE", f"/api/v1/pvs/W:one.value.rms/samples?from={ALWAYS}&to={EVER}")
    assert refused[0] == 400 and b"only be deleted whole" in refused[2], refused
    assert server.json("/api/v1/status")["problems"] == []
    assert server.terminate() == 0
    check = run_program("check", "--data", server.data)
    assert check.returncode == 0, check.stdout + check.stderr

    weeks.start(30)  # without the rules nothing comes back, and what went is still told
    assert values(server, "W:one.value.wave") == [] and values(server, "W:one.value.rms") == numbers
    again = server.json(f"/api/v1/pvs/W:one.value.wave/gaps?from={ALWAYS}&to={EVER}")["gaps"]
    assert expired in again


def test_only_the_named_fields_are_recorded_and_what_is_not_there_is_told(weeks: Weeks) -> None:
    policy = '[[policy]]\nname = "numbers"\nmatch = "W:one"\nonly = ["value.rms", "value.rmz"]\n'
    server = weeks.start(0, policy)
    add(server, name="pva://W:one")
    add(server, name="pva://W:two", only=["value"])
    add(server, name="pva://W:three")
    for pv in ("W:one", "W:two", "W:three"):
        wait_for("samples", lambda pv=pv: len(values(server, f"{pv}.value.rms")) >= 5)  # type: ignore[misc]
    one = details(server, "W:one")
    stamp = [f"timeStamp.{name}" for name in ("secondsPastEpoch", "nanoseconds", "userTag")]
    company = [*(f"alarm.{name}" for name in ("severity", "status", "message")), *stamp]
    assert [field["name"] for field in one["fields"]] == ["value.rms", *company]
    assert one["lacking"] == ["value.rmz"] and one["sampling"]["only"] == ["value.rms", "value.rmz"]
    assert set(values(server, "W:one.alarm.severity")) <= {0, 1, 2}
    two = details(server, "W:two")
    assert two["lacking"] == [] and len(two["fields"]) == 8 and details(server, "W:three")["sampling"]["only"] == []
    add(server, name="pva://W:three", only=["value.rms"])
    wait_for("the other way to begin", lambda: len(details(server, "W:three")["fields"]) == 7)
    lines = server.json("/api/v1/audit")["audit"]
    assert any("only value.rms" in line["detail"] for line in lines if line["action"] == "changed"), lines


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ('{ pvs = "*", keep = "1y" }, { pvs = "X.value.wave", keep = "1w" }', "stands before it"),
        ('{ pvs = "X", keep = "1y" }, { pvs = "X.value.wave", keep = "1w" }', "stands before it"),
        ('{ pvs = "X.value.", keep = "1w" }', "beside one of its points"),
    ],
)
def test_a_rule_that_could_never_mean_anything_is_refused(tmp_path: Path, rules: str, reason: str) -> None:
    config = tmp_path / "pvark.toml"
    config.write_text(f"data = {json.dumps(str(tmp_path / 'data'))}\n[retention]\nrules = [{rules}]\n")
    run = run_program("run", "--config", config)
    assert run.returncode != 0 and reason in run.stdout + run.stderr, run
