//! A lean reader of HTTP/1.1 answers: it counts the bytes and lines of what arrives, and notes when the first byte did.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    time::{Duration, Instant},
};

use crate::store_bench::Outcome;

const PATIENCE: Duration = Duration::from_secs(120);
const ROOM: usize = 256 << 10;

/// Where the server of a URL listens.
pub(crate) fn address(url: &str) -> Outcome<SocketAddr> {
    let host = url.strip_prefix("http://").ok_or("the server must be given as http://HOST:PORT")?.trim_end_matches('/');
    Ok(host.to_socket_addrs()?.next().ok_or_else(|| format!("{host} has no address"))?)
}

/// An answer, of which only this is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Of the body.
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    /// Seconds from the request to the first byte of the body, and to the last.
    pub(crate) first_byte: f64,
    pub(crate) whole: f64,
}

/// A connection that stays for the next request.
pub(crate) struct Connection {
    address: SocketAddr,
    stream: TcpStream,
    room: Vec<u8>,
    filled: usize,
}

/// What comes next of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
enum BodyPart {
    /// So many bytes, and then a line break if they are a chunk.
    Data {
        left: u64,
        is_chunk: bool,
    },
    /// The line that says how long the next chunk is.
    Length,
    /// The empty line behind the last chunk.
    LastLine,
    Nothing,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Outcome<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Connection { address, stream, room: vec![0; ROOM], filled: 0 })
    }

    /// Sends a request without waiting for its answer.
    pub(crate) fn ask(&mut self, path: &str) -> Outcome<()> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nAccept: */*\r\n\r\n", self.address);
        Ok(self.stream.write_all(request.as_bytes())?)
    }

    /// Asks and reads to the end. `keep` gets each piece of the body.
    pub(crate) fn get(&mut self, path: &str, mut keep: impl FnMut(&[u8])) -> Outcome<Answer> {
        let begun = Instant::now();
        self.ask(path)?;
        let (status, mut next) = self.head()?;
        let mut answer = Answer { status, ..Answer::default() };
        while next != BodyPart::Nothing {
            if self.filled == 0 {
                self.read()?;
            }
            if answer.first_byte == 0.0 {
                answer.first_byte = begun.elapsed().as_secs_f64();
            }
            let mut used = 0;
            while used < self.filled && next != BodyPart::Nothing {
                let at_hand = &self.room[used..self.filled];
                let (taken, data, then) = step(next, at_hand)?;
                if taken == 0 {
                    break;
                }
                answer.bytes += data as u64;
                answer.lines += at_hand[..data].iter().filter(|byte| **byte == b'\n').count() as u64;
                keep(&at_hand[..data]);
                (used, next) = (used + taken, then);
            }
            self.room.copy_within(used..self.filled, 0);
            self.filled -= used;
            if used == 0 {
                self.read()?;
            }
        }
        answer.whole = begun.elapsed().as_secs_f64();
        Ok(answer)
    }

    /// The status, and what the head says of the body.
    fn head(&mut self) -> Outcome<(u16, BodyPart)> {
        let end = loop {
            if let Some(end) = self.room[..self.filled].windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            self.read()?;
        };
        let text = String::from_utf8_lossy(&self.room[..end]).into_owned();
        self.room.copy_within(end + 4..self.filled, 0);
        self.filled -= end + 4;
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or("no status")?;
        let header = |wanted: &str| {
            let pairs = text.lines().filter_map(|line| line.split_once(':'));
            pairs.filter(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim().to_owned()).next()
        };
        let length = header("content-length").and_then(|length| length.parse().ok());
        let next = match length {
            Some(0) => BodyPart::Nothing,
            Some(left) => BodyPart::Data { left, is_chunk: false },
            None if header("transfer-encoding").is_some() => BodyPart::Length,
            None => return Err("the answer does not say how long it is".into()),
        };
        Ok((status, next))
    }

    fn read(&mut self) -> Outcome<()> {
        match self.stream.read(&mut self.room[self.filled..])? {
            0 => Err("the answer broke off".into()),
            count => {
                self.filled += count;
                Ok(())
            }
        }
    }
}

/// How much of what is at hand is used, how much of that is data, and what comes then.
fn step(next: BodyPart, at_hand: &[u8]) -> Outcome<(usize, usize, BodyPart)> {
    let line = || at_hand.windows(2).position(|two| two == b"\r\n");
    Ok(match next {
        BodyPart::Data { left: 0, .. } => match line() {
            Some(0) => (2, 0, BodyPart::Length),
            Some(_) => return Err("a chunk is longer than it says".into()),
            None => (0, 0, next),
        },
        BodyPart::Data { left, is_chunk } => {
            let data = at_hand.len().min(usize::try_from(left)?);
            let left = left - data as u64;
            (data, data, if left > 0 || is_chunk { BodyPart::Data { left, is_chunk } } else { BodyPart::Nothing })
        }
        BodyPart::Length => match line() {
            Some(end) => match u64::from_str_radix(str::from_utf8(&at_hand[..end])?.trim(), 16)? {
                0 => (end + 2, 0, BodyPart::LastLine),
                left => (end + 2, 0, BodyPart::Data { left, is_chunk: true }),
            },
            None => (0, 0, next),
        },
        BodyPart::LastLine => match line() {
            Some(end) => (end + 2, 0, BodyPart::Nothing),
            None => (0, 0, next),
        },
        BodyPart::Nothing => (0, 0, next),
    })
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    /// What a server that sends these bytes, a few at a time, and then hangs up is understood to say.
    fn answer_of(sent: &'static [u8], piece: usize) -> Result<Answer, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 1024];
            assert!(stream.read(&mut asked).unwrap() > 0);
            for piece in sent.chunks(piece) {
                stream.write_all(piece).unwrap();
            }
        });
        let answer = Connection::open(address).and_then(|mut connection| connection.get("/", |_| {}));
        server.join().unwrap();
        answer.map_err(|error| error.to_string())
    }

    #[test]
    fn bodies_are_counted_however_they_arrive() {
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na\nb\nc\r\n2\r\nd\n\r\n0\r\n\r\n";
        let measured = b"HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\n\r\na\nb";
        for piece in [1, 2, 7, 1000] {
            let answer = answer_of(chunked, piece).unwrap();
            assert_eq!((answer.status, answer.bytes, answer.lines), (200, 7, 3), "{piece}");
            let answer = answer_of(measured, piece).unwrap();
            assert_eq!((answer.status, answer.bytes, answer.lines), (404, 3, 1), "{piece}");
        }
    }

    #[test]
    fn a_body_that_breaks_off_is_no_answer() {
        let broken = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na\nb\nc\r\n";
        assert_eq!(answer_of(broken, 1000), Err("the answer broke off".to_owned()));
    }
}
