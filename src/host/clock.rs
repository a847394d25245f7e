//! The wall clock of the program.

use std::time::SystemTime;

use sample::Timestamp;

/// The time.
#[expect(clippy::disallowed_methods, reason = "the program's own clock; everything below takes `now`")]
pub(crate) fn now() -> Timestamp {
    Timestamp::from(SystemTime::now())
}
