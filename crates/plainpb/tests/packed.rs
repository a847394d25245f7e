//! Stores that are packed: zip files of both layouts, and Parquet files with the columns of the Appliance's messages.

mod archives;
mod encode;

use std::{fs, io::Write, ops::ControlFlow, path::Path, sync::Arc};

use archive::{Key, PvName, Source};
use archives::{at, names, range, write};
use encode::{Line, Val, file, header, line};
use flate2::{Compression, Crc, write::DeflateEncoder};
use parquet::{
    basic::{Compression as Codec, ZstdLevel},
    data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type},
    file::{metadata::KeyValue, properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use plainpb::{Piece, PlainPb, read_chunks};
use sample::{Column, GapCause, Sample, Severity, TimeRange, Timestamp, Value};

fn samples(archive: &PlainPb, name: &str, range: TimeRange) -> Vec<Sample> {
    let batches = archive.samples(Key::Name(&PvName::new(name).unwrap()), range).map(Result::unwrap);
    batches.flat_map(|batch| (0..batch.len()).map(|row| batch.get(row)).collect::<Vec<_>>()).collect()
}

/// A zip file of such members, each of which is deflated or not.
fn zip(members: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content, is_deflated) in members {
        let mut crc = Crc::new();
        crc.update(content);
        let packed = if *is_deflated {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        } else {
            content.to_vec()
        };
        let mut common = vec![20, 0, 0, 0, if *is_deflated { 8 } else { 0 }, 0, 0, 0, 0, 0];
        common.extend(crc.sum().to_le_bytes());
        common.extend((packed.len() as u32).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        directory.extend([b"PK\x01\x02\x14\0".as_slice(), &common, &[0; 10]].concat());
        directory.extend((out.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        out.extend([b"PK\x03\x04".as_slice(), &common, name.as_bytes(), &packed].concat());
    }
    let start = out.len() as u32;
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([(members.len() as u16).to_le_bytes(), (members.len() as u16).to_le_bytes()].concat());
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}

fn good(second: i64) -> Vec<u8> {
    line(&Line { second: second as u32, ..Line::of(Val::Double(second as f64)) })
}

#[test]
fn zip_files_of_both_layouts_are_read_like_folders() {
    let folder = tempfile::tempdir().unwrap();
    let day = |pv: &str, day: i64| file(&header(6, pv, 2026), (day * 86_400..(day + 1) * 86_400).step_by(3).map(good));
    let (first, second, third) = (day("LAB:X", 0), day("LAB:X", 1), day("LAB:X", 2));
    let members: [(&str, &[u8], bool); 3] =
        [("X:2026_01_01.pb", &first, true), ("X:2026_01_02.pb", &second, false), ("X:2026_01_03.pb", &third, true)];
    write(folder.path(), "LAB/X.zip", &zip(&members));
    let (older, odd) = (day("LAB:Y", 0), day("LAB:Y", 1));
    write(
        folder.path(),
        "LAB/Y:_pb.zip",
        &zip(&[("LAB/Y:2026_01_01.pb", &older, true), ("LAB/Y:2026_01_02.mean_60.pb", &odd, true)]),
    );
    let archive = PlainPb::new(folder.path().to_owned(), []);
    assert_eq!(
        (names(&archive).as_slice(), archive.health().files),
        (&["LAB:X".to_owned(), "LAB:Y".to_owned()][..], 4)
    );
    for (pv, days) in [("LAB:X", 3), ("LAB:Y", 1)] {
        for (t0, t1) in [(0, 400_000), (80_000, 100_000), (86_400, 86_401), (100_000, 100_001)] {
            let expected: Vec<i64> = (0..days * 86_400).step_by(3).filter(|s| (t0..t1).contains(s)).collect();
            let found = samples(&archive, pv, range(t0, t1));
            assert!(found.iter().map(|s| s.time).eq(expected.iter().map(|s| at(*s))), "{pv} {t0} {t1}");
        }
    }
    let last = archive.last_before(Key::Name(&PvName::new("LAB:X").unwrap()), at(100_000)).unwrap();
    assert_eq!(last.map(|sample| sample.time), Some(at(99_999)));
    // What an import sends is every line once, whatever the stretches.
    let mut lines = 0;
    for t0 in (0..3 * 86_400).step_by(50_000) {
        for mut slice in archive.slices(&PvName::new("LAB:X").unwrap(), range(t0, t0 + 50_000)).unwrap() {
            while let Some(piece) = slice.next(100_000).unwrap() {
                let Piece::Lines(chunk) = piece else { panic!("{piece:?}") };
                lines += read_chunks(&chunk).0.iter().flat_map(|c| &c.batches).map(|batch| batch.len()).sum::<usize>();
            }
        }
    }
    assert_eq!(lines, 86_400);
}

#[test]
fn damaged_zip_files_cost_themselves_only() {
    let folder = tempfile::tempdir().unwrap();
    let content = file(&header(6, "LAB:X", 2026), (0..9000).map(good));
    let whole = zip(&[("X:2026_01_01.pb", &content, true)]);
    let mut flipped = whole.clone();
    flipped[whole.len() / 3] ^= 0x10;
    write(folder.path(), "LAB/X.zip", &flipped);
    let archive = PlainPb::new(folder.path().to_owned(), []);
    let read: Vec<_> = archive.samples(Key::Name(&PvName::new("LAB:X").unwrap()), TimeRange::ALL).collect();
    assert!(read.iter().any(Result::is_err) || archive.health().files_bad > 0, "damage is told");
    for cut in (0..whole.len()).step_by(97) {
        write(folder.path(), "LAB/X.zip", &whole[..cut]);
        let archive = PlainPb::new(folder.path().to_owned(), []);
        let pv = PvName::new("LAB:X").unwrap();
        let read: Vec<_> = archive.samples(Key::Name(&pv), TimeRange::ALL).collect();
        assert!(read.iter().all(Result::is_err), "cut at {cut}");
        assert!(!read.is_empty() || archive.health().files_bad > 0, "cut at {cut} and told");
    }
}

#[test]
fn files_in_a_zip_file_that_cannot_be_read_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let day = |day: i64| file(&header(6, "LAB:X", 2026), (day * 86_400..day * 86_400 + 100).map(good));
    let (first, second) = (day(0), day(1));
    let of = |name: &str| zip(&[("X:2026_01_01.pb", &first, true), (name, &second, true)]);
    let whole = of("X:2026_01_02.pb");
    let entry = whole.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
    let head = whole.windows(4).rposition(|bytes| bytes == b"PK\x03\x04").unwrap();
    let end = whole.windows(4).rposition(|bytes| bytes == b"PK\x05\x06").unwrap();
    let with = |place: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[place] = byte;
        bytes
    };
    let pv = PvName::new("LAB:X").unwrap();
    for (bytes, why) in [
        (with(entry + 8, 1), "X:2026_01_02.pb in it is encrypted"),
        (with(entry + 10, 93), "X:2026_01_02.pb in it is neither stored nor deflated"),
        (with(entry + 23, 1), "X:2026_01_02.pb in it is longer than what there is"),
        (with(head, b'p'), "X:2026_01_02.pb in it has no head where it should begin"),
        (of("X:2026_01_02.parquet"), "X:2026_01_02.parquet in it is a Parquet file"),
    ] {
        write(folder.path(), "LAB/X.zip", &bytes);
        let archive = PlainPb::new(folder.path().to_owned(), []);
        assert_eq!(samples(&archive, "LAB:X", TimeRange::ALL).len(), 100, "{why}");
        let health = archive.health();
        assert_eq!(health.files_bad, 1, "{why}");
        assert!(health.problem.as_ref().is_some_and(|problem| problem.contains(why)), "{why}: {health:?}");
        let archive = PlainPb::new(folder.path().to_owned(), []);
        archive.pvs(&mut |_| ControlFlow::Continue(())).unwrap();
        let health = archive.health();
        assert_eq!((health.pvs, health.files, health.files_bad), (1, 2, 1), "{why}");
    }
    // A directory that ends early, and an end that says another number.
    for bytes in [with(entry, b'p'), with(end + 10, 3)] {
        write(folder.path(), "LAB/X.zip", &bytes);
        let archive = PlainPb::new(folder.path().to_owned(), []);
        assert!(archive.samples(Key::Name(&pv), TimeRange::ALL).any(|batch| batch.is_err()));
        let archive = PlainPb::new(folder.path().to_owned(), []);
        archive.pvs(&mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!((archive.health().pvs, archive.health().files_bad), (0, 1));
    }
}

#[test]
fn a_torn_line_at_the_end_of_a_deflated_file_has_the_bytes_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut content = file(&header(6, "LAB:X", 2026), (0..100).map(good));
    content.extend([b'x'; 2500]);
    write(folder.path(), "LAB/X.zip", &zip(&[("X:2026_01_01.pb", &content, true)]));
    let archive = PlainPb::new(folder.path().to_owned(), []);
    for bytes_max in [1000, 100_000] {
        let mut torn = Vec::new();
        for mut slice in archive.slices(&PvName::new("LAB:X").unwrap(), TimeRange::ALL).unwrap() {
            while let Some(piece) = slice.next(bytes_max).unwrap() {
                if let Piece::Torn(bytes) = piece {
                    torn.push(bytes);
                }
            }
        }
        assert_eq!(torn, [2500], "{bytes_max}");
    }
}

/// The schema that parquet-protobuf makes of the messages.
fn schema(val: &str) -> String {
    format!(
        "message EPICS.Sample {{
            required int32 secondsintoyear = 1; required int32 nano = 2; {val} = 3;
            optional int32 severity = 4; optional int32 status = 5; optional int32 repeatcount = 6;
            repeated group fieldvalues = 7 {{ required binary name (STRING) = 1; required binary val (STRING) = 2; }}
            optional boolean fieldactualchange = 8; }}"
    )
}

/// Writes columns as they stand: i32s, values by a function, optional i32s, fields.
fn parquet_file(path: &Path, kind: &str, val: &str, codec: Codec, groups: &[(usize, usize)], arrays: bool) {
    let pair = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let properties = WriterProperties::builder().set_compression(codec).set_key_value_metadata(Some(vec![
        pair("pvName", "LAB:P"),
        pair("year", "2026"),
        pair("ArchDBRType", kind),
    ]));
    let schema = Arc::new(parse_message_type(&schema(val)).unwrap());
    let out = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties.build())).unwrap();
    for (from, to) in groups {
        let rows: Vec<i32> = (*from..*to).map(|row| row as i32).collect();
        let mut group = writer.next_row_group().unwrap();
        let mut index = 0;
        while let Some(mut column) = group.next_column().unwrap() {
            let some = |row: &&i32| **row % 10 == 0;
            match index {
                0 => _ = column.typed::<Int32Type>().write_batch(&rows, None, None).unwrap(),
                1 => _ = column.typed::<Int32Type>().write_batch(&vec![7; rows.len()], None, None).unwrap(),
                2 if arrays => {
                    // A row has as many elements as its number has over 3.
                    let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
                    for row in &rows {
                        for element in 0..(row % 3).max(1) {
                            repeated.push(i16::from(element > 0));
                            defined.push(i16::from(row % 3 > 0));
                        }
                        values.extend((0..row % 3).map(|element| f64::from(row * 10 + element)));
                    }
                    column.typed::<DoubleType>().write_batch(&values, Some(&defined), Some(&repeated)).unwrap();
                }
                2 => {
                    let values: Vec<f64> = rows.iter().map(|row| f64::from(*row) / 3.0).collect();
                    column.typed::<DoubleType>().write_batch(&values, None, None).unwrap();
                }
                3 | 4 => {
                    let levels: Vec<i16> = rows.iter().map(|row| i16::from(some(&row))).collect();
                    let values: Vec<i32> = rows.iter().filter(some).map(|_| index - 1).collect();
                    column.typed::<Int32Type>().write_batch(&values, Some(&levels), None).unwrap();
                }
                6 | 7 => {
                    // Two fields in each tenth row.
                    let (mut defined, mut repeated, mut values) = (Vec::new(), Vec::new(), Vec::new());
                    for row in &rows {
                        let fields = if some(&row) { 2 } else { 0 };
                        defined.extend(vec![i16::from(fields > 0); fields.max(1)]);
                        repeated.extend((0..fields.max(1)).map(|field| i16::from(field > 0)));
                        let texts = match index {
                            6 => ["cnxlostepsecs", "cnxregainedepsecs"].map(str::to_owned),
                            _ => [at(i64::from(*row) - 2), at(i64::from(*row))]
                                .map(|t| t.seconds_and_nanos().0.to_string()),
                        };
                        values.extend(texts.iter().take(fields).map(|text| ByteArray::from(text.as_str())));
                    }
                    column.typed::<ByteArrayType>().write_batch(&values, Some(&defined), Some(&repeated)).unwrap();
                }
                5 => {
                    let none = vec![0i16; rows.len()];
                    column.typed::<Int32Type>().write_batch(&[], Some(&none), None).unwrap();
                }
                _ => {
                    let none = vec![0i16; rows.len()];
                    let booleans = column.typed::<parquet::data_type::BoolType>();
                    booleans.write_batch(&[], Some(&none), None).unwrap();
                }
            }
            column.close().unwrap();
            index += 1;
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn parquet_files_are_read_as_what_they_were_written_from() {
    for codec in [Codec::UNCOMPRESSED, Codec::SNAPPY, Codec::ZSTD(ZstdLevel::default())] {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("LAB")).unwrap();
        let path = folder.path().join("LAB/P:2026.parquet");
        parquet_file(&path, "DBR_SCALAR_DOUBLE", "required double val", codec, &[(1, 4000), (4000, 9000)], false);
        fs::write(folder.path().join("LAB/~TempFile~P:2026.parquet"), "half").unwrap();
        let archive = PlainPb::new(folder.path().to_owned(), []);
        let found = samples(&archive, "LAB:P", range(100, 8000));
        assert_eq!(found.len(), 7900);
        for (sample, row) in found.iter().zip(100i32..) {
            let (seconds, nanos) = at(i64::from(row)).seconds_and_nanos();
            assert_eq!(sample.time, Timestamp::from_seconds(seconds, nanos + 7));
            assert_eq!(sample.value, Value::F64(f64::from(row) / 3.0));
            let alarmed = row % 10 == 0;
            assert_eq!(sample.alarm.severity, Severity::from_number(if alarmed { 2 } else { 0 }), "{row}");
            assert_eq!(sample.alarm.status, if alarmed { 3 } else { 0 });
        }
        let gaps = archive.gaps(Key::Name(&PvName::new("LAB:P").unwrap()), None, range(100, 8000)).unwrap();
        assert_eq!((gaps.len(), gaps[0].1.cause, gaps[0].1.from), (790, GapCause::Disconnected, at(98)));
        let last = archive.last_before(Key::Name(&PvName::new("LAB:P").unwrap()), at(8500)).unwrap().unwrap();
        assert_eq!(last.value, Value::F64(8499.0 / 3.0));
    }
}

#[test]
fn long_texts_that_stand_in_a_parquet_file_once_come_with_every_row() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("LAB")).unwrap();
    let pair = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![
        pair("pvName", "LAB:P"),
        pair("year", "2026"),
        pair("ArchDBRType", "DBR_SCALAR_STRING"),
    ]));
    let schema = "message EPICS.Sample {
        required int32 secondsintoyear = 1; required int32 nano = 2; required binary val (STRING) = 3; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let path = folder.path().join("LAB/P:2026.parquet");
    let out = fs::File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties.build())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let rows: Vec<i32> = (0..3000).collect();
    for numbers in [&rows, &vec![0; rows.len()]] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(numbers, None, None).unwrap();
        column.close().unwrap();
    }
    let text = |row: i32| "x".repeat(20_000 + row as usize % 3);
    let texts: Vec<ByteArray> = rows.iter().map(|row| ByteArray::from(text(*row).as_str())).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 1 << 20, "a text stands there once");
    let found = samples(&PlainPb::new(folder.path().to_owned(), []), "LAB:P", TimeRange::ALL);
    assert_eq!(found.len(), 3000);
    for (sample, row) in found.iter().zip(0i32..) {
        assert_eq!((sample.time, &sample.value), (at(row.into()), &Value::String(text(row).into())), "{row}");
    }
}

#[test]
fn arrays_in_parquet_files_keep_their_lengths_and_damage_is_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("LAB")).unwrap();
    let path = folder.path().join("LAB/P:2026_01.parquet");
    parquet_file(&path, "DBR_WAVEFORM_DOUBLE", "repeated double val", Codec::SNAPPY, &[(0, 3000)], true);
    let read = || samples(&PlainPb::new(folder.path().to_owned(), []), "LAB:P", TimeRange::ALL);
    let found = read();
    assert_eq!(found.len(), 3000);
    for (sample, row) in found.iter().zip(0i32..) {
        let expected: Vec<f64> = (0..row % 3).map(|element| f64::from(row * 10 + element)).collect();
        assert_eq!(sample.value, Value::Array(Column::F64(expected)), "{row}");
    }
    let whole = fs::read(&path).unwrap();
    for (place, cut) in [(whole.len() / 2, whole.len()), (0, whole.len() - 5), (0, 0), (whole.len() - 40, whole.len())]
    {
        let mut bytes = whole.clone();
        bytes[place..(place + 30).min(whole.len())].fill(0xa5);
        fs::write(&path, &bytes[..cut]).unwrap();
        let archive = PlainPb::new(folder.path().to_owned(), []);
        let read: Vec<_> = archive.samples(Key::Name(&PvName::new("LAB:P").unwrap()), TimeRange::ALL).collect();
        let told = read.iter().any(Result::is_err) || archive.health().files_bad > 0;
        let differs = read.iter().flatten().map(|batch| batch.len()).sum::<usize>() == 3000; // a value alone
        assert!(told || differs, "{place} {cut}");
    }
}
