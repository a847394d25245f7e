//! Answers that go on at another node when the one that gave them has died: exactly behind what was given, or they break off and say so.
//! Where the answer can still say it, or has, they go on with what the copy of the shard recorded.
//!
//! ```text
//!   given ──────────────● last │ dies         samples:    from `last` on, without those of that moment that were given
//!   the next owner             ● ────────►    stretches:  behind `last`, as no part of a summary can be taken back
//! ```

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use archive::{Cost, Cuts, Key, PvId, SampleStream, Source, SourceError, StretchStream, Stretches};
use sample::{Batch, Sample, Stretch, TimeRange, Timestamp};

use crate::{
    board::TAKEN_WITHIN,
    source::{LOOK_AGAIN, Place},
    whole::Whole,
};

/// What an answer is of.
pub(crate) struct Asked {
    pub(crate) whole: Whole,
    pub(crate) pv: PvId,
    pub(crate) field: Option<String>,
    /// What is still to be given.
    pub(crate) range: TimeRange,
}

impl Asked {
    /// Where the PV is answered now or within a while, if it was not for so long.
    fn place(&self, failing: Option<Instant>) -> Result<Place, SourceError> {
        self.whole.place(self.pv, TAKEN_WITHIN, failing)
    }

    fn samples(&self, source: &dyn Source, key: Key<'_>, range: TimeRange) -> SampleStream {
        match &self.field {
            Some(field) => source.samples_of_field(key, field, range),
            None => source.samples(key, range),
        }
    }
}

/// Whether an answer that breaks off so is to go on elsewhere. Its beginning is waited for as long as that of any.
fn goes_on(error: &SourceError, is_here: bool, begun: Instant) -> bool {
    let is_away = error.cost == Cost::UntilBack && !is_here;
    if !is_away || begun.elapsed() >= TAKEN_WITHIN {
        return false;
    }
    thread::sleep(LOOK_AGAIN);
    true
}

/// Samples.
pub(crate) struct Samples {
    asked: Asked,
    stream: Option<(SampleStream, bool)>,
    /// Since when no node gives anything.
    failing: Option<Instant>,
    /// What was given of the first moment of the range.
    given: Vec<Sample>,
    /// Samples of the first moment come that were given already.
    skips: bool,
    over: bool,
}

impl Samples {
    pub(crate) fn of(asked: Asked) -> Samples {
        Samples { asked, stream: None, failing: None, given: Vec::new(), skips: false, over: false }
    }

    fn begin(&mut self) -> Result<(), SourceError> {
        let place = self.asked.place(self.failing)?;
        self.stream = Some((self.asked.samples(&*place.source, place.key(), self.asked.range), place.is_here));
        Ok(())
    }

    /// Takes note of a batch that is given: where another node would have to go on.
    fn note(&mut self, batch: &Batch) {
        let Some(last) = batch.times().last().copied() else { return };
        if self.asked.range.t0 < last || self.given.is_empty() {
            self.given.clear();
            self.asked.range.t0 = last;
        }
        let first = batch.times().partition_point(|time| *time < last);
        self.given.extend((first..batch.len()).map(|row| batch.get(row)));
    }

    /// Without the samples that were given before.
    fn cut(&mut self, batch: Batch) -> Option<Batch> {
        if !self.skips {
            return Some(batch);
        }
        let end = batch.times().partition_point(|time| *time <= self.asked.range.t0);
        self.skips = end == batch.len();
        let is_new = |row: &usize| *row >= end || !self.given.iter().any(|given| given.identical(&batch.get(*row)));
        let rows: Vec<usize> = (0..batch.len()).filter(is_new).collect();
        if rows.len() == batch.len() {
            return Some(batch);
        }
        let mut left = Batch::new(batch.value_type());
        rows.into_iter().for_each(|row| _ = left.extend_from(&batch, row..row + 1));
        (!left.is_empty()).then_some(left)
    }
}

impl Iterator for Samples {
    type Item = Result<Batch, SourceError>;

    fn next(&mut self) -> Option<Result<Batch, SourceError>> {
        let begun = Instant::now();
        while !self.over {
            if self.stream.is_none()
                && let Err(error) = self.begin()
            {
                self.over = true;
                return Some(Err(error));
            }
            let (stream, is_here) = self.stream.as_mut()?;
            match stream.next() {
                None => self.over = true,
                Some(Ok(batch)) => {
                    self.failing = None;
                    if let Some(batch) = self.cut(batch) {
                        self.note(&batch);
                        return Some(Ok(batch));
                    }
                }
                Some(Err(error)) if error.cost == Cost::Piece => return Some(Err(error)),
                Some(Err(error)) if goes_on(&error, *is_here, begun) => {
                    (self.stream, self.skips) = (None, !self.given.is_empty());
                    self.failing.get_or_insert(begun);
                }
                Some(Err(error)) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// Samples and summaries of them.
pub(crate) struct Pieces {
    asked: Asked,
    edges: Arc<[Timestamp]>,
    stream: Option<(StretchStream, bool)>,
    /// Since when no node gives anything.
    failing: Option<Instant>,
    /// The time of the last sample that was given, or is in a summary that was.
    last: Option<Timestamp>,
    /// What was cut by those who have gone.
    cuts: Cuts,
    over: bool,
}

impl Pieces {
    /// Those that a source has begun to give, which is here or is not.
    pub(crate) fn of(asked: Asked, edges: Arc<[Timestamp]>, begun: (StretchStream, bool)) -> Pieces {
        Pieces { asked, edges, stream: Some(begun), failing: None, last: None, cuts: Cuts::default(), over: false }
    }

    /// Goes on behind what was given.
    fn begin(&mut self) -> Result<(), SourceError> {
        let place = self.asked.place(self.failing)?;
        let (source, key) = (&*place.source, place.key());
        if let Some(last) = self.last {
            self.pass_over(source, key, last)?;
        }
        let (asked, field) = (&self.asked, self.asked.field.as_deref());
        let stream = match source.stretches(key, field, asked.range, &self.edges)? {
            Some(stream) => stream,
            None => Box::new(Plain(asked.samples(source, key, asked.range))),
        };
        self.stream = Some((stream, place.is_here));
        Ok(())
    }

    /// Leaves out the moment up to which was given. Where it has several samples nobody knows which of them were: then nothing goes on.
    fn pass_over(&mut self, source: &dyn Source, key: Key<'_>, last: Timestamp) -> Result<(), SourceError> {
        let next = last.saturating_add(Duration::from_nanos(1));
        let mut there: Vec<Sample> = Vec::new();
        for batch in self.asked.samples(source, key, TimeRange { t0: last, t1: next }) {
            let batch = batch?;
            for sample in (0..batch.len()).map(|row| batch.get(row)) {
                if !there.iter().any(|other| other.identical(&sample)) {
                    there.push(sample);
                }
            }
        }
        if there.len() > 1 {
            let message =
                format!("the node that answered has gone, in the middle of several samples of {last}: ask again");
            return Err(SourceError { cost: Cost::Answer, message });
        }
        self.asked.range.t0 = next.min(self.asked.range.t1);
        self.last = None;
        Ok(())
    }

    fn fail(&mut self, error: SourceError) -> Option<Result<Stretch, SourceError>> {
        self.over = true;
        Some(Err(error))
    }
}

impl Iterator for Pieces {
    type Item = Result<Stretch, SourceError>;

    fn next(&mut self) -> Option<Result<Stretch, SourceError>> {
        let begun = Instant::now();
        while !self.over {
            let is_elsewhere = self.stream.is_none();
            if is_elsewhere && let Err(error) = self.begin() {
                // The next owner may be gone as well, or has only just begun.
                if goes_on(&error, false, begun) {
                    self.failing.get_or_insert(begun);
                    continue;
                }
                return self.fail(error);
            }
            let (stream, is_here) = self.stream.as_mut()?;
            match stream.next() {
                None => self.over = true,
                Some(Ok(stretch)) => {
                    self.failing = None;
                    self.last = last_of(&stretch).or(self.last);
                    return Some(Ok(stretch));
                }
                Some(Err(error)) if error.cost == Cost::Piece => return Some(Err(error)),
                Some(Err(error)) if goes_on(&error, *is_here, begun) => {
                    self.cuts.add(stream.cuts());
                    self.stream = None;
                    self.failing.get_or_insert(begun);
                }
                Some(Err(error)) => return self.fail(error),
            }
        }
        None
    }
}

impl Stretches for Pieces {
    fn cuts(&self) -> Cuts {
        let mut cuts = self.cuts;
        cuts.add(self.stream.as_ref().map(|(stream, _)| stream.cuts()).unwrap_or_default());
        cuts
    }
}

fn last_of(stretch: &Stretch) -> Option<Timestamp> {
    match stretch {
        Stretch::Summary(summary) => Some(summary.t1),
        Stretch::Samples(batch) => batch.times().last().copied(),
    }
}

/// The samples of a source that has no summaries.
struct Plain(SampleStream);

impl Iterator for Plain {
    type Item = Result<Stretch, SourceError>;

    fn next(&mut self) -> Option<Result<Stretch, SourceError>> {
        Some(self.0.next()?.map(Stretch::Samples))
    }
}

impl Stretches for Plain {}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, sync::Mutex};

    use archive::Extent;
    use sample::{Alarm, Summary, Value};

    use super::*;
    use crate::{
        Beat, Peers, Share, global,
        testing::{NoList, board_among},
    };

    fn at(time: i64) -> Timestamp {
        Timestamp::from_nanos(time)
    }

    fn sample((time, value): (i64, f64)) -> Sample {
        Sample { time: at(time), value: Value::F64(value), alarm: Alarm::default(), pulse: 0, stamp: None }
    }

    /// A node that gives two samples at a time, and dies when it has given so much.
    #[derive(Debug)]
    struct Mortal {
        samples: Vec<(i64, f64)>,
        dies_after: Option<usize>,
    }

    impl Mortal {
        fn batches(&self, range: TimeRange) -> Vec<Result<Batch, SourceError>> {
            let fits: Vec<Sample> =
                self.samples.iter().map(|of| sample(*of)).filter(|sample| range.contains(sample.time)).collect();
            let batch = |some: &[Sample]| {
                let mut batch = Batch::new(some[0].value.value_type());
                some.iter().for_each(|sample| assert!(batch.push(sample)));
                Ok(batch)
            };
            let mut batches: Vec<_> = fits.chunks(2).map(batch).collect();
            if let Some(many) = self.dies_after.filter(|many| *many < batches.len()) {
                batches.truncate(many);
                batches.push(Err(SourceError { cost: Cost::UntilBack, message: "it died".to_owned() }));
            }
            batches
        }
    }

    impl Source for Mortal {
        fn name(&self) -> &'static str {
            "mortal"
        }

        fn samples(&self, _: Key<'_>, range: TimeRange) -> SampleStream {
            Box::new(self.batches(range).into_iter())
        }

        fn stretches(
            &self,
            _: Key<'_>,
            _: Option<&str>,
            range: TimeRange,
            _: &Arc<[Timestamp]>,
        ) -> Result<Option<StretchStream>, SourceError> {
            // The first piece is told as samples, the others are summed up.
            let piece = |(index, batch): (usize, Result<Batch, SourceError>)| match batch {
                Ok(batch) if index > 0 => Ok(Stretch::Summary(Summary::of(&batch, 0..batch.len()).unwrap())),
                batch => batch.map(Stretch::Samples),
            };
            let pieces: Vec<_> = self.batches(range).into_iter().enumerate().map(piece).collect();
            Ok(Some(Box::new(Given(pieces.into_iter()))))
        }

        fn last_before(&self, _: Key<'_>, _: Timestamp) -> Result<Option<Sample>, SourceError> {
            Ok(None)
        }

        fn extent(&self, _: Key<'_>) -> Result<Option<Extent>, SourceError> {
            Ok(None)
        }
    }

    struct Given(std::vec::IntoIter<Result<Stretch, SourceError>>);

    impl Iterator for Given {
        type Item = Result<Stretch, SourceError>;

        fn next(&mut self) -> Option<Result<Stretch, SourceError>> {
            self.0.next()
        }
    }

    impl Stretches for Given {}

    /// The node that has the shard: each time that it is asked who that is, the next.
    #[derive(Debug)]
    struct Owners(Mutex<VecDeque<Arc<Mortal>>>);

    impl Peers for Owners {
        fn ask(&self, _: &str, _: Vec<u8>, _: bool) -> Result<Vec<u8>, SourceError> {
            Err(SourceError::piece("not asked"))
        }

        fn source(&self, _: &str) -> Option<Arc<dyn Source>> {
            let owner = self.0.lock().unwrap().pop_front();
            owner.map(|owner| owner as Arc<dyn Source>)
        }

        fn share(&self, _: &str, _: Vec<u8>) -> Result<Box<dyn Share>, SourceError> {
            Err(SourceError::piece("nothing is taken"))
        }

        fn know(&self, _: &[(String, String)]) {}
    }

    /// A cluster whose shard 0 these nodes have, one after the other.
    fn cluster(owners: Vec<Mortal>) -> Whole {
        let owners = Owners(Mutex::new(owners.into_iter().map(Arc::new).collect()));
        let board = board_among("a", vec![NoList, NoList], Arc::new(owners), &Arc::default());
        board.heard(vec![("b".to_owned(), Beat { shards: vec![(0, 1)], ..Beat::default() }, true)], 0);
        Whole::new(board)
    }

    fn dying(samples: &[(i64, f64)], after: usize) -> Mortal {
        Mortal { samples: samples.to_vec(), dies_after: Some(after) }
    }

    fn living(samples: &[(i64, f64)]) -> Mortal {
        Mortal { samples: samples.to_vec(), dies_after: None }
    }

    fn pv() -> Key<'static> {
        Key::Number(global(0, PvId(7)).unwrap())
    }

    const RANGE: TimeRange = TimeRange { t0: Timestamp::from_nanos(0), t1: Timestamp::from_nanos(100) };

    const TEN: [(i64, f64); 10] =
        [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0), (5, 5.0), (6, 6.0), (7, 7.0), (8, 8.0), (9, 9.0), (10, 10.0)];

    #[test]
    fn samples_go_on_where_they_broke_off_and_none_comes_twice() {
        // Several are of the moment in which the first node dies: the second has them all, the third one more.
        let same = [(1, 1.0), (2, 2.0), (2, 2.5), (2, 2.75), (3, 3.0)];
        let one_more = [(1, 1.0), (2, 2.0), (2, 2.25), (2, 2.5), (2, 2.75), (3, 3.0)];
        for (owners, expected) in [
            (vec![dying(&TEN, 2), dying(&TEN, 1), living(&TEN)], TEN.to_vec()),
            (vec![dying(&TEN, 0), living(&TEN)], TEN.to_vec()),
            (vec![dying(&same, 1), living(&same)], same.to_vec()),
            (vec![dying(&same, 2), living(&one_more)], vec![same[0], same[1], same[2], same[3], (2, 2.25), same[4]]),
        ] {
            let given = cluster(owners).samples(pv(), RANGE).collect::<Result<Vec<Batch>, _>>().unwrap();
            let given: Vec<Sample> =
                given.iter().flat_map(|batch| (0..batch.len()).map(|row| batch.get(row)).collect::<Vec<_>>()).collect();
            assert_eq!(given, expected.into_iter().map(sample).collect::<Vec<_>>());
        }
    }

    /// How many samples, and their sum; an error if it broke off.
    fn told(owners: Vec<Mortal>) -> Result<(u64, f64), SourceError> {
        let edges: Arc<[Timestamp]> = [RANGE.t0, RANGE.t1].into();
        let stream = cluster(owners).stretches(pv(), None, RANGE, &edges)?.expect("it has summaries");
        stream.into_iter().try_fold((0, 0.0), |(count, sum), stretch| {
            Ok(match stretch? {
                Stretch::Summary(of) => (count + of.count, sum + of.sum),
                Stretch::Samples(batch) => {
                    let values: f64 = (0..batch.len()).filter_map(|row| batch.values().f64_at(row)).sum();
                    (count + batch.len() as u64, sum + values)
                }
            })
        })
    }

    #[test]
    fn summaries_go_on_behind_those_that_were_given_or_the_answer_breaks_off() {
        let whole = (10, 55.0);
        for owners in [
            vec![living(&TEN)],
            vec![dying(&TEN, 0), living(&TEN)],
            vec![dying(&TEN, 1), living(&TEN)],
            vec![dying(&TEN, 3), dying(&TEN, 1), living(&TEN)],
        ] {
            assert_eq!(told(owners).unwrap(), whole);
        }
        // Of two samples of the moment one was given, or both were: nobody knows, and so no answer looks whole.
        let same = [(1, 1.0), (2, 2.0), (2, 2.5), (3, 3.0)];
        let error = told(vec![dying(&same, 1), living(&same)]).unwrap_err();
        assert!(error.cost == Cost::Answer && error.message.contains("ask again"), "{error:?}");
    }
}
