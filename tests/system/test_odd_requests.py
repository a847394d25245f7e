"""Odd but valid requests, asked of three archives of the same samples: one that recorded them, one that reads them in
the Appliance's files where they lie, and one that has imported those files."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from appliance import line
from archiver import ROOT, Pvark, run_program
from ioc import Ioc
from waiting import wait_for

REQUESTS: list[dict[str, Any]] = json.loads((ROOT / "testdata" / "odd_requests.json").read_text())
PVS = "noise count nan longin int64in bi mbbi stringin grows floats bytes same".split()
ALIAS = "L:alias"
SECONDS = 3


@dataclass
class Ways:
    """The three archives, and what stands for times in the requests."""

    archives: dict[str, Pvark]
    times: dict[str, str]

    def ask(self, way: str, request: dict[str, Any]) -> tuple[int, str, bytes]:
        path = request["path"]
        for name, text in self.times.items():
            path = path.replace(f"{{{name}}}", text)
        body = request.get("body")
        connection = HTTPConnection("127.0.0.1", self.archives[way].port, timeout=30)
        try:
            headers = {"Content-Type": request["ctype"]} if body is not None else {}
            connection.request(request["method"], path, None if body is None else body.encode(), headers)
            answer = connection.getresponse()
            return answer.status, answer.headers.get("Content-Type", ""), answer.read()
        finally:
            connection.close()


def moments(first: datetime) -> dict[str, str]:
    """The beginning, the middle and the end of what was recorded, as clients write times."""
    last = first + timedelta(seconds=SECONDS)
    local = timezone(timedelta(hours=-5))
    texts: dict[str, str] = {}
    for name, moment in (("t0", first), ("tm", first + timedelta(seconds=SECONDS / 2)), ("t1", last)):
        plain = moment.strftime("%Y-%m-%dT%H:%M:%S.%f")
        texts |= {
            name: f"{plain}Z",
            f"{name}s": f"{moment:%Y-%m-%dT%H:%M:%S}Z",
            f"{name}e": f"{plain}000Z".replace(":", "%3A"),
        }
        texts[f"{name}p"] = moment.astimezone(local).isoformat(timespec="milliseconds")
    return texts


def store(live: Pvark, folder: Path) -> list[str | Path]:
    """Writes what the archive has as the Appliance's files, and gives the arguments of an import of them."""
    infos = []
    for pv in PVS:
        infos.append(live.json(f"/mgmt/bpl/getPVTypeInfo?pv=L:{pv}"))
        path = f"/retrieval/data/getData.raw?pv=L:{pv}&from=1990-01-02T00:00:00Z&to=2100-01-01T00:00:00Z"
        status, _, body = live.request("GET", path)
        assert status == 200
        (chunk,) = body.rstrip(b"\n").split(b"\n\n")
        (folder / "L").mkdir(parents=True, exist_ok=True)
        (folder / "L" / f"{pv}:{datetime.now(timezone.utc).year}.pb").write_bytes(chunk + b"\n")
    more = {"infos.json": infos, "aliases.json": live.json("/mgmt/bpl/getAllAliases")}
    for name, rows in more.items():
        (folder.parent / name).write_text(json.dumps(rows))
    return ["--type-info", folder.parent / "infos.json", "--aliases", folder.parent / "aliases.json", folder]


@pytest.fixture(scope="module")
def ways(module_folder: Path) -> Iterator[Ways]:
    ioc = Ioc.of_records(module_folder, Path(__file__).parent / "live.db").start()
    folders = {way: module_folder / way for way in ("live", "imported", "in_place")}
    for folder in folders.values():
        folder.mkdir()
    archives = {"live": Pvark(folders["live"], [ioc])}
    try:
        live = archives["live"].start()
        live.archive.add(*(f"ca://L:{pv}" for pv in PVS))
        assert live.json(f"/mgmt/bpl/addAlias?pv=L:noise&aliasname={ALIAS}")["status"] == "ok"
        live.wait_connected(*(f"L:{pv}" for pv in PVS))
        # Whole seconds from here on begin after the first sample, whose fields tell of the start.
        first = datetime.now(timezone.utc) + timedelta(seconds=2)
        wait_for("the time to pass", lambda: datetime.now(timezone.utc) > first + timedelta(seconds=SECONDS + 0.5))
        for pv in PVS:
            assert live.json(f"/mgmt/bpl/pauseArchivingPV?pv=L:{pv}")["status"] == "ok"
        arguments = store(live, module_folder / "files")
        imported = archives["imported"] = Pvark(folders["imported"]).start()
        done = run_program("import", "archiver-appliance", "--server", imported.url, *arguments, seconds=60)
        assert done.returncode == 0 and "1 aliases" in done.stdout, done.stdout + done.stderr
        in_place = archives["in_place"] = Pvark(folders["in_place"])
        files = {"path": arguments[4], "type_info": arguments[1], "aliases": arguments[3]}
        with in_place.config_path.open("a") as config:
            config.write('[[old_archive]]\nkind = "plainpb"\n')
            config.writelines(f"{key} = {json.dumps(str(path))}\n" for key, path in files.items())
        in_place.start()
        wait_for("the alias", lambda: ALIAS in in_place.json("/mgmt/bpl/getAllPVs?limit=-1"))
        yield Ways(archives, moments(first))
    finally:
        for archive in archives.values():
            archive.kill()
        ioc.kill()


def varint(message: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[place]
        number, shift, place = number | (byte & 0x7F) << shift, shift + 7, place + 1
        if byte < 0x80:
            return number, place


def fields_of(text: bytes) -> list[tuple[int, int | bytes]]:
    """The fields of an escaped message, which must be whole."""
    message = text.replace(b"\x1b\x02", b"\n").replace(b"\x1b\x03", b"\r").replace(b"\x1b\x01", b"\x1b")
    assert line(message) == text + b"\n", text
    place, found = 0, list[tuple[int, int | bytes]]()
    while place < len(message):
        key, place = varint(message, place)
        if key & 7 == 0:
            number, place = varint(message, place)
            found.append((key >> 3, number))
            continue
        length, place = varint(message, place) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], place)
        assert place + length <= len(message), text
        found.append((key >> 3, message[place : place + length]))
        place += length
    return found


def meaning(content_type: str, body: bytes) -> Any:
    """What an answer says: of its form, only that it is sound."""
    if content_type == "application/json":
        return json.loads(body.decode(), parse_constant=str)
    if content_type == "application/x-protobuf":
        assert not body or body.endswith(b"\n")
        chunks = [chunk.strip(b"\n").split(b"\n") for chunk in body.split(b"\n\n") if chunk.strip(b"\n")]
        # Whether fields of a sample changed is only known of files.
        return [[[field for field in fields_of(text) if field[0] != 8] for text in chunk] for chunk in chunks]
    if content_type == "application/matlab":
        return body[128:]  # behind the date
    text = body.decode()
    if content_type == "text/csv":
        assert text.endswith("\n")
    return text


# What these sum up may have other last digits where files are read in place, or blocks hold other samples: it is
# summed in other stretches.
SUMS = re.compile(r"mean|std|variance|jitter|stats|errorbar|kurtosis|skewness|rms|optimized")
NUMBER = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?")


def is_alike(one: Any, other: Any) -> bool:
    """Whether two answers say the same, but for the last digits of their numbers."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-15)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(is_alike(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, str) and isinstance(other, str):
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (one, other)]
        return NUMBER.sub("", one) == NUMBER.sub("", other) and is_alike(numbers[0], numbers[1])
    if isinstance(one, bytes) and isinstance(other, bytes) and one != other:
        if len(one) == len(other) == 8:
            return is_alike(struct.unpack("<d", one)[0], struct.unpack("<d", other)[0])
        # Before a text stands its length, which is another where it has more digits.
        texts = [re.sub(rb"\x12.", b"", raw, flags=re.DOTALL).decode("latin-1") for raw in (one, other)]
        return is_alike(texts[0], texts[1])
    return bool(one == other)


def without_fields(answer: Any) -> Any:
    """That recording began before the first sample is no gap, and not kept of files."""
    for pv in answer:
        for row in pv["data"]:
            row.pop("fields", None)
    return answer


def test_there_are_enough_of_them() -> None:
    assert len(REQUESTS) >= 200
    assert len({request["path"] + request.get("body", "") for request in REQUESTS}) == len(REQUESTS)


@pytest.mark.parametrize("request_of", REQUESTS, ids=lambda request: f"{request['id']}")
def test_an_odd_request_is_answered_alike_in_all_three_ways(ways: Ways, request_of: dict[str, Any]) -> None:
    answers = {way: ways.ask(way, request_of) for way in ways.archives}
    said = {}
    for way, (status, content_type, body) in answers.items():
        assert status == request_of["status"], (way, request_of["path"], body[:300])
        if status != 200:
            continue
        assert content_type == request_of["type"], (way, request_of["path"])
        said[way] = meaning(content_type, body)
    differs = request_of.get("differs")
    if differs in (None, "start") and said:
        if SUMS.search(request_of["path"]):
            assert is_alike(said["in_place"], said["live"]), (request_of["path"], said["in_place"], said["live"])
        else:
            assert said["in_place"] == said["live"], request_of["path"]
        imported, live = (without_fields(said[way]) if differs else said[way] for way in ("imported", "live"))
        if SUMS.search(request_of["path"]):
            assert is_alike(imported, live), (request_of["path"], imported, live)
        else:
            assert imported == live, request_of["path"]


def test_no_archive_complained(ways: Ways) -> None:
    for way, archive in ways.archives.items():
        log = archive.log_path.read_text(errors="replace")
        assert "panicked" not in log, (way, log)
