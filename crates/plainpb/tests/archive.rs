//! Folders of the Archiver Appliance read in place: times found in long files, stores that overlap, damaged files, tar files.

mod archives;
mod encode;

use std::io::Write;

use archive::{Extent, Key, PvName, Source};
use archives::{at, names, range, write};
use encode::{Line, Val, file, header, line};
use plainpb::PlainPb;
use sample::{Batch, GapCause, TimeRange, Value};

fn pv(name: &str) -> PvName {
    PvName::new(name).unwrap()
}

/// A sample of that second, whose value is the second too.
fn good(second: i64) -> Vec<u8> {
    line(&Line { second: second as u32, ..Line::of(Val::Double(second as f64)) })
}

fn seconds(archive: &PlainPb, name: &str, range: TimeRange) -> Vec<i64> {
    let batches: Vec<Batch> = archive.samples(Key::Name(&pv(name)), range).map(Result::unwrap).collect();
    let samples = batches.iter().flat_map(|batch| (0..batch.len()).map(|row| batch.get(row)));
    samples
        .map(|sample| {
            let second = sample.time.seconds_and_nanos().0 - at(0).seconds_and_nanos().0;
            assert_eq!(sample.value, Value::F64(second as f64));
            second
        })
        .collect()
}

/// A year of a sample each 40 s, about 15 MB, with garbage strewn in: every range is found as if all had been read.
#[test]
fn any_time_is_found_in_a_long_file() {
    let folder = tempfile::tempdir().unwrap();
    let times: Vec<i64> = (0..788_400).map(|k| k * 40).collect();
    let mut bytes = header(6, "LAB:T-1", 2026);
    for (index, second) in times.iter().enumerate() {
        if index % 1000 == 7 {
            bytes.extend_from_slice(b"\x08\xff\xff\xff\xff\xff garbage\n");
        }
        bytes.extend(good(*second));
    }
    write(folder.path(), "LAB/T/1:2026.pb", &bytes);
    let archive = PlainPb::new(folder.path().to_owned(), []);
    for (t0, t1) in
        [(0, 1), (0, 41), (1, 40), (39, 81), (15_000_000, 15_000_400), (31_535_000, 40_000_000), (4_000, 900_000)]
    {
        let expected: Vec<i64> = times.iter().copied().filter(|time| (t0..t1).contains(time)).collect();
        assert_eq!(seconds(&archive, "LAB:T-1", range(t0, t1)), expected, "{t0}..{t1}");
    }
    for time in [0, 39, 40, 7_777_777, 15_000_001, 31_535_999, 50_000_000] {
        let last = archive.last_before(Key::Name(&pv("LAB:T-1")), at(time)).unwrap().unwrap().time;
        assert_eq!(last, at((time / 40 * 40).min(*times.last().unwrap())), "{time}");
    }
    assert_eq!(archive.last_before(Key::Name(&pv("LAB:T-1")), at(-1)).unwrap(), None);
    assert_eq!(
        archive.extent(Key::Name(&pv("LAB:T-1"))).unwrap(),
        Some(Extent { first: at(0), last: at(31_535_960), samples: 0 })
    );
    assert_eq!((names(&archive), archive.health().scanned), (vec!["LAB:T-1".to_owned()], true));
}

/// Partitions of all lengths in one folder; what one has of the other is not repeated.
#[test]
fn partitions_of_all_lengths_are_read_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let day = 86_400;
    for (partition, times) in [
        ("2026", vec![0, day]),
        ("2026_01_03", vec![day, 2 * day + 5]),
        ("2026_01_04_00", vec![3 * day, 3 * day + 9]),
        ("2026_01_04_01_00", vec![3 * day + 9, 3 * day + 3600]),
        ("2026_01_04_01_05", vec![3 * day + 3900]),
        ("2026.mean_3600", vec![3 * day + 4000]),
    ] {
        write(folder.path(), &format!("A:{partition}.pb"), &file(&header(6, "A", 2026), times.into_iter().map(good)));
    }
    let archive = PlainPb::new(folder.path().to_owned(), []);
    let all = [0, day, 2 * day + 5, 3 * day, 3 * day + 9, 3 * day + 3600, 3 * day + 3900];
    assert_eq!(seconds(&archive, "A", range(0, 31_536_000)), all);
    assert_eq!(seconds(&archive, "A", range(3 * day + 9, 3 * day + 3601)), [3 * day + 9, 3 * day + 3600]);
}

/// A crash or a full disk leaves the newest file without a header; the samples before it are as good as ever.
#[test]
fn a_newest_file_without_a_header_does_not_hide_the_others() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "A:2026_01_01.pb", &file(&header(6, "A", 2026), [good(5)]));
    write(folder.path(), "A:2026_01_02.pb", b"");
    write(folder.path(), "A:2026_01_03.pb", b"\x08");
    let archive = PlainPb::new(folder.path().to_owned(), []);
    assert_eq!(names(&archive), ["A"]);
    assert_eq!((archive.health().pvs, archive.health().files, archive.health().files_bad), (1, 3, 2));
    assert_eq!(seconds(&archive, "A", range(0, 31_536_000)), [5]);
}

/// Files that are empty, torn, of garbage, of another PV, or of another year than their names say.
#[test]
fn damaged_files_cost_themselves_only_and_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let torn = [file(&header(6, "A", 2026), [good(10), good(20)]), good(30)[..9].to_vec()].concat();
    write(folder.path(), "A:2026_01_01.pb", &torn);
    write(folder.path(), "A:2026_01_02.pb", b"");
    write(folder.path(), "A:2026_01_03.pb", b"no header\n\n\x08\x01\n");
    write(folder.path(), "A:2026_01_04.pb", &file(&header(6, "B", 2026), [good(3 * 86_400)]));
    write(folder.path(), "A:2026_01_05.pb", &file(&header(6, "A", 1901), [good(4 * 86_400)]));
    write(folder.path(), "A:2026_01_06.pb", &file(&header(6, "A", 2025), [good(5 * 86_400)]));
    write(folder.path(), "A:2026_01_07.pb", &file(&header(6, "A", 2026), [good(6 * 86_400)]));
    let archive = PlainPb::new(folder.path().to_owned(), []);
    assert_eq!(seconds(&archive, "A", range(0, 31_536_000)), [10, 20, 6 * 86_400]);
    let health = archive.health();
    assert_eq!((health.lines_bad, health.files_bad), (1, 4));
    assert!(health.problem.unwrap().contains("A:2026_01_05.pb"));
    assert_eq!(archive.last_before(Key::Name(&pv("A")), at(5 * 86_400 + 1)).unwrap().unwrap().time.year().0, 2025);
}

/// Samples that stand behind later ones: in order within reach, and otherwise counted.
#[test]
fn samples_out_of_order_come_in_order_or_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let near = [1, 3, 2, 4].map(good);
    write(folder.path(), "A:2026.pb", &file(&header(6, "A", 2026), near));
    let far = (0..20_000).chain([5]).map(good);
    write(folder.path(), "B:2026.pb", &file(&header(6, "B", 2026), far));
    let archive = PlainPb::new(folder.path().to_owned(), []);
    assert_eq!(seconds(&archive, "A", range(0, 100)), [1, 2, 3, 4]);
    assert_eq!(seconds(&archive, "B", range(0, 30_000)).len(), 20_000);
    assert_eq!(archive.health().out_of_order, 1);
}

/// A file that appears while the archive is open is seen, and names that lead out of the folder lead nowhere.
#[test]
fn the_folder_is_looked_at_anew_and_never_left() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "store/A:2025.pb", &file(&header(6, "A", 2025), [good(0)]));
    write(folder.path(), "etc/x:2026.pb", &file(&header(6, "..:etc:x", 2026), [good(0)]));
    let archive = PlainPb::new(folder.path().join("store"), []);
    assert_eq!(seconds(&archive, "A", range(0, 100)), [0; 0]);
    // The time of a folder's change may be as coarse as a tick of the kernel: the file is written until it counts.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    let mut part = 0;
    while seconds(&archive, "A", range(0, 100)).is_empty() {
        assert!(std::time::Instant::now() < deadline, "the new file is not seen");
        part += 1;
        write(folder.path(), &format!("store/unrelated{part}.pb"), b"");
        write(folder.path(), "store/A:2026.pb", &file(&header(6, "A", 2026), [good(7)]));
    }
    assert_eq!(seconds(&archive, "..:etc:x", range(0, 100)), [0; 0]);
    assert_eq!(names(&archive), ["A"]);
}

#[test]
fn connections_that_were_lost_are_told_as_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let epoch = at(0).seconds_and_nanos().0;
    let lost = vec![("cnxlostepsecs", (epoch + 40).to_string()), ("cnxregainedepsecs", (epoch + 50).to_string())];
    let second = |second| Line { second, ..Line::of(Val::Double(f64::from(second))) };
    let lines =
        (0..2000).map(|k| if k == 50 { line(&Line { fields: lost.clone(), ..second(50) }) } else { line(&second(k)) });
    write(folder.path(), "A:2026.pb", &file(&header(6, "A", 2026), lines));
    let archive = PlainPb::new(folder.path().to_owned(), []);
    let gaps = archive.gaps(Key::Name(&pv("A")), None, range(0, 3000)).unwrap();
    assert_eq!(
        gaps.iter().map(|(_, gap)| (gap.from, gap.to, gap.cause)).collect::<Vec<_>>(),
        [(at(40), Some(at(50)), GapCause::Disconnected)]
    );
    assert_eq!(archive.gaps(Key::Name(&pv("A")), None, range(100, 3000)).unwrap(), []);
}

/// A member of a tar file, as ustar has it, with its padding.
fn member(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut head = [0u8; 512];
    head[..name.len()].copy_from_slice(name.as_bytes());
    head[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
    head[156] = b'0';
    head[257..263].copy_from_slice(b"ustar\0");
    let mut member = [&head, bytes].concat();
    member.resize(member.len().next_multiple_of(512) + 512, 0);
    member
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// Members may be in gzip, and a damaged one costs itself only.
#[test]
fn members_of_tar_files_may_be_in_gzip() {
    let folder = tempfile::tempdir().unwrap();
    let part = |times: &[i64]| file(&header(6, "LAB:X", 2026), times.iter().map(|time| good(*time)));
    let days: Vec<i64> = (0..5000).map(|n| 86_400 + n).collect();
    let mut damaged = gzipped(&part(&[2 * 86_400]));
    let crc = damaged.len() - 6;
    damaged[crc] ^= 1;
    let bytes = [
        member("X:2026_01_01.pb", &gzipped(&part(&[1, 2]))),
        member("X:2026_01_02.pb", &gzipped(&part(&days))),
        member("X:2026_01_04.pb", &part(&[3 * 86_400])),
    ]
    .concat();
    write(folder.path(), "LAB/X.tar", &bytes);
    let archive = PlainPb::new(folder.path().to_owned(), []);
    assert_eq!(seconds(&archive, "LAB:X", range(0, 86_000)), [1, 2]);
    assert_eq!(seconds(&archive, "LAB:X", range(88_000, 88_003)), [88_000, 88_001, 88_002]);
    assert_eq!(seconds(&archive, "LAB:X", range(0, 31_536_000)).len(), 2 + 5000 + 1);
    write(folder.path(), "LAB/Y.tar", &member("Y:2026_01_03.pb", &damaged));
    let archive = PlainPb::new(folder.path().to_owned(), []);
    let read: Vec<_> = archive.samples(Key::Name(&pv("LAB:Y")), range(0, 31_536_000)).collect();
    assert!(read.iter().any(Result::is_err) || archive.health().files_bad > 0, "its checksum is wrong");
}

/// Of equal names the last one counts, deleted ones are not there, and what is torn is left out.
#[test]
fn tar_files_are_read_like_folders() {
    let folder = tempfile::tempdir().unwrap();
    let part = |times: &[i64]| file(&header(6, "LAB:X", 2026), times.iter().map(|time| good(*time)));
    let bytes = [
        member("X:2026_01_01.pb", &part(&[1])),
        member("._del_X:2026_01_02.pb", &part(&[86_401])),
        member("X:2026_01_03.pb", &part(&[2 * 86_400])),
        member("/X:2026_01_01.pb", &part(&[1, 2])),
        member("X:2026_01_04.pb", &part(&[3 * 86_400]))[..520].to_vec(),
    ]
    .concat();
    write(folder.path(), "LAB/X.tar", &bytes);
    let archive = PlainPb::new(folder.path().to_owned(), []);
    assert_eq!(seconds(&archive, "LAB:X", range(0, 31_536_000)), [1, 2, 2 * 86_400]);
    assert_eq!(names(&archive), ["LAB:X"]);
    assert_eq!(archive.health().files, 2);
}
