//! Objects of JSON whose members are texts, written straight into an answer: to make a map of values for the row of each of a million
//! PVs takes ten times as long as the row. Members come in the order of their names, in which maps have them.

use super::line_buffer::ShortText;

/// The members of most objects take no more than this: the vector is asked for room once.
const ROOM_BYTES: usize = 512;

/// An object that is being written. All of it is inlined, so that names and quotes are copied as words, not as texts of some length: a row
/// takes less than half as long as with calls.
pub(crate) struct JsonObject<'o> {
    out: &'o mut Vec<u8>,
    last: &'static str,
}

impl<'o> JsonObject<'o> {
    #[inline(always)]
    pub(crate) fn begin(out: &'o mut Vec<u8>) -> JsonObject<'o> {
        out.reserve(ROOM_BYTES);
        out.push(b'{');
        JsonObject { out, last: "" }
    }

    /// A text that may hold anything.
    #[inline(always)]
    pub(crate) fn text(mut self, name: &'static str, text: &str) -> Self {
        self.name(name);
        put_text(self.out, text);
        self
    }

    /// A text that is known to need no escapes.
    #[inline(always)]
    pub(crate) fn word(mut self, name: &'static str, word: &str) -> Self {
        debug_assert!(is_plain(word.as_bytes()), "{word:?} needs escapes");
        self.name(name);
        put_plain(self.out, word.as_bytes());
        self
    }

    /// A text of digits.
    #[inline(always)]
    pub(crate) fn digits(mut self, name: &'static str, number: i64) -> Self {
        self.name(name);
        put_plain(self.out, ShortText::of(|line| line.signed(number)).bytes());
        self
    }

    #[inline(always)]
    pub(crate) fn end(self) {
        self.out.push(b'}');
    }

    #[inline(always)]
    fn name(&mut self, name: &'static str) {
        debug_assert!(self.last < name, "{name} comes before {}", self.last);
        self.out.extend_from_slice(if self.last.is_empty() { b"\"" } else { b",\"" });
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.last = name;
    }
}

/// A text in quotes.
#[inline(always)]
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    if is_plain(text.as_bytes()) {
        put_plain(out, text.as_bytes());
    } else {
        put_escaped(out, text);
    }
}

#[inline(always)]
fn put_plain(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(text);
    out.push(b'"');
}

#[cold]
fn put_escaped(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a text can be written as JSON into memory");
}

/// Whether a text needs no escapes. Eight bytes are looked at together, the last of which overlap: names have twenty to sixty.
#[inline(always)]
fn is_plain(text: &[u8]) -> bool {
    let (eights, rest) = text.as_chunks::<8>();
    let is_end_plain = match text.last_chunk::<8>() {
        Some(end) => are_plain(*end),
        None => rest.iter().all(|byte| *byte >= 0x20 && *byte != b'"' && *byte != b'\\'),
    };
    is_end_plain && eights.iter().all(|eight| are_plain(*eight))
}

/// The same of a word: where a bound is taken from each byte, those below it get a highest bit that they did not have. Control characters
/// are below a blank, and what equals a byte is below one once that is taken out of it.
#[inline(always)]
fn are_plain(eight: [u8; 8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(eight);
    let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word;
    let without = |byte: u8| word ^ (ONES * u64::from(byte));
    let found = below(word, 0x20) | below(without(b'"'), 1) | below(without(b'\\'), 1);
    found & (ONES << 7) == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_written_as_a_map_would_be() {
        for text in ["", "SR01C:MG-PS1", "a\"b", "a\\b", "über\u{7f}", "a\nb\u{1}", "🦀"] {
            for number in [0, 7, -7, 1_767_225_600, i64::MAX, i64::MIN] {
                let mut out = Vec::new();
                JsonObject::begin(&mut out).text("a", text).digits("b", number).text("c", "x").end();
                let map = json!({ "c": "x", "b": number.to_string(), "a": text });
                assert_eq!(String::from_utf8(out).unwrap(), map.to_string());
            }
        }
        let mut out = Vec::new();
        JsonObject::begin(&mut out).end();
        assert_eq!(out, b"{}");
    }

    /// Sixteen bytes are looked at together, and what is left at the end with some of those before it.
    #[test]
    fn what_needs_an_escape_is_found_wherever_it_stands() {
        for len in 0..50 {
            let plain = "x".repeat(len);
            assert!(is_plain(plain.as_bytes()), "{len}");
            for (place, special) in (0..len).flat_map(|place| [(place, "\""), (place, "\\"), (place, "\u{1f}")]) {
                let text = format!("{}{special}{}", &plain[..place], &plain[place + 1..]);
                let mut out = Vec::new();
                put_text(&mut out, &text);
                assert_eq!(String::from_utf8(out).unwrap(), json!(text).to_string());
            }
        }
    }
}
