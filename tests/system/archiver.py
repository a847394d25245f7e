"""The program under test: built elsewhere, run here with a data folder, a port and a config of its own."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pvark
import pytest
from ioc import Ioc
from ports import free_port
from waiting import wait_for

ROOT = Path(__file__).parents[2]


def target() -> Path:
    """Where cargo puts what it builds."""
    return Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")


def program() -> Path:
    """Where it is: named by the environment, or where cargo puts it."""
    return Path(os.environ.get("PVARK") or target() / "release" / "pvark")


def clean_environment() -> dict[str, str]:
    """Without the EPICS variables of whoever runs the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith("EPICS_")}


def run_program(
    *arguments: str | Path, seconds: float = 30, lines: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """One command to its end, with lines on its standard input."""
    command, typed = [str(program()), *map(str, arguments)], "".join(f"{line}\n" for line in lines)
    env = clean_environment()
    return subprocess.run(command, env=env, input=typed, capture_output=True, text=True, timeout=seconds)


class Pvark:
    """`pvark run`, started, killed and started again on one data folder."""

    def __init__(
        self,
        folder: Path,
        iocs: Sequence[Ioc] = (),
        data: Path | None = None,
        more: str = "",
        port: int | None = None,
        repeater_port: int | None = None,
    ) -> None:
        self.folder = folder
        self.data = data or folder / "data"
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.archive = pvark.Archiver(self.url, timeout=30)
        self.log_path = folder / "pvark.log"
        self.config_path = folder / "pvark.toml"
        self.process: subprocess.Popen[bytes] | None = None
        self.environment: dict[str, str] = {}
        self.binary: Path | None = None
        """Another program than the one under test."""
        self.config_path.write_text(more + self._config(iocs, repeater_port or free_port()))

    def _config(self, iocs: Sequence[Ioc], repeater_port: int) -> str:
        ca = json.dumps([f"127.0.0.1:{ioc.ca_port}" for ioc in iocs])
        pva = json.dumps([f"127.0.0.1:{ioc.pva_search_port}" for ioc in iocs])
        return (
            f'listen = "127.0.0.1:{self.port}"\ndata = {json.dumps(str(self.data))}\n'
            f"[ca]\naddress_list = {ca}\nauto_address_list = false\nrepeater_port = {repeater_port}\n"
            f"[pva]\naddress_list = {pva}\nauto_address_list = false\nbroadcast_port = {free_port()}\n"
        )

    def start(self, seconds: float = 30) -> Pvark:
        """Starts it and waits until it answers."""
        self.launch()
        return self.wait_answers(seconds)

    def launch(self) -> None:
        """Starts it, and waits for nothing."""
        with self.log_path.open("ab") as log:
            command = [str(self.binary or program()), "run", "--config", str(self.config_path)]
            environment = clean_environment() | self.environment
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)

    def wait_answers(self, seconds: float = 30) -> Pvark:
        """Until it answers; an error with its log if it ends instead."""

        def answering() -> bool:
            if self.process is not None and self.process.poll() is not None:
                raise RuntimeError(f"pvark ended with {self.process.returncode}:\n{self.log()}")
            try:
                return bool(self.archive.status())
            except pvark.ConnectionFailed:
                return False
            except pvark.Unauthorized:
                return True

        wait_for("pvark to answer", answering, seconds)
        return self

    def log(self) -> str:
        """What it printed, the last part."""
        return self.log_path.read_text(errors="replace")[-4000:]

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def terminate(self) -> int:
        """SIGTERM, and the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        self.process = None
        return code

    def wait_connected(self, *pvs: str, seconds: float = 20) -> None:
        """Until all of them have at least one sample."""
        for pv in pvs:
            wait_for(f"a sample of {pv}", lambda pv=pv: self.archive.pv(pv).details["last"], seconds)  # type: ignore[misc]

    def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, dict[str, str], bytes]:
        """One HTTP request as it is, for what the client would not send: status, headers, body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def take(self, pv: str, value_type: str, lines: str) -> None:
        """Imports samples of the past."""
        path = f"/api/v1/pvs/{quote(pv)}/import?import={quote(pv)}&part={value_type}&type={value_type}"
        status, _, body = self.request("POST", path, lines.encode())
        assert status == 200, (status, body)

    def json(self, path: str) -> Any:
        """The answer to a GET, which must succeed."""
        status, _, body = self.request("GET", path)
        assert status == 200, (status, path, body[:300])
        return json.loads(body)


@contextmanager
def started(folder: Path) -> Iterator[Pvark]:
    """An archiver that runs and looks for no IOC; a test is skipped where the program was not built."""
    if not program().exists():
        pytest.skip(f"there is no program at {program()}")
    archiver = Pvark(folder)
    try:
        yield archiver.start()
    finally:
        archiver.kill()
