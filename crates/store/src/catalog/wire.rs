//! What stands in the catalogue's values: CBOR maps with numbered keys, converted by hand, so that the public types can change
//! without the files.

use minicbor::{Decode, Encode};
use sample::{Element, Gap, GapCause, Limits, Metadata, PvId, Timestamp, ValueType};

use crate::{
    catalog::unfinished::Untold,
    segment::manifest::{Level, Manifest},
};

#[derive(Encode, Decode)]
#[cbor(map)]
struct Segment {
    #[n(0)]
    key: String,
    #[n(1)]
    bytes: u64,
    #[n(2)]
    blocks: u64,
    #[n(3)]
    samples: u64,
    #[n(4)]
    t0: i64,
    #[n(5)]
    t1: i64,
    /// The last of the segments that were merged into it.
    #[n(6)]
    last: u64,
    #[n(7)]
    generation: u32,
    #[n(8)]
    tables_at: u64,
    /// First and last.
    #[n(9)]
    pvs: (u32, u32),
    #[n(10)]
    level: u8,
    #[n(11)]
    written: (i64, i64),
    /// None: the folder of the archive.
    #[n(12)]
    place: Option<String>,
    #[n(13)]
    trimmed: u64,
    #[n(14)]
    digest: Option<u64>,
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

#[derive(Encode, Decode)]
#[cbor(map)]
struct UntoldSamples {
    /// The first frame of the log of which nothing is counted.
    #[n(0)]
    frame: u64,
    #[n(1)]
    whole: u64,
    #[n(2)]
    numbers: Vec<u32>,
}

fn bytes_of<T: Encode<()>>(value: &T) -> Vec<u8> {
    minicbor::to_vec(value).expect("writing to memory cannot fail")
}

pub(super) fn manifest_bytes(manifest: &Manifest) -> Vec<u8> {
    bytes_of(&Segment {
        key: manifest.key.clone(),
        bytes: manifest.bytes,
        blocks: manifest.blocks,
        samples: manifest.samples,
        t0: manifest.t0.nanos(),
        t1: manifest.t1.nanos(),
        last: manifest.last,
        generation: manifest.generation,
        tables_at: manifest.tables_at,
        pvs: (manifest.first_pv.0, manifest.last_pv.0),
        level: manifest.level as u8,
        written: (manifest.written.0.nanos(), manifest.written.1.nanos()),
        place: manifest.place.clone(),
        trimmed: manifest.trimmed,
        digest: manifest.digest,
    })
}

pub(super) fn manifest((sequence, part): (u64, u32), bytes: &[u8]) -> Option<Manifest> {
    let segment: Segment = minicbor::decode(bytes).ok()?;
    Some(Manifest {
        sequence,
        part,
        last: segment.last,
        generation: segment.generation,
        key: segment.key,
        bytes: segment.bytes,
        tables_at: segment.tables_at,
        blocks: segment.blocks,
        samples: segment.samples,
        t0: Timestamp::from_nanos(segment.t0),
        t1: Timestamp::from_nanos(segment.t1),
        first_pv: PvId(segment.pvs.0),
        last_pv: PvId(segment.pvs.1),
        level: Level::from_number(segment.level)?,
        written: (Timestamp::from_nanos(segment.written.0), Timestamp::from_nanos(segment.written.1)),
        place: segment.place,
        trimmed: segment.trimmed,
        digest: segment.digest,
    })
}

pub(super) fn untold_bytes(untold: &Untold, frame: u64) -> Vec<u8> {
    let (whole, numbers) = untold.numbers();
    bytes_of(&UntoldSamples { frame, whole, numbers })
}

/// None if it is not about the frames before `frame`, or cannot be of so many PVs.
pub(super) fn untold(bytes: &[u8], frame: u64, pvs: u32) -> Option<Untold> {
    let untold: UntoldSamples = minicbor::decode(bytes).ok()?;
    Untold::of_numbers((untold.whole, &untold.numbers), pvs).filter(|_| untold.frame == frame)
}

/// Also the form of metadata in the log.
pub(crate) fn metadata_bytes(metadata: &Metadata) -> Vec<u8> {
    let limits = |limits: &Option<Limits>| limits.map(|limits| (limits.low, limits.high));
    bytes_of(&Meta {
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
}

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
