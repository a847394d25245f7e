//! HTTP/1.1 over a socket, so that tests see every byte and can stop reading when they like.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// Longer than any answer takes on a busy machine; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(120);
/// The name by which the archiver is asked for.
pub(crate) const HOST: &str = "archive.test";

pub(crate) struct Connection {
    pub(crate) stream: BufReader<TcpStream>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether the body came to its proper end.
    pub(crate) whole: bool,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.text()))
    }
}

impl Connection {
    pub(crate) fn to(address: SocketAddr) -> Connection {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
        Connection { stream: BufReader::new(stream) }
    }

    pub(crate) fn ask(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.send(method, target, headers, body);
        self.read_answer(method)
    }

    pub(crate) fn read_answer(&mut self, method: &str) -> Answer {
        let (status, headers) = self.read_head();
        let (body, whole) = self.read_body(method, status, &headers);
        Answer { status, headers, body, whole }
    }

    pub(crate) fn send(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("{method} {target} HTTP/1.1\r\nhost: {HOST}\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let stream = self.stream.get_mut();
        stream.write_all(head.as_bytes()).expect("the head is taken");
        // A server that refuses a long body hangs up before it has read all of it.
        let _ = stream.write_all(body);
    }

    pub(crate) fn read_head(&mut self) -> (u16, Vec<(String, String)>) {
        let first = self.read_line();
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut headers = Vec::new();
        loop {
            let line = self.read_line();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').expect("a header has a colon");
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        (status.unwrap_or_else(|| panic!("{first:?} is no status line")), headers)
    }

    fn read_body(&mut self, method: &str, status: u16, headers: &[(String, String)]) -> (Vec<u8>, bool) {
        if method == "HEAD" || status == 304 {
            return (Vec::new(), true);
        }
        let header = |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
        if header("transfer-encoding") == Some("chunked") {
            return self.read_chunks();
        }
        let length: usize = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        let whole = self.stream.read_exact(&mut body).is_ok();
        (body, whole)
    }

    fn read_chunks(&mut self) -> (Vec<u8>, bool) {
        let mut body = Vec::new();
        while let Some(chunk) = self.read_chunk() {
            if chunk.is_empty() {
                return (body, true);
            }
            body.extend_from_slice(&chunk);
        }
        (body, false)
    }

    /// The next chunk of a body; empty at its end, none if the connection breaks off.
    pub(crate) fn read_chunk(&mut self) -> Option<Vec<u8>> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut chunk = vec![0; length + 2];
        self.stream.read_exact(&mut chunk).ok()?;
        chunk.truncate(length);
        Some(chunk)
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the server answers");
        line.trim_end().to_owned()
    }
}
