"""A Cassandra that wants passwords: who has none, or a wrong one, or one that is taken away in the middle, is told so.

`make cluster` starts it and ends it.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cql
import numpy as np
import pvark
import pytest
from archiver import ROOT, Pvark, run_program
from ioc import Ioc
from three_nodes import NAMES, Cluster, database, store_of
from waiting import wait_for

pytestmark = pytest.mark.skipif(
    not database() or os.environ.get("PVARK_CASSANDRA_AUTHENTICATOR") != "PasswordAuthenticator",
    reason="not available here: no Cassandra that wants passwords (`make cluster`)",
)
RECORDS = 'record(calc, "PW:count") { field(SCAN, ".1 second") field(CALC, "VAL+1") }\n'


def refused(config: Path) -> str:
    ended = run_program("run", "--config", config, seconds=60)
    assert ended.returncode == 1, (ended.stdout, ended.stderr)
    return ended.stderr


def test_a_database_takes_only_whom_it_knows(tmp_path: Path, start_ioc: Callable[[str], Ioc]) -> None:
    secret = tmp_path / "password"
    secret.write_text("wrong")
    secret.chmod(0o600)
    table = store_of(tmp_path).table(tmp_path)
    user = f'user = "cassandra"\npassword_file = {json.dumps(str(secret))}\n'
    cluster = Cluster(tmp_path, [start_ioc(RECORDS)], table + user, shards=2)
    a = cluster.nodes["a"]
    told = refused(a.config_path)
    assert 'does not take the password of "cassandra"' in told and "password_file" in told, told
    whole = a.config_path.read_text()
    a.config_path.write_text(whole.replace(user, ""))
    told = refused(a.config_path)
    assert "it wants to know who asks" in told, told
    a.config_path.write_text(whole)
    secret.write_text("cassandra")

    def starts() -> bool:
        """The first user is made some seconds after the start of the database."""
        try:
            cluster.start()
        except RuntimeError as error:
            raise AssertionError(str(error)) from error
        return True

    try:
        wait_for("the nodes to start", starts, 60, every=2)
        a.archive.add("ca://PW:count")
        a.wait_connected("PW:count")
    finally:
        cluster.kill()


def tell_database(*statements: str) -> None:
    """As its first user, who is made some seconds after its start."""

    def told() -> bool:
        cql.tell(database()[0], "cassandra", "cassandra", *statements)
        return True

    wait_for("the database to take orders", told, 60, every=1)


def restart_database() -> None:
    """Connections that are there are not asked for a password again: only new ones are."""
    for order in ("kill", "start"):
        subprocess.run([str(ROOT / "tools" / "cassandra.sh"), order, "1"], check=True, timeout=300)


def counts_are_whole(node: Pvark, pv: str, begin: np.datetime64, end: np.datetime64) -> bool:
    """Whether every count is there once from before `begin` until after `end`."""
    try:
        samples = node.archive.get(pv, begin, end)
    except (pvark.ServerFailed, pvark.BrokenOff, pvark.StoreRefused) as error:
        raise AssertionError(str(error)) from error
    counts, times, second = samples.values.astype("int64"), samples.times, np.timedelta64(1, "s")
    assert len(counts) > 0
    assert np.array_equal(counts, np.arange(counts[0], counts[0] + len(counts))), counts
    assert times[0] - begin < second and end - times[-1] < second, (times[0], times[-1])
    return True


def now() -> np.datetime64:
    return np.datetime64(time.time_ns(), "ns")


@pytest.mark.timeout(900)
def test_a_password_that_is_taken_away_is_told_and_what_is_recorded_meanwhile_is_shipped_with_the_next_one(
    tmp_path: Path, start_ioc: Callable[[str], Ioc]
) -> None:
    user = f"pvark_{time.time_ns()}"
    tell_database(f"CREATE ROLE {user} WITH PASSWORD = 'first' AND LOGIN = true")
    secret = tmp_path / "password"
    secret.write_text("first")
    secret.chmod(0o600)
    table = store_of(tmp_path).table(tmp_path) + f'user = "{user}"\npassword_file = {json.dumps(str(secret))}\n'
    table += '[[cluster.rule]]\nmatch = ["PW*"]\nshard = 0\n'
    cluster = Cluster(tmp_path, [start_ioc(RECORDS)], table, shards=2)
    try:
        cluster.start()
        cluster.nodes["a"].archive.add("ca://PW:count")
        cluster.nodes["a"].wait_connected("PW:count")
        begin = now()
        time.sleep(2)
        tell_database(f"ALTER ROLE {user} WITH PASSWORD = 'second'")
        restart_database()
        seats = cluster.seats()
        owners = [node for name, node in cluster.nodes.items() if name in seats.values()]

        def says_why(node: Pvark) -> bool:
            told = node.json("/api/v1/status")["problems"]
            words = ("the database does not take the user and the password any more", "start the node anew")
            assert any(all(word in problem for word in words) for problem in told), told
            return True

        for node in owners:
            wait_for("it to say that its password is not taken", partial(says_why, node), 90, every=0.5)
        # An order waits for the journal: it is refused, not lost. What is recorded is told.
        status, _, body = cluster.nodes["a"].request("POST", "/api/v1/pvs/PW:count/pause")
        assert status == 503, (status, body)
        for node in cluster.nodes.values():
            wait_for("every count to be told", partial(counts_are_whole, node, "PW:count", begin, now()), 30, every=0.5)
        # A node that is started anew with the new password is let in; with the old one the others are.
        secret.write_text("second")
        third = cluster.nodes[next(name for name in NAMES if name != seats[0])]
        third.kill()
        third.start(60)
        tell_database(f"ALTER ROLE {user} WITH PASSWORD = 'first'")
        secret.write_text("first")
        restart_database()
        for node in cluster.nodes.values():

            def is_well(node: Pvark = node) -> bool:
                told = node.json("/api/v1/status")["problems"]
                assert not any("the shared store" in problem for problem in told), told
                return True

            if node is not third:
                wait_for("it to ship again", is_well, 120, every=0.5)
        whole = partial(counts_are_whole, cluster.nodes[seats[0]], "PW:count", begin, now())
        wait_for("every count to be told", whole, 60, every=0.5)
    finally:
        cluster.kill()
