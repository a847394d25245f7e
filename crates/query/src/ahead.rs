//! Bins made at the same time: where edges cut block after block, what is left of the range is made in parts, each by a thread of its
//! own. One reads while others wait for the disk or decode.
//!
//! ```text
//!   edges   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊
//!           one by one  │ part  │ part  │ part  │ part  │ … and so on
//! ```
//! A part begins with the number that is in force there, as the whole does.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use sample::Timestamp;

use crate::{Bin, Error, Query, Series};

/// After so many blocks were read because edges cut them, others will be.
const CUTS_MIN: usize = 6;
/// Fewer bins than this are made one by one.
const BINS_MIN: usize = 16;
/// How many parts are made at once, and of how many bins each: eight readers nearly saturate an SSD, and between parts the maker notices
/// that the client has gone.
const PARTS: usize = 8;
const BINS_A_PART_MAX: usize = 64;

/// All requests together have so many threads for this; without one the parts are made one after the other.
const THREADS_MAX: usize = 16;
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// What is made before it is asked for.
pub(crate) struct Ahead {
    query: Query,
    series: Series,
    made: VecDeque<Result<Bin, Error>>,
    /// Whether all that follows is made in parts.
    begun: bool,
}

/// The bins of a part, which ends with an error if there is one, and what was damaged.
type Part = (Vec<Result<Bin, Error>>, Vec<Error>);

impl Ahead {
    pub(crate) fn new(query: Query, series: Series) -> Ahead {
        Ahead { query, series, made: VecDeque::new(), begun: false }
    }

    /// The next bin, of those between the edges that are left, if it is made here. So many blocks were read because of edges. What
    /// is found damaged is added to `damage`; a block in which two parts meet is told once.
    pub(crate) fn next(
        &mut self,
        edges: &[Timestamp],
        cuts: usize,
        held_until: Timestamp,
        damage: &mut Vec<Error>,
    ) -> Option<Result<Bin, Error>> {
        self.begun |= cuts >= CUTS_MIN && edges.len() > BINS_MIN;
        if self.begun && self.made.is_empty() {
            self.make(edges, held_until, damage);
        }
        self.made.pop_front()
    }

    fn make(&mut self, edges: &[Timestamp], held_until: Timestamp, damage: &mut Vec<Error>) {
        let bins = edges.len() - 1;
        let of_part = bins.div_ceil(PARTS).min(BINS_A_PART_MAX);
        let starts = (0..bins).step_by(of_part).take(PARTS);
        let parts: Vec<&[Timestamp]> = starts.map(|start| &edges[start..=bins.min(start + of_part)]).collect();
        let (query, series) = (&self.query, &self.series);
        let make = move |edges: &[Timestamp]| part(query, series.clone(), edges.into(), held_until);
        let made: Vec<Part> = thread::scope(|scope| {
            let begin = |part| {
                let taken = Thread::take()?;
                let work = move || {
                    let _taken = taken;
                    make(part)
                };
                thread::Builder::new().spawn_scoped(scope, work).ok()
            };
            let begun: Vec<Begun> =
                parts[1..].iter().map(|part| begin(part).map_or(Begun::Later(part), Begun::Elsewhere)).collect();
            let own = make(parts[0]);
            let others = begun.into_iter().map(|begun| match begun {
                Begun::Elsewhere(thread) => thread.join().expect("a part does not panic"),
                Begun::Later(part) => make(part),
            });
            std::iter::once(own).chain(others).collect()
        });
        for (bins, found) in made {
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

/// A part of which somebody takes care, or nobody yet.
enum Begun<'a, 'scope> {
    Elsewhere(thread::ScopedJoinHandle<'scope, Part>),
    Later(&'a [Timestamp]),
}

fn part(query: &Query, series: Series, edges: Arc<[Timestamp]>, held_until: Timestamp) -> Part {
    match query.bins_between(series, edges) {
        Ok(bins) => {
            let mut bins = bins.held_until(held_until);
            let made = bins.by_ref().collect();
            (made, bins.into_damage())
        }
        Err(error) => (vec![Err(error)], Vec::new()),
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
