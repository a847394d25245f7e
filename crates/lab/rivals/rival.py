"""Does with another database what `pvark-lab store --only rivals` does with pvark, and prints its figures.

    rival.py {duckdb|postgresql} FOLDER

FOLDER/rivals/workload.json says what there is: columns as plain little-endian files, batches to be inserted, reads to
be made. One JSON object a line goes out, or, where the database is not installed, a sentence and code 3.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Protocol

COLUMNS = {"pv": "<i4", "time": "<i8", "value": "<i4", "severity": "<i2", "status": "<i2"}


class Missing(Exception):
    """What is needed is not installed."""


class Database(Protocol):
    """What each rival can do. Columns come and go as numpy arrays or in the database's own binary form."""

    name: str

    def cpu(self) -> float:
        """Processor seconds so far, of everything that works for it."""

    def prepare(self, data: Path) -> None:
        """Brings columns into the form that it takes most easily, which does not count."""

    def insert(self) -> None:
        """Adds a batch of many PVs to what is there; it is safe on the disk on return."""

    def load(self) -> int:
        """Puts everything in place as it is read best, and gives the bytes that it takes."""

    def read(self, pv: int, t0: int, t1: int) -> int:
        """Brings the samples of a PV to the client, and says how many they are."""

    def bins(self, pv: int, t0: int, t1: int, count: int) -> int:
        """Count, least, greatest and mean of each bin; says how many samples they hold."""

    def close(self) -> None:
        """Ends what was started."""


class Clock:
    """What passes by the wall and by the processors."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.wall, self.cpu = time.monotonic(), database.cpu()

    def passed(self) -> tuple[float, float]:
        return time.monotonic() - self.wall, max(self.database.cpu() - self.cpu, 1e-9)


def tell(database: Database, metric: str, value: float, unit: str) -> None:
    print(
        json.dumps({"bench": database.name, "case": "rivals", "metric": metric, "value": value, "unit": unit}),
        flush=True,
    )


def run(database: Database, folder: Path) -> None:
    workload = json.loads((folder / "workload.json").read_text())
    walls, cpus = [], []
    for batch in workload["batches"]:
        database.prepare(folder / batch["folder"])
        clock = Clock(database)
        database.insert()
        wall, cpu = clock.passed()
        walls.append(batch["samples"] / wall / 1e6)
        cpus.append(batch["samples"] / cpu / 1e6)
    tell(database, "batches of 60 s, safe, by the wall", statistics.median(walls), "M samples/s")
    tell(database, "batches of 60 s, safe, per CPU-second", statistics.median(cpus), "M samples/s")

    samples = workload["samples"]
    database.prepare(folder / "all")
    clock = Clock(database)
    size = database.load()
    tell(database, "all in, per CPU-second", samples / clock.passed()[1] / 1e6, "M samples/s")
    tell(database, "bytes per sample", size / samples, "B")
    for reads in workload["reads"]:
        measure_reads(database, reads["samples"], reads["queries"])

    millis = []
    for query in workload["bins"]:
        started = time.monotonic()
        found = database.bins(query["pv"], query["t0"], query["t1"], query["count"])
        millis.append((time.monotonic() - started) * 1e3)
        check(found == query["samples"], f"the bins hold {found} samples, not {query['samples']}")
    tell(database, "1000 bins of all of a PV, p50", statistics.median(millis), "ms")


def measure_reads(database: Database, wanted: int, queries: list[list[int]]) -> None:
    millis = []
    for pv, t0, t1 in queries[: len(queries) // 5]:
        database.read(pv, t0, t1)  # warm
    clock = Clock(database)
    for pv, t0, t1 in queries:
        started = time.monotonic()
        found = database.read(pv, t0, t1)
        millis.append((time.monotonic() - started) * 1e3)
        check(found == wanted, f"a read of {wanted} samples gave {found}")
    wall, cpu = clock.passed()
    tell(database, f"{wanted} samples, p50", statistics.median(millis), "ms")
    tell(database, f"{wanted} samples, by the wall", wanted * len(queries) / wall / 1e6, "M samples/s")
    tell(database, f"{wanted} samples, per CPU-second", wanted * len(queries) / cpu / 1e6, "M samples/s")


def check(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)


def columns(folder: Path) -> dict[str, Any]:
    """The columns in a folder, as numpy arrays."""
    import numpy

    return {name: numpy.fromfile(folder / name, dtype) for name, dtype in COLUMNS.items()}


def main() -> int:
    try:
        which, folder = sys.argv[1], Path(sys.argv[2]) / "rivals"
        if which == "duckdb":
            from duck import DuckDB

            database: Database = DuckDB(folder)
        else:
            from postgresql import PostgreSQL

            database = PostgreSQL(folder)
    except (Missing, ImportError) as error:
        print(f"{sys.argv[1]} is left out: {error}", file=sys.stderr)
        return 3
    try:
        run(database, folder)
    finally:
        database.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
