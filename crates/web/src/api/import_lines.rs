//! `POST /api/v1/import`: a part of an import of many PVs, as the Archiver Appliance's own lines; and what it knows of PVs besides.

use aa::{Answer as Lines, Chunk, Damage, Heard, TypeInfo, loss, metadata_of};
use archive::{AddRequest, FieldName, Record, Wishes, old_text_hash, part_hash};
use sample::{Batch, Metadata, Timestamp};
use serde_json::{Value, json};
use service::{Ask, Brought, TakenOver};

use super::import::already;
use crate::{
    bodies::each,
    call::Call,
    delivery::answer::{Answer, json},
    refusal::{Code, Refusal},
};

/// Takes a part. Without a body it only says whether the part is known.
pub(crate) fn import(call: &Call) -> Answer {
    let (name, part) = (call.query.needed("import")?, call.query.needed("part")?);
    let import = call.ask.import(name, part, call.query.get("known_as"))?;
    if let Some(known) = import.known() {
        return json(&already(known));
    }
    if call.body.is_empty() {
        return json(&json!({ "status": "unknown" }));
    }
    let (brought, damage) = read(&call.ask, &call.body)?;
    let taken = import.take(brought)?;
    json(&json!({
        "status": "imported",
        "samples": taken.part.samples,
        "bytes": taken.part.bytes,
        "gaps": taken.part.gaps,
        "metadata": taken.part.metadata,
        "received": taken.received,
        "verified": taken.verified,
        "missing": taken.missing,
        "missing_of": taken.first_missing,
        "lines_bad": damage.bad_lines + damage.torn_tails,
        "names_refused": taken.names_refused,
    }))
}

/// What a chunk takes besides its samples, what a sample does besides its value while it is compared, and what a field does.
const CHUNK_BYTES: usize = 1024;
const SAMPLE_BYTES: usize = 128;
const FIELD_BYTES: usize = 256;

/// The samples in a body, as far as there is room for them: of ten bytes each, they take twenty times as much.
fn read(ask: &Ask, body: &[u8]) -> Result<(Vec<Lined>, Damage), Refusal> {
    let (mut chunks, mut lines) = (Vec::<Lined>::new(), Lines::new(body));
    let broken = |error: std::io::Error| Refusal::new(Code::BadRequest, format!("the lines cannot be read: {error}"));
    while let Some(heard) = lines.hear().map_err(broken)? {
        match heard {
            Heard::Header(header) => {
                ask.lease.grow(CHUNK_BYTES)?;
                chunks.push(Lined(Chunk { header: *header, batches: Vec::new(), fields: Vec::new() }));
            }
            Heard::Samples(batch, fields) => {
                ask.lease.grow_by(batch.len(), SAMPLE_BYTES)?;
                ask.lease.grow_by(fields.iter().map(|(_, fields)| fields.len() + 1).sum(), FIELD_BYTES)?;
                if let Some(Lined(chunk)) = chunks.last_mut() {
                    chunk.batches.push(batch);
                    chunk.fields.extend(fields);
                }
            }
        }
    }
    Ok((chunks, lines.damage))
}

/// A PV as the lines bring it.
struct Lined(Chunk);

impl Brought for Lined {
    fn name(&self) -> &str {
        &self.0.header.pv_name
    }

    fn batches(&self) -> &[Batch] {
        &self.0.batches
    }

    fn field(&self, name: &FieldName) -> Option<Lined> {
        let carries_some = !self.0.fields.is_empty();
        carries_some.then(|| self.0.of_field(name.as_str())).flatten().map(Lined)
    }

    fn facts(&self, first: Timestamp, known: Option<Metadata>) -> Vec<Record> {
        let (Chunk { header, fields, .. }, mut facts) = (&self.0, Vec::new());
        let mut metadata = known.clone().unwrap_or_default();
        metadata.value_type = Some(header.payload.value_type());
        metadata.element_count = header.element_count.or(metadata.element_count);
        metadata_of(&header.fields, &mut metadata);
        if known.is_none_or(|known| known != metadata) {
            facts.push(Record::Metadata(first, metadata.clone().into()));
        }
        for (time, fields) in fields {
            if metadata_of(fields, &mut metadata) {
                facts.push(Record::Metadata(*time, metadata.clone().into()));
            }
            facts.extend(loss(fields).filter(|gap| gap.to != Some(gap.from)).map(Record::Gap));
        }
        facts
    }
}

/// `POST /api/v1/import/type-info`: PVs of the Appliance's `exportConfig` come into the list, paused, each with the protocol, the way of
/// sampling, the fields and the metadata that it had. With `activate=true` those that were not paused there are archived from now on.
pub(crate) fn type_infos(call: &Call) -> Answer {
    let name = call.query.needed("import")?;
    let text = std::str::from_utf8(&call.body);
    let text = text.map_err(|error| Refusal::new(Code::BadRequest, format!("the body is not UTF-8: {error}")))?;
    let mut infos = Vec::new();
    let mut take = |entry: Value| {
        let info = TypeInfo::read(&entry).map_err(|wrong| Refusal::new(Code::BadRequest, wrong))?;
        infos.push(TakenOver { request: request(&info), state: info.state, metadata: info.metadata });
        Ok(())
    };
    match text.trim_start().starts_with('{') {
        true => take(serde_json::from_str(text).map_err(|error| refused_text(&error))?)?,
        false => each(text.as_bytes(), "type infos", take)?,
    }
    let part = format!("type infos xxh3-{:016x}", part_hash(text.as_bytes()));
    let known_as = format!("type infos {:016x}", old_text_hash(text));
    let import = call.ask.import(name, &part, Some(&known_as))?;
    if import.known().is_some() {
        // What was changed by hand since then stays.
        return json(&json!({ "status": "already_imported", "pvs": infos.len(), "new": 0, "activated": 0 }));
    }
    let (news, wanted) = import.take_over(&infos)?;
    let activated = if call.query.switch("activate") { call.ask.resume(&wanted)?.len() } else { 0 };
    json(&json!({ "status": "imported", "pvs": infos.len(), "new": news, "activated": activated }))
}

fn refused_text(error: &serde_json::Error) -> Refusal {
    Refusal::new(Code::BadRequest, format!("the body is not a type info: {error}"))
}

/// What a type info wishes for. Fields that no record can have are left out.
fn request(info: &TypeInfo) -> AddRequest {
    let fields: Vec<FieldName> = info.fields.iter().filter_map(|field| FieldName::new(field).ok()).collect();
    let wishes = Wishes {
        protocol: Some(info.protocol),
        method: Some(info.method),
        fields: (!fields.is_empty()).then_some(fields),
        ..Wishes::default()
    };
    AddRequest { wishes, ..AddRequest::new(info.name.clone()) }
}
