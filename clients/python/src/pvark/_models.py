"""What an archive gives: samples and bins in numpy columns, gaps, metadata, and what it says about its PVs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _frames
from ._table import table
from ._times import TimeArray

SEVERITIES = ("NO_ALARM", "MINOR", "MAJOR", "INVALID", "UNDEFINED")
"""The names of alarm severities, by number."""


@dataclass(frozen=True)
class Metadata:
    """What the numbers of a PV mean. Fields are None where the IOC does not say."""

    type: str | None = None
    element_count: int | None = None
    units: str | None = None
    precision: int | None = None
    display: tuple[float, float] | None = None
    control: tuple[float, float] | None = None
    warning: tuple[float, float] | None = None
    alarm: tuple[float, float] | None = None
    labels: tuple[str, ...] = ()
    description: str | None = None
    server: str | None = None
    since: np.datetime64 | None = None

    def names_of(self, states: npt.NDArray[Any]) -> list[str]:
        """What the states of an enum are called; numbers without a name as digits."""
        names = self.labels
        return [names[index] if 0 <= index < len(names) else str(index) for index in map(int, states)]


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of one PV in columns of equal length, in order of time. Printing it shows a short table."""

    pv: str
    type: str | None
    """`f64`, `enum`, `i32[]`, ...; several joined by `, ` if the PV changed its type; None without samples."""
    times: TimeArray
    values: npt.NDArray[Any]
    """Numbers of the PV's own width; (time, index) where samples are arrays of one length. Objects where their lengths
    differ, and where samples are texts, structures, or of several types."""
    severity: npt.NDArray[np.uint8]
    status: npt.NDArray[np.uint16]
    message: npt.NDArray[np.object_]
    pulse: npt.NDArray[np.uint64]
    metadata: Metadata
    truncated: bool
    """Whether there were more than the limit that was asked for."""
    damage: tuple[str, ...]
    """Sentences about damaged blocks, whose samples are missing; empty when all is well."""

    def __len__(self) -> int:
        return len(self.times)

    def labels(self) -> list[str]:
        """The names of the states of an enum, one per sample; numbers without a name as digits."""
        return self.metadata.names_of(self.values)

    def to_pandas(self) -> Any:
        """A pandas DataFrame with times as its index; needs pandas. An enum has the names of its states in a
        categorical column, `label`; units, description and labels stand in `attrs`."""
        return _frames.pandas_of_samples(self)

    def to_polars(self) -> Any:
        """A polars DataFrame; needs polars."""
        return _frames.polars_of(self.times, self._columns())

    def to_xarray(self) -> Any:
        """An xarray DataArray over `time`, with severity and status as coordinates, and over `index` if samples are
        arrays of one length; needs xarray."""
        return _frames.xarray_of(self)

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        return {"value": self.values, "severity": self.severity, "status": self.status}

    def __repr__(self) -> str:
        words = [self.pv, self.type or "no type", self.metadata.units or "", f"{len(self):,} samples", *self.damage]
        title = "  ".join(word for word in words if word)
        severities = [SEVERITIES[min(number, 4)] for number in self.severity]
        return table(title, {"time": self.times, "value": self.values, "severity": severities})


class ManySamples(dict[str, Samples]):
    """The samples of several PVs, by name and in the order in which they were asked for."""

    def to_pandas(self) -> Any:
        """One pandas DataFrame, indexed by PV and time; needs pandas. `attrs` has units, descriptions and
        labels, each by the name of the PV."""
        return _frames.pandas_of_many(self)

    def to_polars(self) -> Any:
        """One polars DataFrame with the name of the PV in a column; needs polars. Values of different types get the
        type that holds all of them."""
        return _frames.polars_of_many(self)

    def to_xarray(self) -> Any:
        """An xarray Dataset with a variable for each PV, over times of its own (`time:NAME`); needs xarray."""
        return _frames.xarray_of_many(self)

    def __repr__(self) -> str:
        return "\n".join(f"{name}  {one.type or 'no type'}  {len(one):,} samples" for name, one in self.items())


def _lacking(unanswered: dict[str, str]) -> list[str]:
    return [f"{len(unanswered):,} not answered"] if unanswered else []


@dataclass(frozen=True, eq=False)
class ValuesAt:
    """The values of many PVs at one time, in columns of equal length."""

    time: np.datetime64
    pvs: list[str]
    times: TimeArray
    """When each value came; NaT where there was none yet."""
    values: npt.NDArray[np.object_]
    """Each of its PV's own type; None where there was none yet."""
    types: list[str | None]
    severity: npt.NDArray[np.uint8]
    status: npt.NDArray[np.uint16]
    unknown: tuple[str, ...]
    """Names that no PV of the archive has."""
    unanswered: dict[str, str] = field(default_factory=dict)
    """PVs of which nothing is known now, as no node of a cluster answered for them, each with the reason."""

    def __len__(self) -> int:
        return len(self.pvs)

    def as_dict(self) -> dict[str, Any]:
        """The values by name."""
        return dict(zip(self.pvs, self.values, strict=True))

    def to_pandas(self) -> Any:
        """A pandas DataFrame with names as its index; needs pandas."""
        return _frames.pandas_at(self)

    def __repr__(self) -> str:
        title = "  ".join([f"{self.time}Z", f"{len(self):,} PVs", *_lacking(self.unanswered)])
        return table(title, {"pv": self.pvs, "time": self.times, "value": self.values})


@dataclass(frozen=True, eq=False)
class Aligned:
    """Several PVs on the same times: a table with a row for each time."""

    times: TimeArray
    values: dict[str, npt.NDArray[Any]]
    """Floats with NaN, or objects with None, where there is no value."""
    severity: dict[str, npt.NDArray[np.uint8]]
    """Of each value; INVALID (3) where there is none."""
    metadata: dict[str, Metadata]
    """What the numbers of each PV mean."""

    def __len__(self) -> int:
        return len(self.times)

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a column for each PV; needs pandas. `attrs` has units, descriptions and
        labels, each by the name of the PV."""
        return _frames.pandas_of(self.times, self.values, facts=_frames.facts_of_many(self.metadata))

    def to_polars(self) -> Any:
        """A polars DataFrame with a column for each PV; needs polars."""
        return _frames.polars_of(self.times, self.values)

    def to_xarray(self) -> Any:
        """An xarray Dataset with a variable for each PV over `time`; needs xarray."""
        return _frames.dataset_of(self.times, self.values, of_each=self.metadata)

    def __repr__(self) -> str:
        return table(f"{len(self):,} times", {"time": self.times} | self.values)


@dataclass(frozen=True, eq=False)
class Bins:
    """The range cut into equal parts, each with what its samples have in common. Empty bins have count 0 and NaN."""

    pv: str
    type: str | None
    start: TimeArray
    end: TimeArray
    count: npt.NDArray[np.int64]
    min: npt.NDArray[np.float64]
    max: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    std: npt.NDArray[np.float64]
    """The standard deviation of the finite values (n - 1); 0 for a single one."""
    time_weighted_mean: npt.NDArray[np.float64]
    """The mean over time: each finite value counts from its sample to the next one, and not beyond now."""
    covered: npt.NDArray[np.float64]
    """For how many seconds of the bin a finite value was in force: the weight of `time_weighted_mean`."""
    first: npt.NDArray[np.float64]
    last: npt.NDArray[np.float64]
    severity: npt.NDArray[np.uint8]
    """The worst of each bin."""
    nan: npt.NDArray[np.int64]
    """How many values were not a number; they count in nothing else but `count`, `first` and `last`."""
    invalid: npt.NDArray[np.int64]
    """How many samples had severity INVALID or worse."""
    metadata: Metadata
    damage: tuple[str, ...]
    """Sentences about damaged blocks, whose samples are missing; empty when all is well."""

    def __len__(self) -> int:
        return len(self.start)

    def to_pandas(self) -> Any:
        """A pandas DataFrame with the start of each bin as its index, units in `attrs`; needs pandas."""
        return _frames.pandas_of(self.start, self._columns(), "start", {"pv": self.pv} | _frames.facts(self.metadata))

    def to_polars(self) -> Any:
        """A polars DataFrame; needs polars."""
        return _frames.polars_of(self.start, self._columns(), "start")

    def to_xarray(self) -> Any:
        """An xarray Dataset over `start`; needs xarray."""
        return _frames.dataset_of(self.start, self._columns(), "start", {"pv": self.pv} | _frames.facts(self.metadata))

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        means = ("mean", "std", "time_weighted_mean", "covered")
        names = ("count", "min", "max", *means, "first", "last", "severity", "nan", "invalid")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        title = "  ".join([self.pv, f"{len(self):,} bins", *self.damage])
        columns = {"start": self.start, "count": self.count, "min": self.min, "mean": self.mean, "max": self.max}
        return table(title, columns)


@dataclass(frozen=True, eq=False)
class ArrayBins:
    """The range of a PV of arrays cut into equal parts: a row for each, a column for each element, or for some
    neighbouring ones together. What a bin has no numbers of is NaN."""

    pv: str
    type: str | None
    start: TimeArray
    end: TimeArray
    arrays: npt.NDArray[np.int64]
    """How many samples each bin has."""
    severity: npt.NDArray[np.uint8]
    """The worst of each bin."""
    invalid: npt.NDArray[np.int64]
    """How many samples of each bin had severity INVALID."""
    length: npt.NDArray[np.int64]
    """How many elements the longest array of each bin has."""
    element: npt.NDArray[np.int64]
    """The first element of each column of the following tables."""
    elements_per_row: int
    """How many neighbouring elements each column stands for."""
    count: npt.NDArray[np.int64]
    """How many finite numbers there are."""
    min: npt.NDArray[np.float64]
    max: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    """Of the finite numbers."""
    metadata: Metadata
    damage: tuple[str, ...]
    """Sentences about damaged blocks, whose samples are missing; empty when all is well."""

    def __len__(self) -> int:
        return len(self.start)

    def to_xarray(self) -> Any:
        """An xarray Dataset over `start` and `element`; needs xarray."""
        import xarray

        tables = {name: (("start", "element"), getattr(self, name)) for name in ("count", "min", "max", "mean")}
        of_bins = {name: ("start", getattr(self, name)) for name in ("arrays", "severity", "invalid", "length")}
        told = {"pv": self.pv, "elements_per_row": self.elements_per_row} | _frames.facts(self.metadata)
        return xarray.Dataset(tables | of_bins, {"start": self.start, "element": self.element}, told)

    def __repr__(self) -> str:
        title = "  ".join([self.pv, f"{len(self):,} bins of {len(self.element):,} elements", *self.damage])
        columns = {"start": self.start, "arrays": self.arrays, "length": self.length, "severity": self.severity}
        return table(title, columns)


@dataclass(frozen=True)
class Order:
    """An order about PVs that can be taken back."""

    number: int
    time: np.datetime64
    by: str
    """Who gave it."""
    action: str
    """What was done, as `paused`, `changed`, `removed`."""
    detail: str
    pvs: int
    """How many PVs it changed."""
    until: np.datetime64
    """Until when it can be taken back."""
    right: str
    """What one must be allowed to do with its PVs: `operate` or `administer`."""


@dataclass(frozen=True)
class Undo:
    """What taking back an order does, or would do."""

    order: Order
    done: dict[str, str]
    """By PV: `settings` (as before), `restored` (back in the archive) or `removed` (out of it again)."""
    refused: dict[str, str]
    """Those that stay as they are, as they were changed since, with the reason."""


@dataclass(frozen=True)
class ExportPlan:
    """What an export would be."""

    file: str
    """What its file would be called."""
    pvs: int
    samples: int
    """About."""
    rows: int
    """About; exact where they come at equal times."""
    bytes: int
    """About."""
    bytes_left: int
    """How many exports may still take."""
    notes: tuple[str, ...]
    """What of it does not go into the form as it is."""
    refused: str | None
    """Why it would be refused, and what to do instead."""


@dataclass(frozen=True)
class Export:
    """A file of many PVs that the archiver makes, or has made."""

    number: int
    state: str
    """waiting, running, done or failed."""
    file: str
    """What it is called."""
    pvs: int
    pvs_done: int
    samples: int
    """Samples that are in it, or rows."""
    bytes: int
    """Of the file, so far."""
    progress: float
    """From 0 to 1, which it is only when it is done."""
    without: tuple[str, ...]
    """The first 20 PVs that have no sample in the range."""
    without_count: int
    gaps: int
    """Gaps of its PVs in the range."""
    damage: tuple[str, ...]
    """The first 20 damaged blocks, which are left out."""
    notes: tuple[str, ...]
    error: str | None
    """Why it has failed."""
    etag: str | None
    """Of its file, when it is done."""
    path: str | None = None
    """Where it was written here."""


@dataclass(frozen=True)
class Note:
    """What somebody wrote about a time, about PVs, or about both."""

    number: int
    text: str
    pvs: tuple[str, ...]
    start: np.datetime64 | None
    """About which time; None if about none."""
    end: np.datetime64 | None
    """Until when; None of a moment."""
    by: str
    time: np.datetime64
    """When it was written."""
    origin: str
    """Who wrote it in another archive, and when, if it was brought from there."""


@dataclass(frozen=True)
class SavedView(Note):
    """What a page showed, under a name."""

    name: str
    """Behind its folders, as `operation/trips/water`."""
    query: str
    """What stands behind the ? of the page's address."""
    link: str
    """A short link to it, as a path on the archiver."""


@dataclass(frozen=True)
class Gap:
    """A time in which a PV was not recorded, or not completely."""

    start: np.datetime64
    end: np.datetime64 | None
    """None while it lasts."""
    cause: str
    lost: int
    """Samples known to be lost; 0 where nobody can know."""
    scope: str
    """`pv`, or `archiver` when nothing at all was recorded."""


@dataclass(frozen=True)
class Account:
    """What became of the updates of a PV in some time: received = stored + skipped + waiting + those lost by
    `queue_full`, `store_refused` and `rate_capped`."""

    start: np.datetime64 | None
    received: int
    stored: int
    skipped: int
    waiting: int
    lost: dict[str, int]
    stamps: dict[str, int]
    suspected_seconds: float
    adds_up: bool
    covered_seconds: float
    origin: str


@dataclass(frozen=True)
class Reason:
    """One reason why there is no data, or not all."""

    kind: str
    start: np.datetime64
    end: np.datetime64
    lost: int
    text: str


@dataclass(frozen=True, eq=False)
class Intervals:
    """The times in which a condition held, in columns of equal length. Printing it shows a short table."""

    expression: str
    start: TimeArray
    end: TimeArray
    seconds: npt.NDArray[np.float64]
    begins: tuple[str, ...]
    """Why each begins there: `change`, `unknown` (before that it is not known), or `range`."""
    ends: tuple[str, ...]
    unknown: float
    """For how many seconds it is not known whether the condition held."""
    read: int
    """How many numbers were read one by one; summaries decided the rest."""
    until: np.datetime64
    """Up to when it was looked."""
    whole: bool
    """Whether that is the end of the range."""
    damage: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.start)

    def to_pandas(self) -> Any:
        """A pandas DataFrame, a row for each; needs pandas."""
        import pandas

        columns = {"start": self.start, "end": self.end, "seconds": self.seconds}
        return pandas.DataFrame(columns | {"begins": self.begins, "ends": self.ends})

    def __repr__(self) -> str:
        words = [self.expression, f"{len(self):,} intervals", *([] if self.whole else [f"up to {self.until}"])]
        columns = {"start": self.start, "end": self.end, "seconds": self.seconds}
        return table("  ".join([*words, *self.damage]), columns | {"begins": self.begins, "ends": self.ends})


@dataclass(frozen=True, eq=False)
class Changes:
    """What became of PVs between two times, in columns of equal length, the largest changes first."""

    before: np.datetime64
    after: np.datetime64
    pvs: list[str]
    values_before: npt.NDArray[np.object_]
    """None where there was none yet."""
    values_after: npt.NDArray[np.object_]
    change: npt.NDArray[np.float64]
    """By how much a number changed; NaN where one of both is no number."""
    spread: npt.NDArray[np.float64]
    """The standard deviation before; NaN where there is none."""
    score: npt.NDArray[np.float64]
    """How many of these the change is; infinite where the PV never moved before, or is no number."""
    unknown: tuple[str, ...]
    """Names that no PV of the archive has."""
    unanswered: dict[str, str] = field(default_factory=dict)
    """PVs that may have changed or not, as no node of a cluster answered for them, each with the reason."""

    def __len__(self) -> int:
        return len(self.pvs)

    def to_pandas(self) -> Any:
        """A pandas DataFrame with names as its index; needs pandas."""
        import pandas

        return pandas.DataFrame(self._columns(), index=self.pvs)

    def _columns(self) -> dict[str, Any]:
        ends = {"before": self.values_before, "after": self.values_after}
        return ends | {"change": self.change, "spread": self.spread, "score": self.score}

    def __repr__(self) -> str:
        title = "  ".join([f"{self.before} to {self.after}", f"{len(self):,} PVs", *_lacking(self.unanswered)])
        return table(title, {"pv": self.pvs} | self._columns())


@dataclass(frozen=True, eq=False)
class FormulaSteps:
    """What a formula comes to at each moment at which it changes; NaN where it is not known."""

    expression: str
    units: str | None
    times: TimeArray
    values: npt.NDArray[Any]
    """Numbers; of a formula over arrays a row for each step if all have one length, else an array or None for each."""
    unequal: int = 0
    """At how many moments arrays of different lengths did not go together."""
    until: np.datetime64 | None = None
    """From when on there are more steps over arrays than one answer has."""

    def __len__(self) -> int:
        return len(self.times)

    def to_pandas(self) -> Any:
        """A pandas Series over times; needs pandas."""
        import pandas

        values = list(self.values) if self.values.ndim > 1 else self.values
        return pandas.Series(values, index=self.times, name=self.expression)

    def __repr__(self) -> str:
        title = "  ".join([self.expression, self.units or "", f"{len(self):,} steps"])
        return table(title, {"time": self.times, "value": self.values})


@dataclass(frozen=True, eq=False)
class FormulaBins:
    """A formula in parts of a range, in columns of equal length."""

    expression: str
    units: str | None
    start: TimeArray
    end: TimeArray
    mean: npt.NDArray[np.float64]
    """Over the time in which it was known; NaN where that is none."""
    min: npt.NDArray[np.float64] | None
    """None unless extremes were asked for."""
    max: npt.NDArray[np.float64] | None
    covered: npt.NDArray[np.float64]
    """For how many seconds it was known."""
    made_of: tuple[str, ...]
    """`summaries` or `samples`."""

    def __len__(self) -> int:
        return len(self.start)

    def to_pandas(self) -> Any:
        """A pandas DataFrame, a row for each part; needs pandas."""
        import pandas

        return pandas.DataFrame(self._columns() | {"end": self.end, "made_of": self.made_of})

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"start": self.start, "mean": self.mean}
        if self.min is not None and self.max is not None:
            columns |= {"min": self.min, "max": self.max}
        return columns | {"covered": self.covered}

    def __repr__(self) -> str:
        return table("  ".join([self.expression, self.units or "", f"{len(self):,} parts"]), self._columns())


@dataclass(frozen=True)
class Statistics:
    """What a PV or a formula amounts to in a range. Numbers are NaN where nothing was known."""

    expression: str
    units: str | None
    covered: float
    """For how many seconds it was known."""
    unknown: float
    mean: float
    std: float
    min: float
    max: float
    percentiles: dict[float, float]
    percentiles_within: float
    """By how much these may be off, where very many different numbers occurred."""
    above: float | None
    """For how many seconds it was above the limit that was asked for."""
    histogram: tuple[tuple[float, float, float], ...]
    """Low and high end of each part, and for how many seconds it was there."""
    states: dict[float, float]
    """For how many seconds it had each number, if these are few."""
    read: int
    damage: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Pairs:
    """What two expressions were at the same time, in columns of equal length."""

    x_is: str
    y_is: str
    x_units: str | None
    y_units: str | None
    times: TimeArray
    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    unpaired: int
    """How often one of both was known and the other was not, or had no partner."""
    until: np.datetime64 | None
    """Where the first pair lies that was not made, if there are more than the limit."""
    correlation: float
    """Pearson's; NaN where it cannot be said."""
    slope: float
    """Of the straight line of least squares of y over x, like `intercept`."""
    intercept: float
    made_of: str
    """`summaries`, `samples` or `both`."""
    read: int
    damage: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.times)

    def to_pandas(self) -> Any:
        """A pandas DataFrame over times; needs pandas."""
        import pandas

        return pandas.DataFrame({"x": self.x, "y": self.y}, index=self.times)

    def __repr__(self) -> str:
        title = f"{self.y_is} over {self.x_is}  {len(self):,} pairs"
        return table(title, {"time": self.times, "x": self.x, "y": self.y})


@dataclass(frozen=True)
class Share:
    """How much lies in one place: seconds and samples, each None unless it was asked for."""

    seconds: float | None
    count: int | None


@dataclass(frozen=True, eq=False)
class Histogram:
    """For how long a number lay in each part, or how many samples did."""

    expression: str
    units: str | None
    edges: npt.NDArray[np.float64]
    """One more than there are parts; each part has its lower edge, the last both."""
    seconds: npt.NDArray[np.float64] | None
    """None where only samples are counted."""
    count: npt.NDArray[np.int64] | None
    """None where only the time is."""
    beside: dict[str, Share]
    """What lies in no part: `below`, `above`, `infinite`, `minus_infinite`, `nan`, `gaps`, `before` the first one."""
    made_of: str
    """`summaries`, `samples` or `both`."""
    by_summaries: float
    """For how many seconds summaries alone were asked."""
    read: int
    damage: tuple[str, ...]

    def __len__(self) -> int:
        return max(len(self.edges) - 1, 0)

    def to_pandas(self) -> Any:
        """A pandas DataFrame, a row for each part; needs pandas."""
        import pandas

        return pandas.DataFrame(self._columns())

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"low": self.edges[:-1], "high": self.edges[1:]}
        columns |= {} if self.seconds is None else {"seconds": self.seconds}
        return columns | ({} if self.count is None else {"count": self.count})

    def __repr__(self) -> str:
        return table("  ".join([self.expression, self.units or "", f"{len(self):,} parts"]), self._columns())


@dataclass(frozen=True, eq=False)
class Spectrum:
    """How strong each frequency is, one-sided, from 0 to half the rate."""

    expression: str
    output: str
    """`amplitude` or `density`."""
    units: str | None
    """Those of the strengths."""
    frequencies: npt.NDArray[np.float64]
    """In hertz."""
    strengths: npt.NDArray[np.float64]
    start: np.datetime64
    """When the first point was."""
    end: np.datetime64
    """One step behind the last."""
    points: int
    step: float
    """Seconds from one point to the next."""
    mean: float
    resampled: str | None
    unevenness: float
    """How far a stamp lies from its place at most, in steps."""
    made_of: str
    read: int
    damage: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.frequencies)

    def to_pandas(self) -> Any:
        """A pandas Series over frequencies; needs pandas."""
        import pandas

        return pandas.Series(self.strengths, index=self.frequencies, name=self.output)

    def __repr__(self) -> str:
        title = "  ".join([self.expression, self.units or "", f"{self.points:,} points"])
        return table(title, {"frequency": self.frequencies, self.output: self.strengths})


@dataclass(frozen=True, eq=False)
class View:
    """Bins of many PVs on common edges, in columns of one length: all bins of the first PV, then those of the next."""

    pvs: tuple[str, ...]
    pv: npt.NDArray[np.int64]
    """Which of `pvs` each bin is of."""
    columns: dict[str, npt.NDArray[Any]]
    """`start`, `end`, `count`, `min`, `max`, `mean`, `std`, `time_weighted_mean`, `covered`, `first`, `last`,
    `severity`, `nan` and `invalid`, as those of `Bins`. Where elements of arrays were asked for, too: `arrays`, how
    many there were in the bin, 0 for PVs of numbers; `element`, the first of the row, and `elements`, how many share
    it."""
    facts: tuple[dict[str, Any], ...]
    """What the archiver says of each PV beside its bins: type, metadata, gaps, the value before, damage."""
    start: np.datetime64
    end: np.datetime64
    width: float | None
    """Seconds of a bin; ask for neighbours with it."""
    until: np.datetime64
    """Up to when samples are in the bins."""

    def __len__(self) -> int:
        return len(self.pv)

    @property
    def unanswered(self) -> dict[str, str]:
        """PVs of which nothing is told, as no node of a cluster answered for them, each with the reason."""
        return {fact["pv"]: fact["unanswered"] for fact in self.facts if "unanswered" in fact}

    def __getitem__(self, pv: str) -> dict[str, npt.NDArray[Any]]:
        """The columns of one PV."""
        if pv not in self.pvs:
            raise KeyError(pv)
        if pv in self.unanswered:
            raise KeyError(f"{pv}: {self.unanswered[pv]}")
        rows = self.pv == self.pvs.index(pv)
        return {name: column[rows] for name, column in self.columns.items()}

    def to_pandas(self) -> Any:
        """A pandas DataFrame, a row for each bin of each PV; needs pandas."""
        import pandas

        return pandas.DataFrame({"pv": self._names()} | self.columns)

    def _names(self) -> npt.NDArray[np.object_]:
        return np.array(self.pvs, dtype=object)[self.pv]

    def __repr__(self) -> str:
        shown = {name: self.columns[name] for name in ("start", "count", "min", "mean", "max")}
        title = "  ".join([f"{len(self.pvs)} PVs", f"{len(self):,} bins", *_lacking(self.unanswered)])
        return table(title, {"pv": self._names()} | shown)


@dataclass(frozen=True)
class Explanation:
    """Why there is no data in a range, or not all."""

    pv: str
    complete: str
    """`incomplete`, `suspected`, `unproved` or `proved`."""
    text: str
    samples: int
    reasons: tuple[Reason, ...]
    account: Account
    proof: dict[str, Any] | None


@dataclass(frozen=True)
class Pv:
    """One PV of the archive and how it is doing."""

    name: str
    protocol: str
    method: str
    period: float | None
    state: str
    since: np.datetime64 | None
    type: str | None
    units: str | None
    details: dict[str, Any]
    """Everything that the archiver said about it, as it said it."""


class Listed(list[Pv]):
    """PVs as `listed` sorted them, with how many there are in all."""

    total: int = 0
    facets: dict[str, Any]
    """How many PVs there are by `state`, `policy`, `group` and `ioc`, as the archiver said it."""
    near: list[str]
    """Where there is none: names and words that may have been meant."""


@dataclass(frozen=True)
class TreeLevel:
    """One level of the tree that the names make: what stands in a name up to each separator is a branch, a name without
    any more a leaf. Aliases are among the names."""

    prefix: str
    """With what all of its names begin."""
    separators: str
    """The signs behind which the site's names are split."""
    names: int
    """How many begin so, whether they are told here or not."""
    branches: dict[str, int]
    """With what the names of each begin, which is the `prefix` of the level below, and how many there are."""
    leaves: tuple[str, ...]
    whole: bool
    """A `limit` left nothing out."""

    def __repr__(self) -> str:
        rest = "" if self.whole else ", and more"
        head = f"{self.prefix or 'all'}  {self.names:,} names{rest}"
        below = [f"  {prefix}  {names:,}" for prefix, names in self.branches.items()]
        return "\n".join([head, *below, *(f"  {name}" for name in self.leaves)])


@dataclass(frozen=True)
class Kept:
    """For how long the samples of some PVs are kept."""

    of: str
    """`setting`: PVs that have one of their own; `rule`: those that a rule of the config file is for; `others`."""
    rule: str | None
    """The names that the rule is for."""
    pvs: int | None
    """How many PVs have such a setting."""
    policies: tuple[str, ...]
    """The policies that say so."""
    keep: timedelta | None
    """A week of samples goes when it has been over for so long; None is for ever."""
    next_week: str | None
    """The first week that goes, as `2026-W36`, if there is one."""
    next_time: np.datetime64 | None
    """When it goes."""


@dataclass(frozen=True)
class Backup:
    """The last backup into one folder, of which the archiver was told."""

    time: np.datetime64
    to: str
    bytes: int
    whole: bool
    """False where the archive was found damaged."""


@dataclass(frozen=True)
class Upkeep:
    """How long what is kept, and the last backups."""

    retention: tuple[Kept, ...]
    """They decide in their order."""
    backups: tuple[Backup, ...]
    """One of each folder, the newest first."""


@dataclass(frozen=True)
class Status:
    """How the archiver is doing."""

    version: str
    started: np.datetime64
    now: np.datetime64
    appended: int
    durable: int
    """Of all samples ever appended, how many are known to be on disk."""
    pvs: dict[str, int]
    samples: dict[str, int]
    store: dict[str, Any]
    problems: list[str]
    """Sentences for an operator; empty when all is well."""
    zone: str | None = None
    """The zone in which people of the site read times, for `zoneinfo.ZoneInfo`; none where the config says none."""


@dataclass(frozen=True)
class Update:
    """One piece of what `Archiver.live` gives: new samples of a PV, or a change of its connection."""

    pv: str
    samples: Samples | None
    state: str | None
