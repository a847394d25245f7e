"""A Cassandra that speaks TLS alone and looks at certificates: who shows none or believes nobody is told why.

`make cluster` starts it and ends it.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from archiver import Pvark
from ioc import Ioc
from test_cluster_password import counts_are_whole, now, refused, restart_database
from three_nodes import Cluster, database, store_of
from waiting import wait_for

FILES = os.environ.get("PVARK_CQL_TLS", "")
pytestmark = [
    pytest.mark.skipif(
        not database() or not FILES, reason="not available here: no Cassandra that speaks TLS (`make cluster`)"
    ),
    pytest.mark.timeout(600),
]
RECORDS = 'record(calc, "TL:count") { field(SCAN, ".1 second") field(CALC, "VAL+1") }\n'


def tls(authority: str = "authority", name: str = "db.lab.example", own: Path | None = None) -> str:
    """The line of a config, with the certificate that a node is to show."""
    parts = {"authority": f"{FILES}/{authority}.pem", "name": name}
    if own is not None:
        parts |= {"certificate": str(own / "node.pem"), "key": str(own / "node.key")}
    return "tls = { " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in parts.items() if value) + " }\n"


def show(own: Path, who: str) -> None:
    """What a node shows from now on: the certificate of `who`."""
    for kind in ("pem", "key"):
        shutil.copy(f"{FILES}/{who}.{kind}", own / f"node.{kind}")


def test_a_node_that_is_not_to_be_believed_or_believes_nobody_is_told_why(
    tmp_path: Path, start_ioc: Callable[[str], Ioc]
) -> None:
    table = store_of(tmp_path).table(tmp_path)
    a = Cluster(tmp_path, [start_ioc(RECORDS)], table, shards=2).nodes["a"]
    plain, own = a.config_path.read_text(), tmp_path / "own"
    own.mkdir()

    def told_of(line: str) -> str:
        a.config_path.write_text(plain.replace(table, table + line))
        return refused(a.config_path)

    show(own, "node")
    assert "say `tls` in [cluster.shared.cql]" in told_of("")
    assert "UnknownIssuer" in told_of(tls(authority="other-authority", own=own))
    told = told_of(tls(name="", own=own))
    assert "not valid for name" in told and "db.lab.example" in told, told
    assert "CertificateRequired" in told_of(tls())
    show(own, "stranger")
    told = told_of(tls(own=own))
    assert "alert" in told, told
    # What is wrong with files is told before anybody is asked.
    (own / "node.key").chmod(0o644)
    assert "chmod 600" in told_of(tls(own=own))
    show(own, "node")
    shutil.copy(f"{FILES}/stranger.key", own / "node.key")
    told = told_of(tls(own=own))
    assert "node.key" in told and "its `tls` cannot be used" in told, told
    (own / "node.pem").write_text("nothing")
    assert "node.pem" in told_of(tls(own=own))
    assert "missing.pem" in told_of(tls(authority="missing", own=own))
    assert "say both, or none" in told_of(tls(own=own).replace("key = ", "# ").replace(" }", "").strip() + "\n}\n")


def test_a_certificate_may_be_replaced_and_one_that_is_not_believed_any_more_is_told(
    tmp_path: Path, start_ioc: Callable[[str], Ioc]
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    show(own, "node")
    table = store_of(tmp_path).table(tmp_path) + tls(own=own) + '[[cluster.rule]]\nmatch = ["TL*"]\nshard = 0\n'
    cluster = Cluster(tmp_path, [start_ioc(RECORDS)], table, shards=2)
    try:
        cluster.start()
        cluster.nodes["a"].archive.add("ca://TL:count")
        cluster.nodes["a"].wait_connected("TL:count")
        begin = now()
        time.sleep(2)
        owner = cluster.nodes[cluster.seats()[0]]

        def says(node: Pvark, word: str) -> bool:
            told = node.json("/api/v1/status")["problems"]
            assert any("the shared store has given no answer" in problem and word in problem for problem in told), told
            return True

        def is_well(node: Pvark) -> bool:
            told = node.json("/api/v1/status")["problems"]
            assert not any("the shared store" in problem for problem in told), told
            return True

        show(own, "stranger")
        restart_database()
        wait_for("the owner to say that it is not believed", partial(says, owner, "alert"), 90, every=0.5)
        whole = partial(counts_are_whole, owner, "TL:count", begin, now())
        wait_for("every count to be told", whole, 30, every=0.5)
        show(own, "node")
        for node in cluster.nodes.values():
            wait_for("it to ship again", partial(is_well, node), 120, every=0.5)
        for node in cluster.nodes.values():
            whole = partial(counts_are_whole, node, "TL:count", begin, now())
            wait_for("every count to be told", whole, 60, every=0.5)
    finally:
        cluster.kill()
