"""Unmodified clients of the Archiver Appliance, and our own, read the same samples."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pvark
import pytest
from aa.js import JsonFetcher
from aa.pb import PbFetcher
from aa.rest import AaRestClient
from archapp.data import ArchiveData
from archapp.mgmt import ArchiveMgmt
from archappl.admin.client import ArchiverMgmtClient
from archappl.data.client import ArchiverDataClient
from archiver import Pvark
from arvpyf.ar import ArchiverReader
from arvpyf.mgmt import ArchiverConfig
from ioc import Ioc
from waiting import wait_for

RECORDS = """
record(calc, "N:double") { field(SCAN, ".1 second") field(CALC, "SIN(VAL*3)+VAL+0.1") }
record(calc, "N:count")  { field(SCAN, ".1 second") field(CALC, "VAL+1") field(HIGH, "5") field(HSV, "MINOR") }
record(longin, "N:long") { field(SCAN, ".1 second") field(INP, "N:count") }
record(mbbi, "N:state")  {
    field(SCAN, ".1 second") field(INP, "N:state:next PP") field(ZRST, "No") field(ONST, "Yes") field(TWST, "Both")
}
record(calc, "N:state:next") { field(CALC, "(VAL+1)%3") }
record(waveform, "N:short") { field(SCAN, ".2 second") field(FTVL, "SHORT") field(NELM, "1") field(INP, "N:count") }
record(stringin, "N:text")  { field(SCAN, ".1 second") field(INP, "N:double") }
record(compress, "N:array") {
    field(SCAN, ".1 second") field(INP, "N:count") field(ALG, "Circular Buffer") field(NSAM, "5")
}
"""
SCALARS = ["N:double", "N:count", "N:long", "N:state", "N:short"]


@pytest.fixture(scope="module")
def server(module_folder: Path) -> Iterator[Pvark]:
    ioc = Ioc.of_records(module_folder, RECORDS).start()
    pvark_server = Pvark(module_folder, [ioc])
    try:
        pvark_server.start()
        pvark_server.archive.add(*(f"ca://{pv}" for pv in [*SCALARS, "N:text", "N:array"]))
        yield pvark_server
    finally:
        pvark_server.kill()
        ioc.kill()


@pytest.fixture(scope="module")
def window(server: Pvark) -> tuple[datetime, datetime]:
    """Three whole seconds that are over and hold samples of everything, as one of the clients asks in whole seconds."""
    wait_for("samples", lambda: all(len(server.archive.get(pv)) > 3 for pv in [*SCALARS, "N:text", "N:array"]))
    # One of the clients cannot read arrays whose length changes.
    wait_for("a full array", lambda: len(server.archive.get("N:array").values[-1]) == 5)
    first = int(time.time()) + 1
    wait_for("three seconds to pass", lambda: time.time() > first + 3.5)
    return tuple(datetime.fromtimestamp(second, timezone.utc) for second in (first, first + 3))  # type: ignore[return-value]


def ours(server: Pvark, pv: str, window: tuple[datetime, datetime]) -> pvark.Samples:
    samples = server.archive.get(pv, *window, before=True)
    assert len(samples) > 10, samples
    return samples


@pytest.mark.parametrize("form", ["raw", "json"])
@pytest.mark.parametrize("pv", SCALARS)
def test_pyarchappl_reads_the_same_samples(
    server: Pvark, window: tuple[datetime, datetime], pv: str, form: str
) -> None:
    client = ArchiverDataClient(server.url, format=form)
    start, end = (moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") for moment in window)
    frame = client.get_data(pv, from_time=start, to_time=end, tz="UTC")
    samples = ours(server, pv, window)
    assert frame["val"].tolist() == samples.values.tolist()
    assert frame["severity"].tolist() == samples.severity.tolist()
    times = frame.index.tz_convert(None).to_numpy().astype("datetime64[ns]")
    assert np.max(np.abs(times - samples.times)) < np.timedelta64(1, "ms"), "it cuts times to milliseconds"


@pytest.mark.parametrize("fetcher", [JsonFetcher, PbFetcher])
@pytest.mark.parametrize("pv", [*SCALARS, "N:array"])
def test_aapy_reads_the_same_samples(
    server: Pvark, window: tuple[datetime, datetime], pv: str, fetcher: type[JsonFetcher] | type[PbFetcher]
) -> None:
    data = fetcher("127.0.0.1", server.port).get_values(pv, *window)
    samples = ours(server, pv, window)
    values, times = samples.values, samples.times
    if len(data) == len(samples) - 1:  # one of its formats leaves out the sample before the range
        values, times = values[1:], times[1:]
    assert len(data) == len(times)
    got = [value.tolist() if value.size > 1 else value.item() for value in data.values]
    assert got == [value.tolist() for value in values]
    assert np.max(np.abs(data.timestamps - times.astype(np.int64) / 1e9)) < 1e-6


@pytest.mark.parametrize("pv", SCALARS)
def test_arvpyf_reads_the_same_samples(server: Pvark, window: tuple[datetime, datetime], pv: str) -> None:
    reader = ArchiverReader({"url": server.url, "timezone": "America/New_York"})
    there = ZoneInfo("America/New_York")
    frame = reader.get(pv, *(moment.astimezone(there).strftime("%Y-%m-%d %H:%M:%S") for moment in window))
    samples = ours(server, pv, window)
    assert frame["data"].tolist() == samples.values.tolist()
    times = frame["time"].dt.tz_convert(None).to_numpy().astype("datetime64[ns]")
    assert np.max(np.abs(times - samples.times)) < np.timedelta64(1, "us")


@pytest.mark.parametrize("pv", SCALARS)
def test_archapp_reads_the_same_samples(server: Pvark, window: tuple[datetime, datetime], pv: str) -> None:
    here = [moment.astimezone().replace(tzinfo=None) for moment in window]
    data = ArchiveData("127.0.0.1", server.port)
    array = data.get(pv, *here)
    samples = ours(server, pv, window)
    assert array.name == pv
    values, severities, _ = array.values
    assert values.tolist() == samples.values.tolist()
    assert severities.tolist() == samples.severity.tolist()
    both = data.get([pv, "N:double"], *here, merge=False)
    assert [one.name for one in both] == [pv, "N:double"]
    moment = data.get_snapshot([pv, "N:nobody"], here[1])
    assert list(moment) == [pv]
    assert moment[pv]["val"] == samples.values[-1]


def test_aapy_finds_the_names_of_states(server: Pvark, window: tuple[datetime, datetime]) -> None:
    data = PbFetcher("127.0.0.1", server.port).get_values("N:state", *window)
    assert set(data.enum_strings.flatten()) == {"No", "Yes", "Both"}


def test_the_value_at_a_moment_is_the_last_one_before(server: Pvark, window: tuple[datetime, datetime]) -> None:
    event = JsonFetcher("127.0.0.1", server.port).get_event_at("N:count", window[1])
    assert event.value.item() == ours(server, "N:count", window).values[-1]
    at = window[1].isoformat().replace("+00:00", "Z")
    answer = ArchiverDataClient(server.url).get_data_at_time(["N:count", "NOBODY"], at)
    assert answer["N:count"]["val"] == event.value.item()
    assert "NOBODY" not in answer


def test_an_unknown_pv_is_404_for_every_format(server: Pvark) -> None:
    for form in ("raw", "json", "csv", "txt", "qw"):
        status, _, _ = server.request("GET", f"/retrieval/data/getData.{form}?pv=NOBODY")
        assert status == 404, form


def test_our_own_bins_agree_with_our_own_samples(server: Pvark, window: tuple[datetime, datetime]) -> None:
    samples = server.archive.get("N:double", *window)
    bins = server.archive.bins("N:double", *window, count=7)
    assert bins.count.sum() == len(samples)
    for index in range(7):
        inside = samples.values[(samples.times >= bins.start[index]) & (samples.times < bins.end[index])]
        assert len(inside) == bins.count[index] > 0
        numbers = (bins.min[index], bins.max[index], bins.first[index], bins.last[index])
        assert numbers == (inside.min(), inside.max(), inside[0], inside[-1])
        assert bins.mean[index] == pytest.approx(inside.mean(), rel=1e-12)


@pytest.mark.parametrize("pv", [*SCALARS, "N:text", "N:array"])
def test_arrow_holds_the_same_as_json(server: Pvark, window: tuple[datetime, datetime], pv: str) -> None:
    samples = server.archive.get(pv, *window)
    table = server.archive.table(pv, *window)
    assert np.array_equal(table["time"].to_numpy().astype("datetime64[ns]"), samples.times)
    values = table["value"].to_pylist()
    assert values == [value.tolist() if isinstance(value, np.ndarray) else value for value in samples.values]
    assert table["severity"].to_pylist() == samples.severity.tolist()


def test_our_own_search_gaps_and_status(server: Pvark) -> None:
    archive = server.archive
    assert [pv.name for pv in archive.search("n:STATE")] == ["N:state"]
    assert [pv.name for pv in archive.search("*o?nt")] == ["N:count"]
    assert {pv.name for pv in archive.search("~^N:(long|text)$")} == {"N:long", "N:text"}
    assert len(archive.search(limit=3)) == 3
    assert archive.gaps("N:count")[0].cause == "never_connected"
    status = archive.status()
    assert status.pvs["total"] == len(SCALARS) + 2 == status.pvs["connected"]
    assert status.samples["dropped_queue"] == status.samples["dropped_store"] == 0
    assert status.problems == []


def test_live_goes_on_where_the_archive_ends_without_a_seam(server: Pvark) -> None:
    start = np.datetime64(time.time_ns() - 1_000_000_000, "ns")
    values: list[float] = []
    for update in server.archive.live("N:count", since=start):
        if update.samples is not None:
            values += update.samples.values.tolist()
        if len(values) > 25:
            break
    assert np.all(np.diff(values) == 1), values


def test_texts_and_arrays_come_whole(server: Pvark, window: tuple[datetime, datetime]) -> None:
    texts = ours(server, "N:text", window)
    assert texts.type == "string" and all(float(text) is not None for text in texts.values)
    arrays = ours(server, "N:array", window)
    assert arrays.type == "f64[]"
    assert all(np.all(np.diff(array) == 1) for array in arrays.values)


def test_pyarchappl_manages_pvs(server: Pvark, window: tuple[datetime, datetime]) -> None:
    client = ArchiverMgmtClient(server.url)
    info = client.get_pv_type_info("N:double")
    assert (info.DBRType, info.scalar, info.samplingMethod) == ("DBR_SCALAR_DOUBLE", "true", "MONITOR")
    assert client.get_pv_type_info("NOBODY") is None
    details = client.get_pv_details("N:double")["value"]
    assert details["mgmt", "PV Name"] == details["pv", "Channel Name"] == "N:double"
    for question in ("Is this PV currently connected?", "Is engine currently archiving this?"):
        assert details["pv", question] == "Yes"
    assert float(details["pv", "Estimated event rate (events/sec)"]) > 0
    assert client.get_pv_details("NOBODY") is None
    assert len(client.get_stores_for_pv("N:double")) == 1
    assert client.get_pv_status("N:double")["N:double"].status == "Being archived"
    assert client.archive_pv("N:double", op="abort")["status"] == "no"


def test_aapy_manages_a_pv_that_nobody_serves(server: Pvark) -> None:
    client = AaRestClient("127.0.0.1", server.port)
    assert client.archive_pv("N:nobody", 2.0)[0]["status"] == "Archive request submitted"
    try:
        assert client.get_never_connected_pvs() == ["N:nobody"]
        assert client.get_currently_disconnected_pvs() == set()
        assert client.change_archival_parameters("N:nobody", 5.0, "SCAN")["status"] == "ok"
        assert client.get_pv_type_info("N:nobody")["samplingPeriod"] == "5.0"
    finally:
        assert client.abort_archiving_pv("N:nobody")["status"] == "ok"
    statuses = client.get_pv_statuses(["N:nobody", "N:long"])
    assert [status["status"] for status in statuses] == ["Not being archived", "Being archived"]


def test_archapp_searches_for_names(server: Pvark) -> None:
    found = ArchiveMgmt("127.0.0.1", server.port).search_pvs("N:*o*", do_print=False)
    assert sorted(found) == ["N:count", "N:double", "N:long", "N:short"]


def test_arvpyf_manages_pvs(server: Pvark) -> None:
    config = ArchiverConfig(f"{server.url}/mgmt/bpl")
    assert config.get_all_pvs("N:*o*") == ["N:count", "N:double", "N:long", "N:short"]
    assert config.get_archiving_status(["N:long", "N:nobody"]) == (["N:long"], ["N:nobody"])
    assert config.get_pv_type_info("N:long")["DBRType"] == "DBR_SCALAR_INT"
    details = {row["name"]: row["value"] for row in config.get_pv_details("N:long")}
    assert details["Is this PV currently connected?"] == "Yes"
    assert config.archive_pvs(["N:some", "N:other"])[1] == {"pvName": "N:other", "status": "Archive request submitted"}
    try:
        assert sorted(config.get_never_connected_pvs()) == ["N:other", "N:some"]
        assert {row["pvName"] for row in config.get_recently_added_pvs()} >= {"N:other", "N:some"}
        assert config.change_archival_parameters("N:some", 2.0, "SCAN")["status"] == "ok"
        assert [row["status"] for row in config.pause_archiving_pvs(["N:some", "N:other"])] == ["ok", "ok"]
        assert {row["pvName"] for row in config.get_paused_pvs_report()} == {"N:other", "N:some"}
        assert [row["status"] for row in config.resume_archiving_pvs(["N:some", "N:other"])] == ["ok", "ok"]
    finally:
        config.pause_archiving_pvs(["N:some", "N:other"])
        for pv in ("N:some", "N:other"):
            assert config.delete_pv(pv)["status"] == "ok"
    assert config.get_pv_status(["N:some"])[0]["status"] == "Not being archived"
