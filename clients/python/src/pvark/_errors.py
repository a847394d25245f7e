"""What can go wrong, as a tree: catch PvarkError for everything, Refused for what the archiver itself said."""

from __future__ import annotations


class PvarkError(Exception):
    """Anything that went wrong between this program and the archive."""


class ConnectionFailed(PvarkError):
    """The archiver could not be reached, or the connection broke."""


class TimedOut(ConnectionFailed):
    """The archiver said nothing for as long as `timeout`."""


class BrokenOff(ConnectionFailed):
    """The answer ended before its end: what came of it is not whole, and none of it is given."""


class UnexpectedAnswer(PvarkError):
    """Something answered, but not as an archiver does."""


class Refused(PvarkError):
    """The archiver refused; `code` is made for programs, the text for people."""

    def __init__(self, http_status: int, code: str, message: str, hint: str | None) -> None:
        super().__init__(message if hint is None else f"{message} ({hint})")
        self.http_status = http_status
        self.code = code
        self.message = message
        self.hint = hint


class BadRequest(Refused):
    """The request makes no sense: a time that is none, a range that ends before it begins, an unknown format."""


class UnknownPv(Refused):
    """No PV of this archive has that name."""


class TooLarge(Refused):
    """The answer or the request would be larger than the archiver allows."""


class Forbidden(Refused):
    """Whoever asked has no right to it."""


class Unauthorized(Refused):
    """Whoever asked has shown nothing that says who it is, or something that does not hold."""


class TooManyRequests(Refused):
    """Whoever asked asks too often: it may be asked again later."""


class Conflict(Refused):
    """The archive is not in a state in which this can be done."""


class StoreRefused(Refused):
    """The archive refuses to write, because its disk is full or broken."""


class Busy(Refused):
    """There is no room for the answer now, or too much is asked at once: it may be asked again in a second."""


class ServerFailed(Refused):
    """The archiver failed; its log says why."""


BY_CODE: dict[str, type[Refused]] = {
    "bad_request": BadRequest,
    "bad_time": BadRequest,
    "bad_range": BadRequest,
    "unknown_format": BadRequest,
    "unknown_operator": BadRequest,
    "unknown_url": BadRequest,
    "unknown_host": BadRequest,
    "method_not_allowed": BadRequest,
    "unknown_pv": UnknownPv,
    "too_large": TooLarge,
    "unauthorized": Unauthorized,
    "forbidden": Forbidden,
    "too_many_requests": TooManyRequests,
    "conflict": Conflict,
    "store_refused": StoreRefused,
    "busy": Busy,
    "internal": ServerFailed,
}


def refused(http_status: int, code: str, message: str, hint: str | None) -> Refused:
    """The exception for an error answer; codes of later versions become plain Refused."""
    return BY_CODE.get(code, Refused)(http_status, code, message, hint)
