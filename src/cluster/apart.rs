//! A shared store whose calls wait for a network wherever they are made: a task of tokio must not wait for those of another runtime.

use std::{ops::Range, sync::Arc, thread};

use shared::{Created, Result, Seq, Shared, Swapped};
use tokio::runtime::Handle;

/// Where a task of tokio makes a call, the call has a thread of its own.
#[derive(Debug)]
pub(super) struct Apart<S: Shared + 'static>(Option<Arc<S>>);

/// The last who has it may be such a task, which must not end another runtime either.
impl<S: Shared + 'static> Drop for Apart<S> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take()
            && Handle::try_current().is_ok()
        {
            drop(thread::spawn(move || drop(shared)));
        }
    }
}

impl<S: Shared + 'static> Apart<S> {
    pub(super) fn new(shared: Arc<S>) -> Apart<S> {
        Apart(Some(shared))
    }

    fn call<T: Send>(&self, call: impl FnOnce(&S) -> T + Send) -> T {
        let shared = self.0.as_deref().expect("it is there until it is dropped");
        if Handle::try_current().is_err() {
            return call(shared);
        }
        thread::scope(|scope| {
            let called = scope.spawn(|| call(shared)).join();
            called.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl<S: Shared + 'static> Shared for Apart<S> {
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.call(|shared| shared.put(key, bytes))
    }

    fn get(&self, key: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        self.call(|shared| shared.get(key, range))
    }

    fn len(&self, key: &str) -> Result<Option<u64>> {
        self.call(|shared| shared.len(key))
    }

    fn remove(&self, key: &str) -> Result<()> {
        self.call(|shared| shared.remove(key))
    }

    fn list(&self, prefix: &str, after: &str, max: usize) -> Result<Vec<String>> {
        self.call(|shared| shared.list(prefix, after, max))
    }

    fn create(&self, journal: &str, seq: Seq, row: &[u8]) -> Result<Created> {
        self.call(|shared| shared.create(journal, seq, row))
    }

    fn row(&self, journal: &str, seq: Seq) -> Result<Option<Vec<u8>>> {
        self.call(|shared| shared.row(journal, seq))
    }

    fn last(&self, journal: &str, known: Option<Seq>) -> Result<Option<(Seq, Vec<u8>)>> {
        self.call(|shared| shared.last(journal, known))
    }

    fn rows(&self, journal: &str, from: Seq, max: usize) -> Result<Vec<Vec<u8>>> {
        self.call(|shared| shared.rows(journal, from, max))
    }

    fn value(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.call(|shared| shared.value(name))
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
        self.call(|shared| shared.beats())
    }

    fn caveats(&self) -> Result<Vec<String>> {
        self.call(S::caveats)
    }
}
