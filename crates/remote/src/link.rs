//! The link to another node: connections to it, and whether it is there. Somebody looks each second, so that whoever asks while it is away
//! does not wait for it.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use archive::{Cost, SourceError};
use rustls::{ClientConnection, StreamOwned, pki_types::ServerName};

use crate::{
    call::{Call, LANGUAGE},
    frame::Item,
    http::{self, Answer},
    key::Key,
};

/// So often it is looked whether the other node is there.
const LOOKED_EACH: Duration = Duration::from_secs(1);
/// So long a connection may take until it stands.
const CONNECTED_WITHIN: Duration = Duration::from_secs(1);
/// A node that works on an answer says so four times a second; one that is silent for so long is away.
const SILENT_MAX: Duration = Duration::from_secs(3);
/// The longest that it may say that it works on the next piece,
const GETS_ON_WITHIN: Duration = Duration::from_secs(20);
/// and on entering what it was sent of an import, which it writes, ships and commits meanwhile.
const ENTERS_WITHIN: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 60 });
/// The longest that it may take nothing of what it is sent, while it writes to its disk what it has.
const TAKES_WITHIN: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 20 });
/// What is sent goes in chunks of about so many bytes.
const CHUNK_BYTES: usize = 64 << 10;
/// How long one reading waits before it is looked whether the node went away meanwhile.
const LOOK_UP: Duration = Duration::from_millis(250);
/// So many connections are kept for later.
const IDLE_MAX: usize = 8;
/// Read at once.
const READ_BYTES: usize = 64 << 10;

/// The way to another node.
#[derive(Debug)]
pub(crate) struct Link {
    // fixed after start
    /// What the node is called in messages.
    name: String,
    address: String,
    key: Key,
    own_run: u64,
    // guarded by locks, of which nobody holds two
    state: Mutex<State>,
    idle: Mutex<Vec<Connection>>,
    is_there: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// Where it was found last: names are looked up by the looker alone, as that may take long.
    addresses: Vec<SocketAddr>,
    /// Why it is away; none if it is there.
    trouble: Option<String>,
}

/// Looks after a link until it is dropped.
#[derive(Debug)]
pub(crate) struct Looker(Thread);

impl Drop for Looker {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

impl Link {
    pub(crate) fn begin(name: String, address: String, key: Key, own_run: u64) -> io::Result<(Arc<Link>, Looker)> {
        let state = State { addresses: Vec::new(), trouble: Some("it was not asked yet".to_owned()) };
        let (state, idle) = (Mutex::new(state), Mutex::default());
        let link = Arc::new(Link { name, address, key, own_run, state, idle, is_there: AtomicBool::new(false) });
        let looked_after = Arc::downgrade(&link);
        let look = move || look_after(&looked_after);
        let thread = thread::Builder::new().name("other node".to_owned()).spawn(look)?;
        Ok((link, Looker(thread.thread().clone())))
    }

    /// Why it is not asked; none if it is there.
    pub(crate) fn away(&self) -> Option<String> {
        if self.is_there.load(Relaxed) {
            return None;
        }
        self.state.lock().expect("no holder of this lock panics").trouble.clone()
    }

    /// An answer as it comes; an error at once if the node is away.
    pub(crate) fn ask(self: &Arc<Link>, call: &Call) -> Result<Items, SourceError> {
        match self.away() {
            Some(trouble) => Err(self.error(&trouble)),
            None => self.ask_anyway(call).map_err(|error| self.lost(&error)),
        }
    }

    /// The answer to an order, which is sent once: it may be carried out though no answer comes.
    pub(crate) fn order(self: &Arc<Link>, call: &Call) -> Result<Items, SourceError> {
        match self.away() {
            Some(trouble) => Err(self.error(&trouble)),
            None => self.ask_anew(call).map_err(|error| self.lost(&error)),
        }
    }

    fn ask_anyway(self: &Arc<Link>, call: &Call) -> io::Result<Items> {
        let request = http::request(call, &self.address);
        // One that was kept may have been closed by the other side meanwhile.
        while let Some(mut kept) = self.kept() {
            if kept.is_usable()
                && let Ok(answer) = kept.send(&request, self)
            {
                return Ok(Items::new(self, kept, answer));
            }
        }
        self.ask_anew(call)
    }

    /// Asks by a connection of its own.
    fn ask_anew(self: &Arc<Link>, call: &Call) -> io::Result<Items> {
        let mut connection = self.connect()?;
        let answer = connection.send(&http::request(call, &self.address), self)?;
        Ok(Items::new(self, connection, answer))
    }

    /// Begins to send it something of which nobody knows yet how much it is, by a connection of its own.
    pub(crate) fn begin_sending(self: &Arc<Link>, name: &str) -> Result<Sending, SourceError> {
        if let Some(trouble) = self.away() {
            return Err(self.error(&trouble));
        }
        let mut connection = self.connect().map_err(|error| self.lost(&error))?;
        connection.push(&http::head(name, &self.address), self).map_err(|error| self.lost(&error))?;
        Ok(Sending { link: Arc::clone(self), connection, waiting: Vec::new(), count: 0 })
    }

    fn kept(&self) -> Option<Connection> {
        self.idle.lock().expect("no holder of this lock panics").pop()
    }

    fn connect(&self) -> io::Result<Connection> {
        let addresses = self.state.lock().expect("no holder of this lock panics").addresses.clone();
        let mut last = io::Error::new(io::ErrorKind::NotFound, "its address is not known");
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECTED_WITHIN) {
                Ok(stream) => return Connection::secured(stream, self),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// It is away, for a reason.
    fn lost(&self, error: &io::Error) -> SourceError {
        let trouble = sentence(error);
        self.set(Some(trouble.clone()));
        self.error(&trouble)
    }

    fn error(&self, trouble: &str) -> SourceError {
        SourceError { cost: Cost::UntilBack, message: format!("{} at {}: {trouble}", self.name, self.address) }
    }

    fn set(&self, trouble: Option<String>) {
        let (name, address) = (&self.name, &self.address);
        let before =
            std::mem::replace(&mut self.state.lock().expect("no holder of this lock panics").trouble, trouble.clone());
        self.is_there.store(trouble.is_none(), Relaxed);
        match (&before, &trouble) {
            (Some(_), None) => tracing::info!("{name} at {address} is there"),
            (None, Some(now)) => tracing::warn!("{name} at {address} is not asked: {now}"),
            (Some(before), Some(now)) if before != now => tracing::warn!("{name} at {address} is not asked: {now}"),
            _ => {}
        }
        if trouble.is_some() {
            self.idle.lock().expect("no holder of this lock panics").clear();
        }
    }

    /// Looks whether it is there, and who it is.
    fn look(self: &Arc<Link>) {
        match self.address.to_socket_addrs() {
            Ok(found) => self.state.lock().expect("no holder of this lock panics").addresses = found.collect(),
            Err(error) => return self.set(Some(format!("its address is not found: {error}"))),
        }
        let hello = self.ask_anyway(&Call::Hello).and_then(|mut items| match items.read()? {
            Some(Ok(Item::Hello(hello))) => items.read().map(|_| hello),
            Some(Err(error)) => Err(io::Error::other(error.message)),
            _ => Err(io::Error::other("it does not say who it is")),
        });
        self.set(match hello {
            Err(error) => Some(sentence(&error)),
            Ok(hello) if hello.run == self.own_run => {
                Some("that is this archiver itself; name the listener of the other one".to_owned())
            }
            Ok(hello) if hello.language != LANGUAGE => Some(format!(
                "it is pvark {} and speaks the language {} of nodes, this one speaks {LANGUAGE}; run the same version on both",
                hello.program, hello.language
            )),
            Ok(_) => None,
        });
    }
}

fn look_after(link: &Weak<Link>) {
    while let Some(link) = link.upgrade() {
        link.look();
        drop(link);
        thread::park_timeout(LOOKED_EACH);
    }
}

/// What an operator makes of an error.
fn sentence(error: &io::Error) -> String {
    let tls = error.get_ref().and_then(|source| source.downcast_ref::<rustls::Error>());
    match (tls, error.kind()) {
        (Some(rustls::Error::InvalidCertificate(_)), _) => "it has another key file".to_owned(),
        (Some(rustls::Error::AlertReceived(alert)), _) => format!("it does not take this archiver's key ({alert:?})"),
        (Some(other), _) => {
            format!("it does not speak as nodes do ({other}); is that the address of its [nodes] listener?")
        }
        (None, io::ErrorKind::ConnectionRefused) => "nobody answers there".to_owned(),
        (None, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => "it does not answer in time".to_owned(),
        (None, io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
            "it broke off".to_owned()
        }
        (None, _) => error.to_string(),
    }
}

/// A connection over which one question at a time is asked.
#[derive(Debug)]
struct Connection(Box<StreamOwned<ClientConnection, TcpStream>>);

impl Connection {
    fn secured(stream: TcpStream, link: &Link) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK_UP))?;
        stream.set_write_timeout(Some(SILENT_MAX))?;
        // Nobody goes by this name: the key alone says who it is.
        let name = ServerName::try_from("pvark.invalid").map_err(io::Error::other)?;
        let client = ClientConnection::new(Arc::clone(&link.key.client), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(client, stream);
        let begun = Instant::now();
        while stream.conn.is_handshaking() {
            match stream.conn.complete_io(&mut stream.sock) {
                Ok(_) => {}
                Err(error) if is_late(&error) && begun.elapsed() < SILENT_MAX => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Connection(Box::new(stream)))
    }

    /// Whether the other side keeps it open and has said nothing that nobody asked for. Tickets of TLS may have come.
    fn is_usable(&self) -> bool {
        let sock = &self.0.sock;
        if sock.set_nonblocking(true).is_err() {
            return false;
        }
        let silent = sock.peek(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        sock.set_nonblocking(false).is_ok() && silent
    }

    fn send(&mut self, request: &[u8], link: &Link) -> io::Result<Answer> {
        self.0.write_all(request)?;
        self.0.flush()?;
        Answer::begin(&mut |buffer| self.fill(buffer, link))
    }

    /// Sends bytes while the node is there and takes some now and then.
    fn push(&mut self, bytes: &[u8], link: &Link) -> io::Result<()> {
        let (mut rest, mut begun) = (bytes, Instant::now());
        let is_over = |begun: Instant| begun.elapsed() >= TAKES_WITHIN || !link.is_there.load(Relaxed);
        while !rest.is_empty() {
            match self.0.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(size) => (rest, begun) = (rest.get(size..).unwrap_or_default(), Instant::now()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted || is_late(&error) && !is_over(begun) => {}
                Err(error) => return Err(error),
            }
        }
        loop {
            match self.0.flush() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted || is_late(&error) && !is_over(begun) => {}
                done => return done,
            }
        }
    }

    fn fill(&mut self, buffer: &mut Vec<u8>, link: &Link) -> io::Result<usize> {
        let (before, begun) = (buffer.len(), Instant::now());
        // Where the looker asks, the node is away until it has answered.
        let was_there = link.is_there.load(Relaxed);
        buffer.resize(before + READ_BYTES, 0);
        let read = loop {
            match self.0.read(&mut buffer[before..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_late(&error) => {
                    if begun.elapsed() >= SILENT_MAX || was_there && !link.is_there.load(Relaxed) {
                        break Err(io::ErrorKind::TimedOut.into());
                    }
                }
                read => break read,
            }
        };
        buffer.truncate(before + read.as_ref().copied().unwrap_or(0));
        read
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// A message that goes to the node piece by piece, before it answers. If it is dropped before its end, the node takes nothing of it.
pub(crate) struct Sending {
    link: Arc<Link>,
    connection: Connection,
    /// Frames that are not sent yet.
    waiting: Vec<u8>,
    count: u64,
}

impl Sending {
    /// Sends a piece; an error if it is too long.
    pub(crate) fn give(&mut self, item: &Item) -> Result<(), SourceError> {
        let frame = item.frame().ok_or_else(|| self.link.error("a sample is too large to be sent to it"))?;
        self.count += 1;
        self.waiting.extend_from_slice(&frame);
        if self.waiting.len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), SourceError> {
        let chunk = http::chunk(&std::mem::take(&mut self.waiting));
        // The looker alone says whether the node is away: one whose disk is slow still answers others.
        self.connection.push(&chunk, &self.link).map_err(|error| self.link.error(&sentence(&error)))
    }

    /// Says that this was all.
    pub(crate) fn end(&mut self) -> Result<(), SourceError> {
        let end = Item::End(self.count).frame().unwrap_or_default();
        self.waiting.extend_from_slice(&end);
        self.flush()?;
        self.flush() // a chunk of no bytes
    }

    /// The answer, behind the end.
    pub(crate) fn answer(mut self) -> Result<Items, SourceError> {
        let answer = Answer::begin(&mut |buffer| self.connection.fill(buffer, &self.link));
        let answer = answer.map_err(|error| self.link.error(&sentence(&error)))?;
        Ok(Items { gets_on_within: ENTERS_WITHIN, ..Items::new(&self.link, self.connection, answer) })
    }
}

/// The pieces of an answer. Behind an error that costs more than a piece there is nothing.
pub(crate) struct Items {
    link: Arc<Link>,
    /// None when the answer is over.
    connection: Option<Connection>,
    answer: Answer,
    count: u64,
    gets_on_within: Duration,
}

impl Items {
    fn new(link: &Arc<Link>, connection: Connection, answer: Answer) -> Items {
        Items { link: Arc::clone(link), connection: Some(connection), answer, count: 0, gets_on_within: GETS_ON_WITHIN }
    }

    /// The next piece; none at the end. An error if the node does not get on; what it tells of its own troubles is a piece.
    fn read(&mut self) -> io::Result<Option<Result<Item, SourceError>>> {
        let (begun, link) = (Instant::now(), Arc::clone(&self.link));
        loop {
            let Some(connection) = &mut self.connection else { return Ok(None) };
            let mut fill = |buffer: &mut Vec<u8>| connection.fill(buffer, &link);
            match self.answer.next(&mut fill)? {
                Item::Alive if begun.elapsed() > self.gets_on_within => return Err(io::ErrorKind::TimedOut.into()),
                Item::Alive => {}
                Item::End(count) if count != self.count => {
                    return Err(io::Error::other(format!("{} of {count} pieces of its answer came", self.count)));
                }
                Item::End(_) => {
                    let is_over = self.answer.ends(&mut fill)?;
                    let connection = self.connection.take().filter(|_| is_over);
                    let mut idle = link.idle.lock().expect("no holder of this lock panics");
                    idle.extend(connection);
                    idle.truncate(IDLE_MAX);
                    return Ok(None);
                }
                Item::Trouble(error) => {
                    self.count += 1;
                    if error.cost != Cost::Piece {
                        self.connection = None;
                    }
                    return Ok(Some(Err(error)));
                }
                item => {
                    self.count += 1;
                    return Ok(Some(Ok(item)));
                }
            }
        }
    }
}

impl Iterator for Items {
    type Item = Result<Item, SourceError>;

    fn next(&mut self) -> Option<Result<Item, SourceError>> {
        match self.read() {
            Ok(item) => item,
            Err(error) => {
                self.connection = None;
                Some(Err(self.link.lost(&error)))
            }
        }
    }
}
