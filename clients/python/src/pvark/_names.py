"""Which PVs are meant: callers give a name, a pattern, or a list of both, wherever several PVs can be answered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ._arrow import Stream, streams
from ._asking import Reading

Names: TypeAlias = str | Iterable[str]
"""A name, a glob (`LAB:*`, `LAB:T?`), a regular expression after `~`, or several of them."""


@dataclass(frozen=True)
class Asked:
    """Names as they were given, each once, and one pattern for all those that are to be found."""

    names: list[str]
    match: str | None

    def query(self) -> dict[str, object]:
        """The pattern as a parameter."""
        return {"match": self.match}

    def reading(self) -> Reading[list[Stream]]:
        """The streams of an answer, of which there may be none if nothing has to fit."""
        return streams(may_be_none=not self.names)

    def in_order(self, found: Iterable[str]) -> list[str]:
        """Of what was answered: the names as they were given, then those that were found."""
        return list(dict.fromkeys([*self.names, *found]))


def is_pattern(text: str) -> bool:
    """Whether it stands for names that the archiver is to find."""
    return text.startswith("~") or "*" in text or "?" in text


def asked(pvs: Names) -> Asked:
    """What a caller means."""
    given = flat([pvs])
    patterns = [text for text in given if is_pattern(text)]
    return Asked([text for text in given if not is_pattern(text)], _one_pattern(patterns))


def flat(pvs: Iterable[Names]) -> list[str]:
    """Names and lists of names as one list, each once."""
    found: dict[str, None] = {}
    for given in pvs:
        if isinstance(given, str):
            found[str(given)] = None
            continue
        if isinstance(given, bytes | bytearray) or not isinstance(given, Iterable):
            raise TypeError(f"PVs are given as a name, a glob such as 'LAB:*', or a list of them, not as {given!r}")
        for name in given:
            found[_text(name)] = None
    return list(found)


def one(pv: Any, method: str) -> str:
    """The name where one PV is answered; a list is refused with what to write instead."""
    if isinstance(pv, Iterable) and not isinstance(pv, str | bytes | bytearray):
        each = f"{{pv: archive.{method}(pv) for pv in pvs}}"
        raise TypeError(f"{method}() answers for one PV, and was given a {type(pv).__name__}: for several write {each}")
    return _text(pv)


def _text(name: Any) -> str:
    if isinstance(name, str):
        return str(name)
    hint = "; of what search() gives write [pv.name for pv in found]" if hasattr(name, "name") else ""
    raise TypeError(f"names of PVs are texts, not {type(name).__name__}{hint}")


def _one_pattern(patterns: list[str]) -> str | None:
    """A request has room for one pattern: several become one regular expression."""
    if len(patterns) < 2:
        return patterns[0] if patterns else None
    return "~" + "|".join(f"(?:{text[1:]})" if text.startswith("~") else f"^{_as_regex(text)}$" for text in patterns)


def _as_regex(glob: str) -> str:
    kinds = {"*": ".*", "?": "."}
    return "".join(kinds.get(letter) or re.escape(letter) for letter in glob)
