//! Answers that take long: who gets them is looked at again every half minute, and as soon as anybody's rights change.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use access::{Access, Identity, LongAnswer, Refused};
use axum::{
    body::{Body, Bytes, HttpBody},
    response::Response,
};
use hyper::body::{Frame, SizeHint};
use sample::Timestamp;
use service::now;
use tokio::time::Instant;

/// How often the server checks whether somebody may still have what they get.
const LOOK_EACH: Duration = Duration::from_secs(30);

/// Whether somebody still may have an answer that is under way.
pub(crate) struct Watch {
    access: Arc<Access>,
    identity: Identity,
    changes: u64,
    next: Instant,
    _one_of_many: LongAnswer,
}

impl Watch {
    /// From now on. Refused if too many answers of theirs are under way.
    pub(crate) fn begin(access: &Arc<Access>, identity: &Identity) -> Result<Watch, Refused> {
        let one_of_many = access.long_answer(identity)?;
        let (changes, next) = (access.changes(), next_look(identity));
        let (access, identity) = (Arc::clone(access), identity.clone());
        Ok(Watch { access, identity, changes, next, _one_of_many: one_of_many })
    }

    /// Why they may not have it any more, if it is so. Cheap while nothing is to be looked at.
    pub(crate) fn look(&mut self) -> Result<(), Refused> {
        let changes = self.access.changes();
        if changes == self.changes && Instant::now() < self.next {
            return Ok(());
        }
        (self.changes, self.next) = (changes, next_look(&self.identity));
        let again = self.access.again(&self.identity, now())?;
        if again.rights != self.identity.rights {
            return Err(self.identity.refused("what you may do here has changed; ask again"));
        }
        Ok(())
    }
}

/// After a while, or as soon as what was shown expires.
fn next_look(identity: &Identity) -> Instant {
    let left = |end: Timestamp| u64::try_from(end.nanos().saturating_sub(now().nanos())).unwrap_or(0);
    let left = identity.until().map_or(LOOK_EACH, |end| Duration::from_nanos(left(end)));
    Instant::now() + left.min(LOOK_EACH)
}

/// An answer that breaks off when who gets it may not have it any more.
pub(crate) fn watched(watch: Watch, answer: Response) -> Response {
    answer.map(|body| Body::new(Watched { watch, body }))
}

struct Watched {
    watch: Watch,
    body: Body,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Err(refused) = self.watch.look() {
            tracing::info!("an answer was broken off: {refused}");
            return Poll::Ready(Some(Err(axum::Error::new(refused))));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
