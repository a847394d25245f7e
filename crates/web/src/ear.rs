//! An ear: where connections are accepted, at an address or at a file that is a socket.

use std::{
    fmt, fs,
    io::{self, ErrorKind},
    net::SocketAddr,
    os::unix::fs::{FileTypeExt, PermissionsExt},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

use socket2::{Domain, SockAddr, Socket, Type};
use tokio::net::{TcpListener, UnixListener};

use crate::{listener::At, peer::Client, stream::Stream};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// Only the user of the archiver may open its socket.
const MODE: u32 = 0o600;

/// Why the server could not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be listened there.
    Listen {
        /// Where.
        at: At,
        /// What the operating system says.
        source: io::Error,
    },
    /// No listener has an address.
    NoAddress,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Listen { at, source } if source.kind() == io::ErrorKind::AddrInUse => {
                write!(f, "cannot listen on {at}: another program listens there; stop it or set another address")
            }
            Error::Listen { at, source } => write!(f, "cannot listen on {at}: {source}"),
            Error::NoAddress => f.write_str("no listener has an address"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Listen { source, .. } => Some(source),
            Error::NoAddress => None,
        }
    }
}

pub(crate) enum Ear {
    Tcp(TcpListener, SocketAddr),
    Socket { listener: UnixListener, _file: File },
}

/// The file of a socket, which goes with it.
pub(crate) struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::debug!("{} stays where it is: {error}", self.0.display());
        }
    }
}

impl Ear {
    /// Begins to listen; where it does so indeed is the name.
    pub(crate) fn open(at: &At) -> Result<(Ear, String), Error> {
        let failed = |source| Error::Listen { at: at.clone(), source };
        let (ear, name) = match at {
            At::Address(address) => {
                let listener = std::net::TcpListener::bind(address).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                let listener = TcpListener::from_std(listener).map_err(failed)?;
                let address = listener.local_addr().map_err(failed)?;
                (Ear::Tcp(listener, address), address.to_string())
            }
            At::Socket(path) => {
                let listener = socket(path).and_then(UnixListener::from_std).map_err(failed)?;
                (Ear::Socket { listener, _file: File(path.clone()) }, path.display().to_string())
            }
        };
        Ok((ear, name))
    }

    /// Its address, if it has one.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self {
            Ear::Tcp(_, address) => Some(*address),
            Ear::Socket { .. } => None,
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<(Stream, Client)> {
        match self {
            Ear::Tcp(listener, _) => {
                let (stream, address) = listener.accept().await?;
                Ok((Stream::Tcp(stream), Client::Address(address)))
            }
            Ear::Socket { listener, .. } => {
                let (stream, _) = listener.accept().await?;
                let user = stream.peer_cred()?.uid();
                Ok((Stream::Unix(stream), Client::User(user)))
            }
        }
    }
}

/// A socket that nobody else can open from its first moment on: it listens only when its file is closed to others.
fn socket(path: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    remove_left_over(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    fs::set_permissions(path, fs::Permissions::from_mode(MODE))?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Removes the socket of an archiver that was killed. Nothing else is touched.
fn remove_left_over(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "a file that is no socket lies there"));
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(ErrorKind::AddrInUse.into()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_closed_to_others_and_takes_the_place_of_a_dead_one_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admin.sock");
        let at = At::Socket(path.clone());
        let (ear, name) = Ear::open(&at).unwrap();
        assert_eq!(name, path.display().to_string());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, MODE);
        let refused = Ear::open(&at).err().unwrap().to_string();
        assert!(refused.contains("another program listens there"), "{refused}");
        let _client = UnixStream::connect(&path).unwrap();
        let (_, from) = ear.accept().await.unwrap();
        assert_eq!(from, Client::User(rustix::process::getuid().as_raw()));
        drop(ear);
        assert!(!path.exists());

        drop(std::os::unix::net::UnixListener::bind(&path).unwrap()); // as one that was killed leaves it
        assert!(path.exists());
        drop(Ear::open(&at).unwrap());
        fs::write(&path, "precious").unwrap();
        assert!(Ear::open(&at).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"precious");
    }
}
