//! The scrub: reads all segments in the background, slowly and for ever, so that damage is found while there is still a backup
//! without it. It remembers how far it has come; what it finds is told once, as a problem.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use archive::ScrubHealth;
use sample::Timestamp;

use crate::{
    Error, Scrub,
    catalog::copy::read_file,
    engine::Engine,
    segment::{DirectoryRecord, LevelsCheck, Segment, Table},
    upkeep::stop::Stop,
};

/// Where it remembers how far it has come: the last key, its bytes so far, when the last whole pass ended, what it found.
const STATE: &str = "scrub.state";
/// So long it waits when there is nothing to read, or a segment cannot be reached.
const IDLE: Duration = Duration::from_secs(10);
/// It holds a segment that was replaced no longer than this.
const LET_GO: Duration = Duration::from_millis(500);
/// Shorter waits are gathered.
const WAIT_MIN: Duration = Duration::from_millis(20);

/// Runs until it is told to stop.
pub(crate) fn run(engine: &Engine, stop: &Stop) {
    if engine.config.scrub == Scrub::Off {
        return;
    }
    let mut pass = Pass { engine, stop, health: remembered(engine), owed: Duration::ZERO };
    pass.publish();
    while stop.wait(Duration::ZERO) {
        if engine.home.is_away() {
            stop.wait(IDLE);
        } else {
            pass.next();
        }
    }
}

/// A pass over all segments, under way.
struct Pass<'a> {
    engine: &'a Engine,
    stop: &'a Stop,
    health: ScrubHealth,
    /// What is still to be waited for what was read.
    owed: Duration,
}

impl Pass<'_> {
    /// Reads the next segment behind the last one, or ends the pass.
    fn next(&mut self) {
        let snapshot = self.engine.snapshot();
        self.health.bytes_total = snapshot.segments.iter().map(|segment| segment.manifest.bytes).sum();
        let behind = snapshot.segments.iter().filter(|segment| segment.manifest.key > self.health.position);
        let next = behind.min_by(|a, b| a.manifest.key.cmp(&b.manifest.key)).cloned();
        drop(snapshot);
        match next {
            Some(segment) => {
                if self.engine.places.reach(&segment.manifest) && !self.segment(&segment) {
                    return; // stopped, or another one took its place: what is there now is read from its beginning
                }
                self.health.position.clone_from(&segment.manifest.key);
                self.health.bytes += segment.manifest.bytes;
                self.engine.counters.scrubbed_segments.fetch_add(1, Relaxed);
                self.publish();
                self.remember();
            }
            None => {
                if self.health.bytes > 0 {
                    self.health.last_pass = Some(self.engine.alive());
                }
                self.health.position.clear();
                self.health.bytes = 0;
                self.publish();
                self.remember();
                self.stop.wait(IDLE);
            }
        }
    }

    /// Reads and verifies all of a segment, and makes anew what was made of its samples; false if it did not come to the end.
    fn segment(&mut self, segment: &Arc<Segment>) -> bool {
        let found = segment.header().and_then(|_| {
            segment.names()?;
            segment.records()
        });
        let Some(records) = self.good(found) else { return true };
        for record in records {
            let Some(tables) = self.good(segment.tables(&record, Table::Index, Table::Levels)) else { continue };
            let entries = self.good(tables.index()).unwrap_or_default();
            let summaries = self.good(tables.summaries(&entries)).unwrap_or_default();
            let mut levels = self.good(tables.levels_check());
            drop(tables);
            for (index, entry) in entries.iter().enumerate() {
                match self.good(segment.read(record.pv, entry)) {
                    Some(batch) => {
                        levels.iter_mut().for_each(|levels| levels.add(&batch));
                        let summed_up = segment.is_summed_up(record.pv, entry, &batch, summaries.get(index));
                        if self.good(summed_up) == Some(false) {
                            self.wrong(segment, &record, "the summary of a block");
                        }
                    }
                    None => levels = None, // what it held is not known, and so neither what the rows should be
                }
                if !self.wait_for(u64::from(entry.len), segment) {
                    return false;
                }
            }
            for width in levels.map(LevelsCheck::finish).unwrap_or_default() {
                self.wrong(segment, &record, &format!("the level of {} s", width / 1_000_000_000));
            }
        }
        true
    }

    /// What was made of samples says something else than they do.
    fn wrong(&mut self, segment: &Segment, record: &DirectoryRecord, what: &str) {
        let (key, pv) = (&segment.manifest.key, record.pv.0);
        self.finding(&format!("the segment {key}: {what} of PV {pv} is not that of its samples"));
    }

    fn finding(&mut self, finding: &str) {
        if self.engine.is_away() {
            return; // it is the folder that is damaged, if anything
        }
        self.health.findings += 1;
        self.engine.counters.problem(format!("found while scrubbing: {finding}; run `pvark check`"));
    }

    /// What was read, if it is whole; if not, it is told.
    fn good<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        match result {
            Ok(good) => Some(good),
            Err(error) => {
                self.finding(&error.to_string());
                None
            }
        }
    }

    /// Waits as long as so many bytes may take; false if it was told to stop, or the segment was replaced, whose room is not free before
    /// this lets go of it.
    fn wait_for(&mut self, bytes: u64, segment: &Segment) -> bool {
        let per_byte = match self.engine.config.scrub {
            Scrub::Off => 0.0,
            Scrub::Rate(bytes_per_second) => 1.0 / bytes_per_second.max(1) as f64,
            Scrub::Pass(time) => time.as_secs_f64() / self.health.bytes_total.max(1) as f64,
        };
        self.owed += Duration::from_secs_f64(per_byte * bytes as f64);
        let mut left = if self.owed < WAIT_MIN { Duration::ZERO } else { std::mem::take(&mut self.owed) };
        loop {
            let wait = left.min(LET_GO);
            if !self.stop.wait(wait) || segment.is_replaced() {
                return false;
            }
            left -= wait;
            if left.is_zero() {
                return true;
            }
        }
    }

    fn publish(&self) {
        *self.engine.counters.scrub.lock().expect("no holder of this lock panics") = self.health.clone();
    }

    /// A state that is lost only makes the pass begin anew.
    fn remember(&self) {
        let ScrubHealth { position, bytes, last_pass, findings, .. } = &self.health;
        let last_pass = last_pass.map_or(0, Timestamp::nanos);
        let text = format!("{bytes} {last_pass} {findings} {position}\n");
        let disk = &self.engine.disk;
        let written = disk.set_len(STATE, 0).and_then(|()| disk.write_at(STATE, 0, text.as_bytes()));
        if let Err(error) = written {
            tracing::warn!("cannot remember how far the scrub has come: {error}");
        }
    }
}

/// How far an earlier run had come; nothing if that cannot be read.
fn remembered(engine: &Engine) -> ScrubHealth {
    let text = read_file(&*engine.disk, STATE).ok().flatten().unwrap_or_default();
    let text = String::from_utf8(text).unwrap_or_default();
    let words: Vec<&str> = text.trim_end_matches('\n').splitn(4, ' ').collect();
    let [bytes, last_pass, findings, position] = words[..] else { return ScrubHealth::default() };
    let (Ok(bytes), Ok(last_pass), Ok(findings)) = (bytes.parse(), last_pass.parse::<i64>(), findings.parse()) else {
        return ScrubHealth::default();
    };
    let last_pass = (last_pass != 0).then(|| Timestamp::from_nanos(last_pass));
    ScrubHealth { position: position.to_owned(), bytes, bytes_total: 0, last_pass, findings }
}
