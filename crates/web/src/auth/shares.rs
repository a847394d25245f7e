//! Shares: what all answers of one principal may take of memory together, so that nobody takes what is there for all.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};

use access::{Identity, LimitKey};
use service::Share;

/// Shares of nobody are forgotten when there are so many.
const KEPT_MAX: usize = 1024;

/// The shares of those who have answers under way.
#[derive(Default)]
pub(crate) struct Shares(Mutex<HashMap<LimitKey, Weak<Share>>>);

impl Shares {
    /// That of somebody, whose answers may take so much.
    pub(crate) fn of(&self, identity: &Identity, bytes_max: usize) -> Arc<Share> {
        let mut shares = self.0.lock().expect("no holder of this lock panics");
        let key = identity.limit_key();
        if let Some(share) = shares.get(&key).and_then(Weak::upgrade).filter(|share| share.bytes_max() == bytes_max) {
            return share;
        }
        if shares.len() >= KEPT_MAX {
            shares.retain(|_, share| share.strong_count() > 0);
        }
        let share = Share::new(bytes_max);
        shares.insert(key, Arc::downgrade(&share));
        share
    }
}
