//! Limits: how often each principal may ask, and how many long answers it may have at once.

use std::{
    collections::HashMap,
    hash::Hash,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use archive::How;
use sample::Timestamp;

use crate::{
    config::Limits,
    refused::{Reason, Refused},
    who::Who,
};

/// The most principals that are remembered. When there are more, the one that has been away longest is forgotten and begins anew.
const KEPT_MAX: usize = 16_384;

/// Whose requests are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// Somebody who has a name, wherever they are.
    Who(Who),
    /// An address of version 4, or a network of /64, in which one machine may have every address.
    Network([u8; 16]),
    /// Whoever asks from within this machine without a name.
    Here,
}

impl Key {
    /// Somebody who has a name, or an address.
    pub(crate) fn of(who: &Who, from: Option<IpAddr>) -> Key {
        match (who.how, from) {
            (How::Anonymous, Some(address)) => Key::at(address),
            (How::Anonymous, None) => Key::Here,
            _ => Key::Who(who.clone()),
        }
    }

    pub(crate) fn at(address: IpAddr) -> Key {
        match address.to_canonical() {
            IpAddr::V4(address) => Key::Network(address.to_ipv6_mapped().octets()),
            IpAddr::V6(address) => {
                let mut network = address.octets();
                network[8..].fill(0);
                Key::Network(network)
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct RequestBucket {
    /// How many requests it holds.
    level: f64,
    at: Timestamp,
}

/// The requests and long answers of all principals.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    buckets: Mutex<HashMap<Key, RequestBucket>>,
    long: Long,
}

impl Counted {
    /// Counts a request, or says when to come again.
    pub(crate) fn request(&self, limits: &Limits, key: &Key, now: Timestamp) -> Result<(), Refused> {
        let burst = f64::from(limits.burst);
        let mut buckets = self.buckets.lock().expect("no holder of this lock panics");
        if buckets.len() >= KEPT_MAX && !buckets.contains_key(key) {
            make_room(&mut buckets, limits, now);
        }
        let bucket = buckets.entry(key.clone()).or_insert(RequestBucket { level: burst, at: now });
        bucket.level = filled(*bucket, limits, now);
        bucket.at = now;
        if bucket.level >= 1.0 {
            bucket.level -= 1.0;
            return Ok(());
        }
        Err(too_often(limits, bucket.level))
    }

    /// Whether one more request could come, without counting it.
    pub(crate) fn has_room(&self, limits: &Limits, key: &Key, now: Timestamp) -> Result<(), Refused> {
        let buckets = self.buckets.lock().expect("no holder of this lock panics");
        match buckets.get(key).map(|bucket| filled(*bucket, limits, now)) {
            Some(level) if level < 1.0 => Err(too_often(limits, level)),
            _ => Ok(()),
        }
    }

    /// Counts a long answer until what is returned is dropped.
    pub(crate) fn long_answer(&self, limits: &Limits, key: &Key) -> Result<LongAnswer, Refused> {
        let mut long = self.long.lock().expect("no holder of this lock panics");
        let count = long.entry(key.clone()).or_insert(0);
        if *count >= limits.long_answers {
            let message = format!("{count} long answers are under way, and no more than that may be");
            return Err(Refused::too_many(Reason::LongAnswers, Duration::from_secs(1), message));
        }
        *count += 1;
        Ok(LongAnswer { of: Some((Arc::clone(&self.long), key.clone())) })
    }
}

fn too_often(limits: &Limits, level: f64) -> Refused {
    let (rate, burst) = (limits.requests_per_second, limits.burst);
    let wait = Duration::from_secs_f64((1.0 - level) / rate);
    Refused::too_many(Reason::Rate, wait, format!("more than {rate} requests a second, and {burst} at once"))
}

/// What a bucket holds by now. A clock that was set back fills nothing and takes nothing.
fn filled(bucket: RequestBucket, limits: &Limits, now: Timestamp) -> f64 {
    let nanos = now.nanos().saturating_sub(bucket.at.nanos()).max(0);
    (bucket.level + nanos as f64 * 1e-9 * limits.requests_per_second).min(f64::from(limits.burst))
}

/// Forgets those that are full again, as a new one is no better than they are; or else the one longest away.
fn make_room(buckets: &mut HashMap<Key, RequestBucket>, limits: &Limits, now: Timestamp) {
    buckets.retain(|_, bucket| filled(*bucket, limits, now) < f64::from(limits.burst));
    if buckets.len() >= KEPT_MAX {
        let oldest = buckets.iter().min_by_key(|(_, bucket)| bucket.at).map(|(key, _)| key.clone());
        oldest.map(|key| buckets.remove(&key));
    }
}

/// How many long answers are under way, of those who have any.
type Long = Arc<Mutex<HashMap<Key, u32>>>;

/// A long answer that is under way. Dropped, it is over.
#[derive(Debug, Default)]
pub struct LongAnswer {
    of: Option<(Long, Key)>,
}

impl Drop for LongAnswer {
    fn drop(&mut self) {
        let Some((long, key)) = self.of.take() else { return };
        let mut long = long.lock().expect("no holder of this lock panics");
        if let Some(count) = long.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                long.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { requests_per_second: 10.0, burst: 5, long_answers: 2, answers_megabytes: None };

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn address(text: &str) -> Key {
        Key::of(&Who::anonymous(), Some(text.parse().unwrap()))
    }

    #[test]
    fn a_burst_is_taken_then_the_rate_holds_and_others_are_not_held_up() {
        let counted = Counted::default();
        let ask = |key: &Key, millis| counted.request(&LIMITS, key, at(millis));
        let (busy, other) = (address("10.0.0.1"), address("10.0.0.2"));
        (0..5).for_each(|_| ask(&busy, 0).unwrap());
        let refused = ask(&busy, 0).unwrap_err();
        assert_eq!((refused.status(), refused.retry_after_seconds(), refused.reason), (429, Some(1), Reason::Rate));
        ask(&other, 0).unwrap();
        ask(&busy, 99).unwrap_err();
        ask(&busy, 100).unwrap();
        ask(&busy, -60_000).unwrap_err();
        ask(&busy, -59_900).unwrap();
        let taken = (0..1000).filter(|step| ask(&busy, 1000 + step * 10).is_ok()).count();
        assert!((100..=106).contains(&taken), "{taken} in 10 s");
    }

    #[test]
    fn a_network_of_version_6_counts_as_one_and_a_name_wherever_it_is() {
        assert_eq!(address("2001:db8::1"), address("2001:db8::ffff:1"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
        assert_eq!(address("::ffff:10.0.0.1"), address("10.0.0.1"));
        let who = Who::parse("oidc:a").unwrap();
        assert_eq!(Key::of(&who, Some("10.0.0.1".parse().unwrap())), Key::of(&who, None));
    }

    #[test]
    fn however_many_come_only_so_many_are_remembered() {
        let counted = Counted::default();
        for number in 0..KEPT_MAX as u32 + 1000 {
            counted.request(&LIMITS, &Key::at(IpAddr::V4(number.into())), at(0)).unwrap();
        }
        assert_eq!(counted.buckets.lock().unwrap().len(), KEPT_MAX);
        counted.request(&LIMITS, &Key::Here, at(100_000)).unwrap();
        assert_eq!(counted.buckets.lock().unwrap().len(), 1);
    }

    #[test]
    fn long_answers_are_counted_while_they_last() {
        let counted = Counted::default();
        let begin = |key: &Key| counted.long_answer(&LIMITS, key);
        let (first, _second) = (begin(&Key::Here).unwrap(), begin(&Key::Here).unwrap());
        let refused = begin(&Key::Here).unwrap_err();
        assert_eq!((refused.status(), refused.reason), (429, Reason::LongAnswers));
        begin(&address("10.0.0.1")).unwrap();
        drop(first);
        let third = begin(&Key::Here).unwrap();
        drop((third, _second));
        assert!(counted.long.lock().unwrap().is_empty());
    }
}
