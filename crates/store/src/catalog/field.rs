//! What keys and values of the catalogue consist of, as bytes: in what a transaction changes, and in a whole catalogue.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use redb::Value;

use crate::bytes::{Cursor, Malformed, put_blob, put_varint};

/// What keys and values of the catalogue consist of. redb's own bytes are not used: it trusts them.
pub(super) trait Field: Value + 'static {
    fn put(out: &mut Vec<u8>, value: &Self::SelfType<'_>);
    fn take<'a>(cursor: &mut Cursor<'a>) -> Result<Self::SelfType<'a>, Malformed>;
}

impl Field for u8 {
    fn put(out: &mut Vec<u8>, value: &u8) {
        out.push(*value);
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<u8, Malformed> {
        cursor.u8()
    }
}

impl Field for u32 {
    fn put(out: &mut Vec<u8>, value: &u32) {
        put_varint(out, u64::from(*value));
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<u32, Malformed> {
        u32::try_from(cursor.varint()?).map_err(|_| Malformed("a number has more than 32 bits"))
    }
}

impl Field for u64 {
    fn put(out: &mut Vec<u8>, value: &u64) {
        put_varint(out, *value);
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<u64, Malformed> {
        cursor.varint()
    }
}

impl Field for i64 {
    fn put(out: &mut Vec<u8>, value: &i64) {
        out.extend_from_slice(&value.to_le_bytes());
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<i64, Malformed> {
        cursor.i64()
    }
}

impl Field for () {
    fn put(_: &mut Vec<u8>, (): &()) {}

    fn take(_: &mut Cursor<'_>) -> Result<(), Malformed> {
        Ok(())
    }
}

impl Field for [u8; 32] {
    fn put(out: &mut Vec<u8>, value: &[u8; 32]) {
        out.extend_from_slice(value);
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<[u8; 32], Malformed> {
        cursor.array()
    }
}

impl Field for &'static [u8] {
    fn put(out: &mut Vec<u8>, value: &&[u8]) {
        put_blob(out, value);
    }

    fn take<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Malformed> {
        cursor.blob()
    }
}

impl Field for &'static str {
    fn put(out: &mut Vec<u8>, value: &&str) {
        put_blob(out, value.as_bytes());
    }

    fn take<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, Malformed> {
        std::str::from_utf8(cursor.blob()?).map_err(|_| Malformed("a text is not UTF-8"))
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn put(out: &mut Vec<u8>, (a, b): &(A::SelfType<'_>, B::SelfType<'_>)) {
        A::put(out, a);
        B::put(out, b);
    }

    fn take<'a>(cursor: &mut Cursor<'a>) -> Result<(A::SelfType<'a>, B::SelfType<'a>), Malformed> {
        Ok((A::take(cursor)?, B::take(cursor)?))
    }
}

impl<A: Field, B: Field, C: Field> Field for (A, B, C) {
    fn put(out: &mut Vec<u8>, (a, b, c): &(A::SelfType<'_>, B::SelfType<'_>, C::SelfType<'_>)) {
        A::put(out, a);
        B::put(out, b);
        C::put(out, c);
    }

    fn take<'a>(cursor: &mut Cursor<'a>) -> Result<(A::SelfType<'a>, B::SelfType<'a>, C::SelfType<'a>), Malformed> {
        Ok((A::take(cursor)?, B::take(cursor)?, C::take(cursor)?))
    }
}
