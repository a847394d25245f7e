//! Extra fields: a PV with `fields = ["HIHI"]` brings `PV.HIHI` along, a PV of its own that is added, paused and removed with it.
//!
//! So a field has samples, gaps and a ledger as any PV, and is found under its name everywhere.

use std::collections::{HashMap, HashSet};

use archive::{FieldName, Method, Origin, PvEntry, PvName, PvSettings, PvState, Rules};

/// The name of a field of a PV; none if that would be too long, or the PV is itself a field.
pub(crate) fn name_of(owner: &PvName, field: &FieldName) -> Option<PvName> {
    let record = owner.as_str().strip_suffix(".VAL").unwrap_or(owner.as_str());
    PvName::new(&format!("{record}.{}", field.as_str())).ok()
}

/// The settings of a field, which are those of its PV where they concern it.
pub(crate) fn settings_of(owner: &PvSettings) -> PvSettings {
    let rules = owner.rules();
    let rules = Rules {
        groups: rules.groups.clone(),
        keep: rules.keep,
        copies: rules.copies,
        is_field: true,
        origin: Origin { policy: rules.origin.policy.clone(), ..Origin::default() },
        ..Rules::default()
    };
    PvSettings { method: Method::Monitor, rules: rules.shared(), ..owner.clone() }
}

/// PVs to be registered, and behind them their fields. Those that a PV has no longer are paused, so that they can still be read.
/// A PV of that name which somebody added stays as it is. Fields of a paused PV come with its resumption: until then they would be names
/// with nothing behind them.
pub(crate) fn with_fields(
    wanted: Vec<(PvName, PvSettings)>,
    find: impl Fn(&PvName) -> Option<PvEntry>,
) -> Vec<(PvName, PvSettings)> {
    let mut fields: Vec<(PvName, PvSettings)> = Vec::new();
    // All fields of a policy are the same settings, and are made once.
    let mut made: HashMap<*const Rules, PvSettings> = HashMap::new();
    for (owner, settings) in &wanted {
        let rules = settings.rules();
        let former = find(owner);
        let dropped = former.iter().flat_map(|former| &former.settings.rules().fields);
        let dropped = dropped.filter(|field| !rules.fields.contains(field));
        for (field, state) in
            rules.fields.iter().map(|field| (field, settings.state)).chain(dropped.map(|f| (f, PvState::Paused)))
        {
            let Some(name) = name_of(owner, field) else { continue };
            let known = find(&name);
            if known.as_ref().is_some_and(|known| !known.settings.rules().is_field) {
                continue;
            }
            if known.is_none() && state == PvState::Paused {
                continue;
            }
            let of_field = made.entry(std::ptr::from_ref(rules)).or_insert_with(|| settings_of(settings));
            let of_field = PvSettings { state, protocol: settings.protocol, ..of_field.clone() };
            if known.is_none_or(|known| known.settings != of_field) {
                fields.push((name, of_field));
            }
        }
    }
    if !fields.is_empty() {
        let by_name: HashSet<&PvName> = wanted.iter().map(|(owner, _)| owner).collect();
        fields.retain(|(name, _)| !by_name.contains(name));
    }
    wanted.into_iter().chain(fields).collect()
}

/// Those of the fields of a PV that are not in the archive yet, as they are to be there in a state.
pub(crate) fn missing_fields<'a>(
    owner: &'a PvEntry,
    state: PvState,
    find: impl Fn(&PvName) -> Option<PvEntry> + 'a,
) -> impl Iterator<Item = (PvName, PvSettings)> + 'a {
    let rules = owner.settings.rules();
    let names = rules.fields.iter().filter_map(|field| name_of(&owner.name, field));
    let news = names.filter(move |name| find(name).is_none());
    news.map(move |name| (name, PvSettings { state, ..settings_of(&owner.settings) }))
}

/// The fields of a PV that are in the archive.
pub(crate) fn fields_of(owner: &PvEntry, find: impl Fn(&PvName) -> Option<PvEntry>) -> Vec<PvEntry> {
    let names = owner.settings.rules().fields.iter().filter_map(|field| name_of(&owner.name, field));
    names.filter_map(|name| find(&name).filter(|entry| entry.settings.rules().is_field)).collect()
}

#[cfg(test)]
mod tests {
    use archive::{Protocol, PvId};
    use sample::Timestamp;

    use super::*;

    fn name(text: &str) -> PvName {
        PvName::new(text).unwrap()
    }

    fn settings(fields: &[&str]) -> PvSettings {
        let fields = fields.iter().map(|field| FieldName::new(field).unwrap()).collect();
        let rules = Rules { fields, ..Rules::default() };
        let plain = PvSettings::plain(Protocol::Pva, Method::Monitor, PvState::Active);
        PvSettings { rules: rules.shared(), ..plain }
    }

    fn entry(text: &str, settings: PvSettings) -> PvEntry {
        PvEntry { id: PvId(1), name: name(text), settings, added: Timestamp::default() }
    }

    #[test]
    fn a_pv_brings_its_fields_along_and_pauses_those_it_has_no_longer() {
        let of_field = |field| entry(field, settings_of(&settings(&[])));
        let former = [entry("A", settings(&["LOLO", "EGU"])), of_field("A.EGU"), of_field("A.LOLO")];
        let find = |name: &PvName| former.iter().find(|entry| entry.name == *name).cloned();
        let all = with_fields(vec![(name("A"), settings(&["HIHI", "EGU"]))], find);
        let told: Vec<(&str, PvState)> = all.iter().map(|(name, of)| (name.as_str(), of.state)).collect();
        let expected = [("A", PvState::Active), ("A.HIHI", PvState::Active), ("A.LOLO", PvState::Paused)];
        assert_eq!(told, expected, "EGU stands as it is to stand");
        assert!(all[1].1.rules().is_field && all[1].1.protocol == Protocol::Pva);
        let owner = entry("A", settings(&["HIHI", "EGU"]));
        assert_eq!(fields_of(&owner, find).len(), 1);
    }

    #[test]
    fn a_paused_pv_brings_no_names_with_nothing_behind_them() {
        let paused = PvSettings { state: PvState::Paused, ..settings(&["HIHI"]) };
        assert_eq!(with_fields(vec![(name("A"), paused.clone())], |_| None).len(), 1);
        let known = entry("A.HIHI", PvSettings { state: PvState::Paused, ..settings_of(&paused) });
        let find = |wanted: &PvName| (*wanted == known.name).then(|| known.clone());
        let owner = entry("A", PvSettings { state: PvState::Paused, ..settings(&["HIHI", "LOLO"]) });
        let missing: Vec<_> = missing_fields(&owner, PvState::Active, find).collect();
        assert_eq!(missing.len(), 1, "one of the two is there");
        assert_eq!((missing[0].0.as_str(), missing[0].1.state), ("A.LOLO", PvState::Active));
        assert!(missing[0].1.rules().is_field);
    }

    #[test]
    fn what_somebody_added_under_the_name_of_a_field_stays() {
        let find = |wanted: &PvName| (*wanted == name("A.HIHI")).then(|| entry("A.HIHI", settings(&[])));
        assert_eq!(with_fields(vec![(name("A"), settings(&["HIHI"]))], find).len(), 1);
        let both = vec![(name("A"), settings(&["LOLO"])), (name("A.LOLO"), settings(&[]))];
        assert_eq!(with_fields(both, |_| None).len(), 2);
        assert_eq!(with_fields(vec![(name("A.VAL"), settings(&["LOLO"]))], |_| None)[1].0.as_str(), "A.LOLO");
    }
}
