//! `GET /api/v1/live`: new samples and changes of state as Server-Sent Events, from the store, so that what a client sees here
//! is what it would get by asking again.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use acquire::Connection;
use archive::PvEntry;
use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, header},
};
use futures_util::stream;
use sample::{Batch, TimeRange, Timestamp};
use service::{Ask, Lease, now};
use tokio::time::Instant;

use crate::{
    app::App,
    call::Call,
    delivery::answer::{Answer, whole},
    formats::{json::put_columns, value::put_json},
    refusal::{Code, Refusal},
};

const PVS_MAX: usize = 50;
/// How often the store is asked: quick to the eye, and cheap, because nothing is read while nothing was appended.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How far ahead of our clock a sample's stamp may be, because clocks differ.
const FUTURE_MAX: Duration = Duration::from_secs(60);
/// How many batches of one PV are made at one look, when a client begins far in the past.
const BATCHES_MAX: usize = 2;
/// A look that has made so many bytes leaves the other PVs to the next: fifty that begin far in the past are not held at once.
const LOOK_BYTES_MAX: usize = 4 << 20;
/// How often a silent stream shows that it is alive, so that proxies keep it open.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);

/// `GET /live`
pub(crate) fn show(call: &Call) -> Answer {
    let names: Vec<&str> = call.query.all("pv").collect();
    if names.is_empty() || names.len() > PVS_MAX {
        let message = format!("{} PVs are named with pv=, 1 to {PVS_MAX} are possible", names.len());
        return Err(Refusal::new(Code::BadRequest, message));
    }
    let from = call.time("from")?;
    let mut followed = Vec::new();
    for name in names {
        let entry = call.ask.service.find(name).ok_or_else(|| Refusal::unknown_pv(name))?;
        followed.push(Followed::new(&call.ask, entry, from)?);
    }
    let live = Live { app: Arc::clone(&call.app), ask: call.ask.clone(), followed, appended: None, failed: false };
    let feed = Feed {
        live: Some(live),
        waiting: VecDeque::new(),
        lease: call.app.delivery.budget.lease(),
        next_comment: Instant::now() + COMMENT_INTERVAL,
    };
    let body = Body::from_stream(stream::unfold(feed, |mut feed| async {
        let chunk = feed.next().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(chunk), feed))
    }));
    let mut response = whole("text/event-stream", body);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// The stream's side: waits, without a thread.
struct Feed {
    live: Option<Live>,
    waiting: VecDeque<Bytes>,
    /// What `waiting` has of the budget.
    lease: Lease,
    next_comment: Instant,
}

impl Feed {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(chunk) = self.waiting.pop_front() {
                self.next_comment = Instant::now() + COMMENT_INTERVAL;
                return Some(chunk);
            }
            self.lease.shrink(usize::MAX);
            let mut live = self.live.take().filter(|live| !live.failed)?;
            let app = Arc::clone(&live.app);
            // What cannot be held now is told at one of the next looks.
            if self.lease.grow(LOOK_BYTES_MAX).is_err() {
                self.live = Some(live);
                tokio::select! {
                    () = tokio::time::sleep(POLL_INTERVAL) => continue,
                    () = app.stopped() => return None,
                }
            }
            let (news, live) = app.delivery.pool.done(move || (live.news(), live)).await.ok()?;
            let silent = news.is_empty();
            self.lease.shrink(LOOK_BYTES_MAX);
            self.lease.note(news.iter().map(Bytes::len).sum());
            self.waiting.extend(news);
            self.live = Some(live);
            if !silent {
                continue;
            }
            if Instant::now() >= self.next_comment {
                self.waiting.push_back(Bytes::from_static(b": still here\n\n"));
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep(POLL_INTERVAL) => {}
                () = app.stopped() => return None,
            }
        }
    }
}

/// The archive's side: what is new since the last look.
struct Live {
    app: Arc<App>,
    ask: Ask,
    followed: Vec<Followed>,
    /// The store's watermark at the last look.
    appended: Option<u64>,
    failed: bool,
}

/// One PV and how far it has been told.
struct Followed {
    entry: PvEntry,
    /// The time of the last sample told, and how many of that time.
    told: (Timestamp, usize),
    /// Whether the last look ended before the newest sample.
    behind: bool,
    connection: Option<Connection>,
}

impl Followed {
    /// Begins at `from`, or behind the newest sample.
    fn new(ask: &Ask, entry: PvEntry, from: Option<Timestamp>) -> Result<Followed, query::Error> {
        let told = match from {
            Some(from) => (from, 0),
            None => {
                let newest = ask.own_last_before(entry.id, reach())?;
                newest.map_or((Timestamp::MIN, 0), |sample| (sample.time, usize::MAX))
            }
        };
        Ok(Followed { entry, told, behind: true, connection: None })
    }
}

/// How far samples are told. One that an IOC stamps years ahead waits until then: were it told, nothing of the present would
/// come after it.
fn reach() -> Timestamp {
    now().saturating_add(FUTURE_MAX)
}

impl Live {
    fn news(&mut self) -> Vec<Bytes> {
        let mut news = Vec::new();
        for followed in &mut self.followed {
            news.extend(state_news(&self.ask, followed));
        }
        let appended = self.ask.service.watermark().appended;
        let unchanged = self.appended.replace(appended) == Some(appended);
        let (mut bytes, mut left_out) = (0, None);
        let wanted = |followed: &Followed| followed.behind || !unchanged;
        for (index, followed) in self.followed.iter_mut().enumerate().filter(|(_, followed)| wanted(followed)) {
            if bytes >= LOOK_BYTES_MAX {
                followed.behind = true;
                left_out.get_or_insert(index);
                continue;
            }
            match sample_news(&self.ask, followed) {
                Ok(samples) => {
                    bytes += samples.iter().map(Bytes::len).sum::<usize>();
                    news.extend(samples);
                }
                Err(error) => {
                    tracing::error!("a live stream was broken off: {error}");
                    self.failed = true;
                }
            }
        }
        self.followed.rotate_left(left_out.unwrap_or(0)); // the next look begins with those that had to wait
        news
    }
}

fn state_news(ask: &Ask, followed: &mut Followed) -> Option<Bytes> {
    let status = ask.service.status(followed.entry.id)?;
    if followed.connection.replace(status.connection) == Some(status.connection) {
        return None;
    }
    let data = serde_json::json!({
        "pv": followed.entry.name.as_str(),
        "state": status.connection.name(),
        "since": status.since.to_string(),
    });
    Some(format!("event: state\ndata: {data}\n\n").into())
}

/// The samples behind the last one told. Those of its own time are counted, so that none is told twice.
fn sample_news(ask: &Ask, followed: &mut Followed) -> Result<Vec<Bytes>, query::Error> {
    let (since, mut skip) = followed.told;
    let mut news = Vec::new();
    let batches = ask.own_samples(followed.entry.id, TimeRange { t0: since, t1: reach().max(since) });
    followed.behind = false;
    for batch in batches {
        let batch = match batch {
            Err(error) if error.is_damage() => continue, // the status tells of it
            batch => batch?,
        };
        let same = batch.times().partition_point(|time| *time <= since).min(skip);
        skip -= same;
        if same == batch.len() {
            continue;
        }
        let batch = batch.slice(same..batch.len());
        let last = *batch.times().last().expect("a batch with rows left has a last one");
        let of_last = batch.times().iter().rev().take_while(|time| **time == last).count();
        let earlier = if followed.told.0 == last { followed.told.1 } else { 0 };
        followed.told = (last, earlier.saturating_add(of_last));
        news.push(samples_event(&followed.entry, &batch));
        if news.len() == BATCHES_MAX {
            followed.behind = true;
            break;
        }
    }
    Ok(news)
}

fn samples_event(entry: &PvEntry, batch: &Batch) -> Bytes {
    let mut out = b"event: samples\ndata: {\"pv\":".to_vec();
    put_json(&mut out, &entry.name.as_str());
    out.extend_from_slice(format!(",\"type\":\"{}\",", batch.value_type()).as_bytes());
    put_columns(&mut out, batch);
    out.extend_from_slice(b"}\n\n");
    out.into()
}
