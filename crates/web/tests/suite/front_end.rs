//! A second front end in a few lines: it asks the service what HTTP asks, gets the same samples to the last bit, and its orders stand in
//! the audit under its own name.

use crate::served;

use std::sync::Arc;

use archive::{AddRequest, Principal, PvName};
use query::{Before, Request};
use sample::{TimeRange, Value};
use served::{Archive, time};
use service::{Ask, Budget};

/// Asks without HTTP.
fn front_end(archive: &Archive) -> Ask {
    let lease = Arc::new(Budget::new(1 << 20).lease());
    Ask::new(Arc::clone(&archive.service), Principal::here("the second front end"), lease, || false)
}

/// Its answer: a line of a CSV for each sample, whose value is the bits of a number.
fn lines(ask: &Ask, name: &str, range: TimeRange) -> Vec<String> {
    let (_, series) = ask.series(name, None).expect("there is such a PV");
    let samples = ask.samples(&Request { series, range, before: Before::Include }).expect("it may be seen");
    let batches = samples.map(|batch| batch.expect("nothing is damaged"));
    let rows = batches.flat_map(|batch| (0..batch.len()).map(move |row| batch.get(row)).collect::<Vec<_>>());
    let line = |sample: sample::Sample| {
        let number = match sample.value {
            Value::F64(number) => number,
            ref other => other.as_f64().expect("it is a number"),
        };
        format!("{},{:x},{},{}", sample.time, number.to_bits(), sample.alarm.severity as u8, sample.alarm.status)
    };
    rows.map(line).collect()
}

/// The same lines of what HTTP answers.
fn lines_over_http(archive: &Archive, name: &str, range: TimeRange) -> Vec<String> {
    let text = archive.get(&format!("/api/v1/pvs/{name}/samples?from={}&to={}&format=csv", range.t0, range.t1)).text();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number: f64 = fields[1].parse().expect("it is a number");
        let number = if number.is_nan() { f64::NAN } else { number };
        format!("{},{:x},{},{}", fields[0], number.to_bits(), fields[2], fields[3])
    };
    text.lines()
        .skip_while(|line| !line.starts_with("time,"))
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(line)
        .collect()
}

#[test]
fn another_front_end_gets_the_same_samples_to_the_last_bit() {
    let archive = Archive::with_history();
    let ask = front_end(&archive);
    let range = TimeRange::new(time(-1.0), time(5.0)).expect("it is a range");
    for name in ["T:DOUBLE", "T:LONG", "T:BYTE", "T:ENUM"] {
        let own = lines(&ask, name, range);
        assert!(own.len() > 1, "{name} has samples: {own:?}");
        assert_eq!(own, lines_over_http(&archive, name, range), "{name}");
    }
    assert!(ask.series("T:UNKNOWN", None).is_err_and(|refusal| refusal.code() == service::Code::UnknownPv));
}

#[test]
fn what_another_front_end_orders_stands_in_the_audit_under_its_name() {
    let archive = Archive::with_history();
    let ask = front_end(&archive);
    let name = PvName::new("T:ADDED").expect("it is a name");
    ask.add(vec![AddRequest::new(name)]).expect("it is added");
    let entry = ask.pv("T:ADDED").expect("it is there");
    ask.pause(&[entry.id]).expect("it is paused");
    let audit = archive.get("/api/v1/audit?limit=1").text();
    assert!(audit.contains("\"paused\"") && audit.contains("the second front end"), "{audit}");
    assert!(archive.get("/api/v1/pvs/T:ADDED").text().contains("\"state\":\"paused\""));
}

/// All PVs are paused: none is in the report, so that no row would show that nobody waits.
#[test]
fn a_report_that_leaves_all_pvs_out_ends_when_nobody_waits_for_it() {
    let archive = Archive::with_history();
    let lease = Arc::new(Budget::new(1 << 20).lease());
    let gone = Ask::new(Arc::clone(&archive.service), Principal::here("the second front end"), lease, || true);
    assert!(front_end(&archive).disconnected().next().is_none());
    assert!(gone.disconnected().next().is_some_and(|row| row.is_err_and(|why| why.message() == "the client has gone")));
}
