//! `/api/v1/histogram`: for how long a number lay between which edges, and how many samples did.

use analysis::{Histogram, HistogramParts, HistogramShare, HistogramWeight};
use serde_json::{Map, Value, json};
use service::shortened;

use super::{
    computed::head,
    when::{expression, units},
};
use crate::{
    call::Call,
    delivery::answer::Answer,
    formats::table::{Table, TableColumn},
    refusal::{Code, Refusal},
    url::Params,
};

/// So many parts are made if nothing else is said.
const PARTS: usize = 50;

/// `GET` or `POST /histogram`
pub(crate) fn show(call: &Call) -> Answer {
    let (text, range) = (expression(call)?, call.query.range()?);
    let format = call.query.word("format", &["json", "csv", "arrow"], Code::UnknownFormat)?;
    let weight = match call.query.word("weight", &["time", "count", "both"], Code::BadRequest)? {
        "count" => HistogramWeight::Count,
        "both" => HistogramWeight::Both,
        _ => HistogramWeight::Time,
    };
    let (found, units) = call.ask.histogram(&text, range, units(&call.query)?, parts(&call.query)?, weight)?;
    let mut facts = head(text, range, units);
    facts.extend(as_facts(&found, weight));
    let edges =
        |begin: usize| TableColumn::Numbers(found.edges.iter().skip(begin).take(found.parts.len()).copied().collect());
    let columns = vec![
        ("low", edges(0)),
        ("high", edges(1)),
        ("seconds", TableColumn::Perhaps(found.parts.iter().map(|part| seconds(part, weight)).collect())),
        ("count", TableColumn::Counts(found.parts.iter().map(|part| count(part, weight)).collect())),
    ];
    call.table(Table { facts, rows_are: "bins", columns }, format)
}

/// So many, or between these edges.
fn parts(query: &Params) -> Result<HistogramParts, Refusal> {
    let [low, high] = [query.number("low")?, query.number("high")?];
    let count: Option<usize> = query.number("bins")?;
    let Some(given) = query.get("edges") else {
        return Ok(HistogramParts::Equal { count: count.unwrap_or(PARTS), low, high });
    };
    if count.is_some() || low.is_some() || high.is_some() {
        return Err(Refusal::new(Code::BadRequest, "give either edges=, or bins=, low= and high="));
    }
    let read: Result<Vec<f64>, _> = given.split(',').map(|edge| edge.trim().parse()).collect();
    let refusal = |_| {
        let message = format!("edges is {:?}, expected rising numbers like 0,1,2.5", shortened(given));
        Refusal::new(Code::BadRequest, message)
    };
    read.map(HistogramParts::Edges).map_err(refusal)
}

fn seconds(share: &HistogramShare, weight: HistogramWeight) -> Option<f64> {
    (weight != HistogramWeight::Count).then_some(share.nanos as f64 / 1e9)
}

fn count(share: &HistogramShare, weight: HistogramWeight) -> Option<u64> {
    (weight != HistogramWeight::Time).then_some(share.count)
}

fn as_facts(found: &Histogram, weight: HistogramWeight) -> Map<String, Value> {
    let both = |share: &HistogramShare| json!({ "seconds": seconds(share, weight), "count": count(share, weight) });
    let times = |share: &HistogramShare| json!({ "seconds": seconds(share, weight) });
    let facts = json!({
        "weight": weight.name(),
        "below": both(&found.below),
        "above": both(&found.above),
        "infinite": both(&found.infinite),
        "minus_infinite": both(&found.minus_infinite),
        "nan": both(&found.nan),
        "gaps": times(&found.gaps),
        "before": times(&found.before),
        "made_of": found.made_of(),
        "by_summaries": found.by_summaries as f64 / 1e9,
        "read": found.read,
        "damage": found.damage,
    });
    if let Value::Object(facts) = facts { facts } else { Map::new() }
}
