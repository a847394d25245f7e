//! Patience: an import waits, and goes on, where the archiver takes nothing for a while: while a shard of a cluster has no node, or while
//! what nodes share gives no answer. What it waits for is told; what is sent once more is taken once.

use std::{
    thread,
    time::{Duration, Instant},
};

use ureq::{Body, Error, http::Response};

use crate::{commands::http::checked, failure::Failure};

/// How long an import rests between two tries.
const AGAIN: Duration = Duration::from_secs(1);
/// The status with which an archiver says that it takes nothing at present.
const NOT_NOW: u16 = 503;

/// An answer that is a success. What the archiver does not take at present is sent again for so long.
pub(super) fn patiently(
    patience: Duration,
    server: &str,
    send: impl Fn() -> Result<Response<Body>, Error>,
) -> Result<Response<Body>, Failure> {
    let (begun, mut told) = (Instant::now(), None);
    loop {
        let sent = send();
        let is_for_later = sent.as_ref().is_ok_and(|answer| answer.status().as_u16() == NOT_NOW);
        match checked(sent, server) {
            Err(refused) if is_for_later && begun.elapsed() < patience => {
                let why = Some(refused.to_string());
                if why != told {
                    eprintln!("{server} takes nothing at present, which is waited for: {refused}");
                }
                told = why;
                thread::sleep(AGAIN);
            }
            Err(refused) if is_for_later => {
                let waited = begun.elapsed().as_secs();
                return Err(format!(
                    "{refused}; that was waited for {waited} s (--patience). Begin the import again when it is over: what was \
                     taken is not taken again"
                )
                .into());
            }
            done => return done,
        }
    }
}
