//! What a farm tells: where it is, and at the end what it made, sent and left out.

use std::net::SocketAddr;

use super::{ca::Tally, plan::Plan, pva};
use crate::measure::{self, Elapsed, Form, Measurement};

const BENCH: &str = "ioc";

/// Where the servers are, and when update 0 was made.
pub(crate) fn serving(case: &str, plan: &Plan, (ca, pva): (&[SocketAddr], &[SocketAddr]), form: Form) {
    let words = |addresses: &[SocketAddr]| addresses.iter().map(SocketAddr::to_string).collect::<Vec<_>>();
    match form {
        Form::Table => {
            measure::tell(&format!("{} PVs, {:.1} MB/s", plan.len(), plan.bytes_per_second() / 1e6));
            for (protocol, addresses) in [("CA", ca), ("PVA", pva)] {
                if !addresses.is_empty() {
                    let list = words(addresses).join(" ");
                    measure::tell(&format!("EPICS_{protocol}_AUTO_ADDR_LIST=NO EPICS_{protocol}_ADDR_LIST=\"{list}\""));
                }
            }
        }
        Form::Json => measure::tell(
            &serde_json::json!({
                "bench": BENCH, "case": case, "metric": "serving", "value": plan.len(), "unit": "PVs",
                "ca": words(ca), "pva": words(pva), "start": plan.start,
            })
            .to_string(),
        ),
    }
}

/// What was done by pvAccess.
pub(crate) fn done_pva(case: &str, tallies: &[pva::Tally], passed: Elapsed, form: Form) {
    let mut all = pva::Tally::default();
    for tally in tallies {
        all.counts += tally.counts;
        all.waiting += tally.waiting;
        all.late = all.late.max(tally.late);
        all.produced = all.produced.max(tally.produced);
    }
    let counts = all.counts;
    let lines = [
        ("pva updates produced", all.produced as f64, ""),
        ("pva updates posted", counts.posts as f64, ""),
        ("pva updates sent", counts.updates as f64, ""),
        ("pva updates squashed: a newer took their place", counts.squashed as f64, ""),
        ("pva updates abandoned: monitor ended", counts.abandoned as f64, ""),
        ("pva updates still waiting", all.waiting as f64, ""),
        ("pva latest by", all.late.as_secs_f64() * 1e3, "ms"),
        ("pva messages broken on purpose", counts.breaches as f64, ""),
        ("pva circuits", counts.circuits as f64, ""),
        ("pva channels", counts.channels as f64, ""),
        ("pva monitors", counts.monitors as f64, ""),
        ("pva searches", counts.searches as f64, ""),
        ("pva names searched", counts.names_searched as f64, ""),
    ];
    print(case, &lines, passed, ("processor time per pva update sent", counts.updates), form);
}

/// What was done.
pub(crate) fn done(case: &str, tallies: &[Tally], passed: Elapsed, form: Form) {
    let mut all = Tally::default();
    for tally in tallies {
        all.counters += tally.counters;
        all.waiting += tally.waiting;
        all.late = all.late.max(tally.late);
        all.produced = all.produced.max(tally.produced);
    }
    let counters = all.counters;
    let lines = [
        ("updates produced", all.produced as f64, ""),
        ("updates posted to subscriptions", counters.posted as f64, ""),
        ("sent", counters.sent as f64, ""),
        ("dropped: a newer took its place", counters.replaced as f64, ""),
        ("dropped: held back by the client", counters.held_back as f64, ""),
        ("dropped: subscription ended", counters.abandoned as f64, ""),
        ("still waiting", all.waiting as f64, ""),
        ("latest by", all.late.as_secs_f64() * 1e3, "ms"),
        ("first values and reads", counters.reads as f64, ""),
        ("circuits", counters.circuits as f64, ""),
        ("circuits ended", counters.circuits_ended as f64, ""),
        ("channels", counters.channels as f64, ""),
        ("subscriptions", counters.subscriptions as f64, ""),
        ("searches", counters.searches as f64, ""),
        ("search replies", counters.search_replies as f64, ""),
        ("beacons", counters.beacons as f64, ""),
        ("requests refused", counters.errors as f64, ""),
        ("sent on circuits", counters.bytes as f64 / 1e6, "MB"),
    ];
    print(case, &lines, passed, ("processor time per update sent", counters.sent), form);
}

/// Prints counts, and behind them what the time and each update sent has cost.
fn print(case: &str, counts: &[(&str, f64, &str)], passed: Elapsed, (per_update, sent): (&str, u64), form: Form) {
    let costs = [
        ("time", passed.wall, "s"),
        ("processor time", passed.cpu, "s"),
        (per_update, passed.cpu * 1e6 / sent.max(1) as f64, "µs"),
        ("peak memory", measure::peak_memory_mib(), "MiB"),
    ];
    for (metric, value, unit) in counts.iter().chain(&costs).copied() {
        measure::print(&Measurement { bench: BENCH, case, metric, value, unit }, form);
    }
}
