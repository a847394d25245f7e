"""The real program with TLS, asked by what people have: curl, its own commands, and Python in both of its ways."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from pathlib import Path

import pvark
import pytest
from archiver import Pvark, program, run_program
from ports import free_port
from waiting import wait_for


def openssl(*arguments: str | Path) -> None:
    """One command of openssl, which must succeed."""
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def make_authority(folder: Path) -> Path:
    """An authority of its own; its certificate."""
    key, certificate = folder / "ca.key", folder / "ca.pem"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
            "-subj", "/CN=lab", "-keyout", key, "-out", certificate)  # fmt: skip
    return certificate


def make_pair(folder: Path, name: str, usage: str = "serverAuth") -> tuple[Path, Path]:
    """A certificate of that authority and its key."""
    key, certificate, request, extensions = (folder / f"{name}.{kind}" for kind in ("key", "pem", "csr", "ext"))
    extensions.write_text(f"subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage={usage}\n")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
            "-keyout", key, "-out", request)  # fmt: skip
    openssl("x509", "-req", "-in", request, "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-days", "30",
            "-extfile", extensions, "-out", certificate)  # fmt: skip
    return certificate, key


def configured(server: Pvark, port: int, more: str = "") -> Pvark:
    """The same with a listener with TLS beside the plain one."""
    lines = server.config_path.read_text().splitlines(keepends=True)
    kept = "".join(line for line in lines if not line.startswith("listen ="))
    folder = server.folder
    tls = f'certificate = "{folder}/tls.pem", key = "{folder}/tls.key"{more}'
    server.config_path.write_text(
        f'{kept}[[listener]]\naddress = "127.0.0.1:{server.port}"\n'
        f'[[listener]]\naddress = "127.0.0.1:{port}"\ntls = {{ {tls} }}\n'
        f'[access]\nanonymous = "administer"\nsocket = "{folder}/admin.sock"\n'
    )
    return server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With an authority and a pair of it."""
    if not program().exists():
        pytest.skip(f"there is no program at {program()}")
    make_authority(tmp_path)
    make_pair(tmp_path, "tls")
    return tmp_path


def curl(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """curl, which says nothing of its own."""
    return subprocess.run(["curl", "-sS", *map(str, arguments)], capture_output=True, text=True, timeout=30)


def test_every_client_asks_by_https(folder: Path) -> None:
    port = free_port()
    url, ca = f"https://localhost:{port}", folder / "ca.pem"
    server = configured(Pvark(folder), port).start()
    try:
        server.archive.add("A")
        server.take("A", "f64", "2026-01-01T00:00:00Z,1.5\n")
        assert json.loads(curl("--cacert", ca, f"{url}/api/v1/status").stdout)["pvs"]["total"] == 1
        assert json.loads(curl("--cacert", ca, "--tls-max", "1.2", f"{url}/api/v1/status").stdout)["pvs"]["total"] == 1
        assert "certificate" in curl(f"{url}/api/v1/status").stderr
        plainly = json.loads(curl(f"http://localhost:{port}/api/v1/status").stdout)
        assert f"{url}/api/v1/status" in plainly["error"]["message"]

        said = run_program("list", "--names", "--server", url, "--ca", ca)
        assert (said.returncode, said.stdout) == (0, "A\n"), said.stderr
        refused = run_program("list", "--server", url)
        assert refused.returncode == 1 and "no archiver answers" in refused.stderr, refused.stderr
        nonsense = run_program("list", "--server", url, "--ca", folder / "tls.key")
        assert nonsense.returncode == 1 and "no certificates" in nonsense.stderr, nonsense.stderr

        question = ("A", "2026-01-01", "2026-01-02")
        assert list(pvark.Archiver(url, ca=ca).get(*question).values) == [1.5]
        assert list(asyncio.run(pvark.AsyncArchiver(url, ca=ca).get(*question)).values) == [1.5]
        with pytest.raises(pvark.ConnectionFailed):
            pvark.Archiver(url).status()

        by_socket = curl(
            "--unix-socket", folder / "admin.sock", "-X", "POST", "http://localhost/api/v1/pvs/A/pause?by=ana"
        )
        assert json.loads(by_socket.stdout)["status"] == "paused", by_socket
        line = server.json("/api/v1/audit?limit=1")["audit"][0]
        assert (line["how"], line["said"], line["listener"]) == ("local", "ana", f"{folder}/admin.sock")
    finally:
        server.kill()


def test_a_certificate_is_replaced_on_a_signal(folder: Path) -> None:
    port = free_port()
    server = configured(Pvark(folder), port).start()
    try:

        def shown() -> str:
            asked = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-showcerts"]
            said = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30).stdout
            return said.split("-----BEGIN CERTIFICATE-----")[1].split("-----END")[0]

        assert server.process is not None
        first = shown()
        _, key = make_pair(folder, "next")
        (folder / "tls.key").write_bytes(key.read_bytes())
        server.process.send_signal(signal.SIGHUP)
        wait_for("the pair to be refused", lambda: "do not fit" in str(server.json("/api/v1/status")["problems"]), 20)
        assert shown() == first
        (folder / "tls.pem").write_bytes((folder / "next.pem").read_bytes())
        server.process.send_signal(signal.SIGHUP)
        wait_for("the new pair", lambda: shown() != first, 20)
        assert "TLS" not in str(server.json("/api/v1/status")["problems"])
    finally:
        server.kill()


def test_an_audit_that_somebody_changed_is_found_out(folder: Path) -> None:
    server = Pvark(folder).start()
    server.archive.add("A")
    server.take("A", "f64", "2026-01-01T00:00:00Z,1.5\n")
    for _ in range(3):
        server.request("POST", "/api/v1/pvs/A/rename", b'{"to":"B"}')
        server.request("POST", "/api/v1/pvs/B/rename", b'{"to":"A"}')
    proof = run_program("audit", "--verify", "--data", server.data, "--log", server.log_path)
    assert proof.returncode == 0 and "known ends are there" in proof.stdout, proof
    backup = folder / "backup"
    assert run_program("backup", "--data", server.data, "--to", backup).returncode == 0
    assert server.terminate() == 0
    assert run_program("audit", "--verify", "--data", server.data, "--backup", backup).returncode == 0

    # One bit of an address in each line of the audit.
    catalogue = server.data / "catalogue.redb"
    content = catalogue.read_bytes()
    assert content.count(b"127.0.0.1") >= 6
    catalogue.write_bytes(content.replace(b"127.0.0.1", b"127.0.0.0"))
    changed = run_program("audit", "--verify", "--data", server.data)
    assert changed.returncode == 3 and "is not what was written" in changed.stdout, changed
    without = run_program("audit", "--verify", "--data", backup, "--log", folder / "ca.pem")
    assert without.returncode == 1 and "tells of no end of the audit" in without.stderr, without
