"""The Archiver Appliance's files: read where they lie, and imported, with what is damaged told."""

from __future__ import annotations

import json
import math
import os
import shutil
import socket
import struct
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from appliance import YEAR_START, Appliance, field, header, sample
from archiver import ROOT, Pvark, run_program
from waiting import wait_for

AA = ROOT / "testdata" / "aa"
STORES = ["sts", "mts", "lts"]
PVS = ["REF:ALARMS", "REF:EDGES", "REF:ENUM", "REF:STRING", "REF:TIERS", "REF:WFD"]
SPAN = "from=2025-01-01T00:00:00Z&to=2027-01-01T00:00:00Z"


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Callable[[Path], Pvark]]:
    """Starts an archiver that reads the stores below a folder in place."""
    started: list[Pvark] = []

    def start(root: Path) -> Pvark:
        folder = tmp_path / "beside"
        folder.mkdir()
        archiver = Pvark(folder)
        with archiver.config_path.open("a") as config:
            for store in STORES:
                config.write(f'[[old_archive]]\nkind = "plainpb"\npath = {json.dumps(str(root / store))}\n')
                config.write(f"type_info = {json.dumps(str(AA / 'typeinfo'))}\n")
        started.append(archiver.start())
        return archiver

    yield start
    for archiver in started:
        archiver.kill()


def listed(archiver: Pvark) -> list[str]:
    return sorted(archiver.json("/mgmt/bpl/getAllPVs?limit=-1"))


def csv(archiver: Pvark, pv: str) -> bytes:
    status, _, body = archiver.request("GET", f"/api/v1/pvs/{pv}/samples?format=csv&{SPAN}")
    assert status == 200, body[:300]
    return body


def count(archiver: Pvark, pv: str) -> int:
    answer = archiver.json(f"/api/v1/pvs/{pv}/samples?format=json&limit=100000&{SPAN}")
    return sum(len(chunk["seconds"]) for chunk in answer["chunks"])


def test_files_are_served_in_place_and_not_touched(beside: Callable[[Path], Pvark], tmp_path: Path) -> None:
    root = tmp_path / "aa"
    shutil.copytree(AA, root)
    before = {path: path.read_bytes() for path in root.rglob("*.pb")}
    archiver = beside(root)
    wait_for("all PVs to be listed", lambda: listed(archiver) == PVS, 30)
    status = archiver.json("/mgmt/bpl/getPVStatus?pv=REF:TIERS")
    assert status[0]["status"] == "Paused"
    assert csv(archiver, "REF:TIERS").count(b"\n") == 1 + 34_960  # 30 s for 12 d 3 h 20 min
    wait_for(
        "the scan to end", lambda: all(old["scanned"] for old in archiver.json("/api/v1/status")["old_archives"]), 30
    )
    old = archiver.json("/api/v1/status")["old_archives"]
    assert [(one["pvs"], one["files_bad"], one["lines_bad"]) for one in old] == [(1, 0, 0), (1, 0, 0), (6, 0, 0)]
    detail = archiver.json("/api/v1/pvs/REF:ALARMS")
    assert detail["metadata"]["units"] == "mA"
    bins = archiver.json(f"/api/v1/pvs/REF:TIERS/bins?bins=10&{SPAN}")
    assert bins
    # A new PV of an archiver that goes on is found at the next start, and what somebody removed stays removed.
    assert run_program("remove", "--server", archiver.url, "REF:ENUM").returncode == 0
    assert archiver.terminate() == 0
    archiver.start()
    wait_for(
        "the scan to end", lambda: all(old["scanned"] for old in archiver.json("/api/v1/status")["old_archives"]), 30
    )
    assert listed(archiver) == [pv for pv in PVS if pv != "REF:ENUM"]
    assert {path: path.read_bytes() for path in root.rglob("*.pb")} == before


def test_aliases_lead_to_files_that_are_read_in_place(tmp_path: Path) -> None:
    aliases = tmp_path / "aliases.json"
    rows = [{"aliasName": "ALIAS:T", "srcPVName": "REF:TIERS"}, {"pvName": "ALIAS:E", "realName": "REF:ENUM"}]
    rows += [{"aliasName": "REF:WFD", "srcPVName": "REF:ENUM"}, {"aliasName": "ALIAS:N", "srcPVName": "NO:SUCH"}]
    aliases.write_text(json.dumps(rows))
    archiver = Pvark(tmp_path)
    with archiver.config_path.open("a") as config:
        config.write(f'[[old_archive]]\nkind = "plainpb"\npath = {json.dumps(str(AA / "lts"))}\n')
        config.write(f"aliases = {json.dumps(str(aliases))}\n")
    try:
        archiver.start()
        wait_for("the aliases", lambda: listed(archiver) == sorted(["ALIAS:E", "ALIAS:T", *PVS]), 30)
        status = archiver.json("/mgmt/bpl/getPVStatus?pv=ALIAS:*")
        assert [(row["pvName"], row["pvNameOnly"]) for row in status] == [
            ("ALIAS:E", "REF:ENUM"),
            ("ALIAS:T", "REF:TIERS"),
        ]
        assert csv(archiver, "ALIAS:T") == csv(archiver, "REF:TIERS") != b""
        data = archiver.json(f"/retrieval/data/getData.json?pv=ALIAS:E&{SPAN}")[0]
        assert data["meta"]["name"] == "ALIAS:E" and len(data["data"]) == count(archiver, "REF:ENUM")
        assert archiver.json("/api/v1/pvs/ALIAS:E")["name"] == "REF:ENUM"
        assert count(archiver, "REF:WFD") > 0, "a name with samples of its own stays a PV"
        assert archiver.json("/mgmt/bpl/removeAlias?pv=REF:TIERS&aliasname=ALIAS:T")["status"] == "ok"
        assert archiver.terminate() == 0
        archiver.start()
        done = lambda: all(old["scanned"] for old in archiver.json("/api/v1/status")["old_archives"])  # noqa: E731
        wait_for("the scan to end", done, 30)
        assert listed(archiver) == sorted(["ALIAS:E", *PVS])
        aliases.write_text('[{"aliasName": "A"}]')
        assert archiver.terminate() == 0
        with pytest.raises(RuntimeError, match="aliases.json.*is no alias"):
            archiver.start()
    finally:
        archiver.kill()


def test_an_import_is_whole_and_goes_on_where_it_was(
    beside: Callable[[Path], Pvark], start_pvark: Callable[..., Pvark], tmp_path: Path
) -> None:
    reference = beside(AA)
    wait_for("all PVs to be listed", lambda: listed(reference) == PVS, 30)
    archiver = start_pvark()
    aliases = tmp_path / "aliases.json"
    aliases.write_text(json.dumps([{"aliasName": "ALIAS:T", "srcPVName": "REF:TIERS"}, {"aliasName": "X"}]))
    command: list[str | Path] = [
        "import",
        "archiver-appliance",
        "--server",
        archiver.url,
        "--type-info",
        AA / "typeinfo",
    ]
    command += ["--aliases", aliases, *(AA / store for store in STORES)]
    first = run_program(*command, seconds=120)
    assert first.returncode == 0, first.stderr
    assert "6 PVs of its configuration are in the list, 0 are archived from now on" in first.stdout
    assert "1 aliases" in first.stdout and "is no alias" in first.stdout
    assert " 0 of which had been imported before" in first.stdout
    for pv in PVS:
        assert csv(archiver, pv) == csv(reference, pv), pv
    assert csv(archiver, "ALIAS:T") == csv(archiver, "REF:TIERS")
    assert archiver.json("/api/v1/pvs/REF:ALARMS")["metadata"]["units"] == "mA"
    gaps = archiver.json(f"/api/v1/pvs/REF:ALARMS/gaps?{SPAN}")["gaps"]
    assert [gap for gap in gaps if gap["cause"] == "disconnected"]
    archiver.kill()
    archiver.start()
    again = run_program(*command, seconds=120)
    assert again.returncode == 0, again.stderr
    parts = again.stdout.split(" parts, ")[0].split()[-1]
    assert f"{parts} parts, {parts} of which had been imported before" in again.stdout
    for pv in PVS:
        assert csv(archiver, pv) == csv(reference, pv), pv


def test_what_is_damaged_is_told_and_the_rest_imported(start_pvark: Callable[..., Pvark], tmp_path: Path) -> None:
    store = tmp_path / "lts"
    shutil.copytree(AA / "lts", store)
    edges = store / "REF" / "EDGES:2026.pb"
    lines = edges.read_bytes().split(b"\n")
    samples = len(lines) - 2
    lines[5] = b"\x08garbage"
    edges.write_bytes(b"\n".join(lines)[:-4])
    (store / "REF" / "WFD:2026.pb").write_bytes(b"")
    dry = run_program("import", "archiver-appliance", "--dry-run", store)
    assert dry.returncode == 0, dry.stderr
    assert "5 PVs" in dry.stdout and "1 lines are no samples" in dry.stdout
    assert "EDGES:2026.pb: the last line is cut off" in dry.stdout
    assert "1 files cannot be read" in dry.stdout and "WFD:2026.pb" in dry.stdout
    archiver = start_pvark()
    assert listed(archiver) == []
    done = run_program("import", "archiver-appliance", "--server", archiver.url, store, seconds=120)
    assert done.returncode == 0, done.stderr
    assert listed(archiver) == [pv for pv in PVS if pv != "REF:WFD"]
    assert csv(archiver, "REF:EDGES").count(b"\n") == samples - 2 + 1
    nowhere = run_program("import", "archiver-appliance", "--server", archiver.url, tmp_path / "nowhere")
    assert nowhere.returncode == 1 and "is no folder" in nowhere.stderr


@pytest.mark.parametrize("layout", ["{key}.zip", "{key}:_pb.zip"])
def test_zip_files_are_imported_as_what_is_in_them(
    start_pvark: Callable[..., Pvark], tmp_path: Path, layout: str
) -> None:
    packed = tmp_path / "lts"
    for pv in PVS:
        key = pv.replace(":", "/")
        path = packed / layout.format(key=key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted((AA / "lts" / "REF").glob(f"{pv[4:]}:*.pb")):
                archive.write(file, file.name if layout == "{key}.zip" else f"REF/{file.name}")
    plain, unpacked = start_pvark(), start_pvark()
    for archiver, folder in [(plain, AA / "lts"), (unpacked, packed)]:
        done = run_program("import", "archiver-appliance", "--server", archiver.url, folder, seconds=120)
        assert done.returncode == 0, done.stdout + done.stderr
    for pv in PVS:
        assert csv(unpacked, pv) == csv(plain, pv), pv


@pytest.fixture
def appliance() -> Iterator[Appliance]:
    served = Appliance()
    yield served
    served.close()


def files_of(pv: str) -> tuple[bytes, list[bytes]]:
    """A header and all lines of this year of a PV's long term store."""
    head, *lines = (AA / "lts" / f"{pv.replace(':', '/')}:2026.pb").read_bytes().splitlines(keepends=True)
    return head, lines


def import_from(url: str, archiver: Pvark, state: Path) -> subprocess.CompletedProcess[str]:
    """Imports from an Appliance that runs; `state` says how far earlier runs have come."""
    where: list[str | Path] = ["--server", archiver.url, "--state", state, url]
    return run_program("import", "archiver-appliance", *where, seconds=120)


@pytest.mark.parametrize("fault", [None, "drop", "torn", "error", "short", "garbage"])
def test_a_living_appliance_is_imported_whole_and_later_what_is_new(
    start_pvark: Callable[..., Pvark], appliance: Appliance, tmp_path: Path, fault: str | None
) -> None:
    pvs = ["REF:EDGES", "REF:ENUM", "REF:STRING", "REF:WFD"]
    for pv in pvs:
        appliance.samples[pv] = files_of(pv)
        info = json.loads((AA / "typeinfo" / f"{pv.replace(':', '_')}.json").read_text())
        appliance.type_infos[pv] = info[0] if isinstance(info, list) else info
    late = appliance.samples["REF:ENUM"][1]
    appliance.samples["REF:ENUM"] = (files_of("REF:ENUM")[0], late[:-40])
    appliance.aliases["ALIAS:E"] = "REF:EDGES"
    appliance.faults = [fault] * 2 if fault else []
    archiver = start_pvark()
    state = tmp_path / "state.jsonl"
    first = import_from(appliance.url, archiver, state)
    assert first.returncode == 0, first.stdout + first.stderr
    assert not appliance.faults
    assert "4 PVs of its configuration are in the list" in first.stdout and "1 aliases" in first.stdout
    for pv in pvs:
        assert count(archiver, pv) == len(appliance.samples[pv][1]), pv
    assert csv(archiver, "ALIAS:E") == csv(archiver, "REF:EDGES")
    # Each window with samples is asked for twice, to hear that there is no more; empty ones between are passed over.
    asked = len(appliance.asked)
    assert asked < 40
    again = import_from(appliance.url, archiver, state)
    assert again.returncode == 0 and again.stdout.startswith("4 PVs"), again.stdout + again.stderr
    assert "\n0 samples" in again.stdout
    assert len(appliance.asked) - asked == 2 * len(pvs), "only the time since then is asked for"


def test_fields_come_from_a_living_appliance_with_their_samples(
    start_pvark: Callable[..., Pvark], appliance: Appliance, tmp_path: Path
) -> None:
    info = json.loads((AA / "typeinfo" / "REF_ALARMS.json").read_text())
    appliance.samples["REF:ALARMS"] = files_of("REF:ALARMS")
    appliance.type_infos["REF:ALARMS"] = info | {"archiveFields": [*info["archiveFields"], "ADEL", "RBV"]}
    appliance.samples["REF:ALARMS.RBV"] = (header("REF:ALARMS.RBV"), files_of("REF:EDGES")[1])
    appliance.type_infos["REF:ALARMS.RBV"] = info | {"pvName": "REF:ALARMS.RBV", "archiveFields": []}
    archiver = start_pvark()
    done = import_from(appliance.url, archiver, tmp_path / "state.jsonl")
    assert done.returncode == 0, done.stdout + done.stderr
    names = listed(archiver)
    assert {"REF:ALARMS", "REF:ALARMS.HIHI", "REF:ALARMS.RBV"} <= set(names) and "REF:ALARMS.ADEL" not in names
    assert all(count(archiver, name) for name in names), "no name stands there without samples"
    assert count(archiver, "REF:ALARMS.RBV") == len(files_of("REF:EDGES")[1])


def test_an_appliance_that_fails_loses_nothing_of_an_import(
    start_pvark: Callable[..., Pvark], appliance: Appliance, tmp_path: Path
) -> None:
    for pv in ["REF:EDGES", "REF:ENUM"]:
        appliance.samples[pv] = files_of(pv)
    head, lines = files_of("REF:EDGES")
    appliance.samples["REF:GONES"] = (head.replace(b"EDGES", b"GONES"), lines)
    appliance.fault_of = {"REF:ENUM": "error", "REF:GONES": "gone"}
    archiver = start_pvark()
    state = tmp_path / "state"
    broken = import_from(appliance.url, archiver, state)
    assert broken.returncode == 1 and "2 PVs could not be read to their end" in broken.stderr
    assert "REF:ENUM: the archiver does not give it" in broken.stdout
    assert "REF:GONES: the archiver does not give it" in broken.stdout
    assert appliance.asked.count("REF:GONES") == 2, "a PV that is not there is not waited for"
    appliance.fault_of.clear()
    appliance.asked.clear()
    whole = import_from(appliance.url, archiver, state)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    assert count(archiver, "REF:ENUM") == len(files_of("REF:ENUM")[1])
    other = import_from("http://127.0.0.1:9/", archiver, state)
    assert other.returncode == 1 and "no archiver answers" in other.stderr


def test_a_sample_beyond_8_mib_is_imported(start_pvark: Callable[..., Pvark], tmp_path: Path) -> None:
    folder = tmp_path / "lts" / "BIG"
    folder.mkdir(parents=True)
    values = [bytes(range(256)) * (9 << 12), bytes(1000)]  # 9 MiB in which three of 256 bytes are escaped
    lines = [sample((YEAR_START + second) * 10**9, field(3, value)) for second, value in enumerate(values)]
    (folder / "WF:2026.pb").write_bytes(header("BIG:WF", kind=11) + b"".join(lines))
    archiver = start_pvark()
    done = run_program("import", "archiver-appliance", "--server", archiver.url, tmp_path / "lts", seconds=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 samples read back and found equal" in done.stdout
    assert archiver.json("/api/v1/pvs/BIG:WF")["extent"]["samples"] == 2


def test_a_folder_that_does_not_answer_does_not_hold_up_the_end(
    beside: Callable[[Path], Pvark], tmp_path: Path
) -> None:
    root = tmp_path / "aa"
    shutil.copytree(AA, root)
    # Whoever opens it waits for ever, as for a file of a server that has died.
    os.mkfifo(root / "lts" / "REF" / "DEAD:2026.pb")
    archiver = beside(root)
    archiver.archive.add("ca://REF:DEAD")
    with socket.create_connection(("127.0.0.1", archiver.port)) as waiting:
        waiting.sendall(
            b"GET /api/v1/pvs/REF:DEAD/samples?from=2026-01-01T00:00:00Z HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )
        time.sleep(1)
        begun = time.monotonic()
        assert archiver.terminate() == 0
    assert time.monotonic() - begun < 20
    assert "does not answer" in archiver.log()


def test_bins_of_files_in_place_come_from_digests_the_second_time(
    beside: Callable[[Path], Pvark], tmp_path: Path
) -> None:
    root = tmp_path / "aa"
    for store in STORES:
        (root / store).mkdir(parents=True)
    (root / "sts" / "DIG").mkdir()
    path = root / "sts" / "DIG" / "A:2026_01_02.pb"
    start = YEAR_START + 86_400

    def lines(first: int, last: int, times: float = 1.0) -> bytes:
        numbers = ((second, b"\x19" + struct.pack("<d", times * (second % 97))) for second in range(first, last))
        return b"".join(sample((start + second) * 1_000_000_000, number) for second, number in numbers)

    def means(archiver: Pvark) -> list[float]:
        span = "from=2026-01-02T00:00:00Z&to=2026-01-02T05:00:00Z"
        data = archiver.json(f"/retrieval/data/getData.json?pv=mean_600(DIG:A)&{span}")[0]["data"]
        return [row["val"] for row in data]

    def expected(last: int, times: float = 1.0) -> list[float]:
        bins = [
            [times * (second % 97) for second in range(first, min(first + 600, last))] for first in range(0, last, 600)
        ]
        found = [math.fsum(values) / len(values) for values in bins]
        return found + [found[-1]] * (31 - len(found))

    path.write_bytes(header("DIG:A") + lines(0, 12_000))
    archiver = beside(root)
    wait_for("the PV", lambda: "DIG:A" in listed(archiver), 30)

    def kept() -> list[Path]:
        return sorted((archiver.data / "digests").rglob("*.digest"))

    assert means(archiver) == pytest.approx(expected(12_000), rel=1e-14)
    wait_for("a digest", lambda: means(archiver) and kept(), 30)
    assert means(archiver) == pytest.approx(expected(12_000), rel=1e-14)
    # It goes on, and then it is written anew.
    with path.open("ab") as more:
        more.write(lines(12_000, 15_000))
    assert means(archiver) == pytest.approx(expected(15_000), rel=1e-14)
    path.write_bytes(header("DIG:A") + lines(0, 15_000, 2.0))
    assert means(archiver) == pytest.approx(expected(15_000, 2.0), rel=1e-14)
    # A digest that is damaged is made anew.
    wait_for("a digest of that", lambda: means(archiver) and kept(), 30)
    digest = kept()[0]
    whole = digest.read_bytes()
    digest.write_bytes(whole[:4200] + bytes([whole[4200] ^ 4]) + whole[4201:])
    assert means(archiver) == pytest.approx(expected(15_000, 2.0), rel=1e-14)
    assert archiver.terminate() == 0
    # Nothing was written there, and to a check and a backup digests are nothing.
    assert [one.name for one in root.rglob("*") if one.is_file()] == [path.name]
    checked = run_program("check", "--data", archiver.data)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    backup = tmp_path / "backup"
    copied = run_program("backup", "--data", archiver.data, "--to", backup)
    assert copied.returncode == 0, copied.stdout + copied.stderr
    assert not (backup / "digests").exists()
