//! Lots: pieces of an answer that are made one right after the other go to the connection together, as each hand-over from the thread that
//! makes them takes longer than most pieces.
//!
//! ```text
//!   thread ─► piece, piece, piece ─► lot ─► two lots wait ─► connection, which says in between that somebody works on the next
//! ```

use std::{
    error, mem,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use archive::{Cost, SourceError};
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::{
    runtime::Handle,
    sync::mpsc::{self, error::TrySendError},
    time::{Instant, Sleep, sleep, timeout},
};

use crate::frame::Item;

/// How often a node says that it still works on an answer.
const ALIVE_EACH: Duration = Duration::from_millis(250);
/// A lot is handed over once it has this many bytes of frames. A thousand bins of a year are 1,400 summaries of 85 bytes: each by itself, they took nine times as
/// long as at the node that has them (`make cluster-load`).
const LOT_BYTES: usize = 32 << 10;
/// A piece that comes so long after the last hand-over is not kept back; one that comes sooner waits for the next.
const LOT_TIME: Duration = Duration::from_millis(2);
/// The longest that a lot waits until its reader takes it.
const TAKEN_WITHIN: Duration = Duration::from_secs(120);

/// Nobody takes the answer any more.
pub(crate) struct Gone;

/// Some frames that go together.
pub(crate) struct Lot {
    frames: Vec<u8>,
    behind: Behind,
}

/// What follows a lot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    More,
    Nothing,
}

/// Gathers the pieces of an answer, and hands them over.
pub(crate) struct Sender {
    send: mpsc::Sender<Lot>,
    lot: Vec<u8>,
    /// When the last lot was handed over.
    handed_over: Instant,
    count: u64,
}

impl Sender {
    /// Hands lots over there.
    pub(crate) fn new(send: mpsc::Sender<Lot>) -> Sender {
        Sender { send, lot: Vec::new(), handed_over: Instant::now(), count: 0 }
    }

    /// Takes a piece.
    pub(crate) fn give(&mut self, item: &Item) -> Result<(), Gone> {
        let frame = item.frame().or_else(|| too_long().frame()).ok_or(Gone)?;
        self.count += 1;
        if self.lot.is_empty() {
            self.lot = frame;
        } else {
            self.lot.extend_from_slice(&frame);
        }
        let is_due = self.lot.len() >= LOT_BYTES || self.handed_over.elapsed() >= LOT_TIME;
        if is_due { self.hand_over(Behind::More) } else { Ok(()) }
    }

    /// Says how many pieces there were.
    pub(crate) fn end(&mut self) -> Result<(), Gone> {
        let end = Item::End(self.count).frame().ok_or(Gone)?;
        self.lot.extend_from_slice(&end);
        self.hand_over(Behind::Nothing)
    }

    fn hand_over(&mut self, behind: Behind) -> Result<(), Gone> {
        let lot = Lot { frames: mem::take(&mut self.lot), behind };
        let sent = match self.send.try_send(lot) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(lot)) => {
                let taken = Handle::current().block_on(timeout(TAKEN_WITHIN, self.send.send(lot)));
                taken.map_err(|_| Gone)?.map_err(|_| Gone)
            }
            Err(TrySendError::Closed(_)) => Err(Gone),
        };
        self.handed_over = Instant::now();
        sent
    }
}

fn too_long() -> Item {
    Item::Trouble(SourceError {
        cost: Cost::Answer,
        message: "a sample is too large to be sent to another node".to_owned(),
    })
}

/// An answer: frames as they are made, and in between that somebody works on them.
pub(crate) struct Frames {
    /// None when nothing follows.
    lots: Option<mpsc::Receiver<Lot>>,
    alive: Pin<Box<Sleep>>,
}

impl Frames {
    /// Of the lots that come.
    pub(crate) fn of(lots: mpsc::Receiver<Lot>) -> Frames {
        Frames { lots: Some(lots), alive: Box::pin(sleep(ALIVE_EACH)) }
    }

    /// No answer.
    pub(crate) fn none() -> Frames {
        Frames { lots: None, alive: Box::pin(sleep(Duration::ZERO)) }
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Box<dyn error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Some(lots) = &mut self.lots else { return Poll::Ready(None) };
        let frames = match lots.poll_recv(context) {
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(lot)) => {
                if lot.behind == Behind::Nothing {
                    self.lots = None; // so that the end of the answer is sent with it
                }
                lot.frames
            }
            Poll::Pending => {
                ready!(self.alive.as_mut().poll(context));
                Item::Alive.frame().unwrap_or_default()
            }
        };
        self.alive.as_mut().reset(Instant::now() + ALIVE_EACH);
        Poll::Ready(Some(Ok(Frame::data(frames.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.lots.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.lots.is_none() { SizeHint::with_exact(0) } else { SizeHint::default() }
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::spawn_blocking;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads")
    }

    /// The lots of an answer that is made by `give`.
    fn lots(give: impl FnOnce(&mut Sender) -> Result<(), Gone> + Send + 'static) -> Vec<Lot> {
        runtime().block_on(async {
            let (send, mut lots) = mpsc::channel(2);
            let made = spawn_blocking(move || {
                let mut sender = Sender::new(send);
                give(&mut sender).and_then(|()| sender.end())
            });
            let mut all = Vec::new();
            while let Some(lot) = lots.recv().await {
                all.push(lot);
            }
            assert!(made.await.expect("it does not panic").is_ok());
            all
        })
    }

    fn name() -> Item {
        Item::Name("N".repeat(80))
    }

    #[test]
    fn small_pieces_go_together_and_all_of_them_come() {
        let lots = lots(|sender| (0..5000).try_for_each(|_| sender.give(&name())));
        assert!(lots.len() < 500, "{} lots of 5000 pieces", lots.len());
        let frame = name().frame().expect("it is short");
        let end = Item::End(5000).frame().expect("it is short");
        let whole: Vec<u8> = lots.iter().flat_map(|lot| lot.frames.clone()).collect();
        assert_eq!(whole, [frame.repeat(5000), end].concat());
        assert!(lots.iter().all(|lot| lot.frames.len() < LOT_BYTES + frame.len()));
        let ends = lots.iter().position(|lot| lot.behind == Behind::Nothing);
        assert_eq!(ends, Some(lots.len() - 1));
    }

    #[test]
    fn a_piece_that_took_a_while_is_not_kept_back() {
        let slow = |sender: &mut Sender| {
            (0..3).try_for_each(|_| {
                sender.handed_over -= LOT_TIME;
                sender.give(&name())
            })
        };
        assert_eq!(lots(slow).len(), 4);
    }

    #[test]
    fn a_short_answer_is_one_lot_and_its_end_comes_with_it() {
        runtime().block_on(async {
            let (send, lots) = mpsc::channel(2);
            let made = spawn_blocking(move || {
                let mut sender = Sender::new(send);
                sender.handed_over += Duration::from_secs(60); // however long this thread is kept waiting
                let given = sender.give(&Item::Absent);
                given.and_then(|()| sender.end())
            });
            assert!(made.await.expect("it does not panic").is_ok());
            let mut frames = Frames::of(lots);
            let first = std::future::poll_fn(|context| Pin::new(&mut frames).poll_frame(context)).await;
            let bytes = first.and_then(Result::ok).and_then(|frame| frame.into_data().ok()).expect("it is there");
            let expected = [Item::Absent, Item::End(1)].map(|item| item.frame().expect("it is short")).concat();
            assert_eq!(bytes, expected);
            assert!(frames.is_end_stream());
        });
    }
}
