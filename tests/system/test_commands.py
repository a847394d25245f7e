"""The command line: add, get, check and the demo, as a person would use them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pvark
import pyarrow
import pytest
from archiver import ROOT, Pvark, clean_environment, program, run_program
from ioc import Ioc
from ports import free_port
from waiting import wait_for

RECORDS = """
record(calc, "G:count") { field(SCAN, ".1 second") field(CALC, "VAL+1") field(EGU, "n") }
record(mbbi, "G:state") { field(PINI, "YES") field(INP, "1") field(ZRST, "No") field(ONST, "Yes") }
"""


@pytest.fixture
def server(start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]) -> Pvark:
    server = start_pvark(start_ioc(RECORDS))
    answer = run_program("add", "G:count", "pva://G:state", "--server", server.url)
    assert answer.returncode == 0, answer.stderr
    assert "G:count" in answer.stdout
    wait_for("samples", lambda: len(server.archive.get("G:count")) > 20 and len(server.archive.get("G:state")) == 1)
    return server


def test_get_prints_the_samples_in_every_format(server: Pvark) -> None:
    samples = server.archive.get("G:count")
    start, end = f"{samples.times[0]}Z", f"{samples.times[-1]}Z"
    expected = samples.values[:-1].tolist()

    def get(form: str) -> bytes:
        command = [str(program()), "get", "G:count", "--from", start, "--to", end, "--format", form]
        command += ["--server", server.url]
        answer = subprocess.run(command, env=clean_environment(), capture_output=True, timeout=30)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    rows = list(csv.DictReader(line for line in io.StringIO(get("csv").decode()) if not line.startswith("#")))
    assert [float(row["value"]) for row in rows] == expected
    chunks = json.loads(get("json"))["chunks"]
    assert [value for chunk in chunks for value in chunk["values"]] == expected
    table = pyarrow.ipc.open_stream(get("arrow")).read_all()
    assert table.num_rows == len(expected)
    assert expected in [table.column(index).to_pylist() for index in range(table.num_columns)]
    text = get("table").decode()
    assert len(text.splitlines()) >= len(expected)


def test_get_in_bins(server: Pvark) -> None:
    answer = run_program("get", "G:count", "--bins", "4", "--format", "json", "--server", server.url)
    assert answer.returncode == 0, answer.stderr
    assert len(json.loads(answer.stdout)["bins"]["count"]) == 4
    table = run_program("get", "G:count", "--bins", "4", "--server", server.url)
    assert table.returncode == 0, table.stderr
    assert len(table.stdout.splitlines()) >= 4


def test_a_day_of_an_operator_at_the_command_line(server: Pvark) -> None:
    def run(*arguments: str) -> tuple[int, list[str]]:
        answer = run_program(*arguments, "--server", server.url)
        return answer.returncode, answer.stdout.splitlines()

    assert run("list", "--names") == (0, ["G:count", "G:state"])
    code, lines = run("list", "count", "--state", "connected")
    assert code == 0 and lines[0].split() == ["name", "protocol", "state", "since", "last", "value"]
    assert len(lines) == 2 and lines[1].split()[:3] == ["G:count", "ca", "connected"]
    code, lines = run("status")
    assert code == 0 and lines[-1] == "nothing is wrong" and any(line.startswith("pvs.") for line in lines), lines
    assert run("report", "never-connected") == (0, [])
    code, lines = run("report", "event-rate", "--limit", "1")
    assert code == 0 and lines[0].startswith("pvName") and len(lines) == 2
    assert run("pause", "G:*") == (0, ["G:count  paused", "G:state  paused"])
    code, lines = run("pause", "G:count", "G:nobody")
    assert code == 1 and "already paused" in lines[0] and "not being archived" in lines[1], lines
    assert run("list", "--state", "paused", "--names")[1] == ["G:count", "G:state"]
    assert run("resume", "G:count") == (0, ["G:count  resumed"])


def test_five_thousand_pvs_are_taken_out_and_brought_back_in_one_change_each(start_pvark: Callable[..., Pvark]) -> None:
    server = start_pvark()
    many = [f"BULK:{number}" for number in range(5000)]

    def run(*arguments: str, lines: list[str]) -> tuple[int, list[str], str]:
        answer = run_program(*arguments, "-", "--server", server.url, lines=lines)
        return answer.returncode, answer.stdout.splitlines(), answer.stderr

    def names() -> int:
        return int(server.json("/api/v1/pvs?limit=1")["total"])

    assert run("add", lines=many)[0] == 0
    code, lines, stderr = run("remove", lines=["# a comment", *many, "NOBODY", many[0]])
    assert (code, names()) == (1, 0) and "1 of 5002 PVs stay where they are" in stderr, stderr
    assert lines[0] == "BULK:0  removed" and 'NOBODY  no PV is called "NOBODY"' in lines
    code, lines, stderr = run("restore", lines=[*many[1:], "NOBODY"])
    assert (code, names()) == (1, 4999) and lines[0] == "BULK:1  restored", stderr
    assert run("restore", lines=[many[0]])[:2] == (0, ["BULK:0  restored"])
    assert run("restore", lines=[many[0], many[1]])[:2] == (0, ["BULK:0  already_archived", "BULK:1  already_archived"])
    assert run("remove", "--delete-data", lines=many)[0] == 0
    removed = server.json("/api/v1/removed")["removed"]
    assert len(removed) == 5000 and {row["data"] for row in removed} == {"deleted"}
    assert len({row["since"] for row in removed}) == 1, "it was one change"
    refused = run_program("restore", "BULK:1", "BULK:2", "--as", "X", "--server", server.url)
    assert refused.returncode == 1 and "--as" in refused.stderr


def test_get_of_an_unknown_pv_fails_with_its_name(server: Pvark) -> None:
    answer = run_program("get", "NOBODY", "--server", server.url)
    assert answer.returncode not in (0, 101)
    assert "NOBODY" in answer.stderr and answer.stdout == ""


def test_check_beside_a_running_archiver_finds_nothing_wrong(server: Pvark) -> None:
    answer = run_program("check", "--data", server.data)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_help_and_version() -> None:
    for arguments in (["--help"], ["run", "--help"], ["get", "--help"], ["--version"]):
        answer = run_program(*arguments)
        assert answer.returncode == 0 and answer.stdout


def test_the_demo_archives_everything_that_moves(tmp_path: Path) -> None:
    """Run in an empty folder, so that nothing of an earlier demo is found."""
    port = free_port()
    command = [str(program()), "demo", "--python", sys.executable, "--listen", f"127.0.0.1:{port}"]
    command += ["--data", str(tmp_path / "data")]
    log = (tmp_path / "log").open("wb")
    process = subprocess.Popen(command, cwd=ROOT, env=clean_environment(), stdout=log, stderr=log)
    try:
        archive = pvark.Archiver(f"http://127.0.0.1:{port}")

        def connected() -> bool:
            assert process.poll() is None, (tmp_path / "log").read_text()
            try:
                status = archive.status()
            except pvark.ConnectionFailed:
                return False
            return status.pvs["connected"] >= 100 and status.pvs["total"] == 101

        wait_for("the demo to be connected", connected, 40)
        wait_for("samples", lambda: len(archive.get("DEMO:TICK:FAST")) > 20)
        assert archive.pv("DEMO:NEVER:CONNECTS").state == "searching"
    finally:
        process.terminate()
        assert process.wait(30) == 0
        log.close()


def test_times_are_typed_and_told_in_the_zone_of_the_site_or_in_another(start_pvark: Callable[..., Pvark]) -> None:
    server = start_pvark(more='zone = "Europe/Berlin"\n')
    server.archive.add("ca://ZONE:X")
    server.take("ZONE:X", "f64", "2026-06-01T06:30:00.25Z,7\n2026-06-01T08:30:00Z,8\n")

    def got(from_: str, to: str, *more: str) -> str:
        said = run_program("get", "ZONE:X", "--from", from_, "--to", to, "--server", server.url, *more)
        assert said.returncode == 0, said.stderr
        return said.stdout

    berlin = got("2026-06-01 08:00", "+1h")
    assert "2026-06-01T08:30:00.250000000+02:00" in berlin and " 8 " not in berlin, berlin
    utc = got("2026-06-01 08:00", "+1h", "--zone", "utc")
    assert "2026-06-01T08:30:00.000000000Z" in utc and " 7 " not in utc, utc
    tokyo = got("2026-06-01 15:00", "+1h", "--zone", "Asia/Tokyo")
    assert "2026-06-01T15:30:00.250000000+09:00" in tokyo, tokyo
    assert "2026-06-01T06:30:00.250000000Z" in got("2026-06-01 08:00", "+1h", "--format", "csv"), "files stay in UTC"
    wrong = run_program("get", "ZONE:X", "--zone", "Europe/Lund", "--server", server.url)
    assert wrong.returncode != 0 and "Europe/Stockholm" in wrong.stderr, wrong.stderr
