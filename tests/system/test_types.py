"""Each type of value, by both protocols and from three servers: what was recorded is what other clients read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pvark
import pytest
from archiver import Pvark
from ioc import Ioc
from referees import Reading, by_ca, by_pva, described_by_ca, plain, pva_context
from waiting import wait_for

DATABASE = Path(__file__).parent / "types.db"
RECORDS = [name for name in re.findall(r'^record\(\w+, "([^"]+)"', DATABASE.read_text(), re.M) if "never" not in name]
LONG_STRINGS = ["T:lsi.VAL$", "T:stringin.DESC$"]
CAPROTO = ["double", "integer", "text", "long_text", "state", "doubles", "floats", "shorts"]
SECONDS = 1_795_000_000
"""When all of p4p is stamped."""
AROUND = (str(SECONDS - 1), str(SECONDS + 1))
P4P = ["bool", *"bhilfds", "Bu", "Hu", "Iu", "Lu"]


@dataclass
class Served:
    """Three servers, and the archiver that records them all."""

    base: Ioc
    p4p: Ioc
    caproto: Ioc
    pvark: Pvark

    def recorded(self, pv: str) -> Reading:
        """The newest sample by the archiver's own API."""
        wait_for(f"a sample of {pv}", lambda: len(self.pvark.archive.get(pv, "1980-01-01T00:00:00Z")) > 0)
        answer = self.pvark.json(f"/api/v1/pvs/{quote(pv)}/samples?from=2100-01-01T00:00:00Z&to=2100-01-01T00:00:01Z")
        (chunk,) = answer["chunks"]
        last = {name: column[-1] for name, column in chunk.items() if name != "type"}
        value = from_json(chunk["type"], last["value"] if "value" in last else last["values"])
        return Reading(value, last["seconds"], last["nanos"], last["severity"], last["status"])


def from_json(type_name: str, value: Any) -> Any:
    """Large integers, NaN and the infinities come as texts."""
    if type_name.endswith("[]"):
        return [from_json(type_name[:-2], element) for element in value]
    if isinstance(value, str) and type_name in ("i64", "u64"):
        return int(value)
    if isinstance(value, str) and type_name in ("f32", "f64"):
        return float(value)
    return value


def same(recorded: Reading, read: Reading, precision: float = 0.0) -> None:
    """Equal in stamp and alarm, and in value to the last bit, or where 32-bit floats went through JSON nearly so."""
    if isinstance(recorded.value, list) and not isinstance(read.value, list):
        read = replace(read, value=[read.value])  # an array of one, which caproto's synchronous client does not tell
    assert (recorded.seconds, recorded.nanos) == (read.seconds, read.nanos)
    assert (recorded.severity, recorded.status) == (read.severity, read.status)
    if isinstance(read.value, float) and math.isnan(read.value):
        assert math.isnan(recorded.value)
    else:
        assert recorded.value == (pytest.approx(read.value, rel=precision) if precision else read.value)


@pytest.fixture(scope="module")
def served(module_folder: Path) -> Iterator[Served]:
    base = Ioc.of_records(module_folder, DATABASE)
    p4p = Ioc.of_script(module_folder, "p4p_types.py")
    caproto = Ioc.of_script(module_folder, "caproto_types.py")
    iocs = [base, p4p, caproto]
    pvark = Pvark(module_folder, iocs)
    try:
        for ioc in iocs:
            ioc.start()
        pvark.start()
        names = [f"ca://{name}" for name in [*RECORDS, *LONG_STRINGS, "T:never"]]
        names += [f"pva://{name}.VAL" for name in RECORDS]
        names += [f"ca://C:{name}" for name in CAPROTO]
        names += [f"pva://P:{name}{suffix}" for name in P4P for suffix in ("", ":array")]
        names += [f"pva://P:{name}" for name in ("described", "enum", "table", "image", "odd")]
        assert set(pvark.archive.add(*names).values()) == {"added"}
        yield Served(base, p4p, caproto, pvark)
    finally:
        pvark.kill()
        for ioc in iocs:
            ioc.kill()


@pytest.mark.parametrize("pv", RECORDS)
def test_a_record_by_channel_access_is_what_caproto_reads(served: Served, pv: str) -> None:
    same(served.recorded(pv), by_ca(served.base, pv), 1e-7 if "float" in pv or "one" in pv else 0)


@pytest.mark.parametrize("pv", RECORDS)
def test_a_record_by_pvaccess_is_what_p4p_reads(served: Served, pv: str) -> None:
    with pva_context(served.base) as context:
        read = by_pva(context, pv)
    same(served.recorded(f"{pv}.VAL"), read, 1e-7 if "float" in pv or "one" in pv else 0)


@pytest.mark.parametrize("pv", CAPROTO)
def test_a_pv_of_a_caproto_server_is_what_caproto_reads(served: Served, pv: str) -> None:
    same(served.recorded(f"C:{pv}"), by_ca(served.caproto, f"C:{pv}"))


@pytest.mark.parametrize("suffix", ["", ":array"])
@pytest.mark.parametrize("pv", P4P)
def test_a_pv_of_a_p4p_server_is_what_p4p_reads(served: Served, pv: str, suffix: str) -> None:
    with pva_context(served.p4p) as context:
        read = by_pva(context, f"P:{pv}{suffix}")
    same(served.recorded(f"P:{pv}{suffix}"), read, 1e-7 if pv == "f" else 0)


@pytest.mark.parametrize("pv", LONG_STRINGS)
def test_a_long_string_by_channel_access_holds_its_whole_text(served: Served, pv: str) -> None:
    recorded = served.recorded(pv).value
    text = recorded if isinstance(recorded, str) else bytes(recorded).split(b"\0")[0].decode()
    read = bytes(by_ca(served.base, pv).value or []).split(b"\0")[0].decode()
    assert text == read


def test_alarm_words_and_the_user_tag_of_pvaccess_are_kept(served: Served) -> None:
    served.recorded("P:described")
    samples = served.pvark.archive.get("P:described", "2000-01-01T00:00:00Z")
    assert samples.message.tolist() == ["words of the alarm"]
    assert samples.pulse.tolist() == [42]


def test_units_precision_and_limits_by_channel_access(served: Served) -> None:
    read = described_by_ca(served.base, "T:ai")
    served.recorded("T:ai")
    metadata = served.pvark.archive.metadata("T:ai")[-1]
    assert metadata.units == plain(read.units) == "mA"
    assert metadata.precision == read.precision == 3
    assert metadata.display == (read.lower_disp_limit, read.upper_disp_limit) == (-10, 10)
    assert metadata.warning == (read.lower_warning_limit, read.upper_warning_limit) == (-1, 3)
    assert metadata.alarm == (read.lower_alarm_limit, read.upper_alarm_limit) == (-2, 5)
    assert metadata.server == f"127.0.0.1:{served.base.ca_port}"


def test_units_and_limits_by_pvaccess(served: Served) -> None:
    served.recorded("P:described")
    metadata = served.pvark.archive.metadata("P:described")[-1]
    assert (metadata.units, metadata.description) == ("kV", "With everything")
    limits = (metadata.display, metadata.control, metadata.warning, metadata.alarm)
    assert limits == ((-5, 5), (-4, 4), (-2, 2), (-3, 3))
    served.recorded("T:ai.VAL")
    assert served.pvark.archive.metadata("T:ai.VAL")[-1].units == "mA"


@pytest.mark.parametrize(
    ("pv", "labels"),
    [
        ("T:bi", ("Closed", "Open")),
        ("T:mbbi", ("Zero", "Eins", "Deux", "Tres")),
        ("T:mbbi.VAL", ("Zero", "Eins", "Deux", "Tres")),
        ("C:state", ("one", "two", "three")),
        ("P:enum", ("Off", "On", "Broken")),
    ],
)
def test_the_names_of_states_are_kept(served: Served, pv: str, labels: tuple[str, ...]) -> None:
    served.recorded(pv)
    samples = served.pvark.archive.get(pv, "2000-01-01T00:00:00Z")
    assert samples.type == "enum"
    assert samples.metadata.labels[: len(labels)] == labels
    assert samples.labels()[-1] == labels[int(samples.values[-1])]


def test_structures_keep_every_member(served: Served) -> None:
    served.recorded("P:table")
    table = served.pvark.archive.get("P:table", "2000-01-01T00:00:00Z").values[-1]
    assert table["value"] == {"name": ["a", "b"], "value": [1.5, -2.5]}
    assert table["labels"] == ["name", "value"]
    odd = served.recorded("P:odd").value
    assert odd["count"] == 3
    assert odd["inner"] == {"x": 0.5, "names": ["p", "q"]}
    assert 7 in (odd["either"], *(odd["either"].values() if isinstance(odd["either"], dict) else ()))
    image = served.recorded("P:image").value
    assert list(range(12)) in (image["value"], *(image["value"].values() if isinstance(image["value"], dict) else ()))


def test_arrays_have_bins_of_each_element_and_texts_have_none(served: Served) -> None:
    for pv, number in (("P:d:array", -1e-300), ("P:Lu:array", 2.0**64), ("P:b:array", -128), ("P:bool:array", 1)):
        served.recorded(pv)
        bins = served.pvark.archive.array_bins(pv, *AROUND, 2)
        assert bins.arrays.tolist() == [0, 1], pv
        for table in (bins.min, bins.max, bins.mean):
            assert np.isnan(table[0]).all() and table[1].tolist() == [number, number], pv
    # Beside numbers, on the same edges, and only where it is asked for.
    served.recorded("P:d")
    told = served.pvark.archive.view(["P:d:array", "P:d"], *AROUND, 2, elements=1)
    arrays = told["P:d:array"]
    assert arrays["arrays"].tolist() == [1] and arrays["elements"].tolist() == [2], arrays
    assert arrays["min"].tolist() == arrays["max"].tolist() == [-1e-300] and np.isnan(arrays["std"]).all()
    assert not told["P:d"]["arrays"].any() and "arrays" not in served.pvark.archive.view("P:d:array", *AROUND).columns
    column = served.pvark.json(f"/api/v1/pvs/P:table/bins?field=value.value&from={SECONDS}&to={SECONDS + 1}&bins=1")
    assert column["array_bins"][0]["min"] == [1.5, -2.5]
    served.recorded("P:s:array")
    with pytest.raises(pvark.BadRequest, match=r"holds string\[\], which has no minimum"):
        served.pvark.archive.array_bins("P:s:array", *AROUND)


def test_a_record_that_was_never_processed_counts_as_a_bad_stamp(served: Served) -> None:
    """Its stamp is of 1990: recorded or not, it must not pass as an ordinary sample."""
    counters = wait_for("the first value of T:never", lambda: served.pvark.archive.pv("T:never").details["counters"])
    assert wait_for("the bad stamp", lambda: served.pvark.archive.status().samples["bad_stamps"]) >= 1, counters


@pytest.mark.parametrize("pv", [*RECORDS, *(f"{pv}.VAL" for pv in RECORDS), *(f"C:{pv}" for pv in CAPROTO)])
def test_the_archiver_appliances_json_holds_the_same(served: Served, pv: str) -> None:
    recorded = served.recorded(pv)
    times = "from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z"
    status, headers, body = served.pvark.request("GET", f"/retrieval/data/getData.json?pv={quote(pv)}&{times}")
    assert (status, headers["content-type"]) == (200, "application/json")
    ((answer,),) = [json.loads(body)]
    last = answer["data"][-1]
    stamp_and_alarm = (last["secs"], last["nanos"], last["severity"], last["status"])
    assert stamp_and_alarm == (recorded.seconds, recorded.nanos, recorded.severity, recorded.status)
    if isinstance(recorded.value, float) and math.isnan(recorded.value):
        assert math.isnan(last["val"])
    elif isinstance(recorded.value, int) and abs(recorded.value) > 2**53:
        assert last["val"] == pytest.approx(recorded.value, abs=2)
    else:
        assert last["val"] == recorded.value
