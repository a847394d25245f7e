//! TLS: certificates that are replaced under load, handshakes that keep nobody out, clients with certificates, and what is refused.

#![expect(clippy::disallowed_methods, reason = "an operator renames files by other means than the store's")]

use crate::served;

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use access::Access;
use archive::{By, Method, Protocol, PvName, PvSettings, PvState, Record, Sink};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevocationReason, RevokedCertParams,
    SerialNumber, date_time_ymd,
};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName},
    version::{TLS12, TLS13},
};
use sample::{Batch, Timestamp};
use served::{Archive, Connection, clock, time};
use store::{Store, Writer};
use web::{At, ClientCertificate, ClientCertificates, Listener, Tls};

const DEADLINE: Duration = Duration::from_secs(30);
const STATUS: &str = "/api/v1/status";
const MUCH: &str = "/api/v1/pvs/T:MUCH/samples?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z";

type Authority = CertifiedIssuer<'static, KeyPair>;

/// An authority, which signs certificates and lists.
fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate and its key, in PEM and as they are.
struct Pair {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Pair {
    fn of(authority: &Authority, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        Pair { certificate: params.signed_by(&key, authority).unwrap(), key }
    }

    fn server(authority: &Authority) -> Pair {
        Pair::of(authority, "localhost", |_| {})
    }

    fn client(authority: &Authority, change: impl FnOnce(&mut CertificateParams)) -> Pair {
        Pair::of(authority, "tools", |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            change(params);
        })
    }

    /// Writes both files as careful people do: each is there in one moment, but not both in the same.
    fn write(&self, folder: &Path) {
        put(&folder.join("tls.pem"), &self.certificate.pem());
        put(&folder.join("tls.key"), &self.key.serialize_pem());
    }
}

fn put(path: &Path, text: &str) {
    let part = path.with_extension("part");
    fs::write(&part, text).unwrap();
    fs::rename(part, path).unwrap();
}

/// An archive with a plain listener and one with TLS, and the folder of its certificates.
struct Sealed {
    archive: Archive,
    folder: PathBuf,
    authority: Authority,
    sealed: SocketAddr,
    _kept: tempfile::TempDir,
}

impl Sealed {
    fn start(
        pair: impl FnOnce(&Authority) -> Pair,
        clients: impl FnOnce(&Path) -> Option<ClientCertificates>,
    ) -> Sealed {
        Sealed::start_with(pair, clients, |_| Access::open())
    }

    /// The same with what looks at who asks.
    fn start_with(
        pair: impl FnOnce(&Authority) -> Pair,
        clients: impl FnOnce(&Path) -> Option<ClientCertificates>,
        access: impl FnOnce(Writer) -> Access,
    ) -> Sealed {
        let kept = tempfile::tempdir().unwrap();
        let (folder, authority) = (kept.path().to_owned(), authority("lab"));
        pair(&authority).write(&folder);
        let clients = clients(&folder);
        let tls = Tls { certificate: folder.join("tls.pem"), key: folder.join("tls.key"), clients };
        let listen = |config: web::Config| {
            let more = Listener { tls: Some(tls), ..Listener::new(At::Address("127.0.0.1:0".parse().unwrap())) };
            let listeners = config.listeners.iter().cloned().chain([more]).collect();
            web::Config { listeners, ..config }
        };
        let archive = Archive::start_with(fill_much, listen, Vec::new(), access);
        let url = archive.urls()[1].clone();
        let sealed = url.strip_prefix("https://").unwrap().trim_end_matches('/').parse().unwrap();
        Sealed { archive, folder, authority, sealed, _kept: kept }
    }

    fn usual() -> Sealed {
        Sealed::start(Pair::server, |_| None)
    }

    fn trust(&self) -> Arc<ClientConfig> {
        client(&self.authority, &[&TLS13, &TLS12], None)
    }

    fn problems(&self) -> String {
        let status = self.archive.get(STATUS).json();
        status["problems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|problem| problem.as_str().unwrap())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// A PV with some megabytes of samples.
fn fill_much(store: &Store) {
    const ROWS: i64 = 8000;
    let writer = store.writer();
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Paused);
    let pv = writer.register(&[(PvName::new("T:MUCH").unwrap(), settings)], &By::new("test", time(0.0))).unwrap()[0].id;
    for batch in 0..100 {
        let times = (0..ROWS).map(|row| Timestamp::from_nanos(time(0.0).nanos() + (batch * ROWS + row) * 1000));
        let values = sample::Column::F64((0..ROWS).map(|row| (batch * ROWS + row) as f64 / 3.0).collect());
        let (mut alarms, mut pulses) = (sample::Runs::default(), sample::Runs::default());
        alarms.push(&sample::Alarm::default(), ROWS as usize);
        pulses.push(&0, ROWS as usize);
        let batch = Batch::from_columns(times.collect(), values, alarms, pulses).unwrap();
        writer.append(&[(pv, Record::Samples(batch))], time(0.0)).unwrap();
    }
}

fn client(
    trusted: &Authority,
    versions: &[&'static SupportedProtocolVersion],
    own: Option<&Pair>,
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.der().clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_protocol_versions(versions).unwrap().with_root_certificates(roots);
    let mut config = match own {
        None => builder.with_no_client_auth(),
        Some(pair) => {
            let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pair.key.serialize_der()));
            builder.with_client_auth_cert(vec![pair.certificate.der().clone()], key).unwrap()
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

type Stream = BufReader<StreamOwned<ClientConnection, TcpStream>>;

fn connected(config: &Arc<ClientConfig>, address: SocketAddr) -> std::io::Result<Stream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(DEADLINE))?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = StreamOwned::new(ClientConnection::new(Arc::clone(config), name).unwrap(), stream);
    stream.conn.complete_io(&mut stream.sock)?;
    Ok(BufReader::new(stream))
}

fn asked(stream: &mut Stream, target: &str) -> std::io::Result<(u16, Vec<u8>)> {
    stream.get_mut().write_all(format!("GET {target} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes())?;
    answered(stream)
}

/// Status and body of an answer.
fn answered(stream: &mut Stream) -> std::io::Result<(u16, Vec<u8>)> {
    let broken = || std::io::Error::other("this is no answer");
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
    let (mut length, mut chunked) = (0, false);
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name {
            "content-length" => length = value.parse().map_err(|_| broken())?,
            "transfer-encoding" => chunked = true,
            _ => {}
        }
    }
    let mut body = Vec::new();
    while chunked {
        line.clear();
        stream.read_line(&mut line)?;
        length = usize::from_str_radix(line.trim_end(), 16).map_err(|_| broken())?;
        let before = body.len();
        body.resize(before + length + 2, 0);
        stream.read_exact(&mut body[before..])?;
        body.truncate(before + length);
        chunked = length > 0;
    }
    if body.is_empty() {
        body.resize(length, 0);
        stream.read_exact(&mut body)?;
    }
    Ok((status, body))
}

/// A request on a connection of its own.
fn ask(config: &Arc<ClientConfig>, address: SocketAddr, target: &str) -> std::io::Result<(u16, Vec<u8>)> {
    asked(&mut connected(config, address)?, target)
}

#[test]
fn answers_are_the_same_by_tls_of_either_version() {
    let sealed = Sealed::usual();
    let plain = sealed.archive.get(MUCH).body;
    for version in [&TLS13, &TLS12] {
        let config = client(&sealed.authority, &[version], None);
        let mut stream = connected(&config, sealed.sealed).unwrap();
        let spoken = &stream.get_ref().conn;
        assert_eq!(
            (spoken.protocol_version().unwrap(), spoken.alpn_protocol()),
            (version.version, Some(&b"http/1.1"[..]))
        );
        for _ in 0..2 {
            let (status, body) = asked(&mut stream, MUCH).unwrap();
            assert!(status == 200 && body == plain, "{status}, {} bytes of {}", body.len(), plain.len());
        }
        assert_eq!(asked(&mut stream, "/nothing.txt").unwrap().0, 404);
        // What hyper refuses by itself goes through TLS too, and in words.
        stream.get_mut().write_all(b"GET / and nonsense\r\n\r\n").unwrap();
        let (status, body) = answered(&mut stream).unwrap();
        assert_eq!(
            (status, serde_json::from_slice::<serde_json::Value>(&body).unwrap()["error"]["code"].as_str()),
            (400, Some("bad_request"))
        );
    }
    let other = client(&authority("other"), &[&TLS13], None);
    assert!(ask(&other, sealed.sealed, STATUS).is_err(), "it is of another authority");
    let mut h2 = (*sealed.trust()).clone();
    h2.alpn_protocols = vec![b"h2".to_vec()];
    assert!(ask(&Arc::new(h2), sealed.sealed, STATUS).is_err(), "nothing but HTTP/1.1 is spoken");
}

/// A first message of TLS 1.1, the newest that the client knows.
#[test]
fn older_tls_is_refused_with_the_alert_that_says_so() {
    let sealed = Sealed::usual();
    for version in [[3, 1], [3, 2]] {
        let mut hello = vec![version[0], version[1]];
        hello.extend([7; 32]);
        hello.extend([0, 0, 6, 0xc0, 0x13, 0xc0, 0x09, 0x00, 0x2f, 1, 0]);
        // server_name, supported_groups, ec_point_formats, signature_algorithms
        let extensions: &[u8] = &[0, 10, 0, 4, 0, 2, 0, 23, 0, 11, 0, 2, 1, 0, 0, 13, 0, 6, 0, 4, 4, 3, 2, 3];
        hello.extend((extensions.len() as u16).to_be_bytes());
        hello.extend(extensions);
        let mut record = vec![0x16, 3, 1];
        record.extend((hello.len() as u16 + 4).to_be_bytes());
        record.extend([1, 0]);
        record.extend((hello.len() as u16).to_be_bytes());
        record.extend(hello);
        let mut stream = TcpStream::connect(sealed.sealed).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(&record).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer); // it may be reset behind the alert
        assert_eq!((answer.first(), answer.get(5..7)), (Some(&0x15), Some(&[2, 70][..])), "{answer:?}");
    }
}

#[test]
fn who_speaks_plainly_where_tls_is_spoken_is_told_the_url() {
    let sealed = Sealed::usual();
    let port = sealed.sealed.port();
    let answer = Connection::to(sealed.sealed).ask("GET", "/api/v1/pvs?limit=5", &[], b"");
    assert_eq!(answer.status, 400);
    let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("https://archive.test/api/v1/pvs?limit=5"), "{message}");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    let mut silent = TcpStream::connect(sealed.sealed).unwrap();
    silent.set_read_timeout(Some(DEADLINE)).unwrap();
    silent.write_all(b"GET").unwrap();
    let mut told = String::new();
    silent.read_to_string(&mut told).unwrap();
    assert!(told.contains(&format!("https://localhost:{port}/")), "{told}");
    assert_eq!(ask(&sealed.trust(), sealed.sealed, STATUS).unwrap().0, 200);
}

/// `PVARK_TLS_CLIENTS=1000` makes more of it. Beside other tests so many would wait for their turn for longer than a handshake may take.
#[test]
fn no_client_fails_while_certificates_are_replaced() {
    const ROTATIONS: usize = 100;
    let clients = std::env::var("PVARK_TLS_CLIENTS").map_or(60, |clients| clients.parse().unwrap());
    raise_limit();
    let sealed = Sealed::usual();
    let (ended, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let failures = thread::scope(|scope| {
        let at_work: Vec<_> = (0..clients)
            .map(|number| {
                let (sealed, ended, done) = (&sealed, &ended, &done);
                let run = move || {
                    let (mut failures, mut seen) = (Vec::new(), BTreeSet::new());
                    while !ended.load(Relaxed) {
                        // A new session each time, as resumed ones see no certificate.
                        let run = || {
                            let mut stream = connected(&sealed.trust(), sealed.sealed)?;
                            let shown = stream.get_ref().conn.peer_certificates().unwrap()[0].to_vec();
                            for _ in 0..1 + number % 3 {
                                let (status, _) = asked(&mut stream, "/retrieval/ping")?;
                                assert_eq!(status, 200);
                            }
                            Ok::<_, std::io::Error>(shown)
                        };
                        match run() {
                            Ok(shown) => _ = seen.insert(shown),
                            Err(error) => failures.push(error.to_string()),
                        }
                        done.fetch_add(1, Relaxed);
                    }
                    (failures, seen)
                };
                thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, run).unwrap()
            })
            .collect();
        for rotation in 0..ROTATIONS {
            Pair::server(&sealed.authority).write(&sealed.folder);
            sealed.archive.look_at_certificates();
            let until = (rotation as u64 + 1) * clients as u64 / 10;
            let begun = Instant::now();
            while done.load(Relaxed) < until && begun.elapsed() < DEADLINE {
                thread::sleep(Duration::from_millis(5));
            }
        }
        ended.store(true, Relaxed);
        let ended: Vec<_> = at_work.into_iter().map(|client| client.join().unwrap()).collect();
        let seen: BTreeSet<_> = ended.iter().flat_map(|(_, seen)| seen.iter().cloned()).collect();
        assert!(seen.len() > ROTATIONS / 2, "only {} certificates were seen", seen.len());
        ended.into_iter().flat_map(|(failures, _)| failures).collect::<Vec<_>>()
    });
    assert_eq!(failures, [] as [String; 0], "of {} connections", done.load(Relaxed));
    assert!(!sealed.problems().contains("TLS"), "{}", sealed.problems());
}

#[test]
fn a_pair_that_does_not_fit_is_not_taken_and_the_one_before_goes_on() {
    let sealed = Sealed::usual();
    let (good, another) = (Pair::server(&sealed.authority), Pair::server(&sealed.authority));
    let shown = || {
        let stream = connected(&sealed.trust(), sealed.sealed).unwrap();
        stream.get_ref().conn.peer_certificates().unwrap()[0].to_vec()
    };
    let first = shown();
    let dated = |from: (i32, u8), to: (i32, u8)| {
        Pair::of(&sealed.authority, "localhost", |params| {
            params.not_before = date_time_ymd(from.0, from.1, 1);
            params.not_after = date_time_ymd(to.0, to.1, 1);
        })
    };
    let (old, early) = (dated((2020, 1), (2021, 1)), dated((2090, 1), (2091, 1)));
    let chain = |behind: &str| good.certificate.pem() + behind;
    for (certificate, key, why) in [
        (good.certificate.pem(), another.key.serialize_pem(), "do not fit each other"),
        (good.certificate.pem(), "nonsense".to_owned(), "no private key"),
        ("nonsense".to_owned(), good.key.serialize_pem(), "no certificate"),
        (old.certificate.pem(), old.key.serialize_pem(), "has expired at 2021-01-01"),
        (early.certificate.pem(), early.key.serialize_pem(), "does not hold before 2090-01-01"),
        (chain(&another.certificate.pem()), good.key.serialize_pem(), "are no chain"),
    ] {
        put(&sealed.folder.join("tls.pem"), &certificate);
        put(&sealed.folder.join("tls.key"), &key);
        sealed.archive.look_at_certificates();
        assert!(sealed.problems().contains(why), "{why:?} is missing in {}", sealed.problems());
        assert!(shown() == first, "{why}");
    }
    fs::remove_file(sealed.folder.join("tls.pem")).unwrap();
    sealed.archive.look_at_certificates();
    assert!(sealed.problems().contains("cannot be read"), "{}", sealed.problems());
    assert!(shown() == first);

    put(&sealed.folder.join("tls.pem"), &chain(&sealed.authority.pem()));
    put(&sealed.folder.join("tls.key"), &good.key.serialize_pem());
    sealed.archive.look_at_certificates();
    assert!(!sealed.problems().contains("tls.pem"), "{}", sealed.problems());
    assert!(shown() == good.certificate.der().to_vec());
}

#[test]
fn with_a_certificate_that_has_expired_or_none_it_records_answers_plainly_and_says_so() {
    let expired = |authority: &Authority| {
        Pair::of(authority, "localhost", |params| {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        })
    };
    let sealed = Sealed::start(expired, |_| None);
    assert!(sealed.problems().contains("has expired at 2021-01-01"), "{}", sealed.problems());
    let refused = ask(&sealed.trust(), sealed.sealed, STATUS).unwrap_err().to_string();
    assert!(refused.contains("expired"), "{refused}");
    let before = sealed.archive.get(MUCH).body.len();
    fill_much_more(&sealed.archive.store);
    assert!(sealed.archive.get(MUCH).body.len() > before, "what is recorded is answered");
    let metrics = sealed.archive.get("/metrics").text();
    assert!(
        metrics.contains("pvark_tls_certificate_expires_seconds{file=") && metrics.contains("} 1609459200"),
        "{metrics}"
    );

    let none = Sealed::start(Pair::server, |folder| {
        fs::remove_file(folder.join("tls.key")).unwrap();
        None
    });
    assert!(none.problems().contains("tls.key cannot be read"), "{}", none.problems());
    assert!(ask(&none.trust(), none.sealed, STATUS).is_err());
    Pair::server(&none.authority).write(&none.folder);
    none.archive.look_at_certificates();
    assert_eq!(ask(&none.trust(), none.sealed, STATUS).unwrap().0, 200);
}

fn fill_much_more(store: &Store) {
    let pv = store.reader().find("T:MUCH").unwrap().id;
    let sample = sample::Sample {
        time: time(3600.0),
        value: sample::Value::F64(1.0),
        alarm: sample::Alarm::default(),
        pulse: 0,
        stamp: None,
    };
    store.writer().append(&[(pv, Record::Samples(Batch::of(&sample)))], time(3600.0)).unwrap();
}

/// As many files as the machine allows.
fn raise_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit }).unwrap();
}

/// The bytes of a client's first message.
fn hello(config: &Arc<ClientConfig>) -> Vec<u8> {
    let mut connection = ClientConnection::new(Arc::clone(config), ServerName::try_from("localhost").unwrap()).unwrap();
    let mut bytes = Vec::new();
    connection.write_tls(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_thousand_slow_handshakes_keep_nobody_out() {
    raise_limit();
    let sealed = Sealed::usual();
    let (config, hello) = (sealed.trust(), hello(&sealed.trust()));
    let slow: Vec<TcpStream> = (0..1000)
        .map(|number| {
            let mut stream = TcpStream::connect(sealed.sealed).unwrap();
            // Nothing, a part of a message, or a whole one and then nothing more.
            let said = [0, 5, hello.len() / 2, hello.len(), hello.len()][number % 5];
            stream.write_all(&hello[..said]).unwrap();
            stream
        })
        .collect();
    let begun = Instant::now();
    let mut longest = Duration::ZERO;
    for _ in 0..50 {
        let begun = Instant::now();
        assert_eq!(ask(&config, sealed.sealed, "/retrieval/ping").unwrap().0, 200);
        longest = longest.max(begun.elapsed());
    }
    assert!(longest < Duration::from_secs(8), "one waited for {longest:?}");
    assert_eq!(sealed.archive.get(STATUS).status, 200);
    drop(sealed.archive.get("/metrics"));
    // And they end.
    for mut stream in slow {
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert!(begun.elapsed() < DEADLINE, "{:?}", begun.elapsed());
}

#[test]
fn work_for_a_long_answer_ends_soon_after_its_client_has_gone() {
    let sealed = Sealed::usual();
    // It is counted when it has ended.
    let has_ended = || sealed.archive.get("/metrics").text().contains("route=\"/api/v1/pvs/{pv}/samples\"");
    let mut stream = connected(&sealed.trust(), sealed.sealed).unwrap();
    stream.get_mut().write_all(format!("GET {MUCH} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).unwrap();
    stream.read_exact(&mut [0; 1000]).unwrap();
    assert!(!has_ended(), "the answer is under way");
    stream.get_mut().conn.send_close_notify();
    let stream = stream.get_mut();
    stream.conn.write_tls(&mut stream.sock).unwrap();
    stream.sock.shutdown(std::net::Shutdown::Both).unwrap();
    let begun = Instant::now();
    while !has_ended() {
        assert!(begun.elapsed() < Duration::from_secs(1), "it goes on");
        thread::sleep(Duration::from_millis(5));
    }
}

fn clients_in(
    folder: &Path,
    authority: &Authority,
    certificate: ClientCertificate,
    revoked: &[u64],
) -> ClientCertificates {
    put(&folder.join("clients.pem"), &authority.pem());
    let revoked = revoked.iter().map(|number| RevokedCertParams {
        serial_number: SerialNumber::from(*number),
        revocation_time: date_time_ymd(2024, 1, 1),
        reason_code: Some(RevocationReason::KeyCompromise),
        invalidity_date: None,
    });
    let list = CertificateRevocationListParams {
        this_update: date_time_ymd(2024, 1, 1),
        next_update: date_time_ymd(2090, 1, 1),
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: None,
        revoked_certs: revoked.collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    put(&folder.join("clients.crl"), &list.signed_by(authority).unwrap().pem().unwrap());
    ClientCertificates {
        authorities: folder.join("clients.pem"),
        revoked: Some(folder.join("clients.crl")),
        certificate,
        name: web::ClientName::Common,
    }
}

#[test]
fn clients_need_a_certificate_that_holds_where_one_is_required() {
    let (own, other) = (authority("clients"), authority("other"));
    let good = Pair::client(&own, |params| params.serial_number = Some(SerialNumber::from(1)));
    let revoked = Pair::client(&own, |params| params.serial_number = Some(SerialNumber::from(7)));
    let (foreign, usage) = (Pair::client(&other, |_| {}), Pair::of(&own, "tools", |_| {}));
    let expired = Pair::client(&own, |params| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    });
    for certificate in [ClientCertificate::Optional, ClientCertificate::Required] {
        let sealed = Sealed::start(Pair::server, |folder| Some(clients_in(folder, &own, certificate, &[7])));
        for versions in [[&TLS13], [&TLS12]] {
            let status = |pair| {
                ask(&client(&sealed.authority, &versions, pair), sealed.sealed, STATUS).ok().map(|(status, _)| status)
            };
            let none = (certificate == ClientCertificate::Optional).then_some(200);
            assert_eq!((status(None), status(Some(&good))), (none, Some(200)));
            for (bad, why) in [(&foreign, "foreign"), (&usage, "usage"), (&expired, "expired"), (&revoked, "revoked")] {
                assert_eq!(status(Some(bad)), None, "{why}");
            }
        }
        // One more is revoked: that holds from the next connection on.
        clients_in(&sealed.folder, &own, certificate, &[1, 7]);
        sealed.archive.look_at_certificates();
        assert!(ask(&client(&sealed.authority, &[&TLS13], Some(&good)), sealed.sealed, STATUS).is_err());
    }
}

#[test]
fn what_a_client_has_shown_does_not_outlast_its_time() {
    let own = authority("clients");
    let sealed = Sealed::start(Pair::server, |folder| Some(clients_in(folder, &own, ClientCertificate::Required, &[])));
    let until = clock().nanos() / 1_000_000_000 + 8;
    let short = Pair::client(&own, |params| {
        params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(until as u64);
    });
    let mut stream = connected(&client(&sealed.authority, &[&TLS13], Some(&short)), sealed.sealed).unwrap();
    assert_eq!(asked(&mut stream, STATUS).unwrap().0, 200);
    while clock().nanos() / 1_000_000_000 <= until {
        thread::sleep(Duration::from_millis(100));
    }
    let (status, body) = asked(&mut stream, STATUS).unwrap();
    assert_eq!(status, 403, "{}", String::from_utf8_lossy(&body));
    assert!(String::from_utf8_lossy(&body).contains("the certificate of tools has expired"));
}

#[test]
fn a_certificate_says_who_it_is_and_a_stream_ends_with_it() {
    let own = authority("clients");
    let config = "anonymous = \"none\"\n[[grant]]\nto = \"certificate:tools\"\nright = \"read\"\n";
    let sealed = Sealed::start_with(
        Pair::server,
        |folder| Some(clients_in(folder, &own, ClientCertificate::Optional, &[])),
        |tokens| Access::new(toml::from_str(config).unwrap(), Box::new(tokens)).unwrap(),
    );
    let until = clock().nanos() / 1_000_000_000 + 6;
    let short = Pair::client(&own, |params| {
        params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(until as u64);
    });
    let tools = client(&sealed.authority, &[&TLS13], Some(&short));
    let (status, body) = ask(&tools, sealed.sealed, "/api/v1/me").unwrap();
    assert_eq!(status, 200);
    assert!(String::from_utf8_lossy(&body).contains("\"who\":\"certificate:tools\""));
    assert_eq!(ask(&tools, sealed.sealed, STATUS).unwrap().0, 200);
    assert_eq!(ask(&sealed.trust(), sealed.sealed, STATUS).unwrap().0, 401, "without a certificate");
    assert_eq!(sealed.archive.get(STATUS).status, 401, "where there is no TLS");
    let pause = "POST /api/v1/pvs/T:MUCH/pause HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";
    let mut stream = connected(&tools, sealed.sealed).unwrap();
    stream.get_mut().write_all(pause.as_bytes()).unwrap();
    assert_eq!(answered(&mut stream).unwrap().0, 403);

    let mut stream = connected(&tools, sealed.sealed).unwrap();
    let (status, body) = asked(&mut stream, "/api/v1/live?pv=T:MUCH").unwrap();
    let body = String::from_utf8_lossy(&body);
    assert_eq!(status, 200);
    assert!(body.contains("event: error") && body.contains("does not hold any more"), "{body}");
    let late = clock().nanos() / 1_000_000_000 - until;
    assert!((0..5).contains(&late), "it ended {late} s after the certificate");
}

/// The types of keys that facilities have.
#[test]
fn certificates_of_other_keys_are_used_too() {
    let sealed = Sealed::usual();
    for algorithm in [&rcgen::PKCS_ECDSA_P384_SHA384, &rcgen::PKCS_ED25519] {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let pair = Pair { certificate: params.signed_by(&key, &sealed.authority).unwrap(), key };
        pair.write(&sealed.folder);
        sealed.archive.look_at_certificates();
        assert_eq!(ask(&sealed.trust(), sealed.sealed, STATUS).unwrap().0, 200, "{}", sealed.problems());
        let stream = connected(&sealed.trust(), sealed.sealed).unwrap();
        let shown: &CertificateDer<'_> = &stream.get_ref().conn.peer_certificates().unwrap()[0];
        assert_eq!(shown, pair.certificate.der());
    }
}
