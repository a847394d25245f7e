//! History: the lines of the audit that somebody looks for, by PV, by who, by what was done and by when. What was done to PVs that whoever
//! asks does not see is left out.

use std::collections::{HashMap, HashSet};

use archive::{Action, AuditRecord, PvId, PvName};
use sample::Timestamp;

use crate::{ask::Ask, names::Pattern, refusal::Refusal};

/// How many lines of the audit are read at once.
const LINES_AT_ONCE: usize = 4096;
/// The most lines that one answer searches: an audit is never shortened, and a search for what is not there would read all of it.
const LOOKED_AT_MAX: usize = 200_000;
/// What the number of a PV takes that fits.
const PV_BYTES: usize = 16;

/// Which lines of the audit are wanted.
pub struct AuditWanted {
    /// Those with lower numbers.
    pub before: u64,
    /// No more than so many.
    pub limit: usize,
    /// Those about PVs that it fits, by their names now or then.
    pub pv: Option<Pattern>,
    /// Those of whom this is a part, in any case: who that was found to be, or what they call themselves.
    pub by: Option<String>,
    /// Those in which this was done.
    pub action: Option<Action>,
    /// Those of this time or later.
    pub from: Option<Timestamp>,
    /// Those from before this time.
    pub to: Option<Timestamp>,
}

impl AuditWanted {
    /// The newest lines, whatever they are about.
    pub fn newest(limit: usize) -> AuditWanted {
        AuditWanted { before: u64::MAX, limit, pv: None, by: None, action: None, from: None, to: None }
    }

    fn is_narrowed(&self) -> bool {
        self.pv.is_some() || self.by.is_some() || self.action.is_some() || self.from.is_some() || self.to.is_some()
    }
}

/// Lines of the audit, the newest first.
pub struct AuditPage {
    /// The lines.
    pub lines: Vec<AuditRecord>,
    /// Below which number it goes on; none where nothing older is left.
    pub next: Option<u64>,
}

/// What lines are looked at for.
struct Sought<'w> {
    wanted: &'w AuditWanted,
    by: Option<String>,
    /// The PVs that the pattern fits, those included that were removed.
    pvs: HashSet<PvId>,
}

impl Sought<'_> {
    fn fits(&self, line: &AuditRecord) -> bool {
        let AuditWanted { pv, action, from, to, .. } = self.wanted;
        action.is_none_or(|action| action == line.action)
            && from.is_none_or(|from| line.by.at >= from)
            && to.is_none_or(|to| line.by.at < to)
            && self.by.as_ref().is_none_or(|by| line.by.who.to_string().to_lowercase().contains(by))
            && pv.as_ref().is_none_or(|pattern| self.is_about(line, pattern))
    }

    /// Whether it was done to such a PV, or names one: what a PV was renamed to stands in the detail.
    fn is_about(&self, line: &AuditRecord, pattern: &Pattern) -> bool {
        line.each_pv().any(|pv| self.pvs.contains(&pv))
            || (!line.name.is_empty() && pattern.fits(&line.name))
            || (tells_a_name(line.action) && pattern.fits(&line.detail))
    }
}

/// Whether the detail of a line is the name of a PV.
fn tells_a_name(action: Action) -> bool {
    matches!(action, Action::Renamed | Action::AliasAdded | Action::AliasRemoved)
}

impl Ask {
    /// Lines of the audit, the newest first. A line about no single PV may name any of them, so it is told only to those who see all.
    pub fn audit(&self, wanted: &AuditWanted) -> Result<AuditPage, Refusal> {
        let directory = &self.listed().behind.directory;
        if self.sees_all() && !wanted.is_narrowed() {
            let lines = directory.audit(wanted.before, wanted.limit)?;
            let next = lines.last().map(|line| line.number).filter(|number| *number > 0 && lines.len() == wanted.limit);
            return Ok(AuditPage { lines, next });
        }
        // One that is gone altogether has no name but that in the audit.
        let removed: HashMap<PvId, PvName> =
            directory.removed().into_iter().map(|removed| (removed.entry.id, removed.entry.name)).collect();
        let name_now = |pv| directory.entry(pv).map(|entry| entry.name).or_else(|| removed.get(&pv).cloned());
        let is_seen = |pv| name_now(pv).is_none_or(|name| self.sees_name(name.as_str()));
        let sought = self.sought(wanted, &removed)?;
        let (mut lines, mut before, mut looked_at) = (Vec::new(), wanted.before, 0);
        while lines.len() < wanted.limit && looked_at < LOOKED_AT_MAX {
            self.go_on()?;
            let some = directory.audit(before, LINES_AT_ONCE)?;
            if some.is_empty() {
                return Ok(AuditPage { lines, next: None });
            }
            looked_at += some.len();
            for line in some {
                before = line.number;
                if sought.fits(&line) {
                    lines.extend(if self.sees_all() { Some(line) } else { self.seen_line(line, is_seen) });
                }
                if lines.len() == wanted.limit {
                    break;
                }
            }
        }
        Ok(AuditPage { lines, next: (before > 0).then_some(before) })
    }

    fn sought<'w>(&self, wanted: &'w AuditWanted, removed: &HashMap<PvId, PvName>) -> Result<Sought<'w>, Refusal> {
        let mut pvs = HashSet::new();
        if let Some(pattern) = &wanted.pv {
            let names = self.listed().behind.directory.names();
            let found = pattern.among(&names, self)?;
            self.lease.grow_by(found.len() + removed.len(), PV_BYTES)?;
            pvs.extend(found.into_iter().map(|named| named.pv));
            pvs.extend(removed.iter().filter(|(_, name)| pattern.fits(name.as_str())).map(|(pv, _)| *pv));
        }
        Ok(Sought { wanted, by: wanted.by.as_ref().map(|by| by.to_lowercase()), pvs })
    }

    /// A line that may be seen, without what may not. A PV may have been called otherwise when it was written.
    fn seen_line(&self, mut line: AuditRecord, is_seen: impl Fn(PvId) -> bool) -> Option<AuditRecord> {
        if !line.pvs.is_empty() {
            return line.pvs.iter().all(|pv| is_seen(*pv)).then_some(line);
        }
        if !is_seen(line.pv?) || !self.sees_name(&line.name) {
            return None;
        }
        if tells_a_name(line.action) && !self.sees_name(&line.detail) {
            line.detail.clear();
        }
        Some(line)
    }
}
