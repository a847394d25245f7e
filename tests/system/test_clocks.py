"""Clocks that are wrong, jump or have a leap second: every sample is kept, and answers say which time is whose."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from archiver import Pvark
from ioc import Ioc
from waiting import wait_for

ALWAYS = "1980-01-01T00:00:00Z"
LEAP = 1_483_228_800  # 2017-01-01T00:00:00Z: the second before it was there twice for clocks that know no 23:59:60
DAY = 1_792_879_200  # 2026-10-24T22:00:00Z: midnight in Copenhagen, before a day of 25 hours


class Clocks:
    """The server of odd clocks, and the archiver that records it."""

    def __init__(self, ioc: Ioc, server: Pvark) -> None:
        self.ioc = ioc
        self.server = server
        self.value = 0

    def post(self, pv: str, stamp: float) -> None:
        """Posts the next value with this stamp, and waits until it is recorded: p4p keeps the newest for the slow."""
        assert self.ioc.process is not None and self.ioc.process.stdin is not None
        before = len(self.server.archive.get(pv, ALWAYS))
        seconds = int(stamp // 1)
        self.value += 1
        line = f"{pv} {seconds} {round((stamp - seconds) * 1e9)} {self.value}\n"
        self.ioc.process.stdin.write(line.encode())
        self.ioc.process.stdin.flush()
        wait_for("the value to be recorded", lambda: len(self.server.archive.get(pv, ALWAYS)) == before + 1)

    def rows(self, pv: str, start: str = ALWAYS, to: str = "2100-01-01T00:00:00Z") -> list[dict[str, Any]]:
        """The samples of a range as they stand in JSON."""
        path = f"/api/v1/pvs/{pv}/samples?from={quote(start)}&to={quote(to)}&before=false"
        rows = []
        for chunk in self.server.json(path)["chunks"]:
            columns = {name: column for name, column in chunk.items() if isinstance(column, list)}
            rows += [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return rows

    def bins(self, pv: str, start: str, to: str, bins: int) -> list[int]:
        """How many samples each bin has."""
        path = f"/api/v1/pvs/{pv}/bins?from={quote(start)}&to={quote(to)}&bins={bins}"
        return list(self.server.json(path)["bins"]["count"])


@pytest.fixture
def clocks(tmp_path: Path) -> Iterator[Clocks]:
    ioc = Ioc.of_script(tmp_path, "p4p_clocks.py")
    server = Pvark(tmp_path, [ioc])
    try:
        ioc.start()
        server.start().archive.add("pva://K:leap", "pva://K:wrong", "pva://K:day")
        server.wait_connected("K:leap", "K:wrong", "K:day")
        yield Clocks(ioc, server)
    finally:
        server.kill()
        ioc.kill()


def test_a_leap_second_that_a_clock_repeats_loses_nothing(clocks: Clocks) -> None:
    for stamp in (LEAP - 1.5, LEAP - 1, LEAP - 0.5, LEAP - 1, LEAP - 0.5, LEAP):
        clocks.post("K:leap", stamp)
    start, to = "2016-12-31T23:59:58Z", "2017-01-01T00:00:01Z"
    rows = clocks.rows("K:leap", start, to)
    assert [row["seconds"] + row["nanos"] / 1e9 - LEAP for row in rows] == [-1.5, -1, -1, -0.5, -0.5, 0]
    assert sorted(row["values"] for row in rows) == [1, 2, 3, 4, 5, 6]
    # The first is older than the server's value of today, the fourth than the third.
    assert [row["values"] for row in rows if row.get("quality") == "backward"] == [1, 4]
    assert clocks.bins("K:leap", start, to, 3) == [1, 4, 1]
    told = clocks.server.archive.ledger("K:leap")  # a row more where a minute has ended meanwhile
    assert all(row.adds_up and row.stored == row.received for row in told)
    assert sum(row.stamps["backward"] for row in told) == 2


def test_wrong_stamps_are_kept_with_both_times_and_counted_by_reason(clocks: Clocks) -> None:
    now = time.time()
    clocks.post("K:wrong", now)
    clocks.post("K:wrong", now + 86_400)
    clocks.post("K:wrong", 0)
    clocks.post("K:wrong", 631_152_000)
    clocks.post("K:wrong", now - 3600)
    rows = {int(row["values"]): row for row in clocks.rows("K:wrong")}
    qualities = {value: row.get("quality") for value, row in rows.items() if value > 0}
    assert qualities == {1: None, 2: "ahead", 3: "never_set", 4: "never_set", 5: "backward"}

    def moment(text: str) -> float:
        return datetime.datetime.fromisoformat(text[:26] + "+00:00").timestamp()

    for value, stamp in ((2, now + 86_400), (3, 0), (4, 631_152_000), (5, now - 3600)):
        assert moment(rows[value]["stamped"]) == pytest.approx(stamp, abs=1e-5), value
        assert moment(rows[value]["arrived"]) == pytest.approx(now, abs=120), value
        shown = rows[value]["seconds"] + rows[value]["nanos"] / 1e9
        assert shown == pytest.approx(now - 3600 if value == 5 else now, abs=120), value
    metrics = clocks.server.request("GET", "/metrics")[2].decode()
    for reason, least in (("ahead", 1), ("never_set", 2), ("backward", 1)):
        (line,) = [line for line in metrics.splitlines() if f'samples_odd_stamp_total{{reason="{reason}"}}' in line]
        assert int(line.split()[-1]) >= least, line
    stamps: dict[str, int] = {}
    for row in clocks.server.archive.ledger("K:wrong"):
        for reason, count in row.stamps.items():
            stamps[reason] = stamps.get(reason, 0) + count
    # The value that the server began with has no stamp either.
    assert stamps == {"ahead": 1, "never_set": 3, "backward": 1}
    hour = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - 3700))
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now + 3600))
    assert sum(clocks.bins("K:wrong", hour, soon, 50)) == len(clocks.rows("K:wrong", hour, soon))
    reasons = {reason.kind for reason in clocks.server.archive.explain("K:wrong", hour).reasons}
    assert "odd_stamps" in reasons


def test_a_day_of_twenty_five_hours_has_twenty_five_bins(clocks: Clocks) -> None:
    for hour in range(25):
        clocks.post("K:day", DAY + 3600 * hour + 1800)
    start, to = "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"
    assert clocks.bins("K:day", start, to, 25) == [1] * 25
    # What the clock on the wall calls half past two is there twice, an hour apart.
    first = clocks.rows("K:day", "2026-10-25T02:00:00+02:00", "2026-10-25T03:00:00+02:00")
    second = clocks.rows("K:day", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00")
    assert (len(first), len(second)) == (1, 1)
    assert second[0]["seconds"] - first[0]["seconds"] == 3600
