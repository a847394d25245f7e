//! A shared store whose calls wait for a network wherever they are made: a task of tokio must not wait for those of another runtime. For
//! whoever has time it asks again where no answer came: a busy database refuses some reads, and answers them a second later.

use std::{
    ops::Range,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use shared::{Created, Result, Seq, Shared, Swapped};
use tokio::runtime::Handle;

/// Between two reads of which the first was not answered.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Where a task of tokio makes a call, the call has a thread of its own.
#[derive(Debug)]
pub(super) struct Apart<S: Shared + 'static> {
    shared: Option<Arc<S>>,
    /// For so long a read that is not answered is made again.
    patience: Duration,
}

/// The last who has it may be such a task, which must not end another runtime either.
impl<S: Shared + 'static> Drop for Apart<S> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take()
            && Handle::try_current().is_ok()
        {
            drop(thread::spawn(move || drop(shared)));
        }
    }
}

impl<S: Shared + 'static> Apart<S> {
    pub(super) fn new(shared: Arc<S>, patience: Duration) -> Apart<S> {
        Apart { shared: Some(shared), patience }
    }

    fn call<T: Send>(&self, call: impl FnOnce(&S) -> T + Send) -> T {
        let shared = self.shared.as_deref().expect("it is there until it is dropped");
        if Handle::try_current().is_err() {
            return call(shared);
        }
        thread::scope(|scope| {
            let called = scope.spawn(|| call(shared)).join();
            called.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl<S: Shared + 'static> Apart<S> {
    fn read<T: Send>(&self, read: impl Fn(&S) -> Result<T> + Sync) -> Result<T> {
        let begun = Instant::now();
        loop {
            match self.call(&read) {
                Err(error) if error.is_unknown() && begun.elapsed() < self.patience => thread::sleep(AGAIN_AFTER),
                answer => return answer,
            }
        }
    }
}

impl<S: Shared + 'static> Shared for Apart<S> {
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.call(|shared| shared.put(key, bytes))
    }

    fn get(&self, key: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        self.read(|shared| shared.get(key, range.clone()))
    }

    fn len(&self, key: &str) -> Result<Option<u64>> {
        self.read(|shared| shared.len(key))
    }

    fn remove(&self, key: &str) -> Result<()> {
        self.call(|shared| shared.remove(key))
    }

    fn list(&self, prefix: &str, after: &str, max: usize) -> Result<Vec<String>> {
        self.read(|shared| shared.list(prefix, after, max))
    }

    fn create(&self, journal: &str, seq: Seq, row: &[u8]) -> Result<Created> {
        self.call(|shared| shared.create(journal, seq, row))
    }

    fn row(&self, journal: &str, seq: Seq) -> Result<Option<Vec<u8>>> {
        self.read(|shared| shared.row(journal, seq))
    }

    fn last(&self, journal: &str, known: Option<Seq>) -> Result<Option<(Seq, Vec<u8>)>> {
        self.read(|shared| shared.last(journal, known))
    }

    fn rows(&self, journal: &str, from: Seq, max: usize) -> Result<Vec<Vec<u8>>> {
        self.read(|shared| shared.rows(journal, from, max))
    }

    fn value(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.read(|shared| shared.value(name))
    }

    fn swap(&self, name: &str, old: Option<&[u8]>, new: &[u8]) -> Result<Swapped> {
        self.call(|shared| shared.swap(name, old, new))
    }

    fn beat(&self, node: &str, beat: &[u8]) -> Result<()> {
        self.call(|shared| shared.beat(node, beat))
    }

    fn forget(&self, node: &str) -> Result<()> {
        self.call(|shared| shared.forget(node))
    }

    fn beats(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.read(|shared| shared.beats())
    }

    fn caveats(&self) -> Result<Vec<String>> {
        self.call(S::caveats)
    }
}

#[cfg(test)]
mod tests {
    use shared::twin::{FaultRates, Memory, Net, Seed};

    use super::*;

    #[test]
    fn a_read_that_is_not_answered_is_made_again_for_whoever_has_time() {
        let memory = Arc::new(Memory::default());
        memory.put("a", b"1").unwrap();
        let net = Net::new(memory);
        for (patience, is_answered) in [(Duration::ZERO, false), (Duration::from_secs(60), true)] {
            let link = net.link(FaultRates::default(), Seed::new(0), None);
            let apart = Apart::new(link.clone(), patience);
            link.cut(1);
            assert_eq!(apart.get("a", 0..9).is_ok(), is_answered, "{patience:?}");
            link.cut(1);
            assert!(apart.put("a", b"1").is_err(), "what is written is tried again by whoever knows what that means");
        }
    }
}
