//! From where a request came, and which row of the table answered it.

use std::{io, mem::MaybeUninit, net::SocketAddr, sync::Weak};

use socket2::SockRef;
use tokio::net::TcpStream;

/// From where a request came.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// Nothing once the connection is broken off.
    pub(crate) stream: Weak<TcpStream>,
}

impl Peer {
    /// Whether it waits for no answer any more.
    pub(crate) fn has_gone(&self) -> bool {
        let Some(stream) = self.stream.upgrade() else { return true };
        let mut byte = [MaybeUninit::uninit()];
        match SockRef::from(&stream).peek(&mut byte) {
            Ok(bytes) => bytes == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

/// Which row of the table answered; for the counters.
#[derive(Clone, Copy)]
pub(crate) struct AnsweredBy(pub(crate) &'static str);

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use tokio::{io::AsyncWriteExt, net::TcpListener};

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

    #[tokio::test]
    async fn a_peer_has_gone_when_it_closes_or_its_connection_is_given_up_and_not_when_it_asks_for_more() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        for closes in [true, false] {
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (stream, address) = listener.accept().await.unwrap();
            let stream = Arc::new(stream);
            let peer = Peer { address, stream: Arc::downgrade(&stream) };
            assert!(!peer.has_gone());
            if closes {
                drop(client);
                assert!(goes(&peer).await);
                continue;
            }
            client.write_all(b"GET").await.unwrap();
            stream.readable().await.unwrap();
            assert!(!peer.has_gone());
            drop(stream);
            assert!(peer.has_gone());
        }
    }
}
