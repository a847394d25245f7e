//! What is to be said of a sample's time where it is not simply the stamp that the IOC gave.

use std::ops::Range;

use crate::{Runs, Timestamp};

/// Why a stamp is out of the ordinary. The numbers are part of the file format and never change; 0 is the ordinary case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Quality {
    /// The IOC never set a stamp. The sample has the time of its arrival; the first after a connection, that of the connection.
    NeverSet = 1,
    /// The stamp lies so far ahead that it cannot be right. The sample has the time of its arrival.
    Ahead = 2,
    /// The stamp lies before that of the sample that arrived before. The sample has the stamp's time.
    Backward = 3,
}

impl Quality {
    /// All of them.
    pub const ALL: [Quality; 3] = [Quality::NeverSet, Quality::Ahead, Quality::Backward];

    /// The name used in answers.
    pub fn name(self) -> &'static str {
        match self {
            Quality::NeverSet => "never_set",
            Quality::Ahead => "ahead",
            Quality::Backward => "backward",
        }
    }

    /// The quality with that number on disk.
    pub fn from_number(number: u8) -> Option<Quality> {
        Quality::ALL.into_iter().find(|quality| *quality as u8 == number)
    }
}

/// A stamp that is out of the ordinary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Why.
    pub quality: Quality,
    /// The stamp that was sent if the sample has the time of its arrival, and the other way round.
    pub other: Timestamp,
}

impl Stamp {
    /// What the IOC sent as the time of a sample that is kept under `time`.
    pub fn stamped(&self, time: Timestamp) -> Timestamp {
        if self.quality == Quality::Backward { time } else { self.other }
    }

    /// When a sample arrived that is kept under `time`.
    pub fn arrived(&self, time: Timestamp) -> Timestamp {
        if self.quality == Quality::Backward { self.other } else { time }
    }
}

/// The stamps of many samples; all ordinary ones take no memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamps(Option<Box<Runs<Option<Stamp>>>>);

impl Stamps {
    /// From runs; those that say nothing are not kept.
    pub fn from_runs(runs: Runs<Option<Stamp>>) -> Stamps {
        let says_something = runs.iter().any(|(_, stamp)| stamp.is_some());
        Stamps(says_something.then(|| Box::new(runs)))
    }

    /// Whether nothing is out of the ordinary.
    pub fn is_ordinary(&self) -> bool {
        self.0.is_none()
    }

    /// The stamp of row `index`. Panics beyond the last if any is out of the ordinary.
    pub fn get(&self, index: usize) -> Option<Stamp> {
        self.0.as_ref().and_then(|runs| *runs.get(index))
    }

    /// Each run of rows that are out of the ordinary.
    pub fn iter(&self) -> impl Iterator<Item = (Range<usize>, Stamp)> {
        let runs = self.0.iter().flat_map(|runs| runs.iter());
        runs.filter_map(|(rows, stamp)| stamp.map(|stamp| (rows, stamp)))
    }

    /// How many rows the runs cover; none if all are ordinary.
    pub(crate) fn rows(&self) -> Option<usize> {
        self.0.as_ref().map(|runs| runs.len())
    }

    pub(crate) fn byte_size(&self) -> usize {
        self.0.as_ref().map_or(0, |runs| runs.byte_size())
    }

    /// Adds a row behind `before` others.
    pub(crate) fn push(&mut self, stamp: Option<Stamp>, before: usize) {
        if stamp.is_some() || self.0.is_some() {
            self.runs(before).push(&stamp, 1);
        }
    }

    /// Adds a stretch of other stamps behind `before` rows.
    pub fn extend_from(&mut self, other: &Stamps, range: Range<usize>, before: usize) {
        match &other.0 {
            Some(other) => self.runs(before).extend_from(other, range),
            None if self.0.is_some() => self.runs(before).push(&None, range.len()),
            None => {}
        }
    }

    fn runs(&mut self, before: usize) -> &mut Runs<Option<Stamp>> {
        self.0.get_or_insert_with(|| {
            let mut runs = Runs::default();
            runs.push(&None, before);
            Box::new(runs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_that_are_ordinary_take_nothing_until_one_is_not() {
        let ahead = Stamp { quality: Quality::Ahead, other: Timestamp::from_nanos(9) };
        let mut stamps = Stamps::default();
        stamps.push(None, 0);
        assert!(stamps.is_ordinary());
        stamps.push(Some(ahead), 1);
        stamps.push(None, 2);
        assert_eq!((0..3).map(|row| stamps.get(row)).collect::<Vec<_>>(), [None, Some(ahead), None]);
        let mut longer = Stamps::default();
        longer.extend_from(&Stamps::default(), 0..5, 0);
        assert!(longer.is_ordinary());
        longer.extend_from(&stamps, 1..3, 5);
        longer.extend_from(&Stamps::default(), 0..2, 7);
        assert_eq!(longer.iter().collect::<Vec<_>>(), [(5..6, ahead)]);
        assert_eq!(longer.rows(), Some(9));
    }

    #[test]
    fn numbers_on_disk_have_one_quality_each() {
        assert!(Quality::ALL.into_iter().all(|quality| Quality::from_number(quality as u8) == Some(quality)));
        assert_eq!((Quality::from_number(0), Quality::from_number(4)), (None, None));
    }
}
