//! `/api/v1/samples`: the samples of several PVs in one answer, one PV after another; and how requests name many PVs.

use archive::PvEntry;
use query::{Before, Request, Samples, Series};
use sample::{Element, Metadata, TimeRange, Timestamp, ValueType};
use serde::Deserialize;
use service::{Ask, Meant, Pattern, Short};

use super::samples::{FORMATS, facts, head};
use crate::{
    call::Call,
    delivery::answer::{Answer, CSV, JSON},
    formats::{
        arrow,
        csv::SamplesCsv,
        in_turn::{BARE, InTurn},
        json::SamplesJson,
        streams::{Columns, Streams},
    },
    refusal::{Code, Refusal, first_few, shortened},
    url::Params,
};

/// What a name takes, and what a PV does with its settings and its field.
const NAME_BYTES: usize = 96;
const NAMED_BYTES: usize = 256;

/// So many unknown names are told in a refusal.
const UNKNOWN_TOLD: usize = 5;

/// The body of a request: a list of names, or an object that holds one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Body {
    List(Vec<String>),
    Object { pvs: Vec<String> },
}

/// One PV, or one field of its structures, by the name by which it was asked for.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) entry: PvEntry,
    pub(super) series: Series,
}

/// The names in a request: each `pv=`, those that fit `match=`, and those in the body. A name that comes again counts once.
pub(super) fn names(ask: &Ask, query: &Params, body: &[u8]) -> Result<Vec<String>, Refusal> {
    found(ask, query, body, Short::Refused)
}

fn found(ask: &Ask, query: &Params, body: &[u8], short: Short) -> Result<Vec<String>, Refusal> {
    let mut names: Vec<String> = query.all("pv").map(str::to_owned).collect();
    if let Some(pattern) = query.get("match") {
        if short == Short::Refused {
            ask.needs_whole_list()?;
        }
        let found = ask.fitting(&Pattern::search(pattern, &ask.lease)?)?;
        ask.lease.grow_by(found.len(), NAME_BYTES)?;
        names.extend(found.into_iter().map(|item| item.name.to_string()));
    }
    if !body.is_empty() {
        let body = serde_json::from_slice(body).map_err(|_| {
            let message = "the body is no list of names";
            Refusal::new(Code::BadRequest, message).hint(r#"["A","B"], or {"pvs":["A","B"]}"#)
        })?;
        let (Body::List(more) | Body::Object { pvs: more }) = body;
        names.extend(more);
    }
    let asked = !names.is_empty() || query.get("match").is_some() || !body.is_empty();
    if !asked {
        let message = "no PV is named";
        return Err(Refusal::new(Code::BadRequest, message).hint("pv=A&pv=B, match=A*, or POST a list of names"));
    }
    ask.check_names(names.len())?;
    let is_news: Vec<bool> = {
        let mut seen = std::collections::HashSet::with_capacity(names.len());
        names.iter().map(|name| seen.insert(name.as_str())).collect()
    };
    let mut is_news = is_news.into_iter();
    names.retain(|_| is_news.next().unwrap_or(true));
    Ok(names)
}

/// The names of an answer that tells of the others where nobody answers for some of them, unless `whole=true` asks for all or nothing; and
/// what each stands for.
pub(super) fn meant(call: &Call) -> Result<(Vec<String>, Vec<Meant>), Refusal> {
    let short = match call.query.word("whole", &["false", "true"], Code::BadRequest)? {
        "true" => Short::Refused,
        _ => Short::Said,
    };
    if short == Short::Said && call.query.get("match").is_some() {
        call.ask.unlisted(); // names that fit may stand there
    }
    let names = found(&call.ask, &call.query, &call.body, short)?;
    call.ask.lease.grow_by(names.len(), NAMED_BYTES)?;
    let meant = call.ask.meant(&names, short)?;
    Ok((names, meant))
}

/// The PVs of these names, all of which must be known.
pub(super) fn known(ask: &Ask, names: Vec<String>) -> Result<Vec<Named>, Refusal> {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    ask.lease.grow_by(names.len(), NAMED_BYTES)?;
    for (index, name) in names.into_iter().enumerate() {
        if index % 64 == 0 {
            ask.go_on()?;
        }
        match ask.series(&name, None) {
            Ok((entry, series)) => known.push(Named { name, entry, series }),
            Err(refusal) if refusal.code() != Code::UnknownPv => return Err(refusal),
            Err(_) => unknown.push(name),
        }
    }
    if unknown.is_empty() { Ok(known) } else { Err(unknown_names(ask, &unknown)) }
}

/// That nobody has some names.
pub(super) fn unknown_names(ask: &Ask, unknown: &[String]) -> Refusal {
    let told = first_few(unknown.iter().map(|name| format!("{:?}", shortened(name))), UNKNOWN_TOLD, ", ");
    let message = format!("no PV of this archive is called {told}");
    let hint = unknown.first().map(|name| ask.did_you_mean(name)).unwrap_or_default();
    Refusal::new(Code::UnknownPv, message).hint(hint)
}

/// `GET` or `POST /samples`
pub(crate) fn samples(call: &Call) -> Answer {
    let names = names(&call.ask, &call.query, &call.body)?;
    let (pvs, range) = (known(&call.ask, names)?, call.query.range()?);
    let format = call.query.word("format", &FORMATS, Code::UnknownFormat)?;
    let columns = match call.query.word("columns", &["all", "needed"], Code::BadRequest)? {
        "needed" => Columns::Needed,
        _ => Columns::All,
    };
    let before = match call.query.word("before", &["true", "false"], Code::BadRequest)? {
        "true" => Before::Include,
        _ => Before::None,
    };
    let limit: Option<u64> = call.query.number("limit")?;
    let open = Open { ask: call.ask.clone(), range, before };
    match format {
        "csv" => {
            let mut is_first = true;
            call.chunks(
                CSV,
                InTurn::new(pvs, BARE, move |pv: Named| {
                    let is_first = std::mem::replace(&mut is_first, false);
                    Ok::<_, Refusal>(SamplesCsv::of_many(&pv.name, is_first, open.samples(&pv)?, limit))
                }),
            )
        }
        "arrow" => call.chunks(
            arrow::CONTENT_TYPE,
            InTurn::new(pvs, BARE, move |pv: Named| {
                let newest = open.newest(&pv)?;
                let usual = open.usual(&pv, newest.as_ref())?;
                let mut facts = facts(&pv.entry, range, newest.as_ref());
                facts.insert("pv".to_owned(), pv.name.clone());
                Ok::<_, Refusal>(Streams::new(open.samples(&pv)?, usual, facts, columns, limit))
            }),
        ),
        _ => call.chunks(
            JSON,
            InTurn::new(pvs, [b"{\"pvs\":[\n", b",\n", b"]}\n"], move |pv: Named| {
                let mut head = head(&pv.entry, range, open.newest(&pv)?.as_ref());
                head.insert("pv".to_owned(), pv.name.as_str().into());
                Ok::<_, Refusal>(SamplesJson::new(head, open.samples(&pv)?, limit))
            }),
        ),
    }
}

/// What is needed to begin with a PV when its turn comes.
struct Open {
    ask: Ask,
    range: TimeRange,
    before: Before,
}

impl Open {
    fn samples(&self, pv: &Named) -> Result<Samples, Refusal> {
        let request = Request { series: pv.series.clone(), range: self.range, before: self.before };
        self.ask.samples(&request)
    }

    /// The metadata in force at the end, and since when.
    fn newest(&self, pv: &Named) -> Result<Option<(Timestamp, Metadata)>, Refusal> {
        self.ask.metadata_at_end(pv.entry.id, self.range)
    }

    /// The type to announce where there are no samples.
    fn usual(&self, pv: &Named, newest: Option<&(Timestamp, Metadata)>) -> Result<ValueType, Refusal> {
        let known = match pv.series.field {
            None => newest.and_then(|(_, metadata)| metadata.value_type),
            Some(_) => self.ask.last_before(&pv.series, self.range.t1)?.map(|sample| sample.value.value_type()),
        };
        Ok(known.unwrap_or(ValueType::scalar(Element::F64)))
    }
}
