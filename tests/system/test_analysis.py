"""The questions of docs/analysis.md: each command is run, and prints what the page says that it prints."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable

import numpy as np
import pytest
from archiver import ROOT, Pvark, run_program

START = np.datetime64("2025-11-21T08:00:00", "s")
PAGE = ROOT / "docs" / "analysis.md"


def at(text: str) -> int:
    """The seconds of a time of that day since START."""
    return int((np.datetime64(f"2025-11-21T{text}", "s") - START).astype(int))


def within(second: int, begin: str, end: str) -> bool:
    return at(begin) <= second < at(end)


def lines(rows: list[tuple[int, object, int]]) -> str:
    """Seconds, value and severity of samples, as an import takes them."""
    return "".join(f"{START + second}Z,{value},{severity},0\n" for second, value, severity in rows)


@pytest.fixture
def server(start_pvark: Callable[..., Pvark]) -> Pvark:
    server = start_pvark()
    steps = range(0, 7200, 10)
    is_lost = [within(s, "08:30:00", "08:34:00") or within(s, "09:10:00", "09:10:30") for s in steps]
    is_bad = [within(s, "09:20:00", "09:20:20") for s in steps]
    heard = [s for s in steps if not within(s, "08:50:10", "09:05:00") and s < at("09:59:00")]
    own: dict[str, tuple[str, list[tuple[int, object, int]]]] = {
        "SR:CURRENT": ("f64", [(s, 0.0 if lost else 200.0, 0) for s, lost in zip(steps, is_lost, strict=True)]),
        "SR:SHUTTER": ("string", [(0, "OPEN", 0), (at("08:30:10"), "CLOSED", 0), (at("08:40:00"), "OPEN", 0)]),
        "SR:VAC": ("f64", [(s, 5e-7 if bad else 1e-9, 2 if bad else 0) for s, bad in zip(steps, is_bad, strict=True)]),
        "SR:BPM:X": ("f64", [(s, round(2 * math.sin(2 * math.pi * s / 120), 6), 0) for s in steps]),
        "SR:TEMP": ("f64", [(s, 21 + s / 7200 + (5 if s >= at("09:30:00") else 0), 0) for s in heard]),
    }
    server.archive.add(*(f"ca://{name}" for name in own))
    for name, (kind, rows) in own.items():
        server.take(name, kind, lines(rows))
    return server


def questions() -> list[tuple[str, list[str]]]:
    """Each command, with the lines that it prints."""
    blocks = re.findall(r"^```\n(\$ .*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [(first[2:], rest) for first, *rest in (block.splitlines() for block in blocks)]


def test_every_command_prints_what_the_page_says(server: Pvark) -> None:
    asked = questions()
    assert len(asked) >= 15
    for command, expected in asked:
        name, *arguments = shlex.split(command)
        assert name == "pvark"
        answer = run_program(*arguments, "--server", server.url)
        assert answer.returncode == 0, f"{command}\n{answer.stderr}"
        assert answer.stdout.splitlines() == expected, command


def test_what_is_wrong_is_told_with_its_place(server: Pvark) -> None:
    for expression, told in [
        ("SR:CURRENT <", "at character 13"),
        ("SR:CURENT < 1", 'no PV of this archive is called "SR:CURENT", at character 1 (did you mean SR:CURRENT?)'),
        ("SR:CURRENT-1 < 3", "a minus that subtracts has a blank beside it"),
        ("SR:CURRENT + 1", "a condition is needed"),
    ]:
        answer = run_program("when", expression, "--server", server.url)
        assert answer.returncode != 0 and told in answer.stderr, answer.stderr
