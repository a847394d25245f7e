//! Old archives: opened at the start, and their PVs entered into the list as paused ones, so that they are found like all others.

use std::{
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

use acquire::Control;
use plainpb::{PlainPb, TypeInfo};
use sample::{OldArchive, PvName};
use store::{Reader, Writer};

use crate::{
    Failure,
    config::{self, OldKind},
};

/// Names are entered so many at a time: each time is a transaction.
const NAMES_AT_ONCE: usize = 1000;
/// So long the end waits for a folder.
pub(crate) const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// An archiver that still writes may have new PVs.
const LISTED_EVERY: Duration = Duration::from_secs(3600);

/// The archives of the config. Their files are not looked at yet, but a folder that is not there is told.
pub(crate) fn open(configs: &[config::OldArchive]) -> Result<Vec<Arc<dyn OldArchive>>, Failure> {
    let open = |config: &config::OldArchive| -> Result<Arc<dyn OldArchive>, Failure> {
        let OldKind::PlainPb = config.kind;
        if !config.path.is_dir() {
            return Err(format!("the old archive {} is no folder", config.path.display()).into());
        }
        let infos = config.type_info.as_deref().map(type_infos).transpose()?;
        Ok(Arc::new(PlainPb::new(config.path.clone(), infos.unwrap_or_default())))
    };
    configs.iter().map(open).collect()
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
        let text = fs::read_to_string(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        infos.extend(TypeInfo::read_all(&text).map_err(|error| format!("{}: {error}", file.display()))?);
    }
    Ok(infos)
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
        archives: Vec<Arc<dyn OldArchive>>,
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
    archive: &dyn OldArchive,
    control: &Control<Writer>,
    reader: &Reader,
    stop: &AtomicBool,
) -> Result<usize, Failure> {
    let removed: std::collections::HashSet<PvName> = reader.removed().into_iter().map(|pv| pv.entry.name).collect();
    let (mut waiting, mut news, mut failure) = (Vec::new(), 0, None);
    let mut flush = |waiting: &mut Vec<PvName>| match control.enter_paused(std::mem::take(waiting)) {
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
