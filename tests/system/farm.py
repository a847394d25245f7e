"""A farm of simulated IOCs in a process of its own, which counts every update that it sends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from archiver import ROOT, clean_environment
from ports import free_port


def lab() -> Path:
    """Where `pvark-lab` is: where cargo puts it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    return target / "release" / "pvark-lab"


class Farm:
    """`pvark-lab ioc`, from its start to its report. It looks to the archiver like any other IOC."""

    def __init__(self, *options: str) -> None:
        if not lab().exists():
            pytest.skip(f"there is no {lab()}: run `cargo build --release -p lab`")
        command = [str(lab()), "ioc", "--json", *options]
        self.process = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        serving = json.loads(self.process.stdout.readline())
        self.ca = [int(address.rsplit(":", 1)[1]) for address in serving["ca"]]
        self.pva = [int(address.rsplit(":", 1)[1]) for address in serving["pva"]]

    @property
    def ca_port(self) -> int:
        """The port of the first server of Channel Access; one that nobody has where there is none."""
        return self.ca[0] if self.ca else 9

    @property
    def pva_search_port(self) -> int:
        """The same by pvAccess."""
        return self.pva[0] if self.pva else 9

    def environment(self) -> dict[str, str]:
        """What confines clients of other people to it."""
        return {
            "EPICS_CA_ADDR_LIST": "127.0.0.1",
            "EPICS_CA_AUTO_ADDR_LIST": "NO",
            "EPICS_CA_SERVER_PORT": str(self.ca_port),
            "EPICS_CA_MAX_ARRAY_BYTES": "10000000",
            "EPICS_PVA_ADDR_LIST": f"127.0.0.1:{self.pva_search_port}",
            "EPICS_PVA_AUTO_ADDR_LIST": "NO",
            # A client listens at this one for beacons; the farm has its own for itself.
            "EPICS_PVA_BROADCAST_PORT": str(free_port()),
        }

    def end(self) -> dict[str, float]:
        """Lets it send what waits, and gives its counts by their names."""
        self.process.send_signal(signal.SIGTERM)
        output, _ = self.process.communicate(timeout=60)
        return {line["metric"]: line["value"] for line in map(json.loads, output.splitlines())}

    def kill(self) -> None:
        """No goodbye."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
