//! The worst that can be asked of every URL of the table, one at a time and twenty at once: the server stays within its budget, and
//! every answer is an answer or a refusal that says what was too much. By default each URL is asked some of it, `PVARK_WORST=long`
//! asks each all of it, with bodies as long as they can be.

#![expect(unsafe_code, reason = "an allocator that counts is nothing else")]

#[path = "suite/served/mod.rs"]
mod served;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    collections::BTreeSet,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use archive::{By, Method, Protocol, PvName, PvSettings, PvState};
use serde_json::{Value, json};
use served::{Archive, Connection, clock};
use store::Store;

/// As many PVs as a small facility has.
const PVS: usize = 10_000;
/// What all requests and answers together may take here.
const BUDGET: usize = 64 << 20;
/// What is not charged: what is made ahead of twenty answers, and what the archive itself takes of new PVs meanwhile.
const BESIDES: usize = 64 << 20;
/// At once.
const CLIENTS: usize = 20;

fn archive(pvs: usize) -> Archive {
    let fill = |store: &Store| {
        let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Active);
        let name = |index: usize| PvName::new(&format!("SR{:02}:PS{index:06}:Rb", index % 50)).unwrap();
        let wanted: Vec<_> = (0..pvs).map(|index| (name(index), settings.clone())).collect();
        let entries = store.writer().register(&wanted, &By::new("test", clock())).unwrap();
        let aliases: Vec<_> = entries
            .iter()
            .take(pvs / 10)
            .map(|entry| (entry.id, PvName::new(&format!("ALIAS:{}", entry.name)).unwrap()))
            .collect();
        store.writer().add_aliases(&aliases, &By::new("test", clock())).unwrap();
    };
    Archive::start(fill, |config| web::Config { answers_bytes_max: BUDGET, ..config })
}

/// What is allocated now, and was at most since `forget_peak`.
static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counted.
struct Counted;

fn count(more: usize) {
    PEAK.fetch_max(NOW.fetch_add(more, Relaxed) + more, Relaxed);
}

// SAFETY: the system's allocator does all of it.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the layout is the caller's, who vouches for it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, value: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(value, layout) }
    }

    unsafe fn realloc(&self, value: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(value, layout, size) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

fn allocated() -> usize {
    NOW.load(Relaxed)
}

fn peak() -> usize {
    PEAK.load(Relaxed)
}

fn forget_peak() {
    PEAK.store(NOW.load(Relaxed), Relaxed);
}

fn is_long() -> bool {
    std::env::var("PVARK_WORST").is_ok_and(|mode| mode == "long")
}

/// All of them, or a share that is another one for each URL.
fn share<T: Clone>(all: &[T], index: usize) -> Vec<T> {
    const SHARE: usize = 4;
    let count = if is_long() { all.len() } else { SHARE };
    all.iter().cycle().skip(index * SHARE).take(count).cloned().collect()
}

/// One request.
#[derive(Clone, Debug)]
struct Ask {
    method: String,
    target: String,
    content_type: &'static str,
    body: Arc<Vec<u8>>,
}

impl Ask {
    fn told(&self) -> String {
        let target: String = self.target.chars().take(120).collect();
        format!("{} {target} with {} bytes of {}", self.method, self.body.len(), self.content_type)
    }

    /// The status, and how many bytes the answer has; none if the connection breaks off.
    fn send(&self, address: SocketAddr) -> (u16, usize) {
        let mut connection = Connection::to(address);
        let headers = [("content-type", self.content_type), ("connection", "close")];
        let headers = if self.content_type.is_empty() { &headers[1..] } else { &headers[..] };
        connection.send(&self.method, &self.target, headers, &self.body);
        let (status, head) = connection.read_head();
        if status == 503 {
            assert_eq!(head.iter().find(|(name, _)| name == "retry-after").map(|(_, value)| value.as_str()), Some("1"));
        }
        // It is thrown away as it comes, so that this process holds what the server does.
        let mut thrown = std::io::sink();
        let bytes = std::io::copy(&mut connection.stream, &mut thrown).unwrap_or(0);
        (status, bytes as usize)
    }
}

/// Values of parameters, each as long as a URL can be.
fn worst_lists() -> Vec<String> {
    let many = |text: &str, count: usize| vec![text; count].join(",");
    let different: Vec<String> = (0..1000).map(|number| format!("*{number}*")).collect();
    vec![
        many("*", 400),
        many("SR*", 2000),
        different.join(","),
        many("%5Cw", 3500).replace(',', ""),
        format!("~({}){{1,9}}x$", many("[A-Z0-9:]{1,9}", 300).replace(',', "|"))
            .replace('{', "%7B")
            .replace('}', "%7D"),
        ".".repeat(15_000),
        "(".repeat(15_000),
        "mean_1(".repeat(1500),
        "0".repeat(15_000),
        "99999999999999999999".to_owned(),
        "-1".to_owned(),
        "1970-01-01T00:00:00Z".to_owned(),
        "100000".to_owned(),
    ]
}

/// Bodies as long as they can be, or a quarter of that.
fn worst_bodies() -> Vec<(&'static str, Vec<u8>)> {
    let bytes = if is_long() { 15 << 20 } else { 4 << 20 };
    let repeated = |before: &str, text: &str, after: &str| {
        let mut body = before.as_bytes().to_vec();
        body.extend(text.repeat(bytes / text.len()).into_bytes());
        body.truncate(body.len() - 1);
        body.extend_from_slice(after.as_bytes());
        body
    };
    vec![
        ("application/json", repeated("[", "\"\",", "]")),
        ("application/json", repeated("[", "0,", "]")),
        ("application/json", repeated("[", "\"*\",", "]")),
        ("application/json", repeated("[", "{\"pv\":\"A\"},", "]")),
        ("application/json", repeated("[", "{\"pvName\":\"A\"},", "]")),
        ("application/json", repeated("[{\"pvName\":\"A\",\"archiveFields\":[", "\"\",", "]}]")),
        ("application/json", repeated("[{\"pv\":\"A\",\"samplingperiod\":[", "0,", "]}]")),
        ("application/json", repeated("{\"pvs\":[", "\"A\",", "]}")),
        ("application/json", repeated("{\"pvs\":[{\"name\":\"A\",\"deadband\":[", "0,", "]}]}")),
        ("application/json", repeated("{\"enabled_by\":[", "\"A\",", "]}")),
        ("application/json", repeated("{\"to\":\"", "A", "\"}")),
        ("application/json", repeated("", "[", "")),
        ("text/plain", repeated("", "A\n", "")),
        ("text/plain", repeated("", ".", "")),
        ("text/plain", repeated("", "*,", "")),
        ("application/x-www-form-urlencoded", repeated("", "a&", "")),
        ("application/x-www-form-urlencoded", repeated("pv=", "A,", "")),
    ]
}

/// Every URL of the table with every parameter that it takes.
fn table() -> Vec<(String, String, BTreeSet<String>)> {
    let description: Value = serde_json::from_str(include_str!("../../../testdata/openapi.json")).unwrap();
    let mut table = Vec::new();
    for (path, operations) in description["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let resolved = parameters.iter().map(|parameter| match parameter["$ref"].as_str() {
                Some(reference) => description.pointer(reference.trim_start_matches('#')).unwrap().clone(),
                None => parameter.clone(),
            });
            let query = resolved.filter(|parameter| parameter["in"] == "query");
            let names = query.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect();
            table.push((method.to_uppercase(), path.clone(), names));
        }
    }
    table
}

/// What never ends is not asked.
fn is_left_out(path: &str) -> bool {
    path == "/api/v1/live"
}

/// What takes PVs away or stops them is asked last, so that all others are asked of all of them.
fn takes_away(ask: &Ask) -> bool {
    ask.method == "DELETE"
        || ["delete", "abort", "remove", "purge", "pause"].iter().any(|word| ask.target.contains(word))
}

fn all_asks() -> Vec<Ask> {
    let lists = worst_lists();
    let mut asks = Vec::new();
    for (method, path, parameters) in table() {
        if is_left_out(&path) {
            continue;
        }
        let calls: &[&str] = match path.as_str() {
            "/retrieval/data/{call}" => &["getData.json", "getDataForPVs.raw", "getDataForPVs.json", "getDataAtTime"],
            _ => &[""],
        };
        for call in calls {
            let path = path.replace("{call}", call).replace("{pv}", "SR07:PS000007:Rb");
            let path =
                path.replace("{alias}", "X").replace("{group}", "g").replace("{number}", "1").replace("{page}", "p");
            asks.push(Ask { method: method.clone(), target: path.clone(), content_type: "", body: Arc::default() });
            // All PVs, or all times.
            let all = "?pv=*&match=*&regex=.*&limit=100000&from=1970-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&bins=100000&step=60";
            let taken = all[1..].split('&').filter(|one| {
                !path.starts_with("/api/") || parameters.contains(one.split('=').next().unwrap_or_default())
            });
            let target = format!("{path}?{}", taken.collect::<Vec<_>>().join("&"));
            asks.push(Ask { method: method.clone(), target, content_type: "", body: Arc::default() });
            for name in &parameters {
                for list in share(&lists, asks.len()) {
                    let target = format!("{path}?{name}={list}");
                    asks.push(Ask { method: method.clone(), target, content_type: "", body: Arc::default() });
                }
            }
        }
    }
    asks.sort_by_key(takes_away);
    asks
}

fn all_posts() -> Vec<Ask> {
    let bodies: Vec<_> = worst_bodies().into_iter().map(|(kind, body)| (kind, Arc::new(body))).collect();
    let mut asks = Vec::new();
    for (method, path, _) in table() {
        if method != "POST" && method != "PUT" {
            continue;
        }
        let path = path.replace("{call}", "getDataForPVs.json").replace("{pv}", "SR07:PS000007:Rb");
        let path = path.replace("{group}", "g").replace("{number}", "1").replace("{alias}", "X");
        // What the path needs, so that the body is looked at.
        let target = format!(
            "{path}{}",
            match path.as_str() {
                "/api/v1/import" | "/api/v1/import/type-info" => "?import=i&part=p",
                "/api/v1/pvs/SR07:PS000007:Rb/import" => "?import=i&part=p",
                "/mgmt/bpl/putPVTypeInfo" => "?pv=A&createnew=true",
                _ => "",
            }
        );
        for (content_type, body) in share(&bodies, asks.len()) {
            asks.push(Ask { method: method.clone(), target: target.clone(), content_type, body });
        }
    }
    asks
}

/// Every request by itself, then many at once; meanwhile another client asks for what is small.
fn hold(archive: &Archive, asks: &[Ask]) {
    // Once, so that what is made once for all is there.
    Ask {
        method: "GET".to_owned(),
        target: "/mgmt/bpl/getPVStatus".to_owned(),
        content_type: "",
        body: Arc::default(),
    }
    .send(archive.address);
    let mut most = (0, String::new());
    for ask in asks {
        let base = allocated();
        forget_peak();
        let begun = Instant::now();
        let (status, bytes) = ask.send(archive.address);
        if begun.elapsed() > Duration::from_secs(1) {
            eprintln!("{:?}: {}", begun.elapsed(), ask.told());
        }
        let peak = peak().saturating_sub(base);
        if peak > most.0 {
            most = (peak, ask.told());
        }
        assert!(peak <= BUDGET + BESIDES, "{} MB for {bytes} bytes, {status}: {}", peak >> 20, ask.told());
        assert!(status < 500 || status == 503, "{status}: {}", ask.told());
    }
    eprintln!("{} requests, the most for one: {} MB, {}", asks.len(), most.0 >> 20, most.1);
    let base = allocated();
    forget_peak();
    let share = asks.len().div_ceil(CLIENTS);
    let slowest = thread::scope(|scope| {
        let address = archive.address;
        let crowd: Vec<_> = asks
            .chunks(share)
            .map(|asks| scope.spawn(move || asks.iter().for_each(|ask| _ = ask.send(address))))
            .collect();
        let mut slowest = Duration::ZERO;
        while !crowd.iter().all(|client| client.is_finished()) {
            let begun = Instant::now();
            let small = Ask {
                method: "GET".to_owned(),
                target: "/retrieval/ping".to_owned(),
                content_type: "",
                body: Arc::default(),
            };
            assert_eq!(small.send(address), (200, 4));
            slowest = slowest.max(begun.elapsed());
            thread::sleep(Duration::from_millis(10));
        }
        slowest
    });
    let peak = peak().saturating_sub(base);
    eprintln!("twenty at once: {} MB, another client waited {slowest:?} at most", peak >> 20);
    assert!(peak <= BUDGET + BESIDES, "{} MB", peak >> 20);
    let status = archive.get("/api/v1/status").json();
    // The table of which lists are made is kept for ten minutes.
    let kept = 150 * PVS as u64;
    assert!(
        status["answers"]["bytes"].as_u64().unwrap() < kept + (1 << 20),
        "something was not given back: {}",
        status["answers"]
    );
}

// One test: what is allocated is counted for the process.
#[test]
fn the_worst_request_of_every_url_stays_within_the_budget() {
    let archive = archive(PVS);
    if let Ok(only) = std::env::var("PVARK_WORST_ONLY") {
        let asks: Vec<Ask> =
            all_asks().into_iter().chain(all_posts()).filter(|ask| ask.target.contains(&only)).collect();
        return hold(&archive, &asks);
    }
    let globs = archive.get(&format!("/mgmt/bpl/getPVStatus?pv={}", vec!["*"; 400].join(",")));
    assert_eq!(globs.json().as_array().map(Vec::len), Some(PVS + PVS / 10), "each name once");
    hold(&archive, &all_asks());
    hold(&archive, &all_posts());
    let settings = json!({ "pvs": (0..20_000).map(|number| format!("NEW:{number}")).collect::<Vec<_>>() }).to_string();
    let added = archive.post("/api/v1/pvs", "application/json", settings.as_bytes());
    assert_eq!(added.status, 200, "what is usual goes on: {}", added.text().chars().take(200).collect::<String>());
}
