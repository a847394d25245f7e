//! Bins made at the same time: where edges cut block after block, what is left of the range is made in parts, each by a thread of its
//! own: as many as there are processors where the files are in memory, and many more where each block is waited for.
//!
//! ```text
//!   edges   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊   ┊
//!           one by one  │ part  │ part  │ part  │ part  │ … and so on
//! ```
//! A part begins with the number that is in force there, as the whole does. A round of parts is made before the maker notices that the
//! client has gone.

use std::{collections::VecDeque, sync::Arc};

use archive::Cuts;
use sample::Timestamp;

use crate::{
    Bin, Error, Query, Series,
    side_by_side::{processors, side_by_side},
};

/// After so many blocks were read because edges cut them, others will be.
const CUTS_MIN: usize = 6;
/// Fewer bins than this are made one by one.
const BINS_MIN: usize = 16;
/// No part has more bins. How they are shared out changes none: where two parts meet, both take the pieces of the block that lies there.
const BINS_A_PART_MAX: usize = 512;
/// Each thread makes so many parts of a round, as some parts take longer than others.
const PARTS_A_THREAD: usize = 2;
/// How many parts are made at once where blocks come from a disk: a thousand random reads of 24 kB took 79 ms with one thread, 29 with
/// 8, 21 with 16 and 20 with 32 (a virtual NVMe disk).
const READERS: usize = 32;

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
        let readers = readers(self.cuts);
        let parts = shared_out(edges, readers);
        let (query, series) = (&self.query, &self.series);
        let made = side_by_side(&parts, readers, |edges| part(query, series.clone(), (*edges).into(), held_until));
        self.cuts = Cuts::default();
        for (bins, (found, cuts)) in made {
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
    if cuts.are_from_disk() { READERS } else { processors().min(READERS) }
}

/// The edges of the parts, from the first on, for so many threads.
fn shared_out(mut edges: &[Timestamp], threads: usize) -> Vec<&[Timestamp]> {
    let parts_max = if threads > processors().min(READERS) { threads } else { threads * PARTS_A_THREAD };
    let of_part = (edges.len() - 1).div_ceil(parts_max).min(BINS_A_PART_MAX);
    let mut parts = Vec::new();
    while edges.len() > 1 && parts.len() < parts_max {
        let end = of_part.min(edges.len() - 1);
        parts.push(&edges[..=end]);
        edges = &edges[end..];
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
