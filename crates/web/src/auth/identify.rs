//! What a request shows of who sends it, and who that is.

use std::{ops::Range, sync::Arc, time::Duration};

use access::{Access, Certificate, From, Identity, Presented, Reason, Refused, Transport};
use archive::{Beginning, NameChunk, Right};
use axum::http::{Extensions, HeaderMap, HeaderValue, header};
use service::{ByName, Rights, now};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    task::spawn_blocking,
    time::{Instant, timeout_at},
};

use crate::{
    door::Door,
    peer::{Client, Peer},
    refusal::Refusal,
};

/// At most this many requests and logins wait for an identity server at a time. Recording needs none of their threads.
const ASKED_AT_ONCE: usize = 16;
/// A request waits for an identity server no longer than this.
const ASKED_MAX: Duration = Duration::from_secs(15);

/// From where a request comes, as far as it is held against the rights of who sends it.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    from: From,
    transport: Transport,
    ceiling: Right,
    certificate: Option<Arc<Certificate>>,
}

impl Origin {
    /// Requests that came by no door are the program's own.
    pub(crate) fn of(extensions: &Extensions) -> Origin {
        let door = extensions.get::<Arc<Door>>();
        let from = match extensions.get::<Peer>().map(|peer| peer.client) {
            Some(Client::Address(address)) => From::Network(address.ip()),
            Some(Client::User(uid)) => From::Local { uid },
            None => From::Local { uid: rustix::process::geteuid().as_raw() },
        };
        let is_sealed = door.is_some_and(|door| door.lock.is_some());
        Origin {
            from,
            transport: if is_sealed { Transport::Tls } else { Transport::Plain },
            ceiling: door.map_or(Right::Administer, |door| door.rights),
            certificate: extensions.get::<Arc<Certificate>>().cloned(),
        }
    }

    /// The most that anybody may do where it came.
    pub(crate) fn ceiling(&self) -> Right {
        self.ceiling
    }

    /// What is shown by headers that came from there.
    pub(crate) fn shown<T>(&self, headers: &HeaderMap, look: impl FnOnce(&Presented) -> T) -> T {
        let headers: Vec<(&str, &[u8])> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        look(&Presented {
            from: self.from,
            transport: self.transport,
            ceiling: self.ceiling,
            headers: &headers,
            certificate: self.certificate.as_deref(),
        })
    }
}

/// Who sends a request that needs a right, or none, and that they may send one more now. A session that is over keeps nobody from what
/// anybody may ask: the page is to say so, and to let them log in.
pub(crate) async fn identify(
    access: &Arc<Access>,
    origin: &Origin,
    headers: &HeaderMap,
    right: Option<Right>,
) -> Result<Identity, Refused> {
    let at_once = |presented: &Presented| (!access.may_block(presented)).then(|| access.identify(presented, now()));
    let identified = match origin.shown(headers, at_once) {
        Some(identified) => identified,
        None => {
            let (origin, headers) = (origin.clone(), headers.clone());
            asked(access, move |access| origin.shown(&headers, |presented| access.identify(presented, now()))).await
        }
    };
    let identity = match identified {
        Err(refused) if refused.reason == Reason::Session && right.is_none() => {
            origin.shown(headers, |presented| access.anonymous(presented))
        }
        identified => identified?,
    };
    access.admit(&identity, now())?;
    Ok(identity)
}

/// Takes the cookie of a session from a browser.
pub(crate) fn forget_session(access: &Access, origin: &Origin, headers: &HeaderMap, answer: &mut HeaderMap) {
    let cookie = origin.shown(headers, |presented| access.log_out(presented));
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        answer.append(header::SET_COOKIE, cookie);
    }
}

/// A turn to ask an identity server: of those who ask at once there are few.
static TURNS: Semaphore = Semaphore::const_new(ASKED_AT_ONCE);

/// A turn for somebody who logs in, on a thread that answers need too; refused if there is none now.
pub(crate) fn turn() -> Result<SemaphorePermit<'static>, Refusal> {
    let none = |_| Refusal::busy("many people are logging in, and the identity server is slow");
    TURNS.try_acquire().map_err(none)
}

/// What an identity server is asked for, on a thread that may wait for it.
async fn asked<T: Send + 'static>(
    access: &Arc<Access>,
    ask: impl FnOnce(&Access) -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    let deadline = Instant::now() + ASKED_MAX;
    let away = || Refused::away("the identity server");
    let turn = timeout_at(deadline, TURNS.acquire()).await.map_err(|_| away())?;
    let access = Arc::clone(access);
    // The turn goes along: what nobody waits for any more still takes a thread until the server answers.
    let asking = spawn_blocking(move || {
        let _turn = turn;
        ask(&access)
    });
    timeout_at(deadline, asking).await.map_err(|_| away())?.map_err(|_| away())?
}

/// What somebody may do, as the service holds it against PVs.
pub fn rights_of(rights: &access::Rights) -> Rights {
    let to_all = Rights::everywhere(rights.to_all());
    if rights.most() == rights.to_all() {
        return to_all;
    }
    to_all.or_by(ByPattern(rights.clone()))
}

/// Rights to the PVs of some patterns.
struct ByPattern(access::Rights);

impl ByName for ByPattern {
    fn to(&self, pv: &str) -> Option<Right> {
        self.0.most_to(pv)
    }

    fn beginnings(&self, right: Right) -> Vec<Beginning> {
        self.0.beginnings(right)
    }

    fn among(&self, right: Right, chunk: &NameChunk, rows: Range<usize>) -> Vec<bool> {
        self.0.may_among(right, chunk, rows)
    }
}
