//! A client's stream of bytes: by TCP, or by a socket of this machine.

use std::{
    io::{self, IoSlice},
    os::fd::{AsFd, BorrowedFd},
    task::{Context, Poll},
    time::Duration,
};

use socket2::SockRef;
use tokio::net::{TcpStream, UnixStream};

/// The system takes more of an answer only while it has less than this that cannot be sent yet. Otherwise it takes 4 MB of an answer
/// that nobody reads.
const UNSENT_BYTES: u32 = 128 << 10;

#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Sets it up for answers. A peer that has gone without a word is given up after `give_up`.
    pub(crate) fn set_up(&self, give_up: Duration) -> io::Result<()> {
        let Stream::Tcp(stream) = self else { return Ok(()) };
        let socket = SockRef::from(stream);
        (stream.set_nodelay(true))
            .and_then(|()| socket.set_tcp_user_timeout(Some(give_up)))
            .and_then(|()| socket.set_tcp_notsent_lowat(UNSENT_BYTES))
    }

    pub(crate) fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Stream::Tcp(stream) => stream.poll_write_ready(context),
            Stream::Unix(stream) => stream.poll_write_ready(context),
        }
    }

    pub(crate) fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Stream::Tcp(stream) => stream.poll_read_ready(context),
            Stream::Unix(stream) => stream.poll_read_ready(context),
        }
    }

    pub(crate) fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.try_write_vectored(slices),
            Stream::Unix(stream) => stream.try_write_vectored(slices),
        }
    }

    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.try_write_vectored(&[IoSlice::new(bytes)])
    }

    pub(crate) fn try_read(&self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.try_read(room),
            Stream::Unix(stream) => stream.try_read(room),
        }
    }

    pub(crate) async fn readable(&self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.readable().await,
            Stream::Unix(stream) => stream.readable().await,
        }
    }

    /// Says nothing more.
    pub(crate) fn hang_up(&self) -> io::Result<()> {
        match SockRef::from(self).shutdown(std::net::Shutdown::Write) {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            done => done,
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}
