//! How many nodes of a cluster record a PV, each by itself.

use super::{
    RuleError,
    catalogue::{SettingCell, SettingCells},
    written::{Given, Value, Written},
};

/// How many nodes of a cluster record a PV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Copies {
    /// The one that has its shard.
    #[default]
    One,
    /// That one, and one more that has the copy of the shard.
    Two,
}

impl Copies {
    fn number(self) -> u64 {
        match self {
            Copies::One => 1,
            Copies::Two => 2,
        }
    }

    fn of_number(number: u64) -> Option<Copies> {
        [Copies::One, Copies::Two].into_iter().find(|copies| copies.number() == number)
    }
}

impl Value for Copies {
    fn read([number, _]: [Option<&Given>; 2], _: Written) -> Result<Option<Copies>, RuleError> {
        let Some(number) = number.map(Given::count).transpose()? else { return Ok(None) };
        let refused = || RuleError::new(format!("copies is {number}, expected 1 or 2"));
        Copies::of_number(number).map(Some).ok_or_else(refused)
    }

    fn text(&self, name: &str) -> String {
        format!("{name} {}", self.number())
    }

    fn shown(&self) -> Given {
        Given::Count(self.number())
    }

    fn put(&self, numbers: &[u32], cells: &mut SettingCells) {
        numbers.iter().for_each(|number| cells.put(*number, SettingCell::Count(self.number())));
    }

    fn take(numbers: &[u32], cells: &SettingCells) -> Option<Option<Copies>> {
        cells.one(numbers, |cell| Copies::of_number(cell.count()?))
    }
}
