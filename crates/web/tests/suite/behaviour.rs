//! How the server behaves beyond single answers: limits, slow clients, its end.

use crate::served;

use std::{
    io::{Read, Write},
    time::{Duration, Instant},
};

use archive::{By, Group, Method, Protocol, PvName, PvSettings, PvState, Record, RuleName, Sense, Sink, Switch};
use sample::{Batch, Sample, Severity, Timestamp, Value};
use served::{Answer, Archive, Connection, PVS, fill, time};
use store::Store;

/// Long enough for anything on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// Asks again and again until the answer is the one that is waited for.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < DEADLINE, "{what} did not come true within {DEADLINE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A PV with so many samples that no socket buffers hold them all.
fn fill_much(store: &Store) {
    const BATCHES: i64 = 100;
    const ROWS: i64 = 8000;
    let writer = store.writer();
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Paused);
    let pv = writer.register(&[(PvName::new("T:MUCH").unwrap(), settings)], &By::new("test", time(0.0))).unwrap()[0].id;
    for batch in 0..BATCHES {
        let times = (0..ROWS).map(|row| Timestamp::from_nanos(time(0.0).nanos() + (batch * ROWS + row) * 1000));
        let times: Vec<Timestamp> = times.collect();
        let values = sample::Column::F64((0..ROWS).map(|row| (batch * ROWS + row) as f64 / 3.0).collect());
        let mut alarms = sample::Runs::default();
        alarms.push(&sample::Alarm::default(), ROWS as usize);
        let mut pulses = sample::Runs::default();
        pulses.push(&0, ROWS as usize);
        let batch = Batch::from_columns(times, values, alarms, pulses).unwrap();
        writer.append(&[(pv, Record::Samples(batch))], time(0.0)).unwrap();
    }
}

fn sent_bytes(archive: &Archive, route: &str) -> u64 {
    let text = archive.get("/metrics").text();
    let line = format!("pvark_http_answer_bytes_total{{route=\"{route}\"}} ");
    text.lines().find_map(|found| found.strip_prefix(&line)).map_or(0, |bytes| bytes.parse().unwrap())
}

/// The client takes the first bytes and then stops. Were the answer made ahead of it, all of it would be counted when the
/// client hangs up; it has only filled the buffers of two sockets by then.
#[test]
fn a_client_that_stops_reading_costs_a_chunk_and_no_thread() {
    const ROUTE: &str = "/api/v1/pvs/{pv}/samples";
    const TARGET: &str = "/api/v1/pvs/T:MUCH/samples?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z";
    let archive = Archive::start(fill_much, |config| config);
    let whole = archive.get(TARGET);
    assert!(whole.whole && whole.body.len() > 20_000_000, "{} bytes are too few to fill buffers", whole.body.len());
    wait_until("the whole answer is counted", || sent_bytes(&archive, ROUTE) == whole.body.len() as u64);

    let mut slow: Vec<Connection> = (0..20).map(|_| Connection::to(archive.address)).collect();
    for connection in &mut slow {
        connection.send("GET", TARGET, &[], b"");
        assert_eq!(connection.read_head().0, 200);
        assert!(!connection.read_chunk().unwrap().is_empty());
    }
    // All of them have stopped, and the others are served as ever.
    assert_eq!(archive.get("/api/v1/pvs?match=MUCH").status, 200);
    let again = archive.get(TARGET);
    assert_eq!(again.body.len(), whole.body.len());

    let slow_bytes = || sent_bytes(&archive, ROUTE) - 2 * whole.body.len() as u64;
    let count = slow.len() as u64;
    drop(slow);
    wait_until("all who stopped are counted", || {
        archive
            .get("/metrics")
            .text()
            .contains(&format!("requests_total{{route=\"{ROUTE}\",status=\"200\"}} {}", count + 2))
    });
    assert!(slow_bytes() < count * whole.body.len() as u64 / 2, "{} bytes were made for nobody", slow_bytes());
}

#[test]
fn one_connection_serves_many_requests() {
    let archive = Archive::with_history();
    let mut connection = Connection::to(archive.address);
    for target in ["/retrieval/ping", "/api/v1/nothing", "/api/v1/pvs/T:DOUBLE", "/"] {
        let answer = connection.ask("GET", target, &[], b"");
        assert_eq!(answer.status, if target.ends_with("nothing") { 404 } else { 200 });
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let archive = Archive::start(|_| {}, |config| web::Config { body_bytes_max: 1000, url_bytes_max: 500, ..config });
    let code = |answer: served::Answer| answer.json()["error"]["code"].as_str().unwrap().to_owned();

    let long_body = archive.post("/api/v1/pvs", "application/json", &vec![b' '; 1001]);
    assert_eq!((long_body.status, code(long_body).as_str()), (413, "too_large"));
    let long_url = archive.get(&format!("/api/v1/pvs?match={}", "x".repeat(500)));
    assert_eq!((long_url.status, code(long_url).as_str()), (414, "too_large"));

    // A body that does not say how long it is.
    let mut connection = Connection::to(archive.address);
    connection.send("POST", "/api/v1/pvs", &[("transfer-encoding", "chunked")], b"");
    connection.stream.get_mut().write_all(format!("7d0\r\n{}\r\n0\r\n\r\n", " ".repeat(2000)).as_bytes()).unwrap();
    assert_eq!(connection.read_head().0, 413);
}

#[test]
fn a_client_that_never_finishes_its_request_is_cut_off() {
    let archive = Archive::start(|_| {}, |config| web::Config { head_timeout: Duration::from_millis(100), ..config });
    let mut connection = Connection::to(archive.address);
    connection.stream.get_mut().write_all(b"GET /retrieval/ping HTTP/1.1\r\nhost:").unwrap();
    let mut rest = Vec::new();
    connection.stream.read_to_end(&mut rest).expect("the server hangs up before the client's own time-out");
}

#[test]
fn bytes_that_are_no_request_are_answered_or_cut_off() {
    let archive = Archive::with_history();
    for bytes in
        [&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", &[0; 100_000]]
    {
        let mut connection = Connection::to(archive.address);
        // The server may hang up before it has taken everything.
        let _ = connection.stream.get_mut().write_all(bytes);
        let _ = connection.stream.get_mut().shutdown(std::net::Shutdown::Write);
        let _ = connection.stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(archive.get("/retrieval/ping").text(), "Pong");
}

#[test]
fn a_port_in_use_is_named() {
    let archive = Archive::with_history();
    let error = archive.start_another(archive.address).expect_err("two cannot listen on one port");
    let expected =
        format!("cannot listen on {}: another program listens there; stop it or set another address", archive.address);
    assert_eq!(error.to_string(), expected);
}

#[test]
fn at_the_end_answers_finish_and_streams_that_never_would_are_ended() {
    let mut archive = Archive::with_history();
    let mut live = Connection::to(archive.address);
    live.send("GET", "/api/v1/live?pv=T:DOUBLE", &[], b"");
    assert_eq!(live.read_head().0, 200);
    let mut idle = Connection::to(archive.address);
    assert_eq!(idle.ask("GET", "/retrieval/ping", &[], b"").status, 200);

    let begun = Instant::now();
    archive.finish_serving();
    assert!(begun.elapsed() < Duration::from_secs(2), "nothing had to be broken off");
    while !live.read_chunk().expect("the stream comes to its proper end").is_empty() {}
    assert_eq!(idle.stream.read(&mut [0; 1]).expect("the connection is closed"), 0);
    assert!(std::net::TcpStream::connect(archive.address).is_err());
}

#[test]
fn live_gives_states_then_new_samples_once_each_in_order_of_arrival() {
    let archive = Archive::with_history();
    let mut live = Connection::to(archive.address);
    live.send("GET", "/api/v1/live?pv=T:ENUM&pv=T:DOUBLE&from=2026-01-01T00:00:04Z", &[], b"");
    let (status, headers) = live.read_head();
    assert_eq!(status, 200);
    assert!(headers.contains(&("content-type".to_owned(), "text/event-stream".to_owned())));

    let mut events = Events { connection: live, text: String::new() };
    let states = [events.next(), events.next()].map(|(name, data)| (name, data["pv"].clone(), data["state"].clone()));
    let paused = |pv: &str| ("state".to_owned(), pv.into(), "paused".into());
    assert_eq!(states, [paused("T:ENUM"), paused("T:DOUBLE")]);

    let (name, data) = events.next();
    assert_eq!((name.as_str(), &data["pv"], &data["type"]), ("samples", &"T:DOUBLE".into(), &"f64".into()));
    assert_eq!(data["values"], serde_json::json!(["Infinity", 9.75]), "those since `from`");

    let pv = archive.store.reader().find("T:DOUBLE").unwrap().id;
    let append = |seconds: f64, value: f64| {
        let alarm = sample::Alarm { severity: Severity::Minor, status: 4, message: None };
        let sample = Sample { time: time(seconds), value: Value::F64(value), alarm, pulse: 0, stamp: None };
        archive.store.writer().append(&[(pv, Record::Samples(Batch::of(&sample)))], time(0.0)).unwrap();
    };
    // The first is stamped far ahead and not of the present; the third has the time of the second and is no repeat of it.
    const YEARS_AHEAD: f64 = 3e9;
    for (seconds, value) in [(YEARS_AHEAD, 9.0), (6.0, 1.0), (6.0, 2.0), (7.0, 3.0)] {
        append(seconds, value);
    }
    let mut values = Vec::new();
    while values.len() < 3 {
        let (name, data) = events.next();
        assert_eq!((name.as_str(), &data["severity"][0]), ("samples", &1.into()));
        values.extend(data["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()));
    }
    assert_eq!(values, [1.0, 2.0, 3.0]);
}

/// Server-Sent Events as they come.
struct Events {
    connection: Connection,
    text: String,
}

impl Events {
    fn next(&mut self) -> (String, serde_json::Value) {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let line = |prefix: &str| event.lines().find_map(|line| line.strip_prefix(prefix)).map(str::to_owned);
                let parts = line("event: ").zip(line("data: "));
                self.text = rest.to_owned();
                if let Some((name, data)) = parts {
                    return (name, serde_json::from_str(&data).unwrap());
                }
            } else {
                let chunk = self.connection.read_chunk().expect("the stream goes on");
                self.text.push_str(&String::from_utf8(chunk).unwrap());
            }
        }
    }
}

#[test]
fn commands_change_what_is_archived() {
    let archive = Archive::start(|store| fill(store, &PVS[..1]), |config| config);
    let status_of = |answer: served::Answer| answer.json()["pvs"][0]["status"].as_str().unwrap().to_owned();
    let add = |body: &str| status_of(archive.post("/api/v1/pvs", "application/json", body.as_bytes()));
    assert_eq!(add(r#"{"pvs":["pva://T:NEW"]}"#), "added");
    assert_eq!(add(r#"{"pvs":["T:NEW"]}"#), "already_archived");
    assert_eq!(add(r#"{"pvs":[{"name":"T:NEW","method":"scan","period":0.5}]}"#), "changed");
    let shown = archive.get("/api/v1/pvs/T:NEW").json();
    assert_eq!((&shown["protocol"], &shown["method"], &shown["period"]), (&"pva".into(), &"scan".into(), &0.5.into()));
    assert_eq!(shown["state"], "searching");

    let command = |method: &str, target: &str| archive.ask(method, target).json()["status"].clone();
    assert_eq!(command("POST", "/api/v1/pvs/T:NEW/pause"), "paused");
    assert_eq!(command("POST", "/api/v1/pvs/T:NEW/pause"), "already_paused");
    assert_eq!(command("POST", "/api/v1/pvs/T:NEW/resume"), "resumed");
    assert_eq!(command("POST", "/api/v1/pvs/T:NEW/resume"), "already_active");
    assert_eq!(command("DELETE", "/api/v1/pvs/T:NEW?data=delete"), "removed");
    assert_eq!(archive.get("/api/v1/pvs/T:NEW").status, 404);
    assert_eq!(command("DELETE", "/api/v1/pvs/T:NEW"), "already_removed");
    assert_eq!(
        archive.get("/api/v1/removed").json()["removed"][0]["data"],
        "deleted",
        "a removal that keeps is no undo"
    );
    assert_eq!(archive.ask("DELETE", "/api/v1/pvs/T:NONE").status, 404);
    assert_eq!(command("POST", "/api/v1/pvs/T:NEW/restore?as=T:BACK"), "restored");
    assert_eq!(archive.get("/api/v1/pvs/T:BACK").json()["period"], 0.5);
}

#[test]
fn the_archiver_appliances_commands_do_the_same() {
    let archive = Archive::start(|store| fill(store, &PVS[..1]), |config| config);
    let json = |target: &str| archive.get(target).json();
    let list = r#"[{"pv":"pva://T:SCAN","samplingmethod":"SCAN","samplingperiod":"2.0"},{"pv":"T:MONITOR","samplingperiod":1}]"#;
    let submitted = archive.post("/mgmt/bpl/archivePV", "application/json", list.as_bytes()).json();
    assert_eq!(submitted[0]["status"], "Archive request submitted");
    assert_eq!(submitted[1]["pvName"], "T:MONITOR");
    assert_eq!(json("/mgmt/bpl/archivePV?pv=T:MONITOR")[0]["status"], "Already submitted");
    let form = archive.post("/mgmt/bpl/archivePV", "application/x-www-form-urlencoded", b"pv=T:A,T:B").json();
    assert_eq!(form.as_array().unwrap().len(), 2);

    let status = json("/mgmt/bpl/getPVStatus?pv=T:SCAN,T:MONITOR");
    assert_eq!((&status[0]["status"], &status[0]["samplingPeriod"]), (&"Being archived".into(), &"2.0".into()));
    assert_eq!((&status[1]["isMonitored"], &status[1]["connectionState"]), (&"true".into(), &"false".into()));

    assert!(json("/mgmt/bpl/deletePV?pv=T:SCAN")["validation"].as_str().unwrap().contains("not paused"));
    assert_eq!(json("/mgmt/bpl/pauseArchivingPV?pv=T:SCAN")["status"], "ok");
    assert_eq!(json("/mgmt/bpl/deletePV?pv=T:SCAN&deleteData=true")["status"], "ok");
    assert_eq!(json("/mgmt/bpl/resumeArchivingPV?pv=T:ARRAY")["status"], "ok");
    assert_eq!(json("/mgmt/bpl/resumeArchivingPV?pv=T:ARRAY")["validation"], "PV T:ARRAY is not paused");
    assert_eq!(json("/mgmt/bpl/getAllPVs"), serde_json::json!(["T:A", "T:ARRAY", "T:B", "T:MONITOR"]));
}

#[test]
fn the_web_page_is_there_with_its_links_and_is_cached() {
    let archive = Archive::with_history();
    let page = archive.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    for nowhere in ["/pv/T:DOUBLE", "/api", "/mgmt/bpl/nothing", "/index.php"] {
        assert_eq!(archive.get(nowhere).status, 404, "{nowhere}: no page where there is none");
    }
    let etag = page.header("etag").unwrap();
    let again = Connection::to(archive.address).ask("GET", "/", &[("if-none-match", etag)], b"");
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert_eq!(archive.get("/nothing.js").status, 404);
    assert_eq!(archive.ask("POST", "/nothing").status, 404);
}

#[test]
fn metrics_count_what_was_asked_and_how_the_archive_fares() {
    let archive = Archive::with_history();
    archive.get("/api/v1/pvs/T:NOSUCH");
    archive.get("/api/v1/nothing");
    for line in [
        "pvark_http_requests_total{route=\"/api/v1/pvs/{pv}\",status=\"404\"} 1",
        "pvark_http_requests_total{route=\"(none)\",status=\"404\"} 1",
        "pvark_pvs{state=\"paused\"} 9",
        "pvark_samples_dropped_total{cause=\"queue_full\"} 0",
        "pvark_store_refusing 0",
        "pvark_client_messages_total{protocol=\"pva\"} 0",
    ] {
        wait_until(line, || archive.get("/metrics").text().lines().any(|found| found == line));
    }
    let metrics = archive.get("/metrics");
    assert_eq!(metrics.header("content-type"), Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    assert!(metrics.text().ends_with("# EOF\n"));
}

#[test]
fn status_tells_how_the_archive_fares() {
    let archive = Archive::with_history();
    let status = archive.get("/api/v1/status").json();
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&status["pvs"]["total"], &status["pvs"]["paused"]), (&9.into(), &9.into()));
    let durable = &status["durable"];
    assert_eq!(durable["lag"], durable["appended"].as_u64().unwrap() - durable["durable"].as_u64().unwrap());
    assert!(status["store"]["refusal"].is_null());
    assert_eq!(status["problems"], serde_json::json!([]));
}

#[test]
fn a_pv_that_nobody_serves_is_listed_changed_and_aborted() {
    let archive = Archive::with_history();
    let told = |target: &str| -> serde_json::Value { serde_json::from_str(&archive.get(target).text()).unwrap() };
    told("/mgmt/bpl/archivePV?pv=T:NOBODY");
    let waiting = told("/mgmt/bpl/getNeverConnectedPVs");
    assert_eq!(waiting.as_array().unwrap().len(), 1);
    assert_eq!(waiting[0]["pvName"], "T:NOBODY");
    assert_eq!(told("/mgmt/bpl/getRecentlyAddedPVs")[0]["pvName"], "T:NOBODY");

    told("/mgmt/bpl/changeArchivalParameters?pv=T:NOBODY&samplingperiod=5&samplingmethod=SCAN");
    told("/mgmt/bpl/changeArchivalParameters?pv=T:NOBODY");
    let info = told("/mgmt/bpl/getPVTypeInfo?pv=T:NOBODY");
    assert_eq!((&info["samplingMethod"], &info["samplingPeriod"]), (&"SCAN".into(), &"5.0".into()));

    assert_eq!(told("/mgmt/bpl/abortArchivingPV?pv=T:NOBODY")["status"], "ok");
    assert_eq!(archive.get("/mgmt/bpl/getPVTypeInfo?pv=T:NOBODY").status, 404);
    assert_eq!(told("/mgmt/bpl/getNeverConnectedPVs"), serde_json::json!([]));
}

#[test]
fn a_configuration_goes_out_and_comes_in_again() {
    let archive = Archive::with_history();
    let told = |target: &str| archive.get(target).json();
    let put = |target: &str, body: &str| archive.post(target, "application/json", body.as_bytes());
    let info =
        r#"{"pvName":"T:NEW","samplingMethod":"SCAN","samplingPeriod":"2.5","paused":"false","usePVAccess":"true"}"#;
    assert_eq!(put("/mgmt/bpl/putPVTypeInfo?pv=T:NEW", info).status, 409);
    assert_eq!(put("/mgmt/bpl/putPVTypeInfo?pv=T:NEW&createnew=true", info).json()["paused"], "true");
    let taken = put("/mgmt/bpl/putPVTypeInfo?pv=T:NEW&override=true", info).json();
    let expected = ["false", "SCAN", "2.5", "true"];
    assert_eq!(["paused", "samplingMethod", "samplingPeriod", "usePVAccess"].map(|member| &taken[member]), expected);
    let fields_after = |fields: &str| {
        let info = format!(r#"{{"pvName":"T:NEW",{fields}{}"#, &info[r#"{"pvName":"T:NEW","#.len()..]);
        put("/mgmt/bpl/putPVTypeInfo?pv=T:NEW&override=true", &info).json()["archiveFields"].clone()
    };
    let two = serde_json::json!(["HIHI", "LOLO"]);
    assert_eq!(fields_after(r#""archiveFields":["HIHI","no field","LOLO"],"#), two);
    assert_eq!(fields_after(""), two, "nothing is said of them");
    assert_eq!(fields_after(r#""archiveFields":[],"#), serde_json::json!([]));
    assert_eq!(fields_after(r#""archiveFields":["HIHI","LOLO"],"#), two);

    let exported = archive.get("/mgmt/bpl/exportConfig").text();
    told("/mgmt/bpl/pauseArchivingPV?pv=T:NEW");
    told("/mgmt/bpl/deletePV?pv=T:NEW");
    assert_eq!(archive.get("/mgmt/bpl/getPVTypeInfo?pv=T:NEW").status, 404);
    let imported = put("/mgmt/bpl/importConfig", &exported).json();
    assert_eq!(imported[0]["desc"], "Imported 12 PVs, 9 of them paused", "two of them are fields");
    assert_eq!((&imported[0]["appliance"], &imported[0]["errorPVs"]), (&"appliance0".into(), &serde_json::json!([])));
    assert_eq!(put("/mgmt/bpl/importConfigForAppliance", &exported).json()["appliance"], "appliance0");
    let back = told("/mgmt/bpl/getPVTypeInfo?pv=T:NEW");
    assert_eq!(back["archiveFields"], two);
    assert_eq!((&back["samplingPeriod"], &back["paused"]), (&"2.5".into(), &"false".into()));
}

#[test]
fn reports_tell_of_rates_sizes_and_silence() {
    let archive = Archive::with_history();
    let told = |target: &str| archive.get(target).json();
    told("/mgmt/bpl/archivePV?pv=T:NOBODY");
    let lost = told("/mgmt/bpl/getLostConnectionsReport");
    let row = serde_json::json!([{
        "pvName": "T:NOBODY", "instance": "appliance0", "currentlyConnected": "No", "lostConnections": "0"
    }]);
    assert_eq!(lost, row);
    assert_eq!(told("/mgmt/bpl/getSilentPVsReport")[0]["lastKnownEvent"], "Never");
    assert_eq!(told("/mgmt/bpl/getEventRateReport"), serde_json::json!([]), "nobody was connected");
    archive.store.tick(Timestamp::MAX);
    wait_until("it is packed", || told("/mgmt/bpl/getPVsByStorageConsumed").as_array().unwrap().len() == 8);
    let largest = &told("/mgmt/bpl/getPVsByStorageConsumed?limit=1")[0];
    assert!(largest["storageConsumed"].as_str().unwrap().parse::<u64>().unwrap() > 0, "{largest}");
    let instance = &told("/mgmt/bpl/getInstanceMetrics")[0];
    assert_eq!((&instance["pvCount"], &instance["disconnectedPVCount"]), (&"10".into(), &"1".into()));
}

/// What the older PV had is found under both names, and nothing is lost of the newer one.
#[test]
fn the_samples_of_one_pv_go_to_another_whose_alias_it_becomes() {
    let archive = Archive::with_history();
    let count = |pv: &str| {
        let range = "from=2025-12-01T00:00:00Z&to=2026-02-01T00:00:00Z";
        let answer = archive.get(&format!("/retrieval/data/getData.csv?pv={pv}&{range}"));
        assert_eq!(answer.status, 200, "{pv}: {}", answer.text());
        answer.text().lines().filter(|line| !line.is_empty()).count()
    };
    let (older, newer) = (count("T:ENUM"), count("T:DOUBLE"));
    assert!(older > 0 && newer > 0);
    let append = "/mgmt/bpl/appendAndAliasPV?olderpv=T:ENUM&newerpv=T:DOUBLE&storage=LTS";
    let answer = archive.get(append).text();
    assert!(answer.contains(&format!("Appended {older} samples")), "{answer}");
    assert_eq!([count("T:DOUBLE"), count("T:ENUM")], [older + newer; 2]);
    assert!(archive.get("/api/v1/removed").text().contains("T:ENUM"));
    let again = archive.get(append).text();
    assert!(again.contains("validation") && count("T:DOUBLE") == older + newer, "{again}");
}

#[test]
fn a_controlling_pv_switches_a_group_of_its_name() {
    let archive = Archive::with_history();
    let body = br#"[{"pv":"N:1","controllingPV":"C:1","alias":"N:ONE"},{"pv":"N:2","controllingPV":"C:1"}]"#;
    let answer = archive.post("/mgmt/bpl/archivePV", "application/json", body).text();
    assert_eq!(answer.matches("Archive request submitted").count(), 2, "{answer}");
    let groups: serde_json::Value = serde_json::from_str(&archive.get("/api/v1/groups").text()).unwrap();
    let group = &groups["groups"][0];
    assert_eq!((&group["name"], &group["pvs"], &group["enabled_by"][0]), (&"C:1".into(), &2.into(), &"C:1".into()));
    let info: serde_json::Value =
        serde_json::from_str(&archive.get("/mgmt/bpl/getPVTypeInfo?pv=N:ONE").text()).unwrap();
    assert_eq!((&info["pvName"], &info["controllingPV"]), (&"N:1".into(), &"C:1".into()));
}

#[test]
fn fields_come_and_go_by_command() {
    let archive = Archive::with_history();
    let change = |commands: &str| archive.get(&format!("/mgmt/bpl/modifyMetaFields?pv=T:DOUBLE&{commands}")).text();
    let fields = || {
        let info = archive.get("/mgmt/bpl/getPVTypeInfo?pv=T:DOUBLE").text();
        serde_json::from_str::<serde_json::Value>(&info).unwrap()["archiveFields"].to_string()
    };
    assert!(change("command=add,ADEL,MDEL&command=remove,ADEL").contains("ok"));
    assert_eq!(fields(), r#"["MDEL"]"#);
    assert!(change("command=take,MDEL").contains("expected add, remove or clear"));
    assert!(change("command=clear").contains("ok"));
    assert_eq!(fields(), "[]");
}

#[test]
fn flags_last_and_links_to_the_appliances_pages_lead_to_ours() {
    let archive = Archive::with_history();
    assert_eq!(archive.get("/mgmt/bpl/getNamedFlag?name=F").text(), r#"{"F":false}"#);
    assert_eq!(archive.get("/mgmt/bpl/setNamedFlag?name=F&value=true").text(), r#"{"status":"ok"}"#);
    assert_eq!(archive.get("/mgmt/bpl/getAllNamedFlags").text(), r#"{"F":true}"#);
    let leads = |url: &str| {
        let answer = archive.get(url);
        assert_eq!(answer.status, 302, "{url}");
        answer.header("location").unwrap_or_default().to_owned()
    };
    assert_eq!(leads("/mgmt/ui/pvdetails.html?pv=T:A%26B"), "/?pv=T%3AA%26B");
    assert_eq!(leads("/mgmt/ui/reports.html"), "/manage?came=reports%2Ehtml");
    assert_eq!(leads("/mgmt/ui"), "/manage");
    assert_eq!(leads("/retrieval/ui/viewer/archViewer.html"), "/");
    assert_eq!(archive.get("/manage").status, 200);
}

/// The config file names one group at first and then another.
#[test]
fn groups_of_the_config_file_are_applied_with_its_policies() {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    static READS: AtomicUsize = AtomicUsize::new(0);
    let read = || {
        let name = if READS.fetch_add(1, Relaxed) < 2 { "beam" } else { "rf" };
        let switches = vec![Switch { pv: PvName::new("C:1").unwrap(), protocol: None, sense: Sense::Enables }];
        let groups = vec![Group { name: RuleName::new(name).unwrap(), switches }];
        Ok(web::FileRules { groups, ..web::FileRules::default() })
    };
    let policies = web::PolicySource::new(read);
    let archive = Archive::start(|store| fill(store, PVS), |config| web::Config { policies, ..config });
    let groups_in = |text: &str, of: &str| {
        let answer: serde_json::Value = serde_json::from_str(text).unwrap();
        answer[of].clone()
    };
    let post = |what: &str| archive.post(&format!("/api/v1/policies/{what}"), "application/json", b"null").text();
    assert_eq!(groups_in(&post("plan"), "groups"), serde_json::json!(["beam"]));
    assert_eq!(groups_in(&post("apply"), "groups"), serde_json::json!(["beam"]));
    let listed = groups_in(&archive.get("/api/v1/groups").text(), "groups");
    assert_eq!((&listed[0]["name"], &listed[0]["kept_by"]), (&"beam".into(), &"config".into()));
    assert_eq!(groups_in(&post("apply"), "groups"), serde_json::json!(["rf", "beam"]));
    let listed = groups_in(&archive.get("/api/v1/groups").text(), "groups");
    assert_eq!((&listed[0]["name"], listed.as_array().unwrap().len()), (&"rf".into(), 1));
}

/// Were it kept, a thousand of such clients would hold all that they were promised for ever.
#[test]
fn a_client_that_takes_nothing_loses_its_connection() {
    let archive =
        Archive::start(fill_much, |config| web::Config { write_timeout: Duration::from_millis(300), ..config });
    let mut deaf = Connection::to(archive.address);
    deaf.send("GET", "/api/v1/pvs/T:MUCH/samples?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z", &[], b"");
    let begun = Instant::now();
    let is_open = || archive.get("/metrics").text().contains("route=\"/api/v1/pvs/{pv}/samples\"");
    wait_until("the end of the answer, which is counted then", is_open);
    assert!(begun.elapsed() >= Duration::from_millis(300), "it was given no time");
    let mut rest = Vec::new();
    // What lies in the buffers of both sockets still comes, or the end of the connection takes it away.
    let _ = deaf.stream.read_to_end(&mut rest);
    assert!(!rest.ends_with(b"\r\n0\r\n\r\n"), "a part looks like a whole answer");
}

#[test]
fn silent_connections_make_room_and_busy_ones_do_not() {
    let archive = Archive::start(|_| {}, |config| web::Config { connections_max: 8, ..config });
    let mut silent: Vec<Connection> = (0..8).map(|_| Connection::to(archive.address)).collect();
    let turned_away = archive.get("/retrieval/ping");
    assert_eq!((turned_away.status, &turned_away.json()["error"]["code"]), (503, &"busy".into()));
    std::thread::sleep(Duration::from_millis(1100));
    let mut busy = silent.pop().expect("there are eight");
    assert_eq!(busy.ask("GET", "/retrieval/ping", &[], b"").text(), "Pong");
    assert_eq!(archive.get("/retrieval/ping").text(), "Pong", "a newcomer finds a place");
    assert_eq!(busy.ask("GET", "/retrieval/ping", &[], b"").text(), "Pong", "and not that of one who is busy");
}

#[test]
fn a_head_of_ten_megabytes_is_refused_in_words() {
    let archive = Archive::with_history();
    let long = "x".repeat(10 << 20);
    let header = [("x-much", long.as_str())];
    let endless: [(String, &[(&str, &str)]); 3] = [
        (format!("/api/v1/pvs?match={long}"), &[]),
        (format!("/retrieval/data/getData.json?pv={long}"), &[]),
        ("/retrieval/ping".to_owned(), &header),
    ];
    for (target, headers) in endless {
        let answer = Connection::to(archive.address).ask("GET", &target, headers, b"");
        assert!([414, 431].contains(&answer.status), "{}", answer.status);
        assert_eq!(answer.json()["error"]["code"], "too_large");
    }
    let mut nonsense = Connection::to(archive.address);
    nonsense.stream.get_mut().write_all(b"GET / and nonsense\r\n\r\n").unwrap();
    let (status, headers) = nonsense.read_head();
    assert_eq!(status, 400);
    assert!(headers.contains(&("content-type".to_owned(), "application/json".to_owned())), "{headers:?}");
    assert_eq!(archive.get("/retrieval/ping").text(), "Pong");
}

/// Viewers of the Appliance often come from another server than it, and ask with a header that browsers want leave for.
#[test]
fn pages_of_other_sites_see_what_the_appliances_viewers_read() {
    let archive = Archive::with_history();
    let shown_to = |answer: &Answer| answer.header("access-control-allow-origin").map(str::to_owned);
    let ask = |method: &str, target: &str, more: &[(&str, &str)]| {
        let headers = [&[("origin", "http://viewer.lab:3000")], more].concat();
        Connection::to(archive.address).ask(method, target, &headers, b"")
    };
    for target in
        ["/retrieval/data/getData.qw?pv=T:DOUBLE", "/retrieval/data/getData.qw?pv=NO:SUCH", "/retrieval/bpl/getVersion"]
    {
        assert_eq!(shown_to(&ask("GET", target, &[])).as_deref(), Some("*"), "{target}");
        assert_eq!(shown_to(&archive.get(target)), None, "{target}");
    }
    let first = [("access-control-request-method", "GET"), ("access-control-request-headers", "content-type")];
    let leave = ask("OPTIONS", "/retrieval/data/getData.qw?pv=T:DOUBLE", &first);
    assert_eq!((leave.status, shown_to(&leave).as_deref()), (204, Some("*")));
    assert!(leave.header("access-control-allow-headers").unwrap().contains("content-type"));
    let elsewhere = "/mgmt/bpl/getAllPVs";
    assert_eq!(shown_to(&ask("GET", elsewhere, &[])), None);
    assert_eq!(ask("OPTIONS", elsewhere, &first).status, 405);
}
