"""The page in a real browser against the real program."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from archiver import ROOT, Pvark
from ioc import Ioc
from waiting import wait_for

UI = ROOT / "ui"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def skip_without_browser() -> None:
    """Says why, where there is none."""
    if not os.environ.get("CHROMIUM") and not any(map(shutil.which, BROWSERS)):
        pytest.skip("no chromium on this machine")
    if not (UI / "node_modules").exists():
        pytest.skip("ui/node_modules is not installed: run `make setup`")


def in_chromium(script: str, **environment: str) -> str:
    """Runs one of the page's scripts, which must succeed, and gives what it says."""
    command = ["npm", "run", "--silent", script]
    answer = subprocess.run(command, cwd=UI, env=os.environ | environment, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout[-4000:] + answer.stderr[-4000:]
    return answer.stdout


@pytest.mark.timeout(300)
def test_the_page_finds_draws_and_follows_a_pv(
    tmp_path: Path, start_ioc: Callable[[str | Path], Ioc], start_pvark: Callable[..., Pvark]
) -> None:
    skip_without_browser()
    server = start_pvark(start_ioc(ROOT / "demo" / "demo.db"))
    names = [line for line in (ROOT / "demo" / "pvs.txt").read_text().splitlines() if line and line[0] != "#"]
    server.archive.add(*names)
    wait_for("the demo to be connected", lambda: server.archive.status().pvs["connected"] >= len(names) - 1, 30)
    wait_for("samples", lambda: len(server.archive.get("DEMO:BPM1:X")) > 30)
    shot = tmp_path / "page.png"
    in_chromium("e2e", PVARK_URL=server.url, PVARK_PV="DEMO:BPM1:X", PVARK_SHOT=str(shot))
    assert shot.stat().st_size > 10_000


@pytest.mark.timeout(300)
def test_tables_and_images_of_a_pvaccess_server_are_shown(tmp_path: Path) -> None:
    skip_without_browser()
    ioc = Ioc.of_script(tmp_path, "p4p_types.py")
    server = Pvark(tmp_path, [ioc])
    try:
        ioc.start()
        server.start()
        pvs = ["P:table", "P:image", "P:d:array"]
        server.archive.add(*(f"pva://{pv}" for pv in pvs))
        for pv in pvs:
            wait_for(f"a sample of {pv}", lambda pv=pv: len(server.archive.get(pv, "2000-01-01T00:00:00Z")) > 0)  # type: ignore[misc]
        in_chromium("shapes", PVARK_URL=server.url)
    finally:
        server.kill()
        ioc.kill()


@pytest.mark.timeout(300)
def test_the_page_says_who_is_gone_and_goes_on_by_itself(tmp_path: Path) -> None:
    skip_without_browser()
    ioc = Ioc.of_records(tmp_path, ROOT / "demo" / "demo.db")
    server = Pvark(tmp_path, [ioc])
    try:
        ioc.start()
        server.start().archive.add("DEMO:BPM1:X", "DEMO:BPM1:Y")
        wait_for("samples", lambda: len(server.archive.get("DEMO:BPM1:X")) > 30)
        environment = os.environ | {"PVARK_URL": server.url, "PVARK_PV": "DEMO:BPM1:X"}
        command = ["npm", "run", "--silent", "gone"]
        page = subprocess.Popen(
            command, cwd=UI, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert page.stdin is not None and page.stdout is not None
        try:
            assert page.stdout.readline() == "looking\n"
            for happens, act in (
                ("the archiver is gone", server.kill),
                ("the archiver is back", server.start),
                ("the IOC is gone", ioc.kill),
                ("the IOC is back", ioc.start),
            ):
                act()
                page.stdin.write(f"{happens}\n")
                page.stdin.flush()
                assert page.stdout.readline() == f"seen: {happens}\n"
            page.stdin.close()
            assert page.wait(30) == 0
        finally:
            page.kill()
    finally:
        server.kill()
        ioc.kill()


def test_the_page_is_in_the_program_and_asks_nobody_else(start_pvark: Callable[..., Pvark]) -> None:
    server = start_pvark()
    status, headers, body = server.request("GET", "/")
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert f'"{headers["content-security-policy"]}"' in (UI / "test" / "server.ts").read_text(), (
        "pages are tested under it"
    )
    page = body.decode()
    assert "<script" in page
    for attribute in ('src="http', 'href="http', 'src="//', 'href="//'):
        assert attribute not in page, "a control room has no internet"


def test_the_page_is_sent_in_gzip(start_pvark: Callable[..., Pvark]) -> None:
    server = start_pvark()
    page = server.request("GET", "/")[2].decode()
    total = 0
    for name in re.findall(r'"(assets/[^"]+)"', page):
        request = urllib.request.Request(f"{server.url}/{name}", headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            packed = answer.read()
            assert answer.headers["Content-Encoding"] == "gzip", name
        assert gzip.decompress(packed) == server.request("GET", f"/{name}")[2]
        total += len(packed)
    assert 0 < total < 120_000, "what a browser on a slow line waits for"
