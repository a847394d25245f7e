//! What a long command says while it works, on standard error: how far it has come, how fast, and how long it will take.

use std::time::{Duration, Instant};

use super::bytes::bytes_text;

/// So often it says something.
const TELL_EVERY: Duration = Duration::from_secs(2);

/// When a command began and when it last said something.
pub(crate) struct Told {
    began: Instant,
    told_at: Instant,
}

impl Told {
    pub(crate) fn new() -> Told {
        Told { began: Instant::now(), told_at: Instant::now() }
    }

    /// Says how far it has come, unless it did so just now.
    pub(crate) fn tell(&mut self, done: &str, progress: store::Progress) {
        let elapsed = self.began.elapsed();
        self.say(|| line(done, progress, elapsed));
    }

    /// The same in other words.
    pub(crate) fn say(&mut self, words: impl FnOnce() -> String) {
        if self.told_at.elapsed() >= TELL_EVERY {
            self.told_at = Instant::now();
            eprintln!("{}", words());
        }
    }
}

fn line(done: &str, progress: store::Progress, elapsed: Duration) -> String {
    let store::Progress { bytes, bytes_total } = progress;
    let rate = bytes as f64 / elapsed.as_secs_f64().max(1e-3);
    let left = Duration::from_secs_f64(bytes_total.saturating_sub(bytes) as f64 / rate.max(1.0));
    let [bytes, bytes_total, rate] = [bytes, bytes_total, rate as u64].map(bytes_text);
    format!("{bytes} of {bytes_total} {done}, {rate}/s, {} left", span(left))
}

fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_how_fast_and_how_long() {
        let progress = store::Progress { bytes: 100 << 20, bytes_total: 1100 << 20 };
        assert_eq!(line("read", progress, Duration::from_secs(1)), "104.9 MB of 1.15 GB read, 104.9 MB/s, 10 s left");
        let slow = store::Progress { bytes: 1, bytes_total: 14_400 };
        assert_eq!(line("copied", slow, Duration::from_secs(1)), "1 B of 14.4 kB copied, 1 B/s, 3 h 59 min left");
        let nothing = store::Progress { bytes: 0, bytes_total: 0 };
        assert_eq!(line("copied", nothing, Duration::ZERO), "0 B of 0 B copied, 0 B/s, 0 s left");
    }
}
