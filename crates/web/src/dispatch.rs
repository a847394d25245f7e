//! From a request to the handler of its route: limits, rights, body, and a thread that may block.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use access::{Certificate, Identity, Reason, Refused};
use archive::{How, Right, VALUE_BYTES_MAX};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::{RawPathParams, Request, rejection::RawPathParamsRejection},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header, request::Parts},
    response::{IntoResponse, Response},
    routing::{MethodFilter, on},
};
use futures_util::StreamExt;
use service::{Ask, Lease, now};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout, timeout_at},
};
use tower_service::Service;

use crate::{
    app::App,
    auth::{self, Origin, RequestLine, Watch, watched},
    browser,
    call::{Call, principal},
    delivery::{
        answer::{Answer, MadeAsRead},
        compress::{Coding, coded},
        leased::{bytes_when_read, leased},
    },
    door::Door,
    form::Kind,
    host::Scheme,
    method::Method,
    metrics::measured,
    parameters,
    peer::{AnsweredBy, Peer, RequestNumber},
    refusal::{Code, Refusal, refused},
    routes::{LISTS, ROUTES, Route, WHOLE_LISTS, refuse_cross_site},
    slow::{self, Stopwatch},
    ui,
    url::{Params, tidy},
};

/// How long a request's body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Of requests whose bodies are as long as this, so many are worked on at a time.
const LONG_BODY_BYTES: usize = 1 << 20;
const TURNS_AT_ONCE: usize = 2;

/// The first room for a body, which is doubled as it comes.
const BODY_ROOM_MIN: usize = 16 << 10;

/// Where a body may be one sample of the largest size, or hold the settings of all PVs.
const LARGE_BODIES: [&str; 3] = [SAMPLES, "/mgmt/bpl/importConfig", "/mgmt/bpl/importConfigForAppliance"];
/// Where samples come.
const SAMPLES: &str = "/api/v1/import";
/// By which a client can say which of its requests it means.
const REQUEST_NUMBER: &str = "x-request-id";
/// Says without which copies, and without which shards, an answer was made.
const INCOMPLETE: HeaderName = HeaderName::from_static("pvark-incomplete");
/// Such a sample with every byte escaped, and a header before it.
const LARGE_BODY_BYTES_MAX: usize = 2 * VALUE_BYTES_MAX + (1 << 20);

/// The router over all routes.
#[derive(Clone)]
pub(crate) struct Dispatch {
    app: Arc<App>,
    router: Router,
    /// How many requests came.
    requests: Arc<AtomicU64>,
}

/// What answers where no row of the table does.
static ELSEWHERE: Route =
    Route { method: Method::Get, path: "(other)", right: None, summary: "The web page", handler: ui::show };

impl Dispatch {
    pub(crate) fn new(app: Arc<App>) -> Dispatch {
        let mut router = Router::new();
        for route in ROUTES {
            let app = Arc::clone(&app);
            let filter = match route.method {
                Method::Get => MethodFilter::GET,
                Method::Post => MethodFilter::POST,
                Method::Put => MethodFilter::PUT,
                Method::Delete => MethodFilter::DELETE,
            };
            let run = move |params: Result<RawPathParams, RawPathParamsRejection>, request: Request| {
                run(Arc::clone(&app), route, params.map(owned), request)
            };
            router = router.route(route.path, on(filter, run));
        }
        let (for_elsewhere, for_methods) = (Arc::clone(&app), Arc::clone(&app));
        router = router
            .method_not_allowed_fallback(move |request: Request| {
                let app = Arc::clone(&for_methods);
                async move { method_not_allowed(&app, &request) }
            })
            .fallback(move |request: Request| elsewhere(Arc::clone(&for_elsewhere), request));
        Dispatch { app, router, requests: Arc::default() }
    }

    /// Answers one request, and counts it when the answer has been sent.
    pub(crate) async fn answer(self, mut request: Request) -> Response {
        let begun = Instant::now();
        let coding = Coding::asked(request.method(), request.headers());
        let number = RequestNumber::new(self.app.service.started.nanos(), self.requests.fetch_add(1, Relaxed));
        let told = HeaderValue::from_str(&number.0);
        request.extensions_mut().insert(number);
        let admitted = self.for_us(&mut request).and_then(|()| self.tidied(&mut request));
        let mut response = match admitted {
            Ok(()) => {
                let mut router = self.router;
                router.call(request).await.unwrap_or_else(|never| match never {})
            }
            Err(refusal) => refused(refusal),
        };
        browser::tell(response.headers_mut());
        if let Ok(told) = told {
            response.headers_mut().insert(REQUEST_NUMBER, told);
        }
        let response = coded(coding, &self.app.delivery, response);
        measured(Arc::clone(&self.app.metrics), begun, response)
    }

    /// Checks that it is this archiver who is asked, and keeps under which name.
    fn for_us(&self, request: &mut Request) -> Result<(), Refusal> {
        let Some(door) = request.extensions().get::<Arc<Door>>() else { return Ok(()) };
        let ours = door.hosts.check(request.version(), request.uri(), request.headers())?;
        let ours = ours.map(|ours| ours.by(door.scheme()));
        if let Some(ours) = ours {
            request.extensions_mut().insert(ours);
        }
        // A connection may last longer than what was shown at its beginning.
        match request.extensions().get::<Arc<Certificate>>() {
            Some(shown) if shown.not_after <= now() => {
                let message = format!("the certificate of {} has expired at {}", shown.name, shown.not_after);
                Err(Refusal::new(Code::Forbidden, message).hint("connect again with a new one"))
            }
            _ => Ok(()),
        }
    }

    /// Checks the length of the URL and takes needless parts out of its path.
    fn tidied(&self, request: &mut Request) -> Result<(), Refusal> {
        let uri = request.uri();
        let (bytes, bytes_max) =
            (uri.path_and_query().map_or(0, |path| path.as_str().len()), self.app.config.url_bytes_max);
        if bytes > bytes_max {
            let message = format!("the URL has {bytes} bytes, at most {bytes_max} are possible");
            return Err(Refusal::new(Code::UrlTooLong, message));
        }
        if let Some(path) = tidy(uri.path()) {
            let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
            *request.uri_mut() = format!("{path}{query}")
                .parse()
                .map_err(|_| Refusal::new(Code::UnknownUrl, format!("{path} is not a path")))?;
        }
        Ok(())
    }
}

fn owned(params: RawPathParams) -> Vec<(String, String)> {
    params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Runs a route's handler; refusals become responses here.
async fn run(
    app: Arc<App>,
    route: &'static Route,
    path: Result<Vec<(String, String)>, RawPathParamsRejection>,
    request: Request,
) -> Response {
    let readers = Readers::of(&app, &request, route.path, route.right);
    let answer = match path {
        Ok(path) => handle(app, route, path, request).await,
        Err(rejection) => Err(Refusal::new(Code::BadRequest, rejection.to_string())),
    };
    let mut response = answer.unwrap_or_else(refused);
    response.extensions_mut().insert(AnsweredBy(route.path));
    readers.tell(response.headers_mut());
    response
}

/// Which pages of other sites may read an answer.
struct Readers {
    /// None: none; `*`: all.
    site: Option<HeaderValue>,
    /// Whether others of them would be told otherwise.
    differ: bool,
}

impl Readers {
    /// Viewers of the sites that a listener names may read all that is for reading; those of any site what the Appliance lets them read.
    fn of(app: &App, request: &Request, path: &str, right: Option<Right>) -> Readers {
        let door = request.extensions().get::<Arc<Door>>();
        let origin = request.headers().get(header::ORIGIN);
        let named = door.filter(|_| right == Some(Right::Read)).and_then(|door| door.site(origin));
        let any = || (origin.is_some() && may_be_read_elsewhere(app, path)).then(|| HeaderValue::from_static("*"));
        Readers { site: named.or_else(any), differ: door.is_some_and(|door| door.has_sites()) }
    }

    fn are_named(&self) -> bool {
        self.site.as_ref().is_some_and(|site| site != "*")
    }

    fn tell(self, headers: &mut HeaderMap) {
        if self.differ {
            headers.append(header::VARY, HeaderValue::from_static("origin"));
        }
        if self.are_named() {
            headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
            headers.insert(
                header::ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static("x-request-id, pvark-incomplete"),
            );
        }
        if let Some(site) = self.site {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, site);
        }
    }
}

/// Whether viewers that another server gave to the browser may see what is answered, as they may see what the Appliance answers: where
/// it is open to everybody anyhow.
fn may_be_read_elsewhere(app: &App, path: &str) -> bool {
    path.starts_with("/retrieval/") && app.access.config().anonymous.0 >= Some(Right::Read)
}

/// The way of a request: who sends it and whether they may, its body, the memory that it takes, its handler on a thread that may block,
/// and what its answer has to say besides.
async fn handle(app: Arc<App>, route: &'static Route, path: Vec<(String, String)>, request: Request) -> Answer {
    let (parts, body) = request.into_parts();
    let asked = Arc::new(RequestLine::of(&parts.method, &parts.uri, &parts.headers, parts.extensions.get::<Peer>()));
    let origin = Origin::of(&parts.extensions);
    let identity = match admitted(&app, route, &origin, &parts).await {
        Ok(identity) => identity,
        Err(why) => {
            let mut answer = app.refused(&asked, &why);
            if why.reason == Reason::Session {
                // The browser would show it for ever, also where nothing need be shown.
                auth::forget_session(&app.access, &origin, &parts.headers, answer.headers_mut());
            }
            return Ok(answer);
        }
    };
    refuse_cross_site(&parts, route)?;
    let share = app.access.config().limits.and_then(|limits| limits.answers_megabytes);
    let share = share.map(|share| app.shares.of(&identity, share.bytes()));
    let lease = Arc::new(app.delivery.budget.lease_of(share));
    let ReadBody { body, _leave } =
        read_body(body, &parts.headers, BodyLimit::of(&app, route, &parts.headers), &lease).await?;
    lease.grow(bytes_when_read(parts.uri.query().unwrap_or("").as_bytes()))?;
    let _turn = turn(&body).await?;
    let is_form = !route.path.starts_with(parameters::OWN) && Kind::of(&parts.headers, &body) == Kind::Form;
    if is_form {
        lease.grow(bytes_when_read(&body).saturating_sub(body.len()))?;
    }
    let pool = app.delivery.pool.clone();
    let from = Asker { identity: identity.clone(), right: route.right, asked: Arc::clone(&asked), origin };
    let call = call(Arc::clone(&app), path, parts, (body, is_form), from, Arc::clone(&lease));
    parameters::check(route, &call.query)?;
    let ask = call.ask.clone();
    let work = move || {
        if !LARGE_BODIES.contains(&route.path) {
            call.ask.lease.grow(bytes_when_read(&call.body).saturating_sub(call.body.len()))?;
        }
        if WHOLE_LISTS.contains(&route.path) {
            call.ask.needs_whole_list()?;
        } else if LISTS.contains(&route.path) {
            call.ask.unlisted();
        }
        (route.handler)(&call)
    };
    let answer = pool.done(work).await;
    let answer =
        answer.unwrap_or_else(|panicked| Err(Refusal::new(Code::Internal, format!("{} {panicked}", route.path))));
    let answer = match answer {
        Ok(answer) => answer,
        Err(refusal) => match auth::missing(&identity, &refusal) {
            Some(why) => return Ok(app.refused(&asked, &why)),
            None => refused(refusal),
        },
    };
    let lacking = match route.right {
        Some(Right::Read) => ask.made_without(),
        Some(_) => ask.not_done_yet(),
        None => Vec::new(),
    };
    let answer = telling(&lacking, answer);
    match for_one(&app, &identity, answer) {
        Ok(answer) => Ok(leased(lease, answer)),
        Err(why) => Ok(app.refused(&asked, &why)),
    }
}

/// The answer, with a header that says what it was made without.
fn telling(without: &[String], mut answer: Response) -> Response {
    if !without.is_empty() {
        let told = without.join(", ");
        let told: String = told.chars().map(|letter| if matches!(letter, ' '..='~') { letter } else { '?' }).collect();
        answer.headers_mut().extend(HeaderValue::from_str(&told).ok().map(|told| (INCOMPLETE, told)));
    }
    answer
}

/// Who sends a request; refused if there is nothing at all to which they may do what its route does.
async fn admitted(app: &App, route: &Route, origin: &Origin, request: &Parts) -> Result<Identity, Refused> {
    let identity = auth::identify(&app.access, origin, &request.headers, route.right).await?;
    route.right.map_or(Ok(()), |right| identity.need(right))?;
    Ok(identity)
}

/// An answer for somebody: nobody in between may keep it, and if it is long it ends when they may not have it any more.
fn for_one(app: &App, identity: &Identity, mut answer: Response) -> Result<Response, Refused> {
    if app.access.is_open() {
        return Ok(answer);
    }
    if identity.who.how != How::Anonymous {
        answer.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private"));
    }
    match answer.extensions().get::<MadeAsRead>() {
        Some(_) => Ok(watched(Watch::begin(&app.access, identity)?, answer)),
        None => Ok(answer),
    }
}

/// Who sends a request, and which right that needs.
struct Asker {
    identity: Identity,
    right: Option<Right>,
    asked: Arc<RequestLine>,
    origin: Origin,
}

/// The request as its handler sees it.
fn call(
    app: Arc<App>,
    path: Vec<(String, String)>,
    parts: Parts,
    (mut body, is_form): (Bytes, bool),
    from: Asker,
    lease: Arc<Lease>,
) -> Call {
    let mut query = Params::parse(parts.uri.query().unwrap_or(""));
    if is_form {
        query.extend(Params::parse(&String::from_utf8_lossy(&body)));
        body = Bytes::new();
    }
    let url_path = parts.uri.path().to_owned();
    let peer = parts.extensions.get::<Peer>().cloned();
    let Asker { identity: asker, right, asked, origin } = from;
    let principal = principal(&asker, &query, &parts.extensions);
    let scheme = parts.extensions.get::<Arc<Door>>().and_then(|door| door.scheme()).unwrap_or(Scheme::Http);
    let is_gone = move || peer.as_ref().is_some_and(Peer::has_gone);
    let ask = Ask::new(Arc::clone(&app.service), principal.clone(), lease, is_gone)
        .with_rights(auth::rights_of(&asker.rights))
        .wanting(right.unwrap_or(Right::Read));
    let what = slow::what(parts.method.as_str(), &url_path, &query);
    let watch = Stopwatch::begin(&app.slow, now(), principal.established().to_owned(), what);
    let headers = parts.headers;
    Call { app, path, url_path, query, headers, body, scheme, asker, principal, origin, asked, ask, watch }
}

/// A turn for a request whose body is long, so that many of them leave processors to others.
async fn turn(body: &Bytes) -> Result<Option<SemaphorePermit<'static>>, Refusal> {
    static TURNS: Semaphore = Semaphore::const_new(TURNS_AT_ONCE);
    if body.len() < LONG_BODY_BYTES {
        return Ok(None);
    }
    match timeout(2 * BODY_TIMEOUT, TURNS.acquire()).await {
        Ok(turn) => Ok(turn.ok()),
        Err(_) => Err(Refusal::busy("too many requests with long bodies are under way").hint("send it again later")),
    }
}

/// How long the body of a request may be.
#[derive(Clone, Copy)]
struct BodyLimit {
    /// As long as those of other requests; charged to the budget as it comes.
    usual: usize,
    bytes_max: usize,
    /// Whether the budget has room for what is beyond the usual. The largest sample finds none, and is the one thing that need not.
    is_charged: bool,
}

impl BodyLimit {
    /// An import may bring a sample as large as the store takes, with every byte of it escaped. Who announces no length is held to
    /// the usual.
    fn of(app: &App, route: &Route, headers: &HeaderMap) -> BodyLimit {
        let usual = app.config.body_bytes_max;
        match LARGE_BODIES.contains(&route.path) && announced(headers).is_some_and(|length| length > usual as u64) {
            true => BodyLimit { usual, bytes_max: usual.max(LARGE_BODY_BYTES_MAX), is_charged: route.path != SAMPLES },
            false => BodyLimit { usual, bytes_max: usual, is_charged: true },
        }
    }
}

/// Leave to have more than the usual in memory: one body at a time has it, and nobody waits for another's for ever.
async fn leave_to_be_large() -> Result<SemaphorePermit<'static>, Refusal> {
    static LARGE: Semaphore = Semaphore::const_new(1);
    match timeout(2 * BODY_TIMEOUT, LARGE.acquire()).await {
        Ok(Ok(leave)) => Ok(leave),
        _ => Err(Refusal::busy("another large import is under way").hint("send it again later")),
    }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A body, and the leave that one beyond the usual length has until it has been worked on.
struct ReadBody {
    body: Bytes,
    _leave: Option<SemaphorePermit<'static>>,
}

/// The whole body, unless it is too long or too slow.
async fn read_body(body: Body, headers: &HeaderMap, room: BodyLimit, lease: &Lease) -> Result<ReadBody, Refusal> {
    let bytes_max = room.bytes_max;
    let too_large = || {
        let message = format!("the body is too long, at most {bytes_max} bytes are possible");
        Refusal::new(Code::TooLarge, message)
    };
    if announced(headers).is_some_and(|length| length > bytes_max as u64) {
        return Err(too_large());
    }
    let mut pieces = body.into_data_stream();
    let mut whole = Vec::new();
    let mut leave = None;
    let mut deadline = Instant::now() + BODY_TIMEOUT;
    let slow = |_| Refusal::new(Code::TooSlow, "the body came too slowly");
    while let Some(piece) = timeout_at(deadline, pieces.next()).await.map_err(slow)? {
        let piece = piece.map_err(|error| Refusal::new(Code::BadRequest, format!("the body broke off: {error}")))?;
        if whole.len() + piece.len() > bytes_max {
            return Err(too_large());
        }
        if leave.is_none() && whole.len() + piece.len() > room.usual {
            // Only now: who announces much and sends little holds up nobody else.
            leave = Some(leave_to_be_large().await?);
            deadline = Instant::now() + BODY_TIMEOUT;
        }
        // Room is made as the body comes, whatever was announced: a client that announces much and sends nothing takes nothing.
        if whole.capacity() - whole.len() < piece.len() {
            let most = if leave.is_some() { bytes_max } else { room.usual };
            let more = piece.len().max(whole.capacity()).max(BODY_ROOM_MIN).min(most - whole.len());
            if room.is_charged || leave.is_none() {
                lease.grow(more)?;
            }
            whole.reserve_exact(more);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(ReadBody { body: whole.into(), _leave: leave })
}

fn method_not_allowed(app: &App, request: &Request) -> Response {
    // A browser asks first where a page of another site reads with headers that not every page may send.
    let asks_first =
        request.method() == "OPTIONS" && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let path = request.uri().path();
    let mut readers = Readers::of(app, request, path, Some(Right::Read));
    if may_be_read_elsewhere(app, path) {
        readers.site.get_or_insert(HeaderValue::from_static("*"));
    }
    if asks_first && readers.site.is_some() {
        let may_send = match readers.are_named() {
            true => "accept, authorization, content-type, x-api-key, x-requested-with",
            false => "accept, content-type, x-requested-with",
        };
        let says = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST"),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, may_send),
            (header::ACCESS_CONTROL_MAX_AGE, "1800"),
        ];
        let mut response = (StatusCode::NO_CONTENT, says).into_response();
        readers.tell(response.headers_mut());
        return response;
    }
    let message = format!("{} cannot be done with {}", request.method(), request.uri().path());
    refused(Refusal::new(Code::MethodNotAllowed, message))
}

/// The web page where a browser asks for one of its files or links; otherwise a refusal.
async fn elsewhere(app: Arc<App>, request: Request) -> Response {
    let reads = matches!(request.method().as_str(), "GET" | "HEAD");
    if reads && ui::may_show(request.uri().path()) {
        return run(app, &ELSEWHERE, Ok(Vec::new()), request).await;
    }
    refused(unknown_url(request.uri()))
}

fn unknown_url(uri: &Uri) -> Refusal {
    Refusal::new(Code::UnknownUrl, format!("nothing is found at {}", uri.path()))
        .hint("GET /api/v1/openapi.json describes every URL")
}
