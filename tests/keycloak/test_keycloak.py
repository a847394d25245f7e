"""Logins and access tokens by a real Keycloak, which `make keycloak` brings and starts."""

from __future__ import annotations

import html
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "system"))

from archiver import Pvark, program  # noqa: E402
from ports import free_port  # noqa: E402
from waiting import wait_for  # noqa: E402

KEYCLOAK = ROOT / ".make" / "keycloak"

# It takes minutes to start on a small machine.
pytestmark = pytest.mark.timeout(900)


class Keycloak:
    """A Keycloak of its own, in a process group of its own."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}/realms/lab"
        imported = KEYCLOAK / "data" / "import"
        imported.mkdir(parents=True, exist_ok=True)
        (imported / "realm.json").write_text((Path(__file__).parent / "realm.json").read_text())
        command = [str(KEYCLOAK / "bin" / "kc.sh"), "start-dev", "--import-realm", "--cache=local", "--db=dev-mem"]
        command += ["--http-host=127.0.0.1", f"--http-port={self.port}", "--http-management-port", str(free_port())]
        environment = os.environ | {"JAVA_OPTS_KC_HEAP": "-Xmx400m"}
        self.log = folder / "keycloak.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def wait(self) -> None:
        """Until it answers."""

        def answers() -> bool:
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            try:
                return self.ask("GET", "/realms/lab/.well-known/openid-configuration")[0] == 200
            except OSError:
                return False

        wait_for("Keycloak to answer", answers, 600)

    def ask(
        self, method: str, target: str, body: dict[str, str] | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, http.client.HTTPMessage, str]:
        """One request to it."""
        return ask(self.port, method, target, body, headers)

    def token(self, **asked: str) -> dict[str, Any]:
        """What its token endpoint gives."""
        status, _, text = self.ask("POST", "/realms/lab/protocol/openid-connect/token", asked)
        assert status == 200, text
        given: dict[str, Any] = json.loads(text)
        return given

    def kill(self) -> None:
        """With all that it has started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def ask(
    port: int, method: str, target: str, form: dict[str, str] | None = None, headers: dict[str, str] | None = None
) -> tuple[int, http.client.HTTPMessage, str]:
    """One request to this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        sent = {"Content-Type": "application/x-www-form-urlencoded"} if form else {}
        connection.request(method, target, urlencode(form) if form else None, sent | (headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode(errors="replace")
    finally:
        connection.close()


def cookies(headers: http.client.HTTPMessage) -> str:
    """What a browser sends back."""
    return "; ".join(value.split(";")[0] for value in headers.get_all("Set-Cookie") or [])


@pytest.fixture(scope="module")
def keycloak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keycloak]:
    if not (KEYCLOAK / "bin" / "kc.sh").exists():
        pytest.skip("there is no .make/keycloak; `make keycloak` brings it")
    keycloak = Keycloak(tmp_path_factory.mktemp("keycloak"))
    try:
        keycloak.wait()
        yield keycloak
    finally:
        keycloak.kill()


@pytest.fixture(scope="module")
def server(keycloak: Keycloak, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pvark]:
    if not program().exists():
        pytest.skip(f"there is no program at {program()}")
    server = Pvark(tmp_path_factory.mktemp("pvark"))
    server.config_path.write_text(
        server.config_path.read_text()
        + '[access]\nanonymous = "none"\n[[access.grant]]\nto = "group:operators"\nright = "operate"\n'
        + '[[access.grant]]\nto = "user:service-account-script"\nright = "read"\n'
        + f'[access.oidc]\nissuer = "{keycloak.issuer}"\nclient = "pvark"\naudience = ["pvark"]\n'
        + 'user_claim = "preferred_username"\n'
    )
    try:
        yield server.start()
    finally:
        server.kill()


class Login:
    """A browser on its way through a login, step by step."""

    def __init__(self, server: Pvark, keycloak: Keycloak, return_to: str = "/?pv=A") -> None:
        self.server, self.keycloak = server, keycloak
        status, headers, text = ask(server.port, "GET", f"/api/v1/login/oidc?{urlencode({'return': return_to})}")
        assert status == 302, text
        self.ours = cookies(headers)
        self.asked = parse_qs(urlsplit(headers["Location"]).query)
        assert self.asked["code_challenge_method"] == ["S256"]
        where = urlsplit(headers["Location"])
        status, headers, page = keycloak.ask("GET", f"{where.path}?{where.query}")
        assert status == 200, page
        theirs = cookies(headers)
        action = re.search(r'action="([^"]+)"', page)
        assert action, page
        form = urlsplit(html.unescape(action.group(1)))
        typed = {"username": "operator1", "password": "secret1", "credentialId": ""}
        status, headers, page = keycloak.ask("POST", f"{form.path}?{form.query}", typed, {"Cookie": theirs})
        assert status == 302, page
        self.back = urlsplit(headers["Location"])
        assert self.back.path == "/api/v1/login/callback", headers["Location"]

    def finish(self, query: str | None = None) -> tuple[int, http.client.HTTPMessage, str]:
        """Back at the archiver."""
        target = f"{self.back.path}?{self.back.query if query is None else query}"
        return ask(self.server.port, "GET", target, headers={"Cookie": self.ours})


def me(server: Pvark, headers: dict[str, str]) -> dict[str, Any]:
    """Who one is."""
    said: dict[str, Any] = json.loads(ask(server.port, "GET", "/api/v1/me", headers=headers)[2])
    return said


def test_a_person_logs_in_and_a_login_that_was_changed_is_refused(server: Pvark, keycloak: Keycloak) -> None:
    login = Login(server, keycloak)
    query = parse_qs(login.back.query)
    assert query["iss"] == [keycloak.issuer], "Keycloak says who it is"
    for change in ({"state": "another"}, {"iss": "http://127.0.0.1/realms/evil"}, {"code": "another"}):
        changed = urlencode({name: values[0] for name, values in query.items()} | change)
        status, headers, text = login.finish(changed)
        assert status == 401 and "Set-Cookie" not in headers, (change, text)
    login = Login(server, keycloak)
    status, headers, text = login.finish()
    assert (status, headers["Location"]) == (302, "/?pv=A"), text
    session = {"Cookie": cookies(headers)}
    who = me(server, session)
    assert (who["who"], who["groups"], who["most"]) == ("oidc:operator1", ["operators"], "operate"), who
    status, headers, text = login.finish()
    assert status == 401, "a code is taken once"
    status, headers, _ = Login(server, keycloak, "//evil.example").finish()
    assert (status, headers["Location"]) == (302, "/")


def test_scripts_come_with_access_tokens_and_nothing_else(server: Pvark, keycloak: Keycloak) -> None:
    def status(text: str) -> int:
        return ask(server.port, "GET", "/api/v1/pvs", headers={"Authorization": f"Bearer {text}"})[0]

    script = keycloak.token(grant_type="client_credentials", client_id="script", client_secret="of-the-script")
    assert status(script["access_token"]) == 200
    other = keycloak.token(grant_type="client_credentials", client_id="other", client_secret="of-the-other")
    assert status(other["access_token"]) == 401, "it is for another audience"
    person = keycloak.token(
        grant_type="password", client_id="pvark", username="operator1", password="secret1", scope="openid"
    )
    assert status(person["access_token"]) == 200
    assert status(person["id_token"]) == 401, "an ID token is no access token"
    assert status(person["refresh_token"]) == 401
    head, body, _ = person["access_token"].split(".")
    assert status(f"{head}.{body}.{'A' * 342}") == 401


def test_without_keycloak_sessions_and_tokens_go_on(server: Pvark, keycloak: Keycloak) -> None:
    status, headers, _ = Login(server, keycloak).finish()
    session = {"Cookie": cookies(headers)}
    person = keycloak.token(
        grant_type="password", client_id="pvark", username="operator1", password="secret1", scope="openid"
    )
    bearer = {"Authorization": f"Bearer {person['access_token']}"}
    assert me(server, bearer)["who"] == "oidc:operator1"
    keycloak.kill()
    begun = time.monotonic()
    assert me(server, session)["who"] == "oidc:operator1"
    assert me(server, bearer)["who"] == "oidc:operator1"
    status, headers, text = ask(server.port, "GET", "/api/v1/login/oidc")
    assert status in (302, 503), text
    assert server.terminate() == 0
    server.start()
    assert ask(server.port, "GET", "/api/v1/login/oidc")[0] == 503
    assert ask(server.port, "GET", "/api/v1/me")[0] == 200
    assert time.monotonic() - begun < 60
