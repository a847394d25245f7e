//! Columns: the steps of several tracks on the same times, some thousand at a time.

use query::Query;
use sample::TimeRange;

use crate::{
    steps::{Gaps, Rows, StepError, Steps},
    track::Track,
};

/// The numbers of all tracks from each time up to the next.
#[derive(Debug, Default)]
pub(crate) struct Stretch {
    pub(crate) times: Vec<i64>,
    /// One for each track.
    pub(crate) columns: Vec<Vec<f64>>,
    /// Those of the times at which no track has a sample.
    pub(crate) edges: Vec<i64>,
}

/// One of the tracks.
struct TrackLane {
    /// None of a track that holds one number all the time.
    steps: Option<Steps>,
    rows: Rows,
    next: usize,
    is_over: bool,
    held: f64,
}

impl TrackLane {
    fn fill(&mut self) -> Result<(), StepError> {
        while let Some(steps) = &mut self.steps
            && !self.is_over
            && self.next == self.rows.times.len()
        {
            match steps.next()? {
                Some(rows) => (self.rows, self.next) = (rows, 0),
                None => self.is_over = true,
            }
        }
        Ok(())
    }

    fn left(&self) -> &[i64] {
        &self.rows.times[self.next..]
    }

    /// The times up to `bound` that are left at which it has no sample.
    fn edges_left(&self, bound: i64) -> &[i64] {
        let edges = &self.rows.edges;
        let first = self.left().first().copied().unwrap_or(i64::MAX);
        let begin = edges.partition_point(|time| *time < first);
        &edges[begin..edges.partition_point(|time| *time <= bound).max(begin)]
    }

    fn has_sample_at(&self, time: i64) -> bool {
        self.left().binary_search(&time).is_ok() && self.rows.edges.binary_search(&time).is_err()
    }
}

/// Makes them from the beginning of a range to its end.
pub(crate) struct Columns {
    lanes: Vec<TrackLane>,
}

impl Columns {
    /// `gaps` has one for each track.
    pub(crate) fn of(query: &Query, tracks: &[Track], range: TimeRange, gaps: &[Gaps]) -> Result<Columns, StepError> {
        Columns::beside(query, tracks, range, gaps, &vec![None; tracks.len()])
    }

    /// The same where some of the tracks, but not all, are known to hold a number throughout the range: these are not read.
    pub(crate) fn beside(
        query: &Query,
        tracks: &[Track],
        range: TimeRange,
        gaps: &[Gaps],
        held: &[Option<f64>],
    ) -> Result<Columns, StepError> {
        let lane = |((track, gaps), held): ((&Track, &Gaps), &Option<f64>)| {
            let steps = if held.is_some() { None } else { Some(Steps::of(query, track, range, gaps)?) };
            Ok(TrackLane {
                is_over: steps.is_none(),
                steps,
                rows: Rows::default(),
                next: 0,
                held: held.unwrap_or(f64::NAN),
            })
        };
        Ok(Columns { lanes: tracks.iter().zip(gaps).zip(held).map(lane).collect::<Result<_, StepError>>()? })
    }

    /// How many numbers were read.
    pub(crate) fn read(&self) -> u64 {
        self.lanes.iter().filter_map(|lane| lane.steps.as_ref()).map(Steps::read).sum()
    }

    pub(crate) fn take_damage(&mut self) -> Vec<String> {
        self.lanes.iter_mut().filter_map(|lane| lane.steps.as_mut()).flat_map(Steps::take_damage).collect()
    }

    /// The next rows; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Stretch>, StepError> {
        self.lanes.iter_mut().try_for_each(TrackLane::fill)?;
        // What comes next of a track is later than what it has given.
        let open = self.lanes.iter().filter(|lane| !lane.is_over);
        let bound = open.filter_map(|lane| lane.left().last().copied()).min().unwrap_or(i64::MAX);
        let mut times: Vec<i64> = Vec::new();
        let mut runs = 0;
        for lane in &self.lanes {
            let left = lane.left();
            let count = left.partition_point(|time| *time <= bound);
            times.extend_from_slice(&left[..count]);
            runs += usize::from(count > 0);
        }
        if times.is_empty() {
            return Ok(None);
        }
        if runs > 1 {
            times.sort(); // runs that rise are only merged
            times.dedup();
        }
        let edges = self.edges(bound);
        let columns = self.lanes.iter_mut().map(|lane| spread(lane, &times)).collect();
        Ok(Some(Stretch { times, columns, edges }))
    }

    /// The times up to `bound` at which no track has a sample.
    fn edges(&self, bound: i64) -> Vec<i64> {
        let mut edges: Vec<i64> = self.lanes.iter().flat_map(|lane| lane.edges_left(bound)).copied().collect();
        if self.lanes.len() > 1 {
            edges.sort();
            edges.dedup();
            edges.retain(|time| !self.lanes.iter().any(|lane| lane.has_sample_at(*time)));
        }
        edges
    }
}

/// What a track holds at each of some times.
fn spread(lane: &mut TrackLane, times: &[i64]) -> Vec<f64> {
    let (own, numbers) = (&lane.rows.times[lane.next..], &lane.rows.numbers[lane.next..]);
    if own.len() >= times.len() && own[..times.len()] == *times {
        lane.next += times.len();
        lane.held = numbers[times.len() - 1];
        return numbers[..times.len()].to_vec();
    }
    if own.is_empty() {
        return vec![lane.held; times.len()];
    }
    let (mut next, mut held) = (0, lane.held);
    let mut column = Vec::with_capacity(times.len());
    for time in times {
        if own.get(next) == Some(time) {
            held = numbers[next];
            next += 1;
        }
        column.push(held);
    }
    (lane.next, lane.held) = (lane.next + next, held);
    column
}
