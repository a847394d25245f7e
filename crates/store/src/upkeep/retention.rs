//! Retention: what was recorded is taken away when its time has come, if there are rules that say so.
//!
//! A sample's time has come when the week to which its segment belongs has been over for as long as its PV is kept. When it has
//! come for all PVs of a segment, the segment goes as a whole; when for some of them, or for some fields of structures, the segment
//! is written anew without them. Each removal is one transaction of the catalogue, with a line of the audit; one of fields enters
//! gaps besides, as nothing else would say why structures lack them.
//!
//! What the archive keeps for itself is meant by no rule that does not name it: it tells of other PVs, and goes when the last of
//! these has gone.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use archive::{Action, AuditRecord, By, Glob, Keep, KeptFor, KeptPvs, LEDGER_PREFIX, PvId, WeekToGo};
use sample::{Element, TimeRange, Timestamp, ValueType};
use xxhash_rust::xxh3::Xxh3;

use crate::{
    Error,
    catalog::{FieldGap, Told},
    config::{Retention, Rule},
    engine::Engine,
    read::parts::Summaries,
    segment::{
        DirectoryRecord, Segment, Stream,
        manifest::{Level, Manifest},
        week,
    },
    upkeep::{
        compact::Compaction,
        field_rules::{FieldRules, PvOver, names_fields},
        output::Plan,
        trim::{Trimming, Trimmings},
    },
};

/// Where structures are is looked up in the tables of a segment, of which so many bytes are read at once.
const TABLES_BYTES: usize = 1 << 20;

/// So many fields are named in a line of the audit.
const FIELDS_TOLD: usize = 20;

/// How long PVs are kept of which that is said one by one, and which they are.
type Own = BTreeMap<Keep, Vec<PvId>>;

/// Which rules have come to their end for a week.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Expired {
    /// That of PVs that no rule names.
    others: bool,
    rules: Vec<bool>,
    /// What is said of single PVs, which goes before the rules: how long they are kept, and whether that is over.
    own: BTreeMap<Keep, bool>,
}

impl Expired {
    fn of(retention: &Retention, own: &Own, week: &str, now: Timestamp) -> Expired {
        let end = week::end(week);
        let over = |keep: Option<Duration>| keep.is_some_and(|keep| end.saturating_add(keep) <= now);
        let own_over = |keep: &Keep| match keep {
            Keep::Forever => (*keep, false),
            Keep::For(time) => (*keep, over(Some(*time))),
        };
        Expired {
            others: over(retention.keep),
            rules: retention.rules.iter().map(|rule| over(rule.keep)).collect(),
            own: own.keys().map(own_over).collect(),
        }
    }

    fn is_none(&self) -> bool {
        !self.others && !self.rules.contains(&true) && self.own.values().all(|over| !over)
    }

    fn is_all(&self) -> bool {
        self.others && !self.rules.contains(&false) && self.own.values().all(|over| *over)
    }

    /// Tells these rules and those of them that are over from all others; never 0.
    fn number(&self, retention: &Retention, own: &Own) -> u64 {
        let mut hash = Xxh3::new();
        for (rule, over) in retention.rules.iter().zip(&self.rules) {
            hash.update(format!("{:?} {over}\n", rule.pvs).as_bytes());
        }
        if retention.rules.iter().any(names_fields) {
            hash.update(b"fields\n"); // programs that knew no rules for fields have passed over them
        }
        hash.update(self.others.to_string().as_bytes());
        for (keep, pvs) in own {
            hash.update(format!("{keep:?} {:?} {}\n", self.own.get(keep), pvs.len()).as_bytes());
            pvs.iter().for_each(|pv| hash.update(&pv.0.to_le_bytes()));
        }
        hash.digest().max(1)
    }
}

fn rule_of(rules: &[Rule], name: &str) -> Option<usize> {
    rules.iter().position(|rule| Glob(&rule.pvs).fits(name))
}

/// The rule for a PV that the archive keeps for itself. Only a rule that begins as the names of all these do counts: none with a `*` there.
fn rule_of_own(rules: &[Rule], name: &str) -> Option<usize> {
    rules.iter().position(|rule| rule.pvs.starts_with(LEDGER_PREFIX) && Glob(&rule.pvs).fits(name))
}

/// What is taken out of a segment.
#[derive(Debug, Default)]
struct Taken {
    /// Whole samples.
    samples: u64,
    /// The names of fields.
    fields: Vec<String>,
    /// Where readers of these fields see that they were taken.
    gaps: Vec<FieldGap>,
}

impl Taken {
    fn samples(samples: u64) -> Taken {
        Taken { samples, ..Taken::default() }
    }

    /// The fields, as they are told behind the key of a segment.
    fn fields_told(&self) -> String {
        let told = self.fields.iter().take(FIELDS_TOLD).map(String::as_str).collect::<Vec<&str>>().join(", ");
        match self.fields.len() {
            0 => String::new(),
            few if few <= FIELDS_TOLD => format!(", the fields {told}"),
            many => format!(", the fields {told} and {} more", many - FIELDS_TOLD),
        }
    }
}

impl Engine {
    /// How long what there is is kept, in the order in which that is decided.
    pub(crate) fn kept(&self) -> Vec<KeptFor> {
        let Retention { keep, rules } = &self.config.retention;
        let own = self.registry().keeps().into_iter().map(|(keep, pvs)| KeptFor {
            pvs: KeptPvs::WithSetting(pvs.len()),
            keep: match keep {
                Keep::Forever => None,
                Keep::For(time) => Some(time),
            },
        });
        let rules = rules.iter().map(|rule| KeptFor { pvs: KeptPvs::Rule(rule.pvs.clone()), keep: rule.keep });
        own.chain(rules).chain([KeptFor { pvs: KeptPvs::Others, keep: *keep }]).collect()
    }

    /// The first week there is whose time, if it is kept for so long, is not over.
    pub(crate) fn next_to_go(&self, keep: Duration) -> Option<WeekToGo> {
        let now = self.alive();
        let weeks: BTreeSet<String> =
            self.snapshot().segments.iter().map(|segment| segment.manifest.folder().to_owned()).collect();
        weeks.into_iter().find_map(|week| {
            let at = week::end(&week).saturating_add(keep);
            (at > now).then_some(WeekToGo { week, at })
        })
    }

    /// Takes away what one segment has too much, if there is one.
    pub(crate) fn expire(&self, now: Timestamp, go_on: &dyn Fn() -> bool) -> Result<Compaction, Error> {
        let retention = &self.config.retention;
        if self.snapshot().segments.iter().all(|segment| segment.manifest.level < Level::Week) {
            return Ok(Compaction::Nothing); // and there is no need to look through all PVs
        }
        let own = self.registry().keeps();
        if retention.keep.is_none() && retention.rules.iter().all(|rule| rule.keep.is_none()) && own.is_empty() {
            return Ok(Compaction::Nothing);
        }
        // There may be 100,000 PVs of which it is said how long they are kept: they are looked at once a week, not for each segment.
        let mut of_week = (String::new(), Expired { others: false, rules: Vec::new(), own: BTreeMap::new() }, 0);
        for segment in self.snapshot().segments.iter() {
            let manifest = &segment.manifest;
            if of_week.0 != manifest.folder() {
                let expired = Expired::of(retention, &own, manifest.folder(), now);
                let number = expired.number(retention, &own);
                of_week = (manifest.folder().to_owned(), expired, number);
            }
            let (_, expired, number) = &of_week;
            if manifest.level < Level::Week || expired.is_none() || !self.places.reach(manifest) {
                continue;
            }
            if expired.is_all() && (segment.is_kept() || self.is_another(segment)) {
                continue;
            }
            if expired.is_all() {
                return self.take_away(segment, Vec::new(), &Taken::samples(manifest.samples), now);
            }
            if manifest.trimmed != *number && !segment.is_kept() {
                return self.trim_whole(segment, expired, *number, now, go_on);
            }
        }
        Ok(Compaction::Nothing)
    }

    /// Whether what lies in the place of a segment is something else, whose time may not be over. It stays, and is told once.
    fn is_another(&self, segment: &Segment) -> bool {
        let key = &segment.manifest.key;
        let Err(error @ Error::CorruptSegment { .. }) = segment.footer() else { return false };
        let is_missing = segment.is_missing();
        if !is_missing {
            segment.keep();
            self.counters.problem(format!("{key} is not removed though its time is over: {error}; run `pvark repair`"));
        }
        !is_missing
    }

    /// Takes away the PVs of a segment whose time has come; a damaged one stays as it is until all of it goes.
    fn trim_whole(
        &self,
        segment: &Arc<Segment>,
        expired: &Expired,
        number: u64,
        now: Timestamp,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Compaction, Error> {
        match self.trim(segment, expired, number, now, go_on) {
            Err(error @ (Error::CorruptBlock { .. } | Error::CorruptSegment { .. })) => {
                segment.keep();
                let key = &segment.manifest.key;
                self.counters
                    .problem(format!("{key} keeps samples whose time is over, because it is damaged: {error}"));
                Ok(Compaction::Done)
            }
            result => result,
        }
    }

    fn trim(
        &self,
        segment: &Arc<Segment>,
        expired: &Expired,
        number: u64,
        now: Timestamp,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Compaction, Error> {
        let (mut stays, mut goes, mut trimmings) = (0, 0, Trimmings::default());
        let mut tables = Stream::new(TABLES_BYTES);
        for record in segment.records()? {
            if !go_on() {
                return Ok(Compaction::Stopped);
            }
            if let Some(trimming) = self.trimming(segment, &record, &mut tables, expired)? {
                trimmings.insert(record.pv, trimming);
            } else {
                *(if self.is_expired(record.pv, expired) { &mut goes } else { &mut stays }) += record.samples;
            }
        }
        match (stays, goes) {
            (_, 0) if trimmings.is_empty() => {
                let trimmed = Manifest { trimmed: number, ..segment.manifest.clone() };
                self.replace_segments(std::slice::from_ref(segment), vec![trimmed], Told::default())
            }
            (0, _) if trimmings.is_empty() => self.take_away(segment, Vec::new(), &Taken::samples(goes), now),
            _ => {
                let leave_out = |pv| !trimmings.contains(pv) && self.is_expired(pv, expired);
                let (run, level) = (std::slice::from_ref(segment), segment.manifest.level);
                let plan = Plan { run, level, trimmed: number, leave_out: &leave_out, trimmings: &trimmings };
                let Some(written) = self.write_plan(&plan, go_on)? else { return Ok(Compaction::Stopped) };
                let taken = self.taken(goes, trimmings)?;
                self.take_away(segment, written, &taken, now)
            }
        }
    }

    /// How the structures of a PV are trimmed, if a rule for fields makes a difference in this segment.
    fn trimming(
        &self,
        segment: &Segment,
        record: &DirectoryRecord,
        tables: &mut Stream,
        expired: &Expired,
    ) -> Result<Option<Trimming>, Error> {
        let rules = &self.config.retention.rules;
        let is_apart = || {
            let registry = self.registry();
            registry.own().contains_key(&record.pv) || registry.keep_of(record.pv).is_some()
        };
        if !rules.iter().any(names_fields) || is_apart() {
            return Ok(None);
        }
        let Some(named) = self.named(record.pv) else { return Ok(None) };
        let pv_over = if self.is_expired(record.pv, expired) { PvOver::Yes } else { PvOver::No };
        let Some(of_pv) = FieldRules::of(rules, &expired.rules, named.name.as_str(), pv_over) else { return Ok(None) };
        let mut trimming = Trimming::new(of_pv);
        let structures = ValueType::scalar(Element::Structure);
        let entries = match segment.only(record)? {
            Some(only) => vec![only],
            None => segment.index_by(record, tables)?,
        };
        for entry in entries.iter().filter(|entry| entry.value_type == structures) {
            if trimming.matters(&segment.read(record.pv, entry)?) {
                return Ok(Some(trimming));
            }
        }
        Ok(None)
    }

    /// What was taken besides the samples of whole PVs.
    fn taken(&self, samples: u64, trimmings: Trimmings) -> Result<Taken, Error> {
        let mut taken = Taken::samples(samples);
        for (pv, trimming) in trimmings.into_inner() {
            taken.samples += trimming.gone;
            let name = self.named(pv).map_or_else(String::new, |named| named.name.to_string());
            for (path, of) in trimming.taken {
                taken.fields.push(format!("{name}.{path}"));
                let to = of.t1.saturating_add(Duration::from_nanos(1));
                let gap = FieldGap { pv, path, from: of.t0, to, samples: of.samples };
                taken.gaps.push(self.joined(gap)?);
            }
        }
        Ok(taken)
    }

    /// A gap of a field together with those that nothing parts from it: week after week goes, and is told as one.
    fn joined(&self, gap: FieldGap) -> Result<FieldGap, Error> {
        let known = self.catalog.field_gaps(gap.pv, Some(&gap.path))?;
        let is_empty = |t0, t1| match TimeRange::new(t0, t1) {
            Ok(between) => self.merged(gap.pv, between, Summaries::Unread).next().is_none(),
            Err(_) => true, // they overlap
        };
        let (before, behind) = known.split_at(known.partition_point(|other| other.from <= gap.from));
        let mut whole = gap.clone();
        for other in before.iter().rev() {
            if !is_empty(other.to, whole.from) {
                break;
            }
            whole.join(other);
        }
        for other in behind {
            if !is_empty(whole.to, other.from) {
                break;
            }
            whole.join(other);
        }
        Ok(whole)
    }

    fn is_expired(&self, pv: PvId, expired: &Expired) -> bool {
        let rules = &self.config.retention.rules;
        if let Some(own) = self.registry().own().get(&pv) {
            return rule_of_own(rules, own.name.as_str()).map_or(expired.is_all(), |rule| expired.rules[rule]);
        }
        let Some(named) = self.named(pv) else { return self.registry().is_purged(pv) };
        if let Some(keep) = self.registry().keep_of(pv) {
            return expired.own.get(&keep).copied().unwrap_or(false);
        }
        let rule = rule_of(rules, named.name.as_str());
        rule.map_or(expired.others, |rule| expired.rules[rule])
    }

    /// Puts what is left of a segment in its place, if anything is, and writes down what went.
    fn take_away(
        &self,
        segment: &Arc<Segment>,
        left: Vec<Manifest>,
        taken: &Taken,
        now: Timestamp,
    ) -> Result<Compaction, Error> {
        let (Manifest { key, bytes, .. }, samples) = (&segment.manifest, taken.samples);
        let bytes = bytes.saturating_sub(left.iter().map(|manifest| manifest.bytes).sum());
        let by = By::new("retention", now);
        let detail = format!("{key}{}", taken.fields_told());
        let audit = AuditRecord { detail, samples, bytes, ..AuditRecord::new(Action::Expired, &by) };
        let told = Told { audit: &[audit], field_gaps: &taken.gaps, ..Told::default() };
        let done = self.enter(std::slice::from_ref(segment), left, told)?;
        if done == Compaction::Done {
            let fields = taken.fields_told();
            tracing::info!("retention has taken {samples} samples and {bytes} bytes from {key}{fields}");
            self.counters.expired_segments.fetch_add(1, Relaxed);
            self.counters.expired_samples.fetch_add(samples, Relaxed);
            self.counters.expired_bytes.fetch_add(bytes, Relaxed);
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rules_that_name_it_mean_what_the_archive_keeps_for_itself() {
        let rule = |pvs: &str| Rule { pvs: pvs.to_owned(), keep: None };
        let rules = [rule("*"), rule("*:minute:*"), rule("l*"), rule("ledger:hour:*"), rule("ledger:*")];
        assert_eq!(rule_of_own(&rules, "ledger:minute:07"), Some(4));
        assert_eq!(rule_of_own(&rules, "ledger:hour:07"), Some(3));
        assert_eq!(rule_of_own(&rules[..3], "ledger:minute:07"), None);
    }

    #[test]
    fn a_week_expires_when_it_has_been_over_for_so_long_and_the_first_rule_decides() {
        let day = |days: u64| Some(Duration::from_secs(days * 86_400));
        let rule = |pvs: &str, keep| Rule { pvs: pvs.to_owned(), keep };
        let rules = vec![rule("A:KEEP", None), rule("A:*", day(7)), rule("A:B", day(1))];
        let retention = Retention { keep: day(30), rules };
        let at = |text| Timestamp::parse(text).unwrap();
        let own = Own::new();
        let of = |now| Expired::of(&retention, &own, "2026-W45", at(now));
        assert!(of("2026-11-09T23:59:59Z").is_none(), "the week ends with the 8th");
        let expired = of("2026-11-16T00:00:00Z");
        assert_eq!((expired.others, expired.rules.as_slice()), (false, [false, true, true].as_slice()));
        assert_eq!(rule_of(&retention.rules, "A:B"), Some(1));
        assert_eq!(rule_of(&retention.rules, "B"), None);
        let later = of("2027-11-16T00:00:00Z");
        assert!(later.others && !later.is_all(), "one is kept for ever");
        let own = Own::from([(Keep::For(Duration::from_secs(86_400)), vec![PvId(1)]), (Keep::Forever, vec![PvId(2)])]);
        let keep = Retention { keep: None, rules: Vec::new() };
        let one = Expired::of(&keep, &own, "2026-W45", at("2026-11-10T00:00:00Z"));
        assert_eq!(
            one.own.values().copied().collect::<Vec<_>>(),
            [false, true],
            "what is said of a PV goes before rules"
        );
        assert!(!one.is_none() && !one.is_all());
        let others = Own::from([(Keep::For(Duration::from_secs(86_400)), vec![PvId(3)])]);
        assert_ne!(one.number(&keep, &own), one.number(&keep, &others), "a segment is looked at again for other PVs");
        assert_ne!(later.number(&retention, &own), expired.number(&retention, &own));
    }
}
