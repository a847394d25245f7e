//! The answers for several PVs in one, each opened when the one before it is through.

use crate::{delivery::chunk::Chunk, refusal::Refusal};

/// What stands before, between and after the parts.
pub(crate) type Frame = [&'static [u8]; 3];

/// Parts follow each other without anything in between.
pub(crate) const BARE: Frame = [b"", b"", b""];

pub(crate) struct InTurn<N, P, F> {
    /// What is to be sent before the next piece of a part.
    waiting: Vec<u8>,
    /// What comes behind that.
    kept: Option<Chunk>,
    left: std::vec::IntoIter<N>,
    open: F,
    current: Option<P>,
    begun: bool,
    ended: bool,
    frame: Frame,
}

impl<N, P, F> InTurn<N, P, F> {
    /// `open` makes the part of a name.
    pub(crate) fn new(names: Vec<N>, frame: Frame, open: F) -> InTurn<N, P, F> {
        let waiting = frame[0].to_vec();
        InTurn { waiting, kept: None, left: names.into_iter(), open, current: None, begun: false, ended: false, frame }
    }
}

impl<N, P, F, T, E> InTurn<N, P, F>
where
    P: Iterator<Item = Result<T, E>>,
    T: Into<Chunk>,
    E: Into<Refusal>,
    F: FnMut(N) -> Result<P, Refusal>,
{
    /// The next piece of any part; none at the end of the last.
    fn piece(&mut self) -> Result<Option<Chunk>, Refusal> {
        loop {
            if let Some(piece) = self.current.as_mut().and_then(Iterator::next) {
                return piece.map(|piece| Some(piece.into())).map_err(Into::into);
            }
            let Some(name) = self.left.next() else { return Ok(None) };
            if std::mem::replace(&mut self.begun, true) {
                self.waiting.extend_from_slice(self.frame[1]);
            }
            self.current = Some((self.open)(name)?);
        }
    }
}

impl<N, P, F, T, E> Iterator for InTurn<N, P, F>
where
    P: Iterator<Item = Result<T, E>>,
    T: Into<Chunk>,
    E: Into<Refusal>,
    F: FnMut(N) -> Result<P, Refusal>,
{
    type Item = Result<Chunk, Refusal>;

    fn next(&mut self) -> Option<Result<Chunk, Refusal>> {
        if let Some(kept) = self.kept.take() {
            return Some(Ok(kept));
        }
        if self.ended {
            return None;
        }
        let piece = self.piece();
        self.ended = !matches!(piece, Ok(Some(_)));
        match piece {
            Ok(Some(piece)) if self.waiting.is_empty() => Some(Ok(piece)),
            Ok(piece) => {
                let mut out = std::mem::take(&mut self.waiting);
                match piece {
                    None => out.extend_from_slice(self.frame[2]),
                    piece => self.kept = piece,
                }
                (!out.is_empty()).then(|| Ok(out.into()))
            }
            Err(error) => Some(Err(error)),
        }
    }
}
