//! Tests of answers on their way: their order, damage, clients that leave or stop reading, formats that panic, and crowds.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use axum::body::Bytes;
use futures_util::{Stream, StreamExt, stream::BoxStream};
use sample::{Alarm, Arrays, Batch, Column, Element, Runs, Timestamp};

use super::{
    Delivery,
    backlog::AnswerBacklog,
    chunk::{Chunk, Rows, TextRows},
    crowd::{Crowd, FEW},
    sending::{AHEAD_BYTES, Sending},
};
use crate::delivery::pieces::Piece;

/// As the store gives them.
const BATCH_ROWS: usize = 8192;
const ROW_BYTES: usize = 16;

/// A number in each row.
fn batch(rows: Range<usize>) -> Batch {
    let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
    alarms.push(&Alarm::default(), rows.len());
    pulses.push(&0, rows.len());
    let times = rows.clone().map(|row| Timestamp::from_nanos(row as i64)).collect();
    let values = Column::I64(rows.map(|row| row as i64).collect());
    Batch::from_columns(times, values, alarms, pulses).unwrap()
}

fn put(out: &mut Vec<u8>, piece: &Piece) {
    let Column::I64(numbers) = piece.values() else { panic!("they are numbers") };
    numbers[piece.rows()].iter().for_each(|number| out.extend_from_slice(format!("{number:040}\n").as_bytes()));
}

/// The lines of so many rows.
fn text(rows: Range<usize>) -> Vec<u8> {
    rows.flat_map(|row| format!("{row:040}\n").into_bytes()).collect()
}

/// What is read of an answer: so many batches, of which every fifth is bytes.
struct Read {
    next: usize,
    batches: usize,
    /// How many were read; held by others too as long as more may be.
    read: Arc<AtomicUsize>,
    end: Result<(), &'static str>,
    put: fn(&mut Vec<u8>, &Piece),
}

impl Read {
    fn new(batches: usize) -> Read {
        Read { next: 0, batches, read: Arc::default(), end: Ok(()), put }
    }
}

impl Iterator for Read {
    type Item = Result<Chunk, &'static str>;

    fn next(&mut self) -> Option<Result<Chunk, &'static str>> {
        if self.next == self.batches {
            return std::mem::replace(&mut self.end, Ok(())).err().map(Err);
        }
        let rows = self.next * BATCH_ROWS..(self.next + 1) * BATCH_ROWS;
        self.next += 1;
        self.read.fetch_add(1, Relaxed);
        Some(Ok(match self.next % 5 {
            0 => text(rows).into(),
            _ => Rows::lines(batch(rows).into(), self.put).into(),
        }))
    }
}

/// On a machine of so many processors.
fn delivery(processors: usize) -> Delivery {
    Delivery::with(Crowd::on(processors), 1 << 20)
}

fn sent(delivery: &Delivery, read: Read) -> BoxStream<'static, Result<Bytes, String>> {
    Sending::new(delivery, VecDeque::new(), AnswerBacklog::default(), read).into_stream().boxed()
}

/// All that comes, and how it ends.
async fn all(mut stream: impl Stream<Item = Result<Bytes, String>> + Unpin) -> (Vec<u8>, Result<(), String>) {
    let mut whole = Vec::new();
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(chunk) => whole.extend_from_slice(&chunk),
            Err(why) => return (whole, Err(why)),
        }
    }
    (whole, Ok(()))
}

/// Waits until something is so.
async fn until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "that takes too long");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// With nobody else, with others for all processors, and in a crowd.
fn all_paces() -> [(Delivery, Vec<super::crowd::UnderWay>); 3] {
    [0, 2, FEW + 1].map(|others| {
        let delivery = delivery(2);
        let others = (0..others).map(|_| delivery.crowd.join()).collect();
        (delivery, others)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_makes_the_text_it_comes_in_order() {
    for (delivery, _others) in all_paces() {
        for batches in [0, 1, 4, 5, 40] {
            let (whole, end) = all(sent(&delivery, Read::new(batches))).await;
            assert_eq!(end, Ok(()));
            assert!(whole == text(0..batches * BATCH_ROWS), "{batches} batches");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_breaks_the_answer_off_behind_all_that_could() {
    for (delivery, _others) in all_paces() {
        for batches in [0, 3, 12] {
            let read = Read { end: Err("a disk does not answer"), ..Read::new(batches) };
            let (whole, end) = all(sent(&delivery, read)).await;
            assert_eq!(end, Err("a disk does not answer".to_owned()));
            assert!(whole == text(0..batches * BATCH_ROWS), "{batches} batches");
        }
    }
}

/// Of one row, which is among the last of its batch: the reader makes it first where it helps.
fn panics(out: &mut Vec<u8>, piece: &Piece) {
    let Column::I64(numbers) = piece.values() else { panic!("they are numbers") };
    assert!(!numbers[piece.rows()].contains(&8000), "there is no such number");
    put(out, piece);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_format_that_panics_breaks_its_own_answer_off_and_no_other() {
    for (delivery, _others) in all_paces() {
        for batches in [1, 13] {
            let (whole, end) = all(sent(&delivery, Read { put: panics, ..Read::new(batches) })).await;
            assert_eq!(end, Err("panicked: there is no such number".to_owned()));
            assert!(text(0..8000).starts_with(&whole), "{} bytes", whole.len());
        }
        assert_eq!(all(sent(&delivery, Read::new(1))).await.0, text(0..BATCH_ROWS));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_more_is_read_for_a_client_that_has_gone() {
    for (delivery, _others) in all_paces() {
        for chunks in 1..100 {
            let read = Read::new(usize::MAX);
            let count = Arc::clone(&read.read);
            let mut stream = sent(&delivery, read);
            for _ in 0..chunks {
                stream.next().await.unwrap().unwrap();
            }
            drop(stream);
            let read = count.load(Relaxed);
            until(|| Arc::strong_count(&count) == 1).await;
            assert!(count.load(Relaxed) <= read + 1, "{read} were read, and {} in the end", count.load(Relaxed));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_stops_holds_no_thread_and_half_a_megabyte_and_gets_the_rest_when_it_goes_on() {
    for (delivery, others) in all_paces() {
        let read = Read::new(60);
        let count = Arc::clone(&read.read);
        let mut stream = sent(&delivery, read);
        let mut whole = stream.next().await.unwrap().unwrap().to_vec();
        until(|| delivery.pool.is_idle()).await;
        let waiting = count.load(Relaxed) * BATCH_ROWS * ROW_BYTES;
        let most = if others.len() > FEW { 0 } else { AHEAD_BYTES };
        assert!(waiting <= most + BATCH_ROWS * ROW_BYTES, "{waiting} bytes wait");
        let (rest, end) = all(stream).await;
        whole.extend_from_slice(&rest);
        assert_eq!(end, Ok(()));
        assert!(whole == text(0..60 * BATCH_ROWS));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_read_ahead_as_long_as_there_is_a_crowd() {
    let delivery = delivery(2);
    let mut others: Vec<_> = (0..=FEW).map(|_| delivery.crowd.join()).collect();
    let read = Read::new(60);
    let count = Arc::clone(&read.read);
    let mut stream = sent(&delivery, read);
    let mut whole = Vec::new();
    while whole.len() < text(0..3 * BATCH_ROWS).len() {
        whole.extend_from_slice(&stream.next().await.unwrap().unwrap());
        until(|| delivery.pool.is_idle()).await;
        assert!(text(0..count.load(Relaxed) * BATCH_ROWS).starts_with(&whole));
    }
    assert_eq!(count.load(Relaxed), 3);
    others.truncate(1);
    whole.extend_from_slice(&stream.next().await.unwrap().unwrap());
    until(|| count.load(Relaxed) > 5).await;
    let (rest, end) = all(stream).await;
    whole.extend_from_slice(&rest);
    assert_eq!(end, Ok(()));
    assert!(whole == text(0..60 * BATCH_ROWS));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_crowd_one_batch_of_numbers_is_read_at_a_time_and_two_of_arrays() {
    let numbers = || batch(0..5000);
    let arrays = || {
        let mut arrays = Arrays::new(Element::F64);
        (0..9).for_each(|_| assert!(arrays.push(&Column::F64(vec![0.5; 1000]))));
        let (mut alarms, mut pulses) = (Runs::default(), Runs::default());
        alarms.push(&Alarm::default(), 9);
        pulses.push(&0, 9);
        let times = (0..9).map(Timestamp::from_nanos).collect();
        Batch::from_columns(times, Column::Array(arrays), alarms, pulses).unwrap()
    };
    for (made, at_a_time) in [(numbers as fn() -> Batch, 1), (arrays, 2)] {
        let delivery = delivery(2);
        let _others: Vec<_> = (0..=FEW).map(|_| delivery.crowd.join()).collect();
        let count = Arc::new(AtomicUsize::new(0));
        let read = Arc::clone(&count);
        let chunks = std::iter::repeat_with(move || {
            read.fetch_add(1, Relaxed);
            let put = |out: &mut Vec<u8>, piece: &Piece| out.resize(out.len() + piece.len(), b'x');
            Ok::<_, &str>(Chunk::from(Rows::lines(made().into(), put)))
        });
        let sending = Sending::new(&delivery, VecDeque::new(), AnswerBacklog::default(), chunks);
        let mut stream = sending.into_stream().boxed();
        stream.next().await.unwrap().unwrap();
        until(|| delivery.pool.is_idle()).await;
        assert_eq!(count.load(Relaxed), at_a_time);
    }
}

#[test]
fn who_sends_begins_with_the_first_rows_and_who_reads_helps_with_the_last() {
    use super::backlog::{HowFarAhead, Next, Step};

    let reach = HowFarAhead { bytes: AHEAD_BYTES, helps: true };
    let backlog = AnswerBacklog::default();
    assert!(matches!(backlog.step(reach), Step::Read));
    backlog.push(Rows::lines(batch(0..BATCH_ROWS).into(), put).into());
    let Step::Make(number, last) = backlog.step(reach) else { panic!("there are enough rows for both") };
    let Next::Make(first) = backlog.next(TextRows::Usual) else { panic!("there are rows to send") };
    assert!(backlog.made(first).starts_with(&text(0..1)));
    let last = backlog.made(last);
    assert!(last.ends_with(&text(BATCH_ROWS - 1..BATCH_ROWS)));
    backlog.put(number, last.clone());
    let mut rows = 0;
    let sent = loop {
        match backlog.next(TextRows::Usual) {
            Next::Make(made) => rows += made.len(),
            Next::Send(sent) => break sent,
            Next::Wait => panic!("it is made"),
        }
    };
    assert_eq!((sent, rows), (last, BATCH_ROWS - 2 * 1024));
    assert_eq!(backlog.bytes(), 0);
    // Where it is full, or processors have enough to do, the reader makes nothing.
    backlog.push(Rows::lines(batch(0..BATCH_ROWS).into(), put).into());
    assert!(matches!(backlog.step(HowFarAhead { helps: false, ..reach }), Step::Read));
    assert!(matches!(backlog.step(HowFarAhead { bytes: BATCH_ROWS * ROW_BYTES, ..reach }), Step::End));
    backlog.abandon();
    assert!(matches!(backlog.step(reach), Step::End));
}
