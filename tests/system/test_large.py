"""Arrays of 100 MB: by Channel Access and pvAccess into the archive, and out of it in each form that clients ask for.

It takes a minute and some gigabytes, and so runs with `PVARK_LARGE=1` only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from archiver import Pvark
from farm import Farm
from ioc import Ioc
from waiting import wait_for

ELEMENTS = 25_000_000
WAVEFORM = f"name=L:,count=1,length={ELEMENTS},type=i32,rate=0.2,payload=noise"

MEMORY_MAX = 1.5e9
"""A gigabyte for the program, its queue and two heads, and some arrays for the answer that is being made."""

pytestmark = pytest.mark.skipif("PVARK_LARGE" not in os.environ, reason="it takes minutes: PVARK_LARGE=1 runs it")


@pytest.fixture(scope="module")
def pva(module_folder: Path) -> Iterator[Ioc]:
    ioc = Ioc.of_script(module_folder, "p4p_large.py").start()
    yield ioc
    ioc.kill()


@pytest.fixture(scope="module")
def server(module_folder: Path, pva: Ioc) -> Iterator[Pvark]:
    farm = Farm("--group", WAVEFORM)
    server = Pvark(module_folder, [farm, pva])  # type: ignore[list-item]
    try:
        server.start()
        server.archive.add("ca://L:0", "pva://L:pva")
        yield server
    finally:
        server.kill()
        farm.kill()


def post(pva: Ioc, seed: int) -> None:
    assert pva.process is not None and pva.process.stdin is not None
    pva.process.stdin.write(f"{seed}\n".encode())
    pva.process.stdin.flush()


def large(server: Pvark, pv: str) -> int:
    return sum(len(array) > 3 for array in server.archive.get(pv).values)


def test_each_array_that_a_pvaccess_server_posts_comes_and_goes_out_whole(server: Pvark, pva: Ioc) -> None:
    server.wait_connected("L:pva")
    for seed in (1, 2, 3):
        post(pva, seed)
        wait_for("the array", lambda seed=seed: large(server, "L:pva") == seed, 60)  # type: ignore[misc]
    arrays = [array for array in server.archive.get("L:pva").values if len(array) > 3]
    for seed, array in zip((1, 2, 3), arrays, strict=True):
        assert np.array_equal(array, np.random.default_rng(seed).random(12_500_000))


def test_each_form_has_the_same_numbers(server: Pvark) -> None:
    wait_for("two arrays", lambda: large(server, "L:0") >= 2, 60)
    samples = server.archive.get("L:0")
    first = samples.times[0].astype("datetime64[s]")
    window = [(first + np.timedelta64(more, "s")).item() for more in (0, 2)]
    query = "pv=L:0&from={}Z&to={}Z".format(*(moment.isoformat(timespec="milliseconds") for moment in window))
    status, _, body = server.request("GET", f"/retrieval/data/getData.json?{query}")
    assert status == 200
    assert json.loads(body)[0]["data"][-1]["val"] == samples.values[0].tolist()
    del body
    status, _, body = server.request("GET", f"/retrieval/data/getData.csv?{query}")
    assert (status, body.count(b",") - 3) == (200, ELEMENTS)


def test_raw_has_the_bytes_of_the_numbers(server: Pvark) -> None:
    last = server.archive.get("L:pva").values[-1]
    status, _, body = server.request("GET", "/retrieval/data/getData.raw?pv=L:pva")
    for escaped, byte in ((b"\x1b\x02", b"\n"), (b"\x1b\x03", b"\r"), (b"\x1b\x01", b"\x1b")):
        body = body.replace(escaped, byte)
    assert status == 200 and body.find(last.tobytes()) > 0


def test_bins_of_arrays_have_as_many_rows_as_were_asked_for(server: Pvark) -> None:
    samples = server.archive.get("L:pva")
    last = samples.values[-1]
    bins = server.archive.array_bins("L:pva", count=1, elements=1000)
    assert (bins.elements_per_row, len(bins.element), bins.length[0]) == (16_384, 763, 12_500_000)
    assert bins.max[0].max() <= 1 and bins.min[0, -1] <= last[-1] <= bins.max[0, -1]


def test_memory_stays_bounded(server: Pvark) -> None:
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    most = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))
    assert most < MEMORY_MAX, f"{most / 1e9} GB"
