"""`pvark compare`: two archives sample by sample, with known differences, and beside answers that fail."""

from __future__ import annotations

import base64
import json
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from appliance import YEAR_START, Appliance, header, line, sample, time_of
from archiver import ROOT, Pvark, run_program
from ioc import Ioc

AA = ROOT / "testdata" / "aa"
EQUAL, FAILED, DIFFERS = 0, 1, 4
SECOND = 1_000_000_000
MINUTE = ("--from", "2026-03-01T00:00:00Z", "--to", "2026-03-01T00:01:00Z")
BEGINS = 1_772_323_200 * SECOND  # that minute


@pytest.fixture
def appliance() -> Iterator[Appliance]:
    served = Appliance()
    yield served
    served.close()


def compare(*arguments: str | Path, code: int, seconds: float = 60) -> tuple[dict[str, Any], dict[str, Any]]:
    """The lines of each PV, and the total."""
    done = run_program("compare", "--json", *arguments, seconds=seconds)
    assert done.returncode == code, (done.returncode, done.stdout[-2000:], done.stderr)
    lines = [json.loads(text) for text in done.stdout.splitlines()]
    return {one["pv"]: one for one in lines if "pv" in one}, lines[-1]["total"]


def test_what_is_followed_has_no_folder_and_no_end() -> None:
    for extra in (["--data", "."], ["--to", "2026-03-01T00:00:00Z"]):
        done = run_program("compare", "--with", "http://127.0.0.1:9", "--for", "1s", *extra, seconds=10)
        assert done.returncode == 2 and "cannot be used with" in done.stderr, done.stderr


def told(one: dict[str, Any]) -> list[tuple[str, str, int]]:
    return [(difference["kind"], difference["why"], difference["count"]) for difference in one["differences"]]


def csv(samples: dict[int, str]) -> str:
    """Lines of an import: tenths of a second of that minute, and what stands behind."""
    text = (f"2026-03-01T00:00:{tenths // 10:02}.{tenths % 10}Z,{rest}" for tenths, rest in samples.items())
    return "\n".join(text)


def give(archiver: Pvark, pvs: dict[str, dict[int, str]], kind: str = "f64") -> None:
    archiver.archive.add(*(f"ca://{pv}" for pv in pvs))
    for pv, samples in pvs.items():
        archiver.take(pv, kind, csv(samples))


def test_known_differences_between_two_archivers_are_found_and_nothing_else(
    start_pvark: Callable[..., Pvark], tmp_path: Path
) -> None:
    here, there = start_pvark(), start_pvark()
    plain = {tenths: f"{tenths / 7},{tenths % 4},{tenths % 9}" for tenths in range(0, 600)}
    ours = {name: dict(plain) for name in ["SAME", "LOST:HERE", "LOST:THERE", "VALUE", "ALARM", "STAMP"]}
    theirs = {name: dict(plain) for name in ours}
    for tenths in (7, 8, 300):
        del ours["LOST:HERE"][tenths]
        del theirs["LOST:THERE"][tenths]
    theirs["VALUE"][450] = "1e6,2,0"
    theirs["ALARM"][450], theirs["ALARM"][451] = "64.28571428571429,3,0", "64.42857142857143,3,2"
    ours["STAMP"][450], theirs["STAMP"][450] = "7.75,0,0", "8.75,0,0"
    del ours["STAMP"][451], theirs["STAMP"][451]
    give(here, ours | {"ONLY:HERE": plain})
    give(there, theirs | {"ONLY:THERE": plain})
    # One sample with two stamps: 20 ms apart.
    for archiver, stamp in [(here, "45.10"), (there, "45.12")]:
        path = "/api/v1/pvs/STAMP/import?import=s&part=s&type=f64"
        assert archiver.request("POST", path, f"2026-03-01T00:00:{stamp}Z,1.5,0,0".encode())[0] == 200
    lines, total = compare("--server", here.url, "--with", there.url, *MINUTE, code=DIFFERS)
    assert {pv: one["equal"] for pv, one in lines.items()} == {
        "SAME": 600,
        "LOST:HERE": 597,
        "LOST:THERE": 597,
        "VALUE": 599,
        "ALARM": 598,
        "STAMP": 598,
        "ONLY:THERE": 0,
    }
    assert lines["SAME"]["status"] == "equal" and not lines["SAME"]["differences"]
    assert told(lines["LOST:HERE"]) == [("lost_here", "unknown", 3)]
    assert told(lines["LOST:THERE"]) == [("lost_there", "unknown", 3)]
    assert told(lines["VALUE"]) == [("value", "value", 1)]
    assert lines["VALUE"]["differences"][0]["from"] == "2026-03-01T00:00:45.000000000Z"
    assert lines["VALUE"]["differences"][0]["there"] == "1000000 MAJOR 0"
    assert told(lines["ALARM"]) == [("alarm", "severity", 1), ("alarm", "status", 1)]
    assert told(lines["STAMP"]) == [("value", "value", 1), ("stamp", "stamp", 1)]
    assert lines["ONLY:THERE"]["lost_here"] == 600
    assert lines["ONLY:THERE"]["message"] == "not in the list here"
    assert (total["pvs"], total["pvs_equal"], total["pvs_differing"]) == (7, 1, 6)
    assert total["only_here_names"] == ["ONLY:HERE"]
    # Patterns choose, and what is accepted is not held against the archives.
    one, _ = compare("--server", here.url, "--with", there.url, *MINUTE, "SA*", code=EQUAL)
    assert list(one) == ["SAME"]
    one, total = compare(
        "--server", here.url, "--with", there.url, *MINUTE, "LOST:THERE", "--accept", "lost_there", code=EQUAL
    )
    assert one["LOST:THERE"]["status"] == "accepted" and total["is_equal"]
    # The same of the folder of an archive that does not run.
    assert here.terminate() == 0
    again, _ = compare("--data", here.data, "--with", there.url, *MINUTE, code=DIFFERS)
    counted = ["equal", "lost_here", "lost_there", "value", "type", "stamp", "alarm"]
    assert {pv: [one[key] for key in counted] for pv, one in again.items()} == {
        pv: [one[key] for key in counted] for pv, one in lines.items()
    }


def test_a_report_can_be_signed(start_pvark: Callable[..., Pvark], tmp_path: Path) -> None:
    here, there = start_pvark(), start_pvark()
    give(here, {"A&b": {1: "1", 2: "2"}, "B": {1: "1"}})
    give(there, {"A&b": {1: "1", 2: "3"}, "B": {1: "1"}})
    for name in ["report.html", "report.md"]:
        report = tmp_path / name
        done = run_program("compare", "--server", here.url, "--with", there.url, *MINUTE, "--report", report)
        assert done.returncode == DIFFERS, done.stderr
        text = report.read_text()
        assert (
            "Not equal." in text
            and "Signature" in text
            and there.url in text
            and ("A&amp;b" in text) == (name == "report.html")
        )
        assert text.count(f"{there.url}/retrieval/data/getData.json?pv=A%26b") == 1
        assert "the values differ" in text
        assert (tmp_path / f"{name}.jsonl").exists()
    table = run_program("compare", "--server", here.url, "--with", there.url, *MINUTE)
    assert "A&b" in table.stdout and "2 PVs from 2026-03-01" in table.stdout
    assert "the archives are not equal: 1 of 2 PVs differ" in table.stderr
    wrong = run_program("compare", "--with", there.url, "--report", tmp_path / "report.pdf")
    assert wrong.returncode == FAILED and ".html or .md" in wrong.stderr


def recorded(name: str) -> tuple[str, bytes, list[bytes]]:
    """A recorded raw answer: the range that was asked for, the header, the samples."""
    asked = next(q for q in map(json.loads, (AA / "queries.jsonl").open()) if q["id"] == name)
    chunks = [chunk.split(b"\n") for chunk in base64.b64decode(asked["b64"]).split(b"\n\n")]
    lines = [text + b"\n" for chunk in chunks for text in chunk[1:] if text]
    assert lines
    return asked["path"], chunks[0][0] + b"\n", lines


@pytest.fixture
def beside_recorded(start_pvark: Callable[..., Pvark], appliance: Appliance) -> tuple[Pvark, Appliance, list[str], int]:
    """An archiver that has imported the Appliance's files, and the Appliance's own answer to a request for REF:ENUM."""
    archiver = start_pvark()
    done = run_program("import", "archiver-appliance", "--server", archiver.url, AA / "lts", seconds=120)
    assert done.returncode == 0, done.stderr
    path, head, lines = recorded("a014")
    appliance.samples["REF:ENUM"] = (head, lines)
    first, last = path.split("from=")[1].split("&to=")
    within = [text for text in lines if time_of(text) >= time_of(lines[1])]
    options = ["--server", archiver.url, "--with", appliance.url, "--from", first, "--to", last[:-1] + "1Z", "REF:ENUM"]
    return archiver, appliance, options, len(within)


@pytest.mark.parametrize("fault", ["drop", "torn", "error", "garbage", "short", "slow"])
def test_an_answer_that_fails_is_read_again_until_it_is_whole(
    beside_recorded: tuple[Pvark, Appliance, list[str], int], fault: str
) -> None:
    _, appliance, options, count = beside_recorded
    appliance.faults = [fault]
    lines, _ = compare(*options, code=EQUAL)
    assert lines["REF:ENUM"]["equal"] == count, lines
    assert lines["REF:ENUM"]["read_again"] == (0 if fault in ("slow", "error") else 1)
    assert not appliance.faults


@pytest.mark.parametrize("fault", ["error", "garbage"])
def test_an_answer_that_goes_on_failing_is_never_called_equal(
    beside_recorded: tuple[Pvark, Appliance, list[str], int], fault: str
) -> None:
    _, appliance, options, _ = beside_recorded
    appliance.always = fault
    done = run_program("compare", "--json", *options, seconds=60)
    one, total = (json.loads(text) for text in done.stdout.splitlines())
    assert done.returncode == FAILED and "could not be compared to their end" in done.stderr
    assert one["status"] == "failed" and "does not give the samples" in one["message"]
    assert (total["total"]["pvs_failed"], total["total"]["is_equal"]) == (1, False)


def test_a_comparison_that_failed_goes_on_with_what_is_left(
    start_pvark: Callable[..., Pvark], appliance: Appliance, tmp_path: Path
) -> None:
    archiver = start_pvark()
    samples = {pv: {tenths: str(tenths) for tenths in range(600)} for pv in "ABC"}
    give(archiver, samples)
    for pv in samples:
        appliance.samples[pv] = (header(pv), [double(tenths, tenths) for tenths in range(600)])
    appliance.fault_of["B"] = "error"
    options = ["--server", archiver.url, "--with", appliance.url, "--state", str(tmp_path / "state"), *MINUTE]
    lines, total = compare(*options, code=FAILED)
    assert {pv: one["status"] for pv, one in lines.items()} == {"A": "equal", "B": "failed", "C": "equal"}
    appliance.fault_of.clear()
    appliance.asked.clear()
    lines, total = compare(*options, code=EQUAL)
    assert set(appliance.asked) == {"B"}
    assert (total["pvs"], total["pvs_equal"], total["equal"]) == (3, 3, 1800)
    other = run_program("compare", *options, "A")
    assert other.returncode == FAILED and "of another comparison" in other.stderr


def test_a_comparison_that_came_to_its_end_begins_anew(
    start_pvark: Callable[..., Pvark], appliance: Appliance, tmp_path: Path
) -> None:
    archiver = start_pvark()
    give(archiver, {"A": {tenths: str(tenths) for tenths in range(600)}})
    samples = [double(tenths, tenths) for tenths in range(600)]
    appliance.samples["A"] = (header("A"), samples)
    state = tmp_path / "state"
    options = ["--server", archiver.url, "--with", appliance.url, "--state", str(state), *MINUTE]
    lines, _ = compare(*options, code=EQUAL)
    assert lines["A"]["equal"] == 600
    lost = samples.pop(300)
    lines, _ = compare(*options, code=DIFFERS)
    assert (lines["A"]["equal"], lines["A"]["lost_there"]) == (599, 1)
    samples.insert(300, lost)
    lines, _ = compare(*options, code=EQUAL)
    assert lines["A"]["equal"] == 600
    # The journal is that of the last one, with its end.
    first, one, last = map(json.loads, state.read_text().splitlines())
    assert "compare" in first and one["pv"] == "A" and "ended" in last
    follows = run_program("compare", *options, "--for", "1s")
    assert follows.returncode not in (EQUAL, DIFFERS) and "cannot be used with" in follows.stderr


def double(tenths: int, value: float, **fields: str) -> bytes:
    return sample(BEGINS + tenths * SECOND // 10, b"\x19" + struct.pack("<d", value), **fields)


def test_reasons_are_told_for_what_the_appliance_lost(start_pvark: Callable[..., Pvark], appliance: Appliance) -> None:
    archiver = start_pvark()
    all_of = {tenths: str(float(tenths)) for tenths in range(600)}
    names = ["BUFFER", "SCAN", "LOST", "LATE", "TYPE", "EGU"]
    give(archiver, {name: all_of for name in names})
    kept: dict[str, list[int]] = {
        # The last eleven of each ten seconds, as it keeps them of 10 Hz with a sampling period of 1 s.
        "BUFFER": [0, *(tenths for tenths in range(600) if tenths % 100 >= 89)],
        "SCAN": list(range(0, 600, 20)),
        "LOST": [*range(0, 200), *range(300, 600)],
        "LATE": list(range(100, 600)),
        "EGU": list(range(600)),
    }
    for name, tenths in kept.items():
        lines = [double(one, one) for one in tenths]
        appliance.samples[name] = (header(name), lines)
    second = BEGINS // SECOND
    lost = {"cnxlostepsecs": str(second + 20), "cnxregainedepsecs": str(second + 30)}
    appliance.samples["LOST"][1][200] = double(300, 300, **lost)
    appliance.samples["EGU"] = (header("EGU", EGU="mA", PREC="0"), appliance.samples["EGU"][1])
    # f64 here, f32 there, of which some values keep less.
    thirds = [
        sample(BEGINS + one * SECOND // 10, b"\x1d" + struct.pack("<f", one + (one % 3) / 1e9)) for one in range(600)
    ]
    give(archiver, {"NARROW": {one: repr(one + 0.1) for one in range(600)}})
    narrow = [sample(BEGINS + one * SECOND // 10, b"\x1d" + struct.pack("<f", one + 0.1)) for one in range(600)]
    appliance.samples["NARROW"] = (header("NARROW", kind=2), narrow)
    appliance.samples["TYPE"] = (header("TYPE", kind=2), thirds)
    appliance.type_infos["BUFFER"] = {"samplingMethod": "MONITOR", "samplingPeriod": "1.0", "paused": "false"}
    appliance.type_infos["SCAN"] = {"samplingMethod": "SCAN", "samplingPeriod": "2.0", "paused": "false"}
    lines_of, total = compare("--server", archiver.url, "--with", appliance.url, *MINUTE, code=DIFFERS)
    assert told(lines_of["BUFFER"]) == [("lost_there", "buffer_full", 600 - len(kept["BUFFER"]))]
    assert told(lines_of["SCAN"]) == [("lost_there", "scan", 551), ("lost_there", "after_last", 19)]
    assert told(lines_of["LOST"]) == [("lost_there", "disconnected", 100)]
    assert told(lines_of["LATE"]) == [("lost_there", "before_first", 100)]
    assert told(lines_of["EGU"]) == [("metadata", "units", 1)]
    assert lines_of["EGU"]["differences"][0]["there"] == "mA"
    assert lines_of["TYPE"]["status"] == "equal", lines_of["TYPE"]
    assert told(lines_of["NARROW"]) == [("type", "narrowed", 600)]
    assert total["aliases_missing"] == 0
    appliance.aliases["OTHER:NAME"] = "EGU"
    _, total = compare("--server", archiver.url, "--with", appliance.url, *MINUTE, code=DIFFERS)
    assert total["aliases_missing_names"] == ["OTHER:NAME of EGU"] and total["pvs"] == 7


RECORDS = 'record(calc, "L:count") { field(SCAN, ".1 second") field(CALC, "VAL+1") }\n'


def test_two_that_record_are_compared_as_they_go(
    start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]
) -> None:
    ioc = start_ioc(RECORDS)
    here, there = start_pvark(ioc), start_pvark(ioc)
    for archiver in (here, there):
        archiver.archive.add("ca://L:count")
        archiver.wait_connected("L:count")
    time.sleep(1)
    live = ["--server", here.url, "--with", there.url, "--for", "12s", "--lag", "2s"]
    lines, total = compare(*live, code=EQUAL)
    assert 100 <= lines["L:count"]["equal"] <= 140 and total["pvs_equal"] == 1
    assert there.json("/mgmt/bpl/pauseArchivingPV?pv=L:count")["status"] == "ok"
    time.sleep(1)
    lines, _ = compare(*live, code=DIFFERS)
    assert lines["L:count"]["lost_there"] >= 100 and lines["L:count"]["equal"] == 0


def test_line_helpers_of_these_tests_agree() -> None:
    assert time_of(double(123, 4.5)) == BEGINS + 12_300_000_000
    assert time_of(line(b"\x08\x0a\x10\x0d")) == (YEAR_START + 10) * SECOND + 13
