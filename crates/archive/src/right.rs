//! Rights: what somebody may do with the archive, or with some of its PVs. Each right includes those below it.

/// What somebody may do.
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
    /// What somebody does who uses it, as a verb.
    pub fn verb(self) -> &'static str {
        match self {
            Right::Read => "read",
            Right::Operate => "operate",
            Right::Administer => "administer",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_right_includes_those_below_it() {
        assert!(Right::Administer > Right::Operate && Right::Operate > Right::Read);
    }
}
