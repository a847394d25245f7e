//! moto as a process of its own on a free port, and a relay in front of it that does what bad servers and bad networks do.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

pub(crate) const BUCKET: &str = "pvark-test";

/// A server of S3 with a bucket, which ends when this is dropped.
pub(crate) struct Moto {
    process: Child,
    address: SocketAddr,
}

impl Moto {
    /// None, with a reason in the output, where moto is not installed.
    pub(crate) fn start() -> Option<Moto> {
        let Some(python) = python_with_moto() else {
            eprintln!("skipped: neither .venv/bin/python nor python3 has moto (pip install 'moto[server]')");
            return None;
        };
        let address = free_port();
        let process = Command::new(python)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/one_at_a_time.py"))
            .arg(address.port().to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("moto starts");
        let moto = Moto { process, address };
        let deadline = Instant::now() + Duration::from_secs(120);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < deadline, "moto does not listen");
            thread::sleep(Duration::from_millis(50));
        }
        let mut stream = TcpStream::connect(address).expect("moto listens");
        let request =
            format!("PUT /{BUCKET} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        Some(moto)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        self.process.kill().expect("moto is still there");
        self.process.wait().expect("moto has ended");
    }
}

fn python_with_moto() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    let has_moto = |python: &PathBuf| {
        let asked = Command::new(python).args(["-c", "import moto.server"]).stderr(Stdio::null()).status();
        asked.is_ok_and(|ended| ended.success())
    };
    [own, PathBuf::from("python3")].into_iter().find(has_moto)
}

fn free_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("its number")
}

/// Where nobody listens: no server under test and no client's own end of a connection ever gets the first port.
pub(crate) const NOBODY: &str = "http://127.0.0.1:1";

/// What the relay does to requests.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    /// It leaves a header out.
    Strips(&'static str),
    /// It passes on a PUT to such a path, and closes the connection in place of an answer.
    Swallows(&'static str),
}

/// A relay on a port of its own; its threads end with the test.
pub(crate) struct Relay(SocketAddr);

impl Relay {
    pub(crate) fn start(moto: &Moto, fault: Fault) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let (own, moto) = (listener.local_addr().expect("its number"), moto.address);
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = Arc::new(client.expect("a connection"));
                // A connection that is closed by either side has ended, for whatever reason.
                thread::spawn(move || relayed(&client, moto, fault).or_else(|_| client.shutdown(Shutdown::Both)));
            }
        });
        Relay(own)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.0)
    }
}

/// Passes on one request after the other, each on a connection of its own to the server.
fn relayed(mut client: &TcpStream, moto: SocketAddr, fault: Fault) -> io::Result<()> {
    while let Some(Request { line, headers, body }) = Request::read(client)? {
        let mut text = line.clone();
        for header in &headers {
            let name = header.split(':').next().unwrap_or_default();
            let stripped = matches!(fault, Fault::Strips(other) if name.eq_ignore_ascii_case(other));
            if !stripped && !name.eq_ignore_ascii_case("connection") {
                text = format!("{text}\r\n{header}");
            }
        }
        let mut server = TcpStream::connect(moto)?;
        server.write_all(format!("{text}\r\nConnection: close\r\n\r\n").as_bytes())?;
        server.write_all(&body)?;
        let mut answer = Vec::new();
        server.read_to_end(&mut answer)?;
        if matches!(fault, Fault::Swallows(path) if line.starts_with("PUT ") && line.contains(path)) {
            return client.shutdown(Shutdown::Both);
        }
        client.write_all(&answer)?;
        // The answer says that the connection is closed behind it.
        client.shutdown(Shutdown::Write)?;
    }
    Ok(())
}

struct Request {
    line: String,
    headers: Vec<String>,
    body: Vec<u8>,
}

impl Request {
    fn read(mut client: &TcpStream) -> io::Result<Option<Request>> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if client.read(&mut byte)? == 0 {
                return Ok(None);
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).map_err(io::Error::other)?;
        let mut lines = head.trim_end().split("\r\n").map(str::to_owned);
        let line = lines.next().unwrap_or_default();
        let headers: Vec<String> = lines.collect();
        let len = headers.iter().find_map(|header| {
            let (name, len) = header.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| len.trim().parse().ok())?
        });
        let mut body = vec![0; len.unwrap_or(0)];
        client.read_exact(&mut body)?;
        Ok(Some(Request { line, headers, body }))
    }
}
