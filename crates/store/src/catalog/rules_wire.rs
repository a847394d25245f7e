//! How the rules of a PV and the groups stand in the catalogue: CBOR maps with numbered keys, what is usual left out.

use std::{sync::Arc, time::Duration};

use archive::{
    Changes, Deadband, FieldName, FieldPath, Group, Keep, Origin, Pipeline, Protocol, PvName, RateCap, RuleName, Rules,
    Sense, Switch,
};
use minicbor::{Decode, Encode};

/// Bits of `flags`.
const POLICY_BY_HAND: u32 = 1;
const PROTOCOL_BY_HAND: u32 = 2;
const SAMPLING_BY_HAND: u32 = 4;
const IS_FIELD: u32 = 8;
const PIPELINE: u32 = 16;

#[derive(Encode, Decode, Default)]
#[cbor(map)]
pub(super) struct RulesRow {
    #[n(0)]
    deadband: Option<f64>,
    #[n(1)]
    deadband_percent: Option<f64>,
    #[n(2)]
    rate: Option<f64>,
    #[n(3)]
    burst: Option<u32>,
    #[n(4)]
    changes: Option<String>,
    #[n(5)]
    fields: Option<Vec<String>>,
    #[n(6)]
    groups: Option<Vec<String>>,
    /// Seconds; 0 is for ever.
    #[n(7)]
    keep: Option<u64>,
    #[n(8)]
    policy: Option<String>,
    #[n(9)]
    flags: Option<u32>,
    #[n(10)]
    only: Option<Vec<String>>,
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct GroupRow {
    #[n(0)]
    switches: Vec<SwitchRow>,
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct SwitchRow {
    #[n(0)]
    pv: String,
    #[n(1)]
    protocol: Option<String>,
    #[n(2)]
    sense: String,
}

pub(super) fn rules_row(rules: &Rules) -> RulesRow {
    let (deadband, deadband_percent) = match rules.deadband {
        None => (None, None),
        Some(Deadband::Absolute(width)) => (Some(width), None),
        Some(Deadband::Percent(width)) => (None, Some(width)),
    };
    let flags = [
        (rules.origin.policy_by_hand, POLICY_BY_HAND),
        (rules.origin.protocol_by_hand, PROTOCOL_BY_HAND),
        (rules.origin.sampling_by_hand, SAMPLING_BY_HAND),
        (rules.is_field, IS_FIELD),
        (rules.pipeline == Pipeline::On, PIPELINE),
    ];
    let flags: u32 = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum();
    let texts = |names: Vec<&str>| (!names.is_empty()).then(|| names.into_iter().map(str::to_owned).collect());
    RulesRow {
        deadband,
        deadband_percent,
        rate: rules.rate_cap.map(|cap| cap.per_second()),
        burst: rules.rate_cap.map(|cap| cap.burst()),
        changes: (rules.changes != Changes::default()).then(|| rules.changes.name().to_owned()),
        fields: texts(rules.fields.iter().map(FieldName::as_str).collect()),
        groups: texts(rules.groups.iter().map(RuleName::as_str).collect()),
        keep: rules.keep.map(|keep| match keep {
            Keep::Forever => 0,
            Keep::For(time) => time.as_secs().max(1),
        }),
        policy: rules.origin.policy.as_ref().map(ToString::to_string),
        flags: (flags != 0).then_some(flags),
        only: texts(rules.only.iter().map(FieldPath::as_str).collect()),
    }
}

/// None if it makes no sense.
pub(super) fn rules(row: RulesRow) -> Option<Arc<Rules>> {
    let flags = row.flags.unwrap_or(0);
    let deadband = match (row.deadband, row.deadband_percent) {
        (None, None) => None,
        (Some(width), None) => Some(Deadband::absolute(width).ok()?),
        (_, Some(width)) => Some(Deadband::percent(width).ok()?),
    };
    let rate_cap = match row.rate {
        None => None,
        Some(rate) => Some(RateCap::new(rate, row.burst?).ok()?),
    };
    let fields = row.fields.unwrap_or_default();
    let groups = row.groups.unwrap_or_default();
    let only = row.only.unwrap_or_default();
    Some(Arc::new(Rules {
        deadband,
        rate_cap,
        changes: row.changes.map_or(Some(Changes::default()), |name| Changes::from_name(&name))?,
        pipeline: if flags & PIPELINE == 0 { Pipeline::Off } else { Pipeline::On },
        fields: fields.iter().map(|name| FieldName::new(name).ok()).collect::<Option<_>>()?,
        only: only.iter().map(|path| FieldPath::new(path).ok()).collect::<Option<_>>()?,
        groups: groups.iter().map(|name| RuleName::new(name).ok()).collect::<Option<_>>()?,
        keep: row.keep.map(|seconds| match seconds {
            0 => Keep::Forever,
            seconds => Keep::For(Duration::from_secs(seconds)),
        }),
        is_field: flags & IS_FIELD != 0,
        origin: Origin {
            policy: match row.policy {
                None => None,
                Some(name) => Some(RuleName::new(&name).ok()?),
            },
            policy_by_hand: flags & POLICY_BY_HAND != 0,
            protocol_by_hand: flags & PROTOCOL_BY_HAND != 0,
            sampling_by_hand: flags & SAMPLING_BY_HAND != 0,
        },
    }))
}

pub(super) fn group_bytes(group: &Group) -> Vec<u8> {
    let switch = |switch: &Switch| SwitchRow {
        pv: switch.pv.to_string(),
        protocol: switch.protocol.map(|protocol| protocol.name().to_owned()),
        sense: switch.sense.name().to_owned(),
    };
    minicbor::to_vec(GroupRow { switches: group.switches.iter().map(switch).collect() })
        .expect("writing to memory cannot fail")
}

pub(super) fn group(name: &str, bytes: &[u8]) -> Option<Group> {
    let row: GroupRow = minicbor::decode(bytes).ok()?;
    let switch = |row: SwitchRow| {
        Some(Switch {
            pv: PvName::recorded(&row.pv).ok()?,
            protocol: match row.protocol {
                None => None,
                Some(name) => Some(Protocol::from_name(&name)?),
            },
            sense: Sense::from_name(&row.sense)?,
        })
    };
    let switches = row.switches.into_iter().map(switch).collect::<Option<_>>()?;
    Some(Group { name: RuleName::new(name).ok()?, switches })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(rules_there: &Rules) -> Option<Arc<Rules>> {
        let bytes = minicbor::to_vec(rules_row(rules_there)).unwrap();
        rules(minicbor::decode(&bytes).unwrap())
    }

    #[test]
    fn rules_and_groups_come_back() {
        let name = |name: &str| RuleName::new(name).unwrap();
        let full = Rules {
            deadband: Some(Deadband::Absolute(0.1)),
            rate_cap: Some(RateCap::new(2.5, 7).unwrap()),
            changes: Changes::Any,
            pipeline: Pipeline::On,
            fields: vec![FieldName::new("HIHI").unwrap(), FieldName::new("EGU").unwrap()],
            only: vec![FieldPath::new("value.rms").unwrap()],
            groups: vec![name("beam"), name("rf")],
            keep: Some(Keep::For(Duration::from_secs(86_400))),
            is_field: true,
            origin: Origin {
                policy: Some(name("slow")),
                policy_by_hand: true,
                protocol_by_hand: true,
                sampling_by_hand: true,
            },
        };
        assert_eq!(there_and_back(&full).as_deref(), Some(&full));
        let percent = Rules { deadband: Some(Deadband::Percent(3.0)), keep: Some(Keep::Forever), ..Rules::default() };
        assert_eq!(there_and_back(&percent).as_deref(), Some(&percent));
        assert_eq!(there_and_back(&Rules::default()).as_deref(), Some(&Rules::default()));
        let switches = vec![
            Switch { pv: PvName::new("A").unwrap(), protocol: Some(Protocol::Pva), sense: Sense::Enables },
            Switch { pv: PvName::new("B").unwrap(), protocol: None, sense: Sense::Disables },
        ];
        let beam = Group { name: name("beam"), switches };
        assert_eq!(group("beam", &group_bytes(&beam)), Some(beam));
    }
}
