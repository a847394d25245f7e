//! The lease of a shard: who should try to own it.
//!
//! ```text
//!   lease := check:u64 version:u16 epoch:u64 incarnation:u64 owner:blob      check = xxh3-64 of all that follows it
//! ```
//! It is a hint. Two nodes that both take themselves for the owner of a shard do no harm, as the journal lets one of them append.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::{
    bytes::{Cursor, Malformed, put_blob, sealed, unsealed},
    error::{Error, Result},
    ids::Epoch,
    keys::{Shard, is_key},
};

const VERSION: u16 = 1;

/// Who should own a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The epoch that it is for.
    pub epoch: Epoch,
    /// The name of the node.
    pub owner: String,
    /// Which start of that node: a number that no two starts have in common. With it no lease is ever given twice.
    pub incarnation: u64,
}

impl Lease {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; 8];
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.epoch.0.to_le_bytes());
        bytes.extend(self.incarnation.to_le_bytes());
        put_blob(&mut bytes, self.owner.as_bytes());
        sealed(bytes)
    }

    /// Reads the lease of a shard.
    pub fn decode(shard: &Shard, bytes: &[u8]) -> Result<Lease> {
        let what = || format!("the lease of shard {shard}");
        let (version, mut cursor) = unsealed(bytes).map_err(|Malformed(reason)| Error::damaged(what(), reason))?;
        if version > VERSION {
            return Err(Error::TooNew { what: what(), version, supported: VERSION });
        }
        Lease::fields(&mut cursor).map_err(|Malformed(reason)| Error::damaged(what(), reason))
    }

    pub(crate) fn fields(cursor: &mut Cursor<'_>) -> std::result::Result<Lease, Malformed> {
        let (epoch, incarnation, owner) = (Epoch(cursor.u64()?), cursor.u64()?, cursor.text()?.to_owned());
        cursor.end()?;
        if !is_key(&owner) {
            return Err(Malformed("the owner has no possible name"));
        }
        Ok(Lease { epoch, owner, incarnation })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_lease_comes_back_and_a_damaged_or_newer_one_is_told_apart() {
        let shard = Shard::new(3, 'a').unwrap();
        let lease = Lease { epoch: Epoch(7), owner: "node-1".into(), incarnation: 99 };
        let bytes = lease.encode();
        assert_eq!(Lease::decode(&shard, &bytes).unwrap(), lease);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(matches!(Lease::decode(&shard, &damaged), Err(Error::Damaged { .. })), "byte {at}");
        }
        let mut newer = bytes;
        newer[8] = 2;
        assert!(matches!(Lease::decode(&shard, &sealed(newer)), Err(Error::TooNew { version: 2, .. })));
    }
}
