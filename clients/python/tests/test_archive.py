"""The client against a real archiver: everything that can be asked, with and without `await`, with the same answers."""

from __future__ import annotations

import asyncio
import inspect
import io
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pvark
import pytest
from archiver import Pvark, program, run_program, started

FROM, TO = "2025-03-01T00:00:00Z", "2025-03-01T00:10:00Z"


def lines(values: list[object], step: float = 1.0) -> str:
    """Samples from FROM on, as an import takes them; the third has an alarm."""
    start = np.datetime64("2025-03-01T00:00:00", "ns")
    times = [start + np.timedelta64(round(index * step * 1e9), "ns") for index in range(len(values))]
    severities = [2 if index == 2 else 0 for index in range(len(values))]
    rows = zip(times, values, severities, strict=True)
    return "".join(f"{time}Z,{value},{severity},0\n" for time, value, severity in rows)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pvark]:
    with started(tmp_path_factory.mktemp("archive")) as archiver:
        names = ["A:double", "A:int", "A:text", "A:change", "A:empty"]
        archiver.archive.add(*(f"ca://{name}" for name in names))
        archiver.take("A:double", "f64", lines([index / 3 for index in range(20_000)], 0.01))
        archiver.take("A:int", "i32", lines(list(range(100))))
        archiver.take("A:text", "string", lines(["a", '"b, c"', "µ"]))
        archiver.take("A:change", "i32", lines([1, 2]))
        later = lines([0.5] * 10).splitlines(keepends=True)[5:]
        archiver.take("A:change", "f64", "".join(later))
        yield archiver


class Both:
    """Asks the same with and without `await`, and sees that the answers are alike."""

    def __init__(self, url: str) -> None:
        self.archive = pvark.Archiver(url, timeout=30)
        self.awaited = pvark.AsyncArchiver(url, timeout=30)

    def __getattr__(self, method: str) -> Any:
        def ask(*args: Any, **kwargs: Any) -> Any:
            answer = getattr(self.archive, method)(*args, **kwargs)
            again = asyncio.run(getattr(self.awaited, method)(*args, **kwargs))
            assert repr(again) == repr(answer)
            return answer

        return ask


@pytest.fixture
def both(server: Pvark) -> Both:
    return Both(server.url)


def test_samples_come_in_their_own_type_with_exact_times(both: Both) -> None:
    samples = both.get("A:double", FROM, TO)
    assert (samples.type, samples.values.dtype, len(samples)) == ("f64", np.float64, 20_000)
    assert samples.values[1] == 1 / 3
    steps = np.diff(samples.times.astype(np.int64))
    assert set(steps.tolist()) == {10_000_000}
    assert np.flatnonzero(samples.severity).tolist() == [2] and samples.severity[2] == 2
    assert samples.message.tolist() == [None] * 20_000
    assert both.get("A:int", FROM, TO).values.dtype == np.int32
    assert both.get("A:text", FROM, TO).values.tolist() == ["a", "b, c", "µ"]


def test_the_sample_before_comes_on_request_and_a_limit_is_told(both: Both) -> None:
    at = "2025-03-01T00:00:10.5Z"
    samples = both.get("A:int", at, TO, before=True, limit=3)
    assert samples.values.tolist() == [10, 11, 12] and samples.truncated
    assert not both.get("A:int", at, TO).truncated


def test_columns_that_come_later_are_filled_up_before(both: Both) -> None:
    # The sample before is a stream without alarms; the samples behind it have one.
    samples = both.get("A:double", "2025-03-01T00:00:00.005Z", "2025-03-01T00:00:00.04Z", before=True)
    assert samples.values.tolist() == [0, 1 / 3, 2 / 3, 1]
    assert samples.severity.tolist() == [0, 0, 2, 0] and samples.status.tolist() == [0, 0, 0, 0]


def test_several_pvs_come_in_one_answer_in_the_order_of_the_question(both: Both) -> None:
    many = both.get(["A:text", "A:empty", "A:double", "A:text"], FROM, TO)
    assert list(many) == ["A:text", "A:empty", "A:double"]
    assert [len(samples) for samples in many.values()] == [3, 0, 20_000]
    assert both.get([], FROM, TO) == {}


def test_a_pv_that_changes_its_type_gives_objects_of_each(both: Both) -> None:
    samples = both.get("A:change", FROM, TO)
    assert (samples.type, samples.values.tolist()) == ("i32, f64", [1, 2, 0.5, 0.5, 0.5, 0.5, 0.5])


def test_values_at_a_time_name_what_is_unknown(both: Both) -> None:
    values = both.at(["A:int", "A:empty", "A:nosuch", "A:text"], "2025-03-01T00:00:05.5Z")
    assert values.as_dict() == {"A:int": 5, "A:empty": None, "A:text": "µ"}
    assert values.unknown == ("A:nosuch",) and np.isnat(values.times[1])
    assert len(both.at("A:*", TO)) == 5


def test_when_a_condition_held(both: Both) -> None:
    found = both.when("A:int >= 10 while A:text = 'µ' for >= 10 s", FROM, TO)
    assert (found.whole, len(found), found.unknown) == (True, 1, 0.0)
    assert str(found.start[0]) == "2025-03-01T00:00:10.000000000" and found.ends == ("range",)
    assert (found.seconds[0], found.begins) == (590.0, ("change",))
    few = both.when("change(A:double) > 0", FROM, TO, limit=3)
    assert len(few) == 1 and few.read >= 20_000 and "1 intervals" in repr(few)
    peaks = both.when("A:int % 10 = 3", FROM, TO, limit=4)
    assert (len(peaks), peaks.whole, str(peaks.until)) == (4, False, "2025-03-01T00:00:34.000000000")
    with pytest.raises(pvark.BadRequest, match="at character 9"):
        both.when("A:int > ", FROM, TO)
    with pytest.raises(pvark.UnknownPv, match="at character 1") as error:
        both.when("A:itn > 3", FROM, TO)
    assert "A:int" in str(error.value)


def test_formulas_come_in_bins_and_step_by_step(both: Both) -> None:
    bins = both.formula_bins("2*A:int + 1", FROM, "2025-03-01T00:00:20Z", 2)
    assert list(bins.mean) == [10.0, 30.0] and list(bins.covered) == [10.0, 10.0] and bins.min is None
    wide = both.formula_bins("2*A:int + 1", FROM, "2025-03-01T00:00:20Z", 2, extremes=True)
    assert wide.min is not None and wide.max is not None and list(wide.max) == [19.0, 39.0]
    assert set(wide.made_of) == {"samples"} and "2 parts" in repr(wide)
    steps = both.formula("A:int * 0.5", FROM, "2025-03-01T00:00:03Z")
    assert list(steps.values) == [0.0, 0.5, 1.0] and str(steps.times[1]) == "2025-03-01T00:00:01.000000000"


def test_statistics_weigh_numbers_by_time(both: Both) -> None:
    found = both.stats("A:int", FROM, "2025-03-01T00:00:04Z", percentiles=[50], above=1, histogram=2)
    assert (found.mean, found.min, found.max, found.above, found.covered) == (1.5, 0.0, 3.0, 2.0, 4.0)
    assert found.percentiles == {50.0: 1.0} and found.histogram == ((0.0, 1.5, 2.0), (1.5, 3.0, 2.0))
    assert found.states == {0.0: 1.0, 1.0: 1.0, 2.0: 1.0, 3.0: 1.0}


def test_what_changed_most_comes_first(both: Both) -> None:
    found = both.diff(["A:int", "A:text", "A:nobody"], "2025-03-01T00:00:05Z", "2025-03-01T00:00:15Z")
    assert found.unknown == ("A:nobody",) and "A:int" in found.pvs
    row = found.pvs.index("A:int")
    assert (found.values_before[row], found.values_after[row], found.change[row]) == (5, 15, 10.0)


def test_aligned_pvs_share_their_times(both: Both) -> None:
    table = both.aligned(["A:int", "A:double", "A:text", "A:empty"], FROM, "2025-03-01T00:00:04Z", period=0.5)
    assert len(table) == 8 and table.times[1] - table.times[0] == np.timedelta64(500, "ms")
    assert table.values["A:int"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert table.values["A:double"].tolist() == [index * 50 / 3 for index in range(8)]
    assert table.values["A:text"].tolist() == ["a", "a", "b, c", "b, c", "µ", "µ", "µ", "µ"]
    assert np.isnan(table.values["A:empty"]).all() and set(table.severity["A:empty"].tolist()) == {3}
    assert table.severity["A:int"].tolist() == [0, 0, 0, 0, 2, 2, 0, 0]
    line = both.aligned(["A:int"], FROM, "2025-03-01T00:00:02Z", period=0.5, method="linear")
    assert line.values["A:int"].tolist() == [0, 0.5, 1, 1.5]
    old = both.aligned(["A:text"], FROM, TO, times_of="A:int", tolerance=1.5)
    assert old.values["A:text"].tolist()[:5] == ["a", "b, c", "µ", "µ", None] and len(old) == 100


def test_names_globs_and_lists_are_taken_wherever_pvs_are_named(both: Both) -> None:
    end = "2025-03-01T00:00:02Z"
    assert list(both.get("A:[!x]*", FROM, TO)) == [] and list(both.get(["A:in?"], FROM, TO)) == ["A:int"]
    assert list(both.get("A:*t", FROM, end)) == ["A:int", "A:text"]
    assert list(both.get(["A:text", "~^A:.n", "a:d*", "A:int"], FROM, end)) == ["A:text", "A:int", "A:double"]
    assert list(both.aligned("A:int", FROM, end, period=1).values) == ["A:int"]
    assert list(both.aligned("A:*t", FROM, end, period=1).values) == ["A:int", "A:text"]
    assert list(both.aligned(("A:text", "A:in*"), FROM, end, period=1).values) == ["A:text", "A:int"]
    assert len(both.aligned("A:nosuch*", FROM, end, period=1)) == 0
    assert both.at(["A:text", "A:i*"], end).pvs == ["A:text", "A:int"] == both.at({"A:text": 0, "A:int": 1}, end).pvs
    assert both.at("A:int", end).as_dict() == {"A:int": 2}
    assert both.add(["ca://A:int"], "ca://A:text") == {"A:int": "already_archived", "A:text": "already_archived"}


def test_one_name_is_told_from_several(both: Both) -> None:
    several: Any = ["A:int", "A:text"]
    for method in ("bins", "gaps", "ledger", "explain", "metadata", "pv", "pause"):
        with pytest.raises(TypeError, match=rf"{method}\(\) answers for one PV.*for pv in pvs"):
            getattr(both, method)(several)
    with pytest.raises(TypeError, match="times_of is the name of one PV"):
        both.aligned("A:int", FROM, TO, times_of=several)
    for wrong in (5, None, b"A:int", [b"A:int"], [None]):
        with pytest.raises(TypeError, match="name|text"):
            both.get(wrong, FROM, TO)
    found: Any = both.search("A:int")
    with pytest.raises(TypeError, match=r"write \[pv.name for pv in found\]"):
        both.get(found, FROM, TO)


def test_a_name_that_nobody_has_is_told_with_near_ones(both: Both) -> None:
    for ask in (both.get, both.bins, both.explain, both.aligned, both.pv):
        with pytest.raises(pvark.UnknownPv, match=r'"A:dubble" \(did you mean A:double'):
            ask("A:dubble")
    with pytest.raises(pvark.UnknownPv, match="did you mean A:int"):
        both.get(["A:text", "a.int"])
    with pytest.raises(pvark.UnknownPv, match="did you mean A:text"):
        next(both.archive.live("A:txt"))
    with pytest.raises(pvark.UnknownPv, match=r"finds names\)"):
        both.get("completely different")


def test_a_search_finds_all_that_there_are(server: Pvark) -> None:
    server.archive.add([f"ca://MANY:{index}" for index in range(1234)])
    try:
        assert len({pv.name for pv in server.archive.search("many:*")}) == 1234
        assert len(asyncio.run(pvark.AsyncArchiver(server.url).search())) == 1239
        assert len(server.archive.search("MANY:*", limit=1100)) == 1100
        assert server.archive.search("MANY:*", limit=0) == []
    finally:
        for pv in server.archive.search("MANY:*"):
            server.archive.remove(pv.name, delete_data=True)


def test_lists_are_sorted_and_counted_over_all_pages(server: Pvark, both: Both) -> None:
    listed = both.listed(match="A:*", order="desc", limit=2)
    everything = both.listed(match="A:*")
    assert [pv.name for pv in listed] == [pv.name for pv in everything][:-3:-1]
    assert (listed.total, everything.total) == (len(everything), len(everything))
    assert sum(everything.facets["state"].values()) == len(everything)
    assert both.listed("no such words", sort="rate").near == []
    assert both.listed("a:dubble")[:] == [] and "A:double" in both.listed("a:dubble").near
    assert isinstance(both.iocs(lost=True), list)
    server.archive.add([f"ca://MANY:{index}" for index in range(1234)])
    try:
        found = both.listed("many", sort="added")
        assert (len(found), found.total, len({pv.name for pv in found})) == (1234, 1234, 1234)
    finally:
        for pv in server.archive.search("MANY:*"):
            server.archive.remove(pv.name, delete_data=True)


def test_a_level_of_the_tree_of_names_is_whole_however_many_children_it_has(server: Pvark, both: Both) -> None:
    level = both.tree()
    assert (level.prefix, level.separators, level.names, level.whole) == ("", ":", 5, True)
    assert (level.branches, level.leaves) == ({"A:": 5}, ())
    below = both.tree("A:")
    assert below.leaves == ("A:change", "A:double", "A:empty", "A:int", "A:text") and below.branches == {}
    assert both.tree("nobody").names == 0
    server.archive.add([f"ca://MANY:{index}:X" for index in range(1100)] + [f"ca://MANY:L{i}" for i in range(3)])
    try:
        many = both.tree("MANY:")
        assert (len(many.branches), len(many.leaves), many.names, many.whole) == (1100, 3, 1103, True)
        assert many.branches["MANY:1099:"] == 1
        few = both.tree("MANY:", limit=1001)
        assert (len(few.branches), len(few.leaves), few.names, few.whole) == (1001, 0, 1103, False)
        assert list(few.branches) == list(many.branches)[:1001]
        assert repr(both.tree("MANY:", limit=2)) == "MANY:  1,103 names, and more\n  MANY:0:  1\n  MANY:1000:  1"
        assert (both.tree("MANY:", limit=0).branches, both.tree("MANY:", limit=1103).whole) == ({}, True)
    finally:
        for pv in server.archive.search("MANY:*"):
            server.archive.remove(pv.name, delete_data=True)


def test_what_is_kept_for_how_long_and_the_last_backups_are_told(tmp_path: Path) -> None:
    if not program().exists():
        pytest.skip(f"there is no program at {program()}")
    archiver = Pvark(tmp_path, more='retention = { rules = [{ pvs = "A:*", keep = "10y" }] }\n')
    try:
        archiver.start()
        archive = archiver.archive
        archive.add("ca://A:old")
        archiver.take("A:old", "i32", "".join(f"2025-03-0{day}T00:00:00Z,{day}\n" for day in range(3, 6)))
        upkeep = archive.upkeep()
        rule, others = upkeep.retention
        assert (rule.of, rule.rule, rule.pvs, rule.policies) == ("rule", "A:*", None, ())
        assert rule.keep == timedelta(days=3660)
        assert (others.of, others.rule, others.keep, others.next_week, others.next_time) == ("others", *[None] * 4)
        assert upkeep.backups == ()
        copy = tmp_path / "copy"
        assert run_program("backup", "--data", archiver.data, "--to", copy, seconds=120).returncode == 0
        (backup,) = archive.upkeep().backups
        assert (backup.to, backup.whole) == (str(copy), True) and backup.bytes > 0
        assert abs(backup.time - np.datetime64("now")) < np.timedelta64(10, "m")
        again = asyncio.run(pvark.AsyncArchiver(archiver.url, timeout=30).upkeep())
        assert again == archive.upkeep()
    finally:
        archiver.kill()


def test_orders_are_taken_back_for_a_day_but_for_what_was_changed_again(server: Pvark) -> None:
    archive = server.archive
    archive.add("ca://UNDO:1", "ca://UNDO:2")
    try:
        archive.add("ca://UNDO:1", "ca://UNDO:2", period=5.0)
        order = archive.undoable()[0]
        assert (order.action, order.pvs, order.right) == ("changed", 2, "operate")
        assert order.until - order.time == np.timedelta64(1, "D")
        plan = archive.undo_plan(order.number)
        assert (plan.done, plan.refused) == ({"UNDO:1": "settings", "UNDO:2": "settings"}, {})
        archive.pause("UNDO:2")
        undone = asyncio.run(pvark.AsyncArchiver(server.url).undo(order.number))
        assert undone.done == {"UNDO:1": "settings"}
        assert undone.refused == {"UNDO:2": "UNDO:2 was changed again since"}
        assert (archive.pv("UNDO:1").period, archive.pv("UNDO:2").period) == (None, 5.0)
        archive.remove("UNDO:1", delete_data=True)
        assert archive.undo(archive.undoable()[0].number).done == {"UNDO:1": "restored"}
        with pytest.raises(pvark.UnknownPv, match="no order with the number 1000000000"):
            archive.undo(10**9)
    finally:
        for name in ("UNDO:1", "UNDO:2"):
            archive.remove(name, delete_data=True)


def test_notes_and_views_are_written_found_and_taken_away(server: Pvark) -> None:
    archive, awaited = server.archive, pvark.AsyncArchiver(server.url)
    written = archive.note("beam lost <b>", "A:int", t0="2025-03-01T08:00:00Z")
    archive.note("shutdown", t0="2025-03-02", t1="2025-03-05")
    assert (written.pvs, written.end) == (("A:int",), None)
    assert archive.notes("LOST beam") == [written] == archive.notes(pv="A:int")
    assert [note.text for note in asyncio.run(awaited.notes(t0="2025-03-03", t1="2025-03-04"))] == ["shutdown"]
    for note in archive.notes():
        archive.remove_note(note.number)
    assert archive.notes() == []
    saved = archive.save_view("operation/trip", "pv=A:int&from=-8h", "the trip")
    assert asyncio.run(awaited.saved_view("operation/trip")) == saved
    assert archive.views("trip", folder="operation") == [saved]
    assert archive.save_view("operation/trip", "pv=A:text").number == saved.number
    assert archive.remove_view("operation/trip").query == "pv=A:text"
    with pytest.raises(pvark.TooLarge, match="at most 65536"):
        archive.note("x" * 70_000)
    with pytest.raises(pvark.UnexpectedAnswer, match="no view 'operation/trip'"):
        archive.saved_view("operation/trip")


def test_what_is_known_of_pvs_and_of_losses_is_there(both: Both) -> None:
    assert [pv.name for pv in both.search("A:*", limit=3)] == ["A:change", "A:double", "A:empty"]
    assert both.pv("A:int").type == "i32"
    bins = both.bins("A:int", FROM, "2025-03-01T00:01:40Z", 10)
    assert bins.count.tolist() == [10] * 10 and bins.last.tolist() == list(range(9, 100, 10))
    assert both.ledger("A:int", FROM, TO) == []
    assert both.explain("A:int", FROM, TO).samples == 100
    assert both.metadata("A:empty", FROM, TO) == []
    assert both.archive.status().version == asyncio.run(both.awaited.status()).version


def test_numpy_loads_what_is_sent_for_it(server: Pvark) -> None:
    status, _, body = server.request("GET", f"/api/v1/pvs/A:double/samples?from={FROM}&to={TO}&format=npy")
    assert status == 200
    array, samples = np.load(io.BytesIO(body)), server.archive.get("A:double", FROM, TO)
    assert (array["time"] == samples.times).all() and (array["value"] == samples.values).all()
    assert (array["severity"] == samples.severity).all()


def test_refusals_are_the_same_exceptions_either_way(server: Pvark) -> None:
    with pytest.raises(pvark.UnknownPv, match="A:nosuch"):
        server.archive.get("A:nosuch", FROM, TO)
    with pytest.raises(pvark.UnknownPv, match="A:nosuch"):
        asyncio.run(pvark.AsyncArchiver(server.url).get("A:nosuch", FROM, TO))
    with pytest.raises(pvark.BadRequest):
        server.archive.bins("A:int", TO, FROM)


def test_live_begins_with_what_was_asked_for(server: Pvark) -> None:
    async def first() -> pvark.Update:
        async for update in pvark.AsyncArchiver(server.url).live(["A:in*"], since=FROM):
            if update.samples is not None:
                return update
        raise AssertionError("it goes on for ever")

    awaited = asyncio.run(asyncio.wait_for(first(), 30))
    plain = next(update for update in server.archive.live("A:int", since=FROM) if update.samples is not None)
    assert awaited.samples is not None and plain.samples is not None
    assert awaited.samples.values.tolist() == plain.samples.values.tolist() == list(range(100))


def test_both_archivers_have_the_same_methods() -> None:
    def methods(owner: type) -> set[str]:
        return {name for name in dir(owner) if not name.startswith("_")}

    assert methods(pvark.Archiver) == methods(pvark.AsyncArchiver)
    assert inspect.getdoc(pvark.Archiver.bins) == inspect.getdoc(pvark.AsyncArchiver.bins) is not None


def test_frames_of_other_libraries_hold_the_same(server: Pvark) -> None:
    many = server.archive.get(["A:int", "A:double"], FROM, TO)
    pandas, polars, xarray = (pytest.importorskip(name) for name in ("pandas", "polars", "xarray"))
    frame = many.to_pandas()
    assert frame.index.names == ["pv", "time"] and frame.loc["A:int"]["value"].tolist() == list(range(100))
    assert frame.index[0][1] == pandas.Timestamp(FROM)
    one = many["A:int"].to_polars()
    assert one.columns == ["time", "value", "severity", "status"]
    assert one["time"].dtype == polars.Datetime("ns", "UTC")
    assert len(many.to_polars()) == 20_100
    dataset = many.to_xarray()
    assert isinstance(dataset, xarray.Dataset) and dataset["A:int"].values.tolist() == list(range(100))
    assert many["A:int"].to_xarray().coords["severity"].values[2] == 2
    aligned = server.archive.aligned(["A:int", "A:double"], FROM, TO, period=60)
    assert aligned.to_pandas().shape == aligned.to_polars().select(["A:int", "A:double"]).shape == (10, 2)
    assert aligned.to_xarray()["A:double"].values.tolist() == aligned.values["A:double"].tolist()
    assert server.archive.at("A:*", TO).to_pandas().loc["A:int"]["value"] == 99
