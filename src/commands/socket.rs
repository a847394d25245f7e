//! The way to an archiver on this machine by its socket, where all others are reached by network.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use ureq::{
    Error, Timeout,
    http::Uri,
    unversioned::transport::{
        Buffers, ConnectionDetails, Connector, DefaultConnector, LazyBuffers, NextTimeout, Transport,
    },
};

/// Which archiver is reached by which socket.
type BySocket = fn(&Uri) -> Option<&'static Path>;

/// By network, but for the archiver that has a socket.
#[derive(Debug)]
pub(super) struct SocketWay {
    usual: DefaultConnector,
    by_socket: BySocket,
}

impl SocketWay {
    pub(super) fn new(by_socket: BySocket) -> SocketWay {
        SocketWay { usual: DefaultConnector::default(), by_socket }
    }
}

impl Connector<()> for SocketWay {
    type Out = Box<dyn Transport>;

    fn connect(&self, to: &ConnectionDetails, chained: Option<()>) -> Result<Option<Self::Out>, Error> {
        let Some(path) = (self.by_socket)(to.uri) else { return self.usual.connect(to, chained) };
        let cannot = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let stream = UnixStream::connect(path).map_err(cannot)?;
        let buffers = LazyBuffers::new(to.config.input_buffer_size(), to.config.output_buffer_size());
        Ok(Some(Box::new(BySocketAlone { stream, buffers })))
    }
}

/// A connection by a socket.
#[derive(Debug)]
struct BySocketAlone {
    stream: UnixStream,
    buffers: LazyBuffers,
}

impl Transport for BySocketAlone {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.set_write_timeout(span(timeout))?;
        let written = self.stream.write_all(&self.buffers.output()[..amount]);
        written.map_err(|error| failed(error, timeout.reason))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.set_read_timeout(span(timeout))?;
        let read = self.stream.read(self.buffers.input_append_buf());
        let amount = read.map_err(|error| failed(error, timeout.reason))?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        false // each request has a connection of its own
    }
}

/// No time at all cannot be waited.
fn span(timeout: NextTimeout) -> Option<Duration> {
    timeout.not_zero().map(|span| *span)
}

fn failed(error: io::Error, reason: Timeout) -> Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Error::Timeout(reason),
        _ => Error::Io(error),
    }
}
