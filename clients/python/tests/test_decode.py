"""Answers of the archiver, as its API describes them, become exact numpy columns."""

import numpy as np
import pytest
from pvark import UnexpectedAnswer, _columns, _decode
from pvark._models import ManySamples, Samples
from pvark._times import to_iso


def chunk(type_name: str, values: list[object], **more: object) -> dict[str, object]:
    rows = range(len(values))
    zeros = [0 for _ in rows]
    seconds = [1_795_000_000 + row for row in rows]
    nanos = [999_999_999 for _ in rows]
    columns = {"seconds": seconds, "nanos": nanos, "values": values, "severity": zeros, "status": zeros}
    return {"type": type_name} | columns | more


def decode(*chunks: dict[str, object], **more: object) -> Samples:
    return _decode.samples({"pv": "A", "chunks": list(chunks)} | more)


def test_times_keep_every_nanosecond() -> None:
    samples = decode(chunk("f64", [1.5, 2.5]))
    assert samples.times.astype(np.int64).tolist() == [1_795_000_000_999_999_999, 1_795_000_001_999_999_999]


def test_integers_beyond_what_json_numbers_hold_stay_exact() -> None:
    samples = decode(chunk("i64", ["9007199254740993", -5]), chunk("i64", ["-9223372036854775808"]))
    assert samples.values.dtype == np.int64
    assert samples.values.tolist() == [9007199254740993, -5, -(2**63)]
    assert decode(chunk("u64", ["18446744073709551615"])).values.tolist() == [2**64 - 1]


def test_what_is_not_a_number_comes_as_text_and_becomes_one() -> None:
    values = decode(chunk("f64", ["NaN", "Infinity", "-Infinity", 0.1])).values
    assert np.isnan(values[0])
    assert values[1:].tolist() == [np.inf, -np.inf, 0.1]


@pytest.mark.parametrize("type_name", ["bool", "i8", "u8", "i16", "u16", "i32", "u32", "f32", "enum"])
def test_each_type_keeps_its_width(type_name: str) -> None:
    values = decode(chunk(type_name, [0, 1])).values
    assert values.dtype == _columns.DTYPES[type_name]
    assert values.tolist() == [0, 1]


def test_arrays_of_one_length_are_times_by_index_and_others_one_object_a_sample() -> None:
    samples = decode(chunk("i16[]", [[1, 2], [3, 4]]), chunk("i16[]", [[5, 6]]))
    assert samples.values.shape == (3, 2) and samples.values.dtype == np.int16
    assert samples.values[:, 1].tolist() == [2, 4, 6]
    samples = decode(chunk("i16[]", [[1, 2], [3, 4]]), chunk("i16[]", [[]]))
    assert samples.values.shape == (3,)
    assert [value.tolist() for value in samples.values] == [[1, 2], [3, 4], []]
    assert samples.values[2].dtype == np.int16


def test_a_pv_that_changes_its_type_gives_objects_of_each() -> None:
    samples = decode(chunk("f64", [1.5]), chunk("string", ["on"]))
    assert samples.type == "f64, string"
    assert samples.values.tolist() == [1.5, "on"]


def test_no_samples_give_empty_columns() -> None:
    samples = decode()
    assert len(samples) == len(samples.values) == len(samples.severity) == len(samples.message) == 0
    assert samples.type is None
    assert samples.times.dtype == np.dtype("datetime64[ns]")


def test_labels_name_the_states_and_unknown_states_stay_numbers() -> None:
    samples = decode(chunk("enum", [1, 0, 7]), metadata={"labels": ["Closed", "Open"]})
    assert samples.labels() == ["Open", "Closed", "7"]


def test_messages_and_pulses_are_there_where_sent() -> None:
    samples = decode(chunk("f64", [1.0]), chunk("f64", [2.0], message=["HIGH"], pulse=["9007199254740993"]))
    assert samples.message.tolist() == [None, "HIGH"]
    assert samples.pulse.tolist() == [0, 9007199254740993]


def test_limits_that_the_ioc_does_not_set_are_nan_or_none() -> None:
    metadata = _decode.metadata({"units": "mA", "display": {"low": 0, "high": "NaN"}, "alarm": None, "new_field": 1})
    assert metadata.units == "mA"
    assert metadata.display is not None and metadata.display[0] == 0 and np.isnan(metadata.display[1])
    assert metadata.alarm is None


def test_empty_bins_have_no_numbers() -> None:
    numbers = {name: [1.5, None] for name in ("min", "max", "mean", "std", "first", "last")}
    numbers |= {"time_weighted_mean": [1.25, 2.0], "covered": [0.75, 0.5]}
    counts = {name: [3, 0] for name in ("count", "nan", "invalid", "severity")}
    bins = _decode.bins({"pv": "A", "bins": {"start": [0.5, 1.25], "end": [1.25, 2.0]} | numbers | counts})
    assert bins.start.astype(np.int64).tolist() == [500_000_000, 1_250_000_000]
    assert bins.count.tolist() == [3, 0]
    assert bins.mean[0] == 1.5 and np.isnan(bins.mean[1])
    assert bins.time_weighted_mean.tolist() == [1.25, 2.0] and bins.covered.tolist() == [0.75, 0.5]


def test_bins_of_arrays_become_tables_with_as_many_elements_a_column_as_the_coarsest() -> None:
    bin_of = {"severity": 0, "invalid": 0}
    fine = {"start": 0.5, "end": 1.5, "arrays": 2, "length": 3, "elements_per_row": 1, "count": [2, 1, 0]}
    fine |= {"min": [1.0, 5.0, None], "max": [3.0, "Infinity", None], "mean": [2.0, 5.0, None]}
    coarse = {"start": 1.5, "end": 2.5, "arrays": 1, "length": 4, "elements_per_row": 2, "count": [2, 2]}
    coarse |= {"min": [-1.0, 7.0], "max": [0.0, 8.0], "mean": [-0.5, 7.5]}
    empty = {"start": 2.5, "end": 3.5, "arrays": 0, "length": 0, "elements_per_row": 1, "count": []}
    empty |= {"min": [], "max": [], "mean": []}
    rows = [row | bin_of for row in (fine, coarse, empty)]
    bins = _decode.array_bins({"pv": "A", "type": "f64[]", "array_bins": rows})
    assert bins.element.tolist() == [0, 2] and bins.elements_per_row == 2
    assert bins.count.tolist() == [[3, 0], [2, 2], [0, 0]]
    assert bins.min[0, 0] == 1.0 and np.isnan(bins.min[0, 1]) and bins.min[1].tolist() == [-1.0, 7.0]
    assert bins.max[0, 0] == np.inf and bins.max[1].tolist() == [0.0, 8.0]
    assert bins.mean[0, 0] == 3.0 and np.isnan(bins.mean[0, 1]) and np.isnan(bins.mean[2]).all()
    with pytest.raises(UnexpectedAnswer, match="A holds f64, no arrays"):
        _decode.array_bins({"pv": "A", "type": "f64", "bins": {}})
    with pytest.raises(UnexpectedAnswer, match=r"A holds f64\[\]: array_bins"):
        _decode.bins({"pv": "A", "type": "f64[]", "array_bins": []})


def test_printing_shows_both_ends() -> None:
    text = repr(decode(chunk("f64", [float(row) for row in range(1000)]), metadata={"units": "mA"}))
    lines = text.splitlines()
    assert lines[0] == "A  f64  mA  1,000 samples"
    assert len(lines) == 2 + 11
    assert lines[2].split() == ["2026-11-18T11:06:40.999999999Z", "0", "NO_ALARM"]
    assert lines[7].startswith("...")
    assert lines[-1].split()[1] == "999"


def test_pandas_gets_units_and_the_labels_of_states() -> None:
    pandas = pytest.importorskip("pandas")
    noted = {"labels": ["Closed", "Open", "Open"], "units": "", "description": "Shutter"}
    samples = decode(chunk("enum", [1, 0, 7, 2]), metadata=noted)
    frame = samples.to_pandas()
    assert frame["value"].tolist() == [1, 0, 7, 2]
    assert isinstance(frame["label"].dtype, pandas.CategoricalDtype)
    assert frame["label"].tolist() == samples.labels() == ["Open", "Closed", "7", "Open"]
    assert frame["label"].cat.categories.tolist() == ["Closed", "Open", "7"]
    assert frame.attrs["labels"] == noted["labels"] and frame.attrs["description"] == "Shutter"
    current = decode(chunk("f64", [1.5]), metadata={"units": "mA"})
    assert current.to_pandas().attrs == {"pv": "A", "type": "f64", "units": "mA"}
    assert current.to_pandas()["value"].attrs["units"] == "mA"
    both = ManySamples({"A": samples, "B": current}).to_pandas()
    assert both.attrs["units"]["B"] == "mA" and both.attrs["labels"] == {"A": noted["labels"]}
    assert both.loc["A"]["label"].tolist() == samples.labels()
    empty = decode(metadata=noted).to_pandas()
    assert len(empty) == 0 and list(empty.columns) == ["value", "severity", "status"]


def test_tables_of_other_libraries_hold_arrays_too() -> None:
    table = decode(chunk("f32[]", [[1, 2], [3, 4]]), metadata={"units": "V"})
    ragged = decode(chunk("f32[]", [[1, 2], [3]]))
    frame = pytest.importorskip("pandas").concat([table.to_pandas(), ragged.to_pandas()])
    assert [list(value) for value in frame["value"]] == [[1, 2], [3, 4], [1, 2], [3]]
    many = ManySamples({"A": table, "B": ragged, "C": decode(chunk("f32[]", [[5, 6, 7]]))})
    polars = pytest.importorskip("polars")
    assert many.to_polars()["value"].dtype == polars.List(polars.Float64)
    assert many.to_polars()["value"].to_list()[:2] == [[1, 2], [3, 4]]
    pytest.importorskip("xarray")
    assert table.to_xarray().dims == ("time", "index") and table.to_xarray().attrs["units"] == "V"
    assert many.to_xarray()["A"].dims == ("time:A", "index:A") and many.to_xarray()["C"].shape == (1, 3)


def test_damage_is_told_where_people_and_programs_look() -> None:
    samples = decode(chunk("f64", [1.0]), damage=["a block is damaged"])
    assert samples.damage == ("a block is damaged",)
    assert "a block is damaged" in repr(samples)


def test_pandas_gets_a_time_index_with_nanoseconds() -> None:
    pandas = pytest.importorskip("pandas")
    samples = decode(chunk("f64", [1.0, 2.0]))
    frame = samples.to_pandas()
    assert frame.index[0].value == 1_795_000_000_999_999_999
    assert frame["value"].tolist() == [1.0, 2.0]
    assert to_iso(pandas.Timestamp(1_795_000_000_999_999_999, tz="UTC")) == "2026-11-18T11:06:40.999999999Z"


def test_a_formula_over_arrays_is_a_table_where_all_have_one_length() -> None:
    steps = [
        {"time": "2026-01-01T00:00:00Z", "value": [1.5, None, "Infinity"]},
        {"time": "2026-01-01T00:00:01Z", "value": [2.0, 2.0, 2.0]},
    ]
    answer = {
        "expression": "A - B",
        "units": "mm",
        "steps": steps,
        "unequal": {"count": 0, "first": None},
        "until": None,
    }
    found = _decode.formula_steps(answer)
    np.testing.assert_array_equal(found.values, [[1.5, np.nan, np.inf], [2.0, 2.0, 2.0]])
    assert (found.unequal, found.until, found.units) == (0, None, "mm")
    broken = {"time": "2026-01-01T00:00:02Z", "value": None}
    first = {"time": "2026-01-01T00:00:02Z", "lengths": [3, 2]}
    more = {"steps": [*steps, broken], "unequal": {"count": 1, "first": first}, "until": "2026-01-01T00:00:03Z"}
    found = _decode.formula_steps(answer | more)
    assert found.values.ndim == 1 and found.values[1].tolist() == [2.0, 2.0, 2.0] and found.values[2] is None
    assert found.unequal == 1 and found.until == np.datetime64("2026-01-01T00:00:03", "ns")
