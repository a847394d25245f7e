//! A group of simulated PVs: alike, updated together, described by words such as `name=W,count=100,type=i32,length=1000,rate=14`.

use std::str::FromStr;

use epics::pva::server::Breach;

use super::{kind::Kind, payload::Base, shape::Shape};

/// PVs of one type that are updated together.
pub(crate) struct Group {
    /// The number of the first PV among all of the farm.
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// The name of the PV, or the beginning of the names of several.
    name: String,
    is_numbered: bool,
    pub(crate) kind: Kind,
    /// Elements of an array; none for a scalar.
    pub(crate) length: Option<u32>,
    pub(crate) payload: ArrayPattern,
    /// Updates in 1000 seconds.
    rate: u64,
    /// After so many updates the alarm changes; never if 0.
    alarms: u64,
    /// So many updates, then a rest of so many periods.
    active: u64,
    rest: u64,
    /// The group is updated in so many parts, evenly over its period.
    pub(crate) slices: u32,
    clock: Vec<ClockChange>,
    /// What the elements of arrays are copied from.
    pub(crate) base: Base,
    /// What the PVs are by pvAccess.
    pub(crate) shape: Shape,
    /// By pvAccess, one message in so many is broken in this way.
    pub(crate) breach: Option<(Breach, u32)>,
}

/// What the elements of an array do, besides those with the count and the number of the PV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrayPattern {
    /// Nothing: they are a ramp that never changes, as in the study of ESS.
    Ess,
    /// A wave that moves by an element with each update.
    Smooth,
    /// Everything, each time.
    Noise,
}

/// From this time of the farm on its clock is wrong by so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClockChange {
    at_nanos: u64,
    /// None: the time is that of a record that was never processed.
    jump_nanos: Option<i64>,
}

impl Group {
    pub(crate) fn index_of(&self, name: &str) -> Option<u32> {
        let rest = name.strip_prefix(self.name.as_str())?;
        if !self.is_numbered {
            return rest.is_empty().then_some(0);
        }
        let is_plain = rest == "0" || !rest.starts_with(['0', '+']);
        rest.parse().ok().filter(|index| is_plain && *index < self.count)
    }

    pub(crate) fn name_of(&self, index: u32) -> String {
        if self.is_numbered { format!("{}{index}", self.name) } else { self.name.clone() }
    }

    /// Elements of a value.
    pub(crate) fn elements(&self) -> u32 {
        self.length.unwrap_or(1)
    }

    /// Updates of each PV per second, rests not considered.
    pub(crate) fn rate(&self) -> f64 {
        self.rate as f64 / 1e3
    }

    /// The part of the group in which a PV is updated.
    pub(crate) fn slice_of(&self, index: u32) -> u32 {
        if self.slices == 1 {
            return 0;
        }
        (u64::from(index) * u64::from(self.slices) / u64::from(self.count)) as u32
    }

    /// The PVs of a part, by their numbers among all of the farm.
    pub(crate) fn pvs_of(&self, slice: u32) -> std::ops::Range<u32> {
        let begin = |slice: u32| (u64::from(slice) * u64::from(self.count)).div_ceil(u64::from(self.slices)) as u32;
        self.first + begin(slice)..self.first + begin(slice + 1)
    }

    /// When an update is due, in nanoseconds since the farm was started; update 0 is there from the beginning.
    pub(crate) fn offset(&self, number: u64, slice: u32) -> u64 {
        let period = number / self.active * (self.active + self.rest) + number % self.active;
        self.periods(u128::from(period)) + self.phase(slice)
    }

    /// The newest update at a time since the farm was started.
    pub(crate) fn newest(&self, nanos: u64, slice: u32) -> u64 {
        let Some(since) = nanos.checked_sub(self.phase(slice)) else { return 0 };
        // Times were rounded down, so the period in which this nanosecond lies is found with the next one.
        let periods = ((u128::from(since) + 1) * u128::from(self.rate)).div_ceil(1_000_000_000_000) as u64;
        let (cycles, rest) = (periods / (self.active + self.rest), periods % (self.active + self.rest));
        (cycles * self.active + rest.min(self.active)).saturating_sub(1)
    }

    fn phase(&self, slice: u32) -> u64 {
        if slice == 0 { 0 } else { self.periods(1) * u64::from(slice) / u64::from(self.slices) }
    }

    fn periods(&self, count: u128) -> u64 {
        if self.rate == 0 {
            if count == 0 { 0 } else { u64::MAX / 4 }
        } else {
            (count * 1_000_000_000_000 / u128::from(self.rate)) as u64
        }
    }

    /// Severity, and status by Channel Access' numbers.
    pub(crate) fn alarm(&self, number: u64) -> (i32, i32) {
        let Some(step) = number.checked_div(self.alarms) else { return (0, 0) };
        [(0, 0), (1, 4), (2, 3), (3, 17)][(step % 4) as usize]
    }

    /// Whether the alarm ever changes.
    pub(crate) fn has_alarms(&self) -> bool {
        self.alarms > 0
    }

    /// By how much the clock is wrong; none if it says that the record was never processed.
    pub(crate) fn clock_at(&self, nanos: u64) -> Option<i64> {
        let place = self.clock.partition_point(|change| change.at_nanos <= nanos);
        place.checked_sub(1).map_or(Some(0), |place| self.clock[place].jump_nanos)
    }
}

impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Group, String> {
        let mut group = Group {
            first: 0,
            count: 1,
            name: "LAB:".to_owned(),
            is_numbered: false,
            kind: Kind::F64,
            length: None,
            payload: ArrayPattern::Ess,
            rate: 10_000,
            alarms: 0,
            active: 1,
            rest: 0,
            slices: 1,
            clock: Vec::new(),
            base: Base::default(),
            shape: Shape::Plain,
            breach: None,
        };
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let (key, value) = word.split_once('=').ok_or_else(|| format!("{word:?} is no KEY=VALUE"))?;
            group.set(key, value)?;
        }
        if group.length.is_some() && matches!(group.kind, Kind::Enum | Kind::String) {
            return Err(format!("{text:?} asks for an array of enums or strings, which is not simulated"));
        }
        if group.length.is_none() && matches!(group.shape, Shape::Table | Shape::Image) {
            return Err(format!("{text:?} asks for a table or an image without a length"));
        }
        group.slices = group.slices.clamp(1, group.count);
        group.base = Base::new(group.kind, group.length.unwrap_or(0), group.payload);
        Ok(group)
    }
}

impl Group {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let number = || value.parse::<u32>().map_err(|_| format!("{key} is {value:?}, expected a whole number"));
        let positive = || number().ok().filter(|n| *n > 0).ok_or(format!("{key} is {value:?}, expected 1 or more"));
        match key {
            "name" => value.clone_into(&mut self.name),
            "count" => (self.count, self.is_numbered) = (positive()?, true),
            "type" => self.kind = value.parse()?,
            "length" => self.length = Some(positive()?),
            "rate" => {
                let rate = value.parse::<f64>().ok().filter(|rate| (0.0..=100_000.0).contains(rate));
                self.rate =
                    (rate.ok_or(format!("rate is {value:?}, expected updates per second"))? * 1e3).round() as u64;
            }
            "payload" => {
                self.payload = match value {
                    "ess" => ArrayPattern::Ess,
                    "smooth" => ArrayPattern::Smooth,
                    "noise" => ArrayPattern::Noise,
                    _ => return Err(format!("payload is {value:?}, expected ess, smooth or noise")),
                }
            }
            "alarms" => self.alarms = number()?.into(),
            "active" => self.active = positive()?.into(),
            "rest" => self.rest = number()?.into(),
            "slices" => self.slices = positive()?,
            "shape" => self.shape = value.parse()?,
            "breach" => self.breach = Some(breach(value)?),
            "clock" => {
                self.clock = value.split(';').map(str::parse).collect::<Result<_, _>>()?;
                self.clock.sort_by_key(|change| change.at_nanos);
            }
            _ => return Err(format!("{key:?} is no property of a group of PVs")),
        }
        Ok(())
    }
}

/// A breach of the protocol and how rare it is, such as `garbage/10`.
fn breach(text: &str) -> Result<(Breach, u32), String> {
    let known = || Breach::ALL.map(|(_, word)| word).join(", ");
    let refused = || format!("breach is {text:?}, expected WORD/N with one of {}", known());
    let (word, one_in) = text.split_once('/').unwrap_or((text, "1"));
    let found = Breach::ALL.into_iter().find(|(_, name)| *name == word).ok_or_else(refused)?;
    Ok((found.0, one_in.parse().ok().filter(|one_in| *one_in > 0).ok_or_else(refused)?))
}

impl FromStr for ClockChange {
    type Err = String;

    fn from_str(text: &str) -> Result<ClockChange, String> {
        let refused = || format!("clock is {text:?}, expected SECONDS@SECONDS or never@SECONDS");
        let (jump, at) = text.split_once('@').ok_or_else(refused)?;
        let seconds = |text: &str| text.parse::<f64>().ok().filter(|s| s.abs() < 1e9).ok_or_else(refused);
        let jump_nanos = if jump == "never" { None } else { Some((seconds(jump)? * 1e9) as i64) };
        Ok(ClockChange { at_nanos: (seconds(at)?.max(0.0) * 1e9) as u64, jump_nanos })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_update_is_the_last_whose_time_has_come() {
        for spec in ["rate=14", "rate=3.3", "rate=1000,active=7,rest=4", "rate=10,count=100,slices=3"] {
            let group: Group = spec.parse().expect("a group");
            for slice in 0..group.slices {
                for number in 1..400 {
                    let due = group.offset(number, slice);
                    assert_eq!(group.newest(due, slice), number, "{spec}: when it is due");
                    assert_eq!(group.newest(due - 1, slice), number - 1, "{spec}: just before");
                }
            }
        }
    }

    #[test]
    fn the_parts_of_a_group_are_all_of_it() {
        let group: Group = "count=100,slices=7".parse().expect("a group");
        let mut all = 0;
        for slice in 0..group.slices {
            for pv in group.pvs_of(slice) {
                assert_eq!((group.slice_of(pv), pv), (slice, all));
                all += 1;
            }
        }
        assert_eq!(all, 100);
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        for (text, word) in [
            ("count=0", "1 or more"),
            ("speed=3", "speed"),
            ("type=u128", "u128"),
            ("rate=-1", "rate"),
            ("clock=soon", "clock"),
            ("type=enum,length=3", "enums"),
            ("shape=circle", "image"),
            ("shape=table", "length"),
            ("breach=noise", "garbage"),
            ("breach=garbage/0", "WORD/N"),
            ("name", "KEY=VALUE"),
        ] {
            let error = text.parse::<Group>().err().unwrap_or_default();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
