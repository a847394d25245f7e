//! Another source in fifty lines: a folder of CSV files beside the store. Every URL and `pvark get` give the same bytes as for an archive
//! that recorded the samples itself.

#[path = "../crates/web/tests/suite/served/mod.rs"]
mod served;

use std::{collections::BTreeMap, fs, ops::ControlFlow, path::PathBuf, process::Command, sync::Arc};

use archive::{
    By, Extent, Key, Method, Protocol, PvName, PvSettings, PvState, Record, SampleStream, Sink, Source, SourceError,
};
use sample::{Alarm, Batch, Metadata, Sample, TimeRange, Timestamp, Value};
use served::{Archive, time};
use store::Store;

/// A folder with a file for each PV, `NAME.csv`, and a line `time,value` for each sample.
#[derive(Debug)]
struct CsvFolder(PathBuf);

impl CsvFolder {
    fn read(&self, key: Key<'_>) -> Result<Vec<Sample>, SourceError> {
        let Some(name) = key.name() else { return Ok(Vec::new()) };
        let Ok(text) = fs::read_to_string(self.0.join(format!("{name}.csv"))) else { return Ok(Vec::new()) };
        let wrong = |line: &str| SourceError::piece(format!("{name}.csv: {line:?} is no time and value"));
        let sample = |line: &str| {
            let (time, value) = line.split_once(',')?;
            let (time, value) = (Timestamp::parse(time).ok()?, Value::F64(value.parse().ok()?));
            Some(Sample { time, value, alarm: Alarm::default(), pulse: 0, stamp: None })
        };
        text.lines().map(|line| sample(line).ok_or_else(|| wrong(line))).collect()
    }
}

impl Source for CsvFolder {
    fn name(&self) -> &str {
        "a folder of CSV files"
    }

    fn samples(&self, key: Key<'_>, range: TimeRange) -> SampleStream {
        let batch = |samples: Vec<Sample>| {
            let mut within = samples.iter().filter(|sample| range.contains(sample.time));
            let mut batch = Batch::of(within.next()?);
            within.all(|sample| batch.push(sample)).then_some(batch)
        };
        Box::new(self.read(key).map(batch).transpose().into_iter())
    }

    fn last_before(&self, key: Key<'_>, time: Timestamp) -> Result<Option<Sample>, SourceError> {
        Ok(self.read(key)?.into_iter().rfind(|sample| sample.time <= time))
    }

    fn extent(&self, key: Key<'_>) -> Result<Option<Extent>, SourceError> {
        let samples = self.read(key)?;
        let ends = samples.first().zip(samples.last());
        Ok(ends.map(|(first, last)| Extent { first: first.time, last: last.time, samples: samples.len() as u64 }))
    }

    fn pvs(&self, found: &mut dyn FnMut(PvName) -> ControlFlow<()>) -> Result<(), SourceError> {
        let files = fs::read_dir(&self.0).map_err(|error| SourceError::piece(error.to_string()))?;
        let names = files.filter_map(|file| file.ok()?.path().file_stem()?.to_str().map(str::to_owned));
        _ = names.filter_map(|name| PvName::new(&name).ok()).try_for_each(found);
        Ok(())
    }
}

/// Samples of some PVs: plain, with a fraction of a second, before the range only, and none within.
fn history() -> BTreeMap<&'static str, Vec<(f64, f64)>> {
    BTreeMap::from([
        ("C:SLOW", (0..900).map(|n| (f64::from(n) * 2.5, f64::from(n % 97) / 8.0)).collect()),
        ("C:ODD", vec![(-3600.0, 1e300), (0.25, -0.0), (0.5, 1.0 / 3.0), (700.125, 5e-324)]),
        ("C:BEFORE", vec![(-7200.0, 42.0)]),
    ])
}

fn samples(rows: &[(f64, f64)]) -> impl Iterator<Item = Sample> {
    rows.iter().map(|(seconds, value)| Sample {
        time: time(*seconds),
        value: Value::F64(*value),
        alarm: Alarm::default(),
        pulse: 0,
        stamp: None,
    })
}

/// Enters PVs into the list, as paused ones, with metadata alike: files of numbers have none.
fn register(store: &Store, names: impl Iterator<Item = PvName>) {
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Paused);
    for name in names {
        let by = By::new("test", time(-86_400.0));
        let pv = store.writer().register(&[(name, settings.clone())], &by).expect("it registers")[0].id;
        let metadata = Metadata { units: Some("mA".to_owned()), precision: Some(3), ..Metadata::default() };
        store.writer().append(&[(pv, Record::Metadata(time(-86_000.0), metadata.into()))], by.at).expect("it is taken");
    }
}

/// An archive that recorded the samples itself.
fn recorded() -> Archive {
    let fill = |store: &Store| {
        register(store, history().keys().map(|name| PvName::new(name).expect("it is a name")));
        for (name, rows) in history() {
            let pv = store.reader().find(name).expect("it was entered").id;
            let records: Vec<_> = samples(&rows).map(|sample| (pv, Record::Sample(sample))).collect();
            store.writer().append(&records, time(-80_000.0)).expect("it is taken");
        }
    };
    Archive::start(fill, |config| config)
}

/// An archive that has none of them, beside a folder that has.
fn beside(folder: CsvFolder) -> Archive {
    let mut names = Vec::new();
    folder
        .pvs(&mut |name| {
            names.push(name);
            ControlFlow::Continue(())
        })
        .expect("the folder is there");
    names.sort();
    Archive::start_with_old(|store| register(store, names.into_iter()), |config| config, vec![Arc::new(folder)])
}

fn folder() -> (tempfile::TempDir, CsvFolder) {
    let folder = tempfile::tempdir().expect("there is room");
    for (name, rows) in history() {
        let lines: String = samples(&rows).map(|sample| line(&sample)).collect();
        fs::write(folder.path().join(format!("{name}.csv")), lines).expect("it can be written");
    }
    let source = CsvFolder(folder.path().to_owned());
    (folder, source)
}

fn line(sample: &Sample) -> String {
    let Value::F64(number) = sample.value else { unreachable!("all are") };
    format!("{},{number:?}\n", sample.time)
}

/// What can be asked of a PV's samples, in every form.
fn targets(name: &str) -> Vec<String> {
    let range = "from=2026-01-01T00:00:00Z&to=2026-01-01T00:30:00Z";
    let old = "from=2026-01-01T00:00:00Z&to=2026-01-01T00:30:00Z";
    let mut targets = Vec::new();
    for format in ["csv", "json", "arrow", "parquet", "npy"] {
        targets.push(format!("/api/v1/pvs/{name}/samples?{range}&format={format}"));
    }
    for format in ["csv", "json", "arrow"] {
        targets.push(format!("/api/v1/pvs/{name}/bins?{range}&bins=100&format={format}"));
        targets.push(format!("/api/v1/pvs/{name}/bins?{range}&aligned=60&format={format}"));
        targets.push(format!("/api/v1/aligned?pv={name}&{range}&every=10s&format={format}"));
        targets.push(format!("/api/v1/at?pv={name}&time=2026-01-01T00:10:00Z&format={format}"));
    }
    targets.push(format!("/api/v1/samples?pv={name}&{range}"));
    targets.push(format!("/api/v1/pvs/{name}/gaps?{range}"));
    for suffix in ["json", "csv", "txt", "raw", "mat", "svg", "qw", "jplot"] {
        targets.push(format!("/retrieval/data/getData.{suffix}?pv={name}&{old}"));
        for operator in ["mean_60", "std_60", "optimized_20", "firstSample_300", "ncount", "nth_7", "linear_60"] {
            targets.push(format!("/retrieval/data/getData.{suffix}?pv={operator}({name})&{old}"));
        }
    }
    targets.push(format!("/retrieval/data/getDataAtTime?at=2026-01-01T00:10:00Z&pv={name}"));
    targets
}

#[test]
fn every_url_answers_from_a_folder_of_csv_files_as_from_the_store() {
    let (_kept, folder) = folder();
    let (recorded, beside) = (recorded(), beside(folder));
    let mut answered = 0;
    for name in history().keys() {
        for target in targets(name) {
            let (expected, told) = (recorded.get(&target), beside.get(&target));
            assert_eq!(told.status, expected.status, "{target}: {}", told.text());
            // A MAT-file begins with a text that tells when it was made.
            let made = if target.contains("getData.mat") { told.body.len().min(128) } else { 0 };
            assert!(told.body[made..] == expected.body[made..], "{target}\n{}\n{}", told.text(), expected.text());
            answered += usize::from(told.status == 200);
        }
    }
    assert!(answered > 150, "only {answered} of the targets had answers");
}

#[test]
fn pvark_get_prints_a_folder_of_csv_files_as_it_prints_the_store() {
    let (_kept, folder) = folder();
    let (recorded, beside) = (recorded(), beside(folder));
    for format in ["table", "csv", "json"] {
        let get = |archive: &Archive| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_pvark"));
            command.args([
                "get",
                "C:ODD",
                "--format",
                format,
                "--from",
                "2026-01-01 00:00",
                "--to",
                "2026-01-01 01:00",
            ]);
            command.args(["--server", &format!("http://{}", archive.address)]);
            let done = command.output().expect("the program runs");
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            String::from_utf8(done.stdout).expect("it prints text")
        };
        let told = get(&beside);
        assert!(told.contains("0.333"), "{told}");
        assert_eq!(told, get(&recorded));
    }
}

#[test]
fn what_both_have_comes_once_and_a_line_that_is_no_sample_is_told() {
    let (kept, folder) = folder();
    let beside = beside(folder);
    let reader = beside.store.reader();
    let pv = reader.find("C:SLOW").expect("it was entered").id;
    let rows = &history()["C:SLOW"];
    let own: Vec<_> = samples(&rows[400..]).map(|sample| (pv, Record::Sample(sample))).collect();
    beside.store.writer().append(&own, time(3000.0)).expect("it is taken");
    let target = "/api/v1/pvs/C:SLOW/samples?from=2026-01-01&to=2026-01-02&format=csv";
    let lines = beside.get(target).text().lines().filter(|line| line.starts_with("2026-")).count();
    assert_eq!(lines, rows.len());
    let bins = "/api/v1/pvs/C:SLOW/bins?from=2026-01-01&to=2026-01-02&bins=7&format=csv";
    // Where samples were read and not told in summaries, sums of squares have other last bits.
    let told = |archive: &Archive| {
        let text = archive.get(bins).text();
        text.lines().map(|line| line.split(',').take(6).collect::<Vec<_>>().join(",")).collect::<Vec<_>>()
    };
    assert_eq!(told(&beside), told(&recorded()));
    fs::write(kept.path().join("C:ODD.csv"), "yesterday,1\n").expect("it can be written");
    let told = beside.get("/api/v1/pvs/C:ODD/samples?from=2026-01-01&to=2026-01-02&format=json").text();
    assert!(told.contains("is no time and value"), "{told}");
}
