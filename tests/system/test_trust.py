"""check, backup and repair from the command line, on an archive that is recorded while they work."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from archiver import Pvark, run_program
from ioc import Ioc
from waiting import wait_for

RECORDS = """
record(calc, "T:count") { field(SCAN, ".1 second") field(CALC, "VAL+1") }
record(calc, "T:other") { field(SCAN, ".1 second") field(CALC, "VAL+2") }
"""


@pytest.fixture
def archive(start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark], tmp_path: Path) -> Path:
    """A stopped archive with one segment, and a backup that was taken while it ran."""
    server = start_pvark(start_ioc(RECORDS))
    assert run_program("add", "T:count", "T:other", "--server", server.url).returncode == 0
    wait_for("samples", lambda: len(server.archive.get("T:count")) > 20 and server.archive.status().durable > 20)
    done = run_program("backup", "--data", server.data, "--to", tmp_path / "backup")
    assert done.returncode == 0, done.stderr
    assert server.terminate() == 0
    return server.data


def segment(folder: Path) -> Path:
    """The first segment."""
    return min(folder.glob("*-W*/*.seg"))


def damage(path: Path, place: int) -> None:
    """Flips a bit."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_a_backup_beside_a_running_archiver_is_whole(archive: Path, tmp_path: Path) -> None:
    answer = run_program("check", "--data", tmp_path / "backup")
    assert answer.returncode == 0, answer.stdout
    again = run_program("backup", "--data", archive, "--to", tmp_path / "backup")
    assert again.returncode == 0 and "1 segments copied" in again.stdout, again.stdout
    third = run_program("backup", "--data", archive, "--to", tmp_path / "backup")
    assert third.returncode == 0 and "0 segments copied, 1 were there" in third.stdout, third.stdout
    assert segment(tmp_path / "backup").read_bytes() == segment(archive).read_bytes()


def test_a_foreign_folder_is_not_touched(archive: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("precious")
    answer = run_program("backup", "--data", archive, "--to", foreign)
    assert answer.returncode == 1 and "thesis.tex" in answer.stderr
    assert [path.name for path in foreign.iterdir()] == ["thesis.tex"]


def test_damage_has_an_exit_code_and_is_repaired(archive: Path) -> None:
    damage(segment(archive), 64 + 40)
    assert run_program("check", "--data", archive).returncode == 3
    look = run_program("repair", "--data", archive)
    assert look.returncode == 0 and "nothing was changed" in look.stdout, look.stdout
    assert run_program("check", "--data", archive).returncode == 3
    done = run_program("repair", "--data", archive, "--yes")
    assert done.returncode == 0 and "nothing was deleted" in done.stdout, done.stdout
    assert run_program("check", "--data", archive).returncode == 0
    assert any((archive / "quarantine").iterdir())


def test_an_archive_without_a_catalogue_comes_back_with_its_names(
    archive: Path, start_pvark: Callable[..., Pvark]
) -> None:
    (archive / "catalogue.redb").unlink()
    done = run_program("repair", "--data", archive, "--yes")
    assert done.returncode == 0, done.stderr
    server = start_pvark()
    server.kill()
    shutil.rmtree(server.data, ignore_errors=True)
    shutil.copytree(archive, server.data)
    server.start()
    for pv in ("T:count", "T:other"):
        samples = server.archive.get(pv, "2000-01-01T00:00:00Z")
        assert len(samples) > 5, pv


def test_nothing_that_is_no_archive_is_checked_or_repaired(tmp_path: Path) -> None:
    for command in ("check", "repair"):
        answer = run_program(command, "--data", tmp_path)
        assert answer.returncode == 1 and str(tmp_path) in answer.stderr, answer.stderr
