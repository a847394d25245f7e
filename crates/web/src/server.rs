//! The server: a few doors, many connections, an end that lets answers finish.

use std::{
    collections::HashMap,
    convert::Infallible,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use access::{Access, Certificate};
use axum::{
    body::{Body, Bytes, HttpBody},
    response::Response,
};
use futures_util::future::select_all;
use hyper::{
    body::{Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
};
use rustls::server::Acceptor;
use service::{Exports, Service, now};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    runtime::Handle,
    sync::watch,
    task::{AbortHandle, Id, JoinHandle, JoinSet, spawn_blocking},
    time::{Instant, MissedTickBehavior, interval, sleep, timeout, timeout_at},
};
use tokio_rustls::{LazyConfigAcceptor, server::TlsStream};

use crate::{
    app::App,
    auth::Shares,
    browser,
    config::{Config, Ports},
    delivery::{
        Delivery,
        answer::MadeAsRead,
        crowd::Crowd,
        socket::{Activity, Socket, Spoken, linger},
    },
    dispatch::Dispatch,
    door::{Door, Doors, Lock},
    ear::{Ear, Error},
    formats::exports,
    listener::At,
    metrics::Metrics,
    peer::{Client, Peer, Wire},
    routes,
    stream::Stream,
    tls::{
        handshakes::HANDSHAKE_TIMEOUT,
        plain::{self, Beginning},
        shown,
    },
};

/// The most bytes of an answer that wait in a connection besides the chunk that is being sent.
const WRITE_BUFFER_BYTES: usize = 64 << 10;
/// So many bytes of an answer that is made as it is read may wait in a connection, and the piece that makes them more; in a crowd
/// so many. To write less at a time costs a single client a quarter more of the processor.
const UNWRITTEN_BYTES_MAX: usize = 64 << 10;
const UNWRITTEN_BYTES_IN_CROWD: usize = 16 << 10;
/// After a refused accept (no file handles left) the next is tried so much later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// So often the files of certificates are looked at.
const LOOK_EACH: Duration = Duration::from_secs(60);

/// A connection that is to make room for another has been idle for so long at least.
const IDLE_MIN: Duration = Duration::from_secs(1);

/// The server while it runs. Dropping it breaks all connections off.
#[derive(Debug)]
pub struct Serve {
    address: SocketAddr,
    urls: Vec<String>,
    doors: Arc<Doors>,
    exports: Arc<Exports>,
    runtime: Handle,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Serve {
    /// Listens, on the current tokio runtime.
    pub fn start(config: Config, service: Arc<Service>, access: Arc<Access>) -> Result<Serve, Error> {
        let url = config.appliance.url.as_deref();
        let mut ears = Vec::new();
        let mut doors = Vec::new();
        for listener in &config.listeners {
            let (ear, name) = Ear::open(&listener.at)?;
            let door = Arc::new(Door::new(listener.clone(), name, url, now()));
            ears.push((ear, Arc::clone(&door)));
            doors.push(door);
        }
        let address = ears.iter().find_map(|(ear, _)| ear.address()).ok_or(Error::NoAddress)?;
        if let (Ports::Four, Some((_, door))) = (config.appliance.ports, ears.first()) {
            let door = Arc::clone(door);
            for more in 1..=3 {
                let port = address.port().checked_add(more);
                let beyond = || io::Error::new(io::ErrorKind::InvalidInput, "there are not three ports behind it");
                let port = port.ok_or_else(|| Error::Listen { at: At::Address(address), source: beyond() })?;
                let (ear, _) = Ear::open(&At::Address(SocketAddr::new(address.ip(), port)))?;
                ears.push((ear, Arc::clone(&door)));
            }
        }
        let url =
            |door: &Arc<Door>| if door.lock.is_some() { "https" } else { "http" }.to_owned() + "://" + &door.name + "/";
        let urls = ears.iter().filter(|(ear, _)| ear.address().is_some()).map(|(_, door)| url(door)).collect();
        let (stop, stopping) = watch::channel(false);
        let metrics = Arc::new(Metrics::new());
        let delivery = Delivery::within(config.answers_bytes_max);
        let doors = Arc::new(Doors(doors));
        let of_app = Arc::clone(&doors);
        let (shares, flags) = (Shares::default(), Mutex::default());
        let budget = Arc::clone(&delivery.budget);
        let exports = Exports::open(Arc::clone(&service), budget, config.exports.clone(), exports::make);
        let exports = Arc::new(exports);
        let needed = routes::needed_for;
        let app = Arc::new(App {
            config,
            delivery,
            address,
            doors: of_app,
            service,
            exports: Arc::clone(&exports),
            access,
            shares,
            metrics,
            slow: Arc::default(),
            needed,
            flags,
            stopping,
        });
        let task = tokio::spawn(accept(ears, app));
        Ok(Serve { address, urls, doors, exports, runtime: Handle::current(), stop, task })
    }

    /// Where it listens: the first address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where people find it.
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// Looks at the files of certificates, and uses those that are new; the server does so itself each minute. Whether that is done, or left to
    /// somebody who looks at some of them already. A disk that does not answer holds up only those who wait for the end of it.
    pub fn look_at_certificates(&self) -> JoinHandle<bool> {
        let doors = Arc::clone(&self.doors);
        self.runtime.spawn_blocking(move || doors.look(now()))
    }

    /// Takes no more requests, lets answers finish as long as the config allows, then breaks the rest off.
    pub async fn finish(mut self) {
        self.stop.send_replace(true);
        let exports = Arc::clone(&self.exports);
        drop(self.runtime.spawn_blocking(move || exports.finish()).await);
        if let Err(error) = (&mut self.task).await {
            tracing::error!("the server had failed: {error}");
        }
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        self.task.abort();
        self.exports.finish();
    }
}

type Ears = Vec<(Ear, Arc<Door>)>;

/// The next connection to any of them.
async fn next_of(ears: &Ears) -> io::Result<(Stream, Client, Arc<Door>)> {
    let next = ears.iter().map(|(ear, door)| {
        Box::pin(async move {
            let (stream, client) = ear.accept().await?;
            Ok((stream, client, Arc::clone(door)))
        })
    });
    select_all(next).await.0
}

async fn accept(ears: Ears, app: Arc<App>) {
    let dispatch = Dispatch::new(Arc::clone(&app));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut open: HashMap<Id, (AbortHandle, Arc<Activity>)> = HashMap::new();
    let mut look = interval(LOOK_EACH);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            accepted = next_of(&ears) => match accepted {
                Ok((stream, _, door)) if open.len() >= app.config.connections_max && !made_room(&mut open) => {
                    turn_away(&stream, &door);
                }
                Ok((stream, client, door)) => {
                    let activity = Arc::new(Activity::new());
                    let visit = Visit { stream: Arc::new(stream), client, door, activity: Arc::clone(&activity) };
                    let task = connection(visit, dispatch.clone(), graceful.watcher(), Arc::clone(&app));
                    let task = connections.spawn(task);
                    open.insert(task.id(), (task, activity));
                }
                Err(error) => {
                    tracing::warn!("a connection could not be accepted: {error}");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(ended) = connections.join_next_with_id(), if !connections.is_empty() => {
                open.remove(&ended.map_or_else(|error| error.id(), |(id, ())| id));
            }
            _ = look.tick() => {
                let app = Arc::clone(&app);
                drop(spawn_blocking(move || tend(&app))); // nobody waits for it
            }
            () = app.stopped() => break,
        }
    }
    drop(ears);
    let used = Arc::clone(&app);
    let kept = spawn_blocking(move || keep_days(&used));
    if timeout(app.config.finish_within, graceful.shutdown()).await.is_err() {
        tracing::warn!("{} connections were broken off in the middle of an answer", connections.len());
    }
    drop(timeout(app.config.finish_within, kept).await);
}

/// What is looked at each minute.
fn tend(app: &App) {
    app.doors.look(now());
    keep_days(app);
}

/// Writes down on which days tokens were used.
fn keep_days(app: &App) {
    if let Err(error) = app.access.tend() {
        tracing::warn!("the days on which tokens were used are not kept: {error}");
    }
}

/// Ends the connections on which nothing has happened for the longest time, a few at once; false if all are busy.
fn made_room(open: &mut HashMap<Id, (AbortHandle, Arc<Activity>)>) -> bool {
    let mut idle: Vec<(Duration, Id)> = open.iter().map(|(id, (_, activity))| (activity.idle(), *id)).collect();
    idle.retain(|(idle, _)| *idle >= IDLE_MIN);
    idle.sort_unstable_by_key(|(idle, _)| std::cmp::Reverse(*idle));
    idle.truncate((open.len() / 64).max(1));
    for (_, id) in &idle {
        if let Some((task, _)) = open.remove(id) {
            task.abort();
        }
    }
    if !idle.is_empty() {
        tracing::debug!("{} idle connections made room for new ones", idle.len());
    }
    !idle.is_empty()
}

/// A body that is made as it is read: while a piece of it is being made, its connection is busy. While too much of what was made is
/// still unsent, no more is made.
struct PacedBody {
    body: Body,
    activity: Arc<Activity>,
    crowd: Crowd,
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let bytes_max = if self.crowd.is_crowd() { UNWRITTEN_BYTES_IN_CROWD } else { UNWRITTEN_BYTES_MAX };
        if self.activity.must_wait(bytes_max) {
            self.activity.set_answering(false);
            return Poll::Pending;
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        self.activity.set_answering(polled.is_pending());
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.activity.give(frame.data_ref().map_or(0, Bytes::len));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Says why there is no answer, as far as that can be said at once; under TLS it cannot.
fn turn_away(stream: &Stream, door: &Door) {
    const BODY: &str =
        r#"{"error":{"code":"busy","message":"too many clients are being answered","hint":"try again in a second"}}"#;
    if door.lock.is_some() {
        return;
    }
    let head =
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-type: application/json";
    let answer = format!("{head}\r\n{}content-length: {}\r\n\r\n{BODY}", browser::lines(), BODY.len());
    if let Err(error) = stream.try_write(answer.as_bytes()) {
        tracing::debug!("a client was turned away without a word: {error}");
    }
}

/// Somebody who has come in.
struct Visit {
    stream: Arc<Stream>,
    client: Client,
    door: Arc<Door>,
    activity: Arc<Activity>,
}

/// One connection to its end. What goes wrong on it is the client's affair.
async fn connection(visit: Visit, dispatch: Dispatch, watcher: Watcher, app: Arc<App>) {
    let Visit { stream, client, door, activity } = visit;
    if let Err(error) = stream.set_up(app.config.write_timeout) {
        tracing::debug!("answers may be late: {error}");
    }
    let socket = Socket::new(Arc::clone(&stream), Arc::clone(&activity), app.config.write_timeout);
    let peer = |wire| Peer { client, wire, stream: Arc::downgrade(&stream) };
    let answers = |peer, shown| Responder {
        dispatch,
        activity,
        crowd: app.delivery.crowd.clone(),
        door: Arc::clone(&door),
        peer,
        shown,
    };
    let done = match &door.lock {
        None => converse(Spoken::over(socket), answers(peer(Wire::Plain), None), &app, watcher).await,
        Some(lock) => {
            let sealed = tokio::select! {
                sealed = sealed(socket, &stream, lock) => sealed,
                () = app.stopped() => return,
            };
            match sealed {
                Ok(Some((sealed, shown))) => {
                    let answers = answers(peer(Wire::Sealed), shown);
                    converse(Spoken::over(sealed), answers, &app, watcher).await
                }
                // What an answer in plain text was given to, or nobody.
                Ok(None) => Ok(()),
                Err(error) => return tracing::debug!("a handshake failed: {error}"),
            }
        }
    };
    if let Err(error) = done {
        tracing::debug!("a connection broke off: {error}");
    }
    if let Err(error) = linger(&stream).await {
        tracing::debug!("a client hung up: {error}");
    }
}

type Sealed = (TlsStream<Socket>, Option<Arc<Certificate>>);

/// A handshake to its end; none if the client does not speak TLS.
async fn sealed(socket: Socket, stream: &Stream, lock: &Lock) -> io::Result<Option<Sealed>> {
    let Stream::Tcp(tcp) = stream else { return Ok(None) };
    let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "it took too long");
    let beginning = timeout_at(deadline, plain::beginning(tcp)).await.map_err(late)??;
    match beginning {
        Beginning::Handshake => {}
        Beginning::End => return Ok(None),
        Beginning::Other => return plain::refuse(tcp, tcp.local_addr()?.port()).await.map(|()| None),
    }
    let run = async {
        let hello = LazyConfigAcceptor::new(Acceptor::default(), socket).await?;
        let used = lock.certificates.used().ok_or_else(|| io::Error::other("there is no certificate"))?;
        lock.handshakes.run(hello.into_stream(used)).await
    };
    let sealed = timeout_at(deadline, run).await.map_err(late)??;
    let shown = match sealed.get_ref().1.peer_certificates().and_then(<[_]>::first) {
        None => None,
        Some(certificate) => {
            let shown = shown::read(certificate, lock.counts);
            Some(Arc::new(shown.ok_or_else(|| io::Error::other("the client's certificate cannot be read"))?))
        }
    };
    Ok(Some((sealed, shown)))
}

/// What answers the requests of one connection.
struct Responder {
    dispatch: Dispatch,
    activity: Arc<Activity>,
    crowd: Crowd,
    door: Arc<Door>,
    peer: Peer,
    shown: Option<Arc<Certificate>>,
}

impl Responder {
    /// What a request is to carry along, and what answers it.
    fn answer(
        &self,
        mut request: hyper::Request<Incoming>,
    ) -> impl Future<Output = Result<Response, Infallible>> + use<> {
        let (dispatch, at_work, crowd) = (self.dispatch.clone(), Arc::clone(&self.activity), self.crowd.clone());
        let extensions = request.extensions_mut();
        extensions.insert(self.peer.clone());
        extensions.insert(Arc::clone(&self.door));
        if let Some(shown) = &self.shown {
            extensions.insert(Arc::clone(shown));
        }
        async move {
            at_work.set_answering(true);
            let answer = dispatch.answer(request.map(Body::new)).await;
            at_work.set_answering(false);
            let is_made_as_read = answer.extensions().get::<MadeAsRead>().is_some();
            Ok(answer.map(|body| match is_made_as_read {
                true => Body::new(PacedBody { body, activity: at_work, crowd }),
                false => body,
            }))
        }
    }
}

/// Answers one request after the other.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    answers: Responder,
    app: &App,
    watcher: Watcher,
) -> Result<(), hyper::Error> {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.config.head_timeout)
        .max_buf_size(WRITE_BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), service_fn(move |request| answers.answer(request)));
    watcher.watch(connection).await
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::atomic::{AtomicBool, Ordering::Relaxed},
        thread::sleep,
    };

    use futures_util::stream::{self, StreamExt};

    use super::*;

    /// Polls a body whose one piece is there, or is being made, and says how long its connection counts as idle some time later.
    fn idle_after(is_there: bool) -> Duration {
        let activity = Arc::new(Activity::new());
        let piece = stream::iter(is_there.then(|| Ok::<_, Infallible>(Bytes::from_static(b"piece"))));
        let body = Body::from_stream(piece.chain(stream::pending()));
        let mut body = PacedBody { body, activity: Arc::clone(&activity), crowd: Crowd::new() };
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert_eq!(Pin::new(&mut body).poll_frame(&mut context).is_ready(), is_there);
        sleep(Duration::from_millis(20));
        activity.idle()
    }

    #[test]
    fn who_takes_nothing_is_given_nothing_more_until_all_is_written() {
        let activity = Arc::new(Activity::new());
        let piece = || Ok::<_, Infallible>(Bytes::from(vec![0; UNWRITTEN_BYTES_MAX + 1]));
        let body = Body::from_stream(stream::iter([piece(), piece()]));
        let mut body = PacedBody { body, activity: Arc::clone(&activity), crowd: Crowd::new() };
        let woken = Arc::new(Woken::default());
        let waker = std::task::Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let mut is_given = |context: &mut Context<'_>| Pin::new(&mut body).poll_frame(context).is_ready();
        assert!(is_given(&mut context));
        assert!(!is_given(&mut context));
        assert!(!woken.0.load(Relaxed));
        activity.all_is_written(&context);
        assert!(woken.0.load(Relaxed));
        assert!(is_given(&mut context));
    }

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl std::task::Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Relaxed);
        }
    }

    #[test]
    fn who_waits_for_a_piece_is_busy_and_who_does_not_take_it_is_idle() {
        assert_eq!(idle_after(false), Duration::ZERO);
        assert!(idle_after(true) >= Duration::from_millis(10));
    }
}
