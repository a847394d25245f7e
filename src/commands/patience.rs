//! Patience: a command waits, and goes on, where the archiver cannot do what it asks for a while: while a shard of a cluster has no node, or
//! while what nodes share gives no answer. What it waits for is told; what is sent once more is done once.

use std::{
    thread,
    time::{Duration, Instant},
};

use ureq::{Body, Error, http::Response};

use super::http::checked;
use crate::failure::Failure;

/// How long a command rests between two tries.
const AGAIN: Duration = Duration::from_secs(1);
/// The status with which an archiver says that it cannot do something at present.
const NOT_NOW: u16 = 503;

/// How long a command waits, and what it says when that was not enough.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) lasts: Duration,
    pub(crate) afterwards: &'static str,
}

/// An answer that is a success. What the archiver cannot do at present is asked of it again for so long.
pub(crate) fn patiently(
    patience: Patience,
    server: &str,
    send: impl Fn() -> Result<Response<Body>, Error>,
) -> Result<Response<Body>, Failure> {
    let (begun, mut told) = (Instant::now(), None);
    loop {
        let sent = send();
        let is_for_later = sent.as_ref().is_ok_and(|answer| answer.status().as_u16() == NOT_NOW);
        match checked(sent, server) {
            Err(refused) if is_for_later && begun.elapsed() < patience.lasts => {
                let why = Some(refused.to_string());
                if why != told {
                    eprintln!("{server} takes nothing at present, which is waited for: {refused}");
                }
                told = why;
                thread::sleep(AGAIN);
            }
            Err(refused) if is_for_later => {
                let (waited, afterwards) = (begun.elapsed().as_secs(), patience.afterwards);
                return Err(format!("{refused}; that was waited for {waited} s{afterwards}").into());
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
    };

    use super::*;
    use crate::commands::http::agent;

    /// An archiver that answers so, one request after the other.
    fn archiver(answers: &'static [u16]) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        thread::spawn(move || {
            for status in answers {
                let (mut stream, _) = listener.accept().unwrap();
                _ = stream.read(&mut [0; 4096]).unwrap();
                let body = r#"{"error": {"message": "no node has shard 12"}}"#;
                let head =
                    format!("HTTP/1.1 {status} -\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
                stream.write_all((head + body).as_bytes()).unwrap();
            }
        });
        url
    }

    fn ask(url: &str, lasts: Duration) -> Result<u16, String> {
        let patience = Patience { lasts, afterwards: " (--patience)" };
        let answer = patiently(patience, url, || agent().post(url).send_empty());
        answer.map(|answer| answer.status().as_u16()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_cannot_be_done_at_present_is_asked_again_and_nothing_else_is() {
        assert_eq!(ask(&archiver(&[503, 200]), Duration::from_secs(60)), Ok(200));
        assert_eq!(ask(&archiver(&[409, 200]), Duration::from_secs(60)), Err("no node has shard 12 [HTTP 409]".into()));
        let told = ask(&archiver(&[503, 200]), Duration::ZERO).unwrap_err();
        assert_eq!(told, "no node has shard 12 [HTTP 503]; that was waited for 0 s (--patience)");
    }
}
