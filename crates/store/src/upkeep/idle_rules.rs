//! Idle rules: rules of retention for a field that its PV does not have, of which nothing ever comes. They are told, so that nobody
//! waits for room that is never freed.

use archive::{Glob, PvEntry, structure::paths};
use sample::{Timestamp, Value};

use crate::{
    config::Rule,
    engine::Engine,
    upkeep::field_rules::{is_part, names_fields},
};

impl Engine {
    /// A sentence for each rule that names one field of one PV and means nothing. Whether patterns do nobody can know.
    pub(crate) fn idle_rules(&self) -> Vec<String> {
        let rules = &self.config.retention.rules;
        let exact = |rule: &&Rule| names_fields(rule) && !rule.pvs.contains(['*', '?']);
        let told = rules.iter().enumerate().filter(|(_, rule)| exact(rule)).filter_map(|(place, rule)| {
            let why = self.why_idle(&rule.pvs, &rules[..place])?;
            Some(format!("the rule of retention for {:?} means nothing: {why}", rule.pvs))
        });
        told.collect()
    }

    fn why_idle(&self, name: &str, before: &[Rule]) -> Option<String> {
        let (PvEntry { id, name: pv, settings, .. }, path) = {
            let registry = self.registry();
            if registry.find(name).is_some() {
                return None; // a PV may have a point in its name
            }
            let mut parts = name.match_indices('.').map(|(dot, _)| (&name[..dot], &name[dot + 1..]));
            parts.find_map(|(pv, path)| Some((registry.find(pv)?.clone(), path)))?
        };
        if !name.starts_with(&format!("{pv}.")) {
            return Some(format!("rules go by names, not by aliases, and this is {pv}.{path}"));
        }
        if settings.rules().keep.is_some() {
            return Some(format!("it is said of {pv} itself how long it is kept"));
        }
        if let Some(rule) = before.iter().find(|rule| Glob(&rule.pvs).fits(pv.as_str())) {
            return Some(format!("the rule for {:?} stands before it and decides for all of {pv}", rule.pvs));
        }
        match self.last_before(id, Timestamp::MAX).ok()??.value {
            Value::Structure(bytes) => {
                let is_there = paths(&bytes).iter().any(|(known, _)| is_part(known, path));
                let was_there =
                    || self.catalog.field_gaps(id, None).map(|gaps| gaps.iter().any(|g| is_part(&g.path, path)));
                let is_known = is_there || was_there().unwrap_or(true);
                (!is_known).then(|| format!("the newest value of {pv} has no field {path}"))
            }
            other => Some(format!("the newest value of {pv} is no structure but {}", other.value_type())),
        }
    }
}
