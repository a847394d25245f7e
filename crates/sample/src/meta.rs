//! Metadata: what the numbers of a PV mean (units, limits, labels), kept with its history.

use crate::ValueType;

/// A low and a high limit. Either may be NaN where the IOC sets none.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The lower limit.
    pub low: f64,
    /// The upper limit.
    pub high: f64,
}

/// Limits are equal when their bits are. As numbers those that an IOC does not set would differ from themselves, and each start of the
/// archiver would find news in them.
impl PartialEq for Limits {
    fn eq(&self, other: &Limits) -> bool {
        (self.low.to_bits(), self.high.to_bits()) == (other.low.to_bits(), other.high.to_bits())
    }
}

impl Eq for Limits {}

/// What an IOC says about a PV besides its value, at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The type of the values, as the IOC serves them.
    pub value_type: Option<ValueType>,
    /// The largest number of elements that the IOC announces (1 for scalars); none where it does not say.
    pub element_count: Option<u64>,
    /// Engineering units (EGU).
    pub units: Option<String>,
    /// Digits after the point to show (PREC).
    pub precision: Option<i32>,
    /// Range for displays (LOPR, HOPR).
    pub display: Option<Limits>,
    /// Range that operators may set (DRVL, DRVH).
    pub control: Option<Limits>,
    /// Beyond these: a minor alarm (LOW, HIGH).
    pub warning: Option<Limits>,
    /// Beyond these: a major alarm (LOLO, HIHI).
    pub alarm: Option<Limits>,
    /// Names of the states of an enum, by index.
    pub labels: Vec<String>,
    /// The record's description (DESC), where the protocol carries it.
    pub description: Option<String>,
    /// The IOC that served the PV, as `host:port`.
    pub server: Option<String>,
    /// Which run of the IOC it was, where that is known: another text means that it was started anew. A pvAccess server says it
    /// itself. By Channel Access there is none before a restart was proved, and then by what and when.
    pub server_run: Option<String>,
}

impl Metadata {
    /// So begins the run of an IOC whose beacons counted anew, and the time follows.
    pub const RUN_BY_BEACONS: &str = "beacons:";
    /// So begins the run of an IOC whose record had lost its time stamp, and the time follows.
    pub const RUN_BY_STAMP: &str = "unprocessed:";

    /// Whether nobody who has `known` learns anything of this: it is the same, or it leaves open what is known. A value tells its
    /// type before the IOC has described the PV, and by Channel Access nothing says which run of the IOC it is before a restart was
    /// proved; neither takes back what was said before.
    pub fn adds_nothing_to(&self, known: &Metadata) -> bool {
        let mut told = self.clone();
        if told.server_run.is_none() {
            told.server_run.clone_from(&known.server_run);
        }
        if !told.is_described() {
            let Metadata { value_type, server, server_run, .. } = told;
            told = Metadata { value_type, server, server_run, ..known.clone() };
        }
        told == *known
    }

    /// Whether there is more than what comes with a value and its connection.
    pub fn is_described(&self) -> bool {
        let Metadata { value_type, server, server_run, .. } = self.clone();
        *self != Metadata { value_type, server, server_run, ..Metadata::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Metadata {
        let unset = Some(Limits { low: f64::NAN, high: f64::NAN });
        Metadata {
            units: Some("mA".to_owned()),
            display: unset,
            alarm: unset,
            server: Some("127.0.0.1:5064".to_owned()),
            server_run: Some("beacons:then".to_owned()),
            ..Metadata::default()
        }
    }

    #[test]
    fn limits_that_are_not_set_are_equal_and_two_zeros_are_not() {
        let of = |low: f64, high: f64| Limits { low, high };
        assert_eq!(of(f64::NAN, 1.0), of(f64::NAN, 1.0));
        assert_ne!(of(0.0, 1.0), of(-0.0, 1.0));
        assert_ne!(of(0.0, f64::NAN), of(0.0, 1.0));
        assert_eq!(full(), full());
    }

    #[test]
    fn what_leaves_open_what_is_known_adds_nothing_and_everything_else_does() {
        let known = full();
        let bare = Metadata { server: known.server.clone(), ..Metadata::default() };
        let adds = |told: Metadata| !told.adds_nothing_to(&known);
        assert!(!adds(full()) && !adds(bare.clone()));
        assert!(!adds(Metadata { server_run: None, ..full() }));
        assert!(adds(Metadata { server_run: Some("beacons:now".to_owned()), ..bare.clone() }));
        assert!(adds(Metadata { server: Some("127.0.0.1:5065".to_owned()), ..bare.clone() }));
        assert!(adds(Metadata { value_type: Some(ValueType::scalar(crate::Element::F64)), ..bare.clone() }));
        assert!(adds(Metadata { units: None, ..full() }), "the IOC says that there are none");
        assert!(adds(Metadata { element_count: Some(1), ..bare.clone() }), "it was described");
        assert!(full().adds_nothing_to(&full()) && !full().adds_nothing_to(&bare));
    }
}
