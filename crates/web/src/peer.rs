//! From where a request came, and which row of the table answered it.

use std::{
    fmt::{self, Write as _},
    io,
    mem::MaybeUninit,
    net::SocketAddr,
    sync::Weak,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::SockRef;

use crate::stream::Stream;

/// Where a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// At an address.
    Address(SocketAddr),
    /// On this machine, as the system knows the user of its process.
    User(u32),
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Client::Address(address) => address.ip().fmt(f),
            Client::User(uid) => write!(f, "the user {uid} of this machine"),
        }
    }
}

/// What can be seen of the bytes that a client has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// They are requests.
    Plain,
    /// They may be the farewell of a client that has gone as well as a request: only TLS can tell.
    Sealed,
}

/// From where a request came.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) client: Client,
    pub(crate) wire: Wire,
    /// Nothing once the connection is broken off.
    pub(crate) stream: Weak<Stream>,
}

impl Peer {
    /// Whether it waits for no answer any more.
    pub(crate) fn has_gone(&self) -> bool {
        let Some(stream) = self.stream.upgrade() else { return true };
        match self.wire {
            Wire::Plain => {
                let mut byte = [MaybeUninit::uninit()];
                match SockRef::from(&*stream).peek(&mut byte) {
                    Ok(bytes) => bytes == 0,
                    Err(error) => error.kind() != io::ErrorKind::WouldBlock,
                }
            }
            // Its farewell may lie there unread, but nobody who waits for an answer ends their own side.
            Wire::Sealed => {
                let mut looked = [PollFd::new(&*stream, PollFlags::RDHUP)];
                let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
                let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
                poll(&mut looked, Some(&at_once)).is_ok_and(|_| looked.iter().any(|fd| fd.revents().intersects(gone)))
            }
        }
    }
}

/// The number of a request: none other has it, in this run of the program or another.
#[derive(Clone, Debug)]
pub(crate) struct RequestNumber(pub(crate) Box<str>);

impl RequestNumber {
    /// That of the request so many before which came in a run that began then.
    pub(crate) fn new(began_nanos: i64, before: u64) -> RequestNumber {
        let mut text = String::with_capacity(32);
        let written = write!(text, "{began_nanos:x}-{before}");
        debug_assert!(written.is_ok(), "a text takes all that is written to it");
        RequestNumber(text.into())
    }
}

/// Which row of the table answered; for the counters.
#[derive(Clone, Copy)]
pub(crate) struct AnsweredBy(pub(crate) &'static str);

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use tokio::{
        io::AsyncWriteExt,
        net::{TcpListener, TcpStream},
    };

    use super::*;

    /// Whether it has gone, once that has come over the network.
    async fn goes(peer: &Peer) -> bool {
        for _ in 0..1000 {
            if peer.has_gone() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        false
    }

    /// A client, and what the server sees of it.
    async fn connected(wire: Wire) -> (TcpStream, Arc<Stream>, Peer) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, address) = listener.accept().await.unwrap();
        let stream = Arc::new(Stream::Tcp(stream));
        let peer = Peer { client: Client::Address(address), wire, stream: Arc::downgrade(&stream) };
        (client, stream, peer)
    }

    #[tokio::test]
    async fn a_peer_has_gone_when_it_closes_or_its_connection_is_given_up_and_not_when_it_asks_for_more() {
        for wire in [Wire::Plain, Wire::Sealed] {
            let (client, _stream, peer) = connected(wire).await;
            assert!(!peer.has_gone());
            drop(client);
            assert!(goes(&peer).await);

            let (mut client, stream, peer) = connected(wire).await;
            client.write_all(b"GET").await.unwrap();
            stream.readable().await.unwrap();
            assert!(!peer.has_gone());
            drop(stream);
            assert!(peer.has_gone());
        }
    }

    #[tokio::test]
    async fn a_peer_that_says_farewell_under_tls_has_gone_though_its_words_are_not_read() {
        let (mut client, stream, peer) = connected(Wire::Sealed).await;
        client.write_all(b"\x15\x03\x03\x00\x02\x01\x00").await.unwrap();
        stream.readable().await.unwrap();
        assert!(!peer.has_gone(), "it may send more");
        drop(client);
        assert!(goes(&peer).await);
    }
}
