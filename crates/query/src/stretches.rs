//! Stretches: what bins and operators are made of. Where one source alone has samples it may tell of them in summaries; where several have,
//! every sample is read and merged.
//!
//! ```text
//!   files    ├──────────────────┤
//!   store              ├───────────────────────┤
//!            └ told ──┴ merged ┴ told ─────────┘
//! ```

use std::{collections::VecDeque, sync::Arc};

use archive::{Cuts, Role, StretchStream};
use sample::{Stretch, TimeRange, Timestamp};

use crate::{Error, Series, copies::Nothing, merge::MergedSamples, sources::Sources};

/// Summaries and samples of a range, in order of time.
pub struct Stretches {
    sources: Sources,
    series: Series,
    edges: Arc<[Timestamp]>,
    /// What is still to come.
    spans: VecDeque<Span>,
    current: Option<Piece>,
    /// The blocks that were cut in spans that are over.
    cuts: Cuts,
}

/// A part of a range in which the same sources may have samples.
#[derive(Debug, PartialEq)]
struct Span {
    range: TimeRange,
    /// Which of those that are asked.
    who: Vec<usize>,
}

/// What a span consists of.
enum Piece {
    Told(StretchStream),
    Merged(Box<MergedSamples>),
}

impl Stretches {
    pub(crate) fn of(
        sources: &Sources,
        series: &Series,
        range: TimeRange,
        edges: Arc<[Timestamp]>,
    ) -> Result<Stretches, Error> {
        let spans = spans(sources, series, range)?;
        let (sources, series) = (sources.clone(), series.clone());
        Ok(Stretches { sources, series, edges, spans, current: None, cuts: Cuts::default() })
    }

    /// How many blocks were read so far because edges cut them.
    pub(crate) fn cuts(&self) -> Cuts {
        let mut cuts = self.cuts;
        if let Some(Piece::Told(told)) = &self.current {
            cuts.add(told.cuts());
        }
        cuts
    }

    /// Begins to read a part of the range: in summaries if one source alone may have samples there and tells of them so.
    fn open(&self, span: &Span) -> Result<Piece, Error> {
        let asked = self.sources.asked(self.series.pv);
        let wanted: Vec<_> = asked.each().enumerate().filter(|(index, _)| span.who.contains(index)).collect();
        if let [(_, (source, key))] = wanted.as_slice() {
            let tell = || source.stretches(*key, self.series.field.as_deref(), span.range, &self.edges);
            if source.role() == Role::Copy {
                let guard = self.sources.guard();
                match guard.or_without(&***source, tell)? {
                    None => return Ok(Piece::Told(Box::new(Nothing))),
                    Some(Some(told)) => return Ok(Piece::Told(Box::new(guard.stream(&***source, || told)))),
                    Some(None) => {}
                }
            } else if let Some(told) = tell()? {
                return Ok(Piece::Told(told));
            }
        }
        let samples = |(_, asked): &(usize, _)| self.sources.stream(*asked, &self.series, span.range);
        Ok(Piece::Merged(Box::new(MergedSamples::of(wanted.iter().map(samples)))))
    }
}

/// The range in parts, each with those that may have samples there. Where only the first source may have any, it is not asked for more.
fn spans(sources: &Sources, series: &Series, range: TimeRange) -> Result<VecDeque<Span>, Error> {
    let asked = sources.asked(series.pv);
    let own = asked.own().count();
    let mut there = Vec::new();
    for (index, (source, key)) in asked.copies().chain(asked.others()).enumerate() {
        if let Some(extent) = sources.extent_in(source, key)?.filter(|extent| extent.overlaps(range)) {
            there.push((own + index, extent));
        }
    }
    if there.is_empty() {
        return Ok(VecDeque::from([Span { range, who: (0..own).collect() }]));
    }
    for (index, (source, key)) in asked.own().enumerate() {
        if let Some(extent) = source.extent(key)?.filter(|extent| extent.overlaps(range)) {
            there.push((index, extent));
        }
    }
    let within: Vec<(usize, TimeRange)> = there
        .into_iter()
        .map(|(index, extent)| {
            let behind = Timestamp::from_nanos(extent.last.nanos().saturating_add(1));
            (index, TimeRange { t0: extent.first.max(range.t0), t1: behind.min(range.t1) })
        })
        .collect();
    Ok(shared_out(&within))
}

/// Parts of time, each with those whose ranges cover it; what nobody covers is left out.
fn shared_out(within: &[(usize, TimeRange)]) -> VecDeque<Span> {
    let mut borders: Vec<Timestamp> = within.iter().flat_map(|(_, range)| [range.t0, range.t1]).collect();
    borders.sort_unstable();
    borders.dedup();
    let mut spans: VecDeque<Span> = VecDeque::new();
    for pair in borders.windows(2) {
        let range = TimeRange { t0: pair[0], t1: pair[1] };
        let covers = |(_, whole): &&(usize, TimeRange)| whole.t0 <= range.t0 && whole.t1 >= range.t1;
        let mut who: Vec<usize> = within.iter().filter(covers).map(|(index, _)| *index).collect();
        who.sort_unstable();
        match spans.back_mut() {
            Some(last) if last.who == who && last.range.t1 == range.t0 => last.range.t1 = range.t1,
            _ if who.is_empty() => {}
            _ => spans.push_back(Span { range, who }),
        }
    }
    spans
}

impl Iterator for Stretches {
    type Item = Result<Stretch, Error>;

    fn next(&mut self) -> Option<Result<Stretch, Error>> {
        loop {
            let next = match &mut self.current {
                Some(Piece::Told(told)) => told.next().map(|stretch| stretch.map_err(Error::from)),
                Some(Piece::Merged(merged)) => merged.next().map(|batch| batch.map(Stretch::Samples)),
                None => None,
            };
            if next.is_some() {
                return next;
            }
            self.cuts = self.cuts();
            self.current = None;
            let span = self.spans.pop_front()?;
            match self.open(&span) {
                Ok(piece) => self.current = Some(piece),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_parted_where_sources_come_and_go() {
        let range = |t0, t1| TimeRange { t0: Timestamp::from_nanos(t0), t1: Timestamp::from_nanos(t1) };
        let shared = |within: &[(usize, TimeRange)]| {
            let spans = shared_out(within).into_iter();
            spans.map(|span| (span.range.t0.nanos(), span.range.t1.nanos(), span.who)).collect::<Vec<_>>()
        };
        assert_eq!(shared(&[(0, range(3, 9))]), [(3, 9, vec![0])]);
        assert_eq!(
            shared(&[(2, range(0, 5)), (0, range(3, 9)), (1, range(3, 9))]),
            [(0, 3, vec![2]), (3, 5, vec![0, 1, 2]), (5, 9, vec![0, 1])]
        );
        assert_eq!(
            shared(&[(1, range(0, 2)), (0, range(4, 6))]),
            [(0, 2, vec![1]), (4, 6, vec![0])],
            "a hole is nobody's"
        );
        assert_eq!(shared(&[(1, range(0, 4)), (1, range(4, 6))]), [(0, 6, vec![1])]);
    }
}
