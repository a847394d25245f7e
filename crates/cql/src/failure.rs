//! What an error of the driver means: that the cluster said no, or that nobody knows.

use scylla::errors::{DbError, ExecutionError, RequestAttemptError};
use shared::Error;

/// An error of a statement, in the words of the seam. What the cluster did not plainly refuse may have happened: a time-out of a
/// lightweight transaction above all.
pub(crate) fn failed(doing: &str, failure: &ExecutionError) -> Error {
    let (doing, reason) = (doing.to_owned(), failure.to_string());
    let refused = match failure {
        ExecutionError::BadQuery(_) => true,
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, _)) => matches!(
            error,
            DbError::SyntaxError
                | DbError::Invalid
                | DbError::Unauthorized
                | DbError::AuthenticationError
                | DbError::ConfigError
        ),
        _ => false,
    };
    if refused { Error::Refused { doing, reason } } else { Error::Unknown { doing, reason } }
}

/// That an answer is not what the statement asks for.
pub(crate) fn strange(doing: &str, failure: &dyn std::error::Error) -> Error {
    Error::Damaged { what: doing.to_owned(), reason: failure.to_string() }
}
