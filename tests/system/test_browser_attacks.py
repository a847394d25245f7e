"""Pages of other sites in a real browser, aimed at a real archiver: they change nothing, and its own page works on.

What the browser sends for them is seen by a witness, a server that answers everything.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from archiver import ROOT, Pvark
from ioc import Ioc
from waiting import wait_for

UI = ROOT / "ui"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NAMES = [f"A:{index}" for index in range(4)]
RECORDS = "".join(f'record(calc, "{name}") {{ field(SCAN, "1 second") field(CALC, "VAL+1") }}\n' for name in NAMES)
COMMAND = "/mgmt/bpl/pauseArchivingPV?pv=*"

# What a page does, with T for the archiver. `tried()` says that there is no more to come.
ATTACKS = {
    "image": f'<img src="T{COMMAND}" onerror="tried()" onload="tried()">',
    "image, no referrer": f'<img referrerpolicy="no-referrer" src="T{COMMAND}" onerror="tried()" onload="tried()">',
    "image, by a redirect": f'<img src="/to?url={quote("T" + COMMAND)}" onerror="tried()" onload="tried()">',
    "style sheet": f'<link rel="stylesheet" href="T{COMMAND}" onerror="tried()" onload="tried()">',
    "script": f'<script src="T{COMMAND}" onerror="tried()" onload="tried()"></script>',
    "script of an answer": '<script src="T/api/v1/status" onerror="tried()" onload="tried()"></script>',
    "frame": f'<iframe src="T{COMMAND}" onload="tried()"></iframe>',
    "frame of the page": '<iframe src="T/" onload="tried()"></iframe>',
    "link": f'<a id="bait" href="T{COMMAND}">click</a>',
    "link, no referrer": f'<a id="bait" rel="noreferrer" href="T{COMMAND}">click</a>',
    "window": f'<button id="bait" onclick="window.open(\'T{COMMAND}\'); tried()">click</button>',
    "meta refresh": f'<meta http-equiv="refresh" content="0;url=T{COMMAND}">',
    "form, text": """<form method="post" enctype="text/plain" action="T/mgmt/bpl/pauseArchivingPV">
        <input name="A:0,A:1,A:2,A:3#" value=""></form><script>document.forms[0].submit()</script>""",
    "form, url encoded": """<form method="post" action="T/api/v1/pvs/A:0/pause"></form>
        <script>document.forms[0].submit()</script>""",
    "form, sandboxed": """<form method="post" action="T/api/v1/pvs/A:0/pause"></form>
        <script>document.forms[0].submit()</script>""",
    "fetch, GET": f"""<script>fetch('T{COMMAND}', {{mode: 'no-cors', referrerPolicy: 'no-referrer'}})
        .then(tried, tried)</script>""",
    "fetch, POST": """<script>fetch('T/api/v1/pvs', {method: 'POST', mode: 'no-cors',
        headers: {'content-type': 'text/plain'}, body: '{"pvs":[{"name":"EVIL:PV"}]}'}).then(tried, tried)</script>""",
    "fetch, DELETE": "<script>fetch('T/api/v1/pvs/A:0', {method: 'DELETE'}).then(tried, tried)</script>",
    "fetch, our header": """<script>fetch('T/api/v1/pvs/A:0/pause', {method: 'POST', headers: {'X-Pvark': '1'}})
        .then(tried, tried)</script>""",
    "beacon": "<script>navigator.sendBeacon('T/api/v1/pvs/A:0/pause', 'x'); tried()</script>",
}
READS = ("frame of the page", "script of an answer")
ASKED_FIRST = ("fetch, DELETE", "fetch, our header")
HEAD = "<!doctype html><title>trying</title><script>function tried() { document.title = 'tried' }</script>"

# What a page does whose name has been made to lead to the archiver: for the browser they are one site.
TURNED = """<script>(async () => {
    const json = {'content-type': 'application/json', 'X-Pvark': '1'};
    const body = JSON.stringify({pvs: [{name: 'EVIL:PV'}]});
    for (const [path, how] of [
        ['/mgmt/bpl/pauseArchivingPV?pv=*', {}],
        ['/api/v1/pvs', {method: 'POST', headers: json, body}],
        ['/api/v1/pvs/A:0?data=delete', {method: 'DELETE', headers: json}],
        ['/api/v1/status', {}],
        ['/retrieval/data/getData.json?pv=A:0', {}],
        ['/', {}],
    ]) await fetch(path, how).catch(() => {});
    tried();
})()</script>"""

# Where the page comes from and by which name it asks: another site, and the same machine on another port.
SITES = [
    ("evil.test", "archiver.test"),
    ("localhost", "localhost"),
]
if os.environ.get("PVARK_ATTACKS") == "all":
    SITES += [("evil.test", "127.0.0.1"), ("archiver.test", "archiver.test")]


@dataclass
class Seen:
    """A request as it came to the witness."""

    method: str
    path: str
    headers: dict[str, str]


class Attacker(BaseHTTPRequestHandler):
    """`/attack?name=…&target=…` is a page, `/to?url=…` leads on; as a witness it keeps what else is asked."""

    seen: list[Seen]

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def answer(self) -> None:
        """The page that is asked for, or a note of the request."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/attack":
            body = (HEAD + ATTACKS[query["name"]].replace("T/", query["target"] + "/")).replace(
                quote("T/"), quote(query["target"] + "/")
            )
            return self.say(200, body, sandbox=query["name"].endswith("sandboxed"))
        if url.path == "/to":
            return self.say(302, "", query["url"])
        if url.path != "/favicon.ico":
            self.seen.append(
                Seen(self.command, self.path, {name.lower(): value for name, value in self.headers.items()})
            )
        return self.say(405 if self.command == "OPTIONS" else 200, "")

    def say(self, status: int, body: str, location: str | None = None, sandbox: bool = False) -> None:
        """One answer, that is nobody's to keep."""
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(body.encode())))
        if sandbox:
            self.send_header("Content-Security-Policy", "sandbox allow-scripts allow-forms")
        if location is not None:
            self.send_header("Location", location)
        with suppress(ConnectionError):  # a page that has gone waits for nothing
            self.end_headers()
            self.wfile.write(body.encode())

    do_GET = do_POST = do_DELETE = do_OPTIONS = answer


@pytest.fixture
def attacker() -> Iterator[tuple[int, list[Seen]]]:
    """The port of a server for pages, which is the witness too, and what it has seen."""
    seen: list[Seen] = []
    handler = type("Handler", (Attacker,), {"seen": seen})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1], seen
    server.shutdown()
    server.server_close()


@pytest.fixture
def server(tmp_path: Path, start_ioc: Callable[[str], Ioc]) -> Iterator[Pvark]:
    """An archiver that has a name, with a few PVs."""
    if not os.environ.get("CHROMIUM") and not any(map(shutil.which, BROWSERS)):
        pytest.skip("no chromium on this machine")
    if not (UI / "node_modules").exists():
        pytest.skip("ui/node_modules is not installed: run `make setup`")
    pvark = Pvark(tmp_path, [start_ioc(RECORDS)], more='hosts = ["archiver.test"]\n').start()
    pvark.archive.add(*NAMES)
    pvark.wait_connected(*NAMES)
    yield pvark
    pvark.kill()


def run(script: str, **environment: str) -> str:
    """A script of `ui/test`, to its end; what it printed."""
    command = ["npm", "run", "--silent", script]
    answer = subprocess.run(command, cwd=UI, env=os.environ | environment, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout[-4000:] + answer.stderr[-4000:]
    return answer.stdout


def visit(folder: Path, visits: list[dict[str, str]]) -> list[list[dict[str, Any]]]:
    """What became of the requests of each visit."""
    path = folder / "visits.json"
    path.write_text(json.dumps(visits))
    outcomes: list[list[dict[str, Any]]] = json.loads(run("visits", PVARK_VISITS=str(path)))
    return outcomes


def listed(server: Pvark) -> tuple[Any, Any]:
    """What there is, and every change of it that was ever made."""
    rows = server.json("/api/v1/pvs")["pvs"]
    return [(row["name"], row["state"]) for row in rows], server.json("/api/v1/audit")


@pytest.mark.timeout(600)
def test_no_page_of_another_site_changes_anything(
    server: Pvark, attacker: tuple[int, list[Seen]], tmp_path: Path
) -> None:
    port, _ = attacker
    before = listed(server)
    cases = [
        (name, f"http://{page}:{port}/attack?name={quote(name)}&target={quote(target)}", target)
        for page, host in SITES
        for target in [f"http://{host}:{server.port}"]
        for name in ATTACKS
    ]
    outcomes = visit(tmp_path, [{"url": url, "target": target} for _, url, target in cases])
    for (name, url, _), requests in zip(cases, outcomes, strict=True):
        # Of some answers the browser does not even tell that they were refused.
        assert requests, f"{url} asked for nothing"
        if name in READS:
            # It is read, but the browser keeps it from the page.
            assert all(request["failure"] for request in requests), (name, requests)
        elif name in ASKED_FIRST:
            assert all(request["status"] is None and request["failure"] for request in requests), (name, url, requests)
        else:
            assert all(request["status"] in (403, None) for request in requests), (name, url, requests)
    metrics = server.request("GET", "/metrics")[2].decode()
    refused = sum(int(line.split()[-1]) for line in metrics.splitlines() if 'status="403"' in line)
    assert refused >= len(SITES) * (len(ATTACKS) - len(READS) - len(ASKED_FIRST)), metrics
    assert listed(server) == before


@pytest.mark.timeout(300)
def test_a_name_that_was_made_to_lead_to_the_archiver_opens_nothing(server: Pvark, tmp_path: Path) -> None:
    before = listed(server)
    target = f"http://evil.test:{server.port}"
    turned = {"url": f"{target}/page.html", "target": target, "turned": HEAD + TURNED}
    (requests,) = visit(tmp_path, [turned])
    assert [request["status"] for request in requests if "favicon" not in request["url"]] == [421] * 6, requests
    assert listed(server) == before


@pytest.mark.timeout(300)
def test_its_own_page_goes_on_working_under_every_name(server: Pvark) -> None:
    urls = [f"http://{host}:{server.port}/" for host in ("127.0.0.1", "localhost", "archiver.test")]
    said = run("manage", PVARK_URLS=" ".join(urls), PVARK_PV="OWN:PV")
    assert said.count("is added, paused and resumed") == len(urls), said
    names = [row[0] for row in listed(server)[0]]
    assert [name for name in names if name.startswith("OWN:")] == ["OWN:PV:0", "OWN:PV:1", "OWN:PV:2"]


@pytest.mark.timeout(600)
def test_what_the_browser_sends_is_what_is_written_down(attacker: tuple[int, list[Seen]], tmp_path: Path) -> None:
    """The table of docs/decisions/0008: by what the rule of the archiver is made."""
    if not os.environ.get("CHROMIUM") and not any(map(shutil.which, BROWSERS)):
        pytest.skip("no chromium on this machine")
    if not (UI / "node_modules").exists():
        pytest.skip("ui/node_modules is not installed: run `make setup`")
    port, seen = attacker
    # From another site by either name, and from a page of the target's own.
    own = ("link", "fetch, POST")
    cases = [("evil.test", host, name) for host in HOSTS for name in ATTACKS]
    cases += [(host, host, name) for host in HOSTS for name in own]
    targets = [f"http://{host}:{port}/{index}" for index, (_, host, _) in enumerate(cases)]
    urls = [f"http://{page}:{port}/attack?name={quote(name)}" for page, _, name in cases]
    visit(tmp_path, [{"url": f"{url}&target={quote(to)}", "target": to} for url, to in zip(urls, targets, strict=True)])

    def first(index: int) -> Seen | None:
        return next((request for request in seen if request.path.startswith(f"/{index}/")), None)

    sent: dict[tuple[str, str, str], Seen] = {}
    for index, case in enumerate(cases):
        sent[case] = wait_for(f"the witness to see {case}", lambda index=index: first(index))  # type: ignore[misc]
        assert sent[case].headers["user-agent"].startswith("Mozilla/5.0")
    rows = [row_of(name, *(sent["evil.test", host, name] for host in HOSTS)) for name in ATTACKS]
    rows += [row_of(f"{name}, of our own page", *(sent[host, host, name] for host in HOSTS)) for name in own]
    page = (ROOT / "docs" / "decisions" / "0008-browsers.md").read_text()
    written = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| what")]
    assert written == [row.replace(f":{port}", "") for row in rows], "\n".join(rows)


HOSTS = ("archiver.test", "localhost")


def row_of(name: str, plain: Seen, local: Seen) -> str:
    """What tells where a request comes from, and what is said more to localhost."""
    origin, referer = (plain.headers.get(header, "none") for header in ("origin", "referer"))
    referer = referer.split("attack?")[0]
    sites = [seen.headers.get("sec-fetch-site", "none sent") for seen in (plain, local)]
    return f"| {' | '.join([name, plain.method, origin, referer, *sites])} |"
