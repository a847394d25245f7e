"""The demo IOC, recorded by three pvark nodes with a keyspace of the Cassandra that PVARK_CQL names.

tools/cassandra.sh with 3 .venv/bin/python tools/cluster_demo.py [PORT PORT PORT]
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("a", "b", "c")
PORTS = (17665, 17666, 17667)
READY_SECONDS = 60


def free_ports(count: int) -> list[int]:
    """All are held until the last is known, so they differ."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Ioc:
    """EPICS Base with the records of the demo, on loopback and ports of its own."""

    def __init__(self, folder: Path) -> None:
        self.ca, self.repeater, self.pva, self.pva_search = free_ports(4)
        ports = {
            "EPICS_CA_SERVER_PORT": self.ca,
            "EPICS_CA_REPEATER_PORT": self.repeater,
            "EPICS_PVA_SERVER_PORT": self.pva,
            "EPICS_PVAS_SERVER_PORT": self.pva,
            "EPICS_PVA_BROADCAST_PORT": self.pva_search,
            "EPICS_PVAS_BROADCAST_PORT": self.pva_search,
        }
        addresses = ["CA_ADDR_LIST", "CAS_INTF_ADDR_LIST", "CAS_BEACON_ADDR_LIST", "PVA_ADDR_LIST"]
        addresses += ["PVAS_INTF_ADDR_LIST", "PVAS_BEACON_ADDR_LIST"]
        lists = {f"EPICS_{name}": "127.0.0.1" for name in addresses}
        off = ["CA_AUTO_ADDR_LIST", "CAS_AUTO_BEACON_ADDR_LIST", "PVA_AUTO_ADDR_LIST", "PVAS_AUTO_BEACON_ADDR_LIST"]
        lists |= {f"EPICS_{name}": "NO" for name in off}
        # Its shell ends when its input does.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pvxslibs.ioc", "-d", str(ROOT / "demo" / "demo.db")],
            env=os.environ | lists | {name: str(port) for name, port in ports.items()},
            stdin=subprocess.PIPE,
            stdout=(folder / "ioc.log").open("wb"),
            stderr=subprocess.STDOUT,
        )


class Node:
    """A pvark of the cluster."""

    def __init__(self, folder: Path, name: str, port: int, ioc: Ioc, cluster: str) -> None:
        self.name, self.url = name, f"http://127.0.0.1:{port}"
        own = folder / name
        own.mkdir()
        self.log = own / "pvark.log"
        (listen, beacons, repeater) = free_ports(3)
        config = own / "pvark.toml"
        config.write_text(
            f'listen = "127.0.0.1:{port}"\ndata = {json.dumps(str(own / "data"))}\n'
            f'[ca]\naddress_list = ["127.0.0.1:{ioc.ca}"]\nauto_address_list = false\nrepeater_port = {repeater}\n'
            f'[pva]\naddress_list = ["127.0.0.1:{ioc.pva_search}"]\nauto_address_list = false\n'
            f"broadcast_port = {beacons}\n"
            f'[nodes]\nlisten = "127.0.0.1:{listen}"\nkey = {json.dumps(str(folder / "nodes.key"))}\n'
            f'[cluster]\nname = "demo"\nnode = "{name}"\nshards = 6\n{cluster}'
        )
        environment = {key: value for key, value in os.environ.items() if not key.startswith("EPICS_")}
        command = [program(), "run", "--config", str(config)]
        self.process = subprocess.Popen(
            command, env=environment, stdout=self.log.open("wb"), stderr=subprocess.STDOUT, start_new_session=True
        )

    def wait_ready(self) -> None:
        """Until it answers; what it says when it ends instead."""
        deadline = time.monotonic() + READY_SECONDS
        while self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/api/v1/cluster", timeout=5) as answer:
                    answer.read()
                    return
            except OSError:
                if time.monotonic() > deadline:
                    sys.exit(f"node {self.name} does not answer after {READY_SECONDS} s; see {self.log}")
                time.sleep(0.3)
        sys.exit(f"node {self.name} ended:\n{self.log.read_text(errors='replace')[-2000:]}")


def program() -> str:
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    return os.environ.get("PVARK") or str(target / "release" / "pvark")


def wait_seated(node: Node) -> None:
    """Until each shard, and the site, has a node."""
    deadline = time.monotonic() + READY_SECONDS
    while True:
        with urllib.request.urlopen(f"{node.url}/api/v1/cluster", timeout=10) as answer:
            nodes = json.load(answer)["nodes"]
        if {shard for of in nodes for shard in of["shards"]} == set(range(7)):
            return
        if time.monotonic() > deadline:
            sys.exit(f"some shards have no node after {READY_SECONDS} s; see {node.log}")
        time.sleep(0.5)


def add(node: Node) -> int:
    """Has all PVs of the demo archived, and says how many these are."""
    lines = (ROOT / "demo" / "pvs.txt").read_text().splitlines()
    pvs = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    body = json.dumps({"pvs": pvs}).encode()
    request = urllib.request.Request(f"{node.url}/api/v1/pvs", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        sys.exit(f"the PVs could not be added: {error.read().decode(errors='replace')}")
    return len(pvs)


def main() -> None:
    database = os.environ.get("PVARK_CQL", "").split()
    if not database:
        sys.exit("PVARK_CQL names no nodes of Cassandra: run `make cluster-demo`")
    ports = [int(port) for port in sys.argv[1:]] or PORTS
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with tempfile.TemporaryDirectory(prefix="pvark-cluster-demo-") as name:
        folder = Path(name)
        key = folder / "nodes.key"
        key.touch(0o600)
        key.write_text(secrets.token_hex(32))
        cluster = f'[cluster.shared.cql]\nnodes = {json.dumps(database)}\nkeyspace = "demo_{int(time.time())}"\n'
        cluster += f"replication = {min(3, len(database))}\n"
        ioc = Ioc(folder)
        nodes: list[Node] = []
        try:
            for of, port in zip(NAMES, ports, strict=True):
                nodes.append(Node(folder, of, port, ioc, cluster))
                nodes[-1].wait_ready()
            wait_seated(nodes[0])
            count = add(nodes[0])
            print(f"\n  {count} PVs of a real EPICS IOC are being archived by {len(nodes)} nodes, in {folder}")
            for node in nodes:
                print(f"  Open  {node.url}/?pv=DEMO:BEAM:CURRENT&pv=DEMO:BPM1:X&live=300   node {node.name}")
            print(f"  {program()} cluster --server {nodes[0].url} status   says who has what; try to kill -9 one:")
            print("  " + ", ".join(f"{node.name} is process {node.process.pid}" for node in nodes))
            print("  Ctrl-C stops the nodes, the IOC and the database, and removes all of it.\n", flush=True)
            stopped.wait()
        finally:
            for node in nodes:
                node.process.terminate()
            for node in nodes:
                node.process.wait()
            ioc.process.kill()
            ioc.process.wait()


main()
