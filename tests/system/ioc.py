"""Servers of PVs in processes of their own, on loopback and on ports of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

from ports import free_port
from waiting import wait_for

SERVERS = Path(__file__).parent / "servers"
LOOPBACK = (
    "EPICS_CA_ADDR_LIST",
    "EPICS_CAS_INTF_ADDR_LIST",
    "EPICS_CAS_BEACON_ADDR_LIST",
    "EPICS_PVA_ADDR_LIST",
    "EPICS_PVAS_INTF_ADDR_LIST",
    "EPICS_PVAS_BEACON_ADDR_LIST",
)
SWITCHED_OFF = (
    "EPICS_CA_AUTO_ADDR_LIST",
    "EPICS_CAS_AUTO_BEACON_ADDR_LIST",
    "EPICS_PVA_AUTO_ADDR_LIST",
    "EPICS_PVAS_AUTO_BEACON_ADDR_LIST",
)


class Ioc:
    """A process that serves PVs. Killed and started again, it keeps its ports."""

    def __init__(self, folder: Path, command: list[str], ready: str) -> None:
        self.command = command
        self.ready = ready
        self.ca_port = free_port()
        self.pva_port = free_port()
        self.pva_search_port = free_port()
        self.repeater_port = free_port()
        self.log_path = folder / f"ioc-{self.ca_port}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    @classmethod
    def of_records(cls, folder: Path, database: str | Path) -> Ioc:
        """EPICS Base with QSRV2, which serves these records by both protocols."""
        if isinstance(database, str):
            path = folder / "records.db"
            path.write_text(database)
        else:
            path = database
        return cls(folder, [sys.executable, "-m", "pvxslibs.ioc", "-d", str(path)], "IOC Running")

    @classmethod
    def of_script(cls, folder: Path, name: str) -> Ioc:
        """A Python program of `servers/`, which prints `ready`."""
        return cls(folder, [sys.executable, "-u", str(SERVERS / name)], "ready")

    def environment(self) -> dict[str, str]:
        """What confines servers and clients to this IOC."""
        ports = {
            "EPICS_CA_SERVER_PORT": self.ca_port,
            "EPICS_CAS_SERVER_PORT": self.ca_port,
            "EPICS_CA_REPEATER_PORT": self.repeater_port,
            "EPICS_PVA_SERVER_PORT": self.pva_port,
            "EPICS_PVAS_SERVER_PORT": self.pva_port,
            "EPICS_PVA_BROADCAST_PORT": self.pva_search_port,
            "EPICS_PVAS_BROADCAST_PORT": self.pva_search_port,
            "EPICS_CA_MAX_ARRAY_BYTES": 10_000_000,
        }
        fixed = dict.fromkeys(LOOPBACK, "127.0.0.1") | dict.fromkeys(SWITCHED_OFF, "NO")
        return fixed | {name: str(value) for name, value in ports.items()}

    def start(self) -> Ioc:
        """Starts it and waits until it serves."""
        offset = self.log_path.stat().st_size if self.log_path.exists() else 0
        self._log = self.log_path.open("ab")
        self.process = subprocess.Popen(
            self.command,
            env=os.environ | self.environment(),
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

        def serving() -> bool:
            text = self.log_path.read_text(errors="replace")[offset:]
            if self.process is not None and self.process.poll() is not None:
                raise RuntimeError(f"{self.command} ended at once:\n{text}")
            return self.ready in text

        wait_for(f"{self.command} to serve", serving, 30)
        return self

    def kill(self) -> None:
        """As a power cut would: no goodbye to anybody."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            if self.process.stdin is not None:
                self.process.stdin.close()
            self.process = None
        if self._log is not None:
            self._log.close()
            self._log = None
