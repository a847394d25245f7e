"""Texts that mean times go to the archiver as they are; it reads each case of testdata/times.json as told there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pvark
import pytest
from archiver import Pvark, started
from pvark import _talks
from pvark._asking import Question
from pvark._times import to_iso

CASES = json.loads((Path(__file__).parents[3] / "testdata/times.json").read_text())
TEXTS = [case["text"] for case in CASES["moments"]]
RANGES = [(case["from"], case["to"]) for case in CASES["ranges"]]

MINUTE = np.timedelta64(1, "m")
ABSOLUTE = re.compile(r"\d{4}-|\d{10}")
"""Texts that mean the same at any time; of the others most are known by how far they lie from now."""

FIXED_DISTANCE = re.compile(r"-[\s\d.]+(s|min|m|h|d|w)(\s*\d+h)?|now", re.IGNORECASE)


def sent(question: Question[Any]) -> dict[str, str]:
    """The parameters of a request, decoded by percent signs alone: a blank that is sent as `+` would show."""
    address = question.address("http://archive")
    assert re.fullmatch("[!-~]+", address), "a URL is printable ASCII without blanks"
    pairs = [part.split("=", 1) for part in urlsplit(address).query.split("&") if part]
    return {name: unquote(value, errors="strict") for name, value in pairs}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_sent_as_it_is(text: str) -> None:
    assert sent(next(_talks.gaps("A", text, text))) == {"from": text, "to": text}


@pytest.mark.parametrize(("begin", "end"), RANGES)
def test_an_end_that_is_not_given_is_not_sent(begin: str | None, end: str | None) -> None:
    given = {name: text for name, text in (("from", begin), ("to", end)) if text is not None}
    assert sent(next(_talks.gaps("A", begin, end))) == given


def test_the_text_goes_with_every_question_that_takes_a_time() -> None:
    text = "-1d 4h"
    ranges = (
        _talks.get_one,
        _talks.get_many,
        _talks.aligned,
        _talks.bins,
        _talks.array_bins,
        _talks.ledger,
        _talks.explain,
        _talks.metadata,
    )
    for ask in ranges:
        question: Question[Any] = next(ask("A", text, "now"))
        assert sent(question).items() >= {"from": text, "to": "now"}.items(), ask
    assert sent(next(_talks.at(["A"], text)))["time"] == text
    assert sent(_talks.live(["A"], text))["from"] == text


def test_every_other_kind_of_moment_becomes_iso_8601_in_utc() -> None:
    assert to_iso(np.datetime64("2026-11-21T08:00:00.000000001")) == "2026-11-21T08:00:00.000000001Z"
    east = timezone(timedelta(hours=-5))
    assert to_iso(datetime(2026, 11, 21, 3, 0, tzinfo=east)) == "2026-11-21T08:00:00Z"
    parsed = datetime.fromisoformat(to_iso(timedelta(minutes=-1)).replace("Z", "+00:00"))
    assert abs(datetime.now(timezone.utc) - timedelta(minutes=1) - parsed) < timedelta(seconds=10)
    assert to_iso(date(2026, 6, 1)) == "2026-06-01T00:00:00Z"


def test_both_ends_count_from_the_same_now() -> None:
    ends = sent(next(_talks.gaps("A", timedelta(hours=-1), timedelta(minutes=-59))))
    assert numpy_time(ends["to"]) - numpy_time(ends["from"]) == MINUTE


def test_what_is_no_time_is_told_before_it_is_sent() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        to_iso(datetime(2026, 11, 21))
    with pytest.raises(ValueError, match="NaT"):
        to_iso(np.datetime64("NaT"))
    number: Any = 1_780_000_000
    with pytest.raises(TypeError, match="give a text"):
        to_iso(number)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pvark]:
    with started(tmp_path_factory.mktemp("times")) as archiver:
        archiver.archive.add("ca://T:A")
        yield archiver


def numpy_time(text: str) -> np.datetime64:
    return np.datetime64(text.removesuffix("Z"), "ns")


def assert_is(read: np.datetime64, text: str, expected: str) -> None:
    """What a text was read as, as far as it can be told at another time than that of the case."""
    if ABSOLUTE.match(text.strip()):
        assert read == numpy_time(expected)
    elif FIXED_DISTANCE.fullmatch(text.strip()):
        now = numpy_time(datetime.now(timezone.utc).replace(tzinfo=None).isoformat())
        assert abs((now - read) - (numpy_time(CASES["now"]) - numpy_time(expected))) < MINUTE


# The zone of whoever types is known to the page alone. In a URL a parameter without a value is one that is not given.
OF_URLS = [case for case in CASES["moments"] if "zone" not in case and case["text"]]


@pytest.mark.parametrize("case", OF_URLS, ids=lambda case: case["text"])
def test_the_archiver_reads_a_text_as_the_list_says(server: Pvark, case: dict[str, Any]) -> None:
    if case["is"] is None:
        with pytest.raises(pvark.BadRequest):
            server.archive.at(["T:A"], case["text"])
    else:
        assert_is(server.archive.at(["T:A"], case["text"]).time, case["text"], case["is"])


@pytest.mark.parametrize("case", CASES["ranges"], ids=lambda case: f"{case['from']}..{case['to']}")
def test_the_archiver_reads_a_range_as_the_list_says(server: Pvark, case: dict[str, Any]) -> None:
    if case["is"] is None:
        with pytest.raises(pvark.BadRequest):
            server.archive.bins("T:A", case["from"], case["to"], 1)
        return
    bins = server.archive.bins("T:A", case["from"], case["to"], 1)
    begin, end = map(numpy_time, case["is"])
    absolute = any(ABSOLUTE.match(case[side] or "") for side in ("from", "to"))
    if absolute:
        assert (bins.start[0], bins.end[0]) == (begin, end)
    elif {case["from"], case["to"]} <= {None, "now", "-8h", "-2h", "-1h", "+1h"}:
        assert abs((bins.end[0] - bins.start[0]) - (end - begin)) < MINUTE
