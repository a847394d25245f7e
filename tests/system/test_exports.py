"""Exports: files of twenty PVs over a month, read by other programs, hold what `get` and `aligned` give; a connection
that breaks and an archiver that is killed cost nothing."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pvark
import pyarrow.feather
import pyarrow.parquet
import pytest
from archiver import Pvark, run_program
from export_files import (
    END,
    FLOATS,
    PVS,
    SECONDS,
    START,
    is_table_of_rows,
    is_workbook_of_rows,
    is_workbook_of_samples,
    is_zip_of_samples,
    same,
    start_with_month,
)
from ports import free_port
from waiting import wait_for


@pytest.fixture(scope="module")
def server(module_folder: Path) -> Iterator[Pvark]:
    server = Pvark(module_folder)
    try:
        start_with_month(server)
        yield server
    finally:
        server.kill()


def test_a_workbook_holds_every_sample(server: Pvark, tmp_path: Path) -> None:
    heard: list[pvark.Export] = []
    job = server.archive.export(PVS, tmp_path / "month.xlsx", START, END, progress=heard.append)
    assert job.state == "done" and heard[-1].progress == 1 and job.path == str(tmp_path / "month.xlsx")
    given = server.archive.get(PVS, START, END)
    is_workbook_of_samples(tmp_path / "month.xlsx", given)
    assert job.samples == sum(len(given[pv]) for pv in PVS)


def test_a_workbook_holds_the_rows_of_aligned(server: Pvark, tmp_path: Path) -> None:
    server.archive.export(PVS, tmp_path / "rows.xlsx", START, END, period=3600, severity=True)
    given = server.archive.aligned(PVS, START, END, period=3600)
    is_workbook_of_rows(tmp_path / "rows.xlsx", given, columns_each=2)


def test_parquet_and_arrow_hold_them_too(server: Pvark, tmp_path: Path) -> None:
    given = server.archive.get(PVS, START, END)
    aligned = server.archive.aligned(PVS, START, END, period=3600)
    for form in ("parquet", "arrow"):
        server.archive.export(PVS, tmp_path / "all.zip", START, END, form=form)
        is_zip_of_samples(tmp_path / "all.zip", form, given)
        server.archive.export(PVS, tmp_path / f"rows.{form}", START, END, period=3600)
        is_table_of_rows(tmp_path / f"rows.{form}", form, aligned)


def test_matlab_files_hold_them_too(server: Pvark, tmp_path: Path) -> None:
    scipy_io = pytest.importorskip("scipy.io")
    server.archive.export(PVS, tmp_path / "all.mat", START, END)
    found = scipy_io.loadmat(tmp_path / "all.mat", squeeze_me=True, struct_as_record=False)
    given = server.archive.get(PVS, START, END)
    of = {value.name: value for key, value in found.items() if key.startswith("SR_")}
    assert set(of) == set(PVS) and found["header"].source == "pvark"
    for pv in PVS:
        times = of[pv].epochSeconds * 10**9 + of[pv].nanos
        assert times.tolist() == given[pv].times.astype("int64").tolist()
        assert all(same(a, b) for a, b in zip(of[pv].values.tolist(), given[pv].values.tolist(), strict=True)), pv
        assert of[pv].severity.tolist() == given[pv].severity.tolist()
    server.archive.export(FLOATS, tmp_path / "rows.mat", START, END, period=3600)
    rows = scipy_io.loadmat(tmp_path / "rows.mat", squeeze_me=True, struct_as_record=False)
    aligned = server.archive.aligned(FLOATS, START, END, period=3600)
    assert (rows["times"].epochSeconds * 10**9 + rows["times"].nanos).tolist() == aligned.times.astype("int64").tolist()
    for value in [value for key, value in rows.items() if key.startswith("SR_")]:
        both = zip(value.values.tolist(), aligned.values[value.name].tolist(), strict=True)
        assert all(same(a, b) for a, b in both), value.name
    # What is no value is told from 0 without asking for severities: the first row comes before the first sample.
    server.archive.export(["SR:COUNT", FLOATS[0]], tmp_path / "count.mat", START, END, period=3600)
    found = scipy_io.loadmat(tmp_path / "count.mat", squeeze_me=True, struct_as_record=False)
    count = found["SR_COUNT"]
    assert (count.values[0], count.severity[0]) == (0, 255) and 255 not in count.severity[1:]
    assert count.values[1] >= 2**60 and "255" in found["header"].absent
    assert not hasattr(found["SR_C00_BPM0_X"], "severity")


@contextmanager
def breaking(port: int, after: int) -> Iterator[int]:
    """A way to a port on which each connection breaks after so many bytes."""
    ear = socket.create_server(("127.0.0.1", free_port()))
    ended = threading.Event()

    def carry(client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", port)) as server, suppress(OSError):
            client.settimeout(0.2)
            server.settimeout(5)
            asked = b""
            while b"\r\n\r\n" not in asked:
                asked += client.recv(65536)
            with suppress(TimeoutError):
                asked += client.recv(65536)
            server.sendall(asked.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
            left = after
            while left > 0 and (piece := server.recv(min(left, 65536))):
                client.sendall(piece)
                left -= len(piece)

    def listen() -> None:
        while not ended.is_set():
            with suppress(OSError):
                client, _ = ear.accept()
                threading.Thread(target=carry, args=[client], daemon=True).start()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield ear.getsockname()[1]
    finally:
        ended.set()
        ear.close()


def test_a_download_over_connections_that_break_is_the_same_bytes(
    server: Pvark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = server.archive.export(PVS, tmp_path / "whole.csv", START, END)
    expected = hashlib.sha256((tmp_path / "whole.csv").read_bytes()).hexdigest()
    with breaking(server.port, whole.bytes // 5) as port:
        answer = run_program(
            "export", "--fetch", str(whole.number), "-o", tmp_path / "cli.csv", "--server", f"http://127.0.0.1:{port}"
        )
    assert answer.returncode == 0 and answer.stderr.count("going on") >= 4, answer.stderr
    assert hashlib.sha256((tmp_path / "cli.csv").read_bytes()).hexdigest() == expected
    # In Python a piece comes whole or is asked for again.
    monkeypatch.setattr("pvark._exports.PIECE_BYTES", whole.bytes // 7)
    with breaking(server.port, whole.bytes // 5) as port:
        pvark.Archiver(f"http://127.0.0.1:{port}").fetch_export(whole.number, tmp_path / "python.csv")
    assert hashlib.sha256((tmp_path / "python.csv").read_bytes()).hexdigest() == expected
    # What another program left half is gone on with.
    assert not list(tmp_path.glob("*.part"))
    mark = "".join(letter for letter in whole.etag or "" if letter.isalnum() or letter == "-")
    half = (tmp_path / "whole.csv").read_bytes()[: whole.bytes // 2]
    (tmp_path / f"rest.csv.{mark}.part").write_bytes(half)
    server.archive.fetch_export(whole.number, tmp_path / "rest.csv")
    assert hashlib.sha256((tmp_path / "rest.csv").read_bytes()).hexdigest() == expected


def test_two_that_fetch_the_same_at_once_write_one_file(server: Pvark, tmp_path: Path) -> None:
    whole = server.archive.export(PVS, tmp_path / "whole.csv", START, END)
    expected = hashlib.sha256((tmp_path / "whole.csv").read_bytes()).hexdigest()
    answers = []

    def fetch(port: int) -> None:
        answers.append(
            run_program(
                "export", "--fetch", str(whole.number), "-o", tmp_path / "x.csv", "--server", f"http://127.0.0.1:{port}"
            )
        )

    with breaking(server.port, whole.bytes // 3) as port:
        threads = [threading.Thread(target=fetch, args=[port]) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [answer.returncode for answer in answers] == [0, 0], [answer.stderr for answer in answers]
    assert hashlib.sha256((tmp_path / "x.csv").read_bytes()).hexdigest() == expected
    assert not list(tmp_path.glob("*.part"))


def test_a_folder_with_a_dot_is_no_format(server: Pvark, tmp_path: Path) -> None:
    asked = ["--from", START, "--to", END, "--server", server.url]
    (tmp_path / "results.v2").mkdir()
    for end in ["", "/"]:
        made = run_program("export", "SR:COUNT", "-o", f"{tmp_path}/results.v2{end}", *asked)
        assert made.returncode == 0, made.stderr
    assert [path.suffix for path in (tmp_path / "results.v2").iterdir()] == [".csv"]
    before = len(server.archive.exports())
    missing = run_program("export", "SR:COUNT", "-o", f"{tmp_path}/results.v3/", *asked)
    assert missing.returncode != 0 and "there is no folder" in missing.stderr
    assert len(server.archive.exports()) == before


def test_the_command_plans_orders_lists_and_removes(server: Pvark, tmp_path: Path) -> None:
    asked = ["--from", START, "--to", END, "--server", server.url]
    plan = run_program("export", "SR:*", "--format", "xlsx", "--plan", *asked)
    assert plan.returncode == 0 and "31 characters" in plan.stdout, plan.stderr
    too_long = run_program("export", "SR:COUNT", "--format", "xlsx", "--period", "0.005", "--plan", *asked)
    assert too_long.returncode != 0 and "a workbook may have 250" in too_long.stderr
    made = run_program("export", "SR:*", "--period", "3600", "-o", tmp_path / "x.parquet", *asked)
    assert made.returncode == 0 and pyarrow.parquet.read_table(tmp_path / "x.parquet").num_rows == 720, made.stderr
    unknown = run_program("export", "SR:CUONT", "-o", tmp_path / "y.csv", *asked)
    assert unknown.returncode != 0 and "SR:COUNT" in unknown.stderr
    number = server.archive.exports()[0].number
    listed = run_program("export", "--list", "--server", server.url).stdout
    assert any(line.split()[:4] == [str(number), "done", "100", "%"] for line in listed.splitlines()), listed
    assert run_program("export", "--remove", str(number), "--server", server.url).returncode == 0
    with pytest.raises(pvark.UnknownPv):
        server.archive.remove_export(number)


def test_a_kill_in_the_middle_costs_nothing(server: Pvark, tmp_path: Path) -> None:
    for job in server.archive.exports():
        server.archive.remove_export(job.number)
    query = "rows=aligned&period=4&format=parquet"
    names = "&".join(f"pv={pv}" for pv in FLOATS)

    def order() -> int:
        status, _, body = server.request("POST", f"/api/v1/exports?{names}&from={START}&to={END}&{query}")
        assert status == 201, body
        return int(json.loads(body)["number"])

    def state(number: int) -> Any:
        return server.json(f"/api/v1/exports/{number}")

    undisturbed = server.archive.fetch_export(order(), tmp_path / "undisturbed.parquet")
    number = order()
    wait_for("it to be under way", lambda: state(number)["progress"] > 0.02)
    server.kill()
    server.start()
    job = state(number)
    assert job["resumed"] == 1 and job["state"] != "failed", job
    again = server.archive.fetch_export(number, tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "undisturbed.parquet").read_bytes()
    assert (again.samples, again.bytes) == (undisturbed.samples, undisturbed.bytes)
    # What was made before the kill is there still.
    assert state(undisturbed.number)["state"] == "done"


def test_no_more_is_taken_than_is_left(server: Pvark) -> None:
    ordered: list[int] = []
    refused: list[str] = []
    for _ in range(100):
        query = f"match=SR:*&from={START}&to={END}&rows=aligned&period=3&format=xlsx"
        status, _, body = server.request("POST", f"/api/v1/exports?{query}")
        answer = json.loads(body)
        if status == 201:
            ordered.append(answer["number"])
        else:
            assert status == 503, answer
            refused.append(answer["error"]["message"])
    assert len(ordered) <= 25 and any("under way" in message for message in refused), (ordered, refused[:3])
    for number in ordered:
        server.archive.remove_export(number)
    assert server.archive.status()


def test_what_is_longer_than_a_sheet_goes_on_on_the_next(server: Pvark, tmp_path: Path) -> None:
    period = SECONDS / (2**20 + 1000)
    job = server.archive.export([FLOATS[0]], tmp_path / "long.xlsx", START, END, period=period)
    assert any("2 sheets" in note for note in job.notes), job.notes
    with zipfile.ZipFile(tmp_path / "long.xlsx") as archive:
        names = archive.read("xl/workbook.xml").decode()
        assert 'name="rows"' in names and 'name="rows (2)"' in names
        counts = [archive.read(f"xl/worksheets/sheet{number}.xml").count(b"<row ") for number in (1, 2)]
    assert counts[0] == 2**20 and sum(counts) == job.samples + 2
