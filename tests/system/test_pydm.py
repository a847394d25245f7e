"""PyDM's archiver plug-in, unmodified: its plots get the samples that our own client reads, and bins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archiver import ROOT, Pvark
from ioc import Ioc
from waiting import wait_for

# Qt is 200 MB for this one test, so `make setup` leaves it out.
PACKAGES = ROOT / ".make" / "pydm"
REQUIREMENTS = "tools/requirements-pydm.txt"
RECORDS = 'record(calc, "N:count") { field(SCAN, ".1 second") field(CALC, "VAL+1") }'

pytestmark = pytest.mark.skipif(
    not PACKAGES.is_dir(),
    reason=f"PyDM is not there: .venv/bin/pip install --target .make/pydm --no-deps -r {REQUIREMENTS}",
)


@pytest.fixture(scope="module")
def server(module_folder: Path) -> Iterator[Pvark]:
    ioc = Ioc.of_records(module_folder, RECORDS).start()
    server = Pvark(module_folder, [ioc])
    try:
        server.start()
        server.archive.add("ca://N:count")
        server.wait_connected("N:count")
        yield server
    finally:
        server.kill()
        ioc.kill()


def plotted(server: Pvark, begin: int, end: int, command: str, pv: str = "N:count") -> dict[str, Any]:
    script = Path(__file__).parent / "pydm_client.py"
    more = {"PYTHONPATH": str(PACKAGES), "PYDM_ARCHIVER_URL": server.url, "QT_QPA_PLATFORM": "offscreen"}
    arguments = [sys.executable, str(script), str(begin), str(end), command, pv]
    done = subprocess.run(arguments, env=os.environ | more, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_a_plot_gets_samples_and_bins(server: Pvark) -> None:
    begin = int(time.time()) + 1
    wait_for("three seconds to pass", lambda: time.time() > begin + 3.5)
    ours = server.archive.get("N:count", f"{begin}", f"{begin + 3}", before=True)
    seconds, values = plotted(server, begin, begin + 3, "")["columns"]
    assert len(values) > 20 and values == ours.values.tolist()
    assert seconds == (ours.times.astype("int64") // 1_000_000_000).tolist()
    columns = plotted(server, begin, begin + 3, "optimized_3")["columns"]
    assert len(columns) == 5, "time, mean, deviation, lowest, highest"
    assert all(low <= mean <= high for mean, low, high in zip(columns[1], columns[3], columns[4], strict=True))
    assert plotted(server, begin, begin + 3, "optimized_1000")["columns"][1] == values, "few samples come as they are"


def test_a_plot_learns_that_a_pv_is_not_there(server: Pvark) -> None:
    now = int(time.time())
    told = plotted(server, now - 10, now, "", "N:nowhere")
    assert told["columns"] is None and told["connected"][-1:] == [False]
