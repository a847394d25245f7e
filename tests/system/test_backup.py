"""Backups: what is damaged never replaces what is whole, and nobody records in a backup by mistake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from archiver import Pvark, run_program

PV = "B:old"
DAMAGED = 3


def lines(year: int, count: int = 1000) -> str:
    """Samples of a January, in the week of that time."""
    rows = (f"{year}-01-20T00:{i // 60 % 60:02}:{i % 60:02}Z,{(i * 7919) % 1000 / 7}" for i in range(count))
    return "\n".join(rows) + "\n"


@pytest.fixture
def server(start_pvark: Callable[..., Pvark]) -> Pvark:
    server = start_pvark()
    server.archive.add(f"ca://{PV}")
    for year in (2020, 2021):
        take(server, year)
    return server


def take(server: Pvark, year: int) -> None:
    path = f"/api/v1/pvs/{PV}/import?import=test&part={year}&type=f64"
    status, _, body = server.request("POST", path, lines(year).encode())
    assert status == 200, body


def back_up(server: Pvark, copy: Path, *more: str) -> CompletedProcess[str]:
    return run_program("backup", "--data", server.data, "--to", copy, *more, seconds=120)


def segment(folder: Path, year: int) -> Path:
    (found,) = folder.glob(f"{year}-W*/*.seg")
    return found


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0x10
    path.write_bytes(content)


def test_a_flipped_bit_in_the_archive_is_named_and_leaves_the_backup_whole(server: Pvark, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    first = back_up(server, copy)
    assert first.returncode == 0 and "is a whole archive" in first.stdout, first.stdout + first.stderr
    whole = segment(copy, 2020).read_bytes()
    for place in (100, len(whole) // 2, len(whole) - 40):
        flip(segment(server.data, 2020), place)
        take(server, 2022)
        second = back_up(server, copy)
        assert second.returncode == DAMAGED, second.stdout + second.stderr
        key = str(segment(copy, 2020).relative_to(copy))
        (told,) = [line for line in second.stdout.splitlines() if line.startswith("DAMAGED")][:1]
        assert key in told and "the backup has it whole" in told, told
        assert "is a whole archive" not in second.stdout and "is damaged" in second.stderr
        assert segment(copy, 2020).read_bytes() == whole
        assert segment(copy, 2022).read_bytes() == segment(server.data, 2022).read_bytes(), "all else is copied"
        checked = run_program("check", "--data", copy)
        assert checked.returncode == 0, checked.stdout
        flip(segment(server.data, 2020), place)
    flip(segment(server.data, 2020), 100)
    told = back_up(server, copy).stdout
    assert "byte 64" in told and f"PV {PV} from 2020-01-20T00:00:00" in told, told

    # What has rotted in the backup itself is found, and copied anew from an archive that is whole.
    flip(segment(server.data, 2020), 100)
    flip(segment(copy, 2021), 100)
    assert run_program("check", "--data", copy).returncode == DAMAGED
    assert back_up(server, copy, "--verify").returncode == 0
    assert run_program("check", "--data", copy).returncode == 0


def test_a_damaged_segment_without_a_copy_is_copied_and_healed_later(server: Pvark, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    flip(segment(server.data, 2021), 100)
    first = back_up(server, copy)
    assert first.returncode == DAMAGED and "copied as it is" in first.stdout, first.stdout + first.stderr
    assert run_program("check", "--data", copy).returncode == DAMAGED
    flip(segment(server.data, 2021), 100)
    assert back_up(server, copy).returncode == 0
    assert run_program("check", "--data", copy).returncode == 0


def test_a_backup_is_taken_into_service_by_a_command_and_not_by_mistake(server: Pvark, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    assert back_up(server, copy).returncode == 0
    folder = tmp_path / "service"
    folder.mkdir()
    service = Pvark(folder, data=copy)
    with pytest.raises(RuntimeError, match="take-over"):
        service.start()
    service.kill()
    assert run_program("check", "--data", copy).returncode == 0, "reading it is as before"
    assert back_up(server, copy).returncode == 0

    taken = run_program("take-over", "--data", copy)
    assert taken.returncode == 0 and str(server.data) in taken.stdout, taken.stdout + taken.stderr
    assert run_program("take-over", "--data", copy).returncode == 1
    try:
        service.start()
        newest = service.json("/api/v1/audit")["audit"][0]
        assert (newest["action"], newest["detail"]) == ("taken_over", f"from the backup of {server.data}")
        take(service, 2023)
        refused = back_up(server, copy)
        assert refused.returncode == 1 and "is no backup of an archive" in refused.stderr, refused.stderr
        assert service.terminate() == 0
        assert back_up(server, copy).returncode == 1
        service.start()
        assert len(service.archive.get(PV, "2019-01-01T00:00:00Z", "2024-01-01T00:00:00Z")) == 3000
    finally:
        service.kill()


def test_an_archive_that_was_begun_anew_does_not_empty_its_backup(server: Pvark, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    assert back_up(server, copy).returncode == 0
    files = sorted(path.name for path in copy.rglob("*.seg"))
    server.kill()
    server.data.rename(tmp_path / "lost")
    server.start()
    refused = back_up(server, copy)
    assert refused.returncode == 1 and "is not replaced" in refused.stderr, refused.stdout + refused.stderr
    assert sorted(path.name for path in copy.rglob("*.seg")) == files
    assert run_program("check", "--data", copy).returncode == 0


def test_the_archiver_knows_how_old_its_last_backup_is_and_what_it_keeps(
    start_pvark: Callable[..., Pvark], tmp_path: Path
) -> None:
    rules = 'retention = { keep = "10y", rules = [{ pvs = "TEST:*", keep = "90d" }] }\n'
    policy = 'policy = [{ name = "short", match = ["B:*"], keep = "30d" }]\n'
    server = start_pvark(more=policy + rules)
    server.archive.add(f"ca://{PV}")
    take(server, 2021)
    told = server.json("/api/v1/upkeep")
    kept = [(row["of"], row["rule"], row["policies"], row["pvs"], row["keep_seconds"]) for row in told["retention"]]
    day = 86_400
    assert kept == [
        ("setting", None, ["short"], 1, 30 * day),
        ("rule", "TEST:*", [], None, 90 * day),
        ("others", None, [], None, 3660 * day),
    ]
    assert told["backups"] == []
    copy = tmp_path / "a copy"
    for _ in range(2):
        assert back_up(server, copy).returncode == 0
    (backup,) = server.json("/api/v1/upkeep")["backups"]
    assert (backup["to"], backup["whole"]) == (str(copy), True) and backup["bytes"] > 0
    flip(segment(server.data, 2021), 100)
    other = tmp_path / "other"
    assert back_up(server, other).returncode == DAMAGED
    newest, before = server.json("/api/v1/upkeep")["backups"]
    assert (newest["to"], newest["whole"], before["to"]) == (str(other), False, str(copy))
    said = run_program("upkeep", "--server", server.url)
    assert said.returncode == 0, said.stderr
    assert "1 by short" in said.stdout and "3660 d" in said.stdout and "DAMAGED" in said.stdout, said.stdout
    # An archive that cannot be written to is backed up all the same.
    server.terminate()
    (told_in,) = server.data.glob("backups-*")
    told_in.unlink()
    (server.data / "backups.part").mkdir()
    last = back_up(server, copy)
    assert last.returncode == DAMAGED and "does not know of this backup" in last.stderr, last.stderr
