//! How the rules of a PV and the groups stand in the catalogue: CBOR maps with numbered keys, what is usual left out.

use std::sync::Arc;

use archive::{
    Group, Protocol, PvName, RuleName, Rules, Sense, Switch,
    settings::{SettingCell, SettingCells},
};
use minicbor::{Decode, Decoder, Encode, Encoder, data::Type, decode, encode, encode::Write};

/// The cells of a PV's rules, in a map under their numbers. What each of them is says the table of settings.
pub(super) struct RulesRow(SettingCells);

impl<C> Encode<C> for RulesRow {
    fn encode<W: Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        let cells = self.0.iter();
        e.map(cells.len() as u64)?;
        for (number, cell) in cells {
            e.u32(number)?;
            match cell {
                SettingCell::Number(number) => e.f64(*number)?,
                SettingCell::Count(count) => e.u64(*count)?,
                SettingCell::Text(text) => e.str(text)?,
                SettingCell::Texts(texts) => {
                    e.array(texts.len() as u64)?;
                    texts.iter().try_for_each(|text| e.str(text).map(|_| ()))?;
                    &mut *e
                }
            };
        }
        Ok(())
    }
}

impl<'b, C> Decode<'b, C> for RulesRow {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<RulesRow, decode::Error> {
        let mut cells = SettingCells::default();
        let mut left = d.map()?;
        while left.map_or_else(|| d.datatype().map(|next| next != Type::Break), |left| Ok(left > 0))? {
            let number = d.u32()?;
            if let Some(cell) = cell(d, number)? {
                cells.put(number, cell);
            }
            left = left.map(|left| left - 1);
        }
        if left.is_none() {
            d.skip()?;
        }
        Ok(RulesRow(cells))
    }
}

/// What stands under a number; none if that is nothing of ours.
fn cell(d: &mut Decoder, number: u32) -> Result<Option<SettingCell>, decode::Error> {
    let cell = match d.datatype()? {
        _ if !SettingCells::is_known(number) => None,
        Type::F16 | Type::F32 | Type::F64 => Some(SettingCell::Number(d.f64()?)),
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => Some(SettingCell::Count(d.u64()?)),
        Type::String => Some(SettingCell::Text(d.str()?.to_owned())),
        Type::Array | Type::ArrayIndef => Some(SettingCell::Texts(d.array_iter()?.collect::<Result<_, _>>()?)),
        Type::Null | Type::Undefined => None,
        other => return Err(decode::Error::type_mismatch(other).at(d.position())),
    };
    if cell.is_none() {
        d.skip()?;
    }
    Ok(cell)
}

pub(super) fn rules_row(rules: &Rules) -> RulesRow {
    RulesRow(rules.cells())
}

/// None if it makes no sense.
pub(super) fn rules(row: RulesRow) -> Option<Arc<Rules>> {
    Rules::of_cells(&row.0).map(Arc::new)
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct GroupWire {
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

pub(super) fn group_bytes(group: &Group) -> Vec<u8> {
    let switch = |switch: &Switch| SwitchRow {
        pv: switch.pv.to_string(),
        protocol: switch.protocol.map(|protocol| protocol.name().to_owned()),
        sense: switch.sense.name().to_owned(),
    };
    minicbor::to_vec(GroupWire { switches: group.switches.iter().map(switch).collect() })
        .expect("writing to memory cannot fail")
}

pub(super) fn group(name: &str, bytes: &[u8]) -> Option<Group> {
    let row: GroupWire = minicbor::decode(bytes).ok()?;
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
    use std::time::Duration;

    use archive::{Changes, Deadband, FieldName, FieldPath, Keep, Origin, Pipeline, RateCap};

    use super::*;

    fn there_and_back(rules_there: &Rules) -> Option<Arc<Rules>> {
        let bytes = minicbor::to_vec(rules_row(rules_there)).unwrap();
        rules(minicbor::decode(&bytes).unwrap())
    }

    /// The bytes are those of archives that there are: each number and each type stays for good.
    fn hex(rules: &Rules) -> String {
        minicbor::to_vec(rules_row(rules)).unwrap().iter().map(|byte| format!("{byte:02x}")).collect()
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
            is_field: true,
            origin: Origin {
                policy: Some(name("slow")),
                policy_by_hand: true,
                protocol_by_hand: true,
                sampling_by_hand: true,
            },
            ..Rules::default()
        };
        assert_eq!(there_and_back(&full).as_deref(), Some(&full));
        assert_eq!(
            hex(&full),
            "a900fb3fb999999999999a02fb400400000000000003070463616e7905826448494849634547550682646265616d6272660864736c6f7709181f0a816976616c75652e726d73"
        );
        let keep = Some(Keep::For(Duration::from_secs(86_400)));
        let percent = Rules { deadband: Some(Deadband::Percent(3.0)), keep, ..Rules::default() };
        assert_eq!(there_and_back(&percent).as_deref(), Some(&percent));
        assert_eq!(hex(&percent), "a201fb4008000000000000071a00015180");
        let forever = Rules { keep: Some(Keep::Forever), ..Rules::default() };
        assert_eq!(there_and_back(&forever).as_deref(), Some(&forever));
        assert_eq!(there_and_back(&Rules::default()).as_deref(), Some(&Rules::default()));
        let switches = vec![
            Switch { pv: PvName::new("A").unwrap(), protocol: Some(Protocol::Pva), sense: Sense::Enables },
            Switch { pv: PvName::new("B").unwrap(), protocol: None, sense: Sense::Disables },
        ];
        let beam = Group { name: name("beam"), switches };
        assert_eq!(group("beam", &group_bytes(&beam)), Some(beam));
    }
}
