"""Columns as the tables of other libraries, each of which is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ._models import ManySamples, Samples, ValuesAt

Columns = Mapping[str, npt.NDArray[Any]]


def pandas_of(times: npt.NDArray[np.datetime64], columns: Columns, name: str = "time") -> Any:
    """A DataFrame with times as its index."""
    import pandas

    index = pandas.DatetimeIndex(times, tz="UTC", name=name)
    return pandas.DataFrame({name: _rows(column) for name, column in columns.items()}, index=index, copy=False)


def pandas_of_many(many: ManySamples) -> Any:
    """A DataFrame indexed by PV and time."""
    import pandas

    if not many:
        return pandas.DataFrame()
    return pandas.concat({pv: samples.to_pandas() for pv, samples in many.items()}, names=["pv"])


def pandas_at(values: ValuesAt) -> Any:
    """A DataFrame with names as its index."""
    import pandas

    columns = {
        "time": pandas.DatetimeIndex(values.times, tz="UTC"),
        "value": list(values.values),
        "severity": values.severity,
        "status": values.status,
    }
    return pandas.DataFrame(columns, index=pandas.Index(values.pvs, name="pv"))


def polars_of(times: npt.NDArray[np.datetime64], columns: Columns, name: str = "time") -> Any:
    """A polars DataFrame with times in its first column."""
    import polars

    first = polars.Series(name, times).dt.replace_time_zone("UTC")
    return polars.DataFrame([first, *(polars.Series(name, _plain(column)) for name, column in columns.items())])


def polars_of_many(many: ManySamples) -> Any:
    """A polars DataFrame with the name of the PV in its first column."""
    import polars

    if not many:
        return polars.DataFrame()
    frames = [samples.to_polars().insert_column(0, _repeated(polars, pv, len(samples))) for pv, samples in many.items()]
    return polars.concat(frames, how="vertical_relaxed")


def _repeated(polars: Any, pv: str, rows: int) -> Any:
    return polars.repeat(pv, rows, eager=True, dtype=polars.String).alias("pv")


def xarray_of(samples: Samples, dimension: str = "time") -> Any:
    """A DataArray over the samples' own times."""
    import xarray

    coordinates = {
        dimension: samples.times,
        _beside("severity", dimension): (dimension, samples.severity),
        _beside("status", dimension): (dimension, samples.status),
    }
    told = facts(samples.metadata) | ({} if samples.type is None else {"type": samples.type})
    dimensions = [dimension, _beside("index", dimension)][: samples.values.ndim]
    return xarray.DataArray(samples.values, coordinates, dimensions, samples.pv, told)


def _beside(name: str, dimension: str) -> str:
    return dimension.replace("time", name, 1)


def xarray_of_many(many: ManySamples) -> Any:
    """A Dataset in which each PV has times of its own."""
    import xarray

    return xarray.Dataset({pv: xarray_of(samples, f"time:{pv}") for pv, samples in many.items()})


def dataset_of(
    times: npt.NDArray[np.datetime64], columns: Columns, name: str = "time", facts: Mapping[str, str] | None = None
) -> Any:
    """A Dataset of columns over the same times."""
    import xarray

    return xarray.Dataset({column: (name, rows) for column, rows in columns.items()}, {name: times}, facts)


def _rows(column: npt.NDArray[Any]) -> Any:
    return list(column) if column.dtype == object or column.ndim > 1 else column


def _plain(column: npt.NDArray[Any]) -> Any:
    """Objects as a list of what polars knows."""
    if column.dtype != object:
        return column if column.ndim == 1 else column.tolist()
    return [value.tolist() if isinstance(value, np.ndarray | np.generic) else value for value in column]
