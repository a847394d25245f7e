//! What is said of an answer that is made without a part of the archive: a list goes on, and says so beside its rows; where that cannot be
//! said any more it breaks off.

use archive::{PvEntry, Unanswered};
use query::LeftOut;

use crate::{
    ask::Ask,
    refusal::{Code, Refusal},
};

impl Ask {
    /// The parts of the list of whose PVs nobody can say more than the list does: the answer is made without that, and says so.
    pub fn unanswered(&self) -> Vec<Unanswered> {
        let mut parts = self.listed().behind.standing.unanswered();
        if !self.sees_all() {
            // How many PVs there are which one does not see is nobody's business.
            parts.iter_mut().for_each(|part| part.names = None);
        }
        parts.retain(|part| self.without.leave_out(part.clone()));
        parts
    }

    /// The same of the parts whose lists are not known: for lists that need nothing else.
    pub fn unlisted(&self) -> Vec<Unanswered> {
        let mut parts = self.listed().behind.standing.unanswered();
        parts.retain(|part| part.names.is_none() && self.without.leave_out(part.clone()));
        parts
    }

    /// Why nobody answers for a PV, if nobody does; an error where the answer cannot say any more that it is made without.
    pub(crate) fn without(&self, pv: &PvEntry) -> Result<Option<String>, Refusal> {
        let Some(mut part) = self.listed().behind.standing.unanswered_of(pv.id) else { return Ok(None) };
        if !self.sees_all() {
            part.names = None;
        }
        let why = part.why.clone();
        if self.without.leave_out(part) {
            return Ok(Some(why));
        }
        Err(Refusal::new(Code::StoreRefused, format!("{} cannot be told: {why}", pv.name)))
    }

    /// What the answer is made without, in sentences. From here on nothing else may be left out.
    pub fn made_without(&self) -> Vec<String> {
        let part = |part: &Unanswered| {
            let names = part.names.map(|names| format!(" ({names} names)")).unwrap_or_default();
            format!("without {}{names}: {}", part.part, part.why)
        };
        let copies = self.left_out();
        copies.iter().map(LeftOut::to_string).chain(self.without.say().iter().map(part)).collect()
    }

    /// Who has not done yet what was ordered, in sentences: it is done when they can be reached.
    pub fn not_done_yet(&self) -> Vec<String> {
        let told = |of: &Unanswered| format!("not done yet by {}: {}", of.part, of.why);
        self.listed().behind.orders.unreached().iter().map(told).collect()
    }

    /// Refuses an answer that would be short, and could not say so, while somebody does not answer for a part of the list.
    pub fn needs_answers(&self) -> Result<(), Refusal> {
        match self.listed().behind.standing.unanswered().into_iter().next() {
            None => Ok(()),
            Some(part) => Err(short(&format!("{} does not answer: {}", part.part, part.why))),
        }
    }

    /// Refuses a list of names that would be short, and could not say so, while a part of the list is not known.
    pub fn needs_whole_list(&self) -> Result<(), Refusal> {
        self.listed().behind.directory.lacks().map_or(Ok(()), |why| Err(short(&why)))
    }
}

/// Why a list is not given that its clients would take for whole.
pub(crate) fn short(why: &str) -> Refusal {
    let message = format!("this list would be short, and has no place to say so: {why}");
    Refusal::new(Code::StoreRefused, message).hint("GET /api/v1/pvs tells what is known, and what is missing")
}
