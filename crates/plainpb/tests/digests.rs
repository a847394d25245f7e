//! Digests: what stretches of samples amount to is the same whether it was kept or is added up now, whatever became of file and digest.

mod archives;
mod encode;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use archive::{Carried, Key, PvName, Source};
use archives::{at, range, write};
use encode::{Line, Val, header, line};
use plainpb::{Digests, PlainPb};
use proptest::prelude::*;
use sample::{Batch, Stretch, Summary, TimeRange, Timestamp};

const PV: &str = "LAB:T-1";
const DAY: i64 = 86_400;

fn pv() -> PvName {
    PvName::new(PV).unwrap()
}

fn day(number: i64) -> String {
    format!("LAB/T/1:2026_01_{:02}.pb", number + 1)
}

/// A folder of files, read with and without digests.
struct Both {
    folder: tempfile::TempDir,
    plain: PlainPb,
    digested: PlainPb,
}

impl Both {
    fn new() -> Both {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("arch");
        fs::create_dir(&root).unwrap();
        let digests = Digests::open(&folder.path().join("digests")).unwrap();
        let archive = || PlainPb::new(root.clone(), []);
        Both { plain: archive(), digested: archive().with_digests(&digests), folder }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("arch")
    }

    fn write(&self, number: i64, bytes: &[u8]) {
        write(&self.root(), &day(number), bytes);
    }

    /// The digests that are kept.
    fn kept(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.folder.path().join("digests")).unwrap();
        let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
        let mut kept: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        kept.retain(|path| path.extension().is_some_and(|extension| extension == "digest"));
        kept.sort();
        kept
    }

    /// Asks until the digests of so many files are kept, and returns them: of a file that has just changed none is kept yet.
    fn settle(&self, files: usize) -> Vec<PathBuf> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            self.told(TimeRange::ALL, &[]);
            let kept = self.kept();
            if kept.len() >= files {
                return kept;
            }
            assert!(Instant::now() < deadline, "{} of {files} are kept", kept.len());
            std::thread::yield_now();
        }
    }

    fn told(&self, range: TimeRange, edges: &[Timestamp]) -> Option<Vec<Stretch>> {
        let told = self.digested.stretches(Key::Name(&pv()), None, range, &Arc::from(edges)).unwrap()?;
        Some(told.map(Result::unwrap).collect())
    }

    fn samples(&self, range: TimeRange) -> Vec<Batch> {
        self.plain.samples(Key::Name(&pv()), range).map(Result::unwrap).collect()
    }

    /// Compares both ways, and says whether there was anything to compare.
    fn compare(&self, range: TimeRange, edges: &[Timestamp]) -> bool {
        let fields = |archive: &PlainPb, name: Option<&str>| -> Vec<Carried> {
            let carried = archive.carried(Key::Name(&pv()), range, name).map(Result::unwrap);
            carried.filter(|carried| !carried.fields.is_empty()).collect()
        };
        for name in [None, Some("cnxregainedepsecs")] {
            assert_eq!(fields(&self.digested, name), fields(&self.plain, name), "{range:?} {name:?}");
        }
        let Some(told) = self.told(range, edges) else { return false };
        let mut samples: Option<Batch> = None;
        for batch in self.samples(range) {
            match &mut samples {
                Some(all) => assert!(all.extend_from(&batch, 0..batch.len())),
                None => samples = Some(batch),
            }
        }
        let count = samples.as_ref().map_or(0, Batch::len);
        let times = samples.as_ref().map_or(&[][..], Batch::times);
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{range:?}: told of samples whose times do not rise");
        let mut row = 0;
        for stretch in told {
            let all = samples.as_ref().expect("there are samples");
            let times = match &stretch {
                Stretch::Summary(summary) => {
                    let rows = row..row + summary.count as usize;
                    assert!(rows.end <= count, "{range:?}: there are {count} samples");
                    let expected = Summary::of(all, rows.clone()).expect("it is of some");
                    assert!(
                        summary.is_finite() && summary.value_type.is_numeric_scalar(),
                        "{summary:?} does not add up"
                    );
                    assert!(expected.identical(summary), "{range:?} {rows:?}: {summary:?} is not {expected:?}");
                    rows
                }
                Stretch::Samples(batch) => {
                    let rows = row..row + batch.len();
                    for (index, row) in rows.clone().enumerate() {
                        assert!(batch.get(index).identical(&all.get(row)), "{range:?} {row}");
                    }
                    rows
                }
            };
            let (first, last) = (all.times()[times.start], all.times()[times.end - 1]);
            let is_summary = matches!(stretch, Stretch::Summary(_));
            let crossed = edges.iter().any(|edge| first < *edge && *edge <= last);
            assert!(!(is_summary && crossed), "{range:?}: an edge cuts {first} to {last}");
            row = times.end;
        }
        assert_eq!(row, count, "{range:?}");
        true
    }
}

fn value(payload: i32, seed: u32) -> Val {
    let double = match seed % 53 {
        7 => f64::NAN,
        8 if seed.is_multiple_of(5) => f64::INFINITY,
        _ => f64::from(seed) * 0.37 - 1000.0,
    };
    let small = (seed % 30_000) as i32 - 15_000;
    match payload {
        0 => Val::Text(format!("text {seed}")),
        1 => Val::Sint(small),
        2 => Val::Float(double as f32),
        3 => Val::Sint(small.abs() % 16),
        4 => Val::Bytes(vec![seed as u8]),
        5 => Val::Fixed(seed as i32),
        6 => Val::Double(double),
        7 => Val::Texts(vec![format!("a{seed}"), "b".to_owned()]),
        8 => Val::Sints(vec![small; (seed % 4) as usize]),
        9 => Val::Floats(vec![double as f32; (seed % 4) as usize]),
        10 => Val::Sints(vec![3; 2]),
        11 => Val::Bytes(vec![seed as u8, 10, 13, 27]),
        12 => Val::Fixeds(vec![seed as i32; 3]),
        13 => Val::Doubles(vec![double, 1.0]),
        _ => Val::Bytes(seed.to_le_bytes().to_vec()),
    }
}

/// What stands in a file besides good lines in order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Oddity {
    None,
    Garbage,
    Torn,
    Backwards,
    Repeated,
}

/// One day's file.
#[derive(Clone, Debug)]
struct Day {
    samples: usize,
    millis: u32,
    seed: u32,
    oddity: Oddity,
}

impl Day {
    fn line(&self, payload: i32, number: i64, index: usize) -> Vec<u8> {
        let seed = self.seed.wrapping_mul(2_654_435_761).wrapping_add(index as u32 * 40_503) >> 3;
        // Now and then there is a gap.
        let millis = u64::from(self.millis) * index as u64 + (index / 700) as u64 * 1_234_567;
        let nanos = (millis * 1_000_000 + u64::from(seed % 1000)).min(DAY as u64 * 1_000_000_000 - 1);
        let mut fields = Vec::new();
        if seed.is_multiple_of(601) {
            let second = (number * DAY + 1_767_225_600) as u64 + millis / 1000;
            fields.push(("cnxlostepsecs", (second - 5).to_string()));
            fields.push(("cnxregainedepsecs", second.to_string()));
        } else if seed.is_multiple_of(397) {
            fields.push(("HIHI", "7".to_owned()));
        }
        line(&Line {
            second: (number * DAY) as u32 + (nanos / 1_000_000_000) as u32,
            nano: (nanos % 1_000_000_000) as u32,
            severity: seed.is_multiple_of(7).then_some((seed % 4) as i32),
            status: seed.is_multiple_of(11).then_some(3),
            fields,
            ..Line::of(value(payload, seed))
        })
    }

    fn lines(&self, payload: i32, number: i64, from: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for index in from..self.samples {
            out.extend(self.line(payload, number, index));
            if index == self.samples / 2 {
                match self.oddity {
                    Oddity::Garbage => out.extend_from_slice(b"\x08\xff\xff\xff\xff\xff garbage\n"),
                    Oddity::Backwards => out.extend(self.line(payload, number, index / 2)),
                    Oddity::Repeated => out.extend(self.line(payload, number, index)),
                    Oddity::None | Oddity::Torn => {}
                }
            }
        }
        if self.oddity == Oddity::Torn {
            out.extend_from_slice(b"\x08\x01\x10");
        }
        out
    }

    fn file(&self, payload: i32, number: i64) -> Vec<u8> {
        [header(payload, PV, 2026), self.lines(payload, number, 0)].concat()
    }
}

fn oddities() -> impl Strategy<Value = Oddity> {
    prop_oneof![
        8 => Just(Oddity::None),
        2 => Just(Oddity::Garbage),
        1 => Just(Oddity::Torn),
        1 => Just(Oddity::Backwards),
        1 => Just(Oddity::Repeated),
    ]
}

fn days() -> impl Strategy<Value = Vec<Day>> {
    let day = (0usize..4000, prop_oneof![1u32..300, 500u32..20_000], any::<u32>(), oddities());
    let day = day.prop_map(|(samples, millis, seed, oddity)| {
        // All of them on their day.
        let samples = samples.min((DAY as usize - 10_000) * 1000 / millis as usize);
        Day { samples, millis, seed, oddity }
    });
    prop::collection::vec(day, 1..3)
}

/// A range with edges in it, some on whole minutes.
fn asked() -> impl Strategy<Value = (TimeRange, Vec<Timestamp>)> {
    let edges = prop::collection::vec((0i64..2 * DAY, prop::bool::ANY), 0..40);
    (0i64..2 * DAY, 1i64..2 * DAY, edges).prop_map(|(t0, length, edges)| {
        let edges = edges.into_iter().map(|(edge, is_whole)| at(if is_whole { edge / 60 * 60 } else { edge }));
        let whole = range(t0, t0 + length);
        let mut edges: Vec<Timestamp> =
            edges.filter(|edge| whole.contains(*edge)).chain([whole.t0, whole.t1]).collect();
        edges.sort();
        (whole, edges)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// First as the digests are made, then as they are kept, then after something happened to a file or a digest.
    #[test]
    fn what_digests_tell_is_what_the_samples_say(
        payload in prop_oneof![0i32..15, Just(6)],
        days in days(),
        asked in prop::collection::vec(asked(), 1..5),
        mishap in 0usize..8,
        place in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let both = Both::new();
        for (number, day) in days.iter().enumerate() {
            both.write(number as i64, &day.file(payload, number as i64));
        }
        let in_order = days.iter().all(|day| day.samples == 0 || !matches!(day.oddity, Oddity::Backwards | Oddity::Repeated));
        let compare = |what: &str| {
            for (range, edges) in &asked {
                let compared = both.compare(*range, edges);
                assert!(compared || !in_order, "{what}: nothing is told of samples in order");
            }
        };
        compare("at first");
        let kept = both.settle(1);
        compare("the second time");
        let path = both.root().join(day(0));
        let bytes = fs::read(&path).unwrap();
        match mishap {
            0 => {
                // It grows, by lines whose first comes in two parts.
                let more = Day { samples: days[0].samples + 1500, ..days[0].clone() };
                let grown = [bytes, more.lines(payload, 0, days[0].samples)].concat();
                let cut = grown.len() - place.index(grown.len().min(5000));
                both.write(0, &grown[..cut]);
                both.compare(asked[0].0, &asked[0].1);
                both.write(0, &grown);
            }
            1 => {
                // Another file of the same length.
                let other = Day { seed: days[0].seed ^ 0x5555, ..days[0].clone() }.file(payload, 0);
                let mut other = other[..other.len().min(bytes.len())].to_vec();
                other.resize(bytes.len(), b'\n');
                replace(&path, &other);
            }
            2 => replace(&path, &bytes[..place.index(bytes.len() + 1)]),
            3 => {
                // A digest with a bit turned.
                let path = &kept[place.index(kept.len())];
                let mut bytes = fs::read(path).unwrap();
                let byte = place.index(bytes.len());
                bytes[byte] ^= 1 << bit;
                fs::write(path, bytes).unwrap();
            }
            4 => {
                let path = &kept[place.index(kept.len())];
                let bytes = fs::read(path).unwrap();
                fs::write(path, &bytes[..place.index(bytes.len())]).unwrap();
            }
            5 => {
                // Another file under the same inode, of the same length.
                let mut other = Day { seed: days[0].seed ^ 0x5555, ..days[0].clone() }.file(payload, 0);
                other.resize(bytes.len(), b'\n');
                both.write(0, &other);
            }
            6 => {
                // And a longer one.
                let other = Day { seed: days[0].seed ^ 0x5555, samples: days[0].samples + 100, ..days[0].clone() };
                let mut other = other.file(payload, 0);
                other.resize(other.len().max(bytes.len() + 1), b'\n');
                both.write(0, &other);
            }
            _ => {
                // A line that breaks.
                let mut bytes = bytes;
                let byte = place.index(bytes.len());
                if byte > 40 {
                    bytes[byte] ^= 1 << bit;
                }
                replace(&path, &bytes);
            }
        }
        for (range, edges) in &asked {
            both.compare(*range, edges);
        }
        both.told(TimeRange::ALL, &[]);
        for (range, edges) in &asked {
            both.compare(*range, edges);
        }
    }
}

/// The second file begins before the end of the first one: what is in both comes once, which rows cannot tell.
#[test]
fn files_that_overlap_are_read_sample_by_sample() {
    let both = Both::new();
    let day = |number: i64| Day { samples: 3000, millis: 1000, seed: number as u32, oddity: Oddity::None };
    both.write(0, &day(0).file(6, 0));
    both.write(1, &[header(6, PV, 2026), day(7).lines(6, 0, 2000), day(1).lines(6, 1, 0)].concat());
    assert!(!both.compare(range(0, 2 * DAY), &[at(0), at(DAY), at(2 * DAY)]));
    both.settle(2);
    assert!(!both.compare(range(0, 2 * DAY), &[at(0), at(DAY), at(2 * DAY)]));
    assert!(both.compare(range(0, DAY), &[at(0), at(DAY)]), "the first file alone");
}

/// Of a file that grows only the end is read again, and only much of it is written down.
#[test]
fn a_digest_of_a_file_that_grew_goes_on_where_it_ended() {
    let both = Both::new();
    let day = |samples| Day { samples, millis: 20, seed: 5, oddity: Oddity::None };
    both.write(0, &day(20_000).file(6, 0));
    let kept = both.settle(1);
    let first = fs::read(&kept[0]).unwrap();
    let ask = || assert!(both.compare(range(0, DAY), &[at(0), at(77), at(900), at(DAY)]));
    ask();
    append(&both.root().join(day_name()), &day(21_000).lines(6, 0, 20_000));
    ask();
    assert_eq!(fs::read(&kept[0]).unwrap(), first, "a thousand lines are not worth a new digest");
    append(&both.root().join(day_name()), &day(42_000).lines(6, 0, 21_000));
    let deadline = Instant::now() + Duration::from_secs(20);
    while fs::read(&kept[0]).unwrap() == first {
        assert!(Instant::now() < deadline, "the digest is not renewed");
        ask();
    }
    let renewed = fs::read(&kept[0]).unwrap();
    ask();
    // As if it had been read in one go.
    fs::remove_file(&kept[0]).unwrap();
    both.settle(1);
    assert!(fs::read(&kept[0]).unwrap() == renewed, "it depends on how the file grew");
}

/// What stands there twice counts once, which rows cannot tell.
#[test]
fn files_in_which_times_do_not_rise_are_read_sample_by_sample() {
    for oddity in [Oddity::Repeated, Oddity::Backwards] {
        let both = Both::new();
        both.write(0, &Day { samples: 3000, millis: 1000, seed: 1, oddity }.file(6, 0));
        both.settle(1);
        assert_eq!(both.told(range(0, DAY), &[at(0), at(DAY)]), None, "{oddity:?}");
    }
}

/// Under its name and inode another file may stand, which is no longer the one that was read.
#[test]
fn a_file_that_was_written_anew_and_is_longer_is_read_anew() {
    let both = Both::new();
    let day = |samples, seed| Day { samples, millis: 100, seed, oddity: Oddity::None }.file(6, 0);
    both.write(0, &day(8000, 1));
    both.settle(1);
    both.write(0, &day(16_000, 2));
    assert!(both.compare(range(0, DAY), &[at(0), at(DAY)]));
}

/// Whatever byte of a digest is changed, what is told stays true.
#[test]
fn a_digest_in_which_a_byte_changed_is_not_believed() {
    let both = Both::new();
    both.write(0, &Day { samples: 3000, millis: 1000, seed: 1, oddity: Oddity::Garbage }.file(6, 0));
    let kept = both.settle(1).remove(0);
    let sound = fs::read(&kept).unwrap();
    for place in (0..sound.len()).step_by(61) {
        let mut bytes = sound.clone();
        bytes[place] ^= 1 << (place % 8);
        fs::write(&kept, bytes).unwrap();
        both.compare(range(0, DAY), &[at(0), at(DAY)]);
        assert!(both.compare(range(0, DAY), &[at(0), at(DAY)]), "byte {place}: no digest is made anew");
    }
}

/// A folder that cannot be written to costs the digests only, and so does one that is not there any more.
#[test]
fn without_a_folder_for_digests_everything_is_told_as_before() {
    let both = Both::new();
    both.write(0, &Day { samples: 3000, millis: 1000, seed: 1, oddity: Oddity::None }.file(6, 0));
    fs::remove_dir_all(both.folder.path().join("digests")).unwrap();
    for _ in 0..3 {
        both.compare(range(0, DAY), &[at(0), at(100), at(DAY)]);
    }
    assert!(!both.folder.path().join("digests").exists(), "the folder of an archive that is away is not made");
}

fn day_name() -> String {
    day(0)
}

fn append(path: &Path, bytes: &[u8]) {
    std::io::Write::write_all(&mut fs::File::options().append(true).open(path).unwrap(), bytes).unwrap();
}

/// As the Appliance does it: a new file takes the place of the old one.
#[expect(clippy::disallowed_methods, reason = "a test need not outlive a power cut")]
fn replace(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, bytes).unwrap();
    fs::rename(&new, path).unwrap();
}

proptest! {
    /// Any bytes as a digest, and any change of a sound one.
    #[test]
    fn digests_of_any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..4096),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        plainpb::fuzz::digest(&bytes);
        for path in sound() {
            for page in path.chunks(4096) {
                let mut page = page.to_vec();
                changes.iter().for_each(|(place, byte)| page[place.index(4096)] = *byte);
                plainpb::fuzz::digest(&page);
            }
        }
    }
}

/// A digest of two days.
fn sound() -> &'static [Vec<u8>] {
    static SOUND: std::sync::OnceLock<Vec<Vec<u8>>> = std::sync::OnceLock::new();
    SOUND.get_or_init(|| {
        let both = Both::new();
        both.write(0, &Day { samples: 3000, millis: 1000, seed: 1, oddity: Oddity::Garbage }.file(6, 0));
        both.settle(1).iter().map(|path| fs::read(path).unwrap()).collect()
    })
}
