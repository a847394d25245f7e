"""pyarchappl's own tests of management, which its wheel brings, against a real archiver where they look for one."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import archappl
import pvark
import pytest
from archappl.admin.client import ArchiverMgmtClient
from archiver import Pvark, clean_environment
from ioc import Ioc
from ports import free_port
from waiting import wait_for

# The port and the PVs are written down in these tests; one more PV is there and not archived.
PORT = 17666
ARCHIVED = ["TST:constant", "TST:uniformNoise", "TST:fakeGaussianNoise"]
RECORDS = """
record(ai, "TST:constant") { field(VAL, "1") field(PINI, "YES") }
record(calc, "TST:uniformNoise") { field(SCAN, ".1 second") field(CALC, "RNDM") }
record(calc, "TST:fakeGaussianNoise") { field(SCAN, ".1 second") field(CALC, "RNDM+RNDM+RNDM-1.5") }
record(calc, "TST:gaussianNoise") { field(SCAN, ".1 second") field(CALC, "RNDM-RNDM") }
"""
# What they expect to be told, which is what one of the first Appliances said.
TOLD = """
[appliance]
identity = "appliance0"
url = "http://localhost:17665"
cluster_inetport = "localhost:17670"
version = "Archiver Appliance Version 1.1.0"
"""


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_the_four_parts_of_the_appliance_are_found_where_they_say(tmp_path: Path) -> None:
    first = next(port for port in iter(free_port, None) if all(_is_free(port + more) for more in range(4)))
    server = Pvark(tmp_path, port=first)
    server.config_path.write_text(server.config_path.read_text() + '[appliance]\nports = "four"\n')
    try:
        server.start()
        told = ArchiverMgmtClient(url=server.url).get_appliance_info()
        ports = [first, first + 1, first + 2, first + 3]
        named = [told[part].split(":")[2].split("/")[0] for part in ("mgmtURL", "engineURL", "etlURL", "retrievalURL")]
        assert named == [str(port) for port in ports]
        for port in ports:
            assert pvark.Archiver(f"http://127.0.0.1:{port}").status()
    finally:
        server.kill()


@pytest.mark.skipif(not _is_free(PORT), reason=f"another program listens on port {PORT}")
def test_the_tests_that_pyarchappl_brings_pass_against_pvark(tmp_path: Path) -> None:
    ioc = Ioc.of_records(tmp_path, RECORDS).start()
    server = Pvark(tmp_path, [ioc], port=PORT)
    server.config_path.write_text(server.config_path.read_text() + TOLD)
    try:
        server.start()
        server.archive.add(*(f"ca://{pv}" for pv in ARCHIVED))
        wait_for("samples", lambda: all(len(server.archive.get(pv)) > 0 for pv in ARCHIVED))
        package = Path(archappl.__file__).parent
        # Management is there in one of the two settings that it brings, which is not the one that it takes by itself.
        settings = tmp_path / "pyarchappl.ini"
        brought = (package / "config" / "default.ini").read_text()
        settings.write_text(brought.replace("use = default.server", "use = local"))
        environment = {**clean_environment(), "PYARCHAPPL_CONFIG_FILE": str(settings)}
        tests = [str(package / "tests" / "test_mgmt_client.py"), "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *tests]
        ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert ended.returncode == 0, ended.stdout
        assert "5 passed" in ended.stdout
    finally:
        server.kill()
        ioc.kill()
