//! A list whose rows are made while it is sent: of all PVs there are never more than a few rows at a time.

use axum::body::Bytes;
use serde::Serialize;
use service::Ask;

use crate::refusal::{Code, Refusal};

/// Rows are put together until they are so many bytes: few at first, and then so many that little of the time goes into handing them on.
const FIRST_BYTES: usize = 64 << 10;
const CHUNK_BYTES: usize = 192 << 10;
/// The last of them seldom has more.
const ROW_BYTES: usize = 1024;
/// After so many rows, sent or left out, it is looked whether the client is still there.
const LOOK_ROWS: usize = 256;

/// What stands before, between and behind the rows.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    before: Vec<u8>,
    between: &'static [u8],
    behind: &'static [u8],
}

impl Frame {
    /// A list alone.
    pub(crate) fn list() -> Frame {
        Frame { before: b"[".to_vec(), between: b",", behind: b"]" }
    }

    /// An object alone.
    pub(crate) fn object() -> Frame {
        Frame { before: b"{".to_vec(), between: b",", behind: b"}" }
    }

    /// Rows without anything around them.
    pub(crate) fn bare() -> Frame {
        Frame { before: Vec::new(), between: b"", behind: b"" }
    }

    /// Rows behind a heading.
    pub(crate) fn headed(heading: &str) -> Frame {
        Frame { before: heading.as_bytes().to_vec(), ..Frame::bare() }
    }

    /// A list with a line for each row.
    pub(crate) fn lines() -> Frame {
        Frame { before: b"[\n".to_vec(), between: b",\n", behind: b"\n]\n" }
    }

    /// The last member of an object, which has those of `head` before it.
    pub(crate) fn member(name: &str, head: &serde_json::Map<String, serde_json::Value>) -> Result<Frame, Refusal> {
        let mut before = serde_json::to_vec(head).map_err(unwritten)?;
        before.pop();
        if !head.is_empty() {
            before.push(b',');
        }
        before.extend_from_slice(format!("\"{name}\":[").as_bytes());
        Ok(Frame { before, between: b",", behind: b"]}" })
    }
}

/// Why an answer could not be written to its end.
fn unwritten(error: serde_json::Error) -> Refusal {
    Refusal::new(Code::Internal, format!("the answer cannot be written as JSON: {error}"))
}

/// The rows of an answer in JSON, as they are made.
pub(crate) fn json_rows<R: Serialize + 'static>(
    ask: &Ask,
    frame: Frame,
    rows: impl Iterator<Item = Result<Option<R>, Refusal>> + Send + 'static,
) -> impl Iterator<Item = Result<Bytes, Refusal>> + Send + 'static {
    list(ask, frame, rows, |out, row| serde_json::to_writer(out, &row).map_err(unwritten))
}

/// At most so many rows. Those that are none do not count.
pub(crate) fn limited<R>(
    mut left: usize,
    mut rows: impl Iterator<Item = Result<Option<R>, Refusal>>,
) -> impl Iterator<Item = Result<Option<R>, Refusal>> {
    std::iter::from_fn(move || {
        let row = if left == 0 { None } else { rows.next() };
        left -= usize::from(matches!(row, Some(Ok(Some(_)))));
        row
    })
}

/// Rows in any form. Those that are none are left out.
pub(crate) fn list<R: 'static>(
    ask: &Ask,
    frame: Frame,
    rows: impl Iterator<Item = Result<Option<R>, Refusal>> + Send + 'static,
    put: impl FnMut(&mut Vec<u8>, R) -> Result<(), Refusal> + Send + 'static,
) -> impl Iterator<Item = Result<Bytes, Refusal>> + Send + 'static {
    let waiting = frame.before.clone();
    let ask = ask.clone();
    Rows { rows, put, frame, waiting, begun: false, ended: false, go_on: Box::new(move || ask.go_on()) }
}

type GoOn = dyn Fn() -> Result<(), Refusal> + Send;

struct Rows<I, P> {
    rows: I,
    put: P,
    frame: Frame,
    /// What is to be sent with the next rows.
    waiting: Vec<u8>,
    begun: bool,
    ended: bool,
    /// Refuses to go on for a client that has gone.
    go_on: Box<GoOn>,
}

impl<R, I, P> Rows<I, P>
where
    I: Iterator<Item = Result<Option<R>, Refusal>>,
    P: FnMut(&mut Vec<u8>, R) -> Result<(), Refusal>,
{
    fn chunk(&mut self) -> Result<Vec<u8>, Refusal> {
        let mut out = std::mem::take(&mut self.waiting);
        let bytes = if self.begun { CHUNK_BYTES } else { FIRST_BYTES };
        if self.begun {
            out.reserve(CHUNK_BYTES + ROW_BYTES); // there are many rows
        }
        let mut looked = 0;
        while out.len() < bytes {
            if looked == LOOK_ROWS {
                looked = 0;
                (self.go_on)()?;
            }
            looked += 1;
            match self.rows.next().transpose()? {
                Some(Some(row)) => {
                    if std::mem::replace(&mut self.begun, true) {
                        out.extend_from_slice(self.frame.between);
                    }
                    (self.put)(&mut out, row)?;
                }
                Some(None) => {}
                None => {
                    self.ended = true;
                    out.extend_from_slice(self.frame.behind);
                    break;
                }
            }
        }
        Ok(out)
    }
}

impl<R, I, P> Iterator for Rows<I, P>
where
    I: Iterator<Item = Result<Option<R>, Refusal>>,
    P: FnMut(&mut Vec<u8>, R) -> Result<(), Refusal>,
{
    type Item = Result<Bytes, Refusal>;

    fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        if self.ended {
            return None;
        }
        let chunk = self.chunk();
        self.ended |= chunk.is_err();
        chunk.map(|chunk| (!chunk.is_empty()).then(|| chunk.into())).transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, sync::Arc, thread, time::Duration};

    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::{
        peer::{Client, Peer, Wire},
        stream::Stream,
    };

    /// Rows of which a client sees none: nothing is written for them, so only a look at the connection tells that it has gone.
    #[tokio::test]
    async fn rows_end_soon_after_the_client_has_gone() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, address) = listener.accept().await.unwrap();
        let stream = Arc::new(Stream::Tcp(stream));
        let mut client = Some(client);
        let mut made = 0;
        let none = std::iter::from_fn(|| {
            made += 1;
            if made == 10_000 {
                client = None;
                thread::sleep(Duration::from_millis(100)); // until the end has arrived
            }
            (made <= 1_000_000).then_some(Ok(None))
        });
        let peer = Peer { client: Client::Address(address), wire: Wire::Plain, stream: Arc::downgrade(&stream) };
        let gone = || Refusal::new(Code::BadRequest, "the client has gone");
        let go_on: Box<GoOn> = Box::new(move || if peer.has_gone() { Err(gone()) } else { Ok(()) });
        let frame = Frame::list();
        let put = |_: &mut Vec<u8>, (): ()| Ok(());
        let mut rows = Rows { rows: none, put, frame, waiting: Vec::new(), begun: false, ended: false, go_on };
        assert!(rows.next().unwrap().is_err());
        assert!(rows.next().is_none());
        drop(rows);
        assert!((10_000..10_000 + 2 * LOOK_ROWS).contains(&made), "{made} rows were made");
    }
}
