//! When a condition held: an expression over PVs is read, its names are looked for, and the range is searched. A PV that is not seen is one
//! that is not there, in an expression too.

use analysis::{
    Bound, Expression, ExpressionFault, Found, Kind, Known, Program, Reason, Search, StepError, Tally, Units,
};
use sample::TimeRange;

use crate::{
    ask::Ask,
    clock::now,
    refusal::{Code, Refusal, shortened},
};

/// What a PV in an expression takes: two batches of its samples, and columns that are made of them.
const TRACK_BYTES: usize = 512 << 10;

/// The times in which a condition held, as they are found.
pub struct When {
    ask: Ask,
    search: Search,
}

impl Ask {
    /// Looks for the times in which a condition held. What lies beyond now is not looked at.
    pub fn when(&self, text: &str, range: TimeRange, units: Units) -> Result<When, Refusal> {
        let now = now();
        let range = TimeRange { t0: range.t0.min(now), t1: range.t1.min(now) };
        let program = self.program(text, range, units)?;
        if program.kind() != Kind::Condition {
            let message = "the expression is a number, and a condition is needed";
            return Err(Refusal::new(Code::BadRequest, message).hint("compare it with something, as in SR:CURRENT > 3"));
        }
        self.lease.grow_by(program.tracks() * (program.threads() - 1), TRACK_BYTES)?;
        let query = self.listed().behind.query.clone();
        Ok(When { ask: self.clone(), search: Search::new(query, program, range)? })
    }

    /// What an expression says of PVs that are there, and are seen.
    pub(crate) fn program(&self, text: &str, range: TimeRange, units: Units) -> Result<Program, Refusal> {
        let expression = Expression::parse(text).map_err(|fault| self.faulty(fault))?;
        let find = &mut |name: &str| self.known(name, range);
        let program = expression.bind(units, find, |fault| self.faulty(fault))?;
        self.lease.grow_by(program.tracks(), TRACK_BYTES)?;
        self.lease.grow(program.window_bytes())?;
        Ok(program)
    }

    /// The same of an expression that may compute with arrays.
    pub(crate) fn bound(&self, text: &str, range: TimeRange, units: Units) -> Result<Bound, Refusal> {
        let expression = Expression::parse(text).map_err(|fault| self.faulty(fault))?;
        let find = &mut |name: &str| self.known(name, range);
        let bound = expression.bind_arrays(units, find, |fault| self.faulty(fault))?;
        let (tracks, window_bytes) = match &bound {
            Bound::Numbers(program) => (program.tracks(), program.window_bytes()),
            Bound::Arrays(program) => (program.tracks() + program.arrays(), program.window_bytes()),
        };
        self.lease.grow_by(tracks, TRACK_BYTES)?;
        self.lease.grow(window_bytes)?;
        Ok(bound)
    }

    /// What is known of a PV, or of a field of one; none if there is no such PV.
    fn known(&self, name: &str, range: TimeRange) -> Result<Option<Known>, Refusal> {
        let (entry, series) = match self.series(name, None) {
            Err(refusal) if refusal.message() == Refusal::unknown_pv(name).message() => return Ok(None),
            found => found?,
        };
        self.go_on()?;
        let value_type = self.last_before(&series, range.t1)?.map(|sample| sample.value.value_type());
        let history = self.metadata(entry.id, range)?;
        let is_whole = series.field.is_none(); // units and states are those of whole values
        let units = history.last().and_then(|(_, metadata)| metadata.units.clone());
        let units = units.filter(|units| is_whole && !units.is_empty());
        let labels =
            history.into_iter().filter(|_| is_whole).map(|(since, metadata)| (since, metadata.labels)).collect();
        Ok(Some(Known { series, value_type, units, labels }))
    }

    fn faulty(&self, fault: ExpressionFault) -> Refusal {
        match &fault.reason {
            Reason::UnknownPv(name) => {
                let message =
                    format!("{}, at character {}", Refusal::unknown_pv(name).message(), fault.place.character);
                Refusal::new(Code::UnknownPv, message).hint(self.hint_for(name))
            }
            Reason::TooMuch(_) => Refusal::new(Code::TooLarge, shortened(&fault.to_string())),
            Reason::Syntax(_) | Reason::Kind(_) | Reason::Units(_) => {
                Refusal::new(Code::BadRequest, shortened(&fault.to_string()))
            }
        }
    }

    fn hint_for(&self, name: &str) -> String {
        match name.contains('-') {
            true => format!("{}; a minus that subtracts has a blank beside it", self.did_you_mean(name)),
            false => self.did_you_mean(name),
        }
    }
}

impl From<StepError> for Refusal {
    fn from(error: StepError) -> Refusal {
        match error {
            StepError::Query(error) => error.into(),
            StepError::CrowdedWindow => Refusal::new(Code::TooLarge, error.to_string()).hint("take a shorter one"),
            StepError::TooMany(_) => Refusal::new(Code::TooLarge, error.to_string()).hint("ask for a shorter range"),
            StepError::Unwanted => Refusal::new(Code::BadRequest, "the client has gone"),
        }
    }
}

impl When {
    /// What was found, so far.
    pub fn tally(&self) -> &Tally {
        self.search.tally()
    }

    /// Whether all of the range was looked at, once nothing more is found.
    pub fn is_whole(&self) -> bool {
        self.search.is_whole()
    }

    /// In which range it looks.
    pub fn range(&self) -> TimeRange {
        self.search.range()
    }
}

impl Iterator for When {
    type Item = Result<Found, Refusal>;

    fn next(&mut self) -> Option<Result<Found, Refusal>> {
        if let Err(gone) = self.ask.go_on() {
            return Some(Err(gone));
        }
        self.search.next().map(|found| found.map_err(Refusal::from))
    }
}
