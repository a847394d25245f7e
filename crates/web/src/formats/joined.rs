//! The answers for several PVs in one, each opened when the one before it is through: what stands before, between and after them.

use axum::body::Bytes;

use crate::{delivery::chunk::Chunk, refusal::Refusal};

/// What stands before, between and after the parts.
pub(crate) type Frame = [&'static [u8]; 3];

/// Objects as the elements of a list, laid out as the Archiver Appliance does.
pub(crate) const LISTED: Frame = [b"[ \n", b",\n", b" ]\n"];

/// Chunks of protobuf lines, with the empty line between them that announces a new header.
pub(crate) const CHUNKED: Frame = [b"", b"\n", b""];

pub(crate) struct Joined<N, P, F> {
    /// What is to be sent before the next piece of a part.
    waiting: Vec<u8>,
    /// What comes behind that.
    kept: Option<Chunk>,
    current: P,
    left: std::vec::IntoIter<N>,
    open: F,
    frame: Frame,
    ended: bool,
}

impl<N, P, F: FnMut(N) -> Result<P, Refusal>> Joined<N, P, F> {
    /// `open` makes the part of a name, of which there must be one; the first is opened now.
    pub(crate) fn new(first: N, others: Vec<N>, frame: Frame, mut open: F) -> Result<Joined<N, P, F>, Refusal> {
        let (left, current) = (others.into_iter(), open(first)?);
        Ok(Joined { waiting: frame[0].to_vec(), kept: None, current, left, open, frame, ended: false })
    }
}

/// One part alone, which is open already.
pub(crate) type Alone<P> = Joined<P, P, fn(P) -> Result<P, Refusal>>;

pub(crate) fn alone<P>(part: P, frame: Frame) -> Result<Alone<P>, Refusal> {
    Joined::new(part, Vec::new(), frame, Ok)
}

impl<N, P, F> Joined<N, P, F>
where
    P: Iterator<Item = Result<Chunk, query::Error>>,
    F: FnMut(N) -> Result<P, Refusal>,
{
    fn piece(&mut self) -> Result<Option<Chunk>, Refusal> {
        if let Some(kept) = self.kept.take() {
            return Ok(Some(kept));
        }
        loop {
            match self.current.next().transpose()? {
                Some(piece) if self.waiting.is_empty() => return Ok(Some(piece)),
                Some(piece) => {
                    self.kept = Some(piece);
                    return Ok(Some(std::mem::take(&mut self.waiting).into()));
                }
                None => match self.left.next() {
                    Some(name) => {
                        self.current = (self.open)(name)?;
                        self.waiting.extend_from_slice(self.frame[1]);
                    }
                    None => {
                        self.ended = true;
                        return Ok((!self.frame[2].is_empty()).then(|| Bytes::from_static(self.frame[2]).into()));
                    }
                },
            }
        }
    }
}

impl<N, P, F> Iterator for Joined<N, P, F>
where
    P: Iterator<Item = Result<Chunk, query::Error>>,
    F: FnMut(N) -> Result<P, Refusal>,
{
    type Item = Result<Chunk, Refusal>;

    fn next(&mut self) -> Option<Result<Chunk, Refusal>> {
        if self.ended {
            return None;
        }
        let piece = self.piece();
        self.ended |= piece.is_err();
        piece.transpose()
    }
}
