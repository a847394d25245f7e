//! Lists of PVs that a client sends, as names, globs or both: each is resolved once, without doubles, and not beyond a size.

use std::{
    borrow::Borrow,
    collections::HashSet,
    fmt,
    hash::{Hash, Hasher},
};

use archive::{Named, PvEntry, PvId, PvName};

use crate::{
    ask::Ask,
    names::{Pattern, is_glob},
    refusal::{Code, Refusal},
};

/// The most names in a list: a facility's largest has 150,000 PVs.
pub const NAMES_MAX: usize = 250_000;
/// The most globs in a list, as each of them is compared with all names.
const GLOBS_MAX: usize = 100;
/// What a PV takes in a list that is resolved: its name with the place in the list, and the place among those that were seen.
const ITEM_BYTES: usize = 96;

/// A PV as a list means it.
#[derive(Clone, Debug)]
pub struct Item {
    /// By which name.
    pub name: ItemName,
    /// None is called so.
    pub pv: Option<PvId>,
}

/// By which name it is meant: one of its own, or one that the client has written.
#[derive(Clone, Debug)]
pub enum ItemName {
    /// One of its own.
    Own(PvName),
    /// One that the client has written.
    Given(Box<str>),
}

impl ItemName {
    /// As text.
    pub fn as_str(&self) -> &str {
        match self {
            ItemName::Own(name) => name.as_str(),
            ItemName::Given(name) => name,
        }
    }
}

impl fmt::Display for ItemName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for ItemName {
    fn eq(&self, other: &ItemName) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for ItemName {}

impl Hash for ItemName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Borrow<str> for ItemName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

/// Refuses a list that is too long.
pub fn check_len(count: usize, count_max: usize, what: &str) -> Result<(), Refusal> {
    if count <= count_max {
        return Ok(());
    }
    let message = format!("the list has {count} {what}, at most {count_max} are possible in one request");
    Err(Refusal::new(Code::TooLarge, message).hint("send it in several requests"))
}

impl Ask {
    /// Refuses a list that is too long, where it may have each name that there is.
    pub fn check_names(&self, count: usize) -> Result<(), Refusal> {
        check_len(count, NAMES_MAX.max(self.names_len()), "names")
    }

    /// What a list means, each name once: `find` says whose a name is, and a glob stands for all names and aliases that it fits.
    pub fn resolve(&self, given: Vec<String>, find: impl Fn(&str) -> Option<PvId>) -> Result<Vec<Item>, Refusal> {
        check_len(given.len(), NAMES_MAX, "names")?;
        let mut asked: HashSet<&str> = HashSet::with_capacity(given.len());
        let is_news: Vec<bool> = given.iter().map(|name| asked.insert(name)).collect();
        check_len(asked.iter().filter(|name| is_glob(name)).count(), GLOBS_MAX, "globs")?;
        drop(asked);
        self.lease.grow_by(given.len(), ITEM_BYTES)?;
        let names = self.listed().behind.directory.names();
        let mut list = List::default();
        for (name, _) in given.into_iter().zip(is_news).filter(|(_, is_news)| *is_news) {
            if is_glob(&name) {
                let found = Pattern::glob(&name, &self.lease)?.among(&names, self)?;
                self.lease.grow_by(found.len(), ITEM_BYTES)?;
                found.into_iter().for_each(|named| list.add(ItemName::Own(named.name.clone()), Some(named.pv)));
            } else {
                let pv = find(&name);
                list.add(ItemName::Given(name.into()), pv);
            }
            if list.items.len() % 1024 == 0 {
                self.go_on()?;
            }
        }
        Ok(list.items)
    }

    /// All names and aliases that a pattern fits, with whose they are.
    pub fn fitting(&self, pattern: &Pattern) -> Result<Vec<Item>, Refusal> {
        let names = self.listed().behind.directory.names();
        let found = pattern.among(&names, self)?;
        self.lease.grow_by(found.len(), ITEM_BYTES)?;
        let item = |named: &Named| Item { name: ItemName::Own(named.name.clone()), pv: Some(named.pv) };
        Ok(found.into_iter().map(item).collect())
    }

    /// All names and aliases as they are now, in order, one after the other.
    pub fn all_names(&self) -> impl Iterator<Item = PvName> + Send + use<> {
        let (names, asked) = (self.listed().behind.directory.names(), self.clone());
        let (mut chunk, mut row) = (0, 0);
        let all = std::iter::from_fn(move || {
            loop {
                let rows = names.chunks().get(chunk)?.rows();
                if let Some(named) = rows.get(row) {
                    row += 1;
                    return Some(named.clone());
                }
                (chunk, row) = (chunk + 1, 0);
            }
        });
        all.filter(move |named| asked.sees_all() || asked.sees_named(named)).map(|named| named.name)
    }

    /// All PVs in the order of their names, some hundred at a time, each as it is when their turn comes. Places of aliases, and of PVs
    /// that are not seen, are empty.
    pub(crate) fn pvs_in_turn(&self) -> impl Iterator<Item = Vec<Option<PvEntry>>> + Send + use<> {
        let directory = self.listed().behind.directory.clone();
        let (names, asked, mut chunk) = (directory.names(), self.clone(), 0);
        std::iter::from_fn(move || {
            let rows = names.chunks().get(chunk)?.rows();
            chunk += 1;
            let pvs: Vec<Option<PvId>> = rows.iter().map(|named| Some(named.pv)).collect();
            let (mut entries, sees_all) = (directory.entries_of(&pvs), asked.sees_all());
            for (entry, named) in entries.iter_mut().zip(rows) {
                entry.take_if(|entry| entry.name != named.name || !(sees_all || asked.sees(entry)));
            }
            Some(entries)
        })
    }

    /// The same one after the other.
    pub fn all_pvs(&self) -> impl Iterator<Item = PvEntry> + Send + use<> {
        self.pvs_in_turn().flatten().flatten()
    }
}

#[derive(Default)]
struct List {
    items: Vec<Item>,
    seen: HashSet<ItemName>,
}

impl List {
    fn add(&mut self, name: ItemName, pv: Option<PvId>) {
        if self.seen.insert(name.clone()) {
            self.items.push(Item { name, pv });
        }
    }
}
