"""The certificate of the shared store expires while nodes record: they say so, record on, and ship all of it later."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_address
from pathlib import Path

import numpy as np
import pvark
import pytest
from archiver import Pvark, clean_environment, program
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from ioc import Ioc
from three_nodes import NAMES, S3, Cluster
from waiting import wait_for

PVS = [f"CE{device}:count" for device in range(3)]
SECOND = np.timedelta64(1, "s")
NOW, DAY = datetime.now(UTC), timedelta(days=1)
RECORDS = "".join(f'record(calc, "{pv}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n' for pv in PVS)


class Authority:
    """An authority of its own, with certificates for this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "lab")])
        own = self._signed(self.name, self.key, NOW - DAY, NOW + DAY, x509.BasicConstraints(ca=True, path_length=None))
        self.certificate = folder / "authority.pem"
        self.certificate.write_bytes(own.public_bytes(Encoding.PEM))

    def issue(self, called: str, begin: datetime, end: datetime) -> tuple[Path, Path]:
        """A certificate that is valid so long, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, called)])
        here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        paths = self.folder / f"{called}.pem", self.folder / f"{called}.key"
        paths[0].write_bytes(self._signed(name, key, begin, end, here).public_bytes(Encoding.PEM))
        paths[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return paths

    def _signed(
        self,
        name: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        begin: datetime,
        end: datetime,
        extension: x509.ExtensionType,
    ) -> x509.Certificate:
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(self.name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(begin).not_valid_after(end)
        return builder.add_extension(extension, critical=False).sign(self.key, hashes.SHA256())


class Door:
    """TLS in front of a port of this machine, with one certificate or another."""

    def __init__(self, to: int, certificate: tuple[Path, Path]) -> None:
        self.to = to
        self.certificate = certificate
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.passing: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def show(self, certificate: tuple[Path, Path]) -> None:
        """From now on this one; whoever is connected has to come again."""
        self.certificate = certificate
        for connection in list(self.passing):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        self.listener.close()
        self.show(self.certificate)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._let_in, args=(client,), daemon=True).start()

    def _let_in(self, client: socket.socket) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.certificate)
        try:
            inside = context.wrap_socket(client, server_side=True)
            server = socket.create_connection(("127.0.0.1", self.to), timeout=10)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        self.passing |= {inside, server}
        back = threading.Thread(target=self._pass_on, args=(server, inside), daemon=True)
        back.start()
        self._pass_on(inside, server)
        back.join()
        self.passing -= {inside, server}
        inside.close()
        server.close()

    @staticmethod
    def _pass_on(one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(1 << 16):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def now() -> np.datetime64:
    return np.datetime64(time.time_ns(), "ns")


def problems(node: Pvark) -> list[str]:
    told: list[str] = node.json("/api/v1/status")["problems"]
    return told


def are_whole(node: Pvark, begin: np.datetime64, end: np.datetime64) -> bool:
    """Whether every count is there once from before `begin` until after `end`."""
    for pv in PVS:
        try:
            samples = node.archive.get(pv, begin, end)
        except (pvark.UnknownPv, pvark.ServerFailed, pvark.BrokenOff, pvark.StoreRefused) as error:
            raise AssertionError(str(error)) from error
        counts, times = samples.values.astype("int64"), samples.times
        assert len(counts) > 0, pv
        assert np.array_equal(counts, np.arange(counts[0], counts[0] + len(counts))), (pv, counts)
        assert times[0] - begin < SECOND and end - times[-1] < SECOND, (pv, times[0], times[-1])
    return True


def looked_at(node: Pvark, environment: dict[str, str]) -> str:
    """What `pvark check` says that does not get to the shared store."""
    command = [str(program()), "check", "--cluster", str(node.config_path)]
    env = clean_environment() | environment
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=90)
    assert ended.returncode == 1, (ended.stdout, ended.stderr)
    return ended.stderr


@pytest.mark.timeout(300)
def test_an_expired_certificate_is_told_and_nothing_is_lost_by_it(
    tmp_path: Path, store: S3, start_ioc: Callable[[str], Ioc]
) -> None:
    authority = Authority(tmp_path)
    good = authority.issue("good", NOW - DAY, NOW + DAY)
    expired = authority.issue("expired", NOW - 3 * DAY, NOW - 2 * DAY)
    door = Door(store.port, good)
    table = store.table(tmp_path).replace(f"http://127.0.0.1:{store.port}", f"https://127.0.0.1:{door.port}")
    cluster = Cluster(tmp_path, [start_ioc(RECORDS)], table, shards=3)
    for node in cluster.nodes.values():
        node.environment = {"SSL_CERT_FILE": str(authority.certificate)}
    try:
        cluster.start()
        a = cluster.nodes["a"]
        a.archive.add(*(f"ca://{pv}" for pv in PVS))
        a.wait_connected(*PVS, seconds=40)
        cluster.wait_calm(8)
        seats = cluster.wait_seated()
        begin = now()
        time.sleep(2)
        for node in cluster.nodes.values():
            wait_for("every count to be told", partial(are_whole, node, begin, now() - SECOND), 30, every=0.5)
        door.show(expired)
        owners = [cluster.nodes[name] for name in NAMES if name in seats.values()]

        def says_why(node: Pvark) -> bool:
            told = problems(node)
            assert any("the shared store" in of and "certificate" in of and "expired" in of for of in told), told
            return True

        for node in owners:
            wait_for("it to say that the certificate has expired", partial(says_why, node), 60, every=0.5)
        status, _, body = a.request("POST", f"/api/v1/pvs/{PVS[0]}/pause")
        assert status == 503, (status, body)
        # Every node gives what is recorded meanwhile.
        for node in cluster.nodes.values():
            wait_for("every count to be told", partial(are_whole, node, begin, now()), 30, every=0.5)
        # A node that starts now is told at once.
        assert "expired" in looked_at(a, a.environment)
        door.show(good)
        assert "UnknownIssuer" in looked_at(a, {}), "it does not know the authority"

        def is_well(node: Pvark) -> bool:
            told = problems(node)
            assert not any("the shared store" in problem for problem in told), told
            return True

        for node in owners:
            wait_for("it to ship again", partial(is_well, node), 90, every=0.5)
        cluster.wait_seated(seconds=90)
        for node in cluster.nodes.values():
            wait_for("every count to be told", partial(are_whole, node, begin, now()), 60, every=0.5)
    finally:
        cluster.kill()
        door.close()
