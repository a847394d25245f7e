//! What the tests of both clients share: waits that end, a port that answers searches, and a user who listens.

use std::{future::Future, net::SocketAddr, time::Duration};

use epics::{Event, Key};
use tokio::{
    io::AsyncReadExt,
    net::{TcpStream, UdpSocket},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::timeout,
};

pub(crate) async fn soon<T>(what: &str, wait: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), wait).await.unwrap_or_else(|_| panic!("in vain: {what}"))
}

/// Answers every datagram that comes to the returned address, a port of its own on loopback.
pub(crate) async fn answer_searches(reply: impl Fn(&[u8]) -> Vec<u8> + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let address = socket.local_addr().expect("an address");
    tokio::spawn(async move {
        let mut input = [0; 2048];
        while let Ok((size, client)) = socket.recv_from(&mut input).await {
            socket.send_to(&reply(&input[..size]), client).await.expect("loopback works");
        }
    });
    address
}

pub(crate) async fn expect_end(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    soon("the client ends the circuit", stream.read_to_end(&mut rest)).await.expect("an orderly end");
}

/// A client, and what it tells.
pub(crate) struct User<C> {
    pub(crate) client: C,
    events: UnboundedReceiver<(Key, Event)>,
}

impl<C> User<C> {
    /// `start` is given where the client's handler is to send events.
    pub(crate) fn with(start: impl FnOnce(UnboundedSender<(Key, Event)>) -> C) -> User<C> {
        let (sender, events) = unbounded_channel();
        User { client: start(sender), events }
    }

    /// The next that is told of a channel, besides in which run of its server it is.
    pub(crate) async fn next(&mut self) -> (u64, Event) {
        loop {
            let (key, event) = soon("an event", self.events.recv()).await.expect("the client lives");
            if !matches!(event, Event::Identified { .. }) {
                return (key.0, event);
            }
        }
    }

    pub(crate) async fn expect_connected(&mut self, key: u64) {
        let found = self.next().await;
        assert!(matches!(found, (found, Event::Connected { .. }) if found == key), "{found:?}");
    }

    pub(crate) async fn expect_disconnected(&mut self, key: u64) -> String {
        match self.next().await {
            (found, Event::Disconnected { reason }) if found == key => reason,
            other => panic!("{other:?}"),
        }
    }
}
