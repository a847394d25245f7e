"""The archiver as an object: one method a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from os import PathLike
from typing import Any, Generic, ParamSpec, TypeVar, overload

from . import _exports, _talks
from ._asking import Talk
from ._errors import UnknownPv
from ._models import ManySamples, Samples, Update
from ._names import Names, is_pattern
from ._near import advice
from ._times import Moment
from ._transport import Transport

P = ParamSpec("P")
T = TypeVar("T")


class _Asks(Generic[P, T]):
    """A talk as a method, which is typed and documented as the talk is."""

    def __init__(self, talk: Callable[P, Talk[T]]) -> None:
        self.talk = talk
        self.__doc__ = talk.__doc__

    @overload
    def __get__(self, archive: None, owner: type) -> _Asks[P, T]: ...

    @overload
    def __get__(self, archive: Archiver, owner: type) -> Callable[P, T]: ...

    def __get__(self, archive: Archiver | None, owner: type) -> Any:
        if archive is None:
            return self

        @wraps(self.talk)
        def ask(*args: P.args, **kwargs: P.kwargs) -> T:
            return archive._http.talk(self.talk(*args, **kwargs))

        return ask


class Archiver:
    """A pvark archiver at a URL. Holds no connection: it can be kept for ever and used from several threads. When
    nothing comes for `timeout` seconds, a question fails with TimedOut. One with https is known by the authorities in
    the file `ca`, in PEM, or by those that this machine trusts. Where one must show who one is, `token_file` (or the
    variable PVARK_TOKEN_FILE) names a file with a token, which nobody else may read."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:17665",
        timeout: float = 60.0,
        ca: str | PathLike[str] | None = None,
        token_file: str | PathLike[str] | None = None,
    ) -> None:
        self._http = Transport(url, timeout, ca, token_file)

    @overload
    def get(  # type: ignore[overload-overlap]  # a single name is an iterable of letters, too
        self,
        pvs: str,
        t0: Moment | None = None,
        t1: Moment | None = None,
        *,
        before: bool = False,
        limit: int | None = None,
    ) -> Samples: ...

    @overload
    def get(
        self,
        pvs: Iterable[str],
        t0: Moment | None = None,
        t1: Moment | None = None,
        *,
        before: bool = False,
        limit: int | None = None,
    ) -> ManySamples: ...

    def get(
        self,
        pvs: str | Iterable[str],
        t0: Moment | None = None,
        t1: Moment | None = None,
        *,
        before: bool = False,
        limit: int | None = None,
    ) -> Samples | ManySamples:
        """Samples with t0 <= time < t1 of one PV, or of several by name. `t1` defaults to now, `t0` to an hour before
        it; `before` adds the last sample at or before t0, so that the value at t0 is known; `limit` counts for each
        PV. A glob (`LAB:*`, or a regular expression after `~`) gives all PVs that fit it, by name, alone or within a
        list; for a type checker a text is one PV: there put the glob into a list."""
        if isinstance(pvs, str) and not is_pattern(pvs):
            return self._http.talk(_talks.get_one(pvs, t0, t1, before=before, limit=limit))
        return self._http.talk(_talks.get_many(pvs, t0, t1, before=before, limit=limit))

    search = _Asks(_talks.search)
    listed = _Asks(_talks.listed)
    iocs = _Asks(_talks.iocs)
    pv = _Asks(_talks.pv)
    table = _Asks(_talks.table)
    at = _Asks(_talks.at)
    aligned = _Asks(_talks.aligned)
    bins = _Asks(_talks.bins)
    array_bins = _Asks(_talks.array_bins)
    diff = _Asks(_talks.diff)
    when = _Asks(_talks.when)
    formula = _Asks(_talks.formula)
    formula_bins = _Asks(_talks.formula_bins)
    stats = _Asks(_talks.stats)
    xy = _Asks(_talks.xy)
    histogram = _Asks(_talks.histogram)
    fft = _Asks(_talks.fft)
    view = _Asks(_talks.view)
    export = _Asks(_exports.export)
    export_plan = _Asks(_exports.plan)
    exports = _Asks(_exports.listed)
    fetch_export = _Asks(_exports.fetch)
    remove_export = _Asks(_exports.remove)
    gaps = _Asks(_talks.gaps)
    ledger = _Asks(_talks.ledger)
    explain = _Asks(_talks.explain)
    metadata = _Asks(_talks.metadata)
    tree = _Asks(_talks.tree)
    upkeep = _Asks(_talks.upkeep)
    status = _Asks(_talks.status)
    add = _Asks(_talks.add)
    pause = _Asks(_talks.pause)
    resume = _Asks(_talks.resume)
    remove = _Asks(_talks.remove)
    undoable = _Asks(_talks.undoable)
    undo_plan = _Asks(_talks.undo_plan)
    undo = _Asks(_talks.undo)
    notes = _Asks(_talks.notes)
    note = _Asks(_talks.note)
    remove_note = _Asks(_talks.remove_note)
    views = _Asks(_talks.views)
    saved_view = _Asks(_talks.saved_view)
    save_view = _Asks(_talks.save_view)
    remove_view = _Asks(_talks.remove_view)

    def live(self, *pvs: Names, since: Moment | None = None) -> Iterator[Update]:
        """New samples and changes of connection as they come, for ever. Ends with ConnectionFailed."""
        lines = _talks.LiveLines()
        names = self._http.talk(_talks.names_of(pvs))
        try:
            for line in self._http.lines(_talks.live(names, since)):
                update = lines.update(line)
                if update is not None:
                    yield update
        except UnknownPv as error:
            raise self._http.talk(advice(error)) from None
