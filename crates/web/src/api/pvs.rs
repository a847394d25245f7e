//! `/api/v1/pvs`: which PVs there are, how each fares, and the commands over them.

use std::{panic::resume_unwind, thread};

use archive::{
    AddRequest, Added, Change, Extent, FieldPath, PvEntry, PvName, RuleError, RuleName, Wishes, settings::Written,
};
use serde::Deserialize;
use serde_json::{Map, json};
use service::{Ask, Carry, Details, Pattern, PvRow, PvsWanted, check_len};

use super::{
    list,
    pv_row::{LIMIT_MAX, incomplete, row, state},
    settings::{Asked, sampling},
    told::{ADD_MAX, AllTold, Told, carry},
};
use crate::{
    call::Call,
    delivery::answer::{Answer, json},
    formats::{counts::since_start, list::Frame, metadata},
    refusal::{Code, Refusal},
};

/// The most fields that one request may have archived with its PVs: each becomes a PV of its own.
const FIELDS_MAX: usize = 100_000;
/// What a PV takes on its way into the list.
const ADDED_BYTES: usize = 1000;
/// A longer list is added by a thread of its own, so that the memory it takes goes back at once: 10 MB of 25,000 PVs.
const LONG_BODY: usize = 64 << 10;

/// `GET /pvs`
pub(crate) fn list(call: &Call) -> Answer {
    let query = &call.query;
    if list::is_meant(query) {
        return list::show(call);
    }
    let page = call.ask.pvs(&PvsWanted {
        pattern: Pattern::search(query.get("match").unwrap_or(""), &call.ask.lease)?,
        limit: query.limit(LIMIT_MAX)?,
        offset: query.number("offset")?.unwrap_or(0),
        state: state(query)?,
    })?;
    let mut head = Map::from_iter([("total".to_owned(), page.total.into())]);
    head.extend(incomplete(&call.ask));
    call.rows(Frame::member("pvs", &head)?, page.map(|row| Ok(Some(listed_row(&row?)))))
}

/// `GET /pvs/{pv}`
pub(crate) fn show(call: &Call) -> Answer {
    json(&details(&call.ask.details(&call.pv()?)?))
}

fn details(of: &Details) -> Map<String, serde_json::Value> {
    let status = &of.status;
    let mut object = row(&of.row);
    object.extend([
        ("aliases".to_owned(), of.aliases.iter().map(|alias| alias.as_str()).collect::<Vec<_>>().into()),
        ("added".to_owned(), of.added.to_string().into()),
        ("server".to_owned(), status.server.map(|server| server.to_string()).into()),
        ("first_connected".to_owned(), status.first_connected.map(|time| time.to_string()).into()),
        ("last_connected".to_owned(), status.last_connected.map(|time| time.to_string()).into()),
        ("reconnects".to_owned(), status.reconnects.into()),
        ("counters".to_owned(), since_start(&status.counters)),
        (
            "metadata".to_owned(),
            of.metadata.as_ref().map(|(since, newest)| metadata::as_json(*since, newest)).into(),
        ),
        (
            "extent".to_owned(),
            of.extent
                .map(|Extent { first, last, samples }| {
                    json!({ "first": first.to_string(), "last": last.to_string(), "samples": samples })
                })
                .into(),
        ),
        ("refusal".to_owned(), status.refusal.clone().into()),
        ("sampling".to_owned(), sampling(&of.row.settings, status.deadband_at_server)),
        ("disabled".to_owned(), status.disabled.into()),
        ("lacking".to_owned(), status.lacking.iter().map(FieldPath::as_str).collect::<Vec<_>>().into()),
    ]);
    let fields = of.fields.iter().map(|(name, value_type)| json!({ "name": name, "type": value_type.to_string() }));
    object.extend((!of.fields.is_empty()).then(|| ("fields".to_owned(), fields.collect::<Vec<_>>().into())));
    let recorders = of.recorders.iter().map(|of| {
        json!({ "shard": of.shard, "node": of.node, "state": of.connection.name(), "since": of.since.to_string() })
    });
    object.extend((!of.recorders.is_empty()).then(|| ("recorders".to_owned(), recorders.collect::<Vec<_>>().into())));
    object
}

/// What a list says about a PV that it may have found by an alias.
fn listed_row(of: &PvRow) -> Map<String, serde_json::Value> {
    let mut row = row(of);
    row.extend(of.alias_of.as_ref().map(|own| ("alias_of".to_owned(), own.as_str().into())));
    row
}

#[derive(Deserialize)]
struct AddBody {
    pvs: Vec<Wanted>,
}

/// A PV to add: its address alone, or with how it is to be archived.
#[derive(Deserialize)]
#[serde(untagged)]
enum Wanted {
    Address(String),
    Settings(Box<Asked>),
}

/// `POST /pvs`
pub(crate) fn add(call: &Call) -> Answer {
    let carry = carry(&call.query);
    if call.body.len() < LONG_BODY {
        return json(&add_all(&call.ask, &call.body, carry)?);
    }
    let add = || add_all(&call.ask, &call.body, carry).map(|told| json(&told));
    let all = thread::scope(|scope| scope.spawn(add).join());
    all.unwrap_or_else(|panic| resume_unwind(panic))?
}

fn add_all(ask: &Ask, body: &[u8], carry: Carry) -> Result<AllTold, Refusal> {
    let body: AddBody = serde_json::from_slice(body).map_err(|error| {
        Refusal::new(Code::BadRequest, format!("the body is not what is expected: {error}"))
            .hint(r#"send {"pvs":["NAME",{"name":"pva://NAME","method":"scan","period":1.0}]}"#)
    })?;
    check_len(body.pvs.len(), ADD_MAX, "PVs")?;
    ask.lease.grow_by(body.pvs.len(), ADDED_BYTES)?;
    let (mut judged, mut granted) = (Vec::with_capacity(body.pvs.len()), Vec::with_capacity(body.pvs.len()));
    let mut fields = 0;
    for wanted in body.pvs {
        let (name, judgement) = judge(ask, wanted);
        fields += judgement.as_ref().map_or(0, |request| request.wishes.fields.as_ref().map_or(0, Vec::len));
        check_len(fields, FIELDS_MAX, "fields of PVs")?;
        judged.push((name, judgement.map(|request| granted.push(request)).err()));
    }
    let mut added = match carry {
        Carry::Out => ask.add(granted)?.into_iter().map(|(entry, added)| (entry.name, added)).collect(),
        Carry::Plan => {
            let names: Vec<PvName> = granted.iter().map(|request| request.name.clone()).collect();
            names.into_iter().zip(ask.foresee(granted)?).collect::<Vec<_>>()
        }
    }
    .into_iter();
    let told = |(name, refusal): (String, Option<Refusal>)| {
        if let Some(refusal) = refusal {
            return Told::refused(name, refusal.message());
        }
        match added.next() {
            Some((name, added)) => Told { message: None, name: name.to_string(), status: added_name(added) },
            None => Told::refused(name, "the archive gave no answer"),
        }
    };
    Ok(AllTold::of(judged.into_iter().map(told).collect(), carry))
}

pub(crate) fn added_name(added: Added) -> &'static str {
    match added {
        Added::New => "added",
        Added::Already => "already_archived",
        Added::Changed => "changed",
    }
}

/// The request that acquisition understands, with the name as it was given.
fn judge(ask: &Ask, wanted: Wanted) -> (String, Result<AddRequest, Refusal>) {
    let asked = match wanted {
        Wanted::Address(name) => Asked { name, ..Asked::default() },
        Wanted::Settings(asked) => *asked,
    };
    let request = request(ask, &asked);
    (asked.name, request)
}

/// Checks what a client asks for. A period alone means scanning.
pub(crate) fn request(ask: &Ask, asked: &Asked) -> Result<AddRequest, Refusal> {
    let (prefixed, name) = PvName::parse(&asked.name)?;
    let known = |name: &&String| ask.policies_in_force().named(name).is_some();
    let policy = match &asked.policy {
        None => None,
        policy => Some(policy.as_ref().filter(known).ok_or_else(|| {
            refused(format!("no policy is called {:?}", policy.as_deref().unwrap_or_default()))
                .hint("GET /api/v1/policies lists them")
        })?),
    };
    let policy = policy.map(|name| RuleName::new(name)).transpose().map_err(wrong)?;
    let wishes = Wishes::read(&asked.settings, Written::Request).map_err(wrong)?;
    let wishes = Wishes { protocol: prefixed.or(wishes.protocol), ..wishes };
    Ok(AddRequest { policy, wishes, ..AddRequest::new(name) })
}

fn refused(message: String) -> Refusal {
    Refusal::new(Code::BadRequest, message)
}

fn wrong(error: RuleError) -> Refusal {
    refused(error.to_string())
}

/// `POST /pvs/{pv}/pause`
pub(crate) fn pause(call: &Call) -> Answer {
    let entry = call.pv()?;
    let change = call.ask.pause(&[entry.id])?;
    changed(&entry, &change, "paused", "already_paused")
}

/// `POST /pvs/{pv}/resume`
pub(crate) fn resume(call: &Call) -> Answer {
    let entry = call.pv()?;
    let change = call.ask.resume(&[entry.id])?;
    changed(&entry, &change, "resumed", "already_active")
}

fn changed(entry: &PvEntry, change: &[Change], done: &str, already: &str) -> Answer {
    let status = match change {
        [Change::Done] => done,
        [Change::Already] => already,
        _ => return Err(Refusal::unknown_pv(entry.name.as_str())),
    };
    json(&json!({ "name": entry.name.as_str(), "status": status }))
}
