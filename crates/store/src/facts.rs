//! Facts: gaps and metadata, as they are kept in memory beside samples, and as bytes in the log and the catalogue.
//!
//! Metadata is a CBOR map with numbered keys, converted by hand, so that the public type can change without the files.

use std::{collections::BTreeMap, sync::Arc};

use archive::PvId;
use minicbor::{Decode, Encode};
use sample::{Element, Gap, GapCause, Limits, Metadata, Timestamp, ValueType};

/// Gaps and metadata, newest version of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) gaps: BTreeMap<(PvId, Timestamp, GapCause), Gap>,
    pub(crate) metadata: BTreeMap<(PvId, Timestamp), Arc<Metadata>>,
}

impl Facts {
    pub(crate) fn is_empty(&self) -> bool {
        self.gaps.is_empty() && self.metadata.is_empty()
    }

    /// What is not of these PVs.
    pub(crate) fn without(mut self, is_one: impl Fn(PvId) -> bool) -> Facts {
        self.gaps.retain(|(pv, ..), _| !is_one(*pv));
        self.metadata.retain(|(pv, _), _| !is_one(*pv));
        self
    }
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct Meta {
    /// Element and whether it is an array.
    #[n(0)]
    value_type: Option<(u8, bool)>,
    #[n(1)]
    element_count: Option<u64>,
    #[n(2)]
    units: Option<String>,
    #[n(3)]
    precision: Option<i32>,
    #[n(4)]
    display: Option<(f64, f64)>,
    #[n(5)]
    control: Option<(f64, f64)>,
    #[n(6)]
    warning: Option<(f64, f64)>,
    #[n(7)]
    alarm: Option<(f64, f64)>,
    #[n(8)]
    labels: Vec<String>,
    #[n(9)]
    description: Option<String>,
    #[n(10)]
    server: Option<String>,
    #[n(11)]
    server_run: Option<String>,
}

/// Metadata as bytes.
pub(crate) fn metadata_bytes(metadata: &Metadata) -> Vec<u8> {
    let limits = |limits: &Option<Limits>| limits.map(|limits| (limits.low, limits.high));
    minicbor::to_vec(&Meta {
        value_type: metadata.value_type.map(|of| (of.element as u8, of.shape == sample::Shape::Array)),
        element_count: metadata.element_count,
        units: metadata.units.clone(),
        precision: metadata.precision,
        display: limits(&metadata.display),
        control: limits(&metadata.control),
        warning: limits(&metadata.warning),
        alarm: limits(&metadata.alarm),
        labels: metadata.labels.clone(),
        description: metadata.description.clone(),
        server: metadata.server.clone(),
        server_run: metadata.server_run.clone(),
    })
    .expect("writing to memory cannot fail")
}

/// Metadata of bytes; none if it cannot be read.
pub(crate) fn metadata(bytes: &[u8]) -> Option<Metadata> {
    let meta: Meta = minicbor::decode(bytes).ok()?;
    let limits = |limits: Option<(f64, f64)>| limits.map(|(low, high)| Limits { low, high });
    let value_type = match meta.value_type {
        Some((element, true)) => Some(ValueType::array(Element::from_number(element)?)),
        Some((element, false)) => Some(ValueType::scalar(Element::from_number(element)?)),
        None => None,
    };
    Some(Metadata {
        value_type,
        element_count: meta.element_count,
        units: meta.units,
        precision: meta.precision,
        display: limits(meta.display),
        control: limits(meta.control),
        warning: limits(meta.warning),
        alarm: limits(meta.alarm),
        labels: meta.labels,
        description: meta.description,
        server: meta.server,
        server_run: meta.server_run,
    })
}

/// The number of a cause on disk: its place in `GapCause::ALL`.
pub(crate) fn cause_number(cause: GapCause) -> u8 {
    let place = GapCause::ALL.iter().position(|other| *other == cause);
    place.expect("the list names every cause") as u8
}

/// A gap as it stands on disk; none if there is no such cause.
pub(crate) fn gap(from: i64, to: Option<i64>, cause: u8, lost: u64) -> Option<Gap> {
    let cause = *GapCause::ALL.get(usize::from(cause))?;
    Some(Gap { from: Timestamp::from_nanos(from), to: to.map(Timestamp::from_nanos), cause, lost })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_with_everything_and_with_nothing_comes_back() {
        let full = Metadata {
            value_type: Some(ValueType::array(Element::U16)),
            element_count: Some(1_000_000),
            units: Some("µA".into()),
            precision: Some(-1),
            display: Some(Limits { low: -1.0, high: f64::INFINITY }),
            control: Some(Limits { low: 0.0, high: 1.0 }),
            warning: None,
            alarm: Some(Limits { low: 2.0, high: 3.0 }),
            labels: vec!["OFF".into(), "".into()],
            description: Some("beam current".into()),
            server: Some("127.0.0.1:5064".into()),
            server_run: Some("0123456789abcdef01234567".into()),
        };
        for case in [full, Metadata::default()] {
            assert_eq!(metadata(&metadata_bytes(&case)), Some(case));
        }
    }
}
