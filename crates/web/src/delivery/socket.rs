//! A client's socket: whoever takes nothing for too long loses it, and whoever still sends is told what was wrong.
//!
//! ```text
//!   hyper ► Spoken ► Socket ► system            hyper ► Spoken ► TLS ► Socket ► system
//! ```
//! What passes a `Socket` may be sealed: it knows bytes and times alone. `Spoken` sees answers as they are written: `hyper` refuses a head
//! that it cannot read with an empty answer, which goes out as JSON with a reason there, as every other refusal does.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep, timeout},
};

use crate::{browser, stream::Stream};

/// How long, and how many bytes, a client may still send when its connection is over: to close a socket that has unread bytes would
/// take back the answer that was sent before.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES_MAX: usize = 64 << 20;
const LINGER_ROOM: usize = 16 << 10;

/// What a connection does, as others may know it.
#[derive(Debug)]
pub(crate) struct Activity {
    opened: Instant,
    /// Milliseconds since then, when bytes last went either way.
    last: AtomicU64,
    answering: AtomicBool,
    /// Bytes of the answer that were given to the connection since it had last written everything.
    unwritten: AtomicUsize,
    /// Whether the answer waits for that.
    held: AtomicBool,
}

impl Activity {
    pub(crate) fn new() -> Activity {
        Activity {
            opened: Instant::now(),
            last: AtomicU64::new(0),
            answering: AtomicBool::new(false),
            unwritten: AtomicUsize::new(0),
            held: AtomicBool::new(false),
        }
    }

    fn note(&self) {
        self.last.store(self.opened.elapsed().as_millis() as u64, Relaxed);
    }

    /// A request is at work, or no longer.
    pub(crate) fn set_answering(&self, answering: bool) {
        self.answering.store(answering, Relaxed);
        self.note();
    }

    /// So many bytes of the answer are given to the connection.
    pub(crate) fn give(&self, bytes: usize) {
        self.unwritten.fetch_add(bytes, Relaxed);
    }

    /// Whether so many bytes wait in the connection that no more is to be given. Its task is woken when all are written.
    pub(crate) fn must_wait(&self, bytes_max: usize) -> bool {
        let must = self.unwritten.load(Relaxed) > bytes_max;
        self.held.store(must, Relaxed);
        must
    }

    /// The connection has written all that it had.
    pub(crate) fn all_is_written(&self, context: &Context<'_>) {
        self.unwritten.store(0, Relaxed);
        if self.held.swap(false, Relaxed) {
            context.waker().wake_by_ref();
        }
    }

    /// How long nothing has gone either way and no request has been at work.
    pub(crate) fn idle(&self) -> Duration {
        if self.answering.load(Relaxed) {
            return Duration::ZERO;
        }
        self.opened.elapsed().saturating_sub(Duration::from_millis(self.last.load(Relaxed)))
    }
}

pub(crate) struct Socket {
    stream: Arc<Stream>,
    activity: Arc<Activity>,
    write_timeout: Duration,
    /// Goes off when the client has taken nothing for that long.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl Socket {
    pub(crate) fn new(stream: Arc<Stream>, activity: Arc<Activity>, write_timeout: Duration) -> Socket {
        Socket { stream, activity, write_timeout, stuck: None }
    }

    /// Writes as soon as some bytes can be.
    fn poll_some(
        &mut self,
        context: &mut Context<'_>,
        write: impl Fn(&Stream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            if self.stream.poll_write_ready(context)?.is_pending() {
                let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(self.write_timeout)));
                ready!(stuck.as_mut().poll(context));
                let message = format!("the client took nothing for {} s", self.write_timeout.as_secs());
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)));
            }
            match write(&self.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(written) => {
                    self.stuck = None;
                    self.activity.note();
                    return Poll::Ready(Ok(written));
                }
                error => return Poll::Ready(error),
            }
        }
    }
}

/// The stream below a connection, on which hyper's empty refusals become ones with a reason.
pub(crate) struct Spoken<S> {
    below: S,
    /// What is said in place of hyper's empty refusal, and how much of it has been.
    instead: Option<(Vec<u8>, usize)>,
}

impl<S: AsyncWrite + Unpin> Spoken<S> {
    pub(crate) fn over(below: S) -> Spoken<S> {
        Spoken { below, instead: None }
    }

    /// Writes what is said in place of `bytes` of hyper's, to its end.
    fn poll_instead(&mut self, context: &mut Context<'_>, bytes: usize) -> Poll<io::Result<usize>> {
        while let Some((text, said)) = self.instead.take() {
            if said == text.len() {
                return Poll::Ready(Ok(bytes));
            }
            let written = Pin::new(&mut self.below).poll_write(context, text.get(said..).unwrap_or_default());
            let more = if let Poll::Ready(Ok(more)) = written { more } else { 0 };
            self.instead = Some((text, said + more));
            ready!(written)?;
        }
        Poll::Ready(Ok(bytes))
    }
}

/// Hyper's own refusals are a tenth of this. What is longer is not looked at.
const REFUSAL_BYTES_MAX: usize = 1024;

/// What to say in place of hyper's own refusal; none if these bytes are anything else. Refusals of ours are never empty.
fn instead_of(head: &[u8]) -> Option<Vec<u8>> {
    // Nearly always this is a piece of an answer of which only the first bytes are looked at.
    let text = head.strip_prefix(b"HTTP/1.1 ").filter(|text| text.len() <= REFUSAL_BYTES_MAX)?;
    let text = str::from_utf8(text).ok()?;
    let (status, code, message) = match text.get(..3)? {
        "400" => ("400 Bad Request", "bad_request", "this is no request in HTTP/1.1"),
        "414" => ("414 URI Too Long", "too_large", "the URL is too long; POST long lists of names in the body"),
        "431" => (
            "431 Request Header Fields Too Large",
            "too_large",
            "the URL and the headers are too long; POST long lists of names in the body",
        ),
        _ => return None,
    };
    if !(text.contains("content-length: 0\r\n") && text.contains("connection: close\r\n")) {
        return None;
    }
    let body = serde_json::json!({ "error": { "code": code, "message": message } }).to_string();
    let head = "connection: close\r\ncontent-type: application/json";
    let head = format!("HTTP/1.1 {status}\r\n{head}\r\n{}", browser::lines());
    Some(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes())
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            match self.stream.try_read(buffer.initialize_unfilled()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(read) => {
                    buffer.advance(read);
                    self.activity.note();
                    return Poll::Ready(Ok(()));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().poll_some(context, |stream| stream.try_write_vectored(slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Called when the connection has written all that it had.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.activity.all_is_written(context);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.hang_up())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Spoken<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().below).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Spoken<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.instead.is_none() {
            this.instead = slices.first().and_then(|head| instead_of(head)).map(|text| (text, 0));
        }
        if this.instead.is_some() {
            return this.poll_instead(context, slices.iter().map(|slice| slice.len()).sum());
        }
        Pin::new(&mut this.below).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.below.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().below).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().below).poll_shutdown(context)
    }
}

/// Says nothing more, and takes for a while what the client still sends.
pub(crate) async fn linger(stream: &Stream) -> io::Result<()> {
    stream.hang_up()?;
    let mut room = vec![0; LINGER_ROOM];
    let rest = async {
        let mut taken = 0;
        while taken < LINGER_BYTES_MAX {
            stream.readable().await?;
            match stream.try_read(&mut room) {
                Ok(0) => break,
                Ok(more) => taken += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    };
    // Whoever is not done by then has had the time to read the answer.
    timeout(LINGER, rest).await.unwrap_or(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_empty_refusals_of_hyper_are_replaced() {
        let refusal = |status: &str, length: usize| {
            format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\ndate: x\r\n\r\n")
        };
        let text = String::from_utf8(instead_of(refusal("431 X", 0).as_bytes()).unwrap()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("HTTP/1.1 431 ") && head.ends_with(&format!("content-length: {}", body.len())),
            "{head}"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(body).unwrap()["error"]["code"], "too_large");
        for other in [refusal("431 X", 5), refusal("200 OK", 0), "1,2,3\n".to_owned(), String::new()] {
            assert_eq!(instead_of(other.as_bytes()), None, "{other}");
        }
    }
}
