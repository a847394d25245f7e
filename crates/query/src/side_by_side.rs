//! Side by side: the parts of one answer, made by several threads at a time.

use std::{
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use crate::permits::Permits;

/// How many processors there are; the system takes a while to tell.
static PROCESSORS: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));

/// All requests together have so many threads for this; without one the parts are made one after the other.
static THREADS: Permits = Permits::of(48);

/// How many processors there are.
pub fn processors() -> usize {
    *PROCESSORS
}

/// What `make` makes of each part, in their order. So many threads work at a time, the one that asks among them, and fewer where the
/// system or the other requests leave no more; each takes the next part when it has made one.
pub fn side_by_side<P: Sync, M: Send>(parts: &[P], threads: usize, make: impl Fn(&P) -> M + Sync) -> Vec<M> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made: Vec<(usize, M)> = Vec::new();
        loop {
            let place = next.fetch_add(1, Relaxed);
            let Some(part) = parts.get(place) else { return made };
            made.push((place, make(part)));
        }
    };
    let mut made: Vec<(usize, M)> = thread::scope(|scope| {
        let begin = |_| {
            let taken = THREADS.take()?;
            let work = || {
                let _taken = taken;
                work()
            };
            thread::Builder::new().spawn_scoped(scope, work).ok()
        };
        let others: Vec<_> = (1..threads.min(parts.len())).map_while(begin).collect();
        let own = work();
        let others = others.into_iter().flat_map(|thread| thread.join().expect("a part does not panic"));
        own.into_iter().chain(others).collect()
    });
    made.sort_unstable_by_key(|(place, _)| *place);
    made.into_iter().map(|(_, made)| made).collect()
}

/// Like `side_by_side`, over equal shares of `things`: one share for each processor, or fewer if there are too few things to be worth that
/// many threads.
pub fn in_shares<T: Sync, M: Send>(things: &[T], worth_a_thread: usize, make: impl Fn(&[T]) -> M + Sync) -> Vec<M> {
    let threads = processors().min(things.len().div_ceil(worth_a_thread)).max(1);
    let shares: Vec<&[T]> = things.chunks(things.len().div_ceil(threads).max(1)).collect();
    side_by_side(&shares, threads, |share| make(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_in_their_order_whoever_makes_them() {
        let parts: Vec<u64> = (0..1000).collect();
        for threads in [1, 3, 200] {
            let made = side_by_side(&parts, threads, |part| part * 2);
            assert_eq!(made, parts.iter().map(|part| part * 2).collect::<Vec<_>>());
        }
        assert_eq!(in_shares(&parts, 10, |share| share.iter().sum::<u64>()).iter().sum::<u64>(), 499_500);
        assert_eq!(in_shares(&[] as &[u64], 10, |share| share.len()), Vec::<usize>::new());
        assert_eq!(THREADS.taken(), 0, "all threads are given back");
    }
}
