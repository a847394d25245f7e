//! Arrow streams, read back as a client reads them.

use crate::served;

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, cast::AsArray, types};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{DataType, TimeUnit};
use served::{Answer, Archive, time};

const RANGE: &str = "from=2025-12-31T23:59:59Z&to=2026-01-01T00:00:05Z&format=arrow";

fn read(answer: &Answer) -> Vec<RecordBatch> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/vnd.apache.arrow.stream"));
    StreamReader::try_new(answer.body.as_slice(), None).unwrap().map(Result::unwrap).collect()
}

#[test]
fn samples_come_as_typed_columns_with_exact_times() {
    let archive = Archive::with_history();
    let batches = read(&archive.get(&format!("/api/v1/pvs/T:DOUBLE/samples?{RANGE}")));
    let schema = batches[0].schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["time", "value", "severity", "status", "message", "pulse"]);
    assert_eq!(schema.field(0).data_type(), &DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())));
    assert_eq!((&*schema.metadata()["pv"], &*schema.metadata()["units"]), ("T:DOUBLE", "mA"));

    let column = |index: usize| batches.iter().map(move |batch| batch.column(index));
    let times: Vec<i64> =
        column(0).flat_map(|c| c.as_primitive::<types::TimestampNanosecondType>().values().to_vec()).collect();
    assert_eq!(times, [-10.0, -0.5, 0.0, 0.000_001, 3.0, 4.0].map(|seconds| time(seconds).nanos()));
    let values: Vec<u64> = column(1)
        .flat_map(|c| c.as_primitive::<types::Float64Type>().values().iter().map(|v| v.to_bits()).collect::<Vec<_>>())
        .collect();
    assert_eq!(values, [-1.25, 1e-7, f64::NAN, -0.0, 4.5, f64::INFINITY].map(f64::to_bits));
    let last = batches.last().unwrap();
    assert_eq!(last.column(2).as_primitive::<types::UInt8Type>().values().last(), Some(&2));
    assert_eq!(last.column(4).as_string::<i32>().value(last.num_rows() - 1), "too \"high\"");
    assert!(last.column(4).is_null(0));
}

#[test]
fn every_type_has_its_column() {
    let archive = Archive::with_history();
    let of = |pv: &str| read(&archive.get(&format!("/api/v1/pvs/{pv}/samples?{RANGE}")));
    let lists = of("T:ARRAY");
    let list = lists[0].column(1).as_list::<i64>();
    assert_eq!((0..3).map(|row| list.value(row).len()).collect::<Vec<_>>(), [3, 0, 4]);
    assert_eq!(of("T:LONG")[0].column(1).as_primitive::<types::Int64Type>().value(1), i64::MAX);
    assert_eq!(of("T:STRING")[0].column(1).as_string::<i32>().value(1), "with, comma and \"quotes\"");
    assert_eq!(of("T:BYTE")[0].column(1).as_primitive::<types::UInt8Type>().values(), &[32, 10, 27, 13, 9]);
    assert_eq!(of("T:STRUCTURE")[0].column(1).as_binary::<i32>().len(), 1);
    let states = of("T:ENUM");
    assert_eq!(states[0].column(1).as_primitive::<types::Int32Type>().values(), &[1, 2]);
    assert_eq!(states[0].schema().metadata()["labels"], r#"["Off","On","Broken"]"#);
}

#[test]
fn arrays_of_a_view_are_rows_of_elements_in_the_columns_of_numbers() {
    let archive = Archive::with_history();
    let range = "from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:04Z&width=1";
    let of = |query: &str| read(&archive.get(&format!("/api/v1/view?{range}&{query}")));
    let batches = of("pv=T:DOUBLE&pv=T:ARRAY&pv=T:BYTE&elements=2");
    let schema = batches[0].schema();
    let column = |batch: &RecordBatch, name: &str| Arc::clone(batch.column_by_name(name).unwrap());
    let counts = |name: &str| -> Vec<Vec<Option<u64>>> {
        batches.iter().map(|batch| column(batch, name).as_primitive::<types::UInt64Type>().iter().collect()).collect()
    };
    let pvs: Vec<Vec<u16>> =
        batches.iter().map(|batch| batch.column(0).as_primitive::<types::UInt16Type>().values().to_vec()).collect();
    // Of its bins the second has an array without elements and the last none: they have no rows.
    assert_eq!(pvs, [vec![0; 4], vec![1; 2], vec![1; 2], vec![2; 4]]);
    assert_eq!(counts("element")[1..3], [[Some(0), Some(2)], [Some(0), Some(2)]]);
    assert_eq!(counts("elements")[1..3], [[Some(2), Some(1)], [Some(2), Some(2)]]);
    assert_eq!((&counts("element")[0], &counts("arrays")[3]), (&vec![None; 4], &vec![None; 4]));
    assert_eq!(counts("arrays")[1..3], [[Some(1), Some(1)], [Some(1), Some(1)]]);
    let least = column(&batches[2], "min");
    assert_eq!(least.as_primitive::<types::Float64Type>().values(), &[0.1, 0.3]);
    assert_eq!((column(&batches[2], "std").null_count(), column(&batches[0], "std").null_count() < 4), (2, true));
    let told: serde_json::Value = serde_json::from_str(&schema.metadata()["pvs"]).unwrap();
    assert_eq!(told[1]["type"], "f64[]");
    // Of numbers it says what it says without.
    let plain = of("pv=T:DOUBLE&pv=T:BYTE");
    for (batch, with) in plain.iter().zip([&batches[0], &batches[3]]) {
        assert_eq!(batch.columns()[1..], with.columns()[1..batch.num_columns()]);
    }
}

#[test]
fn bins_of_arrays_are_rows_of_elements_a_batch_for_each_bin() {
    let archive = Archive::with_history();
    let range = "from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:03Z&format=arrow";
    let batches = read(&archive.get(&format!("/api/v1/pvs/T:ARRAY/bins?bins=3&elements=2&{range}")));
    let schema = batches[0].schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let expected = ["start", "end", "arrays", "severity", "element", "elements", "count", "min", "max", "mean"];
    assert_eq!((names, &*schema.metadata()["pv"]), (expected.to_vec(), "T:ARRAY"));
    // The second bin has an array without elements, and the last one four, two in a row.
    let starts = |batch: &RecordBatch| batch.column(0).as_primitive::<types::TimestampNanosecondType>().value(0);
    assert_eq!(batches.iter().map(starts).collect::<Vec<_>>(), [0.0, 2.0].map(|seconds| time(seconds).nanos()));
    let counts = |column: usize| {
        batches.iter().flat_map(move |b| b.column(column).as_primitive::<types::UInt64Type>().values().to_vec())
    };
    assert_eq!(counts(4).collect::<Vec<_>>(), [0, 2, 0, 2]);
    assert_eq!(counts(5).collect::<Vec<_>>(), [2, 1, 2, 2]);
    assert_eq!(counts(6).collect::<Vec<_>>(), [1, 1, 2, 2]);
    let numbers = |column: usize| {
        batches.iter().flat_map(move |b| b.column(column).as_primitive::<types::Float64Type>().values().to_vec())
    };
    assert_eq!(numbers(7).collect::<Vec<_>>(), [1.0, -2.5, 0.1, 0.3]);
    assert_eq!(numbers(8).collect::<Vec<_>>(), [1.0, -2.5, 0.2, 0.4]);
}

#[test]
fn no_samples_are_a_stream_without_rows_and_a_limit_cuts() {
    let archive = Archive::with_history();
    assert!(read(&archive.get(&format!("/api/v1/pvs/T:NONE/samples?{RANGE}"))).is_empty());
    let rows = |limit: usize| {
        let batches = read(&archive.get(&format!("/api/v1/pvs/T:DOUBLE/samples?{RANGE}&limit={limit}")));
        batches.iter().map(RecordBatch::num_rows).sum::<usize>()
    };
    assert_eq!([rows(0), rows(1), rows(3), rows(100)], [0, 1, 3, 6]);
    // Up to the limit the type does not change.
    assert_eq!(archive.get(&format!("/api/v1/pvs/T:CHANGE/samples?{RANGE}&limit=1")).status, 200);
}

#[test]
fn bins_come_as_columns_too() {
    let archive = Archive::with_history();
    let batches = read(&archive.get(&format!("/api/v1/pvs/T:DOUBLE/bins?{RANGE}&bins=3")));
    let column = |name: &str| batches[0].column_by_name(name).unwrap().clone();
    assert_eq!(column("count").as_primitive::<types::UInt64Type>().values(), &[3, 0, 2]);
    let max = column("max");
    assert!(max.is_null(1));
    assert_eq!(max.as_primitive::<types::Float64Type>().value(2), f64::INFINITY);
}

/// All streams of an answer, each with its schema and its batches.
fn streams(answer: &Answer) -> Vec<(arrow_schema::SchemaRef, Vec<RecordBatch>)> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let mut found = Vec::new();
    let mut left = answer.body.as_slice();
    while !left.is_empty() {
        let mut reader = StreamReader::try_new(&mut left, None).unwrap();
        let batches = reader.by_ref().map(Result::unwrap).collect();
        found.push((reader.schema(), batches));
    }
    found
}

#[test]
fn several_pvs_are_streams_of_their_own_types() {
    let archive = Archive::with_history();
    let found = streams(&archive.get(&format!("/api/v1/samples?pv=T:CHANGE&pv=T:NONE&pv=T:LONG&{RANGE}")));
    let of = |index: usize| {
        let (schema, batches) = &found[index];
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        (schema.metadata()["pv"].as_str(), schema.metadata()["type"].as_str(), schema.fields().len(), rows)
    };
    let expected = [
        ("T:CHANGE", "i32", 6, 1),
        ("T:CHANGE", "f64", 6, 1),
        ("T:CHANGE", "string", 6, 1),
        ("T:CHANGE", "i16", 6, 1),
        ("T:NONE", "enum", 6, 0),
        ("T:LONG", "i64", 6, 2),
    ];
    assert_eq!((0..found.len()).map(of).collect::<Vec<_>>(), expected);
}

#[test]
fn columns_come_when_they_are_needed_and_stay() {
    let archive = Archive::with_history();
    let found = streams(&archive.get(&format!("/api/v1/samples?pv=T:DOUBLE&columns=needed&{RANGE}&before=true")));
    let names = |index: usize| found[index].0.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    // The sample before the range is a batch by itself, without an alarm.
    assert_eq!(names(0), ["time", "value"]);
    assert_eq!(names(1), ["time", "value", "severity", "status", "message", "pulse"]);
    assert_eq!(found.len(), 2);
    let quiet = streams(&archive.get(&format!("/api/v1/samples?pv=T:BYTE&columns=needed&{RANGE}")));
    assert_eq!((quiet.len(), quiet[0].0.fields().len()), (1, 2));
}

#[test]
fn what_a_limit_cuts_off_is_told_behind_the_samples() {
    let archive = Archive::with_history();
    let found = streams(&archive.get(&format!("/api/v1/samples?pv=T:BYTE&pv=T:LONG&limit=2&{RANGE}")));
    let told: Vec<_> = found.iter().map(|(schema, _)| schema.metadata().contains_key("truncated")).collect();
    assert_eq!(told, [false, true, false]);
    assert_eq!(found[1].0.metadata()["pv"], "T:BYTE");
}

#[test]
fn values_at_a_time_stand_in_one_stream_whatever_their_type() {
    let archive = Archive::with_history();
    let pvs = "pv=T:LONG&pv=T:ENUM&pv=T:STRING&pv=T:NONE&pv=T:NOSUCH";
    let found = streams(&archive.get(&format!("/api/v1/at?{pvs}&time=2026-01-01T00:00:01Z&format=arrow")));
    assert_eq!(found.len(), 2);
    let batch = &found[0].1[0];
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let (number, text) = (column("number").as_primitive::<types::Float64Type>(), column("text").as_string::<i32>());
    assert_eq!(
        (text.value(0), number.value(1), text.value(2)),
        ("9223372036854775807", 1.0, "with, comma and \"quotes\"")
    );
    assert!(text.is_null(1) && number.is_null(2) && column("time").is_null(3));
    assert_eq!(found[1].0.metadata()["unknown"], r#"["T:NOSUCH"]"#);
}
