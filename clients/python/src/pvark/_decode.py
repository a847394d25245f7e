"""Answers in JSON → numpy. Pure: nothing here talks to anybody."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrow import Column, Stream
from ._columns import NOTHING, column, joined, objects, table_of
from ._errors import UnexpectedAnswer
from ._models import (
    Account,
    Aligned,
    ArrayBins,
    Backup,
    Bins,
    Changes,
    Explanation,
    FormulaBins,
    FormulaSteps,
    Gap,
    Histogram,
    Intervals,
    Kept,
    Metadata,
    Note,
    Order,
    Pairs,
    Pv,
    Reason,
    Samples,
    SavedView,
    Share,
    Spectrum,
    Statistics,
    Status,
    TreeLevel,
    Undo,
    Upkeep,
    ValuesAt,
    View,
)
from ._times import TimeArray, from_iso, from_parts, maybe_from_iso


def samples(answer: Mapping[str, Any]) -> Samples:
    """The answer of `/pvs/{pv}/samples`."""
    chunks = [chunk for chunk in answer["chunks"] if chunk["seconds"]]
    types = list(dict.fromkeys(chunk["type"] for chunk in chunks))
    columns = [column(chunk["type"], chunk["values"]) for chunk in chunks]
    if len(types) > 1:
        columns = [objects(list(values)) for values in columns]

    def all_of(parts: list[npt.NDArray[Any]], dtype: Any) -> npt.NDArray[Any]:
        return joined(parts) if parts else np.array([], dtype=dtype)

    def optional(name: str, chunk: Mapping[str, Any], missing: Any) -> list[Any]:
        return list(chunk.get(name) or [missing] * len(chunk["seconds"]))

    return Samples(
        pv=answer["pv"],
        type=", ".join(types) or None,
        times=all_of([from_parts(chunk["seconds"], chunk["nanos"]) for chunk in chunks], "datetime64[ns]"),
        values=all_of(columns, float),
        severity=all_of([np.array(chunk["severity"], np.uint8) for chunk in chunks], np.uint8),
        status=all_of([np.array(chunk["status"], np.uint16) for chunk in chunks], np.uint16),
        message=all_of([objects(optional("message", chunk, None)) for chunk in chunks], object),
        pulse=all_of([column("u64", optional("pulse", chunk, 0)) for chunk in chunks], np.uint64),
        metadata=metadata(answer.get("metadata")),
        truncated=bool(answer.get("truncated", False)),
        damage=tuple(answer.get("damage", ())),
    )


def many_samples(found: Sequence[Stream]) -> dict[str, Samples]:
    """The streams of `/samples`: one after another, several of a PV that changes its type."""
    parts: dict[str, list[Stream]] = {}
    for stream in found:
        parts.setdefault(_fact(stream, "pv"), []).append(stream)
    return {pv: _samples_of(pv, streams) for pv, streams in parts.items()}


def _samples_of(pv: str, streams: list[Stream]) -> Samples:
    told = [stream.facts for stream in streams]
    full = [stream for stream in streams if len(stream)]
    types = list(dict.fromkeys(_fact(stream, "type") for stream in full))

    def all_of(name: str, dtype: Any) -> npt.NDArray[Any]:
        columns = [stream.columns[name].finished() if name in stream.columns else None for stream in full]
        if all(column is None for column in columns):
            return np.zeros(sum(map(len, full)), dtype)
        pairs = zip(columns, full, strict=True)
        rows = [np.zeros(len(stream), dtype) if column is None else column for column, stream in pairs]
        if name == "value" and len(types) > 1:
            rows = [objects(list(column)) for column in rows]
        return joined(rows)

    try:
        noted = json.loads(told[-1].get("metadata", "null"))
        damage = json.loads(told[-1].get("damage", "[]"))
    except ValueError as error:
        raise UnexpectedAnswer(f"what the answer says of {pv} is no JSON: {error}") from error
    no_messages = all("message" not in stream.columns for stream in full)
    rows = sum(map(len, full))
    return Samples(
        pv=pv,
        type=", ".join(types) or None,
        times=all_of("time", "datetime64[ns]"),
        values=all_of("value", float),
        severity=all_of("severity", np.uint8),
        status=all_of("status", np.uint16),
        message=np.broadcast_to(NOTHING, rows) if no_messages else _none_for_zero(all_of("message", object)),
        pulse=all_of("pulse", np.uint64),
        metadata=metadata(noted),
        truncated=told[-1].get("truncated") == "true",
        damage=tuple(damage),
    )


def _none_for_zero(messages: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    messages[[not isinstance(message, str) for message in messages]] = None
    return messages


def _fact(stream: Stream, name: str) -> str:
    fact = stream.facts.get(name)
    if fact is None:
        raise UnexpectedAnswer(f"a stream does not say its {name}")
    return fact


def values_at(answer: Mapping[str, Any]) -> ValuesAt:
    """The answer of `/at`."""
    rows = answer["pvs"]
    return ValuesAt(
        time=from_iso(answer["time"]),
        pvs=[row["pv"] for row in rows],
        times=np.array([(row["time"] or "NaT").removesuffix("Z") for row in rows], "datetime64[ns]"),
        values=objects([column(row["type"], [row["value"]])[0] if row["time"] else None for row in rows]),
        types=[row.get("type") for row in rows],
        severity=np.array([row.get("severity", 3) for row in rows], np.uint8),
        status=np.array([row.get("status", 0) for row in rows], np.uint16),
        unknown=tuple(answer["unknown"]),
        unanswered=_unanswered(answer),
    )


def _unanswered(answer: Mapping[str, Any]) -> dict[str, str]:
    return {row["pv"]: row["why"] for row in answer.get("unanswered", [])}


def aligned(noted: Mapping[str, Metadata], found: Sequence[Stream]) -> Aligned:
    """The stream of `/aligned`: a column for each PV, and one for its severity. What they mean is `noted`."""
    if len(found) != 1 or "time" not in found[0].columns:
        raise UnexpectedAnswer("the answer is not one table")
    columns, names = found[0].columns, list(noted)
    missing = [name for name in names if name not in columns or f"{name}.severity" not in columns]
    if missing:
        raise UnexpectedAnswer(f"the answer says nothing of {', '.join(missing[:5])}")
    return Aligned(
        times=columns["time"].finished(),
        values={name: _with_none(columns[name]) for name in names},
        severity={name: _no_value_is_invalid(columns[f"{name}.severity"]) for name in names},
        metadata=dict(noted),
    )


def aligned_nothing() -> Aligned:
    """What no PV has on the same times."""
    return Aligned(np.array([], "datetime64[ns]"), {}, {}, {})


def _with_none(column: Column) -> npt.NDArray[Any]:
    """NaN where there is no number, None where there is nothing else."""
    rows, is_null = column.finished(), column.is_null
    if is_null is None or not is_null.any():
        return rows
    if rows.dtype.kind == "f":
        rows[is_null] = np.nan
        return rows
    rows = rows.astype(object)
    rows[is_null] = None
    return rows


def _no_value_is_invalid(column: Column) -> npt.NDArray[np.uint8]:
    rows = column.finished()
    if column.is_null is not None:
        rows[column.is_null] = 3
    return rows


def bins(answer: Mapping[str, Any]) -> Bins:
    """The answer of `/pvs/{pv}/bins`."""
    if "bins" not in answer:
        raise UnexpectedAnswer(f"{answer['pv']} holds {answer.get('type')}: array_bins() has its bins")
    given = answer["bins"]
    return Bins(
        pv=answer["pv"],
        type=answer.get("type"),
        start=seconds(given["start"]),
        end=seconds(given["end"]),
        count=np.array(given["count"], np.int64),
        min=floats(given["min"]),
        max=floats(given["max"]),
        mean=floats(given["mean"]),
        std=floats(given["std"]),
        time_weighted_mean=floats(given["time_weighted_mean"]),
        covered=floats(given["covered"]),
        first=floats(given["first"]),
        last=floats(given["last"]),
        severity=np.array([number or 0 for number in given["severity"]], np.uint8),
        nan=np.array(given["nan"], np.int64),
        invalid=np.array(given["invalid"], np.int64),
        metadata=metadata(answer.get("metadata")),
        damage=tuple(answer.get("damage", ())),
    )


def array_bins(answer: Mapping[str, Any]) -> ArrayBins:
    """The answer of `/pvs/{pv}/bins` of arrays: all bins with as many elements in a row as the coarsest has."""
    if "array_bins" not in answer:
        raise UnexpectedAnswer(f"{answer['pv']} holds {answer.get('type')}, no arrays: bins() has its bins")
    given = answer["array_bins"]
    each = max([row["elements_per_row"] for row in given], default=1)
    length = max([row["length"] for row in given], default=0)
    rows = -(-length // each)
    count = np.zeros((len(given), rows), np.int64)
    numbers = {name: np.full((len(given), rows), np.nan) for name in ("min", "max", "mean")}
    for index, row in enumerate(given):
        if not row["count"]:
            continue
        starts = np.arange(0, len(row["count"]), each // row["elements_per_row"])
        counts = np.array(row["count"], np.int64)
        together = np.add.reduceat(counts, starts)
        count[index, : len(starts)] = together
        numbers["min"][index, : len(starts)] = np.fmin.reduceat(floats(row["min"]), starts)
        numbers["max"][index, : len(starts)] = np.fmax.reduceat(floats(row["max"]), starts)
        shares = np.repeat(together, np.diff([*starts, len(counts)]))
        weights = np.divide(counts, shares, out=np.zeros(len(counts)), where=shares > 0)
        sums = np.add.reduceat(np.where(counts > 0, floats(row["mean"]), 0.0) * weights, starts)
        numbers["mean"][index, : len(starts)] = np.where(together > 0, sums, np.nan)
    return ArrayBins(
        pv=answer["pv"],
        type=answer.get("type"),
        start=seconds([row["start"] for row in given]),
        end=seconds([row["end"] for row in given]),
        arrays=np.array([row["arrays"] for row in given], np.int64),
        severity=np.array([row["severity"] for row in given], np.uint8),
        invalid=np.array([row["invalid"] for row in given], np.int64),
        length=np.array([row["length"] for row in given], np.int64),
        element=np.arange(rows, dtype=np.int64) * each,
        elements_per_row=each,
        count=count,
        **numbers,
        metadata=metadata(answer.get("metadata")),
        damage=tuple(answer.get("damage", ())),
    )


def seconds(values: Sequence[float]) -> TimeArray:
    """Times given as seconds with a fraction: good to a microsecond."""
    micros = np.round(np.array(values, np.float64) * 1e6).astype(np.int64)
    return (micros * 1000).astype("datetime64[ns]")


def floats(values: Sequence[Any]) -> npt.NDArray[np.float64]:
    """Numbers with null for none."""
    return np.array([np.nan if value is None else float(value) for value in values], np.float64)


def metadata(answer: Mapping[str, Any] | None) -> Metadata:
    """What describes the numbers; unknown fields of later versions are left out."""
    if answer is None:
        return Metadata()

    def limits(name: str) -> tuple[float, float] | None:
        pair = answer.get(name)
        if pair is None:
            return None
        low, high = floats([pair["low"], pair["high"]])
        return float(low), float(high)

    return Metadata(
        type=answer.get("type"),
        element_count=answer.get("element_count"),
        units=answer.get("units"),
        precision=answer.get("precision"),
        display=limits("display"),
        control=limits("control"),
        warning=limits("warning"),
        alarm=limits("alarm"),
        labels=tuple(answer.get("labels") or ()),
        description=answer.get("description"),
        server=answer.get("server"),
        since=maybe_from_iso(answer.get("since")),
    )


def intervals(answer: Mapping[str, Any]) -> Intervals:
    """The answer of `/when`."""
    found, tally = answer["found"], answer["tally"]

    def times(name: str) -> TimeArray:
        return np.array([from_iso(one[name]) for one in found], dtype="datetime64[ns]")

    return Intervals(
        expression=answer["expression"],
        start=times("from"),
        end=times("to"),
        seconds=np.array([one["seconds"] for one in found], dtype=np.float64),
        begins=tuple(one["begins"] for one in found),
        ends=tuple(one["ends"] for one in found),
        unknown=tally["unknown"],
        read=tally["read"],
        until=from_iso(tally["until"]),
        whole=tally["whole"],
        damage=tuple(tally["damage"]),
    )


def _numbers(rows: list[Any], name: str) -> npt.NDArray[np.float64]:
    """Numbers of rows; null, which means that nothing was known, as NaN, infinities from their names."""
    told = [row[name] for row in rows]
    return np.array([np.nan if number is None else float(number) for number in told], dtype=np.float64)


def _number(number: float | str | None) -> float:
    return float("nan") if number is None else float(number)


def formula_steps(answer: Mapping[str, Any]) -> FormulaSteps:
    """The answer of `/formula` without bins."""
    steps = answer["steps"]
    times = np.array([from_iso(step["time"]) for step in steps], dtype="datetime64[ns]")
    values: npt.NDArray[Any]
    if any(isinstance(step["value"], list) for step in steps):
        rows = [None if step["value"] is None else floats(step["value"]) for step in steps]
        known = [row for row in rows if row is not None]
        values = table_of(known) if len(known) == len(rows) else objects(rows)
    else:
        values = _numbers(steps, "value")
    until = answer.get("until")
    unequal = answer.get("unequal", {"count": 0})["count"]
    return FormulaSteps(
        answer["expression"], answer["units"], times, values, unequal, from_iso(until) if until else None
    )


def formula_bins(answer: Mapping[str, Any]) -> FormulaBins:
    """The answer of `/formula` with bins."""
    rows = answer["bins"]

    def times(name: str) -> TimeArray:
        return np.array([from_iso(row[name]) for row in rows], dtype="datetime64[ns]")

    has_extremes = bool(rows) and "min" in rows[0]
    return FormulaBins(
        expression=answer["expression"],
        units=answer["units"],
        start=times("start"),
        end=times("end"),
        mean=_numbers(rows, "mean"),
        min=_numbers(rows, "min") if has_extremes else None,
        max=_numbers(rows, "max") if has_extremes else None,
        covered=_numbers(rows, "covered"),
        made_of=tuple(row["made_of"] for row in rows),
    )


def statistics(answer: Mapping[str, Any]) -> Statistics:
    """The answer of `/stats`."""
    return Statistics(
        expression=answer["expression"],
        units=answer["units"],
        covered=answer["covered"],
        unknown=answer["unknown"],
        mean=_number(answer["mean"]),
        std=_number(answer["std"]),
        min=_number(answer["min"]),
        max=_number(answer["max"]),
        percentiles={one["percent"]: _number(one["value"]) for one in answer["percentiles"]},
        percentiles_within=_number(answer["percentiles_within"]),
        above=answer["above"],
        histogram=tuple((part["low"], part["high"], part["seconds"]) for part in answer["histogram"]),
        states={_number(state["value"]): state["seconds"] for state in answer["states"]},
        read=answer["read"],
        damage=tuple(answer["damage"]),
    )


def _table(found: list[Stream]) -> tuple[dict[str, str], dict[str, npt.NDArray[Any]]]:
    """The facts and the columns of an answer that is one stream; numbers that are not there are NaN."""
    if len(found) != 1:
        raise UnexpectedAnswer(f"one stream was expected, not {len(found)}")
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, own in found[0].columns.items():
        rows = own.finished()
        if own.is_null is not None and rows.dtype.kind == "f":
            rows = np.where(own.is_null, np.nan, rows)
        columns[name] = rows
    return found[0].facts, columns


def _float_of(facts: Mapping[str, str], name: str) -> float:
    return float(facts.get(name, "nan"))


def _damage_of(facts: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(json.loads(facts.get("damage", "[]")))


def pairs(found: list[Stream]) -> Pairs:
    """The answer of `/xy` in Arrow."""
    facts, columns = _table(found)
    units = json.loads(facts["units"])
    return Pairs(
        x_is=facts["x"],
        y_is=facts["y"],
        x_units=units["x"],
        y_units=units["y"],
        times=columns["time"],
        x=columns["x"],
        y=columns["y"],
        unpaired=int(facts["unpaired"]),
        until=from_iso(facts["until"]) if "until" in facts else None,
        correlation=_float_of(facts, "correlation"),
        slope=_float_of(facts, "slope"),
        intercept=_float_of(facts, "intercept"),
        made_of=facts["made_of"],
        read=int(facts["read"]),
        damage=_damage_of(facts),
    )


def histogram(found: list[Stream]) -> Histogram:
    """The answer of `/histogram` in Arrow."""
    facts, columns = _table(found)
    places = ("below", "above", "infinite", "minus_infinite", "nan", "gaps", "before")
    told = {place: json.loads(facts[place]) for place in places}
    low, high = columns["low"], columns["high"]
    return Histogram(
        expression=facts["expression"],
        units=facts.get("units"),
        edges=np.concatenate([low, high[-1:]]),
        seconds=None if facts["weight"] == "count" else columns["seconds"],
        count=None if facts["weight"] == "time" else columns["count"].astype(np.int64),
        beside={place: Share(share["seconds"], share.get("count")) for place, share in told.items()},
        made_of=facts["made_of"],
        by_summaries=float(facts["by_summaries"]),
        read=int(facts["read"]),
        damage=_damage_of(facts),
    )


def spectrum(found: list[Stream]) -> Spectrum:
    """The answer of `/fft` in Arrow."""
    facts, columns = _table(found)
    return Spectrum(
        expression=facts["expression"],
        output=facts["output"],
        units=facts.get("output_units"),
        frequencies=columns["frequency"],
        strengths=columns[facts["output"]],
        start=from_iso(facts["from"]),
        end=from_iso(facts["to"]),
        points=int(facts["points"]),
        step=float(facts["step"]),
        mean=_float_of(facts, "mean"),
        resampled=facts.get("resampled"),
        unevenness=float(facts["unevenness"]),
        made_of=facts["made_of"],
        read=int(facts["read"]),
        damage=_damage_of(facts),
    )


def view(found: list[Stream]) -> View:
    """The answer of `/view` in Arrow."""
    facts, columns = _table(found)
    told = json.loads(facts["pvs"])
    width = facts.get("width", "null")
    return View(
        pvs=tuple(one["pv"] for one in told),
        pv=columns.pop("pv").astype(np.int64),
        columns=columns,
        facts=tuple(told),
        start=from_iso(facts["from"]),
        end=from_iso(facts["to"]),
        width=None if width == "null" else float(width),
        until=from_iso(facts["until"]),
    )


def changes(answer: Mapping[str, Any]) -> Changes:
    """The answer of `/diff`."""
    rows = answer["pvs"]

    def values(end: str) -> npt.NDArray[np.object_]:
        column = np.empty(len(rows), dtype=object)
        column[:] = [None if row[end] is None else row[end]["value"] for row in rows]
        return column

    scores = [np.inf if row["score"] is None else row["score"] for row in rows]
    return Changes(
        before=from_iso(answer["before"]),
        after=from_iso(answer["after"]),
        pvs=[row["pv"] for row in rows],
        values_before=values("before"),
        values_after=values("after"),
        change=_numbers(rows, "change"),
        spread=_numbers(rows, "spread"),
        score=np.array(scores, dtype=np.float64),
        unknown=tuple(answer["unknown"]),
        unanswered=_unanswered(answer),
    )


def order(answer: Mapping[str, Any], pvs: int) -> Order:
    """One order of `/undo`."""
    texts = {name: answer[name] for name in ("number", "by", "action", "detail", "right")}
    return Order(**texts, time=from_iso(answer["time"]), until=from_iso(answer["until"]), pvs=pvs)


def undo(answer: Mapping[str, Any]) -> Undo:
    """The answer of `/undo/{number}`."""
    rows = answer["pvs"]
    done = {row["name"]: row["status"] for row in rows if row["status"] != "refused"}
    refused = {row["name"]: row["message"] for row in rows if row["status"] == "refused"}
    return Undo(order(answer, len(rows)), done, refused)


def _written(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: answer[name] for name in ("number", "text", "by", "origin")},
        "pvs": tuple(answer["pvs"]),
        "start": maybe_from_iso(answer["from"]),
        "end": maybe_from_iso(answer["to"]),
        "time": from_iso(answer["time"]),
    }


def note(answer: Mapping[str, Any]) -> Note:
    """One note of `/notes`."""
    return Note(**_written(answer))


def saved_view(answer: Mapping[str, Any]) -> SavedView:
    """One view of `/views`."""
    return SavedView(**_written(answer), **{name: answer[name] for name in ("name", "query", "link")})


def gap(answer: Mapping[str, Any]) -> Gap:
    """One gap of `/pvs/{pv}/gaps`."""
    end = maybe_from_iso(answer["to"])
    return Gap(from_iso(answer["from"]), end, answer["cause"], answer["lost"], answer["scope"])


def account(answer: Mapping[str, Any]) -> Account:
    """One step of `/pvs/{pv}/ledger`, or a sum of them."""
    names = ("received", "stored", "skipped", "waiting", "suspected_seconds", "adds_up")
    return Account(
        **{name: answer[name] for name in names},
        start=maybe_from_iso(answer.get("from")),
        lost=dict(answer["lost"]),
        stamps=dict(answer["stamps"]),
        covered_seconds=answer.get("covered_seconds", 0.0),
        origin=answer.get("origin", "counted"),
    )


def explanation(answer: Mapping[str, Any]) -> Explanation:
    """The answer of `/pvs/{pv}/explain`."""

    def reason(one: Mapping[str, Any]) -> Reason:
        return Reason(one["kind"], from_iso(one["from"]), from_iso(one["to"]), one["lost"], one["text"])

    return Explanation(
        pv=answer["pv"],
        complete=answer["complete"],
        text=answer["text"],
        samples=answer["samples"],
        reasons=tuple(reason(one) for one in answer["reasons"]),
        account=account(answer["account"]),
        proof=answer["proof"],
    )


def pv(answer: Mapping[str, Any]) -> Pv:
    """One PV of `/pvs`, or all that `/pvs/{pv}` says."""
    names = ("name", "protocol", "method", "period", "state", "type", "units")
    fields = {name: answer.get(name) for name in names}
    return Pv(**fields, since=maybe_from_iso(answer.get("since")), details=dict(answer))  # type: ignore[arg-type]


def tree_level(pages: Sequence[Mapping[str, Any]]) -> TreeLevel:
    """The answers of `/tree` with the children of one level, in their order."""
    children = [child for page in pages for child in page["children"]]
    last = pages[-1]
    return TreeLevel(
        **{name: last[name] for name in ("prefix", "separators", "names")},
        branches={child["prefix"]: child["names"] for child in children if "prefix" in child},
        leaves=tuple(child["name"] for child in children if "name" in child),
        whole=last["next"] is None,
    )


def upkeep(answer: Mapping[str, Any]) -> Upkeep:
    """The answer of `/upkeep`."""

    def kept(row: Mapping[str, Any]) -> Kept:
        following, seconds = row["next"] or {}, row["keep_seconds"]
        return Kept(
            **{name: row[name] for name in ("of", "rule", "pvs")},
            policies=tuple(row["policies"]),
            keep=None if seconds is None else timedelta(seconds=seconds),
            next_week=following.get("week"),
            next_time=maybe_from_iso(following.get("at")),
        )

    backups = [Backup(from_iso(row["at"]), row["to"], row["bytes"], row["whole"]) for row in answer["backups"]]
    return Upkeep(tuple(kept(row) for row in answer["retention"]), tuple(backups))


def status(answer: Mapping[str, Any]) -> Status:
    """The answer of `/status`."""
    try:
        return Status(
            version=answer["version"],
            started=from_iso(answer["started"]),
            now=from_iso(answer["now"]),
            appended=answer["durable"]["appended"],
            durable=answer["durable"]["durable"],
            pvs=answer["pvs"],
            samples=answer["samples"],
            store=answer["store"],
            problems=answer["problems"],
            # An older archiver says nothing of it.
            zone=answer.get("zone"),
        )
    except KeyError as error:
        raise UnexpectedAnswer(f"the status of this archiver has no {error}") from error
