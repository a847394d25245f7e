"""Reads a pvark archive of EPICS process variables into numpy.

>>> archive = pvark.Archiver("http://127.0.0.1:17665")
>>> samples = archive.get("DEMO:BEAM:CURRENT", timedelta(minutes=-10))
>>> samples.times, samples.values
"""

from ._client import Archiver
from ._errors import (
    BadRequest,
    Conflict,
    ConnectionFailed,
    Forbidden,
    PvarkError,
    Refused,
    ServerFailed,
    StoreRefused,
    TooLarge,
    UnexpectedAnswer,
    UnknownPv,
)
from ._models import (
    SEVERITIES,
    Account,
    Bins,
    Explanation,
    Gap,
    Metadata,
    Pv,
    Reason,
    Samples,
    Status,
    Update,
)
from ._times import Moment

__all__ = [
    "SEVERITIES",
    "Account",
    "Archiver",
    "BadRequest",
    "Bins",
    "Conflict",
    "ConnectionFailed",
    "Explanation",
    "Forbidden",
    "Gap",
    "Metadata",
    "Moment",
    "Pv",
    "PvarkError",
    "Reason",
    "Refused",
    "Samples",
    "ServerFailed",
    "Status",
    "StoreRefused",
    "TooLarge",
    "UnexpectedAnswer",
    "UnknownPv",
    "Update",
]
