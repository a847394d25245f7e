"""A cluster under test: nodes that share a bucket of moto or a keyspace of a real Cassandra, all on loopback."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pytest
from archiver import Pvark, run_program
from ioc import Ioc
from ports import free_port
from waiting import wait_for

NAMES = "abc"
MOTO = Path(__file__).parents[2] / "crates" / "s3" / "tests" / "server" / "one_at_a_time.py"


class Store(Protocol):
    """What nodes share."""

    def table(self, folder: Path) -> str:
        """The part of a config that names it, with a place that nobody else has."""

    def kill(self) -> None:
        """Ends what was started for it."""


def database() -> list[str]:
    """The nodes of Cassandra that `tools/cassandra.sh with 3` has started, as `host:port`."""
    return os.environ.get("PVARK_CQL", "").split()


def store_of(folder: Path) -> Store:
    """Cassandra where there is one, else moto."""
    return Cql() if database() else S3(folder)


class Cql:
    """A real Cassandra, on which everybody has a keyspace of his own."""

    def __init__(self, nodes: Sequence[str] | None = None) -> None:
        self.nodes = list(nodes or database())

    def table(self, folder: Path) -> str:
        """The part of a config that names it, with a keyspace that nobody else has."""
        nodes, replication = json.dumps(self.nodes), min(3, len(self.nodes))
        keyspace = f"test_{time.time_ns()}"
        return f'[cluster.shared.cql]\nnodes = {nodes}\nkeyspace = "{keyspace}"\nreplication = {replication}\n'

    def kill(self) -> None:
        """It goes on for those who come next."""


class S3:
    """moto in memory, with a bucket."""

    BUCKET = "pvark-test"

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.log = (folder / "moto.log").open("ab")
        pytest.importorskip("moto.server", reason="pip install 'moto[server]'")
        command = [sys.executable, str(MOTO), str(self.port)]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)
        wait_for("moto to make a bucket", self._make_bucket, 60)

    def _make_bucket(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("PUT", f"/{self.BUCKET}")
            return connection.getresponse().status == 200
        finally:
            connection.close()

    def table(self, folder: Path, called: str | None = None) -> str:
        """The part of a config that names it, with a folder that nobody else has, or the one called so."""
        secret = folder / "secret"
        secret.write_text("any")
        secret.chmod(0o600)
        within = called or f"test-{time.time_ns()}"
        return (
            f'[cluster.shared.s3]\nendpoint = "http://127.0.0.1:{self.port}"\nbucket = "{self.BUCKET}"\n'
            f'access_key = "any"\nsecret_key_file = {json.dumps(str(secret))}\n'
            f'folder = "{within}"\n'
        )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()


class Cluster:
    """Three nodes."""

    def __init__(
        self, folder: Path, iocs: Sequence[Ioc], shared: str, shards: int = 5, more: str = "", copies: int = 1
    ) -> None:
        self.key = folder / "nodes.key"
        self.key.write_text(secrets.token_hex(32))
        self.key.chmod(0o600)
        self.shards = shards
        # Each shard of PVs and its copy, and the site.
        self.all_shards = copies * shards + 1
        self.nodes: dict[str, Pvark] = {}
        for name in NAMES:
            own = folder / name
            own.mkdir()
            node = Pvark(own, iocs, more=more)
            text = node.config_path.read_text()
            nodes = f'[nodes]\nlisten = "127.0.0.1:{free_port()}"\nkey = {json.dumps(str(self.key))}\n'
            cluster = f'[cluster]\nname = "ring"\nnode = "{name}"\nshards = {shards}\n'
            node.config_path.write_text(text + nodes + cluster + shared)
            self.nodes[name] = node

    def start(self) -> None:
        """Starts all of them, and waits until every shard has one. Where the program cannot be a node, it skips."""
        for node in self.nodes.values():
            try:
                node.start()
            except RuntimeError as error:
                if "was built without" in str(error):
                    pytest.skip(str(error).splitlines()[-1])
                raise
        self.wait_seated()

    def command(self, *arguments: str, node: str = "a") -> str:
        """`pvark cluster …`, asked of a node."""
        done = run_program("cluster", "--server", self.nodes[node].url, *arguments, seconds=90)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def seats(self, node: str = "a") -> dict[int, str]:
        """Which node has which shard, as one of them sees it; of two that claim one, either."""
        standing = self.nodes[node].json("/api/v1/cluster")["nodes"]
        lively = [of for of in standing if of["state"] in ("lives", "leaves")]
        return {shard: of["name"] for of in lively for shard in of["shards"]}

    def wait_seated(self, *among: str, node: str = "a", seconds: float = 60) -> dict[int, str]:
        """Until every shard, the site included, is at one of these nodes."""

        def seated() -> dict[int, str] | None:
            seats = self.seats(node)
            fits = sorted(seats) == list(range(self.all_shards)) and set(seats.values()) <= set(among or NAMES)
            return seats if fits else None

        return wait_for("every shard to have a node", seated, seconds, every=0.5)

    def wait_calm(self, calm: float = 5, seconds: float = 90, node: str = "a") -> None:
        """Until no shard has changed its node for so long. The last second of one that has comes seconds later. Who
        has just taken it tells a gap until its IOC has answered; who has just given it away reads its list anew."""
        seats, since = self.wait_seated(node=node), time.monotonic()

        def is_calm() -> bool:
            nonlocal seats, since
            if (now := self.seats(node)) != seats:
                seats, since = now, time.monotonic()
            return time.monotonic() - since > calm

        wait_for("shards to stay where they are", is_calm, seconds, every=0.5)

    def stop(self, node: str) -> None:
        """SIGSTOP."""
        process = self.nodes[node].process
        assert process is not None
        process.send_signal(signal.SIGSTOP)

    def go_on(self, node: str) -> None:
        """SIGCONT."""
        process = self.nodes[node].process
        assert process is not None
        process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        for node in self.nodes.values():
            node.kill()
