"""Imports that an older program began: what it entered is known by the names that it gave, all else is imported."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from archiver import ROOT, Pvark, run_program

TESTDATA = ROOT / "testdata"
STORES = [TESTDATA / "aa" / term for term in ("sts", "mts", "lts")]
CHUNK = (TESTDATA / "aa/lts/REF/STRING:2026.pb").read_bytes()
KNOWN = re.compile(r"in (\d+) parts, (\d+) of which had been imported before")


def old_names(of_import: str) -> list[str]:
    """What a program that named parts by another hash has written into its catalogue."""
    lines = (TESTDATA / "imports/names-of-0.1.txt").read_text().splitlines()
    return [name for found, name in (line.split("\t") for line in lines) if found == of_import]


def enter(server: Pvark, part: str) -> None:
    """Enters a part under a name; what is in it does not matter here."""
    path = f"/api/v1/import?import=archiver-appliance&part={quote(part)}"
    status, _, body = server.request("POST", path, CHUNK)
    assert status == 200 and b'"imported"' in body, body


@pytest.fixture
def server(start_pvark: Callable[..., Pvark]) -> Pvark:
    return start_pvark()


def import_archive(server: Pvark) -> tuple[int, int]:
    """How many parts there were, and how many of them were known."""
    done = run_program("import", "archiver-appliance", "--server", server.url, *STORES, seconds=120)
    assert done.returncode == 0, done.stdout + done.stderr
    found = KNOWN.search(done.stdout)
    assert found, done.stdout
    return int(found[1]), int(found[2])


def test_an_import_that_an_older_program_began_goes_on_and_repeats_nothing(server: Pvark) -> None:
    weeks = [name for name in old_names("archiver-appliance") if name.startswith("week of ")]
    assert len(weeks) == 4
    for week in weeks[:2]:
        enter(server, week)
    assert import_archive(server) == (4, 2), "the other two are imported"
    assert import_archive(server) == (4, 4), "these are known by their own names"


def test_csv_that_an_older_program_imported_is_known(server: Pvark) -> None:
    server.archive.add("ca://LAB:T1")
    (part,) = old_names("csv")
    name = quote(part)
    file = TESTDATA / "imports/lab.csv"
    path = f"/api/v1/pvs/LAB:T1/import?import=csv&part={name}&type=f64&line=1"
    status, _, body = server.request("POST", path, file.read_bytes())
    assert status == 200 and b'"imported"' in body, body
    again = run_program("import", "--server", server.url, "--pv", "LAB:T1", file)
    assert again.stdout.strip() == "0 samples imported, 3 had been before", again.stdout + again.stderr
    other = run_program("import", "--server", server.url, "--name", "other", "--pv", "LAB:T1", file)
    assert other.stdout.startswith("3 samples imported"), other.stdout + other.stderr
    once_more = run_program("import", "--server", server.url, "--name", "other", "--pv", "LAB:T1", file)
    assert once_more.stdout.strip() == "0 samples imported, 3 had been before", once_more.stdout


def test_type_infos_that_an_older_program_took_over_are_known(server: Pvark) -> None:
    (part,) = [name for name in old_names("archiver-appliance") if name.startswith("type infos ")]
    enter(server, part)
    before = {row["name"] for row in server.json("/api/v1/pvs")["pvs"]}
    infos = TESTDATA / "aa/typeinfo"
    done = run_program(
        "import", "archiver-appliance", "--server", server.url, "--type-info", infos, *STORES, seconds=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    audit = server.json("/api/v1/audit")["audit"]
    assert not [line for line in audit if "type infos xxh3" in line["detail"]], audit
    assert before == {"REF:STRING"}
