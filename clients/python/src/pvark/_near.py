"""When nobody has a name: which names of the archive are like it, so that the exception can say so."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from heapq import nlargest
from typing import TypeVar

from ._asking import Talk, of_json
from ._errors import PvarkError, UnknownPv

T = TypeVar("T")

CANDIDATES = 1000
"""So many names of the archive are compared at most, at each of two looks."""

TOLD = 3
LIKENESS = 0.6


def advised(talk: Talk[T]) -> Talk[T]:
    """The same talk, whose UnknownPv names PVs that may be meant."""
    try:
        return (yield from talk)
    except UnknownPv as error:
        better = yield from advice(error)
        raise better from None


def advice(error: UnknownPv) -> Talk[UnknownPv]:
    """The exception with near names for its hint, or as it was if there are none."""
    unknown = _unknown(error.message)
    near: dict[str, None] = {}
    try:
        for name in unknown:
            near |= dict.fromkeys((yield from _near(name)))
    except PvarkError:
        pass  # Of two failures the first one is told.
    if not near or any(name in (error.hint or "") for name in near):
        return error
    return UnknownPv(error.http_status, error.code, error.message, f"did you mean {' or '.join(near)}?")


def _unknown(message: str) -> list[str]:
    """The first names that the archiver says it does not have."""
    if not message.startswith("no PV"):
        return []
    return re.findall(r'"((?:[^"\\]|\\.)+)"', message)[:TOLD]


def _near(name: str) -> Talk[list[str]]:
    for match in (_one_part_wrong(name), None):
        rows = (yield of_json("GET", "/pvs", {"match": match, "limit": CANDIDATES}))["pvs"]
        found = _like(name, [row["name"] for row in rows])
        if found:
            return found
    return []


def _one_part_wrong(name: str) -> str:
    """Names that differ in one part between separators: one of those is what is mistyped most of the time."""
    parts = re.split(r"([:.\-_/{}]+)", name)
    texts = [re.escape(part) for part in parts]
    ways = [
        "".join(".*" if at == wrong else text for at, text in enumerate(texts)) for wrong in range(0, len(texts), 2)
    ]
    return f"~^(?:{'|'.join(ways)})$"


def _like(name: str, names: list[str]) -> list[str]:
    """The names most like it, the best first; case is no difference."""
    compared = SequenceMatcher(b=name.lower())
    likeness: list[tuple[float, str]] = []
    for candidate in names:
        compared.set_seq1(candidate.lower())
        if compared.real_quick_ratio() >= LIKENESS and compared.quick_ratio() >= LIKENESS:
            likeness.append((compared.ratio(), candidate))
    return [candidate for ratio, candidate in nlargest(TOLD, likeness) if ratio >= LIKENESS]
