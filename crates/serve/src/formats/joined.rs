//! The answers for several PVs in one: what stands before, between and after them.

use axum::body::Bytes;

use crate::answer::Chunks;

pub(crate) struct Joined<P> {
    /// What is to be sent before the next piece of a part.
    waiting: Vec<u8>,
    current: Option<P>,
    left: std::vec::IntoIter<P>,
    between: &'static [u8],
    after: &'static [u8],
}

impl<P> Joined<P> {
    /// Objects as the elements of a list, laid out as the Archiver Appliance does.
    pub(crate) fn list(parts: Vec<P>) -> Joined<P> {
        Joined::new(parts, [b"[ \n", b",\n", b" ]\n"])
    }

    /// Chunks of protobuf lines, with the empty line between them that announces a new header.
    pub(crate) fn chunks(parts: Vec<P>) -> Joined<P> {
        Joined::new(parts, [b"", b"\n", b""])
    }

    fn new(parts: Vec<P>, [before, between, after]: [&'static [u8]; 3]) -> Joined<P> {
        let mut left = parts.into_iter();
        let current = left.next();
        Joined { waiting: before.to_vec(), current, left, between, after }
    }
}

impl<P: Chunks<query::Error>> Chunks<query::Error> for Joined<P> {
    fn is_at_hand(&self) -> bool {
        self.current.as_ref().is_some_and(Chunks::is_at_hand)
    }
}

impl<P: Iterator<Item = Result<Bytes, query::Error>>> Iterator for Joined<P> {
    type Item = Result<Bytes, query::Error>;

    fn next(&mut self) -> Option<Result<Bytes, query::Error>> {
        loop {
            match self.current.as_mut()?.next() {
                Some(Ok(piece)) if self.waiting.is_empty() => return Some(Ok(piece)),
                Some(Ok(piece)) => {
                    let mut out = std::mem::take(&mut self.waiting);
                    out.extend_from_slice(&piece);
                    return Some(Ok(out.into()));
                }
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    self.current = self.left.next();
                    if self.current.is_some() {
                        self.waiting.extend_from_slice(self.between);
                        continue;
                    }
                    return (!self.after.is_empty()).then(|| Ok(Bytes::from_static(self.after)));
                }
            }
        }
    }
}
