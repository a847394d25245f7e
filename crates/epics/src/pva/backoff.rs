//! How long a client pauses before it tries again what has failed: all such times of pvAccess, in one place.

use std::time::Duration;

/// Between two searches for a name that nobody answers for.
pub(crate) const SEARCH: Backoff = Backoff { first: Duration::from_millis(250), longest: Duration::from_secs(30) };

/// Before a circuit to a server that could not be reached, or that ended the last one, is made again.
pub(crate) const CIRCUIT: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(30) };

/// Before a monitor that the server refused is asked for again.
pub(crate) const MONITOR: Backoff = Backoff { first: Duration::from_millis(200), longest: Duration::from_secs(60) };

/// Before a channel that the server refused is searched again.
pub(crate) const CHANNEL_REFUSED: Duration = Duration::from_secs(10);

/// Before a channel that the server took away is searched again.
pub(crate) const CHANNEL_DESTROYED: Duration = Duration::from_millis(500);

/// More failures than this make no pause longer.
const DOUBLINGS_MAX: u32 = 10;

/// A pause that doubles with each failure, up to the longest.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    pub(crate) longest: Duration,
}

impl Backoff {
    /// The pause after so many failures before the last one.
    pub(crate) fn pause(&self, failures: u32) -> Duration {
        (self.first * 2_u32.pow(failures.min(DOUBLINGS_MAX))).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_however_many_failures_there_are() {
        let pauses =
            |backoff: Backoff, failures: [u32; 4]| failures.map(|failures| backoff.pause(failures).as_millis());
        assert_eq!(pauses(SEARCH, [0, 1, 7, u32::MAX]), [250, 500, 30_000, 30_000]);
        assert_eq!(pauses(CIRCUIT, [0, 1, 4, u32::MAX]), [1_000, 2_000, 16_000, 30_000]);
        assert_eq!(pauses(MONITOR, [0, 1, 8, u32::MAX]), [200, 400, 51_200, 60_000]);
    }
}
