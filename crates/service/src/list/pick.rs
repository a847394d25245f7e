//! Picking: which rows of the table a list has, how many they are by each property, and the first of them in order. One look at all rows,
//! whatever the order, and memory for one page. Of a million PVs that is 13 to 41 ms of a processor, by what is asked (the measurement below).

use std::collections::HashSet;

use archive::{Connection, PvId};
use memchr::memmem::Finder;

use crate::{
    refusal::Refusal,
    table::{BETWEEN, CHUNK_ROWS, Chunk, Table, Words},
};

/// Where fewer rows of a chunk are left, words are looked for in each of them, and else in the text of all.
const FEW_ROWS: usize = CHUNK_ROWS / 16;

/// The properties by which a list can be narrowed, each of which is counted as if it were not narrowed by that one.
const BY_STATE: u8 = 1;
const BY_POLICY: u8 = 2;
const BY_GROUP: u8 = 4;
const BY_IOC: u8 = 8;
const BY_ADDER: u8 = 16;
/// How many rows are collected beyond those that are wanted before the worst of them are dropped.
const SPARE_ROWS: usize = 256;

/// How many rows there are of each state, policy, group, IOC and adder, by their numbers in the table.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) states: [u64; 5],
    pub(super) policies: Vec<u64>,
    pub(super) groups: Vec<u64>,
    pub(super) iocs: Vec<u64>,
    pub(super) adders: Vec<u64>,
}

/// Which rows pass.
pub(super) struct Sieve {
    pub(super) words: Vec<Word>,
    pub(super) state: Option<Connection>,
    /// By their numbers in the table.
    pub(super) policies: Option<Vec<bool>>,
    pub(super) group_lists: Option<Vec<bool>>,
    pub(super) iocs: Option<Vec<bool>>,
    pub(super) adders: Option<Vec<bool>>,
    /// These alone.
    pub(super) only: Option<HashSet<PvId>>,
    /// Other names are looked at.
    pub(super) with_aliases: bool,
}

/// A word that a row must have, in its texts or in what it shares with others.
pub(super) struct Word {
    finder: Finder<'static>,
    policies: Option<Vec<bool>>,
    group_lists: Option<Vec<bool>>,
    units: Option<Vec<bool>>,
    iocs: Option<Vec<bool>>,
}

impl Word {
    /// A word in any case. `may_be_told` says which groups may be.
    pub(super) fn new(word: &str, words: &Words, may_be_told: &[bool]) -> Word {
        let text = word.to_lowercase();
        let has = |other: &str| other.to_lowercase().contains(&text);
        let groups = words
            .groups
            .which(has)
            .map(|which| which.iter().zip(may_be_told).map(|(is_in, may)| *is_in && *may).collect::<Vec<bool>>());
        Word {
            finder: Finder::new(&text).into_owned(),
            policies: words.policies.which(has),
            group_lists: groups.map(|groups| words.lists_with(&groups)),
            units: words.units.which(has),
            iocs: words.iocs.which(has),
        }
    }

    /// Whether a row shares it with others.
    fn is_shared(&self, chunk: &Chunk, row: usize) -> bool {
        let in_one = |which: &Option<Vec<bool>>, column: &[u32]| {
            which.as_ref().is_some_and(|which| which.get(column[row] as usize) == Some(&true))
        };
        in_one(&self.policies, &chunk.known.policy)
            || in_one(&self.group_lists, &chunk.known.groups)
            || in_one(&self.units, &chunk.known.units)
            || in_one(&self.iocs, &chunk.fares.ioc)
    }

    fn may_be_shared(&self) -> bool {
        [&self.policies, &self.group_lists, &self.units, &self.iocs].iter().any(|which| which.is_some())
    }

    /// Marks the rows in whose texts it stands.
    fn mark(&self, chunk: &Chunk, marked: &mut [bool]) {
        let (text, starts) = (chunk.known.text.as_bytes(), &chunk.known.starts);
        let (mut row, mut from) = (0, 0);
        while let Some(found) = self.finder.find(&text[from..]) {
            let found = from + found;
            while starts.get(row + 1).is_some_and(|next| *next as usize <= found) {
                row += 1;
            }
            marked[row] = true;
            from = starts.get(row + 1).map_or(text.len(), |next| *next as usize);
        }
    }
}

impl Sieve {
    /// By which properties a row is left out; none if it passes whatever these are.
    fn missed(&self, chunk: &Chunk, row: usize) -> u8 {
        let of = |which: &Option<Vec<bool>>, number: u32, bit: u8| match which {
            Some(which) if which.get(number as usize) != Some(&true) => bit,
            _ => 0,
        };
        let is_elsewhere = self.state.is_some_and(|state| state != chunk.fares.state[row]);
        (if is_elsewhere { BY_STATE } else { 0 })
            | of(&self.policies, chunk.known.policy[row], BY_POLICY)
            | of(&self.group_lists, chunk.known.groups[row], BY_GROUP)
            | of(&self.iocs, chunk.fares.ioc[row], BY_IOC)
            | of(&self.adders, chunk.known.adder[row], BY_ADDER)
    }

    /// The rows of a chunk that pass but for one property at most, each with that one.
    fn candidates(&self, chunk: &Chunk, found: &mut Vec<(u16, u8)>) {
        found.clear();
        for row in 0..chunk.len() {
            let Some(pv) = chunk.pv(row) else { continue };
            if self.only.as_ref().is_some_and(|only| !only.contains(&pv)) {
                continue;
            }
            let missed = self.missed(chunk, row);
            if missed.count_ones() <= 1 {
                found.push((row as u16, missed));
            }
        }
        for word in &self.words {
            if found.len() < FEW_ROWS || !self.with_aliases {
                found.retain(|(row, _)| self.has(chunk, usize::from(*row), word));
                continue;
            }
            let mut marked = [false; CHUNK_ROWS];
            word.mark(chunk, &mut marked);
            let may_be_shared = word.may_be_shared();
            found.retain(|(row, _)| {
                let row = usize::from(*row);
                marked[row] || (may_be_shared && word.is_shared(chunk, row))
            });
        }
    }

    fn has(&self, chunk: &Chunk, row: usize, word: &Word) -> bool {
        let line = chunk.line(row);
        let text = match self.with_aliases {
            true => line,
            false => line.match_indices(BETWEEN).nth(1).map_or(line, |(end, _)| &line[..end]),
        };
        word.finder.find(text.as_bytes()).is_some() || word.is_shared(chunk, row)
    }
}

/// A row that was picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) pv: PvId,
    pub(super) chunk: u32,
    pub(super) row: u16,
}

/// What was picked.
pub(super) struct Picked<K> {
    /// How many rows pass, on all pages.
    pub(super) total: u64,
    pub(super) counts: Counts,
    /// A page of them, in order.
    pub(super) rows: Vec<Place>,
    /// The key of the last row, if more follow.
    pub(super) next: Option<(K, PvId)>,
}

/// Which rows are picked, and in which order.
pub(super) struct Picking<'t, F, S> {
    pub(super) table: &'t Table,
    pub(super) sieve: &'t Sieve,
    /// By what a row is sorted, the smallest first. Equal ones are in the order in which PVs were added.
    pub(super) key: F,
    /// The last rows of the table come first, most likely.
    pub(super) from_the_end: bool,
    /// Takes out the rows of a chunk that are not seen.
    pub(super) seen: S,
    /// How many rows come before the page.
    pub(super) offset: usize,
    pub(super) limit: usize,
}

impl<'t, K, F, S> Picking<'t, F, S>
where
    K: Ord + Clone + 't,
    F: Fn(&'t Chunk, usize) -> K,
    S: FnMut(&Chunk, &mut Vec<(u16, u8)>) -> Result<(), Refusal>,
{
    /// The rows behind one that was the last of a page.
    pub(super) fn pick(mut self, after: Option<&(K, PvId)>) -> Result<Picked<K>, Refusal> {
        let words = &self.table.words;
        let mut counts = Counts {
            states: [0; 5],
            policies: vec![0; words.policies.texts().len()],
            groups: vec![0; words.groups.texts().len()],
            iocs: vec![0; words.iocs.texts().len()],
            adders: vec![0; words.adders.texts().len()],
        };
        let (mut total, mut found) = (0, Vec::with_capacity(CHUNK_ROWS));
        let mut best = First::new(self.offset.saturating_add(self.limit));
        let count = self.table.chunks.len();
        for place in 0..count {
            let place = if self.from_the_end { count - 1 - place } else { place };
            let chunk: &'t Chunk = &self.table.chunks[place];
            self.sieve.candidates(chunk, &mut found);
            (self.seen)(chunk, &mut found)?;
            if self.from_the_end {
                found.reverse();
            }
            for (row, missed) in &found {
                let at = usize::from(*row);
                counts.count(chunk, at, *missed, words);
                if *missed != 0 {
                    continue;
                }
                total += 1;
                let (key, pv) = ((self.key)(chunk, at), chunk.pv(at).unwrap_or(PvId(0)));
                if after.is_some_and(|(after, last)| (&key, pv) <= (after, *last)) {
                    continue;
                }
                best.offer((key, pv, place as u32, *row));
            }
        }
        let (best, are_left_out) = best.sorted(self.offset);
        let next = best.last().filter(|_| are_left_out).map(|(key, pv, ..)| (key.clone(), *pv));
        let rows = best.into_iter().map(|(_, pv, chunk, row)| Place { pv, chunk, row }).collect();
        Ok(Picked { total, counts, rows, next })
    }
}

/// A row with its key: equal keys are in the order in which PVs were added.
type Keyed<K> = (K, PvId, u32, u16);

/// The first rows of all that are offered, in no order: the others are thrown away when there are too many, so that a page far behind the
/// first takes no longer than one look at each row.
struct First<K> {
    rows: Vec<Keyed<K>>,
    wanted: usize,
    /// No row behind this one is among the first.
    last: Option<Keyed<K>>,
    are_left_out: bool,
}

impl<K: Ord + Clone> First<K> {
    fn new(wanted: usize) -> First<K> {
        First { rows: Vec::new(), wanted, last: None, are_left_out: false }
    }

    fn offer(&mut self, row: Keyed<K>) {
        if self.last.as_ref().is_some_and(|last| row > *last) {
            self.are_left_out = true;
            return;
        }
        self.rows.push(row);
        if self.rows.len() > self.wanted.saturating_mul(2).saturating_add(SPARE_ROWS) {
            self.cut();
        }
    }

    /// Throws away all but the first.
    fn cut(&mut self) {
        if self.rows.len() <= self.wanted {
            return;
        }
        self.are_left_out = true;
        if self.wanted > 0 {
            let (_, last, _) = self.rows.select_nth_unstable(self.wanted - 1);
            self.last = Some(last.clone());
        }
        self.rows.truncate(self.wanted);
    }

    /// The first but for so many, in order, and whether others were left out.
    fn sorted(mut self, offset: usize) -> (Vec<Keyed<K>>, bool) {
        self.cut();
        let offset = offset.min(self.rows.len());
        if offset > 0 && offset < self.rows.len() {
            self.rows.select_nth_unstable(offset);
        }
        let mut rows = self.rows.split_off(offset);
        rows.sort_unstable();
        (rows, self.are_left_out)
    }
}

impl Counts {
    /// Whether there is no row, even where one property is left open.
    pub(super) fn are_nothing(&self) -> bool {
        let mut all =
            self.states.iter().chain(&self.policies).chain(&self.groups).chain(&self.iocs).chain(&self.adders);
        all.all(|count| *count == 0)
    }

    /// A row counts by each property, or by the one alone for which it was left out.
    fn count(&mut self, chunk: &Chunk, row: usize, missed: u8, words: &Words) {
        if missed & !BY_STATE == 0 {
            self.states[chunk.fares.state[row] as usize] += 1;
        }
        if missed & !BY_POLICY == 0 {
            self.policies[chunk.known.policy[row] as usize] += 1;
        }
        if missed & !BY_GROUP == 0 {
            let groups = &words.group_lists()[chunk.known.groups[row] as usize];
            groups.iter().for_each(|group| self.groups[*group as usize] += 1);
        }
        if missed & !BY_IOC == 0 {
            self.iocs[chunk.fares.ioc[row] as usize] += 1;
        }
        if missed & !BY_ADDER == 0 {
            self.adders[chunk.known.adder[row] as usize] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cmp::Reverse, fs, time::Duration};

    use archive::{Brief, Method, Origin, Protocol, PvEntry, PvName, PvSettings, PvState, RuleName, Rules};
    use proptest::prelude::*;
    use sample::{Metadata, Timestamp};

    use super::*;
    use crate::table::testing::{MadeUp, table};

    const NOW: Timestamp = Timestamp::from_nanos(1_800_000_000_000_000_000);
    const STATES: [Connection; 4] =
        [Connection::Searching, Connection::Connected, Connection::Disconnected, Connection::Paused];

    /// A PV that is made up of few parts, so that many are alike.
    #[derive(Clone, Debug)]
    struct Made {
        name: String,
        alias: Option<String>,
        description: String,
        units: &'static str,
        policy: Option<&'static str>,
        groups: Vec<&'static str>,
        state: usize,
        received: u64,
        server: Option<u8>,
        adder: Option<&'static str>,
        is_gone: bool,
    }

    impl Made {
        fn table_row(&self, pv: u32) -> MadeUp {
            let rule = |text: &str| RuleName::new(text).unwrap();
            let rules = Rules {
                groups: self.groups.iter().map(|group| rule(group)).collect(),
                origin: Origin { policy: self.policy.map(rule), ..Origin::default() },
                ..Rules::default()
            };
            let plain = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
            let metadata = Metadata {
                units: Some(self.units.to_owned()),
                description: Some(self.description.clone()),
                ..Metadata::default()
            };
            let first = Timestamp::from_nanos(NOW.nanos() - 1_000_000_000);
            MadeUp {
                entry: PvEntry {
                    id: PvId(pv),
                    name: PvName::new(&self.name).unwrap(),
                    settings: PvSettings { rules: rules.shared(), ..plain },
                    added: first,
                },
                aliases: self.alias.iter().map(|alias| PvName::new(alias).unwrap()).collect(),
                metadata: Some(metadata),
                brief: Some(Brief {
                    connection: STATES[self.state],
                    since: first,
                    first_connected: (self.received > 0).then_some(first),
                    last_connected: None,
                    reconnects: 0,
                    received: self.received,
                    dropped: 0,
                    last_sample: None,
                    server: self.server.map(|host| ([10, 0, 0, host], 5064).into()),
                }),
            }
        }

        fn ioc(&self) -> String {
            self.server.map(|host| format!("10.0.0.{host}:5064")).unwrap_or_default()
        }

        /// By a plain look at all texts.
        fn has(&self, word: &str, with_aliases: bool) -> bool {
            let has = |text: &str| text.to_lowercase().contains(&word.to_lowercase());
            has(&self.name)
                || (with_aliases && self.alias.as_deref().is_some_and(has))
                || [&*self.description, self.units, &self.ioc()].into_iter().any(has)
                || self.policy.is_some_and(has)
                || self.groups.iter().any(|group| has(group))
        }
    }

    fn made() -> impl Strategy<Value = Made> {
        let parts = ("[A-c:]{1,6}", proptest::option::of("[X-z]{1,3}"), "[a-c Ä\n]{0,8}");
        let shared = (
            prop::sample::select(vec!["", "mA", "K"]),
            prop::sample::select(vec![None, Some("slow"), Some("fast")]),
            prop::sample::subsequence(vec!["beam", "vac"], 0..=2),
        );
        let adder = prop::sample::select(vec![None, Some("token:ingest"), Some("local:0")]);
        let fares = (0..4_usize, 0..5_u64, proptest::option::of(1..3_u8), adder, prop::bool::weighted(0.1));
        (parts, shared, fares).prop_map(|((name, alias, description), (units, policy, groups), fares)| {
            let (state, received, server, adder, is_gone) = fares;
            Made { name, alias, description, units, policy, groups, state, received, server, adder, is_gone }
        })
    }

    fn sieve(table: &Table, words: &[String], narrow: &Narrow, with_aliases: bool) -> Sieve {
        let all = vec![true; table.words.groups.texts().len()];
        let by = |wanted: &str| table.words.groups.texts().iter().map(|text| **text == *wanted).collect::<Vec<bool>>();
        let none = |dict: &crate::table::Dict| vec![false; dict.texts().len()];
        Sieve {
            words: words.iter().map(|word| Word::new(word, &table.words, &all)).collect(),
            state: narrow.state.map(|state| STATES[state]),
            policies: narrow.policy.map(|policy| {
                table.words.policies.which(|text| text == policy).unwrap_or_else(|| none(&table.words.policies))
            }),
            group_lists: narrow.group.map(|group| table.words.lists_with(&by(group))),
            iocs: None,
            adders: narrow.adder.map(|adder| {
                table.words.adders.which(|text| text == adder).unwrap_or_else(|| none(&table.words.adders))
            }),
            only: None,
            with_aliases,
        }
    }

    #[derive(Clone, Debug)]
    struct Narrow {
        state: Option<usize>,
        policy: Option<&'static str>,
        group: Option<&'static str>,
        adder: Option<&'static str>,
    }

    fn narrow() -> impl Strategy<Value = Narrow> {
        let policy = prop::sample::select(vec!["slow", "fast", "other"]);
        let group = prop::sample::select(vec!["beam", "vac", "other"]);
        let adder = proptest::option::of(prop::sample::select(vec!["token:ingest", "nobody"]));
        let all = (proptest::option::of(0..4_usize), proptest::option::of(policy), proptest::option::of(group), adder);
        all.prop_map(|(state, policy, group, adder)| Narrow { state, policy, group, adder })
    }

    impl Narrow {
        fn fits(&self, of: &Made, but: &str) -> bool {
            (but == "state" || self.state.is_none_or(|state| state == of.state))
                && (but == "policy" || self.policy.is_none_or(|policy| of.policy == Some(policy)))
                && (but == "group" || self.group.is_none_or(|group| of.groups.contains(&group)))
                && (but == "adder" || self.adder.is_none_or(|adder| of.adder == Some(adder)))
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
        #[test]
        fn pages_have_what_a_plain_look_at_every_pv_finds(
            made in prop::collection::vec(made(), 0..40),
            words in prop::collection::vec(prop::sample::select(vec!["a", "B", "mA", "slow", "bea", "10.0.0.1", "xy", "Ä"]), 0..3),
            narrow in narrow(),
            limit in 1..7_usize,
            with_aliases: bool,
        ) {
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            let mut table = table(made.iter().zip(0..).map(|(of, pv)| of.table_row(pv)), NOW);
            for (row, of) in made.iter().enumerate() {
                if let Some(adder) = of.adder {
                    table.say_adder(0, row, adder);
                }
            }
            for (row, _) in made.iter().enumerate().filter(|(_, of)| of.is_gone) {
                table.take_out(0, row);
            }
            let sieve = sieve(&table, &words, &narrow, with_aliases);
            let wanted = |of: &Made, but: &str| {
                !of.is_gone && words.iter().all(|word| of.has(word, with_aliases)) && narrow.fits(of, but)
            };
            let mut expected: Vec<(Reverse<u64>, u32)> = (0..).zip(&made)
                .filter(|(_, of)| wanted(of, "")).map(|(pv, of)| (Reverse(of.received), pv)).collect();
            expected.sort();
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let key = |chunk: &Chunk, row: usize| {
                    Reverse(Some(chunk.fares.rate[row]).filter(|rate| rate.is_finite()).map_or(0, |rate| rate as u64))
                };
                let seen = |_: &Chunk, _: &mut Vec<(u16, u8)>| Ok(());
                let picking = |offset| Picking { table: &table, sieve: &sieve, key, from_the_end: false, seen, offset, limit };
                let picked = picking(0).pick(after.as_ref()).unwrap();
                let by_offset = picking(found.len()).pick(None).unwrap();
                prop_assert_eq!(&by_offset.rows, &picked.rows, "a page is the same behind a row and behind so many rows");
                prop_assert_eq!(&by_offset.next, &picked.next);
                prop_assert_eq!(picked.total, expected.len() as u64);
                for (state, count) in picked.counts.states.iter().enumerate() {
                    let plain = made.iter().filter(|of| of.state == state && wanted(of, "state")).count();
                    prop_assert_eq!(*count, plain as u64);
                }
                for (number, text) in table.words.groups.texts().iter().enumerate().skip(1) {
                    let plain = made.iter().filter(|of| of.groups.contains(&&**text) && wanted(of, "group")).count();
                    prop_assert_eq!(picked.counts.groups[number], plain as u64);
                }
                for (number, text) in table.words.policies.texts().iter().enumerate() {
                    let is_it = |of: &&Made| of.policy.unwrap_or_default() == &**text;
                    let plain = made.iter().filter(is_it).filter(|of| wanted(of, "policy")).count();
                    prop_assert_eq!(picked.counts.policies[number], plain as u64);
                }
                for (number, text) in table.words.adders.texts().iter().enumerate() {
                    let is_it = |of: &&Made| of.adder.unwrap_or_default() == &**text;
                    let plain = made.iter().filter(is_it).filter(|of| wanted(of, "adder")).count();
                    prop_assert_eq!(picked.counts.adders[number], plain as u64);
                }
                prop_assert!(picked.rows.len() <= limit);
                found.extend(picked.rows.iter().map(|place| place.pv.0));
                match picked.next {
                    Some(next) => after = Some(next),
                    None => break,
                }
            }
            prop_assert_eq!(found, expected.into_iter().map(|(_, pv)| pv).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn names_come_in_either_order_whatever_their_case() {
        let of = |name: &str| Made {
            name: name.to_owned(),
            alias: None,
            description: String::new(),
            units: "",
            policy: None,
            groups: Vec::new(),
            state: 0,
            received: 0,
            server: None,
            adder: None,
            is_gone: false,
        };
        let names = ["b", "A", "c:1", "C:0", "a:"];
        let table = table(names.into_iter().zip(0..).map(|(name, pv)| of(name).table_row(pv)), NOW);
        let all = sieve(&table, &[], &Narrow { state: None, policy: None, group: None, adder: None }, true);
        let seen = |_: &Chunk, _: &mut Vec<(u16, u8)>| Ok(());
        let up =
            Picking { table: &table, sieve: &all, key: Chunk::name, from_the_end: false, seen, offset: 0, limit: 9 };
        let key = |chunk, row| Reverse(Chunk::name(chunk, row));
        let down = Picking { table: &table, sieve: &all, key, from_the_end: true, seen, offset: 0, limit: 9 };
        let named = |rows: &[Place]| rows.iter().map(|place| names[place.pv.0 as usize]).collect::<Vec<_>>();
        assert_eq!(named(&up.pick(None).unwrap().rows), ["A", "a:", "b", "C:0", "c:1"]);
        assert_eq!(named(&down.pick(None).unwrap().rows), ["c:1", "C:0", "b", "a:", "A"]);
    }

    /// What this thread has had of the processor, as Linux counts it.
    fn processor_time() -> Duration {
        let told = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        Duration::from_nanos(told.split(' ').next().unwrap().parse().unwrap())
    }

    /// Prints what a page takes: `cargo test --release -p service a_page_of_a_million -- --ignored --nocapture`.
    #[test]
    #[ignore = "a measurement"]
    #[expect(clippy::print_stdout, reason = "it is there to be read")]
    fn a_page_of_a_million_pvs() {
        let row = |number: u32| Made {
            name: format!("SR{:02}C:MG-PS{:03}:Chan{:03}-RB", number / 25_000, number / 100 % 250, number % 100),
            alias: None,
            description: format!("Power supply {} of girder {}", number % 100, number / 100),
            units: if number.is_multiple_of(3) { "mA" } else { "K" },
            policy: Some(if number.is_multiple_of(7) { "fast" } else { "slow" }),
            groups: if number.is_multiple_of(11) { vec!["beam"] } else { Vec::new() },
            state: (number % 4) as usize,
            received: u64::from(number.wrapping_mul(2_654_435_761) >> 12),
            server: Some((number / 5000) as u8),
            adder: None,
            is_gone: false,
        };
        let table = table((0..1_000_000).map(|number| row(number).table_row(number)), NOW);
        let none = Narrow { state: None, policy: None, group: None, adder: None };
        let disconnected = Narrow { state: Some(2), ..none.clone() };
        let cases = [
            ("all by rate", vec![], none.clone(), Some(false), 0),
            ("a word of one PV", vec!["SR07C:MG-PS013:Chan055"], none.clone(), Some(false), 0),
            ("a word of all, a state, by rate", vec!["power"], disconnected.clone(), Some(false), 0),
            ("a word of some, a state, by rate", vec!["ps013"], disconnected.clone(), Some(false), 0),
            ("two words, a state, by rate", vec!["supply", "SR07"], disconnected, Some(false), 0),
            ("a word of units, by rate", vec!["mA"], none.clone(), Some(false), 0),
            ("all by name, the last first", vec![], none.clone(), Some(true), 0),
            ("a word of all, by name, the last first", vec!["girder"], none.clone(), Some(true), 0),
            ("all by rate, from the middle on", vec![], none.clone(), Some(false), 500_000),
            ("all by name, the first", vec![], none.clone(), None, 0),
            ("all by name, from the middle on", vec![], none, None, 500_000),
        ];
        for (what, words, narrow, by_name, offset) in cases {
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            let sieve = sieve(&table, &words, &narrow, true);
            let seen = |_: &Chunk, _: &mut Vec<(u16, u8)>| Ok(());
            let mut times = Vec::new();
            let mut total = 0;
            for _ in 0..9 {
                let begun = processor_time();
                let total_of = |picked: Result<_, Refusal>| picked.unwrap();
                let limit = 100;
                total = match by_name {
                    Some(true) => {
                        let key = |chunk, row| Reverse(Chunk::name(chunk, row));
                        let picking =
                            Picking { table: &table, sieve: &sieve, key, from_the_end: true, seen, offset, limit };
                        total_of(picking.pick(None).map(|picked| picked.total))
                    }
                    Some(false) => {
                        let key = |chunk: &Chunk, row: usize| !chunk.fares.rate[row].to_bits();
                        let picking =
                            Picking { table: &table, sieve: &sieve, key, from_the_end: false, seen, offset, limit };
                        total_of(picking.pick(None).map(|picked| picked.total))
                    }
                    None => {
                        let key = Chunk::name;
                        let picking =
                            Picking { table: &table, sieve: &sieve, key, from_the_end: false, seen, offset, limit };
                        total_of(picking.pick(None).map(|picked| picked.total))
                    }
                };
                times.push(processor_time() - begun);
            }
            times.sort_unstable();
            println!("{what}: {total} PVs, {:.1?} of the processor (median)", times[4]);
        }
    }
}
