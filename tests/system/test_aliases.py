"""Records that an IOC serves by several names: kept once, and found by all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from archiver import Pvark
from ioc import Ioc
from waiting import wait_for

LONG = "A:a-name-that-is-longer-than-a-text-of-Channel-Access"
RECORDS = "".join(
    f'record(calc, "{name}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") alias("{alias}") }}\n'
    for name, alias in (("A:only", "B:only"), ("A:both", "B:both"), (LONG, "B:long"), ("A:old", "B:old"))
)
RECORDS += 'record(calc, "A:plain") { field(SCAN, ".1 second") field(CALC, "VAL+1") }\n'


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Callable[..., Pvark]]:
    started: list[Pvark] = []

    def start(ioc: Ioc, more: str = "") -> Pvark:
        started.append(Pvark(tmp_path, [ioc], more=more))
        return started[-1].start()

    yield start
    for server in started:
        server.kill()


def names(server: Pvark) -> set[str]:
    """What is archived, without the aliases."""
    return {row["name"] for row in server.json("/api/v1/pvs?limit=100")["pvs"] if "alias_of" not in row}


def aliases(server: Pvark) -> dict[str, str]:
    return {row["alias"]: row["name"] for row in server.json("/api/v1/aliases")["aliases"]}


def assert_goes_on(server: Pvark, alias: str, name: str) -> None:
    """The samples are the same by both names, none is there twice, and more come."""
    count = len(server.archive.get(name, "2000-01-01T00:00:00Z"))
    wait_for("more samples", lambda: len(server.archive.get(name, "2000-01-01T00:00:00Z")) > count + 5)
    answer = server.archive.get(alias, "2000-01-01T00:00:00Z")
    values: list[Any] = answer.values.tolist()
    assert len(values) > count and sorted(set(values)) == values, values


@pytest.mark.parametrize("protocol", ["ca", "pva"])
def test_a_record_that_is_added_by_an_alias_is_kept_once_by_its_own_name(
    start_ioc: Callable[[str], Ioc], record: Callable[..., Pvark], protocol: str
) -> None:
    server = record(start_ioc(RECORDS))
    server.archive.add(*(f"{protocol}://{name}" for name in ("B:only", "A:both", "B:both", "B:long", "A:plain")))
    expected = {"B:only": "A:only", "B:both": "A:both", "B:long": LONG}
    wait_for("the aliases", lambda: aliases(server) == expected, 30)
    wait_for("one PV for each record", lambda: names(server) == {"A:only", "A:both", LONG, "A:plain"})
    server.wait_connected(*expected.values())
    for alias, name in expected.items():
        assert_goes_on(server, alias, name)
    audit = server.json("/api/v1/audit")["audit"]
    done = {(line["action"], line["name"], line["detail"]) for line in audit if "NAME" in line["by"]}
    assert {("alias_added", "A:both", "B:both")} <= done and any(action == "renamed" for action, *_ in done), audit
    # Who adds the alias again adds nothing.
    server.archive.add(f"{protocol}://B:both")
    assert names(server) == {"A:only", "A:both", LONG, "A:plain"}


def test_an_alias_with_samples_of_its_own_stays(start_ioc: Callable[[str], Ioc], record: Callable[..., Pvark]) -> None:
    """They would be hidden if it became an alias."""
    served = start_ioc(RECORDS)
    served.kill()
    server = record(served)
    server.archive.add("ca://A:old", "ca://B:old", "ca://A:both", "ca://B:both")
    server.take("B:old", "f64", "".join(f"2001-09-09T01:46:4{second}Z,{second}\n" for second in range(3)))
    served.start()
    wait_for("what can be merged to be merged", lambda: aliases(server) == {"B:both": "A:both"}, 60)
    wait_for("it to be told of", lambda: "both are archived" in server.log(), 30)
    assert {"A:old", "B:old"} <= names(server)
    assert len(server.archive.get("B:old", "2001-01-01T00:00:00Z", "2002-01-01T00:00:00Z")) == 3


def test_records_are_not_asked_where_the_config_says_so(
    start_ioc: Callable[[str], Ioc], record: Callable[..., Pvark]
) -> None:
    server = record(start_ioc(RECORDS), "resolve_aliases = false\n")
    server.archive.add("ca://A:only", "ca://B:only")
    server.wait_connected("A:only", "B:only")
    wait_for("many samples", lambda: len(server.archive.get("B:only", "2000-01-01T00:00:00Z")) > 40, 30)
    assert aliases(server) == {} and names(server) == {"A:only", "B:only"}
