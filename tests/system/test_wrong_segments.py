"""Segments of a running archiver are swapped, overwritten, missing, replaced by a folder or taken from another archive.

Each PV counts, so that what is served shows whether it is right: whatever happens to a file, all others are served, the
gap has its cause, check and backup name it and end with code 3, and repair mends what can be mended.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from archiver import Pvark, run_program

PVS = ["C:one", "C:two"]
YEARS = (2019, 2020, 2021, 2022)
COUNT = 500
DAMAGED = 3
ALWAYS, EVER = "2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z"


def fill(server: Pvark, base: int = 0) -> None:
    """Counters that go on from year to year, one week of each; those of the other PV lie in other weeks."""
    server.archive.add(*(f"ca://{pv}" for pv in PVS))
    for index, pv in enumerate(PVS):
        for place, year in enumerate(YEARS):
            first = base + index * 1_000_000 + place * COUNT
            rows = "".join(
                f"{year}-0{1 + 5 * index}-16T00:{i // 60:02}:{i % 60:02}Z,{first + i}\n" for i in range(COUNT)
            )
            status, _, body = server.request(
                "POST", f"/api/v1/pvs/{pv}/import?import=test&part={pv}{year}&type=f64", rows.encode()
            )
            assert status == 200, body


def years(server: Pvark) -> set[int]:
    """The years of which all is served, of every PV; nothing is wrong or in part, and a gap tells of the rest."""
    found = None
    for index, pv in enumerate(PVS):
        answer = server.json(f"/api/v1/pvs/{pv}/samples?from={ALWAYS}&to={EVER}")
        values = [value for chunk in answer["chunks"] for value in chunk["values"]]
        counts = (np.array(values) - index * 1_000_000) // COUNT
        here = {YEARS[int(place)] for place in set(counts)}
        whole = [index * 1_000_000 + place * COUNT + i for place in range(len(YEARS)) for i in range(COUNT)]
        assert values == [value for value in whole if YEARS[(value - index * 1_000_000) // COUNT] in here], pv
        gaps = server.json(f"/api/v1/pvs/{pv}/gaps?from={ALWAYS}&to={EVER}")["gaps"]
        gone = {int(gap["from"][:4]) for gap in gaps if gap["cause"] == "damaged"}
        assert gone == set(YEARS) - here, (pv, gone, here)
        assert found is None or found == here, "all PVs have the same"
        found = here
    assert found is not None
    return found


def segments(server: Pvark) -> dict[int, list[Path]]:
    """Those of each year."""
    return {year: sorted(server.data.glob(f"{year}-W*/*.seg")) for year in YEARS}


def is_found(server: Pvark, *files: Path) -> None:
    checked = run_program("check", "--data", server.data)
    assert checked.returncode == DAMAGED, checked.stdout + checked.stderr
    for file in files:
        assert str(file.relative_to(server.data)) in checked.stdout, checked.stdout


def mended(server: Pvark) -> str:
    """Stops it, repairs it, starts it; what the repair said."""
    assert server.terminate() == 0
    done = run_program("repair", "--data", server.data, "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    checked = run_program("check", "--data", server.data)
    assert checked.returncode == 0, checked.stdout
    server.start()
    return done.stdout


@pytest.fixture
def server(start_pvark: Callable[..., Pvark]) -> Pvark:
    """An archive with one segment of each PV and year, which there is nothing to merge with."""
    server = start_pvark()
    fill(server)
    assert years(server) == set(YEARS)
    assert server.terminate() == 0
    server.start()
    return server


def test_swapped_segments_get_their_names_back(server: Pvark) -> None:
    assert server.terminate() == 0
    for one, other in zip(segments(server)[2019], segments(server)[2021], strict=False):
        aside = one.with_suffix(".aside")
        one.rename(aside)
        other.rename(one)
        aside.rename(other)
        is_found(server, one, other)
    server.start()
    assert years(server) == {2020, 2022}
    assert any("2019" in problem for problem in server.archive.status().problems)
    assert "gets that name" in mended(server)
    assert years(server) == set(YEARS)


def test_missing_and_overwritten_segments_cost_only_their_own_samples(server: Pvark, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    assert run_program("backup", "--data", server.data, "--to", backup).returncode == 0
    assert server.terminate() == 0
    files = segments(server)
    for file in files[2019]:
        file.unlink()
    for one, other in zip(files[2020], files[2022], strict=False):
        shutil.copy(other, one)
    is_found(server, *files[2019], *files[2020])
    server.start()
    assert years(server) == {2021, 2022}
    kept = run_program("backup", "--data", server.data, "--to", backup)
    assert kept.returncode == DAMAGED and "the backup has it whole" in kept.stdout, kept.stdout + kept.stderr
    assert run_program("check", "--data", backup).returncode == 0, "it lost nothing"
    # From there they come back, under a running archiver.
    for file in files[2019] + files[2020]:
        shutil.copy(backup / file.relative_to(server.data), file)
    assert server.terminate() == 0
    server.start()
    assert years(server) == set(YEARS)


def test_a_folder_in_the_place_of_a_segment_is_a_finding(server: Pvark) -> None:
    assert server.terminate() == 0
    files = segments(server)[2021]
    for file in files:
        file.unlink()
        file.mkdir()
    is_found(server, *files)
    server.start()
    assert years(server) == {2019, 2020, 2022}
    assert "a folder lies in its place" in mended(server)
    assert years(server) == {2019, 2020, 2022}, "the gap stays on record"


def test_segments_of_another_archive_are_not_taken_for_ours(server: Pvark, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    other = Pvark(folder).start()
    try:
        fill(other, base=500_000_000)
        assert other.terminate() == 0
        assert server.terminate() == 0
        files = segments(server)[2020]
        for ours, theirs in zip(files, segments(other)[2020], strict=False):
            shutil.copy(theirs, ours)
        is_found(server, files[0])
        server.start()
        assert years(server) == {2019, 2021, 2022}
        assert "of another archive" in mended(server)
        assert years(server) == {2019, 2021, 2022}
    finally:
        other.kill()


def test_a_file_of_the_log_with_another_name_does_not_stop_the_start(server: Pvark) -> None:
    server.kill()
    logs = sorted((server.data / "log").glob("*.log"))
    logs[0].rename(logs[0].with_name("mine.log"))
    is_found(server, server.data / "log" / "mine.log")
    server.start()
    assert years(server) == set(YEARS)
    assert any("mine.log" in problem for problem in server.archive.status().problems)
