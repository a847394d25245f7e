"""The examples run from top to bottom against a real archiver, and find what lies in the data."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import numpy as np
import pytest
from archiver import started

EXAMPLES = Path(__file__).parents[1] / "examples"
BEGIN = np.datetime64("2025-11-21T00:00:00", "s")


def eight_hours(height: float) -> str:
    """What decays in ten hours to a third, a sample every ten seconds, as an import takes them."""
    seconds = range(0, 8 * 3600, 10)
    return "".join(f"{BEGIN + second}Z,{height * math.exp(-second / 36_000)!r}\n" for second in seconds)


def test_the_beam_lives_ten_hours_and_one_bpm_follows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    with started(tmp_path) as archiver:
        archiver.archive.add("ca://SR:CURRENT", [f"ca://SR:BPM{number}:X" for number in range(3)], "ca://SR:OTHER")
        archiver.take("SR:CURRENT", "f64", eight_hours(400))
        for number, drift in enumerate((1, 50, 1)):
            archiver.take(f"SR:BPM{number}:X", "f64", eight_hours(drift))
        for name, value in {"PVARK_URL": archiver.url, "BEGIN": f"{BEGIN}Z", "END": "2025-11-21T08:00:00Z"}.items():
            monkeypatch.setenv(name, value)
        found = runpy.run_path(str(EXAMPLES / "orbit_and_current.py"))
    assert found["lifetime"] == pytest.approx(10)
    assert (found["worst"], found["follows"]) == ("SR:BPM1:X", pytest.approx(1))
    assert "5 PVs of the ring" in capsys.readouterr().out
