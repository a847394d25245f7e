//! What an error of the driver means: that the cluster said no, or that nobody knows.

use scylla::errors::{
    ConnectionError, ConnectionPoolError, ConnectionSetupRequestErrorKind, DbError, ExecutionError, MetadataError,
    NewSessionError, PrepareError, RequestAttemptError,
};
use shared::Error;

use crate::config::Config;

/// An error of a statement, in the words of the seam. What the cluster did not plainly refuse may have happened: a time-out of a
/// lightweight transaction above all.
pub(crate) fn failed(doing: &str, failure: &ExecutionError) -> Error {
    let doing = doing.to_owned();
    let reason = match failure {
        ExecutionError::ConnectionPoolError(pool) => not_let_in(pool),
        _ => None,
    };
    let reason = reason.unwrap_or_else(|| failure.to_string());
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

/// Why the cluster is not reached: because it does not know who asks, or because nobody answers.
pub(crate) fn unreached(config: &Config, doing: &str, failure: &NewSessionError) -> Error {
    let doing = doing.to_owned();
    match setup(failure) {
        Some(ConnectionSetupRequestErrorKind::DbError(DbError::AuthenticationError, told)) => {
            let who = config.user.as_ref().map_or("nobody", |(user, _)| user);
            let reason = format!("it does not take the password of {who:?} ({told}): set `user` and `password_file`");
            Error::Refused { doing, reason }
        }
        Some(ConnectionSetupRequestErrorKind::MissingAuthentication) => {
            let reason = "it wants to know who asks: say `user` and `password_file`".to_owned();
            Error::Refused { doing, reason }
        }
        // Who speaks TLS alone ends a plain connection at its first word.
        Some(_) if config.tls.is_none() => {
            let reason = format!(
                "none of its nodes answers: {failure}; if they speak TLS alone, say `tls` in [cluster.shared.cql]"
            );
            Error::Unknown { doing, reason }
        }
        _ => Error::Unknown { doing, reason: format!("none of its nodes answers: {failure}") },
    }
}

/// That a cluster does not let in any more whom it has let in: no new connection is made. What is under way on those that are there is
/// answered on.
fn not_let_in(failure: &ConnectionPoolError) -> Option<String> {
    let ConnectionPoolError::Broken {
        last_connection_error: ConnectionError::ConnectionSetupRequestError(failure),
        ..
    } = failure
    else {
        return None;
    };
    let told = match failure.get_error() {
        ConnectionSetupRequestErrorKind::DbError(DbError::AuthenticationError, told) => format!(" ({told})"),
        ConnectionSetupRequestErrorKind::MissingAuthentication => String::new(),
        _ => return None,
    };
    Some(format!(
        "the database does not take the user and the password any more with which this node began{told}: give them back, or start the node \
         anew with those that are in force"
    ))
}

/// What was answered while a connection was made.
fn setup(failure: &NewSessionError) -> Option<&ConnectionSetupRequestErrorKind> {
    let NewSessionError::MetadataError(MetadataError::ConnectionPoolError(ConnectionPoolError::Broken {
        last_connection_error: ConnectionError::ConnectionSetupRequestError(failure),
    })) = failure
    else {
        return None;
    };
    Some(failure.get_error())
}

/// That the tables of a keyspace are none on which the statements can be.
pub(crate) fn unfit(doing: &str, failure: &PrepareError) -> Error {
    let (doing, reason) = (doing.to_owned(), failure.to_string());
    match failure {
        PrepareError::AllAttemptsFailed { first_attempt: RequestAttemptError::DbError(DbError::Invalid, told) } => {
            let reason = format!(
                "its tables are not those of this pvark ({told}): it belongs to something else, or to another version; name another `keyspace`"
            );
            Error::Refused { doing, reason }
        }
        PrepareError::AllAttemptsFailed { first_attempt } => {
            failed(&doing, &ExecutionError::LastAttemptError(first_attempt.clone()))
        }
        _ => Error::Unknown { doing, reason },
    }
}

/// That an answer is not what the statement asks for.
pub(crate) fn strange(doing: &str, failure: &dyn std::error::Error) -> Error {
    Error::Damaged { what: doing.to_owned(), reason: failure.to_string() }
}
