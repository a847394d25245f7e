"""Answers in JSON → numpy. Pure: nothing here talks to anybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import UnexpectedAnswer
from ._models import Account, Bins, Explanation, Gap, Metadata, Pv, Reason, Samples, Status
from ._times import TimeArray, from_iso, from_parts, maybe_from_iso

DTYPES: dict[str, type[np.generic]] = {
    "bool": np.bool_,
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "u16": np.uint16,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "f32": np.float32,
    "f64": np.float64,
    "enum": np.int32,
}


def column(type_name: str, values: Sequence[Any]) -> npt.NDArray[Any]:
    """The values of one type. Numbers too large for JSON come as texts, and so do NaN and the infinities."""
    if type_name.endswith("[]"):
        return objects([column(type_name[:-2], value) for value in values])
    dtype = DTYPES.get(type_name)
    if dtype is None:
        return objects(values)
    if dtype in (np.int64, np.uint64):
        values = [int(value) for value in values]
    elif dtype in (np.float32, np.float64):
        values = [float(value) for value in values]
    return np.array(values, dtype=dtype)


def objects(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    """A column of anything, one object a row even if all rows are arrays of equal length."""
    array = np.empty(len(values), dtype=object)
    for index, value in enumerate(values):
        array[index] = value
    return array


def samples(answer: Mapping[str, Any]) -> Samples:
    """The answer of `/pvs/{pv}/samples`."""
    chunks = [chunk for chunk in answer["chunks"] if chunk["seconds"]]
    types = list(dict.fromkeys(chunk["type"] for chunk in chunks))
    columns = [column(chunk["type"], chunk["values"]) for chunk in chunks]
    if len(types) > 1:
        columns = [objects(list(values)) for values in columns]

    def joined(parts: list[npt.NDArray[Any]], dtype: Any) -> npt.NDArray[Any]:
        return np.concatenate(parts) if parts else np.array([], dtype=dtype)

    def optional(name: str, chunk: Mapping[str, Any], missing: Any) -> list[Any]:
        return list(chunk.get(name) or [missing] * len(chunk["seconds"]))

    return Samples(
        pv=answer["pv"],
        type=", ".join(types) or None,
        times=joined([from_parts(chunk["seconds"], chunk["nanos"]) for chunk in chunks], "datetime64[ns]"),
        values=joined(columns, float),
        severity=joined([np.array(chunk["severity"], np.uint8) for chunk in chunks], np.uint8),
        status=joined([np.array(chunk["status"], np.uint16) for chunk in chunks], np.uint16),
        message=joined([objects(optional("message", chunk, None)) for chunk in chunks], object),
        pulse=joined([column("u64", optional("pulse", chunk, 0)) for chunk in chunks], np.uint64),
        metadata=metadata(answer.get("metadata")),
        truncated=bool(answer.get("truncated", False)),
        damage=tuple(answer.get("damage", ())),
    )


def bins(answer: Mapping[str, Any]) -> Bins:
    """The answer of `/pvs/{pv}/bins`."""
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
        )
    except KeyError as error:
        raise UnexpectedAnswer(f"the status of this archiver has no {error}") from error
