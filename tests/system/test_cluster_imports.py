"""Imports into a cluster, through any node: each sample comes to the node that has its shard, once, whatever happens
meanwhile. While a shard has no node they wait and go on, or say which PVs wait and why; half of a part is never taken
for all of it."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pvark
import pytest
from appliance import header, sample
from archiver import Pvark, program, run_program
from test_cluster_misuse import Objects
from three_nodes import S3, Cluster
from waiting import wait_for

FOLDER = "imports"
SAMPLES = 1000
HERE, AWAY = "IH:one", "IA:one"
"""A PV of the shard that node a has, and one of the shard whose node dies."""
RULES = "".join(
    f"[[cluster.rule]]\nmatch = {json.dumps([f'{pv[:2]}:*'])}\nshard = {shard}\n"
    for shard, pv in enumerate((HERE, AWAY))
)
START = np.datetime64("2026-01-05T00:00:00", "s")


@contextmanager
def started(folder: Path, store: S3, data_of_b: Path | None = None) -> Iterator[Cluster]:
    """Node a has shard 0, b has shard 1, and c none: when b dies, a alone can take its shard."""
    cluster = Cluster(folder, [], store.table(folder, FOLDER) + RULES, shards=2)
    if data_of_b is not None:
        config = cluster.nodes["b"].config_path
        config.write_text(config.read_text().replace(str(cluster.nodes["b"].data), str(data_of_b)))
    try:
        cluster.start()
        cluster.command("drain", "c")
        cluster.wait_seated("a", "b")
        for shard, node in enumerate("ab"):
            if cluster.seats()[shard] != node:
                cluster.command("move", str(shard), node)
        wait_for(
            "the shards to be there", lambda: [cluster.seats()[shard] for shard in (0, 1)] == ["a", "b"], 60, every=0.3
        )
        cluster.nodes["a"].archive.add(HERE, AWAY)
        for asked in cluster.nodes.values():
            for pv in (HERE, AWAY):
                path = f"/api/v1/pvs/{pv}"
                wait_for("its list to have them", lambda asked=asked, path=path: asked.request("GET", path)[0] == 200)  # type: ignore[misc]
        yield cluster
    finally:
        cluster.kill()


@pytest.fixture
def cluster(tmp_path: Path, store: S3) -> Iterator[Cluster]:
    with started(tmp_path, store) as cluster:
        yield cluster


def lines(folder: Path) -> Path:
    """A file of samples, one a second."""
    path = folder / "past.csv"
    path.write_text("".join(f"{START + second}Z,{second}\n" for second in range(SAMPLES)))
    return path


def count(node: Pvark, pv: str, end: str = "2026-02-01") -> int:
    """How many samples a node gives of a PV; none of one that it does not know yet."""
    try:
        return len(node.archive.get(pv, "2026-01-01", end).values)
    except pvark.Refused:
        return 0


def has_all(node: Pvark, pv: str, weeks: int = 1) -> bool:
    try:
        found = node.archive.get(pv, "2026-01-01", "2027-01-01").values.tolist()
    except pvark.Refused as error:
        raise AssertionError(str(error)) from error  # its list is a second behind
    assert found == list(range(weeks * SAMPLES)), (pv, len(found))
    return True


def import_of(
    node: Pvark, pv: str, file: Path, *options: str, seconds: float = 120
) -> subprocess.CompletedProcess[str]:
    return run_program("import", "--server", node.url, "--pv", pv, *options, file, seconds=seconds)


@pytest.mark.timeout(240)
def test_an_import_goes_on_when_its_shard_has_a_node_again(cluster: Cluster, tmp_path: Path) -> None:
    file, a, b = lines(tmp_path), cluster.nodes["a"], cluster.nodes["b"]
    b.kill()
    assert cluster.seats().get(1) != "a", "it begins while nobody has the shard"
    done = import_of(a, AWAY, file)
    assert done.returncode == 0 and f"{SAMPLES} samples imported, 0 had been before" in done.stdout, done
    for name in "ac":
        node = cluster.nodes[name]
        wait_for(f"node {name} to have all", lambda node=node: has_all(node, AWAY), 30, every=0.3)  # type: ignore[misc]
    again = import_of(a, AWAY, file)
    assert again.returncode == 0 and f"0 samples imported, {SAMPLES} had been before" in again.stdout, again
    # The node that had it comes back, and knows it as well.
    b.start(60)
    wait_for("node b to have all", lambda: has_all(b, AWAY), 60, every=0.5)


@pytest.mark.timeout(300)
def test_an_import_for_a_shard_that_nobody_can_take_names_its_pvs_and_takes_nothing_by_halves(
    cluster: Cluster, store: S3, tmp_path: Path
) -> None:
    file, a, objects = lines(tmp_path), cluster.nodes["a"], Objects(store)
    cluster.wait_calm()
    cluster.nodes["b"].kill()
    rows = sorted(objects.list("journal/1.a/", FOLDER))
    row = objects.get(rows[-1], FOLDER)
    objects.put(rows[-1], row[:-1] + bytes([row[-1] ^ 1]), FOLDER)
    wait_for("shard 1 to be lost", lambda: 1 not in cluster.seats(), 60, every=0.3)

    waited = import_of(a, AWAY, file, "--patience", "15s")
    assert waited.returncode == 1, waited
    for said in (
        "no node has shard 1",
        f"samples of {AWAY}",
        "nothing of this part is entered",
        "Begin the import again",
    ):
        assert said in waited.stderr, (said, waited.stderr)
    assert "which is waited for" in waited.stderr, waited.stderr
    # A part of an old archive with PVs of both shards.
    appliance = old_archive(tmp_path)
    command = ("import", "archiver-appliance", "--server", a.url)
    half = run_program(*command, "--patience", "1s", appliance, seconds=120)
    assert half.returncode == 1 and "no node has shard 1" in half.stderr and AWAY in half.stderr, half
    assert count(a, HERE) == 0, "nothing of the part is there"
    # Which PVs wait, and how many rows of each.
    body = b"\n".join(file.read_bytes() for file in sorted(appliance.glob("*/*.pb")))
    status, _, answer = a.request("POST", "/api/v1/import?import=directly&part=1", body)
    [waits] = json.loads(answer)["error"]["not_taken"]
    assert (status, waits["pv"], waits["samples"]) == (503, AWAY, SAMPLES), answer
    assert waits["first"].startswith(str(START)) and waits["last"].startswith(str(START + SAMPLES - 1)), answer

    # It goes on as soon as the shard can be taken.
    both = [str(program()), *command, "--patience", "2m", str(appliance)]
    going_on = subprocess.Popen(both, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert going_on.stdout is not None
        assert any("which is waited for" in line for line in going_on.stdout), going_on.poll()
        objects.put(rows[-1], row, FOLDER)
        output = going_on.stdout.read()
        assert going_on.wait(30) == 0, output
    finally:
        going_on.kill()
    assert f"{2 * SAMPLES} samples read back and found equal" in output, output
    for name in "ac":
        for pv in (HERE, AWAY):
            node = cluster.nodes[name]
            wait_for(f"node {name} to have {pv}", lambda node=node, pv=pv: has_all(node, pv), 30, every=0.3)  # type: ignore[misc]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("through", "abc")
def test_an_appliance_s_files_go_through_any_node_into_all_shards_once(
    cluster: Cluster, tmp_path: Path, through: str
) -> None:
    """Node c has no shard at all."""
    pvs = [f"{device}:{number}" for device in ("IH", "IA") for number in range(12)]
    node, appliance = cluster.nodes[through], old_archive(tmp_path, pvs, weeks=2)
    command = ("import", "archiver-appliance", "--server")
    done = run_program(*command, node.url, appliance, seconds=120)
    total = 2 * len(pvs) * SAMPLES
    assert done.returncode == 0 and f"{total} samples read back and found equal" in done.stdout, done
    for other in "abc":
        again = run_program(*command, cluster.nodes[other].url, appliance, seconds=120)
        assert again.returncode == 0 and "in 2 parts, 2 of which had been imported before" in again.stdout, again
    for name in "abc":
        asked = cluster.nodes[name]
        for pv in pvs:
            wait_for(f"node {name} to have {pv}", lambda asked=asked, pv=pv: has_all(asked, pv, 2), 30, every=0.3)  # type: ignore[misc]


def stop_for_a_while(cluster: Cluster) -> None:
    """Longer than the others wait for a node that says nothing."""
    cluster.stop("b")
    time.sleep(12)
    cluster.go_on("b")


def move_away(cluster: Cluster) -> None:
    cluster.command("move", "1", "a")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("strike", [lambda cluster: cluster.nodes["b"].kill(), stop_for_a_while, move_away])
def test_an_import_goes_on_when_an_owner_dies_sleeps_or_moves_in_the_middle(
    cluster: Cluster, tmp_path: Path, strike: Callable[[Cluster], None]
) -> None:
    pvs = [f"{device}:{number}" for device in ("IH", "IA") for number in range(4)]
    weeks = 40
    b, c, appliance = cluster.nodes["b"], cluster.nodes["c"], old_archive(tmp_path, pvs, weeks)
    command = [str(program()), "import", "archiver-appliance", "--server", c.url, "--patience", "2m", str(appliance)]
    going_on = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_for("some weeks to be there", lambda: count(c, pvs[-1], "2027-01-01") >= 3 * SAMPLES, 60, every=0.05)
        strike(cluster)
        assert going_on.poll() is None, "it is over before anything happened"
        output, _ = going_on.communicate(timeout=180)
    finally:
        going_on.kill()
    assert going_on.returncode == 0, output
    assert f"{weeks * len(pvs) * SAMPLES} samples read back and found equal" in output, output
    if b.process is None:
        b.start(60)
    for name in "abc":
        asked = cluster.nodes[name]
        for pv in pvs:
            wait_for(f"node {name} to have {pv}", lambda asked=asked, pv=pv: has_all(asked, pv, weeks), 60, every=0.5)  # type: ignore[misc]


@pytest.mark.timeout(240)
def test_a_full_disk_of_an_owner_is_told_through_any_node_and_the_part_comes_again(
    store: S3, mount_small: Callable[[int], Path], tmp_path: Path
) -> None:
    disk = mount_small(64)
    with started(tmp_path, store, disk / "data") as cluster:
        fill_and_import(cluster, disk, lines(tmp_path))


def fill_and_import(cluster: Cluster, disk: Path, file: Path) -> None:
    c = cluster.nodes["c"]
    filler = disk / "filler"
    with filler.open("wb") as full:
        try:
            while True:
                full.write(b"x" * (1 << 20))
                full.flush()
        except OSError:
            pass
    refused = import_of(c, AWAY, file, "--patience", "3s")
    assert refused.returncode == 1 and "node b could not enter its share of this part" in refused.stderr, refused
    assert f"{SAMPLES} of {AWAY}" in refused.stderr and "space" in refused.stderr, refused
    filler.unlink()

    def is_taken() -> bool:
        done = import_of(c, AWAY, file, "--patience", "1m")
        return done.returncode == 0

    wait_for("it to be taken", is_taken, 60, every=1)
    assert has_all(c, AWAY)


def test_rights_are_looked_at_where_the_part_comes_and_the_audit_says_who_sent_it(tmp_path: Path, store: S3) -> None:
    cluster = Cluster(tmp_path, [], store.table(tmp_path, FOLDER) + RULES, shards=2)
    for node in cluster.nodes.values():
        access = f'[access]\nanonymous = "read"\nsocket = "{node.folder}/admin.sock"\n'
        node.config_path.write_text(node.config_path.read_text() + access)

    def by_socket(*arguments: str) -> str:
        node = cluster.nodes["a"]
        done = run_program("--socket", node.folder / "admin.sock", *arguments, "--server", node.url, seconds=60)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout.strip()

    def token(name: str, pvs: str) -> str:
        made = by_socket("token", "add", name, "--right", "operate", "--pvs", pvs, "--expires", "1d")
        return made.splitlines()[-1]

    def sent(node: Pvark, token: str | None = None) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)
        try:
            connection.request("POST", "/api/v1/import?import=old&part=1", lines_of_both, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def known(node: Pvark, token: str) -> tuple[int, str] | None:
        """What comes when the node knows the token, some seconds after another has made it."""
        status, text = sent(node, token)
        return None if status == 401 else (status, text)

    try:
        cluster.start()
        by_socket("add", HERE, AWAY)
        for node in cluster.nodes.values():
            wait_for("its list to have them", lambda node=node: len(node.json("/api/v1/pvs")["pvs"]) == 2)  # type: ignore[misc]
        lines_of_both = b"\n".join(file.read_bytes() for file in sorted(old_archive(tmp_path).glob("*/*.pb")))
        narrow, wide = token("narrow", "IH*"), token("wide", "*")
        for node in cluster.nodes.values():
            refused = wait_for("the token to be known", lambda node=node: known(node, narrow), 30, every=0.5)  # type: ignore[misc]
            assert refused[0] == 403 and AWAY in refused[1], refused
            assert sent(node)[0] == 401
        c = cluster.nodes["c"]
        assert count(c, HERE) == count(c, AWAY) == 0
        status, text = wait_for("the token to be known", lambda: known(c, wide), 30, every=0.5)
        assert status == 200 and json.loads(text)["verified"] == 2 * SAMPLES, (status, text)

        def told() -> bool:
            audit = c.json("/api/v1/audit?action=imported&limit=100")["audit"]
            lines = [(of["principal"], of["address"], of["listener"], of["samples"]) for of in audit]
            return lines == [("token:wide", "127.0.0.1", f"127.0.0.1:{c.port}", SAMPLES)] * 2

        wait_for("a line of each shard", told)
        # Whoever has not the key of the nodes gets nowhere by the URL of the nodes, at any listener.
        text = c.config_path.read_text()
        port = int(text.split('[nodes]\nlisten = "127.0.0.1:')[1].split('"')[0])
        status, _, _ = c.request("POST", "/internal/v1/import", b"x")
        assert status == 404
        for wrap in (lambda raw: raw, without_a_key):
            reply = b""
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10) as raw, wrap(raw) as way:
                way.sendall(b"POST /internal/v1/import HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx")
                reply = way.recv(100)
            assert b"HTTP" not in reply, reply
    finally:
        cluster.kill()


def without_a_key(raw: socket.socket) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(raw)


def old_archive(folder: Path, pvs: Sequence[str] = (HERE, AWAY), weeks: int = 1) -> Path:
    """Files of an Archiver Appliance, with samples at the beginning of each week."""
    store = folder / "lts"
    begin = int(START.astype("int64"))
    for pv in pvs:
        device, number = pv.split(":")
        (store / device).mkdir(parents=True, exist_ok=True)
        text = header(pv)
        for index in range(weeks * SAMPLES):
            week, second = divmod(index, SAMPLES)
            nanos = (begin + week * 7 * 86_400 + second) * 1_000_000_000
            text += sample(nanos, b"\x19" + struct.pack("<d", index))
        (store / device / f"{number}:2026.pb").write_bytes(text)
    return store
