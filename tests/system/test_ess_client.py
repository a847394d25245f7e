"""ESS's client of the Archiver Appliance, unmodified: it reads what our own client reads, by each of its operators."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from archiver import ROOT, Pvark
from ioc import Ioc
from waiting import wait_for

PACKAGES = ROOT / ".make" / "protobuf7"
RECORDS = """
record(calc, "N:count")  { field(SCAN, ".1 second") field(CALC, "VAL+1") field(EGU, "mA") field(PREC, "2") }
record(calc, "N:double") { field(SCAN, ".1 second") field(CALC, "RNDM*VAL/(VAL+1)+1") }
record(longin, "N:long") { field(SCAN, ".1 second") field(INP, "N:count") }
record(mbbi, "N:state")  { field(SCAN, ".5 second") field(INP, "N:next PP") field(ZRST, "No") field(ONST, "Yes") }
record(calc, "N:next")   { field(CALC, "(VAL+1)%2") }
record(stringin, "N:text") { field(SCAN, ".1 second") field(INP, "N:count") }
record(compress, "N:array") {
    field(SCAN, ".1 second") field(INP, "N:count") field(ALG, "Circular Buffer") field(NSAM, "5")
}
"""
PVS = ["N:double", "N:count", "N:long", "N:state", "N:text", "N:array"]

pytestmark = pytest.mark.skipif(not PACKAGES.is_dir(), reason=f"there are no packages in {PACKAGES}: run `make setup`")


@pytest.fixture(scope="module")
def told(module_folder: Path) -> Iterator[tuple[Pvark, dict[str, Any], tuple[datetime, datetime]]]:
    ioc = Ioc.of_records(module_folder, RECORDS).start()
    server = Pvark(module_folder, [ioc])
    try:
        server.start()
        server.archive.add(*(f"ca://{pv}" for pv in PVS))
        server.wait_connected(*PVS)
        begin = int(time.time()) + 1
        wait_for("three seconds to pass", lambda: time.time() > begin + 3.5)
        window = tuple(datetime.fromtimestamp(second, timezone.utc) for second in (begin, begin + 3))
        script = Path(__file__).parent / "ess_client.py"
        arguments = [str(server.port), *(moment.isoformat() for moment in window), *PVS]
        environment = os.environ | {"PYTHONPATH": str(PACKAGES)}
        done = subprocess.run(
            [sys.executable, str(script), *arguments], env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        yield server, json.loads(done.stdout), window  # type: ignore[misc]
    finally:
        server.kill()
        ioc.kill()


def test_it_reads_the_same_samples(told: tuple[Pvark, dict[str, Any], tuple[datetime, datetime]]) -> None:
    server, said, window = told
    for pv in PVS:
        ours = server.archive.get(pv, *window, before=True)
        theirs = said["samples"][pv]
        assert len(theirs) > 5, pv
        assert [row[0] for row in theirs] == [int(stamp) for stamp in ours.times.astype("int64")], pv
        values = [row[1] for row in theirs]
        assert values == [value.tolist() if hasattr(value, "tolist") else value for value in ours.values], pv


def test_it_finds_names_and_understands_what_is_not_there(
    told: tuple[Pvark, dict[str, Any], tuple[datetime, datetime]],
) -> None:
    _, said, _ = told
    assert said["search"] == sorted(PVS)
    assert said["search_in_time"] == ["N:count", "N:double"]
    assert said["unknown"], "an unknown PV is an error"


def test_all_of_its_operators_are_answered(told: tuple[Pvark, dict[str, Any], tuple[datetime, datetime]]) -> None:
    _, said, _ = told
    counts = {name: len(rows) for name, rows in said["operators"].items()}
    assert len(counts) == 26
    silent = {name for name, count in counts.items() if count == 0}
    assert silent <= {"flyers"}, counts
    values = {name: [row[1] for row in rows] for name, rows in said["operators"].items()}
    means, low, high = values["mean"], values["min"], values["max"]
    assert len(means) == len(low) == len(high) == len(values["std"]) == len(values["count"])
    assert all(a <= b <= c for a, b, c in zip(low, means, high, strict=True))
    inner = sum(values["count"][1:-1])
    assert inner <= values["ncount"][0] <= sum(values["count"])
