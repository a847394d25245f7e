//! Claims: which shard has a name. Of all nodes that add a PV at the same time one decides, and all others learn how.
//!
//! ```text
//!   pv/<name, with what a key cannot have as _xx> ──► the number of the shard, in digits
//! ```
//! A claim stays: a PV that was removed and is added again lies where it was.

use std::{fmt::Write, sync::Arc};

use shared::{Shared, Swapped, settle};

/// The table of names in the shared store.
#[derive(Clone, Debug)]
pub struct Claims(Arc<dyn Shared>);

impl Claims {
    /// In that store.
    pub fn new(shared: Arc<dyn Shared>) -> Claims {
        Claims(shared)
    }

    /// The shard that has a name; this one from now on if none has.
    pub fn claim(&self, name: &str, wanted: u32) -> shared::Result<u32> {
        let key = key(name);
        // Most are new, so that none is looked for before. Two that claim one for the same shard are of one mind.
        match settle::swap(&*self.0, &key, None, wanted.to_string().as_bytes())? {
            Swapped::Done => Ok(wanted),
            Swapped::Differs => self.read(&key)?.ok_or_else(|| damaged(&key)),
        }
    }

    fn read(&self, key: &str) -> shared::Result<Option<u32>> {
        let Some(value) = settle::read(|| self.0.value(key))? else { return Ok(None) };
        let number = std::str::from_utf8(&value).ok().and_then(|text| text.parse().ok());
        number.map(Some).ok_or_else(|| damaged(key))
    }
}

fn damaged(key: &str) -> shared::Error {
    shared::Error::Damaged { what: format!("the name {key}"), reason: "its value is not the number of a shard".into() }
}

/// The key of a name. Names that are too long for one are known by their checksum.
fn key(name: &str) -> String {
    let mut key = String::from("pv/");
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => key.push(byte.into()),
            _ => _ = write!(key, "_{byte:02x}"),
        }
    }
    if key.len() > shared::MAX_KEY_LEN - 64 {
        key = format!("pv/_long/{:032x}", xxhash_rust::xxh3::xxh3_128(name.as_bytes()));
    }
    key
}

#[cfg(test)]
mod tests {
    use shared::{is_key, twin::Memory};

    use super::*;

    #[test]
    fn a_name_belongs_to_the_shard_that_claimed_it_first() {
        let claims = Claims::new(Arc::new(Memory::default()));
        assert_eq!(claims.claim("SR:C01{BPM:1}x", 5).unwrap(), 5);
        assert_eq!(claims.claim("SR:C01{BPM:1}x", 9).unwrap(), 5);
        assert_eq!(claims.claim("SR:C01{BPM:1}y", 9).unwrap(), 9);
    }

    #[test]
    fn no_two_names_have_one_key_and_each_key_is_one() {
        let long = ":".repeat(255);
        let names = ["a", "a_3a", "a:", "..", "ä", "a/b", "a_b", long.as_str()];
        let keys: Vec<String> = names.iter().map(|name| key(name)).collect();
        assert!(keys.iter().all(|key| is_key(key)), "{keys:?}");
        let mut unique = keys.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), keys.len());
    }
}
