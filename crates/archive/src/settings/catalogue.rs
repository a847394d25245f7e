//! How settings stand in the catalogue: cells with numbers, which the store writes as it likes. What is usual is left out.

use super::SETTINGS;

/// What stands under a number.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingCell {
    /// A number with fractions.
    Number(f64),
    /// A whole number that is not negative.
    Count(u64),
    /// A text.
    Text(String),
    /// Texts in order.
    Texts(Vec<String>),
}

impl SettingCell {
    pub(super) fn number(&self) -> Option<f64> {
        if let SettingCell::Number(number) = self { Some(*number) } else { None }
    }

    pub(super) fn count(&self) -> Option<u64> {
        if let SettingCell::Count(count) = self { Some(*count) } else { None }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let SettingCell::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn texts(&self) -> Option<&[String]> {
        if let SettingCell::Texts(texts) = self { Some(texts) } else { None }
    }
}

/// The name of the policy that was applied.
pub(super) const POLICY: u32 = 8;
/// Bits.
const FLAGS: u32 = 9;

/// All cells of a PV.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingCells(Vec<(u32, SettingCell)>);

impl SettingCells {
    /// Whether something of ours stands under a number. Others are passed over.
    pub fn is_known(number: u32) -> bool {
        number == POLICY || number == FLAGS || SETTINGS.iter().any(|setting| setting.cells.contains(&number))
    }

    /// In the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &SettingCell)> {
        self.0.iter().map(|(number, cell)| (*number, cell))
    }

    /// Puts a cell under its number, in place of what was there.
    pub fn put(&mut self, number: u32, cell: SettingCell) {
        match self.0.binary_search_by_key(&number, |(number, _)| *number) {
            Ok(at) => self.0[at].1 = cell,
            Err(at) => self.0.insert(at, (number, cell)),
        }
    }

    pub(super) fn get(&self, number: u32) -> Option<&SettingCell> {
        let at = self.0.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.0.get(at).map(|(_, cell)| cell)
    }

    /// What the only cell of a setting holds, if it is there and makes sense.
    pub(super) fn one<T>(&self, numbers: &[u32], read: impl Fn(&SettingCell) -> Option<T>) -> Option<Option<T>> {
        match numbers.iter().find_map(|number| self.get(*number)) {
            None => Some(None),
            Some(cell) => read(cell).map(Some),
        }
    }

    pub(super) fn raise(&mut self, bit: u32) {
        let flags = self.get(FLAGS).and_then(SettingCell::count).unwrap_or(0);
        self.put(FLAGS, SettingCell::Count(flags | u64::from(bit)));
    }

    pub(super) fn is_raised(&self, bit: u32) -> bool {
        self.get(FLAGS).and_then(SettingCell::count).unwrap_or(0) & u64::from(bit) != 0
    }

    /// Whether the bits make sense.
    pub(super) fn has_flags(&self) -> bool {
        self.get(FLAGS).is_none_or(|flags| flags.count().is_some_and(|flags| u32::try_from(flags).is_ok()))
    }
}
