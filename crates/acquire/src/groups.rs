//! Groups while the archiver runs: what their switches say, and which PVs are disabled by it.
//!
//! A switch is heard by a subscription of its own, whether or not its PV is archived. One that has not been heard says
//! nothing, and one whose IOC has gone goes on saying what it said last: a PV is rather recorded than not.

use std::collections::{BTreeMap, HashMap};

use archive::{Group, GroupStatus, Keeper, Protocol, PvEntry, PvName, RuleName, Sense, Switch};
use sample::Value;

/// A switch to be subscribed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listening {
    pub(crate) number: u32,
    pub(crate) pv: PvName,
    pub(crate) protocol: Option<Protocol>,
}

#[derive(Debug)]
struct Heard {
    number: u32,
    switch: Switch,
    /// Whether it disables the group, once it was heard.
    disables: Option<bool>,
}

/// All groups that have switches.
#[derive(Debug, Default)]
pub(crate) struct SwitchedGroups {
    by_name: BTreeMap<RuleName, (Keeper, Vec<Heard>)>,
    /// Which group a switch belongs to, by its number.
    by_switch: HashMap<u32, RuleName>,
    next_number: u32,
}

impl SwitchedGroups {
    /// Puts a group in place of the one of its name. Switches that stay keep what they said. Gives those to be subscribed to
    /// and the numbers of those that are not needed any more.
    pub(crate) fn set(&mut self, group: &Group, keeper: Keeper) -> (Vec<Listening>, Vec<u32>) {
        let mut former = self.by_name.remove(&group.name).map(|(_, heard)| heard).unwrap_or_default();
        let (mut all, mut new) = (Vec::new(), Vec::new());
        for switch in &group.switches {
            if let Some(index) = former.iter().position(|heard| heard.switch == *switch) {
                all.push(former.swap_remove(index));
                continue;
            }
            let number = self.next_number;
            self.next_number += 1;
            self.by_switch.insert(number, group.name.clone());
            new.push(Listening { number, pv: switch.pv.clone(), protocol: switch.protocol });
            all.push(Heard { number, switch: switch.clone(), disables: None });
        }
        self.by_name.insert(group.name.clone(), (keeper, all));
        (new, self.forget(former))
    }

    /// Takes a group out, which is then always enabled. Gives the numbers of its switches.
    pub(crate) fn remove(&mut self, name: &RuleName) -> Vec<u32> {
        let heard = self.by_name.remove(name).map(|(_, heard)| heard).unwrap_or_default();
        self.forget(heard)
    }

    fn forget(&mut self, switches: Vec<Heard>) -> Vec<u32> {
        let numbers: Vec<u32> = switches.into_iter().map(|heard| heard.number).collect();
        numbers.iter().for_each(|number| _ = self.by_switch.remove(number));
        numbers
    }

    /// A switch has a value. Gives whether its group stands otherwise now.
    pub(crate) fn hear(&mut self, number: u32, value: &Value) -> bool {
        let group = self.by_switch.get(&number).and_then(|name| self.by_name.get_mut(name));
        let Some((_, all)) = group else { return false };
        let Some(index) = all.iter().position(|heard| heard.number == number) else { return false };
        let before = all.iter().any(|heard| heard.disables == Some(true));
        all[index].disables = Some(disables(all[index].switch.sense, value));
        before != all.iter().any(|heard| heard.disables == Some(true))
    }

    /// Whether a PV is disabled: it is in groups, all of them are disabled, and it is no switch of one of them.
    pub(crate) fn disable(&self, entry: &PvEntry) -> bool {
        let groups = &entry.settings.rules().groups;
        let disables = |name: &RuleName| {
            let Some((_, all)) = self.by_name.get(name) else { return false };
            let is_switch = all.iter().any(|heard| heard.switch.pv == entry.name);
            !is_switch && all.iter().any(|heard| heard.disables == Some(true))
        };
        !groups.is_empty() && groups.iter().all(disables)
    }

    /// Who says that there is a group of that name, if anybody does.
    pub(crate) fn keeper(&self, name: &RuleName) -> Option<Keeper> {
        self.by_name.get(name).map(|(keeper, _)| *keeper)
    }

    pub(crate) fn status(&self) -> Vec<GroupStatus> {
        self.by_name.keys().filter_map(|name| self.status_of(name)).collect()
    }

    pub(crate) fn status_of(&self, name: &RuleName) -> Option<GroupStatus> {
        let (keeper, all) = self.by_name.get(name)?;
        let names = |disables: Option<bool>| {
            let those = all.iter().filter(|heard| heard.disables == disables);
            those.map(|heard| heard.switch.pv.clone()).collect()
        };
        let switches = all.iter().map(|heard| heard.switch.clone()).collect();
        Some(GroupStatus {
            group: Group { name: name.clone(), switches },
            keeper: *keeper,
            disabled_by: names(Some(true)),
            unheard: names(None),
        })
    }
}

/// Of an array the first element counts, of a text whether there is any.
fn disables(sense: Sense, value: &Value) -> bool {
    let number = match value {
        Value::String(text) => f64::from(u8::from(!text.is_empty())),
        Value::Bool(is_on) => f64::from(u8::from(*is_on)),
        Value::Enum(index) => f64::from(*index),
        Value::Array(elements) if elements.is_empty() => 0.0,
        Value::Array(elements) => return disables(sense, &elements.get(0)),
        value => value.as_f64().unwrap_or(0.0),
    };
    match sense {
        Sense::Enables => number == 0.0,
        Sense::Disables => number > 0.0,
    }
}

#[cfg(test)]
mod tests {
    use archive::{Method, PvId, PvSettings, PvState, Rules};
    use sample::{Column, Timestamp};

    use super::*;

    fn rule(name: &str) -> RuleName {
        RuleName::new(name).unwrap()
    }

    fn group(name: &str, switches: &[(&str, Sense)]) -> Group {
        let switch =
            |(pv, sense): &(&str, Sense)| Switch { pv: PvName::new(pv).unwrap(), protocol: None, sense: *sense };
        Group { name: rule(name), switches: switches.iter().map(switch).collect() }
    }

    fn entry(name: &str, groups: &[&str]) -> PvEntry {
        let rules = Rules { groups: groups.iter().map(|name| rule(name)).collect(), ..Rules::default() };
        let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
        let settings = PvSettings { rules: rules.shared(), ..settings };
        PvEntry { id: PvId(1), name: PvName::new(name).unwrap(), settings, added: Timestamp::default() }
    }

    #[test]
    fn a_pv_is_disabled_when_all_its_groups_are() {
        let mut groups = SwitchedGroups::default();
        let (new, gone) = groups.set(&group("a", &[("SA", Sense::Enables)]), Keeper::Archive);
        assert_eq!((new[0].number, new[0].pv.as_str(), gone.len()), (0, "SA", 0));
        groups.set(&group("b", &[("SB", Sense::Disables), ("SC", Sense::Disables)]), Keeper::Archive);
        let both = entry("PV", &["a", "b"]);
        assert!(!groups.disable(&both), "nobody was heard yet");
        assert!(groups.hear(0, &Value::I32(0)) && !groups.hear(0, &Value::F64(-0.0)), "it was disabled already");
        assert!(!groups.disable(&both) && groups.disable(&entry("PV", &["a"])));
        assert!(groups.hear(2, &Value::Enum(1)));
        assert!(groups.disable(&both) && !groups.disable(&entry("PV", &[])) && !groups.disable(&entry("PV", &["x"])));
        assert!(!groups.disable(&entry("SC", &["b"])), "what switches a group is recorded");
        assert_eq!(groups.status()[1].disabled_by, [PvName::new("SC").unwrap()]);
        assert_eq!(groups.status()[1].unheard, [PvName::new("SB").unwrap()]);
        assert_eq!(groups.remove(&rule("b")), [1, 2]);
        assert!(!groups.disable(&both));
    }

    #[test]
    fn switches_that_stay_keep_what_they_said() {
        let mut groups = SwitchedGroups::default();
        groups.set(&group("a", &[("S", Sense::Enables), ("T", Sense::Enables)]), Keeper::Config);
        assert!(groups.hear(0, &Value::I32(0)));
        let (new, gone) = groups.set(&group("a", &[("S", Sense::Enables), ("U", Sense::Enables)]), Keeper::Archive);
        assert_eq!((new[0].number, gone), (2, vec![1]));
        assert!(groups.disable(&entry("PV", &["a"])));
        assert!(!groups.hear(1, &Value::I32(0)), "T is heard no more");
    }

    #[test]
    fn values_of_every_kind_switch() {
        for (sense, value, expected) in [
            (Sense::Disables, Value::F64(0.5), true),
            (Sense::Disables, Value::F64(-1.0), false),
            (Sense::Disables, Value::Enum(0), false),
            (Sense::Disables, Value::String("x".into()), true),
            (Sense::Disables, Value::Array(Column::I32(vec![2, 0])), true),
            (Sense::Disables, Value::Array(Column::I32(vec![])), false),
            (Sense::Enables, Value::F64(-1.0), false),
            (Sense::Enables, Value::Bool(false), true),
            (Sense::Enables, Value::String("".into()), true),
            (Sense::Enables, Value::Array(Column::I32(vec![])), true),
        ] {
            assert_eq!(disables(sense, &value), expected, "{sense:?} {value:?}");
        }
    }
}
