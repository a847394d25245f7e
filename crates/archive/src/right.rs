//! Right: what somebody may do to a PV, or to the whole archive.

use std::fmt;

/// What somebody may do. Each right contains those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    /// See what is recorded.
    Read,
    /// Change what is recorded from now on.
    Operate,
    /// Take PVs and their data out of the archive.
    Administer,
}

impl Right {
    /// All of them, the least first.
    pub const ALL: [Right; 3] = [Right::Read, Right::Operate, Right::Administer];

    /// The word for it in configurations and answers.
    pub fn name(self) -> &'static str {
        match self {
            Right::Read => "read",
            Right::Operate => "operate",
            Right::Administer => "administer",
        }
    }

    /// The right of that name.
    pub fn from_name(name: &str) -> Option<Right> {
        Right::ALL.into_iter().find(|right| right.name() == name)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_right_contains_those_before_it_and_comes_back_from_its_name() {
        assert!(Right::ALL.is_sorted());
        assert_eq!(Right::ALL.map(|right| Right::from_name(right.name())), Right::ALL.map(Some));
        assert_eq!(Right::from_name("Read"), None);
    }
}
