//! What can go wrong, as sentences for an operator.

use std::{fmt, io, path::PathBuf};

use archive::{DirectoryError, PvId};
use sample::Timestamp;

/// Why the store could not do what it was asked.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read or written.
    Io {
        /// What was being done, as in "cannot … the file".
        doing: &'static str,
        /// The file or folder.
        path: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// Another process has the store open.
    Locked {
        /// The folder.
        folder: PathBuf,
        /// Which, as far as known.
        holder: String,
    },
    /// The folder of the archive is not where it was.
    Away {
        /// What became of it.
        reason: String,
    },
    /// The folder of the archive was not back when the archive was closed.
    Lost {
        /// What became of it.
        reason: String,
        /// So many samples waited for it in memory, or are in it and nobody knows whether they are safe.
        samples: u64,
    },
    /// The folder holds something else.
    NotAStore {
        /// The folder.
        folder: PathBuf,
        /// What was found there.
        found: String,
    },
    /// Written by a newer version of the program.
    TooNew {
        /// Which file.
        path: String,
        /// Its format version.
        version: u16,
        /// The newest version known here.
        supported: u16,
    },
    /// The catalogue could not be read or written.
    Catalogue {
        /// What was being done.
        doing: &'static str,
        /// What redb says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The catalogue failed at the end of a change: it may hold or not.
    Doubtful {
        /// What went wrong.
        source: Box<Error>,
    },
    /// The shared store of a cluster.
    Shared {
        /// What it says.
        source: shared::Error,
    },
    /// The store takes no more samples, because an earlier write or sync failed or the disk is full.
    Refused {
        /// Why.
        reason: String,
    },
    /// A sample, or what an append has of one PV, is larger than a block can be.
    TooLarge {
        /// Whose.
        pv: PvId,
        /// How large.
        bytes: usize,
    },
    /// Samples arrive faster than the head can be flushed.
    Busy,
    /// No PV was ever given that number.
    UnknownPv {
        /// The number.
        pv: PvId,
    },
    /// A name is wanted for one PV and belongs to another.
    NameTaken {
        /// The name.
        name: String,
        /// The PV that has it as its name or alias.
        owner: String,
    },
    /// The PV has no such alias, or nothing that could come back.
    NothingThere {
        /// What was looked for, and where.
        what: String,
    },
    /// Another view has that name.
    ViewTaken {
        /// The name.
        name: String,
    },
    /// There are as many notes and views as an archive keeps.
    NoRoomForMemos,
    /// No order of that number can be taken back.
    NoOrder {
        /// The number.
        number: u64,
    },
    /// The shared store of a cluster gives no answer, and no order is taken before it does: nobody could say whether it counts.
    Detached,
    /// A backup or a repair cannot be made as it was asked for.
    CannotDo {
        /// What was asked for, as in "cannot …".
        doing: &'static str,
        /// Why not, and what to do.
        reason: String,
    },
    /// A file of blocks is damaged as a whole: its footer, directory or index.
    CorruptSegment {
        /// Which file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The disk gives an error in place of the bytes of a segment; the next try may succeed.
    UnreadSegment {
        /// Which file.
        path: String,
        /// What the disk said.
        source: io::Error,
    },
    /// A block is damaged. Its neighbours are not affected.
    CorruptBlock {
        /// In which file.
        path: String,
        /// Where in the file.
        offset: u64,
        /// Whose samples it held.
        pv: PvId,
        /// The time of the first of them.
        t0: Timestamp,
        /// The time of the last of them.
        t1: Timestamp,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    /// Whether it costs a block or a segment only, so that whoever reads on gets the rest.
    pub fn is_damage(&self) -> bool {
        matches!(self, Error::CorruptBlock { .. } | Error::CorruptSegment { .. } | Error::UnreadSegment { .. })
    }
}

impl Error {
    /// Whether it is because the folder of the archive is not where it was, and will do once it is back.
    pub fn is_away(&self) -> bool {
        match self {
            Error::Away { .. } => true,
            Error::Io { source, .. } => source.get_ref().is_some_and(|reason| reason.is::<Away>()),
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { doing, path, source } => write!(f, "cannot {doing} {path}: {source}"),
            Error::Locked { folder, holder } => {
                write!(f, "the archive in {} is in use by {holder}; stop that one first", folder.display())
            }
            Error::Away { reason } => write!(f, "{reason}; nothing is written before it is back"),
            Error::Lost { reason, samples } => write!(
                f,
                "{reason}, and was not back at the end: the last {samples} samples were not known to be safe; what was not \
                 written before is lost"
            ),
            Error::NotAStore { folder, found } => {
                write!(f, "{} is not an archive of pvark: {found}; choose an empty folder", folder.display())
            }
            Error::TooNew { path, version, supported } => write!(
                f,
                "{path} has format version {version}, this program reads up to {supported}; use the newer program"
            ),
            Error::Catalogue { doing, source } => write!(f, "cannot {doing} the catalogue: {source}"),
            Error::Doubtful { source } => write!(
                f,
                "{source}; whether the change holds is not known before the catalogue can be written again: look then, and \
                 repeat it if need be"
            ),
            Error::Shared { source } => source.fmt(f),
            Error::Refused { reason } => write!(f, "the store takes no more samples: {reason}"),
            Error::Busy => write!(f, "the store is busy writing blocks, both heads are full; is the disk too slow?"),
            Error::TooLarge { pv, bytes } => {
                write!(
                    f,
                    "a sample of PV number {} has {bytes} bytes, more than the 128 MiB that a block can hold",
                    pv.0
                )
            }
            Error::UnknownPv { pv } => write!(f, "no PV of this archive has the number {}", pv.0),
            Error::NameTaken { name, owner } if name == owner => {
                write!(f, "there is a PV called {name} already; rename or remove that one first")
            }
            Error::NameTaken { name, owner } => {
                write!(f, "{name} is an alias of the PV {owner} already; remove the alias first")
            }
            Error::NothingThere { what } => write!(f, "there is no {what}"),
            Error::ViewTaken { name } => write!(f, "there is a view called {name} already; remove that one first"),
            Error::NoRoomForMemos => f.write_str("there is no room for more notes and views; remove some"),
            Error::NoOrder { number } => f.write_str(&DirectoryError::no_order(*number).message),
            Error::Detached => f.write_str(
                "the shared store of the cluster gives no answer, so no order can be taken; samples are recorded meanwhile, try again when \
                 it does",
            ),
            Error::CannotDo { doing, reason } => write!(f, "cannot {doing}: {reason}"),
            Error::UnreadSegment { path, source } => write!(f, "the segment {path} cannot be read: {source}"),
            Error::CorruptSegment { path, reason } => write!(f, "the segment {path} is damaged: {reason}"),
            Error::CorruptBlock { path, offset, pv, t0, t1, reason } => write!(
                f,
                "the block at byte {offset} of {path} with samples of PV number {} from {t0} to {t1} is damaged: {reason}",
                pv.0
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } | Error::UnreadSegment { source, .. } => Some(source),
            Error::Catalogue { source, .. } => Some(source.as_ref()),
            Error::Doubtful { source } => Some(source.as_ref()),
            Error::Shared { source } => Some(source),
            _ => None,
        }
    }
}

impl From<shared::Error> for Error {
    fn from(source: shared::Error) -> Error {
        Error::Shared { source }
    }
}

/// Why nothing is written: the folder of the archive is away. It is what such an error of the disk holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Away(pub(crate) String);

impl fmt::Display for Away {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Away {}
