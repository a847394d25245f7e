//! Shares: what another node takes of an import, as the node sends it that was given the import. It comes in pieces, of which neither end holds
//! more than a few, and counts if its end came.
//!
//! ```text
//!   POST /internal/v1/import     body := question (pv (batch | metadata | gap)*)* name end         (frames of `frame`)
//!                                answer, behind the end of the body: one piece in the bytes of the cluster
//!   connection ─► chunks, some wait ─► a thread takes them apart ─► the cluster's Intake
//! ```

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

use std::{pin::Pin, sync::Arc, time::Duration};

use archive::{Cost, GapScope, PvId, Record, Sent, SourceError};
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use sample::Batch;
use tokio::{
    sync::{Semaphore, mpsc},
    task::spawn_blocking,
    time::timeout,
};

use crate::{
    frame::{BYTES_MAX, HEAD_BYTES, Item},
    link::Sending,
    listener::{BATCH_BYTES_MAX, Cluster},
    lots::{Frames, Sender},
    source::nonsense,
};

/// The last part of the URL.
pub(crate) const NAME: &str = "import";
/// A node takes at most so many shares at a time, apart from all answers; another one waits so long for its turn.
pub(crate) const SHARES_MAX: usize = 4;
const TURN_WITHIN: Duration = Duration::from_secs(2);
/// A node that sends nothing of a share for so long has gone. It may be sending other shares meanwhile, to nodes whose disks are slow.
const COMES_WITHIN: Duration = Duration::from_secs(120);
/// At most so many chunks of a body wait.
const CHUNKS_MAX: usize = 4;

/// What is sent to another node of an import. Dropped before its answer was asked for, nothing of it counts.
pub struct Share {
    sending: Sending,
    name: String,
    pv: Option<PvId>,
}

impl Share {
    pub(crate) fn begin(mut sending: Sending, name: &str, question: Vec<u8>) -> Result<Share, SourceError> {
        sending.give(&Item::Cluster(question))?;
        Ok(Share { sending, name: name.to_owned(), pv: None })
    }

    /// Sends something of a PV.
    pub fn put(&mut self, pv: PvId, record: &Record) -> Result<(), SourceError> {
        if self.pv.replace(pv) != Some(pv) {
            self.sending.give(&Item::Pv(pv))?;
        }
        match record {
            Record::Samples(batch) => self.put_batch(batch),
            Record::Array(batch) => self.put_batch(batch),
            Record::Sample(sample) | Record::LedgerRow(sample) => self.put_batch(&Batch::of(sample)),
            Record::Gap(gap) => self.sending.give(&Item::Gap(GapScope::Pv, *gap)),
            Record::Metadata(since, metadata) => self.sending.give(&Item::Metadata(*since, (**metadata).clone())),
        }
    }

    fn put_batch(&mut self, batch: &Batch) -> Result<(), SourceError> {
        if batch.byte_size() <= BATCH_BYTES_MAX || batch.len() == 1 {
            return self.sending.give(&Item::Batch(batch.clone()));
        }
        (0..batch.len()).try_for_each(|row| self.sending.give(&Item::Batch(batch.slice(row..row + 1))))
    }

    /// Says that this was all, and what the part is called.
    pub fn end(&mut self, part: &str) -> Result<(), SourceError> {
        self.sending.give(&Item::Text(part.to_owned()))?;
        self.sending.end()
    }

    /// What the other node says when it has entered all of it, or why it has not.
    pub fn answer(self) -> Result<Vec<u8>, SourceError> {
        let mut answer = None;
        for item in self.sending.answer()? {
            match item? {
                Item::Cluster(bytes) => answer = Some(bytes),
                _ => return Err(nonsense(&self.name)),
            }
        }
        answer.ok_or_else(|| nonsense(&self.name))
    }
}

/// Takes a share, and gives the answer when all of its body has come: who sends listens no sooner. None if the body is none, or breaks off.
pub(crate) async fn take(cluster: Arc<dyn Cluster>, turns: Arc<Semaphore>, mut body: Incoming) -> Option<Frames> {
    let turn = timeout(TURN_WITHIN, turns.acquire_owned()).await;
    let (chunks, come) = mpsc::channel(CHUNKS_MAX);
    let (send, lots) = mpsc::channel(2);
    let work = move || {
        let mut sender = Sender::new(send);
        let answer = match turn {
            Ok(Ok(_held)) => taken(&*cluster, &mut Pieces::new(come)),
            _ => Err("it takes shares of too many imports already".to_owned()),
        };
        let item = match answer {
            Ok(answer) => Item::Cluster(answer),
            Err(message) => Item::Trouble(SourceError { cost: Cost::UntilBack, message }),
        };
        if sender.give(&item).is_ok() {
            let _ = sender.end(); // who asked may have gone
        }
    };
    tokio::spawn(async move {
        if let Err(error) = spawn_blocking(work).await {
            tracing::error!("a share of an import could not be taken: {error}"); // its answer has no end, so who asked sees it
        }
    });
    loop {
        let next = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        let Some(frame) = timeout(COMES_WITHIN, next).await.ok()? else { return Some(Frames::of(lots)) };
        let Ok(bytes) = frame.ok()?.into_data() else { continue };
        // What was refused is read to its end all the same: who sends it would not see the answer before.
        let _ = chunks.send(bytes).await;
    }
}

fn taken(cluster: &dyn Cluster, pieces: &mut Pieces) -> Result<Vec<u8>, String> {
    match pieces.item()? {
        Item::Cluster(question) => cluster.take(&question, pieces),
        _ => Err(NONSENSE.to_owned()),
    }
}

const NONSENSE: &str = "what came of a share of an import makes no sense; run the same version on both nodes";
const BROKEN_OFF: &str = "a share of an import broke off";

/// The pieces of a share as they come.
struct Pieces {
    come: mpsc::Receiver<Bytes>,
    /// What came and is not taken apart yet.
    raw: Bytes,
    frame: Vec<u8>,
    count: u64,
    pv: Option<PvId>,
    /// Nothing follows: its end came, or something that is wrong.
    is_over: bool,
}

impl Pieces {
    fn new(come: mpsc::Receiver<Bytes>) -> Pieces {
        Pieces { come, raw: Bytes::new(), frame: Vec::new(), count: 0, pv: None, is_over: false }
    }

    fn item(&mut self) -> Result<Item, String> {
        self.read(HEAD_BYTES)?;
        let size = self.frame.first_chunk().map_or(0, |size| u32::from_le_bytes(*size)) as usize;
        if size == 0 || size > BYTES_MAX {
            return Err(NONSENSE.to_owned());
        }
        self.read(size)?;
        let item = Item::read(&self.frame).ok_or(NONSENSE)?;
        // One large array must not be held as long as the share comes.
        self.frame.shrink_to(1 << 20);
        self.count += 1;
        Ok(item)
    }

    /// The next bytes, into `frame`: room is made as they come.
    fn read(&mut self, wanted: usize) -> Result<(), String> {
        self.frame.clear();
        while self.frame.len() < wanted {
            if self.raw.is_empty() {
                self.raw = self.come.blocking_recv().ok_or(BROKEN_OFF)?;
            }
            let some = self.raw.split_to(self.raw.len().min(wanted - self.frame.len()));
            self.frame.extend_from_slice(&some);
        }
        Ok(())
    }

    fn piece(&mut self) -> Result<Sent, String> {
        loop {
            let record = match self.item()? {
                Item::Pv(pv) => {
                    self.pv = Some(pv);
                    continue;
                }
                Item::Batch(batch) => Record::Samples(batch),
                Item::Gap(_, gap) => Record::Gap(gap),
                Item::Metadata(since, metadata) => Record::Metadata(since, metadata.into()),
                Item::Text(part) => {
                    let before = self.count;
                    let ends = self.item()? == Item::End(before);
                    return if ends { Ok(Sent::Part(part)) } else { Err(NONSENSE.to_owned()) };
                }
                _ => return Err(NONSENSE.to_owned()),
            };
            return self.pv.map(|pv| Sent::Record(pv, record)).ok_or_else(|| NONSENSE.to_owned());
        }
    }
}

impl Iterator for Pieces {
    type Item = Result<Sent, String>;

    fn next(&mut self) -> Option<Result<Sent, String>> {
        if self.is_over {
            return None;
        }
        let piece = self.piece();
        self.is_over = !matches!(piece, Ok(Sent::Record(..)));
        Some(piece)
    }
}

/// Any bytes as the body of a share, in chunks of a few.
pub(crate) fn pieces_of(body: &[u8], chunk: usize) -> Vec<Result<Sent, String>> {
    let (chunks, come) = mpsc::channel(body.len() / chunk.max(1) + 1);
    body.chunks(chunk.max(1)).for_each(|some| _ = chunks.try_send(Bytes::copy_from_slice(some)));
    drop(chunks);
    let mut pieces = Pieces::new(come);
    match pieces.item() {
        Ok(Item::Cluster(_)) => pieces.collect(),
        _ => vec![Err(NONSENSE.to_owned())],
    }
}

#[cfg(test)]
mod tests {
    use sample::{Alarm, Gap, GapCause, Metadata, Sample, Timestamp, Value};

    use super::*;

    fn body(items: &[Item]) -> Vec<u8> {
        items.iter().flat_map(|item| item.frame().expect("it is short")).collect()
    }

    #[test]
    fn a_share_comes_whole_however_it_was_cut_and_no_part_of_one_ends_as_one() {
        let time = Timestamp::from_seconds(1_800_000_000, 1);
        let sample = Sample { time, value: Value::F64(1.5), alarm: Alarm::default(), pulse: 0, stamp: None };
        let gap = Gap { from: time, to: None, cause: GapCause::QueueFull, lost: 17 };
        let metadata = Metadata { units: Some("mA".to_owned()), ..Metadata::default() };
        let batch = Batch::of(&sample);
        let items = [
            Item::Cluster(vec![1]),
            Item::Pv(PvId(7)),
            Item::Batch(batch.clone()),
            Item::Gap(GapScope::Pv, gap),
            Item::Pv(PvId(9)),
            Item::Metadata(time, metadata.clone()),
            Item::Text("part 1".to_owned()),
            Item::End(7),
        ];
        let whole = body(&items);
        let expected = vec![
            Ok(Sent::Record(PvId(7), Record::Samples(batch))),
            Ok(Sent::Record(PvId(7), Record::Gap(gap))),
            Ok(Sent::Record(PvId(9), Record::Metadata(time, metadata.into()))),
            Ok(Sent::Part("part 1".to_owned())),
        ];
        for chunk in [1, 2, 7, whole.len()] {
            assert_eq!(pieces_of(&whole, chunk), expected);
        }
        for cut in 0..whole.len() {
            let pieces = pieces_of(&whole[..cut], 5);
            assert!(pieces.last().is_some_and(Result::is_err), "cut at {cut}: {pieces:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_an_error() {
        let text = || Item::Text("part".to_owned());
        let cases = [
            vec![Item::Cluster(vec![]), text(), Item::End(3)],
            vec![Item::Cluster(vec![]), text(), text(), Item::End(3)],
            vec![
                Item::Cluster(vec![]),
                Item::Gap(GapScope::Pv, Gap { from: Timestamp::MIN, to: None, cause: GapCause::QueueFull, lost: 0 }),
            ],
            vec![text(), Item::End(1)],
            vec![Item::Cluster(vec![]), Item::Alive],
        ];
        for items in cases {
            let pieces = pieces_of(&body(&items), 3);
            assert_eq!(pieces, vec![Err(NONSENSE.to_owned())], "{items:?}");
        }
        let long = [&body(&[Item::Cluster(vec![])])[..], &[0xff; 4]].concat();
        assert_eq!(pieces_of(&long, 3), vec![Err(NONSENSE.to_owned())]);
    }
}

#[cfg(test)]
mod on_the_way;
