"""A cluster that is set up or treated wrongly: each mistake is told in a sentence, and what can be recorded is."""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import pytest
from archiver import Pvark, run_program
from ioc import Ioc
from ports import free_port
from test_field_retention import CLOCK
from three_nodes import NAMES, S3, Cluster
from waiting import wait_for

PVS = [f"M{device}:count" for device in range(9)]
RECORDS = "".join(f'record(calc, "{pv}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n' for pv in PVS)
RULES = "".join(
    f"[[cluster.rule]]\nmatch = {json.dumps([f'M{device}:*' for device in range(shard, 9, 3)])}\nshard = {shard}\n"
    for shard in range(3)
)
DAY = 86_400
FOLDER = "misused"


class Objects:
    """What lies in the bucket."""

    def __init__(self, store: S3) -> None:
        at = {"endpoint_url": f"http://127.0.0.1:{store.port}", "region_name": "us-east-1"}
        self.client = boto3.client("s3", aws_access_key_id="any", aws_secret_access_key="any", **at)
        self.bucket = store.BUCKET

    def list(self, prefix: str, folder: str = FOLDER) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=f"{folder}/{prefix}")
        return [of["Key"].removeprefix(f"{folder}/") for page in pages for of in page.get("Contents", [])]

    def get(self, key: str, folder: str = FOLDER) -> bytes:
        content: bytes = self.client.get_object(Bucket=self.bucket, Key=f"{folder}/{key}")["Body"].read()
        return content

    def put(self, key: str, content: bytes, folder: str = FOLDER) -> None:
        self.client.put_object(Bucket=self.bucket, Key=f"{folder}/{key}", Body=content)

    def remove(self, key: str) -> None:
        self.client.delete_object(Bucket=self.bucket, Key=f"{FOLDER}/{key}")


@pytest.fixture
def cluster(tmp_path: Path, store: S3, start_ioc: Callable[[str], Ioc]) -> Iterator[Cluster]:
    """Not started yet."""
    cluster = Cluster(tmp_path, [start_ioc(RECORDS)], store.table(tmp_path, FOLDER) + RULES, shards=3)
    yield cluster
    cluster.kill()


def begin(cluster: Cluster) -> None:
    cluster.start()
    cluster.nodes["a"].archive.add(*(f"ca://{pv}" for pv in PVS))
    wait_recorded(cluster.nodes["a"], PVS)


def count(node: Pvark, pv: str) -> int:
    """The newest count, or -1 while there is none that is a second old."""
    samples = node.archive.get(pv, "-2s", "now")
    return int(samples.values[-1]) if len(samples.values) else -1


def wait_recorded(node: Pvark, pvs: list[str], seconds: float = 40) -> None:
    """Until each of them has a new sample."""
    for pv in pvs:

        def goes_on(pv: str = pv) -> bool:
            try:
                return count(node, pv) >= 0
            except Exception as error:
                raise AssertionError(str(error)) from error  # another node has added it, or just taken it

        wait_for(f"new samples of {pv}", goes_on, seconds, every=0.3)


def names(node: Pvark) -> list[str]:
    return sorted(node.json("/mgmt/bpl/getAllPVs?limit=-1"))


def problems(node: Pvark) -> list[str]:
    told: list[str] = node.json("/api/v1/status")["problems"]
    return told


def is_told(node: Pvark, *words: str) -> bool:
    told = problems(node)
    if any(all(word in problem for word in words) for problem in told):
        return True
    raise AssertionError(str(told))


def wait_told(node: Pvark, *words: str, seconds: float = 60) -> None:
    wait_for(f"{words} among the problems", partial(is_told, node, *words), seconds, every=0.3)


def refused(config: str, folder: Path) -> str:
    """What a pvark says that ends at once."""
    folder.mkdir(exist_ok=True)
    (folder / "pvark.toml").write_text(config)
    ended = run_program("run", "--config", folder / "pvark.toml")
    assert ended.returncode == 1, (ended.stdout, ended.stderr)
    return ended.stderr


@pytest.mark.timeout(240)
def test_a_folder_is_taken_by_the_node_alone_whose_it_is(cluster: Cluster, store: S3, tmp_path: Path) -> None:
    begin(cluster)
    c, config = cluster.nodes["c"], cluster.nodes["c"].config_path.read_text()
    cluster.command("drain", "c")
    c.terminate()
    other_cluster = store.table(tmp_path, "another")
    cases = {
        # The config that takes its place, and the words of the refusal.
        "a node of another cluster with this name": (
            config[: config.index("[cluster.shared.s3]")] + other_cluster,
            ["is that of node", "of another cluster", "give `data` another one"],
        ),
        "another node": (config.replace('node = "c"', 'node = "d"'), ['is that of node "c", and this is node "d"']),
        "an archiver that records alone": (
            config[: config.index("[cluster]")],
            ["is that of a node of a cluster", "no [cluster]"],
        ),
    }
    before = sorted(str(path) for path in c.data.rglob("*"))
    for what, (text, words) in cases.items():
        told = refused(text, tmp_path / "wrong")
        assert all(word in told for word in words), (what, told)
    assert sorted(str(path) for path in c.data.rglob("*")) == before, "nothing was touched"
    # And the archive of one machine is no node's.
    alone = Pvark(tmp_path / "wrong")
    alone.start()
    alone.terminate()
    told = refused(config.replace(str(c.data), str(alone.data)), tmp_path / "wrong")
    assert "holds the archive of one machine" in told, told
    assert (alone.data / "catalogue.redb").exists()
    # With what was right it goes on.
    c.start()
    wait_for("it to have shards", lambda: "c" in cluster.seats().values(), 60, every=0.5)


@pytest.mark.timeout(240)
def test_what_does_not_fit_is_refused_at_the_start(cluster: Cluster, store: S3, tmp_path: Path) -> None:
    objects = Objects(store)
    begin(cluster)
    config = cluster.nodes["a"].config_path.read_text().replace('node = "a"', 'node = "d"')
    config = config.replace(str(cluster.nodes["a"].data), str(tmp_path / "wrong" / "data"))
    objects.put("name/format", b"7")
    told = refused(config, tmp_path / "wrong")
    assert "the nodes of this cluster write format 7" in told and "update it" in told, told
    objects.put("name/format", b"x")
    assert "the format in force" in refused(config, tmp_path / "wrong")
    objects.remove("name/format")
    told = refused(config.replace("pvark-test", "no-such-bucket"), tmp_path / "wrong")
    assert "no-such-bucket" in told, told
    # Nothing of this has disturbed those who record.
    wait_recorded(cluster.nodes["a"], PVS)
    assert problems(cluster.nodes["a"]) == []


@pytest.mark.timeout(240)
def test_a_node_with_another_key_or_another_day_is_told_of_and_all_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    library = tmp_path / "clock.so"
    source = tmp_path / "clock.c"
    source.write_text(CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, timeout=60)
    cluster.nodes["c"].environment = {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(DAY)}
    begin(cluster)
    # A day ahead: who lives and who has what is not judged by clocks.
    a, c = cluster.nodes["a"], cluster.nodes["c"]
    wait_told(a, "the clock of node c is", "ahead of this node's", "NTP")
    wait_told(c, "the clock of node a is", "behind this node's")
    assert "c" in cluster.wait_seated().values()
    cluster.nodes["c"].kill()
    cluster.wait_seated("a", "b")
    wait_recorded(a, PVS)
    # With a key of its own it lives for all that the store says, and nobody can ask it.
    key = tmp_path / "other.key"
    key.write_text(secrets.token_hex(32))
    key.chmod(0o600)
    c.environment = {}
    c.config_path.write_text(c.config_path.read_text().replace(str(cluster.key), str(key)))
    c.start()
    wait_told(a, "node c of the cluster lives and cannot be asked", "another key file")
    assert not any("clock" in problem for problem in problems(a))
    c.terminate()
    cluster.wait_seated("a", "b")
    wait_recorded(a, PVS)


@pytest.mark.timeout(240)
def test_a_damaged_journal_is_named_its_shard_waits_and_all_others_are_recorded(cluster: Cluster, store: S3) -> None:
    objects = Objects(store)
    begin(cluster)
    checked = run_program("check", "--cluster", cluster.nodes["a"].config_path, seconds=60)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "every checksum is right" in checked.stdout
    cluster.wait_calm()
    for name, of in cluster.nodes.items():
        wait_for(f"node {name} to list all PVs", lambda of=of: names(of) == PVS, 20)  # type: ignore[misc]
    seats = cluster.wait_seated()
    victim = next(name for name in NAMES if any(shard < cluster.shards and of == name for shard, of in seats.items()))
    shard = next(shard for shard, of in seats.items() if of == victim and shard < cluster.shards)
    other = next(name for name in NAMES if name != victim)
    cluster.nodes[victim].kill()
    rows = sorted(objects.list(f"journal/{shard}.a/"))
    row = objects.get(rows[-1])
    objects.put(rows[-1], row[:-1] + bytes([row[-1] ^ 1]))
    node = cluster.nodes[other]
    named = f"row {int(rows[-1].rsplit('/', 1)[1], 16)} of"
    wait_for(
        "a node to say why it cannot take the shard",
        lambda: any(
            any(f"shard {shard} cannot be taken here" in problem and named in problem for problem in problems(of))
            for name, of in cluster.nodes.items()
            if name != victim
        ),
        60,
        every=0.5,
    )
    checked = run_program("check", "--cluster", node.config_path, seconds=60)
    assert checked.returncode == 3, checked.stdout + checked.stderr
    assert f"DAMAGED  shard {shard}.a cannot be read" in checked.stdout and named in checked.stdout, checked.stdout
    # Its PVs are listed, and nobody has new samples of them; all others are recorded.
    assert names(node) == PVS
    wait_recorded(node, [pv for pv in PVS if int(pv[1]) % 3 != shard])
    status, _, body = node.request("GET", f"/api/v1/pvs/M{shard}:count/samples?from=-2s")
    assert status == 503, (status, body)
    assert f"no node has shard {shard}" in json.loads(body)["error"]["message"]
    lists_say_what_they_lack(node, shard)
    tables_say_what_they_lack(node, shard)
    # One that is started now cannot even read the list of that shard.
    third = cluster.nodes[next(name for name in NAMES if name not in (victim, other))]
    assert third.terminate() == 0
    third.start()
    lists_lack_names(third, shard)
    # With the row as it was all is recorded again.
    objects.put(rows[-1], row)
    cluster.wait_seated(*(name for name in NAMES if name != victim), node=other)
    wait_recorded(node, PVS)
    for name, of in cluster.nodes.items():
        if name != victim:
            wait_for("nothing to be wrong", lambda of=of: not any("cannot be taken" in p for p in problems(of)), 20)  # type: ignore[misc]


def lists_say_what_they_lack(node: Pvark, shard: int) -> None:
    """What is known is listed, and what is not is said: never a short list that looks whole."""
    part, lacking = f"shard {shard} of the cluster", {pv for pv in PVS if int(pv[1]) % 3 == shard}
    for path in ("/api/v1/pvs", "/api/v1/pvs?sort=name", "/api/v1/pvs?match=M&state=any", "/api/v1/pvs?words=count"):
        begun = time.monotonic()
        status, headers, body = node.request("GET", path)
        assert time.monotonic() - begun < 10, path
        told = json.loads(body)
        assert (status, told["total"], len(told["pvs"])) == (200, len(PVS), len(PVS)), (path, told)
        assert f"without {part} (3 names): no node has it" in headers["pvark-incomplete"], (path, headers)
        (incomplete,) = told["incomplete"]
        assert (incomplete["part"], incomplete["names"]) == (part, 3), (path, incomplete)
        assert {row["name"] for row in told["pvs"] if row["state"] == "unknown"} == lacking, (path, told)
        assert {row["name"] for row in told["pvs"] if "no node has it" in row.get("unanswered", "")} == lacking, path
        assert all(row["last"] for row in told["pvs"] if row["name"] not in lacking), (path, told)
    assert node.json("/api/v1/pvs?sort=name")["facets"]["state"] == {
        "searching": 0,
        "connected": 6,
        "disconnected": 0,
        "paused": 0,
        "unknown": 3,
    }
    assert {row["name"] for row in node.json("/api/v1/pvs?state=unknown")["pvs"]} == lacking
    assert {row["name"] for row in node.json("/api/v1/pvs?state=searching")["pvs"]} == set()
    assert [of["part"] for of in node.json("/api/v1/iocs")["incomplete"]] == [part]
    # The Appliance has a word of its own, row by row.
    rows = node.json(f"/mgmt/bpl/getPVStatus?pv={','.join(PVS)}")
    assert {row["pvName"] for row in rows if row["status"] == "Appliance Down"} == lacking, rows
    # Who reads its reports takes what is not there for what is well.
    for name in ("mgmt/bpl/getNeverConnectedPVs", "mgmt/bpl/getCurrentlyDisconnectedPVs", "mgmt/bpl/getSilentPVsReport",
                 "mgmt/bpl/getLostConnectionsReport", "mgmt/bpl/getEventRateReport", "mgmt/bpl/getStorageRateReport",
                 "mgmt/bpl/getPVsByStorageConsumed", "mgmt/bpl/getPVsByDroppedEventsBuffer",
                 "mgmt/bpl/getArchivedWaveforms", "mgmt/bpl/getTimeSpanReport", "mgmt/bpl/exportConfig"):  # fmt: skip
        status, _, body = node.request("GET", f"/{name}")
        assert (status, f"{part} does not answer" in body.decode()) == (503, True), (name, status, body)
    # Lists of names are whole, wherever PVs are recorded.
    for name in ("mgmt/bpl/getPVsForThisAppliance", "mgmt/bpl/getPausedPVsReport", "api/v1/aliases", "api/v1/audit"):
        status, headers, _ = node.request("GET", f"/{name}")
        assert (status, headers.get("pvark-incomplete")) == (200, None), (name, status, headers)
    assert sorted(node.json("/mgmt/bpl/getPVsForThisAppliance")) == sorted(PVS)
    # What needs nothing of that shard has all of it.
    status, headers, _ = node.request("GET", f"/api/v1/pvs/{next(pv for pv in PVS if pv not in lacking)}")
    assert (status, headers.get("pvark-incomplete")) == (200, None)


def tables_say_what_they_lack(node: Pvark, shard: int) -> None:
    """PVs for which somebody answers are told, and the others are named; all or nothing is refused with their names."""
    part, lacking = f"shard {shard} of the cluster", {pv for pv in PVS if int(pv[1]) % 3 == shard}
    named = "&".join(f"pv={pv}" for pv in PVS)
    tables = [f"at?{named}", "at?match=M*:count", f"diff?before=-5s&unchanged=true&{named}"]
    views = [f"view?from=-10s&bins=5&format=json&{named}"]
    for table in tables + views:
        status, headers, body = node.request("GET", f"/api/v1/{table}")
        told = json.loads(body)
        assert (status, [of["part"] for of in told["incomplete"]]) == (200, [part]), (table, told)
        assert f"without {part} (3 names): no node has it" in headers["pvark-incomplete"], (table, headers)
        if table in views:
            assert [of["pv"] for of in told["pvs"]] == PVS, told
            assert {of["pv"] for of in told["pvs"] if set(of) == {"pv", "unanswered"}} == lacking, told
            assert all(sum(of["bins"]["count"]) > 0 for of in told["pvs"] if of["pv"] not in lacking), told
        else:
            assert {of["pv"]: of.get("time") or of["after"] for of in told["pvs"]}.keys() == set(PVS) - lacking, told
            assert {of["pv"] for of in told["unanswered"] if "no node has it" in of["why"]} == lacking, told
            assert told["unknown"] == [], told
        status, _, body = node.request("GET", f"/api/v1/{table}&whole=true")
        message = json.loads(body)["error"]["message"]
        assert status == 503 and "3 of the 9 PVs cannot be told" in message, (table, status, message)
        assert all(pv in message for pv in lacking), (table, message)
    for table in (
        f"at?{named}&format=csv",
        f"view?from=-10s&format=csv&{named}",
        f"diff?before=-5s&format=csv&{named}",
    ):
        status, headers, body = node.request("GET", f"/api/v1/{table}")
        assert status == 200 and part in headers["pvark-incomplete"], (table, status, headers)
        assert not any(pv in body.decode() for pv in lacking), body
    values = node.archive.at(PVS)
    assert (set(values.pvs), set(values.unanswered)) == (set(PVS) - lacking, lacking), values
    assert set(node.archive.view(PVS, "-10s", "now", 5).unanswered) == lacking
    assert set(node.archive.diff(PVS, "-5s").unanswered) == lacking
    # Samples of several, and the Appliance's values, have no place to say so.
    for method, table in (("GET", f"api/v1/samples?from=-2s&{named}"), ("POST", "retrieval/data/getDataAtTime")):
        status, _, body = node.request(method, f"/{table}", json.dumps(PVS).encode() if method == "POST" else None)
        assert status == 503, (table, status, body[:300])
    known = next(pv for pv in PVS if pv not in lacking)
    status, headers, _ = node.request("GET", f"/api/v1/at?pv={known}")
    assert (status, headers.get("pvark-incomplete")) == (200, None)


def lists_lack_names(node: Pvark, shard: int) -> None:
    """A node that has never read the list of a shard does not say that there are no such PVs."""
    lacking = {pv for pv in PVS if int(pv[1]) % 3 == shard}

    def lacks_one() -> bool:
        """The shards that it had before it was started anew are soon with somebody again."""
        return len(node.json("/api/v1/pvs").get("incomplete", [])) == 1

    wait_for("one shard alone to have nobody", lacks_one, 40)
    status, headers, body = node.request("GET", "/api/v1/pvs")
    assert (status, {row["name"] for row in json.loads(body)["pvs"]}) == (200, set(PVS) - lacking), body
    (incomplete,) = json.loads(body)["incomplete"]
    assert incomplete["names"] is None, incomplete
    assert f"shard {shard} of the cluster" in headers["pvark-incomplete"]
    assert f"shard {shard} of the cluster" in node.request("GET", "/api/v1/aliases")[1]["pvark-incomplete"]
    unread = f"has not read the list of shard {shard} of the cluster"
    for path in ("mgmt/bpl/getAllPVs", "mgmt/bpl/getTypeInfoKeys", "retrieval/bpl/getMatchingPVs?regex=.*",
                 f"api/v1/pvs/{min(lacking)}", "api/v1/pvs/NOBODY:HAS:IT"):  # fmt: skip
        status, _, body = node.request("GET", f"/{path}")
        assert (status, unread in body.decode()) == (503, True), (path, status, body)
    status, _, body = node.request("POST", "/mgmt/bpl/unarchivedPVs", json.dumps(PVS).encode())
    assert status == 503, body
    known = next(pv for pv in PVS if pv not in lacking)
    assert node.json(f"/api/v1/pvs/{known}")["name"] == known
    # Nor is such a name unknown to tables, and what fits a pattern is not all.
    told = node.json(f"/api/v1/at?pv={known}&pv={min(lacking)}")
    assert ([of["pv"] for of in told["pvs"]], told["unknown"]) == ([known], []), told
    assert [of["pv"] for of in told["unanswered"] if unread in of["why"]] == [min(lacking)], told
    assert [of["names"] for of in node.json("/api/v1/at?match=M*:count")["incomplete"]] == [None]
    for table in (
        "at?whole=true&match=M*:count",
        "samples?from=-2s&match=M*:count",
        f"at?whole=true&pv={min(lacking)}",
    ):
        status, _, body = node.request("GET", f"/api/v1/{table}")
        assert (status, unread in body.decode()) == (503, True), (table, status, body)


@pytest.mark.timeout(240)
def test_a_node_whose_disk_is_full_says_so_and_the_others_record(
    cluster: Cluster, mount_small: Callable[[int], Path]
) -> None:
    disk = mount_small(24)
    c = cluster.nodes["c"]
    c.config_path.write_text(c.config_path.read_text().replace(str(c.data), str(disk / "data")))
    begin(cluster)
    wait_for("it to have a shard", lambda: "c" in cluster.seats().values(), 60, every=0.5)
    filler = disk / "filler"

    def fill() -> bool:
        room = shutil.disk_usage(disk).free
        with filler.open("ab") as file:
            try:
                file.write(b"x" * room)
            except OSError:
                pass
        return any("disk" in problem or "space" in problem for problem in problems(c))

    wait_for("it to say that its disk is full", fill, 90, every=1)
    for name in ("a", "b"):
        assert not any("space" in problem for problem in problems(cluster.nodes[name]))
    # An operator lets it have none: the others record what it had.
    cluster.command("drain", "c")
    cluster.wait_seated("a", "b")
    wait_recorded(cluster.nodes["a"], PVS)
    filler.unlink()
    cluster.command("join", "c")
    wait_for("it to have shards again", lambda: "c" in cluster.seats().values(), 60, every=0.5)
    wait_recorded(cluster.nodes["a"], PVS)


@pytest.mark.timeout(240)
def test_a_backup_of_a_cluster_is_an_archive_for_each_shard(cluster: Cluster, store: S3, tmp_path: Path) -> None:
    begin(cluster)
    a, to = cluster.nodes["a"], tmp_path / "backup"
    time.sleep(3)
    for _ in range(2):
        begun = time.time()
        made = run_program("backup", "--cluster", a.config_path, "--to", to, seconds=90)
        assert made.returncode == 0, made.stdout + made.stderr
        assert made.stdout.startswith(f"{cluster.shards + 1} archives in {to}"), made.stdout
    # Those who record have noticed nothing.
    wait_recorded(a, PVS)
    assert problems(a) == []
    owned = {name: node.json("/api/v1/cluster")["here"] for name, node in cluster.nodes.items()}
    assert all(of["detached_seconds"] is None for here in owned.values() for of in here)
    found: dict[str, list[int]] = {}
    for number in range(cluster.shards):
        folder = to / f"shard-{number}"
        checked = run_program("check", "--data", folder)
        assert checked.returncode == 0, checked.stdout
        taken = run_program("take-over", "--data", folder)
        assert taken.returncode == 0, taken.stderr
        (tmp_path / f"alone{number}").mkdir()
        alone = Pvark(tmp_path / f"alone{number}", data=folder)
        try:
            alone.start()
            for pv in alone.json("/api/v1/pvs?limit=100")["pvs"]:
                samples = alone.archive.get(pv["name"], "2000-01-01", "now")
                found[pv["name"]] = [int(value) for value in samples.values]
                last = samples.times[-1].astype("datetime64[us]").astype("int64") / 1e6
                assert last > begun - 4, "all that was durable a moment before it began"
        finally:
            alone.kill()
    assert sorted(found) == sorted(PVS)
    for pv, counts in found.items():
        assert counts == list(range(counts[0], counts[0] + len(counts))), pv
        assert len(counts) > 20
    # An archive that was taken over is not replaced by the next backup.
    made = run_program("backup", "--cluster", a.config_path, "--to", to, seconds=90)
    assert made.returncode == 1 and "shard-0 is no backup" in made.stderr, made.stderr
    # What is damaged is named, and what can be had is backed up.
    objects = Objects(store)
    for node in cluster.nodes.values():
        node.kill()
    key = next(key for key in objects.list("object/") if "/log/" in key or "/seg/" in key)
    whole = objects.get(key)
    objects.put(key, whole[:-3] + bytes([whole[-3] ^ 8]) + whole[-2:])
    checked = run_program("check", "--cluster", a.config_path, seconds=60)
    if checked.returncode == 0:  # it was one that the journal does without by now
        assert "ORPHAN" in checked.stdout
    else:
        assert checked.returncode == 3
        assert key.removeprefix("object/").rsplit("/", 1)[0] in checked.stdout, (key, checked.stdout)


def test_what_is_asked_of_a_cluster_that_is_none_is_refused(tmp_path: Path, store: S3) -> None:
    alone = Pvark(tmp_path)
    for command in (["check"], ["backup", "--to", str(tmp_path / "backup")]):
        ended = run_program(*command, "--cluster", alone.config_path)
        assert ended.returncode == 1 and "has no [cluster]" in ended.stderr, ended.stderr
    key = tmp_path / "nodes.key"
    key.write_text(secrets.token_hex(32))
    key.chmod(0o600)
    nodes = f'[nodes]\nlisten = "127.0.0.1:{free_port()}"\nkey = {json.dumps(str(key))}\n'
    text = alone.config_path.read_text() + nodes + '[cluster]\nname = "ring"\nnode = "a"\n'
    alone.config_path.write_text(text + store.table(tmp_path, "nothing"))
    ended = run_program("check", "--cluster", alone.config_path)
    if "was built without" in ended.stderr:
        pytest.skip(ended.stderr)
    assert ended.returncode == 1 and "holds no cluster" in ended.stderr, ended.stderr
    ended = run_program("check", "--cluster", alone.config_path, "--data", tmp_path)
    assert ended.returncode == 2
    assert Objects(store).list("name/", "nothing") == [], "looking makes no cluster"
