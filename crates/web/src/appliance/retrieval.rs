//! `/retrieval/data/getData.*` and `getDataForPVs.*`: the samples of PVs as the Archiver Appliance gives them.
//!
//! The last sample at or before `from` comes first, then those after `from` up to and including `to`.

use std::time::Duration;

use archive::PvEntry;
use query::{Before, Operator, Ranges, Request, Span};
use sample::{Element, Metadata, Shape, TimeRange, Timestamp, ValueType};
use serde_json::Value;
use service::{Ask, Meant, now};

use super::{
    metadata::facts,
    names::{find, list_in, names_in},
    spans::spans,
    whose::SamplesOf,
};
use crate::{
    call::Call,
    delivery::answer::{Answer, CSV, JSON, TEXT, whole},
    formats::{
        appliance_json::{Form, LinesJson},
        appliance_lines::{Columns, LinesPlain},
        at_time::{AtAppliance, Values, WANTED_BYTES, Wanted},
        gathered::GatheredNumbers,
        joined::{CHUNKED, Joined, LISTED, alone},
        matlab,
        pb::{Heading, SamplesPb},
        pb_messages::FieldValue,
        reconnects::Reconnects,
        span_samples::{InSpans, SpanSamples},
        svg,
    },
    refusal::{Code, Refusal, shortened},
    url::Params,
};

const PROTOBUF: &str = "application/x-protobuf";
const SVG: &str = "image/svg+xml";
const XML: &str = "text/xml";
const MATLAB: &str = "application/matlab";
/// By this name clients see whether there is an archiver, whatever it archives.
const PING_PV: &str = "ArchApplPingPV";
/// What `usereduced=true` asks for.
const USUAL_REDUCTION: &str = "firstSample_900";
const FORMATS: [&str; 9] = ["json", "csv", "raw", "qw", "txt", "jplot", "svg", "mat", "flx"];
/// Formats in which the answers for several PVs can stand in one.
const FORMATS_OF_MANY: [&str; 4] = ["json", "raw", "qw", "jplot"];

/// `GET /retrieval/data/{call}`
pub(crate) fn get_data(call: &Call) -> Answer {
    let (method, extension) = method_and_extension(call.path_part("call"))?;
    if method == "getDataForPVs" {
        return data_for_pvs(call, extension);
    }
    if method != "getData" {
        return Err(Refusal::new(Code::BadRequest, format!("{method} takes a list of PVs: use POST")));
    }
    let name = call.query.needed("pv")?;
    if name == PING_PV {
        return call.chunks(PROTOBUF, SamplesPb::ping(PING_PV, now()));
    }
    let asked = NamedPv::of(name)?;
    let format = format_of(extension, &FORMATS)?;
    let whose = match SamplesOf::of(&call.ask, asked.pv) {
        // With a template the Appliance looks into its stores for PVs that it has forgotten; there are none here.
        Err(_) if call.query.get("retiredPVTemplate").is_some_and(|template| find(&call.ask, template).is_ok()) => {
            return nothing(format);
        }
        found => found?,
    };
    let found = Found::of(&call.ask, &call.query, whose, &asked)?;
    match format {
        "json" => call.chunks(JSON, alone(found.into_json(Form::Full), LISTED)?),
        "qw" => call.chunks(JSON, alone(found.into_json(Form::Quick), LISTED)?),
        "jplot" => call.chunks(JSON, alone(found.into_plot(), LISTED)?),
        "csv" => call.chunks(CSV, LinesPlain::new(Columns::Commas, String::new(), found.samples, found.has_bars)),
        "txt" => {
            let head = format!("Beginning data for {}\n", found.name);
            call.chunks(TEXT, LinesPlain::new(Columns::Tabs, head, found.samples, found.has_bars))
        }
        "flx" => call.chunks(XML, LinesPlain::new(Columns::Elements, String::new(), found.samples, found.has_bars)),
        "svg" => Ok(whole(
            SVG,
            svg::drawing(&found.name, &GatheredNumbers::of(found.samples, found.has_bars, &call.ask.lease)?),
        )),
        "mat" => {
            let gathered = GatheredNumbers::of(found.samples, found.has_bars, &call.ask.lease)?.into_matrix()?;
            Ok(whole(MATLAB, matlab::file(&found.name, [found.from, found.to], now(), &gathered)))
        }
        _ => call.chunks(PROTOBUF, found.into_pb()),
    }
}

/// The answer for a PV without any samples or metadata.
fn nothing(format: &str) -> Answer {
    Ok(match format {
        "json" | "qw" | "jplot" => whole(JSON, "[ \n ]\n"),
        "csv" => whole(CSV, "\n"),
        "txt" => whole(TEXT, ""),
        "flx" => whole(XML, "<data>\n</data>\n"),
        "svg" => whole(SVG, svg::drawing("", &GatheredNumbers::default())),
        "mat" => whole(MATLAB, matlab::file("", [now(), now()], now(), &GatheredNumbers::default())),
        _ => whole(PROTOBUF, ""),
    })
}

/// `POST /retrieval/data/{call}`
pub(crate) fn post_data(call: &Call) -> Answer {
    match method_and_extension(call.path_part("call")) {
        Ok(("getDataAtTime", _)) => data_at_time(call),
        Ok(("getDataForPVs", extension)) => data_for_pvs(call, extension),
        _ => {
            let name = call.path_part("call");
            Err(Refusal::new(Code::BadRequest, format!("{name} takes its parameters in the URL: use GET")))
        }
    }
}

/// The samples of several PVs, in the order in which they are named. Unknown ones are left out, so that one wrong name does
/// not cost a client all the others; where none is known there is nothing to answer.
fn data_for_pvs(call: &Call, extension: &str) -> Answer {
    let format = format_of(extension, &FORMATS_OF_MANY)?;
    let (mut known, mut unknown) = (Vec::new(), None);
    for (index, name) in names_in(&call.query, call.sent())?.into_iter().enumerate() {
        if index % 64 == 0 {
            call.ask.go_on()?;
        }
        let asked = NamedPv::of(&name)?;
        operator(&call.query, &asked)?;
        match SamplesOf::of(&call.ask, asked.pv) {
            Ok(_) => known.push(name),
            Err(refusal) => unknown = unknown.or(Some(refusal)),
        }
    }
    let others = known.split_off(known.len().min(1));
    let first = known.pop().ok_or_else(|| unknown.unwrap_or_else(|| Refusal::unknown_pv("")))?;
    let (ask, query) = (call.ask.clone(), call.query.clone());
    let open = move |name: String| {
        let asked = NamedPv::of(&name)?;
        Found::of(&ask, &query, SamplesOf::of(&ask, asked.pv)?, &asked)
    };
    match format {
        "json" => {
            call.chunks(JSON, Joined::new(first, others, LISTED, move |name| Ok(open(name)?.into_json(Form::Full)))?)
        }
        "qw" => {
            call.chunks(JSON, Joined::new(first, others, LISTED, move |name| Ok(open(name)?.into_json(Form::Quick)))?)
        }
        "jplot" => call.chunks(JSON, Joined::new(first, others, LISTED, move |name| Ok(open(name)?.into_plot()))?),
        _ => call.chunks(PROTOBUF, Joined::new(first, others, CHUNKED, move |name| Ok(open(name)?.into_pb()))?),
    }
}

/// What a request gets of one PV, whatever the format.
struct Found {
    entry: PvEntry,
    name: String,
    has_bars: bool,
    from: Timestamp,
    to: Timestamp,
    metadata: Metadata,
    facts: Vec<(String, String)>,
    samples: InSpans,
    carried: Reconnects,
}

impl Found {
    fn of(ask: &Ask, query: &Params, whose: SamplesOf, asked: &NamedPv) -> Result<Found, Refusal> {
        let SamplesOf { entry, name, field } = whose;
        // What a field said is never reduced.
        let operator = if field.is_some() { None } else { operator(query, asked)? };
        let spans = spans(query)?;
        let (Some(first), Some(last)) = (spans.first(), spans.last()) else {
            return Err(Refusal::new(Code::BadRange, "timeranges holds no range"));
        };
        let range = TimeRange { t0: first.from, t1: after(last.to) };
        let (_, metadata) = ask.metadata_at_end(entry.id, range)?.unwrap_or_default();
        let is_all = query.switch("fetchLatestMetadata");
        let metadata = if is_all { ask.described(&entry, metadata) } else { metadata };
        let samples = match &field {
            Some(field) => of_field(ask, &entry, &spans, field)?,
            None => sources(ask, &entry, &spans, operator.as_ref())?,
        };
        Ok(Found {
            has_bars: operator.as_ref().is_some_and(Operator::has_error_bars),
            from: first.from,
            to: last.to,
            facts: with_headers(ask, &entry, range, facts(&metadata, is_all))?,
            metadata,
            samples: Ranges::new(samples),
            carried: carried(ask, &entry, range, operator.as_ref(), field.is_some())?,
            entry,
            name,
        })
    }

    fn into_json(self, form: Form) -> LinesJson {
        let mut meta = vec![("name".to_owned(), Value::from(self.name))];
        meta.extend(self.facts.into_iter().map(|(name, text)| (name, Value::from(text))));
        let is_array = self.metadata.value_type.is_some_and(|value_type| value_type.shape == Shape::Array);
        let waveform = (form == Form::Quick).then_some(is_array);
        LinesJson::new(form, &meta, waveform, self.samples, self.carried, self.has_bars)
    }

    fn into_plot(self) -> LinesJson {
        LinesJson::plot(&self.name, self.samples, self.has_bars)
    }

    fn into_pb(self) -> SamplesPb {
        let value_type = self.metadata.value_type.unwrap_or(ValueType::scalar(Element::F64));
        let heading = Heading {
            pv_name: self.entry.name.to_string(),
            element_count: self.metadata.element_count.filter(|_| value_type.shape == Shape::Array),
            headers: self.facts.into_iter().map(|(name, val)| FieldValue { name, val }).collect(),
        };
        SamplesPb::new(heading, self.samples, self.carried, self.has_bars)
    }
}

/// The value that each of the named PVs had at a moment, by default now, under the PV's own name. Those that had none are left
/// out, and with `searchPeriod=` those that got theirs too long before.
pub(crate) fn data_at_time(call: &Call) -> Answer {
    let at = call.query.time("at")?.unwrap_or_else(now);
    let since = call.query.get("searchPeriod").map(|period| searched_since(period, at)).transpose()?;
    let names = match list_in(&call.query, call.sent())? {
        Some(nobody) if nobody.is_empty() => nobody,
        _ => names_in(&call.query, call.sent())?,
    };
    call.ask.lease.grow_by(names.len(), WANTED_BYTES)?;
    let mut wanted = Vec::with_capacity(names.len());
    for name in names {
        match find(&call.ask, &name) {
            Ok(entry) => {
                let series = entry.id.into();
                wanted.push(Wanted { name: entry.name.to_string(), meant: Meant::Series(entry, series) });
            }
            // Nobody can tell whether there is such a PV.
            Err(refusal) if refusal.code() == Code::StoreRefused => return Err(refusal),
            Err(_) => {}
        }
    }
    call.ask.leave_nothing_out(); // it has no place to say so
    call.chunks(JSON, AtAppliance::new(Values::new(call.ask.clone(), at, wanted), since))
}

/// Where a search for values begins that reaches back for a period like `P2D`. The Appliance looks into the files of another 31 days.
fn searched_since(period: &str, at: Timestamp) -> Result<Timestamp, Refusal> {
    let length = period.to_lowercase().strip_prefix('p').map(|length| length.replace('m', "mo"));
    let since = length.and_then(|length| Timestamp::typed(&format!("-{length} 31d"), at).ok());
    since.ok_or_else(|| {
        let message =
            format!("searchPeriod is {:?}, expected a period in days like P2D, P1W or P1Y6M", shortened(period));
        Refusal::new(Code::BadRequest, message)
    })
}

/// `getData.json` and the like, in whatever folder; what follows a second point, or a semicolon, does not count.
fn method_and_extension(call: &str) -> Result<(&str, &str), Refusal> {
    const METHODS: [&str; 3] = ["getData", "getDataForPVs", "getDataAtTime"];
    let name = call.rsplit('/').next().unwrap_or_default();
    let mut parts = name.split(';').next().unwrap_or_default().split('.');
    match (parts.next(), parts.next()) {
        (Some(method), extension) if METHODS.contains(&method) => Ok((method, extension.unwrap_or(""))),
        _ => Err(Refusal::new(Code::BadRequest, format!("{call:?} is not a valid API method, getData is"))),
    }
}

/// Whether there is such a method with such a format.
#[cfg(test)]
pub(crate) fn is_known(call: &str) -> bool {
    match method_and_extension(call) {
        Ok(("getData", extension)) => format_of(extension, &FORMATS).is_ok(),
        Ok(("getDataForPVs", extension)) => format_of(extension, &FORMATS_OF_MANY).is_ok(),
        found => found.is_ok(),
    }
}

fn format_of(extension: &str, formats: &[&'static str]) -> Result<&'static str, Refusal> {
    formats.iter().find(|format| **format == extension).copied().ok_or_else(|| {
        let message = format!("the format {extension:?} is not known here, expected one of {}", formats.join(", "));
        Refusal::new(Code::UnknownFormat, message)
    })
}

/// What stands in `pv=`: a name, or an operator with a name and perhaps arguments in parentheses.
#[derive(Debug, PartialEq)]
struct NamedPv<'a> {
    operator: Option<&'a str>,
    pv: &'a str,
    arguments: Vec<&'a str>,
}

impl NamedPv<'_> {
    fn of(text: &str) -> Result<NamedPv<'_>, Refusal> {
        if !text.contains('(') {
            return Ok(NamedPv { operator: None, pv: text, arguments: Vec::new() });
        }
        if !text.contains(')') {
            let message = format!("{text:?} opens a parenthesis and closes none, expected OPERATOR(PV)");
            return Err(Refusal::new(Code::BadRequest, message));
        }
        let mut parts = text.split(['(', ',', ')']).map(str::trim);
        let operator = parts.next().filter(|operator| !operator.is_empty());
        let pv = parts.next().unwrap_or("");
        Ok(NamedPv { operator, pv, arguments: parts.filter(|argument| !argument.is_empty()).collect() })
    }
}

/// The operator by which samples are to be reduced, wherever it stands. One that does not exist is refused: to answer with
/// samples that are not reduced would mislead.
fn operator(query: &Params, asked: &NamedPv) -> Result<Option<Operator>, Refusal> {
    let usual = query.switch("usereduced").then_some(USUAL_REDUCTION);
    // Clients that want samples as they are say so by either of these names.
    let named = asked.operator.or(query.get("pp")).filter(|name| !["pb", "raw"].contains(name)).or(usual);
    Ok(named.map(|named| Operator::parse(named, &asked.arguments)).transpose()?)
}

/// What the samples of an answer carry besides values. Of gaps only raw samples tell, of which the first after one is known.
fn carried(
    ask: &Ask,
    entry: &PvEntry,
    range: TimeRange,
    operator: Option<&Operator>,
    is_field: bool,
) -> Result<Reconnects, Refusal> {
    if is_field || operator.is_some_and(|operator| !operator.keeps_samples()) {
        return Ok(Reconnects::default());
    }
    let gaps = if operator.is_some() { Vec::new() } else { ask.own_gaps(entry.id, range)? };
    let told = Reconnects::of(gaps.into_iter().map(|(_, gap)| gap));
    if !ask.has_others() {
        return Ok(told);
    }
    // The sample before the range carries something too.
    let before = ask.last_before(&entry.id.into(), range.t0)?.map_or(range.t0, |sample| sample.time);
    Ok(told.with(ask.carried(entry.id, TimeRange { t0: before.min(range.t0), ..range }, None)?))
}

/// What a field said in each span.
fn of_field(ask: &Ask, entry: &PvEntry, spans: &[Span], field: &str) -> Result<Vec<SpanSamples>, Refusal> {
    let within = |span: &Span| {
        // As of the PV itself the last sample at or before the range counts, if it carries the field.
        let range = TimeRange { t0: span.from, t1: span.from };
        let request = Request { series: entry.id.into(), range, before: Before::Include };
        let before = ask.samples(&request)?.next().transpose()?;
        let t0 = before.and_then(|batch| batch.times().first().copied()).unwrap_or(span.from);
        let range = TimeRange { t0, t1: after(span.to) };
        Ok(SpanSamples::OfField(Box::new(ask.field_samples(entry.id, range, field)?)))
    };
    spans.iter().map(within).collect()
}

/// Where the samples come from: of each span by itself, or, with an operator, of all of them together.
fn sources(
    ask: &Ask,
    entry: &PvEntry,
    spans: &[Span],
    operator: Option<&Operator>,
) -> Result<Vec<SpanSamples>, Refusal> {
    let Some(operator) = operator else {
        let recorded = spans.iter().map(|span| {
            let range = TimeRange { t0: span.from, t1: after(span.to) };
            let request = Request { series: entry.id.into(), range, before: Before::Include };
            Ok(SpanSamples::Recorded(Box::new(ask.samples(&request)?)))
        });
        return recorded.collect();
    };
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return Ok(Vec::new()) };
    let whole = Span { from: first.from, to: last.to };
    operator.check(whole)?;
    let reduced = match spans {
        [span] => ask.reduced(entry.id, *span, operator)?,
        several => ask.reduced_together(entry.id, several, whole, operator)?,
    };
    Ok(vec![SpanSamples::Reduced(Box::new(reduced))])
}

/// The moment after, because the Appliance's ranges include their end.
fn after(time: Timestamp) -> Timestamp {
    time.saturating_add(Duration::from_nanos(1))
}

/// And what else the headers of old archives' files say, as the Appliance passes it on.
fn with_headers(
    ask: &Ask,
    entry: &PvEntry,
    range: TimeRange,
    mut facts: Vec<(String, String)>,
) -> Result<Vec<(String, String)>, Refusal> {
    if ask.has_others() {
        let headers = ask.headers(entry.id, range)?.into_iter();
        let news: Vec<_> =
            headers.filter(|(name, text)| !text.is_empty() && facts.iter().all(|(known, _)| known != name)).collect();
        facts.extend(news);
    }
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_extension_counts_and_only_known_ones_pass() {
        for call in ["getData.json.gz", "sub/getData.json", "getData.json;jsessionid=1A.2B"] {
            assert_eq!(method_and_extension(call).unwrap(), ("getData", "json"));
        }
        for call in ["getData", "getData.", "getData.JSON", "getData.xyz", "getDatum.json"] {
            let format = method_and_extension(call).and_then(|(_, extension)| format_of(extension, &FORMATS));
            assert!(format.is_err(), "{call}");
        }
    }

    #[test]
    fn operators_and_their_arguments_are_found_in_every_spelling() {
        let asked = |text| NamedPv::of(text).unwrap();
        let none = Vec::<&str>::new();
        assert_eq!(asked("A:B"), NamedPv { operator: None, pv: "A:B", arguments: none.clone() });
        assert_eq!(asked("mean_60( A:B )"), NamedPv { operator: Some("mean_60"), pv: "A:B", arguments: none.clone() });
        assert_eq!(asked("mean(A:B,60)"), NamedPv { operator: Some("mean"), pv: "A:B", arguments: vec!["60"] });
        assert_eq!(asked("mean_60)A:B("), NamedPv { operator: Some("mean_60"), pv: "A:B", arguments: none.clone() });
        assert_eq!(asked("(A:B)"), NamedPv { operator: None, pv: "A:B", arguments: none });
        assert!(NamedPv::of("mean_60(A:B").is_err());
    }
}
