//! Without: what one answer is made without, as it is noted until it is said.

use std::sync::{Mutex, PoisonError};

use archive::Unanswered;

/// What is to be said of one answer. Shared by all that is asked for it.
#[derive(Debug, Default)]
pub(crate) struct Without(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    parts: Vec<Unanswered>,
    /// It was said: what fails from now on would stay unsaid.
    is_said: bool,
}

impl Without {
    /// Whether the answer may be made without a part.
    pub(crate) fn leave_out(&self, part: Unanswered) -> bool {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_noted = noted.parts.iter().any(|known| known.part == part.part);
        if !is_noted && !noted.is_said {
            noted.parts.push(part);
            return true;
        }
        is_noted
    }

    /// What it is made without so far.
    pub(crate) fn noted(&self) -> Vec<Unanswered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).parts.clone()
    }

    /// What it is made without. From here on nothing more may be left out.
    pub(crate) fn say(&self) -> Vec<Unanswered> {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.is_said = true;
        noted.parts.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: u32) -> Unanswered {
        Unanswered { part: format!("shard {number}"), names: Some(2), why: "nobody has it".to_owned() }
    }

    #[test]
    fn what_was_said_may_be_left_out_on_and_nothing_else_any_more() {
        let without = Without::default();
        assert!(without.leave_out(part(1)) && without.leave_out(part(1)));
        assert_eq!(without.say(), [part(1)]);
        assert!(without.leave_out(part(1)), "it was said");
        assert!(!without.leave_out(part(2)), "it would stay unsaid");
    }
}
