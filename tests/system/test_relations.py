"""Pairs, histograms, spectra and views against numpy, of samples that are as random as those of an archive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pvark
import pytest
from archiver import Pvark, run_program, started

START = np.datetime64("2025-11-21T08:00:00", "ns")
SECOND = np.timedelta64(1_000_000_000, "ns")
Numbers = npt.NDArray[np.float64]


def lines(times: npt.NDArray[np.int64], numbers: Numbers) -> str:
    """Samples so many milliseconds behind START, as an import takes them."""
    stamps = START + times.astype("timedelta64[ms]")
    return "".join(f"{stamp}Z,{number!r}\n" for stamp, number in zip(stamps, numbers.tolist(), strict=True))


class Recorded:
    """An archive with two PVs that rise and fall at random, and one that is even."""

    def __init__(self, server: Pvark) -> None:
        random = np.random.default_rng(20251121)
        self.server, self.archive = server, server.archive
        self.times: list[npt.NDArray[np.int64]] = [np.cumsum(random.integers(1, 2000, 5000)) for _ in range(2)]
        walks = [np.cumsum(random.normal(size=5000)).round(3) for _ in range(2)]
        self.numbers: list[Numbers] = [np.asarray(walk, np.float64) for walk in walks]
        self.even: Numbers = (random.normal(3, 2, 1009) + 5 * np.sin(np.arange(1009) / 7)).round(6)
        self.archive.add("ca://R:A", "ca://R:B", "ca://R:EVEN")
        for name, times, numbers in zip(("R:A", "R:B"), self.times, self.numbers, strict=True):
            server.take(name, "f64", lines(times, numbers))
        server.take("R:EVEN", "f64", lines(np.arange(1009) * 100, self.even))


@pytest.fixture(scope="module")
def recorded(module_folder: Path) -> Iterator[Recorded]:
    with started(module_folder) as server:
        yield Recorded(server)


def held(times: npt.NDArray[np.int64], numbers: Numbers, at: npt.NDArray[np.int64]) -> Numbers:
    """What held at some times; NaN before the first sample."""
    found = np.searchsorted(times, at, side="right")
    return np.where(found == 0, np.nan, numbers[np.maximum(found - 1, 0)])


END = START + 5_000_000 * np.timedelta64(1, "ms")


def test_pairs_are_those_of_numpy(recorded: Recorded) -> None:
    (a, b), (x, y) = recorded.times, recorded.numbers
    pairs = recorded.archive.xy("R:A", "R:B", START, END)
    inside = a < 5_000_000
    expected = held(b, y, a[inside])
    known = ~np.isnan(expected)
    assert pairs.x.tolist() == x[inside][known].tolist()
    assert pairs.y.tolist() == expected[known].tolist()
    assert pairs.unpaired == np.count_nonzero(~known) and pairs.until is None
    assert pairs.correlation == pytest.approx(np.corrcoef(pairs.x, pairs.y)[0, 1])
    assert [pairs.slope, pairs.intercept] == pytest.approx(np.polyfit(pairs.x, pairs.y, 1))
    grid = recorded.archive.xy("R:A", "R:B", START, END, by="grid", step=7)
    at = np.arange(0, 5_000_000, 7000)
    both = ~np.isnan(held(a, x, at)) & ~np.isnan(held(b, y, at))
    assert grid.x.tolist() == held(a, x, at)[both].tolist() and grid.y.tolist() == held(b, y, at)[both].tolist()


@pytest.mark.parametrize("edges", [[-30.0, -10.0, 0.0, 0.5, 20.0], [-1000.0, 1000.0]])
def test_histograms_are_those_of_numpy(recorded: Recorded, edges: list[float]) -> None:
    a, x = recorded.times[0], recorded.numbers[0]
    found = recorded.archive.histogram("R:A", START, END, edges=edges, weight="both")
    inside = a < 5_000_000
    lasts = np.diff(np.append(a[inside], 5_000_000)) / 1000
    assert found.count is not None and found.seconds is not None
    assert found.count.tolist() == np.histogram(x[inside], edges)[0].tolist()
    assert found.seconds.tolist() == pytest.approx(np.histogram(x[inside], edges, weights=lasts)[0].tolist())
    assert found.beside["before"].seconds == pytest.approx(a[0] / 1000)
    equal = recorded.archive.histogram("R:A", START, END, bins=10, weight="count")
    counts, ends = np.histogram(x[inside], 10)
    assert equal.count is not None and equal.seconds is None
    assert equal.edges.tolist() == pytest.approx(ends.tolist())
    # An edge may be off by its last digit, and the samples there lie on the other side of it.
    assert np.abs(equal.count - counts).sum() <= 2 and equal.count.sum() == counts.sum()


@pytest.mark.parametrize("count", [2, 100, 1000, 1009])
@pytest.mark.parametrize("window", ["none", "hann"])
@pytest.mark.parametrize("detrend", ["mean", "linear", "none"])
def test_spectra_are_those_of_numpy(recorded: Recorded, count: int, window: str, detrend: str) -> None:
    numbers = recorded.even[:count]
    index = np.arange(count)
    if detrend == "mean":
        numbers = numbers - numbers.mean()
    elif detrend == "linear":
        numbers = numbers - np.polyval(np.polyfit(index, numbers, 1), index)
    weights = np.ones(count) if window == "none" else 0.5 - 0.5 * np.cos(2 * np.pi * index / count)
    transformed = np.abs(np.fft.rfft(numbers * weights))
    sides = np.full(len(transformed), 2.0)
    sides[0] = 1
    if count % 2 == 0:
        sides[-1] = 1
    end = START + count * np.timedelta64(100, "ms")
    for output, expected in [
        ("amplitude", sides * transformed / weights.sum()),
        ("density", sides * transformed**2 / (10 * (weights**2).sum())),
    ]:
        found = recorded.archive.fft("R:EVEN", START, end, window=window, output=output, detrend=detrend)
        assert found.strengths == pytest.approx(expected, abs=1e-9)
        assert found.frequencies == pytest.approx(np.fft.rfftfreq(count, 0.1))
        assert found.points == count and found.step == pytest.approx(0.1) and found.unevenness < 1e-6


def test_what_is_uneven_is_refused_and_can_be_resampled(recorded: Recorded) -> None:
    with pytest.raises(pvark.Conflict, match=r"the samples are not even: \d+ samples lie .* steps off its place"):
        recorded.archive.fft("R:A", START, END)
    a, x = recorded.times[0], recorded.numbers[0]
    start = START + np.timedelta64(10_000, "ms")
    at = np.arange(10_000, 5_000_000, 500)
    for resample, points in [("previous", held(a, x, at)), ("linear", np.interp(at, a, x))]:
        found = recorded.archive.fft("R:A", start, END, step=0.5, resample=resample)
        expected = np.abs(np.fft.rfft(points - points.mean()))
        expected *= np.append(1, np.full(len(expected) - 1, 2.0)) / len(points)
        # The line to the first sample, and that behind the last, begin and end at the range.
        near = 1e-9 if resample == "previous" else 0.05
        assert found.points == len(points) and found.strengths[1:-1] == pytest.approx(expected[1:-1], abs=near)
    means = recorded.archive.fft("R:A", start, END, step=10, resample="mean")
    assert means.points == 499 and means.resampled == "mean"


def test_a_view_has_the_bins_of_each_pv(recorded: Recorded) -> None:
    view = recorded.archive.view(["R:A", "R:B"], START, END, width=60)
    assert view.pvs == ("R:A", "R:B") and view.width == 60
    for name in view.pvs:
        columns, own = view[name], recorded.archive.bins(name, view.start, view.end, 84)
        assert len(columns["start"]) == 84 and columns["start"].tolist() == own.start.tolist()
        assert columns["count"].tolist() == own.count.tolist() and columns["count"].sum() > 0
        for column in ("min", "max", "mean", "last"):
            np.testing.assert_allclose(columns[column], getattr(own, column))
    assert len(view.to_pandas()) == 168 if pytest.importorskip("pandas") else True
    times = ["--width", "60s", "--from", f"{START}Z", "--to", f"{END}Z", "--server", recorded.server.url]
    table = run_program("view", "R:A", "R:B", *times)
    assert table.returncode == 0 and table.stdout.splitlines()[0].split() == [
        "pv",
        "start",
        "count",
        "min",
        "mean",
        "max",
        "first",
        "last",
        "severity",
    ]
    rows = run_program("view", "R:*", *times, "--format", "csv")
    assert rows.returncode == 0 and len(rows.stdout.splitlines()) == 1 + 3 * 84
