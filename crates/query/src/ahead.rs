//! Bins made at the same time: where edges cut block after block, what is left of the range is made in parts, each by a thread of its
//! own: as many as there are processors where the files are in memory, and many more where each block is waited for.
//!
//! ```text
//!   edges   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊
//!           one by one  │ part  │ part  │ part  │ part  │ … and so on
//! ```
//! A part begins with the number that is in force there, as the whole does.

use std::{
    collections::VecDeque,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use archive::Cuts;
use sample::Timestamp;

use crate::{Bin, Error, Query, Series};

/// After so many blocks were read because edges cut them, others will be.
const CUTS_MIN: usize = 6;
/// Fewer bins than this are made one by one.
const BINS_MIN: usize = 16;
/// A round divides the bins that are left into this many parts, of at most so many bins each. What is in memory does not change that:
/// the block in which two parts meet is read by both as samples, whose sums have other last bits than those of its pieces.
const PARTS: usize = 8;
const BINS_A_PART_MAX: usize = 64;
/// How many rounds are made before the maker notices that the client has gone.
const ROUNDS_MAX: usize = 4;
/// How many parts are made at once where blocks come from a disk: a thousand random reads of 24 kB took 79 ms with one thread, 29 with
/// 8, 21 with 16 and 20 with 32 (a virtual NVMe disk).
const READERS: usize = 32;

/// How many processors there are, up to that; the system takes a while to tell.
static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from).min(READERS));

/// All requests together have so many threads for this; without one the parts are made one after the other.
const THREADS_MAX: usize = 48;
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// What is made before it is asked for.
pub(crate) struct Ahead {
    query: Query,
    series: Series,
    made: VecDeque<Result<Bin, Error>>,
    /// Whether all that follows is made in parts.
    begun: bool,
    /// The blocks that were cut lately.
    cuts: Cuts,
}

/// The bins of a part, which ends with an error if there is one, what was damaged, and the blocks that were cut.
type Part = (Vec<Result<Bin, Error>>, (Vec<Error>, Cuts));

impl Ahead {
    pub(crate) fn new(query: Query, series: Series) -> Ahead {
        Ahead { query, series, made: VecDeque::new(), begun: false, cuts: Cuts::default() }
    }

    /// The next bin, of those between the edges that are left, if it is made here. These blocks were read because of edges. What
    /// is found damaged is added to `damage`; a block in which two parts meet is told once.
    pub(crate) fn next(
        &mut self,
        edges: &[Timestamp],
        cuts: Cuts,
        held_until: Timestamp,
        damage: &mut Vec<Error>,
    ) -> Option<Result<Bin, Error>> {
        if !self.begun && cuts.blocks >= CUTS_MIN && edges.len() > BINS_MIN {
            (self.begun, self.cuts) = (true, cuts);
        }
        if self.begun && self.made.is_empty() {
            self.make(edges, held_until, damage);
        }
        self.made.pop_front()
    }

    fn make(&mut self, edges: &[Timestamp], held_until: Timestamp, damage: &mut Vec<Error>) {
        let parts = shared_out(edges);
        let next = AtomicUsize::new(0);
        let (query, series) = (&self.query, &self.series);
        let work = || {
            let mut made: Vec<(usize, Part)> = Vec::new();
            loop {
                let place = next.fetch_add(1, Relaxed);
                let Some(edges) = parts.get(place) else { return made };
                made.push((place, part(query, series.clone(), (*edges).into(), held_until)));
            }
        };
        let mut made: Vec<(usize, Part)> = thread::scope(|scope| {
            let begin = |_| {
                let taken = Thread::take()?;
                let work = move || {
                    let _taken = taken;
                    work()
                };
                thread::Builder::new().spawn_scoped(scope, work).ok()
            };
            let others: Vec<_> = (1..readers(self.cuts).min(parts.len())).map_while(begin).collect();
            let own = work();
            let others = others.into_iter().flat_map(|thread| thread.join().expect("a part does not panic"));
            own.into_iter().chain(others).collect()
        });
        made.sort_unstable_by_key(|(place, _)| *place);
        self.cuts = Cuts::default();
        for (_, (bins, (found, cuts))) in made {
            self.cuts.add(cuts);
            for error in found {
                if !is_among(&error, damage) {
                    damage.push(error);
                }
            }
            let failed = bins.last().is_some_and(Result::is_err);
            self.made.extend(bins);
            if failed {
                break;
            }
        }
    }
}

/// How many parts are made at once, if the blocks before were these.
fn readers(cuts: Cuts) -> usize {
    if cuts.are_from_disk() { READERS } else { *PROCESSORS }
}

/// The edges of the parts, from the first on.
fn shared_out(mut edges: &[Timestamp]) -> Vec<&[Timestamp]> {
    let mut parts = Vec::new();
    for _ in 0..ROUNDS_MAX {
        let of_part = (edges.len() - 1).div_ceil(PARTS).min(BINS_A_PART_MAX);
        for _ in 0..PARTS {
            if edges.len() > 1 {
                parts.push(&edges[..=of_part.min(edges.len() - 1)]);
                edges = &edges[of_part.min(edges.len() - 1)..];
            }
        }
    }
    parts
}

fn part(query: &Query, series: Series, edges: Arc<[Timestamp]>, held_until: Timestamp) -> Part {
    match query.bins_between(series, edges) {
        Ok(bins) => {
            let mut bins = bins.held_until(held_until);
            let made = bins.by_ref().collect();
            (made, bins.into_damage())
        }
        Err(error) => (vec![Err(error)], Default::default()),
    }
}

fn is_among(error: &Error, others: &[Error]) -> bool {
    let text = error.to_string();
    others.iter().any(|other| other.to_string() == text)
}

/// One of the threads that all requests together have.
struct Thread;

impl Thread {
    fn take() -> Option<Thread> {
        let more = |threads: usize| (threads < THREADS_MAX).then_some(threads + 1);
        THREADS.fetch_update(Relaxed, Relaxed, more).ok().map(|_| Thread)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        THREADS.fetch_sub(1, Relaxed);
    }
}
