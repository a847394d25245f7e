//! Watches how much of a circuit waits in the kernel unread: a server that cannot send because there is no room left throws
//! updates away, and Channel Access has no way to say so.

use std::{
    os::fd::AsFd,
    time::{Duration, Instant},
};

use socket2::SockRef;
use tokio::net::TcpStream;

/// How often it is looked: a stall that is shorter than this fills no buffer of megabytes.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Of the bytes that the kernel grants, small messages take a half and more for themselves: with a quarter unread there may have
/// been no room left.
const FULL_PART: u64 = 4;

/// The unread bytes of one circuit, looked at from time to time.
#[derive(Debug)]
pub(super) struct Backlog {
    full: u64,
    looked: Instant,
}

impl Backlog {
    pub(super) fn new(stream: &TcpStream, now: Instant) -> Backlog {
        let granted = SockRef::from(stream).recv_buffer_size().unwrap_or(usize::MAX);
        Backlog { full: granted as u64 / FULL_PART, looked: now }
    }

    /// To be called when so many bytes have just been read. If there was hardly room left for more: how long ago it was that there
    /// still was.
    pub(super) fn look(&mut self, stream: &TcpStream, read: usize, now: Instant) -> Option<Duration> {
        let since = now.duration_since(self.looked);
        if since < LOOK_EVERY {
            return None;
        }
        self.looked = now;
        // A socket that cannot be asked is about to fail when it is read.
        let unread = rustix::io::ioctl_fionread(stream.as_fd()).unwrap_or(0);
        (unread + read as u64 >= self.full).then_some(since)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncWriteExt, net::TcpListener};

    use super::*;

    #[tokio::test]
    async fn a_circuit_that_was_not_read_for_long_was_full() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (client, server) =
            tokio::join!(crate::net::connect(listener.local_addr().unwrap()), async { listener.accept().await });
        let (client, (mut server, _)) = (client.unwrap(), server.unwrap());
        let begun = Instant::now();
        let mut backlog = Backlog::new(&client, begun);
        let later = begun + Duration::from_secs(20);
        assert_eq!(backlog.look(&client, 1000, later), None, "there was room");
        // The server sends until there is none.
        let chunk = [7; 64 << 10];
        while tokio::time::timeout(Duration::from_millis(200), server.write_all(&chunk)).await.is_ok() {}
        assert_eq!(backlog.look(&client, 0, later + Duration::from_millis(1)), None, "it is not looked each time");
        assert_eq!(backlog.look(&client, 0, later + Duration::from_secs(5)), Some(Duration::from_secs(5)));
    }
}
