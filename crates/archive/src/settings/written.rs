//! How settings are written in requests, policies and answers, and on the command line: keys, and what may stand under each.

use super::{
    RuleError,
    catalogue::{SettingCell, SettingCells},
};

/// A setting, and how it is written everywhere.
#[derive(Debug)]
pub struct Setting {
    /// In requests.
    pub request: &'static [Key],
    /// In policies of the config file.
    pub policy: &'static [Key],
    /// On the command line, which says it in a request.
    pub flag: Option<Flag>,
    /// In answers, among what is asked of the sampling of a PV; none if they have it elsewhere.
    pub answer: Option<Key>,
    /// Its numbers in the catalogue. None if it stands in a PV's row itself, or is a bit of its flags.
    pub cells: &'static [u32],
}

/// Under which name a value is written, as what, and what it means.
#[derive(Debug)]
pub struct Key {
    /// The name.
    pub name: &'static str,
    /// What may be written.
    pub shape: Shape,
    /// What the description of the API says of it; nothing if its name does.
    pub doc: &'static str,
}

impl Key {
    pub(super) const fn new(name: &'static str, shape: Shape, doc: &'static str) -> Key {
        Key { name, shape, doc }
    }
}

/// An option of the command line.
#[derive(Debug)]
pub struct Flag {
    /// Behind `--`.
    pub name: &'static str,
    /// What its value is called.
    pub value: &'static str,
    /// What it does.
    pub help: &'static str,
    /// Under which key a request has it.
    pub key: &'static str,
}

/// What may stand under a key.
#[derive(Debug)]
pub enum Shape {
    /// `true` or `false`.
    Switch,
    /// A number.
    Number,
    /// A number with bounds.
    Within(f64, f64),
    /// A whole number that is not below `min`, nor above `max`.
    Count {
        /// The least that is allowed.
        min: u64,
        /// The most that can be.
        max: u64,
    },
    /// A text.
    Text,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A number, or a text.
    NumberOrText,
    /// A number or a text, or a table of a rate and a burst.
    Rate,
    /// Several values with names.
    Members(&'static [Key]),
    /// The same, or nothing.
    Maybe(&'static Shape),
}

/// A value as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// Nothing is said.
    Nothing,
    /// Yes or no.
    Switch(bool),
    /// A number.
    Number(f64),
    /// A whole number that is not negative.
    Count(u64),
    /// A text.
    Text(String),
    /// Texts in order.
    Texts(Vec<String>),
    /// A rate, and how many may come at once.
    Burst {
        /// A number or a text.
        rate: Box<Given>,
        /// Samples.
        burst: u32,
    },
    /// Several values with names.
    Members(Vec<(&'static str, Given)>),
}

impl Given {
    pub(super) fn switch(&self) -> Result<bool, RuleError> {
        if let Given::Switch(is_on) = self { Ok(*is_on) } else { Err(self.is_not("true or false")) }
    }

    pub(super) fn number(&self) -> Result<f64, RuleError> {
        if let Given::Number(number) = self { Ok(*number) } else { Err(self.is_not("a number")) }
    }

    pub(super) fn count(&self) -> Result<u64, RuleError> {
        if let Given::Count(count) = self { Ok(*count) } else { Err(self.is_not("a whole number")) }
    }

    pub(super) fn text(&self) -> Result<&str, RuleError> {
        if let Given::Text(text) = self { Ok(text) } else { Err(self.is_not("a text")) }
    }

    pub(super) fn texts(&self) -> Result<&[String], RuleError> {
        if let Given::Texts(texts) = self { Ok(texts) } else { Err(self.is_not("a list of texts")) }
    }

    fn is_not(&self, expected: &str) -> RuleError {
        RuleError::new(format!("{self:?} was found, expected {expected}"))
    }
}

/// Where somebody writes settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// In a request, or on the command line.
    Request,
    /// In a policy of the config file.
    Policy,
}

impl Written {
    /// The key of that name.
    pub fn key(self, name: &str) -> Option<&'static Key> {
        super::SETTINGS.iter().flat_map(|setting| setting.keys(self)).find(|key| key.name == name)
    }

    /// The names of all keys.
    pub fn names(self) -> Vec<&'static str> {
        super::SETTINGS.iter().flat_map(|setting| setting.keys(self)).map(|key| key.name).collect()
    }

    /// Words as they would be written here, of which one is expected.
    pub(super) fn one_of(self, words: &[&str]) -> String {
        let mut text = String::new();
        for (index, word) in words.iter().enumerate() {
            let between = match index {
                0 => "",
                _ if index + 1 == words.len() => " or ",
                _ => ", ",
            };
            text += between;
            text += &if self == Written::Policy { format!("{word:?}") } else { (*word).to_owned() };
        }
        text
    }
}

impl Setting {
    /// The keys under which it is written there.
    pub fn keys(&self, written: Written) -> &'static [Key] {
        match written {
            Written::Request => self.request,
            Written::Policy => self.policy,
        }
    }
}

/// The settings that somebody wrote for a PV, by key.
#[derive(Clone, Debug, Default)]
pub struct Givens(Vec<(&'static str, Given)>);

impl Givens {
    /// Whether something stands under a key, be it that nothing is said.
    pub fn has(&self, key: &Key) -> bool {
        self.iter().any(|(name, _)| name == key.name)
    }

    /// What is said under a name.
    pub fn get(&self, name: &str) -> Option<&Given> {
        let said = self.iter().find(|(key, _)| *key == name).map(|(_, given)| given);
        said.filter(|given| **given != Given::Nothing)
    }

    /// Keys and what stands under them, in the order in which it was written.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Given)> {
        self.0.iter().map(|(key, given)| (*key, given))
    }

    /// Puts something under a key.
    pub fn put(&mut self, key: &Key, given: Given) {
        self.0.push((key.name, given));
    }

    /// With something under the name of a key of requests.
    pub fn with(mut self, name: &'static str, given: Option<Given>) -> Givens {
        debug_assert!(Written::Request.key(name).is_some(), "{name} is no key");
        self.0.extend(given.map(|given| (name, given)));
        self
    }
}

/// What a setting may be set to.
pub(super) trait Value: Sized {
    /// From what stands under the first two keys of the setting.
    fn read(given: [Option<&Given>; 2], written: Written) -> Result<Option<Self>, RuleError>;

    /// As it stands in texts that say what changes to what; `name` is that of the setting, for those that need it.
    fn text(&self, name: &str) -> String;

    /// As answers have it.
    fn shown(&self) -> Given;

    /// Puts it into the catalogue, under the numbers of the setting.
    fn put(&self, _: &[u32], _: &mut SettingCells) {}

    /// From the catalogue: none if nothing stands there; none at all if it makes no sense.
    fn take(_: &[u32], _: &SettingCells) -> Option<Option<Self>> {
        Some(None)
    }
}

/// How often something may happen, and the like: a whole number that stands under one number of the catalogue.
impl Value for u32 {
    fn read([count, _]: [Option<&Given>; 2], _: Written) -> Result<Option<u32>, RuleError> {
        let count = count.map(Given::count).transpose()?;
        count.map(|count| u32::try_from(count).map_err(|_| RuleError::new(format!("{count} is too much")))).transpose()
    }

    fn text(&self, name: &str) -> String {
        format!("{name} {self}")
    }

    fn shown(&self) -> Given {
        Given::Count(u64::from(*self))
    }

    fn put(&self, numbers: &[u32], cells: &mut SettingCells) {
        numbers.iter().for_each(|number| cells.put(*number, SettingCell::Count(u64::from(*self))));
    }

    fn take(numbers: &[u32], cells: &SettingCells) -> Option<Option<u32>> {
        cells.one(numbers, |cell| u32::try_from(cell.count()?).ok())
    }
}
