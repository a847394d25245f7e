"""Every question that an archiver answers, as a talk: what is asked, and what becomes of the answers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np

from . import _decode
from ._arrow import streams
from ._asking import Question, Talk, as_bytes, of_json, of_many, quoted
from ._errors import UnexpectedAnswer
from ._models import (
    Account,
    Aligned,
    ArrayBins,
    Bins,
    Changes,
    Explanation,
    FormulaBins,
    FormulaSteps,
    Gap,
    Histogram,
    Intervals,
    Listed,
    ManySamples,
    Metadata,
    Note,
    Order,
    Pairs,
    Pv,
    Samples,
    SavedView,
    Spectrum,
    Statistics,
    Status,
    TreeLevel,
    Undo,
    Update,
    Upkeep,
    ValuesAt,
    View,
)
from ._names import Names, asked, flat, is_pattern, one
from ._times import Moment, to_iso

PAGE = 1000


def search(match: str = "", limit: int | None = None) -> Talk[list[Pv]]:
    """All PVs whose name contains `match`, or fits it as a glob (`*`, `?`) or, after `~`, as a regular expression; the
    first `limit` of them if one is given."""
    if not isinstance(match, str):
        raise TypeError(f"search() takes one text to look for, not {type(match).__name__}")
    found: dict[str, Pv] = {}
    offset = 0
    while limit is None or len(found) < limit:
        count = PAGE if limit is None else min(PAGE, limit - len(found))
        answer = yield of_json("GET", "/pvs", {"match": match or None, "limit": count, "offset": offset})
        # While pages are turned PVs may come and go, so that one stands on two pages.
        found |= {row["name"]: _decode.pv(row) for row in answer["pvs"]}
        offset += len(answer["pvs"])
        if not answer["pvs"] or offset >= answer["total"]:
            break
    return list(found.values())


def listed(
    words: str = "",
    *,
    match: str = "",
    sort: str = "name",
    order: str | None = None,
    state: str | None = None,
    policy: str | None = None,
    group: str | None = None,
    ioc: str | None = None,
    limit: int | None = None,
) -> Talk[Listed]:
    """PVs that have all `words`, in any order, in their names, descriptions, units, groups, policies or IOCs; sorted by
    `sort` (name, rate, bytes_per_day, bytes, last, since, added, state, policy, ioc); the first `limit` of them if one
    is given. The answer is a list with the count of all, and counts by state, policy, group and IOC."""
    query = {"words": words or None, "match": match or None, "sort": sort, "order": order, "state": state}
    query |= {"policy": policy, "group": group, "ioc": ioc}
    found = Listed()
    cursor = None
    while True:
        count = PAGE if limit is None else min(PAGE, limit - len(found))
        answer = yield of_json("GET", "/pvs", query | {"limit": count, "cursor": cursor})
        found.extend(_decode.pv(row) for row in answer["pvs"])
        cursor = answer["next"]
        if not cursor or (limit is not None and len(found) >= limit):
            found.total, found.facets, found.near = answer["total"], answer["facets"], answer.get("near", [])
            return found


def iocs(address: str = "", *, lost: bool = False) -> Talk[list[dict[str, Any]]]:
    """The IOCs of the PVs, as the archiver says it: how many PVs of each are connected, since when, restarts, the last
    beacon; those whose addresses contain `address`, and of which PVs are `lost`."""
    query = {"match": address or None, "state": "disconnected" if lost else None}
    return list((yield of_json("GET", "/iocs", query))["iocs"])


def pv(name: str) -> Talk[Pv]:
    """One PV with everything that the archiver knows about it."""
    return _decode.pv((yield of_json("GET", f"/pvs/{quoted(one(name, 'pv'))}")))


def get_many(
    pvs: Names,
    t0: Moment | None = None,
    t1: Moment | None = None,
    *,
    before: bool = False,
    limit: int | None = None,
) -> Talk[ManySamples]:
    """Samples of several PVs, by name; see `get`."""
    wanted = asked(pvs)
    if not (wanted.names or wanted.match):
        return ManySamples()
    query = time_range(t0, t1) | {"before": "true" if before else "false", "limit": limit}
    arrow = query | {"format": "arrow", "columns": "needed"}
    found = _decode.many_samples((yield of_many("/samples", wanted.reading, wanted.names, arrow | wanted.query())))
    # Structures are bytes of pvAccess in Arrow; JSON has their fields.
    structures = [name for name, samples in found.items() if samples.type and "structure" in samples.type]
    if structures:
        answer = yield of_many("/samples", of_json("GET", "").reading, structures, query)
        found |= {one["pv"]: _decode.samples(one) for one in answer["pvs"]}
    missing = [name for name in wanted.names if name not in found]
    if missing:
        raise UnexpectedAnswer(f"the answer says nothing of {', '.join(missing[:5])}")
    return ManySamples((name, found[name]) for name in wanted.in_order(found))


def get_one(
    pv: str,
    t0: Moment | None = None,
    t1: Moment | None = None,
    *,
    before: bool = False,
    limit: int | None = None,
) -> Talk[Samples]:
    """Samples of one PV; see `get`."""
    return (yield from get_many([pv], t0, t1, before=before, limit=limit))[pv]


def table(pv: str, t0: Moment | None = None, t1: Moment | None = None, *, before: bool = False) -> Talk[Any]:
    """Samples as a pyarrow Table, as they were sent; needs pyarrow, and one type in the range."""
    import pyarrow

    query = time_range(t0, t1) | {"before": "true" if before else "false", "format": "arrow"}
    answer = yield Question("GET", f"/pvs/{quoted(one(pv, 'table'))}/samples", as_bytes, query)
    try:
        return pyarrow.ipc.open_stream(answer).read_all()
    except pyarrow.ArrowInvalid as error:
        raise UnexpectedAnswer(f"the stream of {pv} broke off: {error}") from error


def at(pvs: Names, time: Moment | None = None) -> Talk[ValuesAt]:
    """The values that PVs had at a time (now if it is left out): of one name or pattern such as `SR:*:CURRENT`, or of a
    list of them. Names that nobody knows are told by `unknown`."""
    wanted = asked(pvs)
    query = {"time": None if time is None else to_iso(time)} | wanted.query()
    return _decode.values_at((yield of_many("/at", of_json("GET", "").reading, wanted.names, query)))


def diff(
    pvs: Names,
    before: Moment,
    after: Moment | None = None,
    *,
    usual: float | None = None,
    unchanged: bool = False,
) -> Talk[Changes]:
    """Which PVs changed between two times (up to now if `after` is left out), those first that changed most beside what
    they usually do: the standard deviation in `usual` seconds before, a day if that is left out."""
    wanted = asked(pvs)
    times = {"before": to_iso(before), "after": None if after is None else to_iso(after)}
    query = times | {"usual": usual, "unchanged": "true" if unchanged else None} | wanted.query()
    return _decode.changes((yield of_many("/diff", of_json("GET", "").reading, wanted.names, query)))


def names_of(pvs: Iterable[Names]) -> Talk[list[str]]:
    """The names that are meant, where an answer takes no patterns."""
    found: list[str] = []
    for text in flat(pvs):
        found += [pv.name for pv in (yield from search(text))] if is_pattern(text) else [text]
    return list(dict.fromkeys(found))


def bins(
    pv: str, t0: Moment | None = None, t1: Moment | None = None, count: int = 1000, *, align: bool = False
) -> Talk[Bins]:
    """The range cut into `count` equal parts, with minimum, maximum, means, deviation, first and last of each. With
    `align` the parts are at most so many, of a round length, and begin at multiples of it since 1970: the fastest
    answer for a long range."""
    query = time_range(t0, t1) | {"bins": count, "align": "true" if align else "false"}
    return _decode.bins((yield of_json("GET", f"/pvs/{quoted(one(pv, 'bins'))}/bins", query)))


def array_bins(
    pv: str,
    t0: Moment | None = None,
    t1: Moment | None = None,
    count: int = 100,
    *,
    elements: int | None = None,
    align: bool = False,
) -> Talk[ArrayBins]:
    """The range of a PV whose values are arrays cut into `count` equal parts, with minimum, maximum and mean of each
    element. Where arrays are longer than `elements`, 2, 4, 8 … neighbouring ones are together, so that nothing that
    stands out is passed over. With `align` the parts are of a round length, as those of `bins`."""
    query = time_range(t0, t1) | {"bins": count, "elements": elements, "align": "true" if align else "false"}
    path = f"/pvs/{quoted(one(pv, 'array_bins'))}/bins"
    return _decode.array_bins((yield of_json("GET", path, query)))


def when(
    expression: str,
    t0: Moment | None = None,
    t1: Moment | None = None,
    *,
    limit: int | None = None,
    any_units: bool = False,
) -> Talk[Intervals]:
    """When a condition over PVs held: `A > 3 while B = ON for >= 10 s`. The language stands in docs/analysis.md. Where
    it is not `whole`, ask again from `until`; `any_units` allows to add and compare numbers of different units."""
    query = time_range(t0, t1) | {"limit": limit, "units": "any" if any_units else None}
    return _decode.intervals((yield of_json("POST", "/when", query, _expression(expression, "when"))))


def _expression(expression: object, of: str) -> dict[str, str]:
    if not isinstance(expression, str):
        raise TypeError(f"{of}() takes one text, not {type(expression).__name__}")
    return {"expression": expression}


def formula(
    expression: str,
    t0: Moment | None = None,
    t1: Moment | None = None,
    *,
    limit: int | None = None,
    any_units: bool = False,
) -> Talk[FormulaSteps]:
    """What a formula over PVs comes to, `A - 2*B`, at each moment at which it changes; 100,000 of them if no `limit` is
    given."""
    query = time_range(t0, t1) | {"limit": limit, "units": "any" if any_units else None}
    return _decode.formula_steps((yield of_json("POST", "/formula", query, _expression(expression, "formula"))))


def formula_bins(
    expression: str,
    t0: Moment | None = None,
    t1: Moment | None = None,
    count: int = 1000,
    *,
    extremes: bool = False,
    any_units: bool = False,
) -> Talk[FormulaBins]:
    """The mean over time of a formula in `count` equal parts of the range, from summaries where these tell it exactly;
    with `extremes` the least and greatest too, for which every sample is read."""
    query = time_range(t0, t1) | {"bins": count, "units": "any" if any_units else None}
    query["extremes"] = "true" if extremes else None
    return _decode.formula_bins((yield of_json("POST", "/formula", query, _expression(expression, "formula_bins"))))


def stats(
    expression: str,
    t0: Moment | None = None,
    t1: Moment | None = None,
    *,
    percentiles: Iterable[float] = (5, 50, 95),
    above: float | None = None,
    histogram: int = 0,
    any_units: bool = False,
) -> Talk[Statistics]:
    """What a PV or a formula amounts to in a range, each number counting for as long as it held."""
    query = time_range(t0, t1) | {"above": above, "histogram": histogram, "units": "any" if any_units else None}
    query["percentiles"] = ",".join(str(percent) for percent in percentiles)
    return _decode.statistics((yield of_json("POST", "/stats", query, _expression(expression, "stats"))))


def xy(
    x: str,
    y: str,
    t0: Moment | None = None,
    t1: Moment | None = None,
    *,
    by: str = "last",
    step: float | None = None,
    tolerance: float | None = None,
    limit: int | None = None,
    any_units: bool = False,
) -> Talk[Pairs]:
    """What two PVs or formulas were at the same time: `by` is `last` (each sample of x with what y held), `stamp`
    (samples of one stamp), `grid` (what both held each `step` seconds), `mean` (means over each `step`, for long
    ranges) or `pulse`. 100,000 pairs if no `limit` is given; where there are more, ask again from `until`."""
    query = time_range(t0, t1) | {"by": by, "step": step, "tolerance": tolerance, "limit": limit, "format": "arrow"}
    query["units"] = "any" if any_units else None
    body = {"x": _expression(x, "xy")["expression"], "y": _expression(y, "xy")["expression"]}
    return _decode.pairs((yield Question("POST", "/xy", streams, query, body)))


def histogram(
    expression: str,
    t0: Moment | None = None,
    t1: Moment | None = None,
    bins: int | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    edges: Iterable[float] | None = None,
    weight: str = "time",
    any_units: bool = False,
) -> Talk[Histogram]:
    """For how long a PV or a formula lay in each of `bins` parts (50) between the least and the greatest, or between
    `edges`; with `weight="count"` how many samples did, with `both` both."""
    query = time_range(t0, t1) | {"bins": bins, "low": low, "high": high, "weight": weight, "format": "arrow"}
    query["edges"] = None if edges is None else ",".join(repr(float(edge)) for edge in edges)
    query["units"] = "any" if any_units else None
    question = Question("POST", "/histogram", streams, query, _expression(expression, "histogram"))
    return _decode.histogram((yield question))


def fft(
    expression: str,
    t0: Moment | None = None,
    t1: Moment | None = None,
    *,
    window: str = "none",
    output: str = "amplitude",
    detrend: str = "mean",
    tolerance: float | None = None,
    step: float | None = None,
    resample: str | None = None,
    any_units: bool = False,
) -> Talk[Spectrum]:
    """How strong each frequency is, as `amplitude` or `density` by hertz. Samples that are not even are refused unless
    `step` says how many seconds apart they are to be, and `resample` how: `previous`, `linear` or `mean`."""
    query = time_range(t0, t1) | {"window": window, "output": output, "detrend": detrend, "tolerance": tolerance}
    query |= {"step": step, "resample": resample, "units": "any" if any_units else None, "format": "arrow"}
    return _decode.spectrum((yield Question("POST", "/fft", streams, query, _expression(expression, "fft"))))


def view(
    pvs: Names,
    t0: Moment | None = None,
    t1: Moment | None = None,
    bins: int | None = None,
    *,
    width: float | None = None,
    elements: int | None = None,
) -> Talk[View]:
    """Bins of many PVs on common edges in one answer: at most `bins` (1000) of a round width, or bins of `width`
    seconds, as that of an earlier view; with gaps, metadata and the value before, as the page draws them. Arrays are
    only counted, unless `elements` says how many rows a bin of theirs has: one for each element, or for neighbouring
    ones together."""
    wanted = asked(pvs)
    query = time_range(t0, t1) | {"bins": bins, "width": width, "elements": elements, "format": "arrow"}
    query |= wanted.query()
    return _decode.view((yield of_many("/view", streams, wanted.names, query)))


def gaps(pv: str, t0: Moment | None = None, t1: Moment | None = None) -> Talk[list[Gap]]:
    """When, and why, the PV was not recorded."""
    answer = yield of_json("GET", f"/pvs/{quoted(one(pv, 'gaps'))}/gaps", time_range(t0, t1))
    return [_decode.gap(gap) for gap in answer["gaps"]]


def ledger(
    pv: str, t0: Moment | None = None, t1: Moment | None = None, step: timedelta = timedelta(minutes=1)
) -> Talk[list[Account]]:
    """What became of every update, in steps of whole minutes; those of which nothing is known are left out."""
    query = time_range(t0, t1) | {"step": round(step.total_seconds())}
    answer = yield of_json("GET", f"/pvs/{quoted(one(pv, 'ledger'))}/ledger", query)
    return [_decode.account(step) for step in answer["steps"]]


def explain(pv: str, t0: Moment | None = None, t1: Moment | None = None, proof: str = "auto") -> Talk[Explanation]:
    """Why there is no data, or not all. `proof` may be `counter`, where the value rises by one with each update, or
    `pulse`."""
    query = time_range(t0, t1) | {"proof": proof}
    return _decode.explanation((yield of_json("GET", f"/pvs/{quoted(one(pv, 'explain'))}/explain", query)))


def metadata(pv: str, t0: Moment | None = None, t1: Moment | None = None) -> Talk[list[Metadata]]:
    """Units, limits and labels: those in force at t0 first, then each change."""
    answer = yield of_json("GET", f"/pvs/{quoted(one(pv, 'metadata'))}/metadata", time_range(t0, t1))
    return [_decode.metadata(entry) for entry in answer["metadata"]]


def tree(prefix: str = "", *, limit: int | None = None) -> Talk[TreeLevel]:
    """One level of the tree that the names make: `prefix` is nothing, or a branch of the level above. `limit` gives no
    more branches and leaves than so many."""
    pages: list[Any] = []
    left = limit
    after = None
    while True:
        count = PAGE if left is None else min(PAGE, left)
        page = yield of_json("GET", "/tree", {"prefix": prefix or None, "after": after, "limit": count})
        pages.append(page)
        after = page["next"]
        if left is not None:
            left -= len(page["children"])
        if after is None or left == 0:
            return _decode.tree_level(pages)


def upkeep() -> Talk[Upkeep]:
    """How long the samples of which PVs are kept, what goes next, and the last backups; for who may read all PVs and
    operate."""
    return _decode.upkeep((yield of_json("GET", "/upkeep")))


def status() -> Talk[Status]:
    """How the archiver is doing."""
    return _decode.status((yield of_json("GET", "/status")))


def add(*names: Names, period: float | None = None) -> Talk[dict[str, str]]:
    """Archives PVs, `ca://NAME` or `pva://NAME`, one by one or in lists, every change or once a `period` in seconds.
    Gives what became of each: added, already_archived, changed or refused."""
    how: dict[str, object] = {} if period is None else {"method": "scan", "period": period}
    answer = yield of_json("POST", "/pvs", body={"pvs": [{"name": name} | how for name in flat(names)]})
    return {entry["name"]: entry["status"] for entry in answer["pvs"]}


def pause(pv: str) -> Talk[str]:
    """Stops recording; the data stays."""
    return str((yield of_json("POST", f"/pvs/{quoted(one(pv, 'pause'))}/pause"))["status"])


def resume(pv: str) -> Talk[str]:
    """Records again."""
    return str((yield of_json("POST", f"/pvs/{quoted(one(pv, 'resume'))}/resume"))["status"])


def remove(pv: str, *, delete_data: bool = False) -> Talk[str]:
    """Forgets the PV; its data stays, hidden until the PV is added again, unless it is to be deleted."""
    query = {"data": "delete" if delete_data else "keep"}
    return str((yield of_json("DELETE", f"/pvs/{quoted(one(pv, 'remove'))}", query))["status"])


def undoable() -> Talk[list[Order]]:
    """The orders about PVs that can be taken back, the newest first."""
    answer = yield of_json("GET", "/undo")
    return [_decode.order(row, row["pvs"]) for row in answer["orders"]]


def undo_plan(number: int) -> Talk[Undo]:
    """What taking back the order of that number would do; it changes nothing."""
    return _decode.undo((yield of_json("GET", f"/undo/{number:d}")))


def undo(number: int) -> Talk[Undo]:
    """Takes back the order of that number, for those of its PVs that were not changed again since: they get their
    settings again, or come back into the archive with their samples. Orders can be taken back for a day."""
    return _decode.undo((yield of_json("POST", f"/undo/{number:d}")))


def notes(
    words: str = "", *, pv: str | None = None, t0: Moment | None = None, t1: Moment | None = None
) -> Talk[list[Note]]:
    """Notes, the newest first: those that have all of these words in any order, about this PV, about a time in the
    range."""
    return [_decode.note(row) for row in (yield from _memos("notes", words, {"pv": pv} | time_range(t0, t1)))]


def note(text: str, *pvs: Names, t0: Moment | None = None, t1: Moment | None = None) -> Talk[Note]:
    """Writes a note about PVs and about the moment `t0`, or the time from there until `t1`."""
    body = {"text": text, "pvs": flat(pvs)} | time_range(t0, t1)
    return _decode.note((yield of_json("POST", "/notes", body=body))["notes"][0])


def remove_note(number: int) -> Talk[Note]:
    """Takes a note away, which it gives."""
    return _decode.note((yield of_json("DELETE", f"/notes/{number:d}")))


def views(words: str = "", *, folder: str | None = None) -> Talk[list[SavedView]]:
    """Views that were saved, the newest first: those that have all of these words in any order, in this folder."""
    return [_decode.saved_view(row) for row in (yield from _memos("views", words, {"folder": folder}))]


def saved_view(name: str) -> Talk[SavedView]:
    """The view that was saved under a name."""
    found = (yield of_json("GET", "/views", {"name": name}))["views"]
    if not found:
        raise UnexpectedAnswer(f"there is no view {name!r}; views() lists them")
    return _decode.saved_view(found[0])


def save_view(name: str, query: str, text: str = "", pvs: Iterable[Names] = ()) -> Talk[SavedView]:
    """Saves what a page shows, the part of its address behind the `?`, under a name behind its folders. A view takes
    the place of the one that has its name."""
    body = {"name": name, "query": query, "text": text, "pvs": flat(pvs)}
    return _decode.saved_view((yield of_json("POST", "/views", body=body))["views"][0])


def remove_view(name: str) -> Talk[SavedView]:
    """Takes away the view of a name, which it gives."""
    view = yield from saved_view(name)
    return _decode.saved_view((yield of_json("DELETE", f"/views/{view.number:d}")))


def _memos(kind: str, words: str, query: dict[str, object]) -> Talk[list[Any]]:
    found: list[Any] = []
    before = None
    while True:
        asked = {"match": words or None, "limit": PAGE, "before": before} | query
        page = (yield of_json("GET", f"/{kind}", asked))[kind]
        found += page
        if len(page) < PAGE:
            return found
        before = page[-1]["number"]


def live(pvs: list[str], since: Moment | None) -> Question[Any]:
    """The question whose answer goes on for ever."""
    return of_json("GET", "/live", {"pv": pvs, "from": None if since is None else to_iso(since)})


class LiveLines:
    """The lines of what is live, put together."""

    def __init__(self) -> None:
        self.kind = ""

    def update(self, line: str) -> Update | None:
        """What one more line completes."""
        name, _, text = line.partition(": ")
        if name == "event":
            self.kind = text
        if name != "data" or self.kind not in ("samples", "state"):
            return None
        data = json.loads(text)
        if self.kind == "state":
            return Update(data["pv"], None, data["state"])
        return Update(data["pv"], _decode.samples({"pv": data["pv"], "chunks": [data]}), None)


def time_range(t0: Moment | None, t1: Moment | None) -> dict[str, object]:
    """A range as parameters. Timedeltas of both ends count from the same now."""
    now = datetime.now(timezone.utc)
    return {"from": None if t0 is None else to_iso(t0, now), "to": None if t1 is None else to_iso(t1, now)}


_SECOND = np.timedelta64(1, "s")


def seconds(length: timedelta | np.timedelta64 | float) -> float:
    """A length of time as seconds."""
    if isinstance(length, timedelta):
        return length.total_seconds()
    return float(length / _SECOND) if isinstance(length, np.timedelta64) else float(length)


def aligned(
    pvs: Names,
    t0: Moment | None = None,
    t1: Moment | None = None,
    *,
    period: timedelta | np.timedelta64 | float | None = None,
    times_of: str | None = None,
    method: str = "previous",
    tolerance: timedelta | np.timedelta64 | float | None = None,
) -> Talk[Aligned]:
    """Several PVs, by name or by glob, on the same times: every `period` (seconds, or a timedelta) since t0, or at the
    times of the samples of one PV, `times_of`. `method` is `previous` (the value in force), `linear` (between two
    numbers), `nearest`, or `pulse` (the sample with the same pulse id, with `times_of`). Beyond `tolerance` there is no
    value."""
    if times_of is not None and not isinstance(times_of, str):
        raise TypeError(f"times_of is the name of one PV, whose times all take, not a {type(times_of).__name__}")
    ends = time_range(t0, t1)
    query = ends | {
        "period": None if period is None else seconds(period),
        "times_of": times_of,
        "method": method,
        "tolerance": None if tolerance is None else seconds(tolerance),
        "severity": "true",
        "format": "arrow",
    }
    # What the numbers mean stands with samples alone: of these the heads are asked for, which also tells what fits.
    wanted = asked(pvs)
    heads = ends | wanted.query() | {"limit": 0, "format": "arrow", "columns": "needed"}
    found = _decode.many_samples((yield of_many("/samples", wanted.reading, wanted.names, heads)))
    names = wanted.in_order(found)
    if not names and wanted.match:
        return _decode.aligned_nothing()
    answer = yield of_many("/aligned", streams, names, query)
    return _decode.aligned({name: found[name].metadata for name in names}, answer)
