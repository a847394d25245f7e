"""Logins by the page: a real OpenID provider, a real directory, a real browser, and what others may try."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest
from archiver import ROOT, Pvark
from ioc import Ioc
from ports import free_port
from waiting import wait_for

UI = ROOT / "ui"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PROVIDER = Path(sys.executable).with_name("oidc-provider-mock")
SLAPD = ROOT / ".make" / "slapd"
NAME = "LOGIN:COUNT"
RECORDS = f'record(calc, "{NAME}") {{ field(SCAN, ".5 second") field(CALC, "VAL+1") }}\n'

GRANT = """
[[access.grant]]
to = "group:operators"
right = "operate"
"""

PEOPLE = """
dn: dc=lab,dc=example
objectClass: dcObject
objectClass: organization
o: lab
dc: lab

dn: ou=people,dc=lab,dc=example
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=lab,dc=example
objectClass: organizationalUnit
ou: groups

dn: uid=operator1,ou=people,dc=lab,dc=example
objectClass: inetOrgPerson
uid: operator1
cn: Operator One
sn: One
userPassword: secret1

dn: cn=operators,ou=groups,dc=lab,dc=example
objectClass: groupOfNames
cn: operators
member: uid=operator1,ou=people,dc=lab,dc=example
"""


def answers(port: int, child: subprocess.Popen[bytes]) -> bool:
    """Whether a server of ours takes connections."""
    assert child.poll() is None, "it has ended"
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Provider:
    """oidc-provider-mock, which lets anybody in by any name; `operator1` is in the group `operators`."""

    def __init__(self, folder: Path) -> None:
        if not PROVIDER.exists():
            pytest.skip(f"there is no {PROVIDER}: run `make setup`")
        self.port = free_port()
        self.secret = folder / "client.secret"
        self.secret.write_text("s e:c/ret\n")
        claims = json.dumps({"sub": "operator1", "groups": ["operators"]})
        command = [str(PROVIDER), "--port", str(self.port), "--user-claims", claims]
        self.child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for("the provider", lambda: answers(self.port, self.child), 60)
        except BaseException:
            self.kill()
            raise

    def access(self, anonymous: str) -> str:
        return (
            f'[access]\nanonymous = "{anonymous}"\n{GRANT}[access.oidc]\nissuer = "http://127.0.0.1:{self.port}"\n'
            f'client = "pvark"\naudience = ["pvark"]\nclient_secret_file = {json.dumps(str(self.secret))}\n'
        )

    def kill(self) -> None:
        self.child.kill()
        self.child.wait()


class Directory:
    """slapd with one person."""

    def __init__(self, folder: Path) -> None:
        if not (SLAPD / "usr" / "sbin" / "slapd").exists():
            pytest.skip(f"there is no {SLAPD}: run `make setup`")
        self.port = free_port()
        (folder / "people").mkdir()
        schemas = "".join(
            f"include {SLAPD}/etc/ldap/schema/{name}.schema\n" for name in ("core", "cosine", "inetorgperson")
        )
        config = folder / "slapd.conf"
        config.write_text(
            f"{schemas}modulepath {SLAPD}/usr/lib/ldap\nmoduleload back_mdb\n"
            f"pidfile {folder}/pid\nargsfile {folder}/args\n"
            f'database mdb\nmaxsize 10485760\nsuffix "dc=lab,dc=example"\ndirectory {folder}/people\n'
        )
        (folder / "people.ldif").write_text(PEOPLE)
        libraries = ":".join(f"{SLAPD}/usr/lib/{kind}-linux-gnu" for kind in ("x86_64", "aarch64"))
        environment = os.environ | {"LD_LIBRARY_PATH": libraries}
        programs = SLAPD / "usr" / "sbin"
        added = subprocess.run(
            [programs / "slapadd", "-f", config, "-l", folder / "people.ldif"], env=environment, capture_output=True
        )
        assert added.returncode == 0, added.stderr
        command = [str(programs / "slapd"), "-f", str(config), "-d", "0", "-h", f"ldap://127.0.0.1:{self.port}"]
        self.child = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        try:
            wait_for("slapd", lambda: answers(self.port, self.child), 30)
        except BaseException:
            self.kill()
            raise

    def access(self, anonymous: str) -> str:
        return (
            f'[access]\nanonymous = "{anonymous}"\n{GRANT}[access.ldap]\nurl = "ldap://127.0.0.1:{self.port}"\n'
            'user_dn = "uid={user},ou=people,dc=lab,dc=example"\n'
            'groups = { base = "ou=groups,dc=lab,dc=example", filter = "(member={dn})", name = "cn" }\n'
        )

    def kill(self) -> None:
        self.child.kill()
        self.child.wait()


@contextmanager
def people(server: Pvark) -> Iterator[People]:
    """Browsers that are told what to do."""
    if not os.environ.get("CHROMIUM") and not any(map(shutil.which, BROWSERS)):
        pytest.skip("no chromium on this machine")
    if not (UI / "node_modules").exists():
        pytest.skip("ui/node_modules is not installed: run `make setup`")
    environment = os.environ | {"PVARK_URL": f"{server.url}/", "PVARK_PV": NAME}
    command = ["npm", "run", "--silent", "login"]
    pipe = subprocess.PIPE
    child = subprocess.Popen(command, cwd=UI, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    try:
        yield People(child)
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(30) == 0
    finally:
        child.kill()
        child.wait()


class People:
    """Who sits before the browsers."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self.child = child
        self.expect("looking")

    def expect(self, line: str) -> None:
        assert self.child.stdout is not None and self.child.stderr is not None
        said = self.child.stdout.readline()
        assert said == f"{line}\n", said + self.child.stderr.read()[-4000:]

    def see(self, who: str, does: str) -> None:
        """Somebody does something, and the page shows that it is done."""
        assert self.child.stdin is not None
        self.child.stdin.write(f"{who}: {does}\n")
        self.child.stdin.flush()
        self.expect(f"seen: {who}: {does}")


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Provider]:
    provider = Provider(tmp_path)
    yield provider
    provider.kill()


def archiver(folder: Path, access: str, *iocs: Ioc) -> Pvark:
    """One with that `[access]`, not started."""
    server = Pvark(folder, iocs)
    server.config_path.write_text(server.config_path.read_text() + access)
    return server


@pytest.mark.timeout(300)
def test_an_operator_logs_in_by_the_provider_operates_and_stays_in_when_it_dies(
    tmp_path: Path, provider: Provider
) -> None:
    ioc = Ioc.of_records(tmp_path, RECORDS)
    server = archiver(tmp_path, provider.access("read"), ioc)
    try:
        ioc.start()
        with people(server.start()) as browsers:
            browsers.see("reader", "reads, and may add nothing")
            browsers.see("operator", "reads, and may add nothing")
            browsers.see("operator", "logs in at the provider")
            browsers.see("operator", "is told who that is")
            browsers.see("operator", "adds the PV")
            browsers.see("operator", "pauses and resumes it")
            provider.kill()
            browsers.see("operator", "goes on after a reload")
            browsers.see("operator", "logs out")
            # What the provider said of itself is believed for an hour; an archiver that starts now cannot ask it.
            assert server.terminate() == 0
            server.start()
            browsers.see("reader", "is told that the provider is away")
        audit = json.dumps(server.json("/api/v1/audit"))
        assert '"oidc:operator1"' in audit, audit[:2000]
    finally:
        server.kill()
        ioc.kill()


@pytest.mark.timeout(300)
def test_logins_that_end_otherwise_end_in_the_page(tmp_path: Path, provider: Provider) -> None:
    server = archiver(tmp_path, provider.access("read"))
    try:
        with people(server.start()) as browsers:
            browsers.see("link", "follows a link that leads elsewhere and ends at the first page")
            browsers.see("refused", "says no at the provider and is told so in the page")
            # Sessions are in memory: with the archiver they end, and anybody still reads.
            assert server.terminate() == 0
            server.start()
            browsers.see("refused", "is told that the session is over")
    finally:
        server.kill()


@pytest.mark.timeout(300)
def test_a_password_lets_in_by_the_form_if_it_is_right(tmp_path: Path) -> None:
    directory = Directory(tmp_path)
    server = archiver(tmp_path, directory.access("none"))
    try:
        with people(server.start()) as browsers:
            browsers.see("operator", "is shown the login in place of the page")
            browsers.see("operator", "types a wrong password")
            browsers.see("operator", "types the right one")
    finally:
        server.kill()
        directory.kill()


class Browser:
    """What a browser does with answers, as far as somebody can do it by hand: cookies are kept and sent."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies: dict[str, str] = {}

    def get(self, path: str) -> tuple[int, str, str]:
        """Status, where it leads, and the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection.request("GET", path, headers={"Cookie": cookies} if cookies else {})
        answer = connection.getresponse()
        body = answer.read().decode()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.split(";")[0]
                if "Max-Age=0" in value:
                    del self.cookies[key]
        connection.close()
        return answer.status, answer.getheader("Location", ""), body

    def who(self) -> str:
        return str(json.loads(self.get("/api/v1/me")[2])["who"])


def come_back(location: str) -> str:
    """What somebody does at the provider; the path that leads back to the archiver."""
    url = urlsplit(location)
    assert url.port is not None
    connection = http.client.HTTPConnection("127.0.0.1", url.port, timeout=30)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", f"{url.path}?{url.query}", urlencode({"sub": "operator1"}), form)
    answer = connection.getresponse()
    answer.read()
    back = urlsplit(answer.getheader("Location", ""))
    connection.close()
    return f"{back.path}?{back.query}"


def test_what_was_changed_on_the_way_back_or_came_before_lets_nobody_in(tmp_path: Path, provider: Provider) -> None:
    server = archiver(tmp_path, provider.access("read"))
    try:
        server.start()
        browser = Browser(server.port)
        status, location, _ = browser.get("/api/v1/login/oidc?return=/%3Fpv%3DA")
        assert status == 302 and location.startswith(f"http://127.0.0.1:{provider.port}/"), location
        begun = dict(browser.cookies)
        back = come_back(location)
        state = parse_qs(urlsplit(back).query)["state"][0]

        for changed in (back.replace(state, "x" * len(state)), re.sub(r"&?state=[^&]*", "", back)):
            status, _, body = browser.get(changed)
            assert status == 401 and "another login" in body, body
            assert browser.who() == "anonymous"
        stranger = Browser(server.port)
        status, _, body = stranger.get(back)
        assert status == 401 and "no login is under way" in body, body

        status, location, _ = browser.get(back)
        assert (status, location) == (302, "/?pv=A")
        assert browser.who() == "oidc:operator1"
        # The same once more, by who kept even the cookie of the login.
        thief = Browser(server.port)
        thief.cookies = begun
        status, _, body = thief.get(back)
        assert status == 401, body
        assert thief.who() == "anonymous"
        assert browser.who() == "oidc:operator1"

        for wanted in ("//evil.example", "/\\evil.example", "https://evil.example/", "/\t/evil.example"):
            browser = Browser(server.port)
            _, location, _ = browser.get(f"/api/v1/login/oidc?return={quote(wanted, safe='')}")
            assert browser.get(come_back(location))[:2] == (302, "/"), wanted
    finally:
        server.kill()
