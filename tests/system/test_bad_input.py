"""What is wrong is refused with a reason that helps, and the archiver goes on."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from archiver import ROOT, Pvark, run_program
from ioc import Ioc
from waiting import wait_for

sys.path.insert(0, str(ROOT / "clients/python/examples"))
read_segment = pytest.importorskip("read_segment", reason="pcodec, zstandard or xxhash is not installed")

RECORDS = "".join(f'record(calc, "B:{i}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n' for i in range(20))
RECORDS += 'record(stringin, "B:text") { field(PINI, "YES") field(VAL, "words") }\n'
DAY = "from=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z"


@pytest.fixture(scope="module")
def ioc(module_folder: Path) -> Iterator[Ioc]:
    ioc = Ioc.of_records(module_folder, RECORDS).start()
    yield ioc
    ioc.kill()


@pytest.fixture(scope="module")
def server(module_folder: Path, ioc: Ioc) -> Iterator[Pvark]:
    server = Pvark(module_folder, [ioc])
    try:
        server.start()
        server.archive.add(*(f"B:{i}" for i in range(20)), "B:text")
        server.wait_connected("B:0", "B:text")
        yield server
        assert server.archive.status().pvs["connected"] == 21, "it goes on whatever it was asked"
    finally:
        server.kill()


@pytest.mark.parametrize(
    ("method", "path", "status", "code", "words"),
    [
        ("GET", "/pvs/NOBODY", 404, "unknown_pv", "NOBODY"),
        ("GET", f"/pvs/NOBODY/samples?{DAY}", 404, "unknown_pv", "NOBODY"),
        ("GET", f"/pvs/NOBODY/bins?{DAY}", 404, "unknown_pv", "NOBODY"),
        ("GET", f"/pvs/NOBODY/gaps?{DAY}", 404, "unknown_pv", "NOBODY"),
        ("GET", f"/pvs/NOBODY/metadata?{DAY}", 404, "unknown_pv", "NOBODY"),
        ("POST", "/pvs/NOBODY/pause", 404, "unknown_pv", "NOBODY"),
        ("DELETE", "/pvs/NOBODY", 404, "unknown_pv", "NOBODY"),
        ("GET", "/pvs/B:0/samples?from=2026-11-21T00:00:00Z&to=2026-11-20T00:00:00Z", 400, "bad_range", "2026-11-21"),
        ("GET", "/pvs/B:0/bins?from=2026-11-21T00:00:00Z&to=2026-11-20T00:00:00Z", 400, "bad_range", "2026-11-21"),
        ("GET", "/pvs/B:0/samples?from=tomorrow", 400, "bad_time", "tomorrow"),
        ("GET", "/pvs/B:0/gaps?to=2026-13-01T00:00:00Z", 400, "bad_time", "2026-13-01"),
        ("GET", "/pvs/B:0/samples?from=2026-11-31", 400, "bad_time", "2026-11-31"),
        ("GET", "/pvs/B:0/samples?from=99999-01-01T00:00:00Z", 400, "bad_time", "99999"),
        ("GET", f"/pvs/B:0/samples?{DAY}&format=xlsx", 400, "unknown_format", "xlsx"),
        ("GET", f"/pvs/B:0/samples?{DAY}&limit=many", 400, "bad_request", "limit"),
        ("GET", f"/pvs/B:0/samples?{DAY}&before=perhaps", 400, "bad_request", "before"),
        ("GET", f"/pvs/B:0/bins?{DAY}&bins=0", 400, "bad_request", "bins"),
        ("GET", f"/pvs/B:0/bins?{DAY}&bins=100001", 400, "bad_request", "100000"),
        ("GET", f"/pvs/B:0/bins?{DAY}&bins=-1", 400, "bad_request", "bins"),
        ("GET", "/pvs/B:text/bins", 400, "bad_request", "samples"),
        ("GET", "/pvs?match=~[", 400, "bad_request", "["),
        ("GET", "/nothing", 404, "unknown_url", "/nothing"),
        ("GET", "/pvs/B:0/nothing", 404, "unknown_url", "nothing"),
        ("DELETE", "/status", 405, "method_not_allowed", "DELETE"),
        ("GET", "/live", 400, "bad_request", "pv"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_with_its_reason(
    server: Pvark, method: str, path: str, status: int, code: str, words: str
) -> None:
    got, headers, body = server.request(method, f"/api/v1{path}")
    assert (got, headers["content-type"].split(";")[0]) == (status, "application/json"), body
    error = json.loads(body)["error"]
    assert error["code"] == code
    assert words in error["message"] + error.get("hint", "")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", ""),
        (b"{", ""),
        (b'{"pvs": 5}', ""),
        (b'{"names": ["B:0"]}', "pvs"),
        (b'{"pvs": [{"name": "B:0", "method": "sometimes"}]}', "sometimes"),
        (b'{"pvs": [{"name": "B:0", "method": "scan", "period": -1}]}', "period"),
        (b'{"pvs": [{"name": "B:0", "method": "scan", "period": 1e300}]}', "period"),
    ],
)
def test_a_body_that_makes_no_sense_is_refused(server: Pvark, body: bytes, words: str) -> None:
    status, _, answer = server.request("POST", "/api/v1/pvs", body)
    text = answer.decode()
    assert words in text
    if status == 200:
        assert {entry["status"] for entry in json.loads(text)["pvs"]} == {"refused"}
    else:
        assert (status, json.loads(text)["error"]["code"]) == (400, "bad_request")


def test_bad_names_are_refused_one_by_one(server: Pvark) -> None:
    body = json.dumps({"pvs": ["B:0", "has blank", "", "x" * 300, "ftp://B:1", "pva://"]}).encode()
    status, _, answer = server.request("POST", "/api/v1/pvs", body)
    assert status == 200
    entries = json.loads(answer)["pvs"]
    assert [entry["status"] for entry in entries][:4] == ["already_archived", "refused", "refused", "refused"]
    assert entries[5]["status"] == "refused"
    assert all(entry["message"] for entry in entries if entry["status"] == "refused")
    if entries[4]["status"] == "added":
        server.archive.remove("ftp://B:1", delete_data=True)


def test_a_body_without_end_is_cut_off(server: Pvark) -> None:
    body = b'{"pvs": ["' + b"x" * 80_000_000 + b'"]}'
    try:
        status, _, answer = server.request("POST", "/api/v1/pvs", body)
    except (BrokenPipeError, ConnectionResetError):
        return  # it hung up before it had read it all, which is as good
    assert (status, json.loads(answer)["error"]["code"]) == (413, "too_large")


def test_a_search_that_takes_exponential_time_elsewhere_does_not_here(server: Pvark) -> None:
    status, _, _ = server.request("GET", "/api/v1/pvs?match=~(a*)*(b*)*(a*)*$")
    assert status in (200, 400)


def test_an_empty_range_is_empty(server: Pvark) -> None:
    now = "2026-11-20T00:00:00Z"
    assert len(server.archive.get("B:0", now, now)) == 0
    assert len(server.archive.get("B:0", "1980-01-01T00:00:00Z", "1990-01-01T00:00:00Z", before=True)) == 0
    assert server.archive.gaps("B:0", now, now) == []


def test_an_empty_range_that_asks_for_the_value_before_gets_it(server: Pvark) -> None:
    later = "2100-01-01T00:00:00Z"
    assert len(server.archive.get("B:0", later, later, before=True)) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('lissten = "127.0.0.1:1"', ["lissten", "1", "listen"]),
        ('\n\ndurable = "often"', ["durable", "3", "often", "off"]),
        ("listen = 5", ["listen", "1"]),
        ('listen = "nowhere"', ["listen", "nowhere"]),
        ('default_protocol = "http"', ["default_protocol", "http", "ca", "pva"]),
        ('[ca]\naddress_list = ["127.0.0.1:x"]', ["127.0.0.1:x"]),
        ("[ca]\nserver_port = 70000", ["server_port", "2"]),
        ("[ca\n", ["1"]),
    ],
)
def test_a_broken_config_is_refused_with_key_line_and_what_is_allowed(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    config = tmp_path / "pvark.toml"
    config.write_text(text)
    answer = run_program("run", "--config", config, "--data", tmp_path / "data")
    assert answer.returncode not in (0, 101), answer
    for word in ["pvark.toml", *words]:
        assert word in answer.stderr, answer.stderr


def test_a_config_that_is_not_there_is_named(tmp_path: Path) -> None:
    answer = run_program("run", "--config", tmp_path / "absent.toml")
    assert answer.returncode not in (0, 101)
    assert "absent.toml" in answer.stderr


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path, server: Pvark) -> None:
    (tmp_path / "file").write_text("not a folder")
    answer = run_program("run", "--data", tmp_path / "file" / "data", "--listen", "127.0.0.1:0")
    assert answer.returncode not in (0, 101)
    assert str(tmp_path / "file") in answer.stderr


def test_a_port_in_use_is_named(tmp_path: Path, server: Pvark) -> None:
    answer = run_program("run", "--data", tmp_path / "data", "--listen", f"127.0.0.1:{server.port}")
    assert answer.returncode not in (0, 101)
    assert f"127.0.0.1:{server.port}" in answer.stderr


def test_two_archivers_on_one_folder_are_refused(server: Pvark) -> None:
    answer = run_program("run", "--data", server.data, "--listen", "127.0.0.1:0")
    assert answer.returncode not in (0, 101)
    assert str(server.data) in answer.stderr


def test_commands_without_an_archiver_say_so() -> None:
    for arguments in (["add", "X"], ["get", "X"]):
        answer = run_program(*arguments, "--server", "http://127.0.0.1:9")
        assert answer.returncode not in (0, 101)
        assert "127.0.0.1:9" in answer.stderr


def test_a_flipped_byte_is_found_named_and_costs_only_its_block(tmp_path: Path, ioc: Ioc) -> None:
    server = Pvark(tmp_path, [ioc]).start()
    try:
        server.archive.add(*(f"B:{i}" for i in range(20)))
        wait_for("samples", lambda: all(len(server.archive.get(f"B:{i}")) > 30 for i in (0, 19)))
        assert server.terminate() == 0
        assert run_program("check", "--data", server.data).returncode == 0
        segments = [path for path in server.data.rglob("*.seg") if path.stat().st_size > 1000]
        assert segments, list(server.data.rglob("*"))
        segment = max(segments, key=lambda path: path.stat().st_size)
        contents = bytearray(segment.read_bytes())
        place = read_segment.segment(bytes(contents))["B:0"][3]  # of its first block
        contents[place + 50] ^= 0x40
        segment.write_bytes(contents)

        answer = run_program("check", "--data", server.data)
        assert answer.returncode not in (0, 101)
        assert segment.name in answer.stdout + answer.stderr

        server.start()
        answers = [server.archive.get(f"B:{i}", "2000-01-01T00:00:00Z") for i in range(20)]
        (damage,) = [sentence for answer in answers for sentence in answer.damage]
        assert segment.name in damage
        assert sum(len(answer) > 0 for answer in answers) >= 19, "one block holds the samples of one PV"
        assert server.archive.status().store["corrupt_blocks"] >= 1
        assert server.archive.status().problems
    finally:
        server.kill()


NOISE = "".join(
    f'record(calc, "F:{i}") {{ field(SCAN, ".1 second") field(CALC, "RNDM") field(FLNK, "F:{i}:history") }}\n'
    f'record(compress, "F:{i}:history") {{ field(INP, "F:{i}") field(ALG, "Circular Buffer") field(NSAM, "4000") }}\n'
    for i in range(30)
)


def test_a_full_disk_is_told_reading_goes_on_and_with_room_so_does_recording(
    tmp_path: Path, mount_small: Callable[[int], Path], request: pytest.FixtureRequest
) -> None:
    ioc = Ioc.of_records(tmp_path, NOISE)
    request.addfinalizer(ioc.kill)
    disk = mount_small(12)
    server = Pvark(tmp_path, [ioc.start()], disk / "data", "queue_megabytes_max = 4\n")
    request.addfinalizer(server.kill)
    archive = server.start().archive
    filler = disk / "filler"
    archive.add(*(f"ca://F:{i}:history" for i in range(30)), *(f"ca://F:{i}" for i in range(30)))
    wait_for("samples", lambda: len(archive.get("F:0")) > 20)
    room = shutil.disk_usage(disk).free
    filler.write_bytes(b"x" * max(0, room - 2_000_000))

    wait_for("the store to refuse", lambda: archive.status().store["refusal"], 60)
    status = archive.status()
    assert any("disk" in problem or "space" in problem for problem in status.problems), status.problems
    assert len(archive.get("F:0")) > 20, "reading goes on"
    wait_for("dropped samples to be counted", lambda: archive.status().samples["dropped_store"] > 0)

    ioc.kill()  # or its samples would fill the small disk again, and more would be lost while losses are counted
    filler.unlink()
    wait_for("the store to take samples again", lambda: archive.status().store["refusal"] is None, 60)
    names = [pv.name for pv in archive.search(limit=100)]

    def dropped() -> int:
        gaps = [gap for name in names for gap in archive.gaps(name) if gap.cause == "store_refused"]
        return sum(gap.lost for gap in gaps if gap.end is not None)

    wait_for("the drops to be gaps", lambda: dropped() == archive.status().samples["dropped_store"], 60)
    ioc.start()
    wait_for("all to be durable", lambda: archive.status().durable > 0)
    promised = archive.status().durable
    server.kill()
    server.start()
    assert sum(len(archive.get(name, "2000-01-01T00:00:00Z")) for name in names) >= promised
    wait_for("new samples", lambda: len(archive.get("F:0")) > 20)
