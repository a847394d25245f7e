"""Sampling in a running archiver, against real IOCs: dead bands, groups, policies applied anew, caps, fields."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from archiver import Pvark, run_program
from ioc import Ioc
from waiting import wait_for

RECORDS = """
record(ai, "P:set") {
    field(VAL, "0") field(PINI, "YES") field(HIHI, "50") field(HHSV, "MAJOR") field(EGU, "mA") field(HYST, "0")
}
record(calc, "P:count") { field(SCAN, ".1 second") field(CALC, "VAL+1") }
record(calc, "P:coarse:ca") {
    field(SCAN, ".1 second") field(INPA, "P:coarse:ca") field(CALC, "(A+1)%40") field(ADEL, "1000") field(MDEL, "0")
    field(HIGH, "20") field(HSV, "MINOR")
}
record(calc, "P:coarse:pva") {
    field(SCAN, ".1 second") field(INPA, "P:coarse:pva") field(CALC, "(A+1)%40") field(ADEL, "1000") field(MDEL, "0")
    field(HIGH, "20") field(HSV, "MINOR")
}
record(calc, "P:count2") { field(SCAN, ".1 second") field(CALC, "VAL+1") }
record(bo, "P:beam") { field(VAL, "1") field(PINI, "YES") field(ZNAM, "Off") field(ONAM, "On") }
"""
ALWAYS = "2000-01-01T00:00:00Z"


def put(ioc: Ioc, pv: str, *values: float | str | dict[str, int]) -> None:
    """Writes values one after the other, each done when the next is written, as an operator's client would."""
    script = (
        "import sys, json\nfrom p4p.client.thread import Context\n"
        "with Context('pva', nt=False) as client:\n"
        "    for value in json.loads(sys.argv[2]):\n"
        "        client.put(sys.argv[1], value if isinstance(value, dict) else {'value': value}, timeout=10)\n"
    )
    command = [sys.executable, "-c", script, pv, json.dumps(values)]
    subprocess.run(command, env=os.environ | ioc.environment(), check=True, timeout=60)


def values(server: Pvark, pv: str) -> list[Any]:
    samples = server.json(f"/api/v1/pvs/{pv}/samples?from={ALWAYS}")
    return [value for chunk in samples["chunks"] for value in chunk["values"]]


def details(server: Pvark, pv: str) -> dict[str, Any]:
    answer: dict[str, Any] = server.json(f"/api/v1/pvs/{pv}")
    return answer


def add(server: Pvark, **settings: Any) -> None:
    body = json.dumps({"pvs": [settings]}).encode()
    status, _, answer = server.request("POST", "/api/v1/pvs", body)
    assert status == 200 and b"refused" not in answer, answer


def test_a_dead_band_is_applied_by_the_ioc_and_hides_no_alarm(
    start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]
) -> None:
    ioc = start_ioc(RECORDS)
    server = start_pvark(ioc)
    add(server, name="P:set", deadband=10)
    wait_for("the IOC to take the filter", lambda: details(server, "P:set")["sampling"]["deadband_at"] == "server")
    # 55 is in alarm and within the band of 48, as 48 is within that of 45 but not of 0.
    put(ioc, "P:set", 1, 2, 45, 47, 48, 52, 53, 49, 100)
    wait_for("the last value", lambda: 100.0 in values(server, "P:set"))
    assert values(server, "P:set") == [0.0, 45.0, 52.0, 49.0, 100.0]
    counters = details(server, "P:set")["counters"]
    assert counters["received"] < 3 * 5 + 3, f"the IOC did not hold anything back: {counters}"
    (row,) = [server.archive.ledger("P:set")]
    assert all(minute.adds_up for minute in row)


def has_changed_often(server: Pvark, pv: str) -> bool:
    return len(values(server, pv)) >= 5


def test_the_archive_dead_band_of_a_record_holds_by_both_protocols_and_hides_no_alarm(
    start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]
) -> None:
    server = start_pvark(start_ioc(RECORDS))
    for protocol in ("ca", "pva"):
        add(server, name=f"P:coarse:{protocol}", protocol=protocol)
    for protocol in ("ca", "pva"):
        pv = f"P:coarse:{protocol}"
        wait_for(f"the alarm of {pv} comes and goes twice", functools.partial(has_changed_often, server, pv), 30)
        stored = server.archive.get(pv, ALWAYS)
        # The first value, and then only those at which the alarm changes; the record may be undefined at first.
        told = f"{protocol}: {stored.values.tolist()} with {stored.severity.tolist()}"
        assert (np.diff(stored.severity.astype(int)) != 0).all(), told
        assert set(stored.values[2:].tolist()) <= {0, 20} and len(stored) < 10, told


def test_a_group_is_recorded_while_its_switch_is_on(
    start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]
) -> None:
    ioc = start_ioc(RECORDS)
    server = start_pvark(ioc)
    set_group = run_program("group", "beam", "--enabled-by", "P:beam", "--server", server.url)
    assert set_group.returncode == 0 and "set" in set_group.stdout, set_group.stderr
    add(server, name="P:count", groups=["beam"])
    add(server, name="P:count2")
    server.wait_connected("P:count", "P:count2")
    wait_for("the switch to be heard", lambda: not server.json("/api/v1/groups")["groups"][0]["unheard"])
    put(ioc, "P:beam", {"value.index": 0})
    wait_for("the group to be disabled", lambda: details(server, "P:count")["disabled"])
    told = run_program("group", "--server", server.url).stdout
    assert "beam" in told and "P:beam" in told, told
    standing = [values(server, "P:count")]

    def is_standing() -> bool:
        standing.append(values(server, "P:count"))
        return standing[-1] == standing[-2]

    wait_for("what was in the queue to be stored", is_standing)
    stood = standing[-1][-1]
    other = len(values(server, "P:count2"))
    wait_for("other PVs to go on", lambda: len(values(server, "P:count2")) > other + 10)
    assert values(server, "P:count")[-1] == stood
    explained = server.archive.explain("P:count", ALWAYS)
    assert "disabled" in {reason.kind for reason in explained.reasons}, explained

    # It is remembered over a restart, and enabled again the newest value comes first.
    server.terminate()
    server.start()
    wait_for("the group to be disabled again", lambda: details(server, "P:count")["disabled"])
    before = len(values(server, "P:count"))
    put(ioc, "P:beam", {"value.index": 1})
    wait_for("samples again", lambda: len(values(server, "P:count")) > before + 5)
    causes = {gap["cause"] for gap in server.json(f"/api/v1/pvs/P:count/gaps?from={ALWAYS}")["gaps"]}
    assert "disabled" in causes
    assert all(minute.adds_up for minute in server.archive.ledger("P:count"))


POLICY = '[[policy]]\nname = "slow"\nmatch = "P:count*"\n{}\n'


def test_policies_are_applied_anew_to_a_running_archiver(start_ioc: Callable[[str], Ioc], tmp_path: Path) -> None:
    ioc = start_ioc(RECORDS)
    server = Pvark(tmp_path, [ioc])
    rest = server.config_path.read_text()
    server.start()
    try:
        server.archive.add("P:count", "P:set")
        add(server, name="P:count2", method="monitor")
        server.wait_connected("P:count", "P:count2", "P:set")

        server.config_path.write_text(rest + POLICY.format("periot = 1"))
        refused = run_program("policy", "plan", "--server", server.url)
        assert refused.returncode == 1 and "periot" in refused.stderr and "line" in refused.stderr, refused.stderr

        server.config_path.write_text(rest + POLICY.format('method = "scan"\nperiod = "300ms"'))
        plan = run_program("policy", "plan", "--server", server.url)
        assert plan.returncode == 0, plan.stderr
        assert "ca, monitor" in plan.stdout and "ca, scan 0.3s, by slow" in plan.stdout, plan.stdout
        assert "slow: 1 PVs, 1 would change" in plan.stdout and "1 left alone" in plan.stdout, plan.stdout
        assert details(server, "P:count")["method"] == "monitor", "a plan changes nothing"

        gaps = len(server.json(f"/api/v1/pvs/P:count/gaps?from={ALWAYS}")["gaps"])
        reconnects = details(server, "P:count")["reconnects"]
        wait_for("a few samples", lambda: len(values(server, "P:count")) > 5)
        before = values(server, "P:count")
        applied = run_program("policy", "apply", "--server", server.url)
        assert applied.returncode == 0 and "slow: 1 PVs, 1 changed" in applied.stdout, applied.stdout
        after = details(server, "P:count")
        assert (after["method"], after["sampling"]["policy"], after["reconnects"]) == ("scan", "slow", reconnects)
        assert details(server, "P:count2")["method"] == "monitor"
        # The samples up to then are there one by one, then one of three, and all is accounted for.
        wait_for("scanned samples", lambda: len(steps(server)) > 5 and min(steps(server)[-2:]) >= 2)
        assert set(steps(server)[: len(before) - 1]) == {1.0}, steps(server)
        total = server.json("/api/v1/pvs/P:count/ledger")["total"]
        assert total["adds_up"] and total["skipped"] > 0 and not any(total["lost"].values()), total
        assert len(server.json(f"/api/v1/pvs/P:count/gaps?from={ALWAYS}")["gaps"]) == gaps
        info = server.json("/mgmt/bpl/getPVTypeInfo?pv=P:count")
        assert (info["policyName"], info["samplingMethod"], info["samplingPeriod"]) == ("slow", "SCAN", "0.3")
        assert "policies_applied" in run_program("audit", "--server", server.url).stdout

        again = run_program("policy", "plan", "--include-manual", "--server", server.url)
        assert "slow: 2 PVs, 1 would change" in again.stdout and "0 left alone" in again.stdout, again.stdout
    finally:
        server.kill()


def steps(server: Pvark) -> list[float]:
    return [float(step) for step in np.diff(values(server, "P:count"))]


def test_a_rate_cap_counts_exactly_what_it_passes_over(
    start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]
) -> None:
    ioc = start_ioc(RECORDS)
    server = start_pvark(ioc)
    add(server, name="P:count", rate_cap=2, burst=1)
    wait_for("a few samples", lambda: len(values(server, "P:count")) > 6)
    counters = details(server, "P:count")["counters"]
    assert counters["rate_capped"] > 0
    total = server.json("/api/v1/pvs/P:count/ledger")["total"]
    assert total["adds_up"] and total["lost"]["rate_capped"] > 0, total
    assert "rate_capped" in {reason.kind for reason in server.archive.explain("P:count", ALWAYS).reasons}
    metrics = server.request("GET", "/metrics")[2].decode()
    (line,) = [line for line in metrics.splitlines() if 'cause="rate_capped"' in line]
    assert float(line.split()[-1]) > 0


def test_extra_fields_have_a_history_of_their_own(
    start_ioc: Callable[[str], Ioc], start_pvark: Callable[..., Pvark]
) -> None:
    ioc = start_ioc(RECORDS)
    server = start_pvark(ioc)
    add(server, name="P:set", fields=["HIHI", "EGU"])
    server.wait_connected("P:set", "P:set.HIHI", "P:set.EGU")
    put(ioc, "P:set.HIHI", 60, 70)
    put(ioc, "P:set.EGU", "A")
    wait_for("the new limit", lambda: values(server, "P:set.HIHI") == [50.0, 60.0, 70.0])
    wait_for("the new unit", lambda: values(server, "P:set.EGU") == ["mA", "A"])
    (appliance,) = server.json(f"/retrieval/data/getData.json?pv=P:set.HIHI&from={ALWAYS}")
    assert [row["val"] for row in appliance["data"]] == [50.0, 60.0, 70.0]

    def units() -> list[str]:
        history = server.json(f"/api/v1/pvs/P:set/metadata?from={ALWAYS}")["metadata"]
        return [row["units"] for row in history if row["units"]]

    wait_for("the unit in the history too", lambda: units()[-1:] == ["A"] and len(units()) >= 2)
    assert server.json("/mgmt/bpl/getPVTypeInfo?pv=P:set")["archiveFields"] == ["HIHI", "EGU"]

    # They follow their PV; one that is not wanted any more stands still and can be read.
    server.archive.pause("P:set")
    assert details(server, "P:set.HIHI")["state"] == "paused"
    server.archive.resume("P:set")
    assert details(server, "P:set.HIHI")["state"] != "paused"
    add(server, name="P:set", fields=["EGU"])
    assert details(server, "P:set.HIHI")["state"] == "paused" and len(values(server, "P:set.HIHI")) >= 3
