//! The clock of requests: what "now" means where a request leaves a time open.

use std::time::SystemTime;

use sample::Timestamp;

/// The time.
#[expect(clippy::disallowed_methods, reason = "this is where requests read the clock; everything else takes `now`")]
pub fn now() -> Timestamp {
    Timestamp::from(SystemTime::now())
}
