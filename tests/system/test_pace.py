"""What the page takes of a browser, against a real archiver with years of history; and one value among ten years.

`make pace` does it at full size: ten years at one sample a second, a year at ten, an hour live. Here it is a
hundredth of the samples and half a minute, so that bars of processor time, which hang on what else the machine does,
are printed and not asserted.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from archiver import Pvark
from farm import lab
from ioc import Ioc
from test_journeys import Browser
from test_page import UI, skip_without_browser
from waiting import wait_for

SCALE = os.environ.get("PVARK_PACE_SCALE", "0.01")
MINUTES = float(os.environ.get("PVARK_PACE_MINUTES", "0.5"))
#: Where the archive of long times is kept for the next run; at full size it takes some minutes and 4 GB.
KEPT = os.environ.get("PVARK_PACE_FOLDER")
#: As `pvark-lab history` has it.
OUTLIER = "2019-03-03T17:22:10.123456789Z"
LIVE = [f"PACE:{i}" for i in range(6)]


@pytest.fixture(scope="module")
def long_times(module_folder: Path) -> Iterator[Pvark]:
    """An archive of ten years, with an IOC of a few PVs that change ten times a second."""
    skip_without_browser()
    if not lab().exists():
        pytest.skip(f"there is no {lab()}: run `cargo build --release -p lab`")
    folder = Path(KEPT) if KEPT else module_folder
    subprocess.run([str(lab()), "history", "--folder", str(folder), "--scale", SCALE], check=True, timeout=3600)
    records = (f'record(calc, "{name}") {{ field(SCAN, ".1 second") field(CALC, "RNDM") }}\n' for name in LIVE)
    ioc = Ioc.of_records(module_folder, "".join(records))
    server = Pvark(module_folder, [ioc], data=folder / "data")
    try:
        ioc.start()
        server.start(120)
        server.archive.add(*LIVE)
        wait_for("samples", lambda: len(server.archive.get(LIVE[-1])) > 20, 40)
        yield server
    finally:
        server.kill()
        ioc.kill()


def pace(part: str, minutes: float = MINUTES, server: Pvark | None = None) -> str:
    """What the page's script says of a part, which must keep to its bars."""
    environment = os.environ | {"PVARK_PACE": part, "MINUTES": str(minutes), "PVARK_LIVE": " ".join(LIVE)}
    if server is not None:
        environment["PVARK_URL"] = f"{server.url}/"
    command = ["npm", "run", "--silent", "pace"]
    answer = subprocess.run(command, cwd=UI, env=environment, capture_output=True, text=True)
    print(answer.stdout)
    assert answer.returncode == 0, answer.stdout[-4000:] + answer.stderr[-4000:]
    return answer.stdout


@pytest.mark.timeout(4000)
def test_one_value_of_ten_years_is_seen_and_reached(long_times: Pvark, module_folder: Path) -> None:
    browser = Browser(module_folder, long_times, {})
    browser.walk("outlier", "outlier-keys", PVARK_OUTLIER=OUTLIER, PVARK_OUTLIER_PV="H:DECADE")


@pytest.mark.timeout(900)
def test_years_are_plotted_zoomed_and_panned(long_times: Pvark) -> None:
    said = pace("figures", server=long_times)
    for figure in ("first plot of a year of 10 Hz", "zoom in it", "first plot of 20 PVs", "requests meanwhile"):
        assert figure in said


@pytest.mark.timeout(MINUTES * 60 + 300)
def test_a_live_view_takes_little_and_no_more_as_it_goes_on(long_times: Pvark) -> None:
    assert "in use, beside that after" in pace("live", server=long_times)


@pytest.mark.timeout(MINUTES * 60 + 300)
def test_a_wall_takes_no_more_as_it_goes_on(long_times: Pvark) -> None:
    assert "in use, beside that after" in pace("wall", server=long_times)


#: So many minutes of the machine's clock are a day of a page whose clock goes a hundred times as fast.
DAY_MINUTES = 14.4


@pytest.mark.timeout(1500)
def test_a_day_of_a_wall_leaves_nothing_behind() -> None:
    skip_without_browser()
    assert "h of its clock at 100 times" in pace("day", min(DAY_MINUTES, MINUTES))
