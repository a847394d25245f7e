//! What an IOC is asked for: which changes of a value, and whether it waits to be told of room.

use super::{
    RuleError,
    catalogue::{SettingCell, SettingCells},
    written::{Given, Value, Written},
};

/// Which changes of its value an IOC is asked for. Changes of alarm always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Changes {
    /// Those beyond the dead band that the record has for archives (`ADEL`).
    #[default]
    Archive,
    /// Those beyond the dead band that the record has for displays (`MDEL`).
    Value,
    /// Both.
    Any,
}

impl Changes {
    const ALL: [Changes; 3] = [Changes::Archive, Changes::Value, Changes::Any];

    /// `archive`, `value` or `any`.
    pub fn name(self) -> &'static str {
        match self {
            Changes::Archive => "archive",
            Changes::Value => "value",
            Changes::Any => "any",
        }
    }

    /// The changes of that name.
    pub fn from_name(name: &str) -> Option<Changes> {
        Changes::ALL.into_iter().find(|changes| changes.name() == name)
    }
}

/// Whether a pvAccess server is to send no more than it is told there is room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pipeline {
    /// It sends what it has.
    #[default]
    Off,
    /// It waits to be told.
    On,
}

impl Value for Changes {
    fn read([name, _]: [Option<&Given>; 2], written: Written) -> Result<Option<Changes>, RuleError> {
        let Some(name) = name.map(Given::text).transpose()? else { return Ok(None) };
        let expected = || written.one_of(&Changes::ALL.map(Changes::name));
        let refused = || RuleError::new(format!("changes is {name:?}, expected {}", expected()));
        Changes::from_name(name).map(Some).ok_or_else(refused)
    }

    fn text(&self, name: &str) -> String {
        format!("{name} {}", self.name())
    }

    fn shown(&self) -> Given {
        Given::Text(self.name().to_owned())
    }

    fn put(&self, numbers: &[u32], cells: &mut SettingCells) {
        numbers.iter().for_each(|number| cells.put(*number, SettingCell::Text(self.name().to_owned())));
    }

    fn take(numbers: &[u32], cells: &SettingCells) -> Option<Option<Changes>> {
        cells.one(numbers, |cell| Changes::from_name(cell.text()?))
    }
}

impl Value for Pipeline {
    fn read([is_on, _]: [Option<&Given>; 2], _: Written) -> Result<Option<Pipeline>, RuleError> {
        let is_on = is_on.map(Given::switch).transpose()?;
        Ok(is_on.map(|is_on| if is_on { Pipeline::On } else { Pipeline::Off }))
    }

    fn text(&self, name: &str) -> String {
        format!("{name} {}", if *self == Pipeline::On { "on" } else { "off" })
    }

    fn shown(&self) -> Given {
        Given::Switch(*self == Pipeline::On)
    }

    fn put(&self, bits: &[u32], cells: &mut SettingCells) {
        bits.iter().for_each(|bit| cells.raise(*bit));
    }

    fn take(bits: &[u32], cells: &SettingCells) -> Option<Option<Pipeline>> {
        Some(bits.iter().all(|bit| cells.is_raised(*bit)).then_some(Pipeline::On))
    }
}
