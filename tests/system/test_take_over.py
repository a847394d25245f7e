"""Configurations of other archivers, from files and from a ChannelFinder, and their PVs in a running archiver."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
from archiver import Pvark, run_program


def channel(name: str, hint: str) -> dict[str, object]:
    """As ChannelFinder gives it."""
    properties = [{"name": "archive", "owner": "recceiver", "value": hint, "channels": []}]
    return {"name": name, "owner": "recceiver", "properties": properties, "tags": []}


class Finder(BaseHTTPRequestHandler):
    """Answers `channels` in pages, as far as the request asks for the property."""

    hints = {f"CF:{number}": "monitor@1" if number % 2 else "scan@10" for number in range(5_003)}

    def do_GET(self) -> None:
        asked = urlparse(self.path)
        query = parse_qs(asked.query)
        if asked.path != "/ChannelFinder/resources/channels" or query.get("archive") != ["*"]:
            self.send_error(404)
            return
        start, size = int(query["~from"][0]), int(query["~size"][0])
        some = [channel(name, hint) for name, hint in list(self.hints.items())[start : start + size]]
        body = json.dumps(some).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def finder() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Finder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/ChannelFinder"
    server.shutdown()
    server.server_close()


def test_hints_of_channel_finder_become_pvs(finder: str, start_pvark: Callable[..., Pvark]) -> None:
    archiver = start_pvark()
    command = ["import", "config", "--server", archiver.url, "--channel-finder", finder]
    seen = run_program(*command)
    assert seen.returncode == 0 and seen.stdout.strip() == "", seen.stderr
    assert "5003 PVs, 0 policies" in seen.stderr
    assert archiver.json("/api/v1/pvs")["total"] == 0
    added = run_program(*command, "--add", seconds=60)
    assert added.returncode == 0 and "5003 PVs are archived" in added.stderr, added.stderr
    assert archiver.json("/api/v1/pvs")["total"] == 5003
    assert archiver.json("/api/v1/pvs/CF:4")["method"] == "scan"
    assert archiver.json("/api/v1/pvs/CF:5")["method"] == "monitor"
    wrong = run_program("import", "config", "--channel-finder", finder + "/gone")
    assert wrong.returncode == 1 and wrong.stderr


def test_files_become_a_config_and_notes(start_pvark: Callable[..., Pvark], tmp_path: Path) -> None:
    (tmp_path / "vac.archive").write_text("VAC:P1 1 monitor\nVAC:P2 5 scan\n!strange 1\n")
    properties = tmp_path / "archappl.properties"
    properties.write_text("org.epics.archiverappliance.mgmt.bpl.ArchivePVAction.defaultAccessProtocol=PVA\n")
    config = tmp_path / "pvark.toml"
    archiver = start_pvark()
    done = run_program(
        "import", "config", "--server", archiver.url, "--add", "-o", config, tmp_path / "vac.archive", properties
    )
    assert done.returncode == 0, done.stderr
    assert config.read_text() == 'default_protocol = "pva"\n'
    assert "vac.archive:3: !strange is no parameter that is known" in done.stderr
    assert [archiver.json(f"/api/v1/pvs/VAC:P{n}")["method"] for n in (1, 2)] == ["monitor", "scan"]

    folder = tmp_path / "taken"
    folder.mkdir()
    taken = Pvark(folder, more=config.read_text())
    try:
        taken.start().archive.add("VAC:P3")
        assert taken.json("/api/v1/pvs/VAC:P3")["protocol"] == "pva", "the archiver reads what was written for it"
    finally:
        taken.kill()
