//! Lockout: after some wrong passwords for a name from one address, no more are taken from there for a while.

use std::{collections::HashMap, net::IpAddr, sync::Mutex, time::Duration};

use sample::Timestamp;

use crate::random;

/// The most wrong passwords that one name and address may send within a minute.
const WRONG_MAX: usize = 5;
const WITHIN: Duration = Duration::from_secs(60);
/// The most names and addresses that are remembered. When there are more, the one whose last mistake is oldest is forgotten.
const KEPT_MAX: usize = 10_000;

/// A name and an address, as their hash: a name may be anything that somebody typed, a password too.
type Key = [u8; 32];

fn key(user: &str, from: Option<IpAddr>) -> Key {
    let from = from.map_or_else(String::new, |address| address.to_canonical().to_string());
    random::hash(&format!("{from} {user}"))
}

/// Which passwords were wrong of late.
#[derive(Debug, Default)]
pub(crate) struct Lockout(Mutex<HashMap<Key, Vec<Timestamp>>>);

impl Lockout {
    /// Whether another password may be tried, or after what time.
    pub(crate) fn check(&self, user: &str, from: Option<IpAddr>, now: Timestamp) -> Result<(), Duration> {
        let kept = self.0.lock().expect("no holder of this lock panics");
        let Some(tries) = kept.get(&key(user, from)) else { return Ok(()) };
        let mut recent = tries.iter().filter(|at| is_recent(**at, now));
        match (recent.next(), recent.count() + 1 >= WRONG_MAX) {
            (Some(first), true) => {
                let ends = first.saturating_add(WITHIN).nanos();
                let nanos = u64::try_from(ends.saturating_sub(now.nanos())).unwrap_or(0);
                Err(Duration::from_nanos(nanos).clamp(Duration::from_secs(1), WITHIN))
            }
            _ => Ok(()),
        }
    }

    /// A password was wrong.
    pub(crate) fn wrong(&self, user: &str, from: Option<IpAddr>, now: Timestamp) {
        let mut kept = self.0.lock().expect("no holder of this lock panics");
        let key = key(user, from);
        if kept.len() >= KEPT_MAX && !kept.contains_key(&key) {
            kept.retain(|_, tries| tries.iter().any(|at| is_recent(*at, now)));
            if kept.len() >= KEPT_MAX {
                let oldest = kept.iter().min_by_key(|(_, tries)| tries.last().copied()).map(|(key, _)| *key);
                oldest.map(|key| kept.remove(&key));
            }
        }
        let tries = kept.entry(key).or_default();
        tries.retain(|at| is_recent(*at, now));
        tries.push(now);
    }
}

/// A clock that was set back makes a try recent, and not one of the future.
fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    now < at.saturating_add(WITHIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds, 0)
    }

    fn address(last: u8) -> Option<IpAddr> {
        Some([10, 0, 0, last].into())
    }

    #[test]
    fn the_sixth_wrong_password_within_a_minute_waits_and_others_do_not() {
        let lockout = Lockout::default();
        for second in 0..5 {
            lockout.check("ana", address(1), at(second)).unwrap();
            lockout.wrong("ana", address(1), at(second));
        }
        assert_eq!(lockout.check("ana", address(1), at(5)), Err(Duration::from_secs(55)));
        lockout.check("ana", address(2), at(5)).unwrap();
        lockout.check("bob", address(1), at(5)).unwrap();
        lockout.check("ana", address(1), at(60)).unwrap();
        lockout.wrong("ana", address(1), at(60));
        assert_eq!(lockout.check("ana", address(1), at(60)), Err(Duration::from_secs(1)));
        lockout.check("ana", address(1), at(-100)).unwrap_err();
    }

    #[test]
    fn however_many_names_are_tried_only_so_many_are_remembered() {
        let lockout = Lockout::default();
        (0..KEPT_MAX + 100).for_each(|number| lockout.wrong(&number.to_string(), None, at(0)));
        assert_eq!(lockout.0.lock().unwrap().len(), KEPT_MAX);
        lockout.wrong("ana", None, at(100));
        assert_eq!(lockout.0.lock().unwrap().len(), 1);
    }
}
