"""A cluster under test: nodes that share a bucket of a simulated S3 server, all on loopback."""

from __future__ import annotations

import http.client
import json
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from archiver import Pvark, run_program
from ioc import Ioc
from ports import free_port
from waiting import wait_for

NAMES = "abc"
MOTO = Path(__file__).parents[2] / "crates" / "s3" / "tests" / "server" / "one_at_a_time.py"


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

    def table(self, folder: Path) -> str:
        """The part of a config that names it."""
        secret = folder / "secret"
        secret.write_text("any")
        secret.chmod(0o600)
        return (
            f'[cluster.shared.s3]\nendpoint = "http://127.0.0.1:{self.port}"\nbucket = "{self.BUCKET}"\n'
            f'access_key = "any"\nsecret_key_file = {json.dumps(str(secret))}\n'
        )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()


class Cluster:
    """Three nodes."""

    def __init__(self, folder: Path, ioc: Ioc, shared: str, shards: int = 5, more: str = "") -> None:
        self.key = folder / "nodes.key"
        self.key.write_text(secrets.token_hex(32))
        self.key.chmod(0o600)
        self.shards = shards
        self.nodes: dict[str, Pvark] = {}
        for name in NAMES:
            own = folder / name
            own.mkdir()
            node = Pvark(own, [ioc], more=more)
            text = node.config_path.read_text()
            nodes = f'[nodes]\nlisten = "127.0.0.1:{free_port()}"\nkey = {json.dumps(str(self.key))}\n'
            cluster = f'[cluster]\nname = "ring"\nnode = "{name}"\nshards = {shards}\n'
            node.config_path.write_text(text + nodes + cluster + shared)
            self.nodes[name] = node

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
            fits = sorted(seats) == list(range(self.shards + 1)) and set(seats.values()) <= set(among or NAMES)
            return seats if fits else None

        return wait_for("every shard to have a node", seated, seconds, every=0.5)

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
