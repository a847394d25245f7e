//! One PV of a view: what is drawn of it, and what is said of it beside its bins.

use std::collections::HashMap;

use archive::PvEntry;
use query::{Bin, Cut, Series};
use sample::{Metadata, Sample, TimeRange, Timestamp, ValueType};
use serde_json::{Map, Value, json};
use service::Ask;

use super::{bins::sample_before, gaps, samples::head};
use crate::{formats::arrow, refusal::Refusal};

/// What a gap takes until it is sent. Of each PV no more are told.
const GAP_BYTES: usize = 256;
const GAPS_MAX: usize = 10_000;

/// One PV of a view.
pub(super) struct Part {
    pub(super) name: String,
    /// What there is of it; or why nothing is said, as nobody answers for it at present.
    pub(super) told: Result<Drawn, String>,
}

/// What is drawn of a PV.
pub(super) struct Drawn {
    entry: PvEntry,
    newest: Option<(Timestamp, Metadata)>,
    value_type: Option<ValueType>,
    before: Option<Sample>,
    gaps: Vec<Value>,
    gaps_left_out: usize,
    pub(super) bins: Vec<Bin>,
    /// Whose arrays are told element by element; none of what has none, and where that is not asked for.
    pub(super) arrays: Option<Series>,
    damage: Vec<String>,
}

impl Drawn {
    /// What there is of a series in a range, with its last values before.
    pub(super) fn of(
        ask: &Ask,
        entry: PvEntry,
        series: &Series,
        range: TimeRange,
        cut: Cut,
        until: Timestamp,
        are_arrays_told: bool,
    ) -> Result<Drawn, Refusal> {
        ask.go_on()?;
        let newest = ask.metadata_at_end(entry.id, range)?;
        let last = ask.last_before(series, range.t1)?;
        let announced =
            newest.as_ref().and_then(|(_, metadata)| metadata.value_type).filter(|_| series.field.is_none());
        let value_type = last.map(|sample| sample.value.value_type()).or(announced);
        let (bins, damage) = collect(ask, series, range, cut, until)?;
        let before = ask.last_before(series, bins.first().map_or(range.t0, |bin| bin.t0))?;
        let told = ask.gaps(series, range)?;
        ask.lease.grow_by(told.len().min(GAPS_MAX), GAP_BYTES)?;
        let gaps_left_out = told.len().saturating_sub(GAPS_MAX);
        let gaps = told.iter().take(GAPS_MAX).map(|(scope, gap)| gaps::row(*scope, gap)).collect();
        let has_elements = are_arrays_told && value_type.is_some_and(|value_type| value_type.is_numeric_array());
        let arrays = has_elements.then(|| series.clone());
        Ok(Drawn { entry, newest, value_type, before, gaps, gaps_left_out, bins, arrays, damage })
    }
}

impl Part {
    pub(super) fn bins(&self) -> &[Bin] {
        self.told.as_ref().map_or(&[], |drawn| drawn.bins.as_slice())
    }

    /// Of a PV for which nobody answers nothing is said but that: a client that does not know of such is not to draw it as empty.
    pub(super) fn head(&self, range: TimeRange) -> Map<String, Value> {
        let drawn = match &self.told {
            Ok(drawn) => drawn,
            Err(why) => {
                let members = [("pv", self.name.as_str()), ("unanswered", why)];
                return members.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect();
            }
        };
        let mut told = head(&drawn.entry, range, drawn.newest.as_ref());
        told.remove("from");
        told.remove("to");
        told.insert("pv".to_owned(), self.name.as_str().into());
        told.insert("type".to_owned(), drawn.value_type.map(|of| of.to_string()).into());
        told.insert("before".to_owned(), drawn.before.as_ref().map(sample_before).into());
        told.insert("raw".to_owned(), drawn.bins.iter().all(|bin| bin.count <= 1).into());
        told.insert("gaps".to_owned(), drawn.gaps.clone().into());
        told.insert("gaps_left_out".to_owned(), drawn.gaps_left_out.into());
        told.insert("damage".to_owned(), drawn.damage.clone().into());
        told
    }
}

/// All bins, and what was found damaged, unless the client goes away meanwhile.
fn collect(
    ask: &Ask,
    series: &Series,
    range: TimeRange,
    cut: Cut,
    until: Timestamp,
) -> Result<(Vec<Bin>, Vec<String>), Refusal> {
    let mut source = ask.bins(series.clone(), range, cut)?.held_until(until);
    let mut bins = Vec::new();
    while let Some(bin) = source.next().transpose()? {
        bins.push(bin);
        if bins.len() % 64 == 0 {
            ask.go_on()?;
        }
    }
    Ok((bins, source.damage().iter().map(ToString::to_string).collect()))
}

/// The texts that the schema of an Arrow stream has of a view and its PVs; each PV has its own in JSON.
pub(super) fn facts(head: Map<String, Value>, parts: &[Part], range: TimeRange) -> HashMap<String, String> {
    let pvs: Value = parts.iter().map(|part| Value::Object(part.head(range))).collect();
    let head = head.into_iter().map(|(name, value)| (name, arrow::text(&value)));
    head.chain([("pvs".to_owned(), json!(pvs).to_string())]).collect()
}
