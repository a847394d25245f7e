//! The trial at the start: whether the server keeps to the conditions on which the fencing of owners rests.

use std::hash::{BuildHasher, RandomState};

use object_store::{Error as Failure, ObjectStoreExt, PutMode, UpdateVersion};
use shared::{Error, Result};

use crate::{failure::failed, store::S3};

/// How many attempts are made while no answer comes: the server may be slow for a moment.
const ATTEMPTS: usize = 3;

/// Writes an object of its own where there is none and where there is one, and replaces it with a wrong and with the right ETag.
pub(crate) fn conditions(s3: &S3) -> Result<()> {
    let mut tries = 0;
    loop {
        let unique = RandomState::new().hash_one("probe");
        let path = s3.path("try", "probe", &format!("{unique:016x}"))?;
        let result = tried(s3, &path);
        // The object is in nobody's way if it stays.
        let _removed = s3.runtime.block_on(s3.client.delete(&path));
        tries += 1;
        if !result.as_ref().is_err_and(Error::is_unknown) || tries == ATTEMPTS {
            return result;
        }
    }
}

fn tried(s3: &S3, path: &object_store::path::Path) -> Result<()> {
    let doing = || format!("put {path} into bucket {}", s3.config.bucket);
    let unheeded = |header: &str, seen: &str| Error::Refused {
        doing: format!("share archives through {}", s3.config.server()),
        reason: format!(
            "it does not keep to the header {header} ({seen}), so that two nodes could own one shard; \
             a server with conditional writes is needed"
        ),
    };
    let refused = |header: &str, failure: Failure| match failure {
        Failure::NotImplemented { .. } | Failure::NotSupported { .. } => unheeded(header, &failure.to_string()),
        // A server that does not know a header may call the request a wrong one.
        failure if says(&failure, "NotImplemented") || says(&failure, "501") => unheeded(header, &failure.to_string()),
        failure => failed(&doing(), failure),
    };
    let replace = |tag: &str| PutMode::Update(UpdateVersion { e_tag: Some(tag.to_owned()), version: None });

    let tag = s3.write(path, b"1", PutMode::Create).map_err(|failure| refused("If-None-Match", failure))?;
    match s3.write(path, b"2", PutMode::Create) {
        Ok(_) => return Err(unheeded("If-None-Match", "it replaced an object that was there")),
        Err(Failure::AlreadyExists { .. }) => {}
        Err(failure) => return Err(refused("If-None-Match", failure)),
    }
    let Some(tag) = tag else { return Err(unheeded("If-Match", "it gives objects no ETag")) };
    match s3.write(path, b"3", replace("\"00000000000000000000000000000000\"")) {
        Ok(_) => return Err(unheeded("If-Match", "it replaced an object that had another ETag")),
        Err(Failure::Precondition { .. }) => {}
        Err(failure) => return Err(refused("If-Match", failure)),
    }
    match s3.write(path, b"4", replace(&tag)) {
        Ok(_) => Ok(()),
        Err(Failure::Precondition { .. }) => {
            Err(unheeded("If-Match", "it did not replace an object that had this ETag"))
        }
        Err(failure) => Err(refused("If-Match", failure)),
    }
}

fn says(failure: &Failure, word: &str) -> bool {
    failure.to_string().contains(word)
}
