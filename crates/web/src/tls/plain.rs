//! A client that speaks plain HTTP where there is TLS is told which URL to use instead.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{io, time::Duration};

use tokio::{net::TcpStream, time::timeout};

use crate::{browser, host::Authority};

/// The first byte of each handshake.
const HANDSHAKE: u8 = 0x16;

/// So much of a request is looked at, for so long.
const HEAD_BYTES: usize = 8 << 10;
const HEAD_TIMEOUT: Duration = Duration::from_secs(2);

/// What a client begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    Handshake,
    Other,
    /// It sends nothing any more.
    End,
}

/// Waits for the first byte and leaves it where it is.
pub(crate) async fn beginning(stream: &TcpStream) -> io::Result<Beginning> {
    let mut first = [0];
    Ok(match (stream.peek(&mut first).await?, first) {
        (0, _) => Beginning::End,
        (_, [HANDSHAKE]) => Beginning::Handshake,
        _ => Beginning::Other,
    })
}

/// Answers a request that came without TLS. `port` is where it came.
pub(crate) async fn refuse(stream: &TcpStream, port: u16) -> io::Result<()> {
    let mut head = Vec::new();
    let read = async {
        let mut room = [0; 1024];
        while head.len() < HEAD_BYTES && !head.windows(4).any(|end| end == b"\r\n\r\n") {
            stream.readable().await?;
            match stream.try_read(&mut room) {
                Ok(0) => break,
                Ok(read) => head.extend_from_slice(room.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    };
    // Of a request that does not come to its end in time, what has come is looked at.
    timeout(HEAD_TIMEOUT, read).await.unwrap_or(Ok(()))?;
    let answer = answer(&head, port);
    let mut rest = answer.as_bytes();
    let write = async {
        while !rest.is_empty() {
            stream.writable().await?;
            match stream.try_write(rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    };
    timeout(HEAD_TIMEOUT, write).await.unwrap_or(Ok(()))
}

fn answer(head: &[u8], port: u16) -> String {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines();
    let target = lines.next().and_then(|line| line.split(' ').nth(1)).filter(|target| is_path(target)).unwrap_or("/");
    let host = lines.take_while(|line| !line.is_empty()).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value = name.eq_ignore_ascii_case("host").then(|| value.trim())?;
        Authority::parse(value).map(|_| value.to_owned())
    });
    let host = host.unwrap_or_else(|| format!("localhost:{port}"));
    let message = format!("only TLS is spoken here: ask by https://{host}{target}");
    let body = serde_json::json!({ "error": { "code": "bad_request", "message": message } }).to_string();
    let head = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: application/json";
    format!("{head}\r\n{}content-length: {}\r\n\r\n{body}", browser::lines(), body.len())
}

/// Whether that is a path that can be given back as it came.
fn is_path(target: &str) -> bool {
    target.starts_with('/') && target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'<')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_is_that_by_which_it_was_asked_and_nothing_else_comes_back() {
        for (head, url) in [
            (
                "GET /api/v1/status?x=1 HTTP/1.1\r\nHost: archiver:17665\r\n\r\n",
                "https://archiver:17665/api/v1/status?x=1\"",
            ),
            ("GET / HTTP/1.0\r\n\r\n", "https://localhost:7/\""),
            ("GET /\"<x> HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "https://a/\""),
            ("GET / HTTP/1.1\r\nHost: evil\"/x\r\n\r\n", "https://localhost:7/\""),
            ("\u{1}\u{2}nonsense", "https://localhost:7/\""),
            ("", "https://localhost:7/\""),
        ] {
            let answer = answer(head.as_bytes(), 7);
            assert!(answer.contains(url), "{answer}");
            assert!(answer.starts_with("HTTP/1.1 400 "));
        }
    }
}
