"""Columns as the tables of other libraries, each of which is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ._models import ManySamples, Metadata, Samples, ValuesAt

Columns = Mapping[str, npt.NDArray[Any]]


def facts(metadata: Metadata) -> dict[str, Any]:
    """What is known of the numbers of a PV and a table has no column for."""
    told = {"units": metadata.units, "description": metadata.description, "labels": list(metadata.labels) or None}
    return {name: fact for name, fact in told.items() if fact is not None}


def facts_of_many(metadata: Mapping[str, Metadata]) -> dict[str, Any]:
    """The same of several PVs: units by name, and so on."""
    found: dict[str, dict[str, Any]] = {}
    for pv, one in metadata.items():
        for name, fact in facts(one).items():
            found.setdefault(name, {})[pv] = fact
    return found


def pandas_of(
    times: npt.NDArray[np.datetime64], columns: Columns, name: str = "time", facts: Mapping[str, Any] | None = None
) -> Any:
    """A DataFrame with times as its index."""
    import pandas

    index = pandas.DatetimeIndex(times, tz="UTC", name=name)
    frame = pandas.DataFrame({name: _rows(column) for name, column in columns.items()}, index=index, copy=False)
    frame.attrs = dict(facts or {})
    return frame


def pandas_of_samples(samples: Samples) -> Any:
    """A DataFrame of one PV, with the names of the states of an enum beside their numbers."""
    import pandas

    told = {"pv": samples.pv, "type": samples.type} | facts(samples.metadata)
    frame = pandas_of(samples.times, samples._columns(), facts=told)
    if samples.type == "enum" and samples.metadata.labels:
        states, place = np.unique(samples.values, return_inverse=True)
        names = samples.metadata.names_of(states)
        categories = list(dict.fromkeys([*samples.metadata.labels, *names]))  # two states may have the same name
        codes = np.array([categories.index(name) for name in names], np.int32)
        frame.insert(1, "label", pandas.Categorical.from_codes(codes[place], categories))
    return frame


def pandas_of_many(many: ManySamples) -> Any:
    """A DataFrame indexed by PV and time."""
    import pandas

    if not many:
        return pandas.DataFrame()
    frame = pandas.concat({pv: samples.to_pandas() for pv, samples in many.items()}, names=["pv"])
    frame.attrs = facts_of_many({pv: samples.metadata for pv, samples in many.items()})
    return frame


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
    """A DataArray over the samples' own times, and over `index` if they are arrays of one length."""
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
    times: npt.NDArray[np.datetime64],
    columns: Columns,
    name: str = "time",
    told: Mapping[str, Any] | None = None,
    of_each: Mapping[str, Metadata] | None = None,
) -> Any:
    """A Dataset of columns over the same times."""
    import xarray

    noted = {column: facts(one) for column, one in (of_each or {}).items()}
    variables = {column: (name, rows, noted.get(column, {})) for column, rows in columns.items()}
    return xarray.Dataset(variables, {name: times}, told)


def _rows(column: npt.NDArray[Any]) -> Any:
    return list(column) if column.dtype == object or column.ndim > 1 else column


def _plain(column: npt.NDArray[Any]) -> Any:
    """Objects as a list of what polars knows."""
    if column.dtype != object:
        return column if column.ndim == 1 else column.tolist()
    return [value.tolist() if isinstance(value, np.ndarray | np.generic) else value for value in column]
