//! `GET /api/v1/live`: new samples and changes of state as Server-Sent Events.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, header},
};
use futures_util::stream;
use sample::Batch;
use service::{Event, Lease, Live};
use tokio::time::Instant;

use crate::{
    app::App,
    auth::Watch,
    call::Call,
    delivery::answer::{Answer, whole},
    formats::{json::put_columns, value::put_json},
    refusal::{Code, Refusal},
};

const PVS_MAX: usize = 50;
/// How often `Live::look` asks the store: quick to the eye, and cheap, because nothing is read while nothing was appended.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
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
    let from = call.query.time("from")?;
    let watch = match Watch::begin(&call.app.access, &call.asker) {
        Ok(watch) => watch,
        Err(why) => return call.refused(&why),
    };
    let feed = Feed {
        app: Arc::clone(&call.app),
        watch,
        live: Some(call.ask.live(names, from)?),
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
    app: Arc<App>,
    /// Whether who gets it still may.
    watch: Watch,
    /// None once it has failed.
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
            let mut live = self.live.take()?;
            if let Err(why) = self.watch.look() {
                // The end: there is nothing more to look at.
                let data = serde_json::json!({ "code": "unauthorized", "message": why.message });
                return Some(format!("event: error\ndata: {data}\n\n").into());
            }
            // What cannot be held now is told at one of the next looks.
            if self.lease.grow(LOOK_BYTES_MAX).is_err() {
                self.live = Some(live);
                tokio::select! {
                    () = tokio::time::sleep(POLL_INTERVAL) => continue,
                    () = self.app.stopped() => return None,
                }
            }
            let look = move || {
                let mut news = Vec::new();
                let outcome = live.look(LOOK_BYTES_MAX, |event| {
                    let event = written(&event);
                    let bytes = event.len();
                    news.push(event);
                    bytes
                });
                (news, outcome, live)
            };
            let (news, outcome, live) = self.app.delivery.pool.done(look).await.ok()?;
            let silent = news.is_empty();
            self.lease.shrink(LOOK_BYTES_MAX);
            self.lease.note(news.iter().map(Bytes::len).sum());
            self.waiting.extend(news);
            match outcome {
                Ok(()) => self.live = Some(live),
                Err(refusal) => tracing::error!("a live stream was broken off: {refusal}"),
            }
            if !silent {
                continue;
            }
            if Instant::now() >= self.next_comment {
                self.waiting.push_back(Bytes::from_static(b": still here\n\n"));
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep(POLL_INTERVAL) => {}
                () = self.app.stopped() => return None,
            }
        }
    }
}

/// An event as it is sent.
fn written(event: &Event) -> Bytes {
    match event {
        Event::State { pv, connection, since } => {
            let data = serde_json::json!({ "pv": pv.as_str(), "state": connection.name(), "since": since.to_string() });
            format!("event: state\ndata: {data}\n\n").into()
        }
        Event::Samples { pv, batch } => samples_event(pv.as_str(), batch),
    }
}

fn samples_event(pv: &str, batch: &Batch) -> Bytes {
    let mut out = b"event: samples\ndata: {\"pv\":".to_vec();
    put_json(&mut out, &pv);
    out.extend_from_slice(format!(",\"type\":\"{}\",", batch.value_type()).as_bytes());
    put_columns(&mut out, batch);
    out.extend_from_slice(b"}\n\n");
    out.into()
}
