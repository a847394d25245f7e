//! The desk of exports: what becomes of a job when the archiver ends in the middle of it, when there is no room, when rights change, and when
//! what lies on the disk is not what was left there.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use archive::{Principal, Right};
use query::Before;
use sample::TimeRange;
use service::{
    Ask, Budget, Code, Draft, ExportPv, ExportRows, ExportState, ExportWanted, Exports, ExportsConfig, Form, Refusal,
    Rights,
};

use crate::served::{Archive, time};

fn ask(archive: &Archive, who: &'static str) -> Ask {
    let lease = Arc::new(Budget::new(1 << 30).lease());
    Ask::new(Arc::clone(&archive.service), Principal::here(who), lease, || false)
}

fn config(folder: &Path) -> ExportsConfig {
    ExportsConfig {
        folder: Some(folder.join("exports")),
        free_min: Some(0),
        place_each: Duration::ZERO,
        ..ExportsConfig::default()
    }
}

fn open(
    archive: &Archive,
    config: ExportsConfig,
    make: impl Fn(&Ask, &ExportWanted, &Draft) -> Result<(), Refusal> + Send + Sync + 'static,
) -> Exports {
    Exports::open(Arc::clone(&archive.service), Budget::new(1 << 30), config, make)
}

fn wanted(archive: &Archive) -> ExportWanted {
    let ask = ask(archive, "ana");
    let pv = |name: &str| ExportPv { name: name.to_owned(), series: ask.series(name, None).unwrap().1 };
    ExportWanted {
        pvs: ["T:DOUBLE", "T:LONG", "T:NONE"].map(pv).to_vec(),
        range: TimeRange { t0: time(-100.0), t1: time(100.0) },
        rows: ExportRows::Raw { before: Before::None },
        form: Form::Csv,
    }
}

/// A kilobyte for each PV.
fn kilobytes(_: &Ask, wanted: &ExportWanted, draft: &Draft) -> Result<(), Refusal> {
    for (index, pv) in wanted.pvs.iter().enumerate().skip(draft.first_pv()) {
        draft.put(&[b'0' + index as u8; 1024])?;
        draft.wrote(1, index, wanted.range.t1);
        draft.passed(index, &pv.name, u64::from(pv.name != "T:NONE"), 2)?;
    }
    Ok(())
}

/// Writes the first PV and some of the second, and waits until nobody wants it.
fn stuck(_: &Ask, wanted: &ExportWanted, draft: &Draft) -> Result<(), Refusal> {
    draft.put(&[b'0'; 1024])?;
    draft.passed(0, &wanted.pvs[0].name, 1, 2)?;
    draft.put(&[b'?'; 300_000])?;
    loop {
        draft.go_on()?;
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what} does not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn is_at_end(exports: &Exports, ask: &Ask, number: u64) -> bool {
    !matches!(exports.job(ask, number).unwrap().state, ExportState::Waiting | ExportState::Running)
}

fn bytes_of(exports: &Exports, ask: &Ask, number: u64) -> Vec<u8> {
    let file = exports.file(ask, number).unwrap();
    let mut bytes = vec![0; file.len as usize];
    std::os::unix::fs::FileExt::read_exact_at(&file.file, &mut bytes, 0).unwrap();
    bytes
}

#[test]
fn what_was_begun_goes_on_behind_the_last_whole_pv_and_is_the_same_bytes() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let exports = open(&archive, config(folder.path()), stuck);
    let number = exports.order(&ana, wanted(&archive)).unwrap().number;
    until("the first PV", || exports.job(&ana, number).unwrap().tally.pvs_done == 1);
    assert_eq!(exports.file(&ana, number).unwrap_err().code(), Code::Conflict);
    until("some of the second", || {
        fs::metadata(folder.path().join(format!("exports/{number}.data"))).unwrap().len() > 1024
    });
    drop(exports);
    killed(folder.path(), number);
    let seen = Arc::new(AtomicUsize::new(usize::MAX));
    let first = Arc::clone(&seen);
    let exports = open(&archive, config(folder.path()), move |ask, wanted, draft| {
        first.store(draft.first_pv(), SeqCst);
        kilobytes(ask, wanted, draft)
    });
    until("the end", || is_at_end(&exports, &ana, number));
    let job = exports.job(&ana, number).unwrap();
    assert!(matches!(job.state, ExportState::Done { .. }), "{job:?}");
    assert_eq!((seen.load(SeqCst), job.resumed, job.tally.gaps), (1, 1, 6));
    assert_eq!(job.tally.without, ["T:NONE"]);
    let expected: Vec<u8> = (0..3).flat_map(|pv| [b'0' + pv; 1024]).collect();
    assert_eq!(bytes_of(&exports, &ana, number), expected);
    assert_eq!(exports.bytes_taken().unwrap(), 3072);
    // And it is there after another start.
    drop(exports);
    let exports = open(&archive, config(folder.path()), kilobytes);
    assert_eq!(bytes_of(&exports, &ana, number), expected);
    assert_eq!(
        (exports.bytes_taken().unwrap(), exports.order(&ana, wanted(&archive)).unwrap().number),
        (3072, number + 1)
    );
}

/// As a kill leaves it: what it was doing is what is written down.
fn killed(folder: &Path, number: u64) {
    let record = folder.join(format!("exports/{number}.export"));
    let text = fs::read_to_string(&record).unwrap();
    assert!(text.ends_with("\nstate waiting\n"), "{text}");
    fs::write(record, text.replace("\nstate waiting\n", "\nstate running\n")).unwrap();
}

#[test]
fn however_often_the_archiver_is_stopped_in_order_no_export_is_given_up() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let exports = open(&archive, config(folder.path()), stuck);
    let numbers: Vec<u64> = (0..4).map(|_| exports.order(&ana, wanted(&archive)).unwrap().number).collect();
    until("the first PV", || exports.job(&ana, numbers[0]).unwrap().tally.pvs_done == 1);
    let text = || fs::read_to_string(folder.path().join(format!("exports/{}.export", numbers[0]))).unwrap();
    assert!(text().ends_with("\nstate running\n"), "{}", text());
    drop(exports);
    assert!(text().ends_with("\nstate waiting\n"), "{}", text());
    for _ in 0..8 {
        drop(open(&archive, config(folder.path()), stuck));
    }
    let exports = open(&archive, config(folder.path()), kilobytes);
    for number in numbers {
        until("the end", || is_at_end(&exports, &ana, number));
        let job = exports.job(&ana, number).unwrap();
        assert!(matches!(job.state, ExportState::Done { .. }) && job.resumed == 0, "{job:?}");
        assert_eq!(bytes_of(&exports, &ana, number).len(), 3072);
    }
}

#[test]
fn one_that_does_not_end_in_time_is_not_taken_for_the_end_of_the_archiver() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let (begun, may_end) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (begins, ends) = (Arc::clone(&begun), Arc::clone(&may_end));
    let exports = open(&archive, config(folder.path()), move |_, _, _| {
        begins.store(1, SeqCst);
        while ends.load(SeqCst) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    });
    let number = exports.order(&ana, wanted(&archive)).unwrap().number;
    until("its beginning", || begun.load(SeqCst) == 1);
    drop(exports);
    let text = fs::read_to_string(folder.path().join(format!("exports/{number}.export"))).unwrap();
    may_end.store(1, SeqCst);
    assert!(text.ends_with("\nstate waiting\n"), "{text}");
}

#[test]
fn one_that_ends_the_archiver_again_and_again_is_given_up() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let number = open(&archive, config(folder.path()), stuck).order(&ana, wanted(&archive)).unwrap().number;
    for _ in 0..6 {
        killed(folder.path(), number);
        drop(open(&archive, config(folder.path()), stuck));
    }
    let exports = open(&archive, config(folder.path()), kilobytes);
    let job = exports.job(&ana, number).unwrap();
    assert!(
        matches!(&job.state, ExportState::Failed { why, .. } if why.message().contains("again and again")),
        "{job:?}"
    );
    assert_eq!(exports.bytes_taken().unwrap(), 0);
}

#[test]
fn what_lies_there_and_is_not_what_was_left_is_said_to_be_gone() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let exports = open(&archive, config(folder.path()), kilobytes);
    let numbers: Vec<u64> = (0..3).map(|_| exports.order(&ana, wanted(&archive)).unwrap().number).collect();
    numbers.iter().for_each(|number| until("the end", || is_at_end(&exports, &ana, *number)));
    drop(exports);
    let within = |name: &str| folder.path().join("exports").join(name);
    fs::write(within(&format!("{}.data", numbers[0])), b"short").unwrap();
    fs::write(within(&format!("{}.export", numbers[1])), b"pvark export 1\nowner x\n").unwrap();
    fs::write(within("9.scratch4"), b"left over").unwrap();
    fs::write(within("next.new"), b"left over").unwrap();
    fs::write(within(&format!("{}.export.new", numbers[2])), b"left over").unwrap();
    // What was not written here is nobody's business here.
    let strangers = ["stranger", "12.data.bak", "007.data", "9.scratch"];
    strangers.iter().for_each(|name| fs::write(within(name), b"not ours").unwrap());
    fs::create_dir(within("lost+found")).unwrap();
    fs::create_dir(within("77.data")).unwrap();
    let exports = open(&archive, config(folder.path()), kilobytes);
    let refused = exports.file(&ana, numbers[0]).unwrap_err();
    assert!(refused.message().contains("lost or cut off"), "{refused}");
    assert_eq!(exports.job(&ana, numbers[1]).unwrap_err().code(), Code::UnknownPv);
    assert_eq!(bytes_of(&exports, &ana, numbers[2]).len(), 3072);
    let mut left: Vec<String> =
        fs::read_dir(within("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    let [a, c] = [numbers[0], numbers[2]];
    let mut expected =
        vec![format!("{a}.data"), format!("{a}.export"), format!("{c}.data"), format!("{c}.export"), "next".to_owned()];
    expected.extend(strangers.into_iter().chain(["lost+found", "77.data"]).map(str::to_owned));
    expected.sort();
    assert_eq!(left, expected);
}

#[test]
fn what_cannot_be_read_or_written_at_a_start_is_not_lost() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let exports = open(&archive, config(folder.path()), kilobytes);
    let order = |exports: &Exports| exports.order(&ana, wanted(&archive)).unwrap().number;
    let [a, b] = [order(&exports), order(&exports)];
    [a, b].into_iter().for_each(|number| until("the end", || is_at_end(&exports, &ana, number)));
    drop(exports);
    let exports = open(&archive, config(folder.path()), stuck);
    let c = order(&exports);
    until("the first PV", || exports.job(&ana, c).unwrap().tally.pvs_done == 1);
    drop(exports);
    // Links are not followed, so nothing can be opened under these names, and nothing be written where a folder is.
    let within = |name: String| folder.path().join("exports").join(name);
    let (data, record) = (within(format!("{a}.data")), within(format!("{b}.export")));
    for path in [&data, &record] {
        fs::copy(path, path.with_extension("aside")).unwrap();
        fs::remove_file(path).unwrap();
        std::os::unix::fs::symlink(path.with_extension("aside"), path).unwrap();
    }
    fs::create_dir(within(format!("{c}.export.new"))).unwrap();
    let exports = open(&archive, config(folder.path()), stuck);
    assert!(matches!(exports.job(&ana, a).unwrap().state, ExportState::Done { .. }));
    assert_eq!(exports.file(&ana, a).unwrap_err().code(), Code::StoreRefused);
    assert_eq!(exports.job(&ana, b).unwrap_err().code(), Code::UnknownPv);
    assert_eq!(exports.job(&ana, c).unwrap().number, c);
    assert!(exports.bytes_taken().unwrap() >= 2 * 3072);
    drop(exports);
    for path in [&data, &record] {
        fs::remove_file(path).unwrap();
        fs::copy(path.with_extension("aside"), path).unwrap();
    }
    fs::remove_dir(within(format!("{c}.export.new"))).unwrap();
    let exports = open(&archive, config(folder.path()), kilobytes);
    until("the end", || is_at_end(&exports, &ana, c));
    [a, b, c].into_iter().for_each(|number| assert_eq!(bytes_of(&exports, &ana, number).len(), 3072, "{number}"));
}

#[test]
fn none_takes_more_room_than_there_is() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let small = ExportsConfig { bytes_max: 1 << 20, ..config(folder.path()) };
    let exports = open(&archive, small.clone(), |_, _, draft| {
        loop {
            draft.put(&[7; 4096])?;
        }
    });
    let number = exports.order(&ana, wanted(&archive)).unwrap().number;
    until("the end", || is_at_end(&exports, &ana, number));
    let job = exports.job(&ana, number).unwrap();
    assert!(matches!(&job.state, ExportState::Failed { why, .. } if why.code() == Code::TooLarge), "{job:?}");
    assert_eq!((exports.bytes_taken().unwrap(), job.tally.bytes), (0, 0));
    drop(exports);
    // One has half of it, and what others have is not there for them.
    let exports = open(&archive, small.clone(), |_, wanted, draft| {
        let pieces = if wanted.form == Form::Csv { 100 } else { usize::MAX };
        (0..pieces).try_for_each(|_| draft.put(&[7; 4096]))
    });
    for (who, form, code) in [
        ("ana", Form::Csv, None),
        ("ana", Form::Mat, Some(Code::Busy)),
        ("bob", Form::Csv, None),
        ("eve", Form::Mat, Some(Code::Busy)),
    ] {
        let by = ask(&archive, who);
        let number = exports.order(&by, ExportWanted { form, ..wanted(&archive) }).unwrap().number;
        until("the end", || is_at_end(&exports, &by, number));
        match exports.job(&by, number).unwrap().state {
            ExportState::Failed { why, .. } => assert_eq!(Some(why.code()), code, "{who}: {why}"),
            state => assert!(code.is_none(), "{who}: {state:?}"),
        }
    }
    assert_eq!(exports.bytes_taken().unwrap(), 2 * 100 * 4096);
    drop(exports);
    // What would be too large is not even begun; nor is anything where the disk has no room besides that for recording.
    let exports = open(&archive, ExportsConfig { bytes_max: 2000, ..small.clone() }, kilobytes);
    assert_eq!(exports.order(&ana, wanted(&archive)).unwrap_err().code(), Code::TooLarge);
    drop(exports);
    let exports = open(&archive, ExportsConfig { free_min: Some(u64::MAX), ..small }, kilobytes);
    assert_eq!(exports.order(&ana, wanted(&archive)).unwrap_err().code(), Code::Busy);
}

#[test]
fn an_export_is_its_orderers_and_only_while_all_of_it_may_be_seen() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let exports = open(&archive, config(folder.path()), kilobytes);
    let of = |who, name: fn(&str) -> bool| {
        ask(&archive, who).with_rights(Rights::everywhere(None).or_by_name(move |pv| name(pv).then_some(Right::Read)))
    };
    let ana = of("ana", |_| true);
    let number = exports.order(&ana, wanted(&archive)).unwrap().number;
    until("the end", || is_at_end(&exports, &ana, number));
    assert_eq!(bytes_of(&exports, &ana, number).len(), 3072);
    let bob = of("bob", |_| true);
    assert_eq!(exports.job(&bob, number).unwrap_err().code(), Code::UnknownPv);
    assert_eq!(exports.file(&bob, number).unwrap_err().code(), Code::UnknownPv);
    assert_eq!(exports.remove(&bob, number).unwrap_err().code(), Code::UnknownPv);
    assert!(exports.list(&bob).unwrap().is_empty());
    let less = of("ana", |name| name != "T:LONG");
    assert_eq!(exports.file(&less, number).unwrap_err().code(), Code::Forbidden);
    assert_eq!(exports.job(&less, number).unwrap().number, number);
    let administrator = ask(&archive, "the administrator");
    assert_eq!(exports.list(&administrator).unwrap().len(), 1);
    exports.remove(&administrator, number).unwrap();
    assert_eq!(exports.job(&ana, number).unwrap_err().code(), Code::UnknownPv);
}

#[test]
fn files_go_after_a_while_and_those_that_are_removed_at_once() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let exports = open(&archive, ExportsConfig { keep: Duration::ZERO, ..config(folder.path()) }, kilobytes);
    exports.order(&ana, wanted(&archive)).unwrap();
    until("its end", || exports.list(&ana).unwrap().is_empty());
    until("its room", || exports.bytes_taken().unwrap() == 0);
    drop(exports);
    let exports = open(&archive, config(folder.path()), stuck);
    let number = exports.order(&ana, wanted(&archive)).unwrap().number;
    until("the first PV", || exports.job(&ana, number).unwrap().tally.pvs_done == 1);
    exports.remove(&ana, number).unwrap();
    let names = || fs::read_dir(folder.path().join("exports")).unwrap().count();
    until("only the next number", || names() == 1 && exports.bytes_taken().unwrap() == 0);
}

#[test]
fn a_form_that_panics_costs_its_own_job_alone() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let exports = open(&archive, config(folder.path()), |ask, wanted, draft| {
        assert!(wanted.form != Form::Mat, "a mistake");
        kilobytes(ask, wanted, draft)
    });
    let bad = exports.order(&ana, ExportWanted { form: Form::Mat, ..wanted(&archive) }).unwrap().number;
    let good = exports.order(&ana, wanted(&archive)).unwrap().number;
    until("both ends", || [bad, good].into_iter().all(|number| is_at_end(&exports, &ana, number)));
    assert_eq!(exports.file(&ana, bad).unwrap_err().code(), Code::Internal);
    assert_eq!(bytes_of(&exports, &ana, good).len(), 3072);
}

#[test]
fn what_fails_on_the_disk_fails_the_export_and_is_not_tried_again_and_again() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let exports = open(&archive, config(folder.path()), |_, wanted, draft| {
        let in_the_way = |name: &str| fs::create_dir(draft.folder().join(name)).unwrap();
        draft.put(&[1; 4096])?;
        match wanted.form {
            Form::Csv => draft.read_at(1 << 40, &mut [0; 8]),
            Form::Mat => draft.patch(u64::MAX, b"x"),
            Form::Xlsx => {
                in_the_way("3.scratch1");
                draft.scratch().map(drop)
            }
            Form::Arrow | Form::Parquet => {
                in_the_way("4.export.new");
                let passed = draft.passed(0, "T:DOUBLE", 1, 0);
                fs::remove_dir(draft.folder().join("4.export.new")).unwrap();
                passed
            }
        }
    });
    for form in [Form::Csv, Form::Mat, Form::Xlsx, Form::Arrow] {
        let number = exports.order(&ana, ExportWanted { form, ..wanted(&archive) }).unwrap().number;
        until("the end", || is_at_end(&exports, &ana, number));
        let job = exports.job(&ana, number).unwrap();
        let is_refused = matches!(&job.state, ExportState::Failed { why, .. } if why.code() == Code::StoreRefused);
        assert!(is_refused, "{form:?}: {job:?}");
        assert_eq!(exports.bytes_taken().unwrap(), 0);
    }
}

#[test]
fn what_is_removed_at_its_very_end_or_twice_is_gone_and_counted_once() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let exports = open(&archive, config(folder.path()), kilobytes);
    let kept = exports.order(&ana, wanted(&archive)).unwrap().number;
    until("the end", || is_at_end(&exports, &ana, kept));
    for _ in 0..60 {
        let number = exports.order(&ana, wanted(&archive)).unwrap().number;
        let remove = || {
            until("the end", || is_at_end_or_gone(&exports, &ana, number));
            drop(exports.remove(&ana, number));
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(remove))));
    }
    drop(exports);
    let mut names: Vec<String> = fs::read_dir(folder.path().join("exports"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [format!("{kept}.data"), format!("{kept}.export"), "next".to_owned()]);
    let exports = open(&archive, config(folder.path()), kilobytes);
    assert_eq!((exports.list(&ana).unwrap().len(), exports.bytes_taken().unwrap()), (1, 3072));
}

fn is_at_end_or_gone(exports: &Exports, ask: &Ask, number: u64) -> bool {
    exports.job(ask, number).map_or(true, |job| !matches!(job.state, ExportState::Waiting | ExportState::Running))
}

#[test]
fn removed_by_many_at_once_it_gives_its_room_back_once() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let exports = open(&archive, config(folder.path()), kilobytes);
    let numbers: Vec<u64> = (0..20)
        .map(|_| {
            let number = exports.order(&ana, wanted(&archive)).unwrap().number;
            until("the end", || is_at_end(&exports, &ana, number));
            number
        })
        .collect();
    let (kept, removed) = numbers.split_first().unwrap();
    for number in removed {
        let together = std::sync::Barrier::new(4);
        let remove = || {
            together.wait();
            drop(exports.remove(&ana, *number));
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(remove))));
    }
    assert_eq!((bytes_of(&exports, &ana, *kept).len(), exports.bytes_taken().unwrap()), (3072, 3072));
}

#[test]
fn a_file_that_is_cut_off_while_the_archiver_runs_is_refused() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let exports = open(&archive, config(folder.path()), kilobytes);
    let number = exports.order(&ana, wanted(&archive)).unwrap().number;
    until("the end", || is_at_end(&exports, &ana, number));
    let data = folder.path().join(format!("exports/{number}.data"));
    fs::write(&data, b"short").unwrap();
    let refused = exports.file(&ana, number).unwrap_err();
    assert!(refused.message().contains("cut off or replaced"), "{refused}");
    assert_eq!(refused.what_to_do(), Some("order it again"));
    fs::remove_file(&data).unwrap();
    assert!(exports.file(&ana, number).unwrap_err().message().contains("lost"));
    exports.remove(&ana, number).unwrap();
    assert_eq!(exports.bytes_taken().unwrap(), 0);
}

#[test]
fn what_has_been_kept_long_enough_makes_room_for_the_next() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let keep = Duration::from_secs(1);
    let config = ExportsConfig { bytes_max: 1 << 20, keep, ..config(folder.path()) };
    let exports = open(&archive, config, move |_, wanted, draft| {
        if wanted.form == Form::Csv {
            std::thread::sleep(2 * keep); // until the first has been kept so long
        }
        draft.put(&[7; 400 << 10])
    });
    let order = |form| exports.order(&ana, ExportWanted { form, ..wanted(&archive) }).unwrap().number;
    let first = order(Form::Arrow);
    until("the end", || is_at_end(&exports, &ana, first));
    let second = order(Form::Csv);
    until("the end", || is_at_end(&exports, &ana, second));
    let state = exports.job(&ana, second).unwrap().state;
    assert!(matches!(state, ExportState::Done { .. }), "{state:?}");
    assert_eq!(exports.job(&ana, first).unwrap_err().code(), Code::UnknownPv);
}

#[test]
fn orders_at_the_same_time_share_the_room_of_one() {
    let (archive, folder) = (Archive::with_history(), tempfile::tempdir().unwrap());
    let ana = ask(&archive, "ana");
    let planned = open(&archive, config(folder.path()), stuck).plan(&ana, &wanted(&archive)).unwrap().bytes;
    let config = ExportsConfig { bytes_max: 3 * planned, ..config(folder.path()) };
    let exports = open(&archive, config, |ask, _, _| {
        loop {
            ask.go_on()?;
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let (together, ordered) = (std::sync::Barrier::new(4), AtomicUsize::new(0));
    let order = || {
        let (ana, wanted) = (ask(&archive, "ana"), wanted(&archive));
        together.wait();
        match exports.order(&ana, wanted) {
            Ok(_) => drop(ordered.fetch_add(1, SeqCst)),
            Err(refusal) => assert_eq!(refusal.code(), Code::Busy, "{refusal}"),
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(order))));
    assert_eq!(ordered.into_inner(), 1);
}
