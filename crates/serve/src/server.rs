//! The server: one listener, many connections, an end that lets answers finish.

use std::{
    collections::HashMap,
    convert::Infallible,
    fmt, io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use axum::body::{Body, Bytes, HttpBody};
use futures_util::future::select_all;
use hyper::{
    body::{Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use service::Service;
use socket2::SockRef;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{AbortHandle, Id, JoinHandle, JoinSet},
    time::{sleep, timeout},
};

use crate::{
    app::App,
    browser,
    config::{Config, Ports},
    delivery::{
        Delivery,
        answer::MadeAsRead,
        crowd::Crowd,
        socket::{Activity, Socket, linger},
    },
    dispatch::Dispatch,
    host::Hosts,
    metrics::Metrics,
    peer::Peer,
};

/// The most bytes of an answer that wait in a connection besides the chunk that is being sent.
const WRITE_BUFFER_BYTES: usize = 64 << 10;
/// So many bytes of an answer that is made as it is read may wait in a connection, and the piece that makes them more; in a crowd
/// so many. To write less at a time costs a single client a quarter more of the processor.
const UNWRITTEN_BYTES_MAX: usize = 64 << 10;
const UNWRITTEN_BYTES_IN_CROWD: usize = 16 << 10;
/// The system takes more of an answer only while it has less than this that cannot be sent yet. Otherwise it takes 4 MB of an answer
/// that nobody reads.
const UNSENT_BYTES: u32 = 128 << 10;
/// After a refused accept (no file handles left) the next is tried so much later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A connection that is to make room for another has been idle for so long at least.
const IDLE_MIN: Duration = Duration::from_secs(1);

/// Why the server could not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be listened on.
    Listen {
        /// Which.
        address: SocketAddr,
        /// What the operating system says.
        source: io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Listen { address, source } if source.kind() == io::ErrorKind::AddrInUse => {
                write!(f, "cannot listen on {address}: another program listens there; stop it or set another address")
            }
            Error::Listen { address, source } => write!(f, "cannot listen on {address}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Listen { source, .. } => Some(source),
        }
    }
}

/// The server while it runs. Dropping it breaks all connections off.
#[derive(Debug)]
pub struct Serve {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Serve {
    /// Listens, on the current tokio runtime.
    pub fn start(config: Config, service: Arc<Service>) -> Result<Serve, Error> {
        let first = listen(config.listen)?;
        let address = first.local_addr().map_err(|source| Error::Listen { address: config.listen, source })?;
        let mut listeners = vec![first];
        if config.appliance.ports == Ports::Four {
            for more in 1..=3 {
                let port = address.port().checked_add(more);
                let beyond = || io::Error::new(io::ErrorKind::InvalidInput, "there are not three ports behind it");
                let port = port.ok_or_else(|| Error::Listen { address, source: beyond() })?;
                listeners.push(listen(SocketAddr::new(address.ip(), port))?);
            }
        }
        let (stop, stopping) = watch::channel(false);
        let metrics = Arc::new(Metrics::new());
        let (flags, hosts) = (Mutex::default(), Hosts::new(&config.hosts, config.appliance.url.as_deref()));
        let delivery = Delivery::within(config.answers_bytes_max);
        let app = App { config, delivery, address, hosts, service, metrics, flags, stopping };
        let app = Arc::new(app);
        let task = tokio::spawn(accept(listeners, app));
        Ok(Serve { address, stop, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more requests, lets answers finish as long as the config allows, then breaks the rest off.
    pub async fn finish(mut self) {
        self.stop.send_replace(true);
        if let Err(error) = (&mut self.task).await {
            tracing::error!("the server had failed: {error}");
        }
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    let failed = |source| Error::Listen { address, source };
    let listener = std::net::TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    TcpListener::from_std(listener).map_err(failed)
}

/// The next connection to any of them.
async fn next_of(listeners: &[TcpListener]) -> io::Result<(TcpStream, SocketAddr)> {
    select_all(listeners.iter().map(|listener| Box::pin(listener.accept()))).await.0
}

async fn accept(listeners: Vec<TcpListener>, app: Arc<App>) {
    let dispatch = Dispatch::new(Arc::clone(&app));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut open: HashMap<Id, (AbortHandle, Arc<Activity>)> = HashMap::new();
    loop {
        tokio::select! {
            accepted = next_of(&listeners) => match accepted {
                Ok((stream, _)) if open.len() >= app.config.connections_max && !made_room(&mut open) => {
                    turn_away(&stream);
                }
                Ok((stream, peer)) => {
                    let activity = Arc::new(Activity::new());
                    let task = connection(stream, peer, &activity, dispatch.clone(), &graceful, &app);
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
            () = app.stopped() => break,
        }
    }
    drop(listeners);
    if timeout(app.config.finish_within, graceful.shutdown()).await.is_err() {
        tracing::warn!("{} connections were broken off in the middle of an answer", connections.len());
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

/// A body that is made as it is read: while a piece of it is being made, its connection is busy. As long as some of what was made is
/// not on its way, no more is.
struct AtWork {
    body: Body,
    activity: Arc<Activity>,
    crowd: Crowd,
}

impl HttpBody for AtWork {
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

/// Says why there is no answer, as far as that can be said at once.
fn turn_away(stream: &TcpStream) {
    const BODY: &str =
        r#"{"error":{"code":"busy","message":"too many clients are being answered","hint":"try again in a second"}}"#;
    let head =
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-type: application/json";
    let answer = format!("{head}\r\n{}content-length: {}\r\n\r\n{BODY}", browser::lines(), BODY.len());
    if let Err(error) = stream.try_write(answer.as_bytes()) {
        tracing::debug!("a client was turned away without a word: {error}");
    }
}

/// One connection to its end. What goes wrong on it is the client's affair.
fn connection(
    stream: TcpStream,
    address: SocketAddr,
    activity: &Arc<Activity>,
    dispatch: Dispatch,
    graceful: &GracefulShutdown,
    app: &App,
) -> impl Future<Output = ()> + Send + 'static {
    let (at_work, crowd) = (Arc::clone(activity), app.delivery.crowd.clone());
    let stream = Arc::new(stream);
    let peer = Peer { address, stream: Arc::downgrade(&stream) };
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        let (dispatch, at_work, crowd) = (dispatch.clone(), Arc::clone(&at_work), crowd.clone());
        request.extensions_mut().insert(peer.clone());
        async move {
            at_work.set_answering(true);
            let answer = dispatch.answer(request.map(Body::new)).await;
            at_work.set_answering(false);
            let is_made_as_read = answer.extensions().get::<MadeAsRead>().is_some();
            Ok::<_, Infallible>(answer.map(|body| match is_made_as_read {
                true => Body::new(AtWork { body, activity: at_work, crowd }),
                false => body,
            }))
        }
    });
    // A peer that has gone without a word is given up as soon as one that does not read.
    let (socket, write_timeout) = (SockRef::from(&stream), app.config.write_timeout);
    let set_up = (stream.set_nodelay(true))
        .and_then(|()| socket.set_tcp_user_timeout(Some(write_timeout)))
        .and_then(|()| socket.set_tcp_notsent_lowat(UNSENT_BYTES));
    let socket = Socket::new(Arc::clone(&stream), Arc::clone(activity), app.config.write_timeout);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.config.head_timeout)
        .max_buf_size(WRITE_BUFFER_BYTES)
        .serve_connection(TokioIo::new(socket), service);
    let watched = graceful.watch(connection);
    async move {
        if let Err(error) = set_up {
            tracing::debug!("answers may be late: {error}");
        }
        if let Err(error) = watched.await {
            tracing::debug!("a connection broke off: {error}");
        }
        if let Err(error) = linger(&stream).await {
            tracing::debug!("a client hung up: {error}");
        }
    }
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
        let mut body = AtWork { body, activity: Arc::clone(&activity), crowd: Crowd::new() };
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
        let mut body = AtWork { body, activity: Arc::clone(&activity), crowd: Crowd::new() };
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
