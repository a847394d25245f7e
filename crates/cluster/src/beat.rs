//! Beats: what a node says of itself once a second. That it is another one than before is what counts; the rest is for the others.

use minicbor::{Decode, Encode};

/// What a node says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Beat {
    /// How many it has sent.
    #[n(0)]
    pub count: u64,
    /// Which start of the node it is.
    #[n(1)]
    pub run: u64,
    /// Where other nodes reach it.
    #[n(2)]
    pub address: String,
    /// The version of its program.
    #[n(3)]
    pub version: String,
    /// It wants to have no shards: others are to take them.
    #[n(4)]
    pub is_leaving: bool,
    /// The shards that it has open, each with its epoch.
    #[n(5)]
    pub shards: Vec<(u32, u64)>,
    /// The newest format that its program reads.
    #[n(6)]
    pub reads: Option<u32>,
    /// The format that it writes, as it is in force for all that it knows.
    #[n(7)]
    pub writes: Option<u32>,
    /// The time on its clock, in seconds since 1970: told to an operator where it is far from that of others, and used for nothing else.
    #[n(8)]
    pub clock: Option<i64>,
}

impl Beat {
    /// As bytes of the shared store.
    pub fn encode(&self) -> Vec<u8> {
        minicbor::to_vec(self).unwrap_or_default()
    }

    /// Reads one; none if it is none.
    pub fn decode(bytes: &[u8]) -> Option<Beat> {
        minicbor::decode(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_that_says_nothing_of_formats_is_one_too() {
        let beat = Beat { count: 7, run: 1, address: "127.0.0.1:1".into(), shards: vec![(3, 9)], ..Beat::default() };
        assert_eq!(Beat::decode(&beat.encode()), Some(beat));
        let older = [0xa6, 0, 7, 1, 1, 2, 0x61, b'x', 3, 0x61, b'1', 4, 0xf4, 5, 0x80];
        let read = Beat::decode(&older).unwrap();
        assert_eq!((read.count, read.reads, read.writes, read.clock), (7, None, None, None));
    }
}
