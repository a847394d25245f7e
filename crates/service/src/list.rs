//! Lists of PVs in any order: found by words, narrowed by what PVs have, counted by it, a page at a time. All of it comes out of the table
//! that is kept of all PVs (`table.rs`); what a page says of its PVs is asked for when it is sent.

mod cursor;
mod pick;

use std::{cmp::Reverse, collections::HashSet, sync::Arc, vec::IntoIter};

use archive::{Connection, PvId, RuleName};
use sample::Timestamp;

use cursor::{Cursor, Key, digest};
use pick::{Counts, Picked, Picking, Place, Sieve, Word};

use crate::{
    ask::Ask,
    names::Pattern,
    pvs::{PvRow, row},
    refusal::{Code, Refusal},
    table::{Chunk, Dict, NEVER, Table},
};

/// The most words of a list, and the longest.
const WORDS_MAX: usize = 16;
const WORD_BYTES_MAX: usize = 255;
/// The most groups, policies, IOCs and adders that are counted in an answer, those with the most PVs.
const COUNTED_MAX: usize = 100;
/// Stands for no policy, no group and no IOC, and for PVs of which it is not known who has added them.
pub const WITHOUT: &str = "-";
/// What a row takes while the page is chosen.
const PLACE_BYTES: usize = 64;
/// For so many words that fit no PV it is told what is like them.
const NEAR_WORDS: usize = 2;

/// By what a list is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SortBy {
    /// The name, in any case.
    Name,
    /// Updates a second in this run.
    Rate,
    /// What its samples of a day take on disk.
    BytesPerDay,
    /// What it takes on disk.
    Bytes,
    /// The newest sample.
    Last,
    /// Since when it stands where it does.
    Since,
    /// When it was added.
    Added,
    /// Where it stands.
    State,
    /// The policy.
    Policy,
    /// The IOC.
    Ioc,
    /// Who has added it.
    AddedBy,
}

impl SortBy {
    /// Each by its name, and whether the largest come first where nothing else is said.
    pub const ALL: [(&'static str, SortBy, bool); 11] = [
        ("name", SortBy::Name, false),
        ("rate", SortBy::Rate, true),
        ("bytes_per_day", SortBy::BytesPerDay, true),
        ("bytes", SortBy::Bytes, true),
        ("last", SortBy::Last, true),
        ("since", SortBy::Since, true),
        ("added", SortBy::Added, true),
        ("state", SortBy::State, false),
        ("policy", SortBy::Policy, false),
        ("ioc", SortBy::Ioc, false),
        ("added_by", SortBy::AddedBy, false),
    ];

    /// Whether what PVs take on disk is to be known.
    fn needs_sizes(self) -> bool {
        matches!(self, SortBy::BytesPerDay | SortBy::Bytes | SortBy::Last)
    }
}

/// Which PVs are listed, and how.
pub struct ListWanted {
    /// Each of them stands in the name, another name, the description, the units, a group, the policy or the IOC.
    pub words: Vec<String>,
    /// Those whose names or aliases it fits, and the pattern as it was written.
    pub pattern: Option<(String, Pattern)>,
    /// Those that stand there.
    pub state: Option<Connection>,
    /// Those to which this policy was applied.
    pub policy: Option<String>,
    /// Those that are in this group.
    pub group: Option<String>,
    /// Those of this IOC: its address, with or without the port.
    pub ioc: Option<String>,
    /// Those that this one has added, as the audit has it.
    pub added_by: Option<String>,
    /// By what they are sorted.
    pub sort: SortBy,
    /// The largest first. What is not known comes last either way.
    pub descending: bool,
    /// Behind which row the page begins, as an answer gave it; the first page without it.
    pub cursor: Option<String>,
    /// Without a cursor: so many rows are passed over.
    pub offset: usize,
    /// No more rows than so many.
    pub limit: usize,
}

/// How many PVs there are of some kind; without a name those that have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// Of which.
    pub name: Option<String>,
    /// How many.
    pub pvs: u64,
}

/// How many PVs of a list are of each kind, each as if the list were not narrowed to one of that kind.
#[derive(Clone, Debug, Default)]
pub struct Facets {
    /// By where they stand.
    pub states: Vec<(Connection, u64)>,
    /// By policy, group and IOC, those with the most first.
    pub policies: Vec<Count>,
    /// See `policies`. A PV may be in several.
    pub groups: Vec<Count>,
    /// See `policies`.
    pub iocs: Vec<Count>,
    /// See `policies`: who has added them.
    pub adders: Vec<Count>,
}

/// What a list says of a PV.
#[derive(Clone, Debug)]
pub struct ListedRow {
    /// As it is now.
    pub row: PvRow,
    /// When it was added.
    pub added: Timestamp,
    /// Who has added it; none if the audit does not say it, or was not read so far yet.
    pub added_by: Option<String>,
    /// Updates a second in this run; none before it was connected. This and what follows is as of the table.
    pub rate: Option<f64>,
    /// What its samples of a day take on disk; none if that is not known, or was not asked for.
    pub bytes_per_day: Option<f64>,
    /// What it takes on disk.
    pub bytes: Option<u64>,
    /// The IOC that serves it, or did.
    pub ioc: Option<String>,
}

/// A page of a list.
pub struct ListPage {
    /// How many PVs there are on all pages.
    pub total: u64,
    /// As of when they were chosen and sorted.
    pub at: Timestamp,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
    /// How many there are by kind.
    pub facets: Facets,
    /// How many PVs have descriptions and units that were not read yet, so that no word is found there.
    pub undescribed: usize,
    /// Whether the audit was not read to its beginning yet, so that it is not known of each PV who has added it.
    pub is_audit_unread: bool,
    /// If there is none: names and words that may have been meant.
    pub near: Vec<String>,
    table: Arc<Table>,
    rows: IntoIter<Place>,
    ask: Ask,
}

impl Iterator for ListPage {
    type Item = Result<ListedRow, Refusal>;

    /// The next that has not been removed meanwhile.
    fn next(&mut self) -> Option<Result<ListedRow, Refusal>> {
        loop {
            let Place { pv, chunk, row: place } = self.rows.next()?;
            let Some(entry) = self.ask.entry(pv) else { continue };
            let (chunk, place) = (&self.table.chunks[chunk as usize], usize::from(place));
            let ioc = &self.table.words.iocs.texts()[chunk.fares.ioc[place] as usize];
            let adder = &self.table.words.adders.texts()[chunk.known.adder[place] as usize];
            let listed = row(&self.ask, &entry).map(|row| ListedRow {
                row,
                added: entry.added,
                added_by: (!adder.is_empty()).then(|| adder.to_string()),
                rate: Some(chunk.fares.rate[place]).filter(|rate| rate.is_finite()),
                bytes_per_day: chunk.bytes_a_day(place),
                bytes: chunk.bytes(place),
                ioc: (!ioc.is_empty()).then(|| ioc.to_string()),
            });
            return Some(listed);
        }
    }
}

impl Ask {
    /// A page of the PVs that are wanted.
    pub fn list(&self, wanted: &ListWanted) -> Result<ListPage, Refusal> {
        check_words(&wanted.words)?;
        self.lease.grow_by(wanted.limit.saturating_add(wanted.offset.min(self.names_len())), PLACE_BYTES)?;
        let list = wanted.digest();
        let cursor = wanted.cursor.as_deref().map(|text| Cursor::read(text, list)).transpose()?;
        let table = self.table_for(cursor.as_ref(), wanted.sort.needs_sizes())?;
        let told = self.groups_told(&table);
        let sieve = self.sieve(wanted, &table, &told)?;
        let (picked, next) = self.picked(wanted, &table, &sieve, cursor)?;
        let next = next.map(|(key, pv)| Cursor { table: table.number, list, key, pv }.text());
        if next.is_some() {
            self.listed().tables.pin(&table);
        }
        let near = if picked.total == 0 { self.near_what(wanted, &picked.counts, &table, &told) } else { Vec::new() };
        Ok(ListPage {
            total: picked.total,
            at: table.at,
            undescribed: table.undescribed,
            is_audit_unread: table.is_audit_unread,
            next,
            facets: facets(&picked.counts, &table, &told),
            near,
            rows: picked.rows.into_iter(),
            table,
            ask: self.clone(),
        })
    }

    /// The table of the page before, or that of now.
    fn table_for(&self, cursor: Option<&Cursor>, with_sizes: bool) -> Result<Arc<Table>, Refusal> {
        let service = self.listed();
        let pinned = cursor.and_then(|cursor| service.tables.pinned(cursor.table));
        match pinned {
            Some(table) => Ok(table),
            None => self.table_now(with_sizes),
        }
    }

    /// Whether whoever asks may see each group, by its number.
    fn groups_told(&self, table: &Table) -> Vec<bool> {
        let may = |group: &str| self.sees_all() || RuleName::new(group).is_ok_and(|group| self.sees_group(&group));
        table.words.groups.texts().iter().map(|group| !group.is_empty() && may(group)).collect()
    }

    fn sieve(&self, wanted: &ListWanted, table: &Table, told: &[bool]) -> Result<Sieve, Refusal> {
        let words = &table.words;
        let only = match &wanted.pattern {
            None => None,
            Some((_, pattern)) => {
                let names = self.listed().behind.directory.names();
                let found = pattern.among(&names, self)?;
                self.lease.grow_by(found.len(), PLACE_BYTES)?;
                Some(found.into_iter().map(|named| named.pv).collect::<HashSet<PvId>>())
            }
        };
        let group_lists = wanted.group.as_ref().map(|group| match group.as_str() {
            WITHOUT => {
                let none_told = |list: &[u32]| list.iter().all(|group| !told[*group as usize]);
                words.group_lists().iter().map(|list| none_told(list)).collect()
            }
            group => {
                let is_it = words.groups.texts().iter().zip(told).map(|(text, told)| &**text == group && *told);
                words.lists_with(&is_it.collect::<Vec<bool>>())
            }
        });
        Ok(Sieve {
            words: wanted.words.iter().map(|word| Word::new(word, words, told)).collect(),
            state: wanted.state,
            policies: wanted.policy.as_ref().map(|policy| numbers(&words.policies, policy, |text| text == policy)),
            group_lists,
            iocs: wanted.ioc.as_ref().map(|ioc| numbers(&words.iocs, ioc, |text| is_of_ioc(text, ioc))),
            adders: wanted.added_by.as_ref().map(|adder| numbers(&words.adders, adder, |text| text == adder)),
            only,
            with_aliases: self.sees_all(),
        })
    }

    fn picked(
        &self,
        wanted: &ListWanted,
        table: &Arc<Table>,
        sieve: &Sieve,
        cursor: Option<Cursor>,
    ) -> Result<PagePicked, Refusal> {
        let descending = wanted.descending;
        match (wanted.sort, descending) {
            (SortBy::Name, false) => {
                let after = cursor.map(Cursor::by_name).transpose()?;
                let after = after.as_ref().map(|(name, pv)| (name.as_str(), *pv));
                let picked = self.pick(wanted, table, sieve, Chunk::name, after.as_ref())?;
                Ok(told(picked, |name| Key::Name(name.to_owned())))
            }
            (SortBy::Name, true) => {
                let after = cursor.map(Cursor::by_name).transpose()?;
                let after = after.as_ref().map(|(name, pv)| (Reverse(name.as_str()), *pv));
                let picked = self.pick(wanted, table, sieve, |chunk, row| Reverse(chunk.name(row)), after.as_ref())?;
                Ok(told(picked, |Reverse(name)| Key::Name(name.to_owned())))
            }
            (sort, _) => {
                let after = cursor.map(Cursor::by_number).transpose()?;
                let key = key_by(sort, table, descending);
                Ok(told(self.pick(wanted, table, sieve, key, after.as_ref())?, Key::Number))
            }
        }
    }

    fn pick<'t, K: Ord + Clone + 't>(
        &self,
        wanted: &ListWanted,
        table: &'t Table,
        sieve: &'t Sieve,
        key: impl Fn(&'t Chunk, usize) -> K,
        after: Option<&(K, PvId)>,
    ) -> Result<Picked<K>, Refusal> {
        let seen = |chunk: &Chunk, found: &mut Vec<(u16, u8)>| {
            self.go_on()?;
            *found = self.those_seen(std::mem::take(found), |(row, _)| chunk.pv(usize::from(*row)));
            Ok(())
        };
        let from_the_end = wanted.sort == SortBy::Name && wanted.descending;
        let offset = if after.is_some() { 0 } else { wanted.offset };
        Picking { table, sieve, key, from_the_end, seen, offset, limit: wanted.limit }.pick(after)
    }

    /// What may have been meant where nothing was found.
    fn near_what(&self, wanted: &ListWanted, counts: &Counts, table: &Table, told: &[bool]) -> Vec<String> {
        let words = &table.words;
        let mut near: Vec<String> = Vec::new();
        // Where there are PVs with these words, though none of that state, policy, group or IOC, they are not mistyped.
        if counts.are_nothing() {
            near.extend(wanted.words.iter().take(NEAR_WORDS).flat_map(|word| self.near_words(word, table)));
        }
        // Policies and IOCs may be those of PVs that whoever asks does not see.
        if self.sees_all() {
            let of = |wanted: &Option<String>, dict: &Dict| {
                let wanted = wanted.as_ref().filter(|wanted| dict.texts().iter().all(|text| **text != ***wanted));
                wanted.map(|wanted| self.near_texts(wanted, dict.texts())).unwrap_or_default()
            };
            near.extend(of(&wanted.policy, &words.policies));
            near.extend(of(&wanted.ioc, &words.iocs));
        }
        if let Some(group) = &wanted.group {
            let told = words.groups.texts().iter().zip(told).filter(|(_, told)| **told).map(|(text, _)| text);
            near.extend(self.near_texts(group, told).into_iter().filter(|near| near != group));
        }
        near
    }
}

impl ListWanted {
    fn digest(&self) -> u64 {
        let ListWanted { words, pattern, state, policy, group, ioc, added_by, sort, descending, .. } = self;
        let pattern = pattern.as_ref().map(|(text, _)| text);
        digest(&(words, pattern, state, policy, group, ioc, added_by, sort, descending))
    }
}

fn check_words(words: &[String]) -> Result<(), Refusal> {
    if words.len() > WORDS_MAX {
        let message = format!("{} words are looked for, at most {WORDS_MAX} are possible", words.len());
        return Err(Refusal::new(Code::TooLarge, message));
    }
    for word in words {
        if word.len() > WORD_BYTES_MAX {
            let message = format!("a word has {} bytes, at most {WORD_BYTES_MAX} are possible", word.len());
            return Err(Refusal::new(Code::TooLarge, message));
        }
        if let Some(letter) = word.chars().find(|letter| letter.is_control()) {
            let message = format!("no PV has the character {letter:?} that is looked for");
            return Err(Refusal::new(Code::BadRequest, message));
        }
    }
    Ok(())
}

/// Whether the address of an IOC is meant, with or without its port.
fn is_of_ioc(text: &str, wanted: &str) -> bool {
    text.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// Which numbers are meant: those of the texts that are so, or that of none.
fn numbers(dict: &Dict, wanted: &str, is_so: impl Fn(&str) -> bool) -> Vec<bool> {
    if wanted == WITHOUT {
        return dict.texts().iter().map(|text| text.is_empty()).collect();
    }
    dict.which(is_so).unwrap_or_else(|| vec![false; dict.texts().len()])
}

/// The rows of a page, and the key of the last one if more follow.
type PagePicked = (Picked<()>, Option<(Key, PvId)>);

/// Puts keys of one type into those that cursors have.
fn told<K>(picked: Picked<K>, key: impl Fn(K) -> Key) -> PagePicked {
    let Picked { total, counts, rows, next } = picked;
    (Picked { total, counts, rows, next: None }, next.map(|(last, pv)| (key(last), pv)))
}

/// What rows are sorted by, as numbers: the smallest come first, and the greatest of all stands for what is not known.
fn key_by(sort: SortBy, table: &Table, descending: bool) -> impl Fn(&Chunk, usize) -> u64 + use<> {
    let places = match sort {
        SortBy::Policy => table.words.policies.order(),
        SortBy::Ioc => table.words.iocs.order(),
        SortBy::AddedBy => table.words.adders.order(),
        _ => Vec::new(),
    };
    let place = move |number: u32| {
        places.get(number as usize).filter(|place| **place != u32::MAX).map(|place| u64::from(*place))
    };
    let time = |nanos: i64| (nanos != NEVER).then(|| of_signed(nanos));
    move |chunk, row| {
        let key = match sort {
            SortBy::Name => None,
            SortBy::Rate => Some(chunk.fares.rate[row]).filter(|rate| rate.is_finite()).map(of_float),
            SortBy::BytesPerDay => chunk.bytes_a_day(row).map(of_float),
            SortBy::Bytes => chunk.bytes(row),
            SortBy::Last => time(chunk.last(row)),
            SortBy::Since => time(chunk.fares.since[row]),
            SortBy::Added => time(chunk.known.added[row]),
            SortBy::State => Some(chunk.fares.state[row] as u64),
            SortBy::Policy => place(chunk.known.policy[row]),
            SortBy::Ioc => place(chunk.fares.ioc[row]),
            SortBy::AddedBy => place(chunk.known.adder[row]),
        };
        match key {
            None => u64::MAX,
            Some(key) if descending => (!key).min(u64::MAX - 1),
            Some(key) => key.min(u64::MAX - 1),
        }
    }
}

/// In the same order as the numbers.
fn of_signed(number: i64) -> u64 {
    number as u64 ^ (1 << 63)
}

/// In the same order as the numbers, of which none is not a number.
fn of_float(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn facets(counts: &Counts, table: &Table, told: &[bool]) -> Facets {
    // Unknown PVs are counted only where there are any.
    let states = [Connection::Searching, Connection::Connected, Connection::Disconnected, Connection::Paused];
    let unknown = Some(Connection::Unknown).filter(|unknown| counts.states[*unknown as usize] > 0);
    let most = |dict: &Dict, counts: &[u64], is_told: &dyn Fn(usize) -> bool| {
        let all =
            dict.texts().iter().zip(counts).enumerate().filter(|(number, (_, pvs))| **pvs > 0 && is_told(*number));
        let name = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let mut all: Vec<Count> = all.map(|(_, (text, pvs))| Count { name: name(text), pvs: *pvs }).collect();
        all.sort_by(|a, b| b.pvs.cmp(&a.pvs).then_with(|| a.name.cmp(&b.name)));
        all.truncate(COUNTED_MAX);
        all
    };
    let words = &table.words;
    Facets {
        states: states.into_iter().chain(unknown).map(|state| (state, counts.states[state as usize])).collect(),
        policies: most(&words.policies, &counts.policies, &|_| true),
        groups: most(&words.groups, &counts.groups, &|number| told[number]),
        iocs: most(&words.iocs, &counts.iocs, &|_| true),
        adders: most(&words.adders, &counts.adders, &|_| true),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_are_in_the_order_of_numbers(a: f64, b: f64, c: i64, d: i64) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            prop_assert_eq!(of_float(a).cmp(&of_float(b)), a.total_cmp(&b));
            prop_assert_eq!(of_signed(c).cmp(&of_signed(d)), c.cmp(&d));
        }
    }

    #[test]
    fn an_ioc_is_meant_with_or_without_its_port() {
        assert!(is_of_ioc("10.0.0.1:5064", "10.0.0.1") && is_of_ioc("10.0.0.1:5064", "10.0.0.1:5064"));
        assert!(!is_of_ioc("10.0.0.11:5064", "10.0.0.1") && !is_of_ioc("10.0.0.1:5064", "10.0.0.1:50"));
    }
}
