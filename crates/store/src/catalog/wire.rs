//! What stands in the catalogue's values: CBOR maps with numbered keys, converted by hand, so that the public types can change
//! without the files.

use archive::PvId;
use minicbor::{Decode, Encode};
use sample::Timestamp;

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
