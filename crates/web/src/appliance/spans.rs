//! Which stretches of time a request asks for.

use std::time::Duration;

use query::Span;
use sample::{TimeRange, Timestamp};
use service::now;

use crate::{
    refusal::{Code, Refusal},
    url::Params,
};

/// `timeranges=t0,t1,t2,t3`, or else `from=` and `to=`: by default up to an hour from now, from a day before that, as the
/// Appliance has it. There is at least one span, they are in order and do not overlap.
pub(crate) fn spans(query: &Params) -> Result<Vec<Span>, Refusal> {
    if let Some(text) = query.get("timeranges") {
        return listed(text);
    }
    let now = now();
    let usual = (Duration::from_secs(86_400), now.saturating_add(Duration::from_secs(3600)));
    let range = TimeRange::typed(query.get("from"), query.get("to"), now, usual)?;
    Ok(vec![Span { from: range.t0, to: range.t1 }])
}

fn listed(text: &str) -> Result<Vec<Span>, Refusal> {
    let now = now();
    let times = text.split(',').map(|time| Timestamp::typed(time, now)).collect::<Result<Vec<_>, _>>()?;
    if times.len() % 2 != 0 {
        let message = format!("timeranges holds {} times, expected a beginning and an end for each range", times.len());
        return Err(Refusal::new(Code::BadRange, message));
    }
    if !times.is_sorted() {
        let message = "the ranges of timeranges overlap or are not in order, expected each after the one before it";
        return Err(Refusal::new(Code::BadRange, message));
    }
    Ok(times.chunks_exact(2).filter_map(|pair| Some(Span { from: *pair.first()?, to: *pair.last()? })).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_pairs_in_order_that_may_touch() {
        let spans = listed("2026-01-01T00:00:00Z,2026-01-01T00:00:01Z, 2026-01-01T00:00:01Z,2026-01-01T00:00:02Z");
        assert_eq!(spans.unwrap().len(), 2);
        for wrong in [
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:01Z,2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00Z,2026-01-01T00:00:02Z,2026-01-01T00:00:01Z,2026-01-01T00:00:03Z",
            "2026-01-01T00:00:00Z,",
            ",",
        ] {
            assert!(listed(wrong).is_err(), "{wrong}");
        }
    }
}
