//! Meant: what the names of an answer about many PVs stand for. Where nobody answers for some of them the others are told all the same, and
//! the answer says which are not; or it is refused, with their names, if only a whole one is wanted.

use std::{
    thread,
    time::{Duration, Instant},
};

use archive::{PvEntry, Unanswered};
use query::Series;

use crate::{
    ask::Ask,
    refusal::{Code, Refusal, first_few, shortened},
};

/// How long to wait for PVs whose node was lost a moment ago, or whose shard moves.
const A_MOMENT: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// A refusal lists at most this many names.
const TOLD_MAX: usize = 10;

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Meant {
    /// A PV, or a field of it.
    Series(PvEntry, Series),
    /// Nobody can say anything of it at present, for this reason.
    Untold(String),
    /// No PV is called so.
    Nothing,
}

/// What an answer about many PVs does where nobody answers for some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Short {
    /// It tells of the others, and says so.
    Said,
    /// It is refused.
    Refused,
}

impl Ask {
    /// What each of these names stands for.
    pub fn meant(&self, names: &[String], short: Short) -> Result<Vec<Meant>, Refusal> {
        self.wait_for_answers(names)?;
        if short == Short::Refused {
            self.refuse_untold(names)?;
        }
        let mut meant = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            if index % 64 == 0 {
                self.go_on()?;
            }
            meant.push(self.meant_by(name)?);
        }
        Ok(meant)
    }

    /// Runs `tell` for a PV; gives the reason instead if nobody answers for the PV and the answer can still say so.
    pub fn told<T>(
        &self,
        entry: &PvEntry,
        tell: impl FnOnce() -> Result<T, Refusal>,
    ) -> Result<Result<T, String>, Refusal> {
        if let Some(why) = self.without(entry)? {
            return Ok(Err(why));
        }
        match tell() {
            Ok(told) => Ok(Ok(told)),
            Err(refusal) if refusal.code() == Code::StoreRefused => match self.without(entry)? {
                Some(why) => Ok(Err(why)),
                None => Err(refusal),
            },
            Err(refusal) => Err(refusal),
        }
    }

    /// The parts of the list that the answer is made without so far.
    pub fn noted(&self) -> Vec<Unanswered> {
        self.without.noted()
    }

    /// From now on nothing may be left out of the answer, as it has no place to say so, or its client wants all or nothing.
    pub fn leave_nothing_out(&self) {
        self.without.say();
    }

    fn meant_by(&self, name: &str) -> Result<Meant, Refusal> {
        let unsaid = |refusal: Refusal| match refusal.code() {
            Code::UnknownPv => Ok(Meant::Nothing),
            // A part of the list is not known: the name may stand there.
            Code::StoreRefused if !self.unlisted().is_empty() => Ok(Meant::Untold(refusal.message().to_owned())),
            _ => Err(refusal),
        };
        let Some((entry, path)) = self.owner(name) else { return unsaid(self.unknown(name)) };
        match self.told(&entry, || self.series_of(&entry, name, path, None)) {
            Ok(Ok(series)) => Ok(Meant::Series(entry, series)),
            Ok(Err(why)) => Ok(Meant::Untold(why)),
            Err(refusal) => unsaid(refusal),
        }
    }

    /// The names of PVs for which nobody answers at present, each with the reason. Where everybody does no name is looked up.
    fn untold<'n>(&self, names: &'n [String]) -> impl Iterator<Item = (&'n str, Unanswered)> {
        let standing = self.listed().behind.standing.clone();
        let names = if standing.unanswered().is_empty() { &[] } else { names };
        names.iter().filter_map(move |name| Some((name.as_str(), standing.unanswered_of(self.owner(name)?.0.id)?)))
    }

    /// Waits a moment while nobody answers for some of these names: for most it is over then.
    fn wait_for_answers(&self, names: &[String]) -> Result<(), Refusal> {
        let begun = Instant::now();
        while begun.elapsed() < A_MOMENT && self.untold(names).next().is_some() {
            self.go_on()?;
            thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    fn refuse_untold(&self, names: &[String]) -> Result<(), Refusal> {
        self.leave_nothing_out();
        let untold: Vec<(&str, Unanswered)> = self.untold(names).collect();
        let Some((_, first)) = untold.first() else { return Ok(()) };
        let told = first_few(untold.iter().map(|(name, _)| shortened(name).to_owned()), TOLD_MAX, ", ");
        let (of, part, why) = (names.len(), &first.part, &first.why);
        let message = format!("{} of the {of} PVs cannot be told, {told}: {part}: {why}", untold.len());
        Err(Refusal::new(Code::StoreRefused, message).hint("without whole=true the others are told"))
    }
}
