//! The proof of the audit: of the files of an archive, beside a running archiver or without one.

use std::{io, path::Path};

use crate::{
    AuditHead, AuditProof, Error,
    catalog::{copy, tables::CATALOGUE},
    disk::{Disk, RealDisk},
};

/// Says whether the audit of the archive in `folder` is what was written, and whether these heads, which its log or a backup has, are of it.
pub fn verify_audit(folder: &Path, known: &[AuditHead]) -> Result<AuditProof, Error> {
    let disk: &dyn Disk = &RealDisk::new(folder);
    if disk.len(CATALOGUE).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Err(Error::NotAStore { folder: folder.to_owned(), found: format!("it holds no {CATALOGUE}") });
    }
    let proof = copy::prove_audit(disk, known)?;
    proof.map_err(|reason| Error::CannotDo { doing: "verify the audit", reason: format!("{CATALOGUE}: {reason}") })
}
