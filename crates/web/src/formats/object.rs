//! Objects of JSON whose members are texts, written straight into an answer: to make a map of values for the row of each of a million
//! PVs takes ten times as long as the row. Members come in the order of their names, in which maps have them.

use super::line_buffer::ShortText;

/// The members of most objects take no more than this: the vector is asked for room once.
pub(crate) const ROOM_BYTES: usize = 512;

/// Writes an object: `put_object!(out, { "name": text(name), "state": word("Paused"), "count": digits(7) })`. All that stands between two
/// values is one text, so that a row of few members is few copies.
macro_rules! put_object {
    ($out:expr, { $first:literal: $put:ident($value:expr) $(, $name:literal: $puts:ident($values:expr))* $(,)? }) => {{
        const _: () = assert!($crate::formats::object::are_sorted(&[$first $(, $name)*]), "names of members are in order");
        let out: &mut Vec<u8> = $out;
        out.reserve($crate::formats::object::ROOM_BYTES);
        out.extend_from_slice(concat!("{\"", $first, "\":\"").as_bytes());
        $crate::formats::object::$put(out, $value);
        $(
            out.extend_from_slice(concat!("\",\"", $name, "\":\"").as_bytes());
            $crate::formats::object::$puts(out, $values);
        )*
        out.extend_from_slice(b"\"}");
    }};
}
pub(crate) use put_object;

/// Whether names stand in their order, each once.
pub(crate) const fn are_sorted(names: &[&str]) -> bool {
    let mut place = 1;
    while place < names.len() {
        let (one, next) = (names[place - 1].as_bytes(), names[place].as_bytes());
        let mut at = 0;
        while at < one.len() && at < next.len() && one[at] == next[at] {
            at += 1;
        }
        if at == next.len() || (at < one.len() && one[at] > next[at]) {
            return false;
        }
        place += 1;
    }
    true
}

/// The value of a member that may hold anything.
#[inline(always)]
pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    if is_plain(text.as_bytes()) {
        out.extend_from_slice(text.as_bytes());
    } else {
        put_escaped(out, text);
    }
}

/// One that is known to need no escapes.
#[inline(always)]
pub(crate) fn word(out: &mut Vec<u8>, word: &str) {
    debug_assert!(is_plain(word.as_bytes()), "{word:?} needs escapes");
    out.extend_from_slice(word.as_bytes());
}

/// A text of digits.
#[inline(always)]
pub(crate) fn digits(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(ShortText::of(|line| line.signed(number)).bytes());
}

/// One that somebody else writes, which needs no escapes.
#[inline(always)]
pub(crate) fn with(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    put(out);
}

/// A text in quotes.
#[inline(always)]
pub(crate) fn put_text(out: &mut Vec<u8>, value: &str) {
    out.push(b'"');
    text(out, value);
    out.push(b'"');
}

#[cold]
fn put_escaped(out: &mut Vec<u8>, text: &str) {
    let quoted = serde_json::to_string(text).expect("a text can be written as JSON into memory");
    out.extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
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
                put_object!(&mut out, { "a": text(text), "b": digits(number), "c": word("x") });
                let map = json!({ "c": "x", "b": number.to_string(), "a": text });
                assert_eq!(String::from_utf8(out).unwrap(), map.to_string());
            }
        }
    }

    #[test]
    fn members_that_are_not_in_order_are_known() {
        for (names, are_in_order) in [
            (&["a"][..], true),
            (&["a", "ab", "b"], true),
            (&["A", "a"], true),
            (&["a", "A"], false),
            (&["a", "a"], false),
            (&["ab", "a"], false),
            (&["a", "c", "b"], false),
        ] {
            assert_eq!(are_sorted(names), are_in_order, "{names:?}");
        }
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
