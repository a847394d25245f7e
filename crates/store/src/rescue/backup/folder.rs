//! The folder of a backup: whose it is, what a run that broke off has left in it, and how it becomes an archive of its own.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use archive::{Action, AuditRecord, By};

use super::state::{PART, STATE};
use crate::{
    Error,
    catalog::{
        Catalog, Told,
        copy::{self, Copy},
        tables::CATALOGUE,
    },
    disk::{Disk, RealDisk},
    log::format,
    places::locks::{self, LOCK},
    rescue::check,
};

/// Marks a folder as a backup, and says of what.
pub(crate) const MARK: &str = "backup-of";
/// A file of the log that takes its place as soon as the catalogue has.
pub(super) const NEW: &str = "new";

/// Makes sure that the folder is empty or a backup of this archive, marks it, and locks it.
pub(super) fn take(target: &dyn Disk, from: &Path, to: &Path) -> Result<(), Error> {
    let io = |doing| move |source| Error::Io { doing, path: to.display().to_string(), source };
    refuse_nested(from, to)?;
    let mark = format!("{}\n", real(from).display());
    refuse_foreign(target, to, &mark)?;
    target.create_folder("").map_err(io("make the folder"))?;
    locks::take(target, &to.display().to_string(), None)?;
    let write = || {
        target.write_at(MARK, 0, mark.as_bytes())?;
        target.sync(MARK)?;
        target.create_folder(format::FOLDER)?;
        target.sync_folder("")
    };
    // Between the look and the lock another one may have begun here.
    let taken = refuse_foreign(target, to, &mark).and_then(|()| {
        write().map_err(io("write into"))?;
        settle(target).map_err(io("go on with what was interrupted in"))
    });
    if taken.is_err() {
        locks::give_back(target);
    }
    taken
}

/// Two folders of which one lies in the other, whatever they are called, cannot be an archive and its backup.
pub(super) fn refuse_nested(from: &Path, to: &Path) -> Result<(), Error> {
    let (from, to) = (real(from), real(to));
    if !to.starts_with(&from) && !from.starts_with(&to) {
        return Ok(());
    }
    let reason = format!("{} and {} lie in each other; choose a folder elsewhere", from.display(), to.display());
    Err(refused(reason))
}

fn refused(reason: String) -> Error {
    Error::CannotDo { doing: "back up", reason }
}

/// The path of a folder without links, and without a slash at its end. It may not be there yet.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let known = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let real = known.and_then(|(above, known)| Some(known.join(path.strip_prefix(above).ok()?))).unwrap_or(path);
    real.components().collect()
}

fn refuse_foreign(target: &dyn Disk, to: &Path, mark: &str) -> Result<(), Error> {
    let names = match target.list("") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        names => {
            names.map_err(|source| Error::Io { doing: "read the folder", path: to.display().to_string(), source })?
        }
    };
    if names.iter().any(|name| name == MARK) {
        let found = copy::read_file(target, MARK)?.unwrap_or_default();
        // One that broke off before it had written anything has marked nothing yet.
        if found != mark.as_bytes() && !found.is_empty() {
            return Err(refused(format!(
                "{} is a backup of {}; choose another folder, or remove its file {MARK} if that archive was moved to {}",
                to.display(),
                String::from_utf8_lossy(&found).trim_end(),
                mark.trim_end()
            )));
        }
        return Ok(());
    }
    let is_ours = |name: &str| [LOCK, "lost+found"].contains(&name) || name.starts_with('.');
    match names.iter().find(|name| !is_ours(name)) {
        Some(foreign) => Err(refused(format!(
            "{} holds {foreign} and is no backup of an archive; choose an empty folder",
            to.display()
        ))),
        None => Ok(()),
    }
}

/// Ends what a run that broke off had begun. Files of the log wait for the new catalogue, which is written before them: once it has
/// its name they follow it, and before that they are worth nothing.
pub(super) fn settle(target: &dyn Disk) -> io::Result<()> {
    let unfinished = format!("{CATALOGUE}.{PART}");
    let names = match target.list(format::FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        names => names?,
    };
    let is_off = target.len(&unfinished).is_ok();
    for name in names {
        let Some(key) = name.strip_suffix(&format!(".{NEW}")) else { continue };
        let new = format!("{}/{name}", format::FOLDER);
        match is_off {
            true => target.remove(&new)?,
            false => target.rename(&new, &format!("{}/{key}", format::FOLDER))?,
        }
    }
    target.sync_folder(format::FOLDER)?;
    if is_off { target.remove(&unfinished) } else { Ok(()) }
}

/// Of what archive a folder is the backup; none if it is none.
pub(crate) fn backup_of(disk: &dyn Disk) -> Result<Option<String>, Error> {
    let mark = copy::read_file(disk, MARK)?;
    Ok(mark.map(|mark| String::from_utf8_lossy(&mark).trim_end().to_owned()))
}

/// Makes a backup an archive of its own, in which an archiver may record; the next backup into its folder is refused. Gives the
/// folder of the archive that it was a backup of.
pub fn take_over(folder: &Path, by: &By) -> Result<String, Error> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(folder));
    let io = |source| Error::Io { doing: "take over", path: folder.display().to_string(), source };
    let refused = |reason: String| Error::CannotDo { doing: "take over", reason };
    let Some(of) = backup_of(&*disk)? else {
        return Err(refused(format!("{} is no backup: it has no file {MARK}", folder.display())));
    };
    locks::take(&*disk, &folder.display().to_string(), Some(by.at))?;
    let run = || {
        settle(&*disk).map_err(io)?;
        if disk.len(CATALOGUE).is_err() {
            return Err(refused(format!("it has no {CATALOGUE}: the first backup did not come to its end")));
        }
        let copy = copy::read_copy(&*disk)?;
        let copy = copy.map_err(|reason| refused(format!("its {CATALOGUE} cannot be read: {reason}")))?;
        refuse_torn(&disk, &copy).map_err(refused)?;
        let catalog = Catalog::open(disk.clone())?;
        let detail = format!("from the backup of {of}");
        let line = AuditRecord { detail, ..AuditRecord::new(Action::TakenOver, by) };
        catalog.replace_segments(&[], &copy.at_home(), Told { audit: &[line], ..Told::default() })?;
        for key in [STATE, MARK] {
            match disk.remove(key) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed.map_err(io)?,
            }
        }
        disk.sync_folder("").map_err(io)
    };
    let result = run();
    locks::give_back(&*disk);
    result.map(|()| of)
}

/// Why a backup is not whole: each file that its catalogue names is to be there.
fn refuse_torn(disk: &Arc<dyn Disk>, copy: &Copy) -> Result<(), String> {
    let missing = copy.segments.iter().filter(|of| !check::is_segment(disk, &of.key, of));
    let missing: Vec<&str> = missing.map(|of| of.key.as_str()).collect();
    match missing.first() {
        Some(first) => Err(format!(
            "{} of its {} segments are not there or not whole, {first} among them; back up again, or see what `pvark repair` \
             would do",
            missing.len(),
            copy.segments.len()
        )),
        None => Ok(()),
    }
}
