"""What people come to the page for, in a real browser against the real program, a real IOC and imported history."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from archiver import Pvark
from export_files import (
    END,
    PVS,
    START,
    is_table_of_rows,
    is_workbook_of_rows,
    is_workbook_of_samples,
    is_zip_of_samples,
    start_with_month,
)
from ioc import Ioc
from test_page import UI, skip_without_browser
from waiting import wait_for

TRIP = datetime(2026, 6, 15, 3, 12, 7, 418000, tzinfo=UTC)
OUTLIER = "2026-03-03T17:22:10.123456789Z"

#: PVs of many kinds, 40 of them in one view: half without units, two enums, a text, an array.
UNITS = ("mA", "kW", "um", "mbar", "degC", "V")
KINDS = [f"J6:U{i}" for i in range(16)] + [f"J6:N{i}" for i in range(20)] + ["J6:BI", "J6:MBBI", "J6:TEXT", "J6:WAVE"]


#: PVs of a snapshot: each has its number as its value, and since the last good fill every 29th has 30 more.
LIST = [f"J8:P{i:03}" for i in range(300)]


def now_of(i: int) -> int:
    return i + (30 + i // 29 if i % 29 == 0 else 0)


def calc(name: str, formula: str, more: str = "", scan: str = "1 second") -> str:
    return f'record(calc, "{name}") {{ field(SCAN, "{scan}") field(CALC, "{formula}") {more} }}\n'


def records() -> str:
    """The IOC of all journeys but those of the thousands."""
    text = [
        calc("J1:DCCT", "299+RNDM", 'field(EGU, "mA") field(PREC, "2")'),
        calc("J1:RF2:FWD", "61+RNDM", 'field(EGU, "kW") field(PREC, "2")'),
        calc("J1:BPM7:X", "10*RNDM", 'field(EGU, "um") field(PREC, "1")'),
        calc("J1:BPM7:Y", "-10*RNDM", 'field(EGU, "um") field(PREC, "1")'),
        calc("J1:IP12:P", "2e-10*(1+RNDM)", 'field(EGU, "mbar") field(PREC, "2")'),
        'record(stringin, "J1:MODE") { field(VAL, "User beam") field(PINI, "YES") }\n',
        calc("J2:YEAR", "20+RNDM", 'field(EGU, "degC") field(PREC, "3")', "10 second"),
        calc("J7:FAST", "RNDM", scan=".1 second"),
        *(calc(f"J11:{letter}", "RNDM") for letter in "ABCDEFG"),
        'record(bi, "J6:BI") { field(ZNAM, "closed") field(ONAM, "open") field(PINI, "YES") field(VAL, "1") }\n',
        'record(mbbi, "J6:MBBI") { field(ZRST, "Off") field(ONST, "On") field(ONVL, "1") field(PINI, "YES") }\n',
        'record(stringin, "J6:TEXT") { field(VAL, "all is well") field(PINI, "YES") }\n',
        'record(waveform, "J6:WAVE") { field(FTVL, "DOUBLE") field(NELM, "64") field(PINI, "YES") '
        "field(INP, [1,2,3,4]) }\n",
    ]
    text.extend(calc(name, f"{now_of(i)}", scan="10 second") for i, name in enumerate(LIST))
    for i in range(16):
        text.append(calc(f"J6:U{i}", f"{i}+RNDM", f'field(EGU, "{UNITS[i % len(UNITS)]}")'))
    text.extend(calc(f"J6:N{i}", f"{10 ** (i % 5)}*(1+RNDM)") for i in range(20))
    return "".join(text)


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def lines(*rows: tuple[datetime, object, str]) -> str:
    return "".join(f"{stamp(at)},{value},{severity}\n" for at, value, severity in rows)


def trip(server: Pvark) -> None:
    """Ten minutes before a trip and ten behind it: first the power goes, then the beam."""
    begin = TRIP - timedelta(minutes=10)
    seconds = [begin + timedelta(seconds=i) for i in range(1200)]
    power_off, beam_off = TRIP - timedelta(milliseconds=506), TRIP + timedelta(milliseconds=3)

    def of(good: Callable[[int], float], bad: float, off: datetime, kind: str = "MAJOR") -> str:
        rows: list[tuple[datetime, object, str]] = []
        for i, at in enumerate(seconds):
            rows.append((at, f"{good(i):.6g}", "NO_ALARM") if at < off else (at, bad, kind))
        rows.append((off, bad, kind))
        return lines(*sorted(rows, key=lambda row: row[0]))

    server.take("J1:RF2:FWD", "f64", of(lambda i: 61.7 + 0.3 * math.sin(i), 0.09, power_off))
    server.take("J1:DCCT", "f64", of(lambda i: 299.83 + 0.02 * math.sin(i / 9), 0.02, beam_off))
    server.take("J1:BPM7:X", "f64", of(lambda i: 11 + math.sin(i / 3), 108.3, TRIP + timedelta(milliseconds=80)))
    server.take("J1:BPM7:Y", "f64", of(lambda i: -31 + math.sin(i / 4), -49.1, TRIP + timedelta(milliseconds=81)))
    server.take("J1:IP12:P", "f64", of(lambda i: 2.1e-10, 2.7e-8, TRIP + timedelta(seconds=1), "MINOR"))
    modes = ((begin, "User beam"), (TRIP + timedelta(milliseconds=82), "Beam lost"))
    server.take("J1:MODE", "string", lines(*((at, f'"{text}"', "NO_ALARM") for at, text in modes)))


def year(server: Pvark) -> None:
    """A sample every ten seconds for a year, values near 20, and one of 95."""
    begin = datetime(2025, 11, 20, tzinfo=UTC)
    wave = [f"{20 + 0.5 * math.sin(i / 97) + 0.2 * math.sin(i / 13):.3f}" for i in range(8640)]
    outlier = OUTLIER.split("T")[0]
    for day in range(365):
        at = begin + timedelta(days=day)
        date = at.strftime("%Y-%m-%d")
        rows = [f"{date}T{i // 360:02}:{i // 6 % 60:02}:{i % 6}0Z,{value}" for i, value in enumerate(wave)]
        if date == outlier:
            rows.insert(next(i for i, row in enumerate(rows) if row > OUTLIER), f"{OUTLIER},95")
        path = f"/api/v1/pvs/J2%3AYEAR/import?import=year&part={date}&type=f64"
        status, _, body = server.request("POST", path, "\n".join(rows).encode())
        assert status == 200, (status, body)


def good_fill(server: Pvark) -> datetime:
    """A day of each PV of the list, up to the last good fill, an hour ago."""
    good = (datetime.now(UTC) - timedelta(hours=1)).replace(microsecond=0)
    for i, name in enumerate(LIST):
        hours = [(good - timedelta(hours=24 - k), f"{i + 0.1 * math.sin(k):.6f}", "NO_ALARM") for k in range(24)]
        server.take(name, "f64", lines(*hours, (good, i, "NO_ALARM")))
    return good


def five_years(server: Pvark) -> dict[str, object]:
    """Two PVs over five years, and when A was above 3 while B was 1, by looking at every sample."""
    begin, days = datetime(2021, 1, 1, tzinfo=UTC), 5 * 365
    step = timedelta(minutes=10)
    a = [
        (begin + k * step, round(2.5 + 0.6 * math.sin(k / 700) + 0.3 * math.sin(k / 11), 4)) for k in range(days * 144)
    ]
    b = [(begin + timedelta(hours=36 * k), k % 3 % 2) for k in range(days * 24 // 36)]
    for part in range(0, len(a), 20_000):
        rows = "".join(f"{stamp(at)},{value}\n" for at, value in a[part : part + 20_000])
        path = f"/api/v1/pvs/J9%3AA/import?import=a&part={part}&type=f64"
        status, _, body = server.request("POST", path, rows.encode())
        assert status == 200, (status, body)
    server.take("J9:B", "i32", "".join(f"{stamp(at)},{value}\n" for at, value in b))
    end = begin + timedelta(days=days)
    found: list[tuple[str, str]] = []
    since: datetime | None = None
    high, on = False, False
    changes = sorted([(at, "a", value) for at, value in a] + [(at, "b", value) for at, value in b])
    for i, (at, which, value) in enumerate(changes):
        if which == "a":
            high = value > 3
        else:
            on = value == 1
        if i + 1 < len(changes) and changes[i + 1][0] == at:
            continue
        if (high and on) != (since is not None):
            if since is not None:
                found.append((long_stamp(since), long_stamp(at)))
            since = at if high and on else None
    if since is not None:
        found.append((long_stamp(since), long_stamp(end)))
    return {"from": stamp(begin), "to": stamp(end), "found": found}


def long_stamp(moment: datetime) -> str:
    """As the archiver writes it, with nine digits."""
    return f"{stamp(moment)[:-1]}000Z"


class Browser:
    """The page's script for journeys, for which this side does what happens outside of the page."""

    def __init__(self, folder: Path, server: Pvark, acts: dict[str, Callable[[], object]]) -> None:
        self.folder, self.server, self.acts = folder, server, acts

    def walk(self, *journeys: str, **more: str) -> str:
        """Takes the journeys, which must all arrive, and gives what was said."""
        given = {"PVARK_URL": f"{self.server.url}/", "JOURNEYS": " ".join(journeys)}
        if shots := os.environ.get("PVARK_SHOTS"):
            given["PVARK_SHOTS"] = shots
        with (self.folder / "journeys.log").open("w+") as errors:
            process = subprocess.Popen(
                ["npm", "run", "--silent", "journeys"],
                cwd=UI,
                env=os.environ | given | more,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
            assert process.stdin is not None and process.stdout is not None
            said = []
            try:
                for line in process.stdout:
                    said.append(line)
                    print(line, end="")
                    if line.startswith("do: "):
                        self.acts[line.removeprefix("do: ").strip()]()
                        process.stdin.write("done\n")
                        process.stdin.flush()
                code = process.wait(30)
            finally:
                process.kill()
                process.stdin.close()
                process.stdout.close()
            errors.seek(0)
            assert code == 0, "".join(said[-20:]) + errors.read()[-4000:]
        return "".join(said)


@pytest.fixture(scope="module")
def few(module_folder: Path) -> Iterator[Browser]:
    """An archive of some dozens of PVs, one of them with a year of history."""
    skip_without_browser()
    ioc = Ioc.of_records(module_folder, records())
    server = Pvark(module_folder, [ioc], more='policy = [{ name = "slow", match = ["J11:*"], method = "monitor" }]\n')

    def restart() -> None:
        ioc.kill()
        ioc.start()

    try:
        ioc.start()
        server.start()
        names = re.findall(r'record\(\w+, "([^"]+)"', records())
        added = [name for name in names if name not in ("J11:D", "J11:E", "J11:F", "J11:G")]
        server.archive.add(*added, "J11:NEVER", "J9:A", "J9:B")
        server.wait_connected("J1:DCCT", "J1:MODE", "J2:YEAR", "J6:BI", "J6:WAVE", seconds=40)
        trip(server)
        year(server)
        acts: dict[str, Callable[[], object]] = {
            "kill the archiver": server.kill,
            "start the archiver": lambda: server.start(60),
            "restart the IOC": restart,
        }
        yield Browser(module_folder, server, acts)
    finally:
        server.kill()
        ioc.kill()


@pytest.mark.timeout(300)
def test_from_a_link_to_the_cause_of_a_trip(few: Browser) -> None:
    names = ("DCCT", "RF2:FWD", "BPM7:X", "BPM7:Y", "IP12:P", "MODE")
    query = "&".join(f"pv=J1:{name}" for name in names)
    begin, end = (stamp(TRIP + timedelta(minutes=by)) for by in (-10, 10))
    link = f"?{query}&from={begin}&to={end}&zone=utc"
    few.walk("trip", "trip-keys", "trip-touch", "relations", PVARK_TRIP=link)


@pytest.mark.timeout(300)
def test_one_value_of_a_year_is_seen_and_reached(few: Browser) -> None:
    few.walk("outlier", "outlier-keys", PVARK_OUTLIER=OUTLIER)


@pytest.mark.timeout(300)
def test_a_typed_day_means_the_same_in_another_zone(few: Browser) -> None:
    few.walk("day", "day-keys", "day-touch")


@pytest.mark.timeout(300)
def test_forty_pvs_of_all_kinds_are_told_apart(few: Browser) -> None:
    few.walk("forty", PVARK_FORTY=" ".join(KINDS))


@pytest.mark.timeout(300)
def test_what_costs_most_is_found_and_changed_and_changed_back(few: Browser) -> None:
    wait_for("rates of what was packed", lambda: rates(few.server), 60)
    few.walk("costs", "costs-keys")


def rates(server: Pvark) -> bool:
    """Whether the archiver knows what its PVs take a day."""
    rows = server.json("/mgmt/bpl/getStorageRateReport?limit=1")
    return bool(rows) and float(rows[0]["storageRate_MBperday"]) > 0


@pytest.mark.timeout(300)
def test_bookmarks_of_the_appliance_lead_to_what_its_pages_were_for(few: Browser) -> None:
    few.walk("bookmarks", "bookmarks-keys")


@pytest.mark.timeout(300)
def test_what_changed_since_the_last_good_fill(few: Browser) -> None:
    good = good_fill(few.server)
    # What moved most beside what it usually does comes first, and all of them move by the same usually.
    changed = [LIST[i] for i in sorted(range(0, 300, 29), reverse=True)]
    path = few.folder / "snapshot.json"
    path.write_text(json.dumps({"names": LIST, "good": f"{good:%Y-%m-%d %H:%M:%S}Z", "changed": changed}))
    few.walk("snapshot", "snapshot-keys", PVARK_SNAPSHOT=str(path))


@pytest.mark.timeout(300)
def test_when_it_was_like_this_in_five_years(few: Browser) -> None:
    path = few.folder / "when.json"
    path.write_text(json.dumps(five_years(few.server)))
    few.walk("when", "when-keys", PVARK_WHEN=str(path))


@pytest.mark.timeout(300)
def test_a_wall_goes_on_by_itself(few: Browser) -> None:
    few.walk("wall-keys", "wall", PVARK_RESTARTS=os.environ.get("PVARK_RESTARTS", "1"))


@pytest.mark.timeout(300)
def test_files_of_a_month_of_twenty_pvs_hold_what_python_gets(tmp_path: Path) -> None:
    skip_without_browser()
    server = Pvark(tmp_path)
    try:
        start_with_month(server)
        query = "&".join(f"pv={quote(pv)}" for pv in PVS)
        path = tmp_path / "export.json"
        path.write_text(json.dumps({"query": f"?{query}&from={START}&to={END}&zone=utc", "folder": str(tmp_path)}))
        Browser(tmp_path, server, {}).walk("export", "export-keys", PVARK_EXPORT=str(path))
        given = server.archive.get(PVS, START, END)
        # A row an hour is what the page offers for a month.
        aligned = server.archive.aligned(PVS, START, END, period=3600)
        for kind in ("mouse", "keys"):
            is_workbook_of_rows(tmp_path / f"{kind}-rows.xlsx", aligned)
            is_zip_of_samples(tmp_path / f"{kind}-all.parquet.zip", "parquet", given)
        is_workbook_of_samples(tmp_path / "mouse-all.xlsx", given)
        is_table_of_rows(tmp_path / "mouse-rows.parquet", "parquet", aligned)
        assert len(server.archive.exports()) == 6
    finally:
        server.kill()


COUNT = 5000
KNOWN = 20
WRONG = ("x" * 300, "ledger:LAB", "http://LAB:TEMP")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """An IOC of five thousand PVs, and an archive that knows twenty of them."""
    skip_without_browser()
    folder = tmp_path_factory.mktemp("many")
    names = [f"J4:{i:04}" for i in range(COUNT)]
    database = "".join(calc(name, "VAL+1") for name in [*names, "J4:EXTRA:1", "J4:EXTRA:2"])
    ioc = Ioc.of_records(folder, database)
    server = Pvark(folder, [ioc])
    try:
        ioc.start()
        server.start().archive.add(*names[:KNOWN])
        server.wait_connected(*names[:KNOWN])
        acts: dict[str, Callable[[], object]] = {
            "kill the IOC": ioc.kill,
            "start the IOC": ioc.start,
            "kill the archiver": server.kill,
            "start the archiver": lambda: server.start(60),
        }
        yield Browser(folder, server, acts)
    finally:
        server.kill()
        ioc.kill()


@pytest.mark.timeout(300)
def test_thousands_of_pasted_names_are_checked_added_and_taken_out_again(many: Browser) -> None:
    # 4,977 new names, 20 known ones and three that are none, with comments between them.
    rows = [f"J4:{i:04}" for i in range(COUNT - len(WRONG))]
    for place, wrong in zip((17, 2500, 4990), WRONG, strict=True):
        rows.insert(place, wrong)
    for place in range(0, len(rows), 100):
        rows[place] += f"  # the {place}th"
    path = many.folder / "names.txt"
    path.write_text("# vacuum\n" + "\n".join(rows) + "\n")
    many.walk("add-many", "add-many-keys", PVARK_NAMES=str(path))
    assert many.server.archive.status().pvs["total"] == KNOWN


@pytest.mark.timeout(400)
def test_an_ioc_of_five_thousand_pvs_is_lost_and_then_the_archiver(many: Browser) -> None:
    many.server.archive.add(*[f"J4:{i:04}" for i in range(COUNT)])
    connected = lambda: many.server.archive.status().pvs["connected"] == COUNT  # noqa: E731
    wait_for("all to be connected", connected, 60)
    many.walk("gone")
    wait_for("all to be connected", connected, 60)
    time.sleep(1)
    many.walk("gone-touch")
