"""Reads a pvark archive of EPICS process variables into numpy, pandas, polars or xarray, with and without `await`.

>>> archive = pvark.Archiver("http://127.0.0.1:17665")
>>> samples = archive.get("DEMO:BEAM:CURRENT", timedelta(minutes=-10))
>>> samples.times, samples.values
"""

from ._aio import AsyncArchiver
from ._client import Archiver
from ._errors import (
    BadRequest,
    BrokenOff,
    Busy,
    Conflict,
    ConnectionFailed,
    Forbidden,
    PvarkError,
    Refused,
    ServerFailed,
    StoreRefused,
    TimedOut,
    TooLarge,
    TooManyRequests,
    Unauthorized,
    UnexpectedAnswer,
    UnknownPv,
)
from ._models import (
    SEVERITIES,
    Account,
    Aligned,
    Bins,
    Explanation,
    FormulaBins,
    FormulaSteps,
    Gap,
    Intervals,
    ManySamples,
    Metadata,
    Pv,
    Reason,
    Samples,
    Statistics,
    Status,
    Update,
    ValuesAt,
)
from ._times import Moment

__all__ = [
    "SEVERITIES",
    "Account",
    "Aligned",
    "Archiver",
    "AsyncArchiver",
    "BadRequest",
    "Bins",
    "BrokenOff",
    "Busy",
    "Conflict",
    "ConnectionFailed",
    "Explanation",
    "Forbidden",
    "FormulaBins",
    "FormulaSteps",
    "Gap",
    "Intervals",
    "ManySamples",
    "Metadata",
    "Moment",
    "Pv",
    "PvarkError",
    "Reason",
    "Refused",
    "Samples",
    "ServerFailed",
    "Statistics",
    "Status",
    "StoreRefused",
    "TimedOut",
    "TooLarge",
    "TooManyRequests",
    "Unauthorized",
    "UnexpectedAnswer",
    "UnknownPv",
    "Update",
    "ValuesAt",
]
