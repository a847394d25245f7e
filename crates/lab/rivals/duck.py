"""DuckDB: batches go into a table of its own file, what is read lies in Parquet, sorted by PV and time. One thread."""

from __future__ import annotations

import time
from pathlib import Path

import duckdb
import pyarrow
from rival import columns


class DuckDB:
    """In this process, as pvark is in its own; results come as Arrow columns."""

    name = "duckdb"

    def __init__(self, folder: Path) -> None:
        self.parquet = folder / "samples.parquet"
        self.parquet.unlink(missing_ok=True)
        file = folder / "samples.duckdb"
        file.unlink(missing_ok=True)
        self.connection = duckdb.connect(str(file))
        self.connection.execute("SET threads = 1")
        self.connection.execute("SET parquet_metadata_cache = true")
        self.connection.execute(
            "CREATE TABLE batch (pv INTEGER, time BIGINT, value INTEGER, severity SMALLINT, status SMALLINT)"
        )

    def cpu(self) -> float:
        return time.process_time()

    def prepare(self, data: Path) -> None:
        self.connection.register("incoming", pyarrow.table(columns(data)))

    def insert(self) -> None:
        self.connection.execute("INSERT INTO batch SELECT * FROM incoming")

    def load(self) -> int:
        self.connection.execute(
            f"COPY (SELECT * FROM incoming ORDER BY pv, time) TO '{self.parquet}' "
            "(FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)"
        )
        return self.parquet.stat().st_size

    def read(self, pv: int, t0: int, t1: int) -> int:
        result = self.connection.sql(
            f"SELECT time, value, severity, status FROM '{self.parquet}' WHERE pv = ? AND time >= ? AND time < ? "
            "ORDER BY time",
            params=[pv, t0, t1],
        )
        return int(result.to_arrow_table().num_rows)

    def bins(self, pv: int, t0: int, t1: int, count: int) -> int:
        result = self.connection.execute(
            "SELECT (time - $t0) * $count // ($t1 - $t0) AS bin, count(*), min(value), max(value), avg(value) "
            f"FROM '{self.parquet}' WHERE pv = $pv AND time >= $t0 AND time < $t1 GROUP BY bin ORDER BY bin",
            {"pv": pv, "t0": t0, "t1": t1, "count": count},
        )
        return sum(row[1] for row in result.fetchall())

    def close(self) -> None:
        self.connection.close()
