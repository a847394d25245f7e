//! What an error of S3 means: that the server said no, or that nobody knows.

use object_store::Error as Failure;
use shared::Error;

/// An error of a call, in the words of the seam. What the server did not plainly refuse may have happened.
pub(crate) fn failed(doing: &str, failure: Failure) -> Error {
    let (doing, reason) = (doing.to_owned(), with_causes(&failure));
    match failure {
        Failure::NotImplemented { .. }
        | Failure::NotSupported { .. }
        | Failure::PermissionDenied { .. }
        | Failure::Unauthenticated { .. }
        | Failure::InvalidPath { .. }
        | Failure::UnknownConfigurationKey { .. }
        | Failure::NotFound { .. } => Error::Refused { doing, reason },
        _ => Error::Unknown { doing, reason },
    }
}

/// Its text with those of its causes that say something more.
fn with_causes(failure: &Failure) -> String {
    let mut text = failure.to_string();
    let mut cause = std::error::Error::source(failure);
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
