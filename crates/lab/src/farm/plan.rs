//! What a farm serves: groups of PVs, their names, and the value, time and alarm of each PV at each update.
//!
//! Nothing is remembered and nothing depends on the clock: update `k` of PV `n` can be computed by the servers that send it
//! and by a checker that reads it back from an archive. Update 0 is what a PV holds before its first change, and the value,
//! or element 0 of an array, is `k` (modulo [`Kind::modulus`]), so a jump in what arrives is a lost update.

use epics::{Description, Limits, Value};

use super::{
    group::{ArrayPattern, Group},
    kind::Kind,
    payload,
};

/// Seconds from 1970 to 1990: what a record that was never processed has as its time.
const NEVER: i64 = 631_152_000;

/// The range for displays of all numbers.
const DISPLAY: Limits = Limits { low: -1000.0, high: 1000.0 };

/// All PVs of a farm, numbered from 0 through all groups.
pub(crate) struct Plan {
    pub(crate) groups: Vec<Group>,
    /// When update 0 was made, in nanoseconds since 1970.
    pub(crate) start: i64,
}

/// The time and alarm of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Seconds since 1970.
    pub(crate) seconds: i64,
    pub(crate) nanos: u32,
    pub(crate) severity: i32,
    /// By Channel Access' numbers.
    pub(crate) status: i32,
}

impl Plan {
    pub(crate) fn new(mut groups: Vec<Group>, start: i64) -> Plan {
        let mut first = 0;
        for group in &mut groups {
            group.first = first;
            first += group.count;
        }
        Plan { groups, start }
    }

    /// Number of PVs.
    pub(crate) fn len(&self) -> u32 {
        self.groups.last().map_or(0, |group| group.first + group.count)
    }

    /// The number of the PV of that name.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.groups.iter().find_map(|group| Some(group.first + group.index_of(name)?))
    }

    pub(crate) fn name(&self, pv: u32) -> String {
        let group = self.group(pv);
        group.name_of(pv - group.first)
    }

    /// The group of a PV.
    pub(crate) fn group(&self, pv: u32) -> &Group {
        let place = self.groups.partition_point(|group| group.first <= pv);
        &self.groups[place - 1]
    }

    /// The number of its group.
    pub(crate) fn group_number(&self, pv: u32) -> usize {
        self.groups.partition_point(|group| group.first <= pv).saturating_sub(1)
    }

    /// Whether only element 0 of a PV's arrays changes.
    pub(crate) fn is_ramp(&self, pv: u32) -> bool {
        self.group(pv).payload == ArrayPattern::Ess
    }

    /// Whether the values of all PVs count so far that each names its update.
    pub(crate) fn counts_far(&self) -> bool {
        self.groups.iter().all(|group| group.kind.modulus() > 1 << 20)
    }

    /// The value of a PV at an update.
    pub(crate) fn value(&self, pv: u32, number: u64) -> Value {
        let group = self.group(pv);
        match group.length {
            None => group.kind.scalar(number),
            Some(_) => Value::Array(payload::array(group, pv - group.first, number)),
        }
    }

    /// The time and alarm of a PV at an update.
    pub(crate) fn stamp(&self, pv: u32, number: u64) -> Stamp {
        let group = self.group(pv);
        let offset = group.offset(number, group.slice_of(pv - group.first));
        let (severity, status) = group.alarm(number);
        let Some(jump) = group.clock_at(offset) else {
            return Stamp { seconds: NEVER, nanos: 0, severity, status };
        };
        let nanos = self.start + offset as i64 + jump;
        Stamp {
            seconds: nanos.div_euclid(1_000_000_000),
            nanos: nanos.rem_euclid(1_000_000_000) as u32,
            severity,
            status,
        }
    }

    /// Appends the elements of an array, or a scalar, as they are in memory of one or the other order, and returns how many;
    /// cheaper than [`Plan::value`]. A string has 40 bytes.
    pub(crate) fn elements(&self, pv: u32, number: u64, big_endian: bool, out: &mut Vec<u8>) -> u32 {
        let group = self.group(pv);
        payload::elements(group, pv - group.first, number, big_endian, out);
        group.elements()
    }

    /// What a PV says besides its values.
    pub(crate) fn description(&self, pv: u32) -> Description {
        let group = self.group(pv);
        let mut found = Description { element_count: Some(group.elements().into()), ..Description::default() };
        match group.kind {
            Kind::String => {}
            Kind::Enum => found.labels = (0..Kind::LABELS).map(|label| format!("state {label}")).collect(),
            kind => {
                found.units = Some("ticks".to_owned());
                found.precision = kind.is_float().then_some(3);
                // A byte has no room for more.
                let limits = |factor: f64| match kind {
                    Kind::U8 => Limits { low: 0.0, high: 100.0 * factor },
                    _ => Limits { low: DISPLAY.low * factor, high: DISPLAY.high * factor },
                };
                (found.display, found.control) = (Some(limits(1.0)), Some(limits(1.0)));
                (found.warning, found.alarm) = (Some(limits(0.5)), Some(limits(0.8)));
            }
        }
        found
    }

    /// The bytes of elements that one update of all PVs of all groups has.
    pub(crate) fn bytes_per_second(&self) -> f64 {
        let bytes = |group: &Group| {
            f64::from(group.count) * f64::from(group.elements()) * group.kind.bytes() as f64 * group.rate()
        };
        self.groups.iter().map(bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(specs: &[&str]) -> Plan {
        Plan::new(specs.iter().map(|spec| spec.parse().expect("a group")).collect(), 1_700_000_000_000_000_000)
    }

    #[test]
    fn names_lead_to_numbers_and_back() {
        let plan = plan(&["name=A:,count=12", "name=solo", "name=A:B,count=3,type=i32"]);
        assert_eq!(plan.len(), 16);
        for pv in 0..plan.len() {
            assert_eq!(plan.find(&plan.name(pv)), Some(pv), "{}", plan.name(pv));
        }
        assert_eq!((plan.name(11), plan.name(12), plan.name(15)), ("A:11".into(), "solo".into(), "A:B2".into()));
        for stranger in ["A:12", "A:01", "A:", "solo1", "A:B3", ""] {
            assert_eq!(plan.find(stranger), None, "{stranger}");
        }
    }

    #[test]
    fn updates_count_and_their_times_follow_the_rate() {
        let plan = plan(&["name=X,rate=14,type=i16"]);
        assert_eq!(plan.value(0, 32_768 + 5), Value::I16(5));
        assert_eq!(plan.stamp(0, 14).seconds, 1_700_000_001);
        assert_eq!(plan.stamp(0, 1).nanos, 71_428_571);
        let group = &plan.groups[0];
        assert_eq!((group.newest(0, 0), group.newest(71_428_571, 0), group.newest(1_000_000_000, 0)), (0, 1, 14));
    }

    #[test]
    fn rests_clock_jumps_and_alarms_are_where_they_were_ordered() {
        let plan = plan(&["name=X,rate=10,active=5,rest=15,alarms=2,clock=3600@3;never@5"]);
        let group = &plan.groups[0];
        // Updates 0 to 4 in the first half second, then nothing for one and a half.
        let newest: Vec<u64> = [0, 400, 500, 1900, 2000, 2400].map(|ms| group.newest(ms * 1_000_000, 0)).into();
        assert_eq!(newest, [0, 4, 4, 4, 5, 9]);
        assert_eq!((plan.stamp(0, 5).seconds, plan.stamp(0, 10).seconds), (1_700_000_002, 1_700_003_604));
        assert_eq!((plan.stamp(0, 15).seconds, plan.stamp(0, 15).nanos), (NEVER, 0));
        let severities: Vec<i32> = (0..9).map(|number| plan.stamp(0, number).severity).collect();
        assert_eq!(severities, [0, 0, 1, 1, 2, 2, 3, 3, 0]);
    }

    #[test]
    fn the_elements_of_an_array_are_the_same_by_either_way() {
        for kind in ["f64", "f32", "i32", "i16", "u8"] {
            for payload in ["ess", "smooth", "noise"] {
                let plan = plan(&[&format!("name=W,count=4,length=70,type={kind},payload={payload}")]);
                let (mut big, mut little) = (Vec::new(), Vec::new());
                plan.elements(2, 9, true, &mut big);
                plan.elements(2, 9, false, &mut little);
                let width = plan.groups[0].kind.bytes();
                let turned: Vec<u8> = big.chunks(width).flat_map(|element| element.iter().rev().copied()).collect();
                assert_eq!((turned, big.len()), (little.clone(), 70 * width), "{kind} {payload}");
                let Value::Array(array) = plan.value(2, 9) else { panic!("an array") };
                assert_eq!(payload::bytes(&array, false), little, "{kind} {payload}");
                let first = payload::numbers(&array);
                assert_eq!((first[0], first[1]), (9.0, 2.0), "the count and the PV come first: {kind} {payload}");
                assert_ne!(plan.value(2, 10), plan.value(2, 9));
            }
        }
    }
}
