"""PostgreSQL 15: a cluster of its own in the folder, a table with a B-tree over PV and time, everything by binary COPY.

The cluster is the user `postgres`'s where this is run as root. It listens on a socket in its folder only. Its settings
are the defaults but for shared_buffers = 1 GB and max_wal_size = 8 GB; `fsync` and `synchronous_commit` are on.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import numpy
from rival import COLUMNS, Missing, columns

SETTINGS = ["listen_addresses=", "shared_buffers=1GB", "max_wal_size=8GB", "unix_socket_permissions=0777"]
TABLE = "pv int4, time int8, value int4, severity int2, status int2"
PATIENCE = 60.0


class PostgreSQL:
    """The cluster, and one client of it that stays connected."""

    name = "postgresql"

    def __init__(self, folder: Path) -> None:
        bin_folder = Path("/usr/lib/postgresql/15/bin")
        if not (bin_folder / "postgres").exists():
            raise Missing("there is no PostgreSQL 15 (apt-get install postgresql-15)")
        self.cluster = Path(tempfile.mkdtemp(prefix="pvark-lab-"))
        self.binary = folder / "copy.binary"
        self.user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.user:
            shutil.chown(self.cluster, "postgres")
        data = self.cluster / "data"
        initdb = [*self.user, bin_folder / "initdb", "-D", data, "-A", "trust", "-U", "lab", "--no-locale"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd="/")
        options = [option for setting in SETTINGS for option in ("-c", setting)]
        with (folder / "postgresql.log").open("w") as log:
            self.server = subprocess.Popen(
                [*self.user, bin_folder / "postgres", "-D", data, "-k", self.cluster, *options],
                stdout=log,
                stderr=log,
                cwd="/",
            )
        self.postmaster = self.wait_for_start(data)
        self.psql = subprocess.Popen(
            [bin_folder / "psql", "-AtX", "-v", "ON_ERROR_STOP=1", "-h", self.cluster, "-U", "lab", "-d", "postgres"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ask(f"CREATE TABLE batch ({TABLE}); CREATE INDEX ON batch (pv, time);")
        self.ask(f"CREATE TABLE sample ({TABLE});")

    def wait_for_start(self, data: Path) -> int:
        """The number of the postmaster, once it takes connections."""
        deadline = time.monotonic() + PATIENCE
        file = data / "postmaster.pid"
        while self.server.poll() is None and time.monotonic() < deadline:
            lines = file.read_text().splitlines() if file.exists() else []
            if len(lines) > 7 and lines[7].strip() == "ready":
                return int(lines[0])
            time.sleep(0.05)
        raise Missing("PostgreSQL did not start; postgresql.log says why")

    def ask(self, commands: str) -> list[str]:
        """Gives commands to psql and reads what it answers."""
        assert self.psql.stdin and self.psql.stdout
        self.psql.stdin.write(f"{commands}\n\\echo --done\n")
        self.psql.stdin.flush()
        lines: list[str] = []
        for line in self.psql.stdout:
            if line == "--done\n":
                return lines
            lines.append(line.rstrip("\n"))
        raise RuntimeError(f"psql ended at: {commands}")

    def cpu(self) -> float:
        """Of the cluster's processes, of psql and of this one."""
        own = resource.getrusage(resource.RUSAGE_SELF)
        processes = [self.postmaster, self.psql.pid, *children(self.postmaster)]
        return own.ru_utime + own.ru_stime + sum(map(running_seconds, processes))

    def prepare(self, data: Path) -> None:
        """Writes the file that COPY takes."""
        fields = columns(data)
        layout: list[tuple[str, str]] = [("fields", ">i2")]
        for name, dtype in COLUMNS.items():
            layout += [(f"{name}_len", ">i4"), (name, dtype.replace("<", ">"))]
        rows = numpy.zeros(len(fields["pv"]), dtype=numpy.dtype(layout))
        rows["fields"] = len(COLUMNS)
        for name, dtype in COLUMNS.items():
            rows[f"{name}_len"] = numpy.dtype(dtype).itemsize
            rows[name] = fields[name]
        with self.binary.open("wb") as file:
            file.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
            rows.tofile(file)
            file.write(b"\xff\xff")

    def insert(self) -> None:
        self.ask(f"\\copy batch from '{self.binary}' with (format binary)")

    def load(self) -> int:
        self.ask(f"\\copy sample from '{self.binary}' with (format binary)")
        self.ask("CREATE INDEX ON sample (pv, time); VACUUM ANALYZE sample;")
        return int(self.ask("SELECT pg_total_relation_size('sample');")[-1])

    def read(self, pv: int, t0: int, t1: int) -> int:
        select = f"SELECT time, value, severity, status FROM sample WHERE {within(pv, t0, t1)} ORDER BY time"
        answer = self.ask(f"\\copy ({select}) to /dev/null with (format binary)")
        return int(answer[0].removeprefix("COPY "))

    def bins(self, pv: int, t0: int, t1: int, count: int) -> int:
        lines = self.ask(
            f"SELECT (time - {t0}) / (({t1} - {t0}) / {count}) AS bin, count(*), min(value), max(value), avg(value) "
            f"FROM sample WHERE {within(pv, t0, t1)} GROUP BY bin ORDER BY bin;"
        )
        return sum(int(line.split("|")[1]) for line in lines)

    def close(self) -> None:
        if self.psql.stdin:
            self.psql.stdin.close()
        self.psql.wait(PATIENCE)
        os.kill(self.postmaster, signal.SIGINT)
        self.server.wait(PATIENCE)
        shutil.rmtree(self.cluster, ignore_errors=True)


def within(pv: int, t0: int, t1: int) -> str:
    return f"pv = {pv} AND time >= {t0} AND time < {t1}"


def children(parent: int) -> list[int]:
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(number) for number in listed.split()]


def running_seconds(process: int) -> float:
    """How long a process, which has one thread, has run."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        return 0.0  # it has ended; only helpers of the server do
