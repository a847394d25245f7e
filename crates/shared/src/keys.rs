//! The names under which things of a shard lie in the shared store, and what they tell of their epoch.
//!
//! ```text
//!   17.a/seg/00000000000000e5/2026-W47/000000000007.seg/000003      the fourth piece of a segment that epoch 0xe5 wrote
//!   17.a/log/00000000000000e5/0000000000000002/0000000000-1f40/000000   of the log: file 2, from byte 0, 0x1f40 bytes
//!   17.a/body/00000000000000e5/0000000000000009/000000              of row 9 of that epoch, which was too long for the journal
//!   17.a/image/00000000000000e5/0000000000000009/000000             of the copy of the catalogue that row 9 names
//! ```
//!
//! No two epochs ever write one key, so nothing that a replaced owner still puts meets what its successor has put. Its journal is `17.a`,
//! its lease the name `lease/17.a`.

use std::fmt;

use crate::ids::Epoch;

/// No key is longer than this.
pub const MAX_KEY_LEN: usize = 512;

/// Whether a text can be a key, a name or a journal: letters, digits, `.`, `_`, `-` and `/`, at most 512 of them, no empty part and none of
/// dots alone. So it means the same as a path, in a URL and in a statement.
pub fn is_key(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/');
    let part = |part: &str| !part.is_empty() && part.bytes().any(|byte| byte != b'.');
    text.len() <= MAX_KEY_LEN && text.bytes().all(allowed) && text.split('/').all(part)
}

/// Which archive of the cluster: the shard's number, a dot, and which copy of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(String);

/// What lies under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Segment,
    Log,
    Body,
    Image,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Segment, Kind::Log, Kind::Body, Kind::Image];

    fn word(self) -> &'static str {
        match self {
            Kind::Segment => "seg",
            Kind::Log => "log",
            Kind::Body => "body",
            Kind::Image => "image",
        }
    }
}

impl Shard {
    /// A copy (`a`, `b`, …) of a shard.
    pub fn new(number: u32, copy: char) -> Option<Shard> {
        copy.is_ascii_lowercase().then(|| Shard(format!("{number}.{copy}")))
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.0.split('.').next().and_then(|number| number.parse().ok()).expect("`new` wrote it")
    }

    /// The journal of the shard.
    pub fn journal(&self) -> &str {
        &self.0
    }

    /// The name whose value is the lease of the shard.
    pub fn lease(&self) -> String {
        format!("lease/{}", self.0)
    }

    /// The key in the shared store of what is called `key` within the shard.
    pub(crate) fn full(&self, key: &str) -> String {
        format!("{}/{key}", self.0)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The key, within the shard, of a segment that has the key `local` in the archive of its owner.
pub fn segment_key(epoch: Epoch, local: &str) -> String {
    format!("{}/{:016x}/{local}", Kind::Segment.word(), epoch.0)
}

/// The epoch that wrote the segment with a key within the shard, and the key that it has in the archive of its owner.
pub fn segment_of(key: &str) -> Option<(Epoch, &str)> {
    let (epoch, local) = key.strip_prefix(Kind::Segment.word())?.strip_prefix('/')?.split_once('/')?;
    Some((Epoch(u64::from_str_radix(epoch, 16).ok()?), local))
}

/// Whether a key is that of a piece of a segment, of any shard.
pub(crate) fn is_piece_of_segment(key: &str) -> bool {
    key.split_once('/').is_some_and(|(_, within)| segment_of(within).is_some())
}

/// The file of a log of which something with that key is a stretch.
pub(crate) fn file_of_log(key: &str) -> Option<u64> {
    let mut parts = key.strip_prefix(Kind::Log.word())?.strip_prefix('/')?.split('/');
    u64::from_str_radix(parts.nth(1)?, 16).ok()
}

/// The key of a stretch of a file of the log. Its length belongs to it: whoever comes back after an unknown outcome may have more to put.
pub(crate) fn log(epoch: Epoch, file: u64, at: u64, len: u64) -> String {
    format!("{}/{:016x}/{file:016x}/{at:010x}-{len:x}", Kind::Log.word(), epoch.0)
}

/// The key of the body of a row.
pub(crate) fn body(epoch: Epoch, id: u64) -> String {
    format!("{}/{:016x}/{id:016x}", Kind::Body.word(), epoch.0)
}

/// The key of a copy of the catalogue.
pub(crate) fn image(epoch: Epoch, id: u64) -> String {
    format!("{}/{:016x}/{id:016x}", Kind::Image.word(), epoch.0)
}

/// The key of a piece.
pub(crate) fn piece(key: &str, index: u64) -> String {
    format!("{key}/{index:06}")
}

/// The epoch that wrote a key of a shard, and the object to which it belongs.
pub(crate) fn object_of<'a>(shard: &Shard, key: &'a str) -> Option<(Epoch, &'a str)> {
    let key = key.strip_prefix(&shard.0)?.strip_prefix('/')?;
    let (object, _) = key.rsplit_once('/')?;
    let (word, rest) = key.split_once('/')?;
    Kind::ALL.iter().find(|kind| kind.word() == word)?;
    let (epoch, _) = rest.split_once('/')?;
    Some((Epoch(u64::from_str_radix(epoch, 16).ok()?), object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_who_wrote_it_and_what_it_is_a_piece_of() {
        let shard = Shard::new(17, 'a').unwrap();
        let key = shard.full(&piece(&segment_key(Epoch(0xe5), "2026-W47/000000000007.seg"), 3));
        assert_eq!(key, "17.a/seg/00000000000000e5/2026-W47/000000000007.seg/000003");
        assert!(is_key(&key));
        let object = "seg/00000000000000e5/2026-W47/000000000007.seg";
        assert_eq!(object_of(&shard, &key), Some((Epoch(0xe5), object)));
        assert_eq!(object_of(&Shard::new(1, 'a').unwrap(), &key), None, "of another shard");
        assert_eq!(segment_of(object), Some((Epoch(0xe5), "2026-W47/000000000007.seg")));
        assert_eq!(segment_of("log/00000000000000e5/x"), None);
        assert!(is_piece_of_segment(&key));
        assert!(!is_piece_of_segment("17.a/log/00000000000000e5/0000000000000002/0000000000-1f40/000000"));
        assert_eq!(file_of_log(&log(Epoch(1), 0x2f, 32, 100)), Some(0x2f));
        assert_eq!(object_of(&shard, "17.a/other/00000000000000e5/x"), None);
    }

    #[test]
    fn what_would_mean_something_else_as_a_path_or_in_a_url_is_no_key() {
        for wrong in ["", "/a", "a/", "a//b", "a/../b", "a b", "a?b", "a%2fb", "ä", "."] {
            assert!(!is_key(wrong), "{wrong}");
        }
        assert!(is_key("a/b.c/_-0"));
        assert!(!is_key(&"a".repeat(MAX_KEY_LEN + 1)));
        assert_eq!(Shard::new(17, '/'), None);
    }
}
