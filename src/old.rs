//! Old archives: opened at the start, and their PVs entered into the list as paused ones, so that they are found like all others.

use crate::{
    config::{self, OldKind},
    failure::Failure,
    host::clock::now,
    texts,
};
use aa::{Digests, PlainPb, TypeInfo};
use acquire::Control;
use archive::{ARCHIVER, Action, By, PvId, PvName, Source};
use serde_json::Value;
use std::{
    collections::HashSet,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, Thread},
    time::Duration,
};
use store::{Reader, Writer};

/// Where what the files of old archives amount to is kept, below the data folder.
pub(crate) const DIGESTS: &str = "digests";
/// Names are entered so many at a time: each time is a transaction.
const NAMES_AT_ONCE: usize = 1000;
/// Lines of the audit are read so many at a time.
const AUDIT_AT_ONCE: usize = 10_000;
/// So long the start waits for a folder, as a file system whose server has gone may never answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// So long the end waits for a folder.
pub(crate) const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// An archiver that still writes may have new PVs.
const LISTED_EVERY: Duration = Duration::from_secs(3600);

/// The archives of the config. Their files are not looked at yet, but a folder that is not there is told. One on a disk that does not
/// answer is left out, or nothing would be archived for as long.
pub(crate) fn open(configs: &[config::OldArchive], data: &Path) -> Result<Vec<Arc<dyn Source>>, Failure> {
    open_within(ANSWERS_WITHIN, configs, data)
}

fn open_within(
    patience: Duration,
    configs: &[config::OldArchive],
    data: &Path,
) -> Result<Vec<Arc<dyn Source>>, Failure> {
    if configs.is_empty() {
        return Ok(Vec::new());
    }
    // They are a convenience: what they tell can be had from the files.
    let folder = data.join(DIGESTS);
    let digests = Digests::open(&folder)
        .inspect_err(|error| {
            tracing::warn!("{}, for digests of old archives, cannot be had: {error}", folder.display())
        })
        .ok();
    let mut archives = Vec::new();
    for config in configs {
        let (path, type_info) = (config.path.clone(), config.type_info.clone());
        let digests = digests.clone();
        let OldKind::PlainPb = config.kind;
        match within(patience, move || open_one(path, type_info.as_deref(), digests.as_ref()))? {
            Some(archive) => archives.push(archive?),
            None => tracing::error!(
                "the old archive {} does not answer: it is left out until pvark is started again",
                config.path.display()
            ),
        }
    }
    Ok(archives)
}

fn open_one(path: PathBuf, type_info: Option<&Path>, digests: Option<&Digests>) -> Result<Arc<dyn Source>, String> {
    if !path.is_dir() {
        return Err(format!("the old archive {} is no folder", path.display()));
    }
    let infos = type_info.map(type_infos).transpose().map_err(|error| error.to_string())?;
    let archive = PlainPb::new(path, infos.unwrap_or_default());
    Ok(Arc::new(match digests {
        Some(digests) => archive.with_digests(digests),
        None => archive,
    }))
}

/// What is answered by then. What comes later is let go, and with it its thread.
fn within<T: Send + 'static>(
    patience: Duration,
    ask: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<Option<T>> {
    let (tell, told) = mpsc::sync_channel(1);
    let ask = move || {
        let _ = tell.send(ask()); // nobody may wait any more
    };
    thread::Builder::new().name("old-open".to_owned()).spawn(ask)?;
    Ok(told.recv_timeout(patience).ok())
}

/// A file, or all files of a folder that hold JSON.
pub(crate) fn json_files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        files = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
        files.sort();
    }
    Ok(files)
}

/// All PVTypeInfos of a file, or of the files of a folder.
pub(crate) fn type_infos(path: &Path) -> Result<Vec<TypeInfo>, Failure> {
    let mut infos = Vec::new();
    for file in json_files(path)? {
        let text = texts::read(&file)?;
        infos.extend(TypeInfo::read_all(&text).map_err(|error| format!("{}: {error}", file.display()))?);
    }
    Ok(infos)
}

/// Another name of a PV, as `getAllAliases` or the Appliance's database gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AliasOf {
    alias: PvName,
    pv: PvName,
}

/// The aliases of the old archives of the config. What cannot be read is a mistake to be told at the start.
pub(crate) fn aliases(configs: &[config::OldArchive]) -> Result<Vec<AliasOf>, Failure> {
    let mut aliases = Vec::new();
    for path in configs.iter().filter_map(|config| config.aliases.clone()) {
        let name = path.display().to_string();
        match within(ANSWERS_WITHIN, move || aliases_in(&path).map_err(|error| error.to_string()))? {
            Some(read) => aliases.extend(read?),
            None => tracing::error!("{name} does not answer: its aliases are left out until pvark is started again"),
        }
    }
    Ok(aliases)
}

fn aliases_in(path: &Path) -> Result<Vec<AliasOf>, Failure> {
    let wrong = |what: String| format!("{}: {what}", path.display());
    let rows: Vec<Value> = serde_json::from_str(&texts::read(path)?).map_err(|error| wrong(error.to_string()))?;
    let alias = |row: &Value| {
        let text = |keys: [&str; 2]| keys.iter().find_map(|key| row[key].as_str());
        // `pvName` is the alias in the table PVAliases.
        let (alias, pv) = text(["aliasName", "pvName"]).zip(text(["srcPVName", "realName"]))?;
        Some(AliasOf { alias: PvName::new(alias).ok()?, pv: PvName::new(pv).ok()? })
    };
    rows.iter().map(|row| alias(row).ok_or_else(|| wrong(format!("{row} is no alias")).into())).collect()
}

/// The thread that enters names; it ends when this is dropped. One that waits for a folder that does not answer is left behind.
pub(crate) struct Listing {
    stop: Arc<AtomicBool>,
    thread: Thread,
    /// Hung up when the thread has ended.
    ended: Receiver<()>,
}

impl Listing {
    pub(crate) fn start(
        archives: Vec<Arc<dyn Source>>,
        aliases: Vec<AliasOf>,
        control: Control<Writer>,
        reader: Reader,
    ) -> Result<Listing, Failure> {
        let stop = Arc::new(AtomicBool::new(archives.is_empty()));
        let stopping = stop.clone();
        let (alive, ended) = mpsc::channel();
        let list = move || {
            let _alive: Sender<()> = alive;
            while !stopping.load(Relaxed) {
                for archive in &archives {
                    match enter(&**archive, &control, &reader, &stopping) {
                        Ok(0) => {}
                        Ok(news) => tracing::info!("{news} PVs of {} are in the list now, paused", archive.name()),
                        Err(error) => tracing::warn!("{error}; it is tried again in an hour"),
                    }
                }
                match enter_aliases(&aliases, &control, &reader) {
                    Ok(0) => {}
                    Ok(news) => tracing::info!("{news} aliases of old archives are in the list now"),
                    Err(error) => tracing::warn!("{error}; aliases are tried again in an hour"),
                }
                if !stopping.load(Relaxed) {
                    thread::park_timeout(LISTED_EVERY);
                }
            }
        };
        let thread = thread::Builder::new().name("old archives".to_owned()).spawn(list)?;
        Ok(Listing { stop, thread: thread.thread().clone(), ended })
    }
}

impl Drop for Listing {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        self.thread.unpark();
        if self.ended.recv_timeout(ENDS_WITHIN) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("a folder of an old archive does not answer; the program ends without it");
        }
    }
}

/// Enters the names of an archive. What somebody removed stays removed.
fn enter(
    archive: &dyn Source,
    control: &Control<Writer>,
    reader: &Reader,
    stop: &AtomicBool,
) -> Result<usize, Failure> {
    let removed: HashSet<PvName> = reader.removed().into_iter().map(|pv| pv.entry.name).collect();
    let (mut waiting, mut news, mut failure) = (Vec::new(), 0, None);
    let mut flush =
        |waiting: &mut Vec<PvName>| match control.enter_paused(std::mem::take(waiting), &By::new(ARCHIVER, now())) {
            Ok(count) => {
                news += count;
                ControlFlow::Continue(())
            }
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        };
    archive.pvs(&mut |name| {
        if stop.load(Relaxed) {
            return ControlFlow::Break(());
        }
        if !removed.contains(&name) {
            waiting.push(name);
        }
        if waiting.len() >= NAMES_AT_ONCE { flush(&mut waiting) } else { ControlFlow::Continue(()) }
    })?;
    _ = flush(&mut waiting); // what it says is in `failure`
    failure.map_or(Ok(news), |error| Err(error.into()))
}

/// Enters the aliases whose PVs are in the list. A name that is taken stays whose it is, and an alias that somebody removed stays removed.
fn enter_aliases(aliases: &[AliasOf], control: &Control<Writer>, reader: &Reader) -> Result<usize, Failure> {
    let news = aliases.iter().filter(|of| reader.find(of.alias.as_str()).is_none());
    let mut news: Vec<(PvId, PvName)> =
        news.filter_map(|of| Some((reader.find(of.pv.as_str())?.id, of.alias.clone()))).collect();
    if news.is_empty() {
        return Ok(0);
    }
    let gone = removed_names(reader)?;
    news.retain(|(_, alias)| !gone.contains(alias.as_str()));
    let mut entered = 0;
    for some in news.chunks(NAMES_AT_ONCE) {
        let each = control.roster().add_aliases(some, &By::new(ARCHIVER, now()))?;
        entered += each.iter().filter(|done| done.is_ok()).count();
    }
    Ok(entered)
}

/// Names that somebody took away, aliases from their PVs or PVs from the list.
fn removed_names(reader: &Reader) -> Result<HashSet<String>, Failure> {
    let mut gone: HashSet<String> = HashSet::new();
    for removed in reader.removed() {
        gone.insert(removed.entry.name.to_string());
        gone.extend(removed.aliases.iter().map(PvName::to_string));
    }
    let (mut before, mut back) = (u64::MAX, HashSet::new());
    loop {
        let lines = reader.audit(before, AUDIT_AT_ONCE)?;
        let Some(oldest) = lines.last() else { return Ok(gone) };
        before = oldest.number;
        for line in lines {
            match line.action {
                // The newest line of an alias counts.
                Action::AliasAdded => _ = back.insert(line.detail),
                Action::AliasRemoved if !back.contains(&line.detail) => _ = gone.insert(line.detail),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    /// Who opens a pipe that nobody writes to waits, as on a file system whose server has gone.
    #[test]
    fn an_old_archive_that_does_not_answer_is_left_out_of_the_start() {
        let folder = tempfile::tempdir().expect("a folder");
        let hangs = folder.path().join("hangs.json");
        mknodat(CWD, &hangs, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        let config = |type_info| config::OldArchive {
            path: folder.path().to_owned(),
            kind: OldKind::PlainPb,
            type_info,
            aliases: None,
        };
        let archives = open_within(Duration::from_millis(300), &[config(Some(hangs)), config(None)], folder.path());
        assert_eq!(archives.expect("neither is wrong").len(), 1);
        let missing = config::OldArchive { path: folder.path().join("missing"), ..config(None) };
        let error =
            open(&[missing], folder.path()).map(|archives| archives.len()).expect_err("it is not there").to_string();
        assert!(error.contains("missing is no folder"), "{error}");
    }

    /// As `getAllAliases` gives them, or as they stand in the Appliance's database.
    #[test]
    fn aliases_are_read_from_the_answer_and_from_the_table() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("aliases.json");
        let rows = r#"[{"aliasName": "A", "srcPVName": "PV:1"}, {"pvName": "B", "realName": "PV:2"}]"#;
        fs::write(&file, rows).expect("a file");
        let name = |text| PvName::new(text).expect("a name");
        let of = |alias, pv| AliasOf { alias: name(alias), pv: name(pv) };
        assert_eq!(aliases_in(&file).expect("all are aliases"), [of("A", "PV:1"), of("B", "PV:2")]);
        fs::write(&file, r#"[{"aliasName": "A"}]"#).expect("a file");
        let error = aliases_in(&file).expect_err("it is of no PV").to_string();
        assert!(error.contains("aliases.json") && error.contains("is no alias"), "{error}");
    }

    /// What the configuration alone knows of is a PV, too, and its units are what they were in a database that writes Latin-1.
    #[test]
    fn a_pv_that_only_the_configuration_names_is_found_with_its_units() {
        let folder = tempfile::tempdir().expect("a folder");
        let info = include_str!("../testdata/aa/typeinfo/REF_ALARMS.json").replace("\"mA\"", "\"\u{b5}A\"");
        let bytes: Vec<u8> = info.chars().map(|letter| u8::try_from(u32::from(letter)).expect("Latin-1")).collect();
        let file = folder.path().join("infos.json");
        fs::write(&file, bytes).expect("a file");
        let archive = open_one(folder.path().to_owned(), Some(&file), None).expect("an archive");
        let mut names = Vec::new();
        let mut found = |name: PvName| {
            names.push(name);
            ControlFlow::Continue(())
        };
        archive.pvs(&mut found).expect("the folder can be read");
        assert_eq!(names.iter().map(PvName::as_str).collect::<Vec<_>>(), ["REF:ALARMS"]);
        let metadata =
            archive.metadata(archive::Key::Name(&names[0]), sample::TimeRange::ALL).expect("it can be read").pop();
        assert_eq!(metadata.expect("it is told").1.units.as_deref(), Some("\u{b5}A"));
    }
}
