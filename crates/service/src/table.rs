//! The table: what lists sort and filter all PVs by, in columns, kept in memory while lists are asked for.
//!
//! ```text
//!   directory ──► Known  what PVs are: names, descriptions, policies …   read anew where somebody changed or described a PV
//!   standing  ──► Fares  how they fare: state, rate, newest sample …     where one came to stand elsewhere, and by and by all
//!   storage   ──► Sizes  what they take on disk                          when a list wants it, and it is old
//!   audit     ──► Known  who added them                                  the newest lines with each list, older ones by and by
//! ```
//! A table is one moment. It is cheap to clone: its chunks are shared until one of them changes, so that who turns pages goes on with
//! the table of the first page, whatever happens meanwhile.

mod keep;
mod words;

use std::sync::Arc;

use archive::{Brief, Connection, Directory, Protocol, PvEntry, PvId, PvName, PvState, Standing, Storage};
use memchr::{memchr, memchr_iter};
use query::Query;
use sample::{Metadata, Timestamp};

pub(crate) use keep::Tables;
pub(crate) use words::{Dict, NONE, Words};

/// Rows of a chunk: few enough to be copied for one that changes.
pub(crate) const CHUNK_ROWS: usize = 4096;
/// What a row takes in its columns, and in the place by which its PV finds it.
const ROW_BYTES: usize = 114;
/// Longer descriptions are searched up to here.
const DESCRIPTION_BYTES: usize = 256;
/// Stands between the texts of a row; no text holds it.
pub(crate) const BETWEEN: char = '\u{1f}';
/// In the place of a PV that is gone.
const GONE: PvId = PvId(u32::MAX);
/// No such time.
pub(crate) const NEVER: i64 = i64::MIN;

/// Whom the table asks.
pub(crate) struct Asked<'a> {
    pub(crate) directory: &'a dyn Directory,
    pub(crate) standing: &'a dyn Standing,
    pub(crate) storage: &'a dyn Storage,
    pub(crate) query: &'a Query,
}

/// All PVs at one moment.
#[derive(Clone)]
pub(crate) struct Table {
    /// Another one has another number.
    pub(crate) number: u64,
    pub(crate) at: Timestamp,
    /// How many PVs have descriptions and units that were not read yet.
    pub(crate) undescribed: usize,
    /// Not all of the audit was read yet, so that it is not known of each PV who has added it.
    pub(crate) is_audit_unread: bool,
    pub(crate) chunks: Vec<Arc<Chunk>>,
    pub(crate) words: Arc<Words>,
}

/// Some thousand PVs. All columns are equally long.
#[derive(Clone, Default)]
pub(crate) struct Chunk {
    pub(crate) known: Arc<Known>,
    pub(crate) fares: Arc<Fares>,
    /// Empty before anybody asked for it.
    pub(crate) sizes: Arc<Sizes>,
}

/// What PVs are.
#[derive(Clone, Default)]
pub(crate) struct Known {
    pvs: Vec<PvId>,
    pub(crate) added: Vec<i64>,
    pub(crate) policy: Vec<u32>,
    /// A list of groups in `Words`.
    pub(crate) groups: Vec<u32>,
    pub(crate) units: Vec<u32>,
    /// Who has added it, as the audit says.
    pub(crate) adder: Vec<u32>,
    /// The IOC that served it last, as its metadata says.
    server: Vec<u32>,
    pub(crate) protocol: Vec<Protocol>,
    paused: Vec<bool>,
    /// A line for each: the name, the description, other names, in lower case.
    pub(crate) text: String,
    pub(crate) starts: Vec<u32>,
}

/// How PVs fare.
#[derive(Clone, Default)]
pub(crate) struct Fares {
    pub(crate) state: Vec<Connection>,
    pub(crate) since: Vec<i64>,
    /// The newest sample of this run.
    pub(crate) last: Vec<i64>,
    /// Updates a second; none is not a number.
    pub(crate) rate: Vec<f64>,
    /// The IOC that serves it, or did.
    pub(crate) ioc: Vec<u32>,
}

/// What PVs take on disk: none of those that were added since it was read.
#[derive(Clone, Default)]
pub(crate) struct Sizes {
    pub(crate) bytes: Vec<u64>,
    pub(crate) samples: Vec<u64>,
    pub(crate) last: Vec<i64>,
}

/// A PV as `Known` has it.
struct Row {
    pv: PvId,
    added: i64,
    policy: u32,
    groups: u32,
    units: u32,
    server: u32,
    protocol: Protocol,
    paused: bool,
    text: String,
}

impl Row {
    fn of(words: &mut Words, entry: &PvEntry, aliases: &[PvName], metadata: Option<&Metadata>) -> Row {
        let rules = entry.settings.rules();
        let mut text = entry.name.as_str().to_lowercase();
        text.push(BETWEEN);
        let description = metadata.and_then(|metadata| metadata.description.as_deref()).unwrap_or_default();
        let cut = description.char_indices().find(|(place, _)| *place >= DESCRIPTION_BYTES);
        let description = cut.map_or(description, |(place, _)| &description[..place]);
        let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
        text.extend(description.chars().map(plain).flat_map(char::to_lowercase));
        for alias in aliases {
            text.push(BETWEEN);
            text.push_str(&alias.as_str().to_lowercase());
        }
        text.push('\n');
        Row {
            pv: entry.id,
            added: entry.added.nanos(),
            policy: words.policies.number(rules.origin.policy.as_ref().map(|policy| policy.as_str())),
            groups: words.group_list(&rules.groups),
            units: words.units.number(metadata.and_then(|metadata| metadata.units.as_deref())),
            server: words.iocs.number(metadata.and_then(|metadata| metadata.server.as_deref())),
            protocol: entry.settings.protocol,
            paused: entry.settings.state == PvState::Paused,
            text,
        }
    }
}

impl Chunk {
    pub(crate) fn len(&self) -> usize {
        self.known.pvs.len()
    }

    /// The PV of a row; none if it is gone.
    pub(crate) fn pv(&self, row: usize) -> Option<PvId> {
        self.known.pvs.get(row).copied().filter(|pv| *pv != GONE)
    }

    /// The texts of a row, with the line feed.
    pub(crate) fn line(&self, row: usize) -> &str {
        let known = &self.known;
        let end = known.starts.get(row + 1).map_or(known.text.len(), |end| *end as usize);
        &known.text[known.starts[row] as usize..end]
    }

    /// The name of a row in lower case.
    pub(crate) fn name(&self, row: usize) -> &str {
        let line = self.line(row);
        memchr(BETWEEN as u8, line.as_bytes()).map_or(line, |end| &line[..end])
    }

    /// The name of a row and its other names, in lower case.
    pub(crate) fn names(&self, row: usize) -> impl Iterator<Item = &[u8]> {
        let line = self.line(row).trim_end_matches('\n').as_bytes();
        let mut ends = memchr_iter(BETWEEN as u8, line);
        let (end, aliases) = (ends.next().unwrap_or(line.len()), ends.next());
        let aliases = aliases.map(|end| line[end + 1..].split(|byte| *byte == BETWEEN as u8));
        std::iter::once(&line[..end]).chain(aliases.into_iter().flatten())
    }

    /// When the newest sample was, as far as that is known.
    pub(crate) fn last(&self, row: usize) -> i64 {
        self.fares.last[row].max(self.sizes.last.get(row).copied().unwrap_or(NEVER))
    }

    /// Bytes a day, by what its samples took until now.
    pub(crate) fn bytes_a_day(&self, row: usize) -> Option<f64> {
        let (bytes, samples) = (*self.sizes.bytes.get(row)?, *self.sizes.samples.get(row)?);
        let a_day = self.fares.rate[row] * 86_400.0 * bytes as f64 / samples as f64;
        a_day.is_finite().then_some(a_day)
    }

    /// Bytes in segments.
    pub(crate) fn bytes(&self, row: usize) -> Option<u64> {
        self.sizes.bytes.get(row).copied()
    }

    fn push(&mut self, row: Row, brief: Option<Brief>, words: &mut Words, now: Timestamp) {
        let known = Arc::make_mut(&mut self.known);
        known.starts.push(known.text.len() as u32);
        known.text.push_str(&row.text);
        known.pvs.push(row.pv);
        known.added.push(row.added);
        known.policy.push(row.policy);
        known.groups.push(row.groups);
        known.units.push(row.units);
        known.adder.push(NONE);
        known.server.push(row.server);
        known.protocol.push(row.protocol);
        known.paused.push(row.paused);
        let fares = Arc::make_mut(&mut self.fares);
        fares.state.push(Connection::Searching);
        fares.since.push(NEVER);
        fares.last.push(NEVER);
        fares.rate.push(f64::NAN);
        fares.ioc.push(NONE);
        let place = known.pvs.len() - 1;
        self.fare(place, brief, words, now);
    }

    /// Takes in what changed of a PV; a row without one is of a PV that is gone.
    fn put(&mut self, place: usize, row: Option<Row>) {
        let is_same_text = row.as_ref().is_none_or(|row| row.text == self.line(place));
        let known = Arc::make_mut(&mut self.known);
        let Some(row) = row else {
            known.pvs[place] = GONE;
            return;
        };
        known.pvs[place] = row.pv;
        known.added[place] = row.added;
        known.policy[place] = row.policy;
        known.groups[place] = row.groups;
        known.units[place] = row.units;
        known.server[place] = row.server;
        known.protocol[place] = row.protocol;
        known.paused[place] = row.paused;
        if !is_same_text {
            let begin = known.starts[place] as usize;
            let end = known.starts.get(place + 1).map_or(known.text.len(), |end| *end as usize);
            let longer = row.text.len() as i64 - (end - begin) as i64;
            known.text.replace_range(begin..end, &row.text);
            known.starts[place + 1..].iter_mut().for_each(|start| *start = (i64::from(*start) + longer) as u32);
        }
    }

    /// Takes in who has added a PV, unless that is known: the newest line of the audit is read first.
    fn added_by(&mut self, place: usize, adder: u32) {
        if self.known.adder[place] == NONE {
            Arc::make_mut(&mut self.known).adder[place] = adder;
        }
    }

    /// Takes in how a PV fares.
    fn fare(&mut self, place: usize, brief: Option<Brief>, words: &mut Words, now: Timestamp) {
        let fares = Arc::make_mut(&mut self.fares);
        let served_by = brief.and_then(|brief| brief.server).map_or(NONE, |server| words.ioc(server));
        fares.ioc[place] = if served_by == NONE { self.known.server[place] } else { served_by };
        let Some(brief) = brief else {
            let is_paused = self.known.paused[place];
            fares.state[place] = if is_paused { Connection::Paused } else { Connection::Searching };
            fares.since[place] = self.known.added[place];
            (fares.last[place], fares.rate[place]) = (NEVER, f64::NAN);
            return;
        };
        fares.state[place] = brief.connection;
        fares.since[place] = brief.since.nanos();
        fares.last[place] = brief.last_sample.map_or(NEVER, Timestamp::nanos);
        fares.rate[place] = brief.first_connected.map_or(f64::NAN, |first| {
            let seconds = now.nanos().saturating_sub(first.nanos()) as f64 / 1e9;
            if seconds > 0.0 { brief.received as f64 / seconds } else { 0.0 }
        });
    }

    /// All PVs of it that are there, with their places.
    fn present(&self) -> Vec<(usize, PvId)> {
        (0..self.len()).filter_map(|row| Some((row, self.pv(row)?))).collect()
    }
}

impl Sizes {
    /// What is not known is no size.
    fn put(&mut self, place: usize, size: Option<&archive::PvSize>) {
        if place == self.bytes.len() {
            self.bytes.push(0);
            self.samples.push(0);
            self.last.push(NEVER);
        }
        self.bytes[place] = size.map_or(0, |size| size.bytes);
        self.samples[place] = size.map_or(0, |size| size.samples);
        self.last[place] = size.map_or(NEVER, |size| size.last.nanos());
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! Tables of PVs that tests make up.

    use super::*;

    /// A PV as a test has it.
    pub(crate) struct MadeUp {
        pub(crate) entry: PvEntry,
        pub(crate) aliases: Vec<PvName>,
        pub(crate) metadata: Option<Metadata>,
        pub(crate) brief: Option<Brief>,
    }

    /// A table of them in their order.
    pub(crate) fn table(pvs: impl IntoIterator<Item = MadeUp>, now: Timestamp) -> Table {
        let mut words = Words::default();
        let mut chunks: Vec<Arc<Chunk>> = Vec::new();
        for of in pvs {
            if chunks.last().is_none_or(|chunk| chunk.len() == CHUNK_ROWS) {
                chunks.push(Arc::default());
            }
            let row = Row::of(&mut words, &of.entry, &of.aliases, of.metadata.as_ref());
            let chunk = chunks.last_mut().expect("there is one by now");
            Arc::make_mut(chunk).push(row, of.brief, &mut words, now);
        }
        Table { number: 1, at: now, undescribed: 0, is_audit_unread: false, chunks, words: Arc::new(words) }
    }

    impl Table {
        /// Says who has added a PV.
        pub(crate) fn say_adder(&mut self, chunk: usize, row: usize, adder: &str) {
            let number = Arc::make_mut(&mut self.words).adders.number(Some(adder));
            Arc::make_mut(&mut self.chunks[chunk]).added_by(row, number);
        }

        /// Takes a PV out.
        pub(crate) fn take_out(&mut self, chunk: usize, row: usize) {
            Arc::make_mut(&mut self.chunks[chunk]).put(row, None);
        }
    }
}
