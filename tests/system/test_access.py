"""Who may do what, with the real program: tokens, the socket of the machine, a proxy, rates, a config read anew;
and what is secret is written down nowhere."""

from __future__ import annotations

import http.client
import json
import os
import signal
import stat
import statistics
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pvark
import pytest
import requests
from aa.js import JsonFetcher
from aa.pb import PbFetcher
from aa.rest import AaRestClient
from archappl.admin.client import ArchiverMgmtClient
from archappl.data.client import ArchiverDataClient
from archiver import Pvark, program, run_program
from waiting import wait_for

ACCESS = """
[access]
anonymous = "none"
socket = "{folder}/admin.sock"
limits = {{ requests_per_second = {rate}, burst = {burst}, long_answers = 2 }}
[[access.grant]]
to = "group:operators"
right = "operate"
pvs = ["SR*"]
[[access.grant]]
to = "user:ana"
right = "read"
[access.proxy]
from = ["127.0.0.1/32"]
user = "X-Forwarded-User"
groups = "X-Forwarded-Groups"
"""


def configured(folder: Path, rate: int = 1000, burst: int = 2000) -> Pvark:
    """An archiver with that `[access]`."""
    server = Pvark(folder)
    text = server.config_path.read_text()
    server.config_path.write_text(text + ACCESS.format(folder=folder, rate=rate, burst=burst))
    return server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Pvark]:
    if not program().exists():
        pytest.skip(f"there is no program at {program()}")
    server = configured(tmp_path)
    try:
        yield server.start()
    finally:
        server.kill()


def by_socket(server: Pvark, *arguments: str) -> str:
    """What a command prints that asks by the socket."""
    done = run_program("--socket", server.folder / "admin.sock", *arguments, "--server", server.url)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def token(server: Pvark, name: str, right: str, pvs: str = "*", expires: str = "1d") -> str:
    """A new token."""
    asked = ("token", "add", name, "--right", right, "--pvs", pvs, "--expires", expires)
    return by_socket(server, *asked).strip()


def kept(folder: Path, name: str, text: str) -> Path:
    """A file that holds a token."""
    file = folder / name
    file.write_text(text + "\n")
    file.chmod(0o600)
    return file


def ask(
    server: Pvark, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None
) -> tuple[int, dict[str, str], str]:
    """One request with these headers."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text
    finally:
        connection.close()


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def test_tokens_are_made_used_listed_and_revoked_by_commands(server: Pvark, tmp_path: Path) -> None:
    mode = stat.S_IMODE(os.stat(tmp_path / "admin.sock").st_mode)
    assert mode == 0o600
    by_socket(server, "add", "SR:A", "OTHER:B")
    operate = token(server, "ingest", "operate", "SR*")
    assert operate.startswith("pvk_") and len(operate) == len("pvk_") + 8 + 1 + 43
    file = kept(tmp_path, "operate.token", operate)
    paused = run_program("pause", "SR:A", "--server", server.url, "--token-file", file)
    assert paused.returncode == 0, paused
    refused = run_program("pause", "OTHER:B", "--server", server.url, "--token-file", file)
    assert refused.returncode == 1 or "OTHER:B" in refused.stdout + refused.stderr, refused
    assert ask(server, "GET", "/api/v1/pvs/OTHER:B", bearer(operate))[0] == 404
    nobody = run_program("list", "--server", server.url)
    assert nobody.returncode == 1 and "[HTTP 401]" in nobody.stderr, nobody
    archive = pvark.Archiver(server.url, token_file=file)
    assert [pv.name for pv in archive.search()] == ["SR:A"]

    audit = by_socket(server, "audit")
    assert "token:ingest" in audit and f"local:{os.getuid()}" in audit, audit
    listed = by_socket(server, "token", "list")
    name = operate.split("_")[1]
    assert name in listed and "ingest" in listed and "SR*" in listed, listed
    # Nobody gives more than they have: tokens are for administrators, and one of these gives no more than it has.
    status, _, text = ask(
        server, "POST", "/api/v1/tokens", bearer(operate), b'{"name":"x","right":"read","expires":"1d"}'
    )
    assert status == 403, text
    by_socket(server, "token", "revoke", name)
    status, headers, text = ask(server, "GET", "/api/v1/pvs", bearer(operate))
    assert status == 401 and "revoked" in text and headers["www-authenticate"].startswith("Bearer"), text
    assert server.terminate() == 0
    server.start()
    assert ask(server, "GET", "/api/v1/pvs", bearer(operate))[0] == 401


def test_a_token_that_others_may_read_is_not_used(server: Pvark, tmp_path: Path) -> None:
    file = kept(tmp_path, "token", "pvk_x")
    file.chmod(0o644)
    done = run_program("list", "--server", server.url, "--token-file", file)
    assert done.returncode == 1 and "others may read it" in done.stderr, done


def test_secrets_are_written_down_nowhere(server: Pvark, tmp_path: Path) -> None:
    secret = token(server, "meter", "administer")
    secrets = [secret.split("_")[2].encode(), b"a-wrong-password"]
    headers = {"Authorization": "Basic " + "YW5hOmEtd3JvbmctcGFzc3dvcmQ="}
    assert ask(server, "GET", "/api/v1/pvs", headers)[0] == 401
    assert ask(server, "POST", "/api/v1/login", {}, b'{"user":"ana","password":"a-wrong-password"}')[0] == 401
    assert ask(server, "POST", "/api/v1/login", {}, b'{"user":"ana","password":"a-wrong-password",}')[0] == 400
    assert ask(server, "GET", "/api/v1/pvs", bearer(secret + "x"))[0] == 401
    assert ask(server, "POST", "/api/v1/pvs/NONE/pause", bearer(secret))[0] == 404
    assert ask(server, "POST", "/api/v1/pvs", bearer(secret), b'{"pvs":[{"name":"A"}]}')[0] == 200
    backup = tmp_path / "backup"
    done = run_program("backup", "--data", server.data, "--to", backup)
    assert done.returncode == 0, done
    assert server.terminate() == 0
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any(file.suffix == ".redb" or "catalog" in file.name for file in files), files
    for file in files:
        data = file.read_bytes()
        assert not any(word in data for word in secrets), file


def test_a_proxy_says_who_it_is_and_nobody_else_may(server: Pvark, tmp_path: Path) -> None:
    by_socket(server, "add", "SR:A", "OTHER:B")
    ana = {"X-Forwarded-User": "ana", "X-Forwarded-Groups": "staff, operators"}
    assert ask(server, "POST", "/api/v1/pvs/SR:A/pause", ana)[0] == 200
    status, _, text = ask(server, "POST", "/api/v1/pvs/OTHER:B/pause", ana)
    assert status == 403 and "operate" in text and "proxy:ana" in text, text
    assert "proxy:ana" in by_socket(server, "audit")
    me = json.loads(ask(server, "GET", "/api/v1/me", ana)[2])
    assert (me["who"], me["all"], me["most"], me["groups"]) == ("proxy:ana", "read", "operate", ["staff", "operators"])
    # Twice, or in another spelling, as a proxy passes on what a client has written.
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    for second in ("X-Forwarded-User", "x_forwarded_user", "X-FORWARDED-USER"):
        connection.putrequest("GET", "/api/v1/pvs")
        connection.putheader("X-Forwarded-User", "bob")
        connection.putheader(second, "ana")
        connection.endheaders()
        answer = connection.getresponse()
        assert (answer.status, b"ana" in answer.read()) == (400, False)
    connection.close()
    text = server.config_path.read_text().replace('from = ["127.0.0.1/32"]', 'from = ["127.0.0.2/32"]')
    server.config_path.write_text(text)
    server.process.send_signal(signal.SIGHUP)  # type: ignore[union-attr]
    wait_for("the config to be in force", lambda: ask(server, "GET", "/api/v1/me", ana)[0] == 400, 10)


def test_what_is_under_way_ends_when_its_right_does(server: Pvark, tmp_path: Path) -> None:
    by_socket(server, "add", "SR:A")
    text = token(server, "viewer", "read")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=40)
    connection.request("GET", "/api/v1/live?pv=SR:A", headers=bearer(text))
    stream = connection.getresponse()
    assert stream.status == 200
    begun = time.monotonic()
    by_socket(server, "token", "revoke", text.split("_")[1])
    rest = stream.read().decode()
    assert "event: error" in rest and "revoked" in rest, rest
    assert time.monotonic() - begun < 5
    connection.close()

    ana = {"X-Forwarded-User": "ana"}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=40)
    connection.request("GET", "/api/v1/live?pv=SR:A", headers=ana)
    stream = connection.getresponse()
    good = server.config_path.read_text()
    # What cannot be used changes nothing.
    server.config_path.write_text(good.replace('right = "read"', 'right = "reed"'))
    server.process.send_signal(signal.SIGHUP)  # type: ignore[union-attr]
    wait_for("the mistake to be told", lambda: "stays as it was" in server.log(), 10)
    assert "reed" in server.log() and ask(server, "GET", "/api/v1/pvs", ana)[0] == 200
    server.config_path.write_text(good.replace('to = "user:ana"', 'to = "user:bob"'))
    server.process.send_signal(signal.SIGHUP)  # type: ignore[union-attr]
    assert "event: error" in stream.read().decode()
    assert ask(server, "GET", "/api/v1/pvs", ana)[0] == 403
    connection.close()


def test_why_somebody_may_or_may_not(server: Pvark, tmp_path: Path) -> None:
    def explained(*arguments: str) -> tuple[int, str]:
        done = run_program("--socket", tmp_path / "admin.sock", "access", "explain", *arguments, "--server", server.url)
        return done.returncode, done.stdout + done.stderr

    code, text = explained("proxy:ana", "POST", "/api/v1/pvs/SR:A/pause", "--group", "operators")
    assert code == 0 and "[[access.grant]] number 1" in text and "this decides" in text, text
    code, text = explained("ana", "GET", "/mgmt/bpl/pauseArchivingPV?pv=OTHER:B", "--group", "operators")
    assert code == 1 and "is not for OTHER:B" in text and "proxy:ana" in text, text
    code, text = explained("anonymous", "read", "SR:A")
    assert code == 1 and 'anonymous = "none"' in text, text
    code, text = explained("anonymous", "GET", "/api/v1/me")
    assert code == 0, text
    code, text = explained("ana", "GET", "/nothing")
    assert code == 1 and "there is no GET /nothing" in text, text
    by_file = run_program("access", "explain", "ana", "read", "X", "--config", server.config_path)
    assert by_file.returncode == 0 and "number 2" in by_file.stdout, by_file
    # Everybody may ask about themselves, and not about others.
    ana = {"X-Forwarded-User": "ana"}
    asked = "/api/v1/access/explain?method=read&what=SR:A&user=proxy:"
    assert json.loads(ask(server, "GET", asked + "ana", ana)[2])["allowed"] is True
    assert ask(server, "GET", asked + "bob", ana)[0] == 403


def test_who_asks_too_often_waits_and_holds_up_nobody(tmp_path: Path) -> None:
    if not program().exists():
        pytest.skip(f"there is no program at {program()}")
    server = configured(tmp_path, rate=50, burst=20).start()
    try:
        busy, calm = token(server, "busy", "read"), token(server, "calm", "read")

        def asked(text: str, seconds: float, each: float, took: list[float], counts: dict[int, int]) -> None:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
            end, due = time.monotonic() + seconds, time.monotonic()
            while time.monotonic() < end:
                begun = time.monotonic()
                connection.request("GET", "/api/v1/status", headers=bearer(text))
                answer = connection.getresponse()
                answer.read()
                took.append(time.monotonic() - begun)
                counts[answer.status] = counts.get(answer.status, 0) + 1
                if answer.status == 429:
                    assert int(answer.headers["Retry-After"]) >= 1
                due += each
                time.sleep(max(0.0, due - time.monotonic()))
            connection.close()

        alone: list[float] = []
        counts: dict[int, int] = {}
        asked(calm, 3, 0.05, alone, counts)
        assert set(counts) == {200}
        beside: list[float] = []
        of_calm: dict[int, int] = {}
        of_busy: dict[int, int] = {}
        thread = threading.Thread(target=asked, args=(busy, 4, 0.002, [], of_busy))
        thread.start()
        time.sleep(0.5)
        asked(calm, 3, 0.05, beside, of_calm)
        thread.join()
        assert set(of_calm) == {200}, of_calm
        assert of_busy[429] > of_busy[200] and of_busy[200] <= 20 + 50 * 5, of_busy
        print(f"median alone {statistics.median(alone) * 1e3:.1f} ms, beside {statistics.median(beside) * 1e3:.1f} ms")
        metrics = ask(server, "GET", "/metrics", bearer(calm))[2]
        assert f'pvark_access_refused_total{{reason="rate"}} {of_busy[429]}' in metrics
    finally:
        server.kill()


def test_old_clients_read_where_reading_is_open_and_elsewhere_with_a_token(
    server: Pvark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_socket(server, "add", "SR:A")
    administer = token(server, "all", "administer")
    samples = b"time,value\n2026-01-01T00:00:01Z,1.5\n2026-01-01T00:00:02Z,2.5\n2026-01-01T00:00:03Z,3.5\n"
    path = "/api/v1/pvs/SR:A/import?import=a&part=1&type=f64"
    status, _, text = ask(server, "POST", path, bearer(administer) | {"Content-Type": "text/csv"}, samples)
    assert status == 200, text
    begin, end = (datetime(2026, 1, 1, 0, 0, second, tzinfo=timezone.utc) for second in (0, 10))

    def read() -> None:
        client = ArchiverDataClient(server.url, format="json")
        times = [moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") for moment in (begin, end)]
        assert client.get_data("SR:A", from_time=times[0], to_time=times[1], tz="UTC")["val"].tolist() == [
            1.5,
            2.5,
            3.5,
        ]
        for fetcher in (JsonFetcher, PbFetcher):
            assert fetcher("127.0.0.1", server.port).get_values("SR:A", begin, end).values.flatten().tolist()[-1] == 3.5
        assert ArchiverMgmtClient(url=server.url).get_all_pvs("SR:*") == ["SR:A"]

    # What the Grafana plug-in asks, by a proxy that adds a header.
    def grafana(headers: dict[str, str]) -> int:
        asked = "/retrieval/data/getData.qw?pv=mean_1(SR:A)&from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:10Z"
        return ask(server, "GET", asked, headers)[0]

    assert (grafana({}), grafana(bearer(administer))) == (401, 200)
    # Programs that know names and passwords alone send a token as the password: requests takes it from a file.
    netrc = kept(tmp_path, "netrc", f"machine 127.0.0.1 login any password {token(server, 'viewer', 'read')}")
    monkeypatch.setenv("NETRC", str(netrc))
    read()
    with pytest.raises(requests.HTTPError, match="403"):
        AaRestClient("127.0.0.1", server.port).pause_archiving_pv("SR:A")
    monkeypatch.delenv("NETRC")
    text = server.config_path.read_text().replace('anonymous = "none"', 'anonymous = "read"')
    server.config_path.write_text(text)
    server.process.send_signal(signal.SIGHUP)  # type: ignore[union-attr]
    wait_for("reading to be open", lambda: grafana({}) == 200, 10)
    read()
    with pytest.raises(requests.HTTPError, match="401"):
        AaRestClient("127.0.0.1", server.port).pause_archiving_pv("SR:A")
