//! `POST /api/v1/import`: a part of an import of many PVs, as the Archiver Appliance's own lines; and what it knows of PVs besides.
//!
//! Each part is read back from the store when it is there, and compared sample by sample with what came.

use std::collections::{BTreeMap, HashMap};

use acquire::AddRequest;
use archive::{FieldName, PvId, PvName, PvState, Record, Wishes};
use plainpb::{Answer as Lines, Chunk, Damage, Heard, TypeInfo, loss, metadata_of};
use sample::{Batch, Metadata, Sample, TimeRange, Timestamp};
use serde_json::{Value, json};
use service::{Ask, Import, old_text_hash, part_hash};

use super::import::known;
use crate::{
    bodies::each,
    call::Call,
    delivery::answer::{Answer, json},
    refusal::{Code, Refusal},
};

/// Takes a part. Without a body it only says whether the part is known.
pub(crate) fn import(call: &Call) -> Answer {
    let (name, part) = (needed(call, "import")?, needed(call, "part")?);
    let mut import = call.ask.import(name);
    if let Some(known) = known(&import, part, call.query.get("known_as"))? {
        return json(&json!({ "status": "already_imported", "samples": known.samples, "bytes": known.bytes }));
    }
    if call.body.is_empty() {
        return json(&json!({ "status": "unknown" }));
    }
    let (mut chunks, damage) = read(call)?;
    let (mut pvs, refused) = enter(&call.ask, &chunks)?;
    let fields = fields_carried(&call.ask, &chunks, &mut pvs)?;
    chunks.extend(fields);
    for chunk in &chunks {
        if let Some(pv) = pvs.get(chunk.header.pv_name.as_str()) {
            append(&call.ask, &mut import, *pv, chunk)?;
        }
    }
    // Only what was found again is known by its name: anything else may come again.
    let imported = import.finish_part_unverified(part)?;
    let compared = compare(&call.ask, &chunks, &pvs)?;
    if compared.missing == 0 {
        import.verified(part)?;
    }
    json(&json!({
        "status": "imported",
        "samples": imported.samples,
        "bytes": imported.bytes,
        "gaps": imported.gaps,
        "metadata": imported.metadata,
        "received": chunks.iter().flat_map(|chunk| &chunk.batches).map(Batch::len).sum::<usize>(),
        "verified": compared.verified,
        "missing": compared.missing,
        "missing_of": compared.first_missing,
        "lines_bad": damage.bad_lines + damage.torn_tails,
        "names_refused": refused,
    }))
}

/// What a chunk takes besides its samples, what a sample does besides its value while it is compared, and what a field does.
const CHUNK_BYTES: usize = 1024;
const SAMPLE_BYTES: usize = 128;
const FIELD_BYTES: usize = 256;

/// The samples in the body, as far as there is room for them: of ten bytes each, they take twenty times as much.
fn read(call: &Call) -> Result<(Vec<Chunk>, Damage), Refusal> {
    let (mut chunks, mut lines) = (Vec::<Chunk>::new(), Lines::new(&*call.body));
    let broken = |error: std::io::Error| Refusal::new(Code::BadRequest, format!("the lines cannot be read: {error}"));
    while let Some(heard) = lines.hear().map_err(broken)? {
        match heard {
            Heard::Header(header) => {
                call.ask.lease.grow(CHUNK_BYTES)?;
                chunks.push(Chunk { header: *header, batches: Vec::new(), fields: Vec::new() });
            }
            Heard::Samples(batch, fields) => {
                call.ask.lease.grow_by(batch.len(), SAMPLE_BYTES)?;
                call.ask.lease.grow_by(fields.iter().map(|(_, fields)| fields.len() + 1).sum(), FIELD_BYTES)?;
                if let Some(chunk) = chunks.last_mut() {
                    chunk.batches.push(batch);
                    chunk.fields.extend(fields);
                }
            }
        }
    }
    Ok((chunks, lines.damage))
}

fn needed<'a>(call: &'a Call, name: &str) -> Result<&'a str, Refusal> {
    let given = call.query.get(name).filter(|text| !text.is_empty());
    given.ok_or_else(|| Refusal::new(Code::BadRequest, format!("{name}= is missing")))
}

/// The numbers of all PVs named; those that are not in the list yet are entered, paused. Names that cannot be are told.
fn enter(ask: &Ask, chunks: &[Chunk]) -> Result<(HashMap<String, PvId>, Vec<String>), Refusal> {
    let (mut names, mut refused) = (BTreeMap::new(), Vec::new());
    for chunk in chunks {
        match PvName::new(&chunk.header.pv_name) {
            Ok(name) => _ = names.insert(chunk.header.pv_name.clone(), name),
            Err(error) => refused.push(format!("{:?}: {error}", chunk.header.pv_name)),
        }
    }
    refused.dedup();
    ask.enter_paused(names.values().cloned().collect())?;
    let found = names.into_keys().filter_map(|name| Some((name.clone(), ask.service.find(&name)?.id)));
    Ok((found.collect(), refused))
}

/// What samples carry of the fields that are archived with their PVs, as samples of those fields: chunks of their own. Fields that no sample
/// carries are not entered.
fn fields_carried(ask: &Ask, chunks: &[Chunk], pvs: &mut HashMap<String, PvId>) -> Result<Vec<Chunk>, Refusal> {
    let (mut found, mut owners) = (Vec::new(), Vec::new());
    for chunk in chunks.iter().filter(|chunk| !chunk.fields.is_empty()) {
        let owner = pvs.get(&chunk.header.pv_name).and_then(|pv| ask.service.entry(*pv));
        let Some(owner) = owner else { continue };
        for field in &owner.settings.rules().fields {
            let Some(of_field) = chunk.of_field(field.as_str()) else { continue };
            // A PV of that name which the other archiver, or somebody here, archived for itself has samples of its own.
            let known = ask.service.find(&of_field.header.pv_name);
            if known.is_some_and(|known| !known.settings.rules().is_field) {
                continue;
            }
            let samples = of_field.batches.iter().map(Batch::len).sum();
            ask.lease.grow_by(samples, SAMPLE_BYTES)?;
            found.push(of_field);
            owners.push((owner.clone(), field.clone()));
        }
    }
    ask.enter_fields(&owners)?;
    let names = found.iter().map(|chunk| chunk.header.pv_name.clone());
    pvs.extend(names.filter_map(|name| Some((name.clone(), ask.service.find(&name)?.id))));
    Ok(found)
}

fn append(ask: &Ask, import: &mut Import, pv: PvId, chunk: &Chunk) -> Result<(), Refusal> {
    let Some(first) = chunk.batches.first().and_then(|batch| batch.times().iter().min().copied()) else {
        return Ok(());
    };
    let known = ask.own_metadata(pv, TimeRange { t0: first, t1: next(first) })?.pop();
    let mut metadata = known.as_ref().map(|(_, metadata)| metadata.clone()).unwrap_or_default();
    metadata.value_type = Some(chunk.header.payload.value_type());
    metadata.element_count = chunk.header.element_count.or(metadata.element_count);
    metadata_of(&chunk.header.fields, &mut metadata);
    if known.is_none_or(|(_, known)| known != metadata) {
        import.append(&[(pv, Record::Metadata(first, metadata.clone().into()))])?;
    }
    for (time, fields) in &chunk.fields {
        if metadata_of(fields, &mut metadata) {
            import.append(&[(pv, Record::Metadata(*time, metadata.clone().into()))])?;
        }
        if let Some(gap) = loss(fields).filter(|gap| gap.to != Some(gap.from)) {
            import.append(&[(pv, Record::Gap(gap))])?;
        }
    }
    for batch in &chunk.batches {
        import.append(&[(pv, Record::Samples(batch.clone()))])?;
    }
    Ok(())
}

fn next(time: Timestamp) -> Timestamp {
    Timestamp::from_nanos(time.nanos().saturating_add(1))
}

/// What reading back found.
#[derive(Default)]
struct Compared {
    verified: u64,
    missing: u64,
    /// The first that is missing, as its PV and time.
    first_missing: Option<String>,
}

/// Looks for every sample that came among those that the store gives now.
fn compare(ask: &Ask, chunks: &[Chunk], pvs: &HashMap<String, PvId>) -> Result<Compared, Refusal> {
    let mut by_pv: BTreeMap<&str, Vec<&Batch>> = BTreeMap::new();
    for chunk in chunks {
        by_pv.entry(&chunk.header.pv_name).or_default().extend(&chunk.batches);
    }
    let mut compared = Compared::default();
    for (name, batches) in by_pv {
        let Some(pv) = pvs.get(name) else { continue };
        let mut came: Vec<(Timestamp, usize, usize)> = Vec::new();
        for (index, batch) in batches.iter().enumerate() {
            came.extend(batch.times().iter().enumerate().map(|(row, time)| (*time, index, row)));
        }
        came.sort_unstable();
        let (Some((t0, ..)), Some((t1, ..))) = (came.first(), came.last()) else { continue };
        let mut stored = Stored::new(ask.own_samples(*pv, TimeRange { t0: *t0, t1: next(*t1) }));
        for (time, index, row) in came {
            let Some(batch) = batches.get(index) else { continue };
            if stored.has(&batch.get(row))? {
                compared.verified += 1;
            } else {
                compared.missing += 1;
                compared.first_missing.get_or_insert_with(|| format!("{name} {time}"));
            }
        }
    }
    Ok(compared)
}

/// The samples of the store, to be looked through in order of time.
struct Stored {
    samples: query::Samples,
    batch: Option<(Batch, usize)>,
    /// Those of the time that was looked at last.
    group: Vec<Sample>,
}

impl Stored {
    fn new(samples: query::Samples) -> Stored {
        Stored { samples, batch: None, group: Vec::new() }
    }

    /// Whether a sample is there, to the last bit. Samples must be asked for in order of time.
    fn has(&mut self, sample: &Sample) -> Result<bool, Refusal> {
        if self.group.first().is_none_or(|one| one.time != sample.time) {
            self.group.clear();
            while let Some(time) = self.time()?.filter(|time| *time <= sample.time) {
                let Some((batch, row)) = &mut self.batch else { break };
                if time == sample.time {
                    self.group.push(batch.get(*row));
                }
                *row += 1;
            }
        }
        Ok(self.group.iter().any(|one| one.identical(sample)))
    }

    /// The time of the next one.
    fn time(&mut self) -> Result<Option<Timestamp>, Refusal> {
        loop {
            if let Some((batch, row)) = &self.batch
                && let Some(time) = batch.times().get(*row)
            {
                return Ok(Some(*time));
            }
            match self.samples.next().transpose()? {
                Some(batch) => self.batch = Some((batch, 0)),
                None => return Ok(None),
            }
        }
    }
}

/// `POST /api/v1/import/type-info`: PVs of the Appliance's `exportConfig` come into the list, paused, each with the protocol, the way of
/// sampling, the fields and the metadata that it had. With `activate=true` those that were not paused there are archived from now on.
pub(crate) fn type_infos(call: &Call) -> Answer {
    let name = needed(call, "import")?;
    let text = std::str::from_utf8(&call.body);
    let text = text.map_err(|error| Refusal::new(Code::BadRequest, format!("the body is not UTF-8: {error}")))?;
    let mut infos = Vec::new();
    let mut take = |entry: Value| {
        infos.push(TypeInfo::read(&entry).map_err(|wrong| Refusal::new(Code::BadRequest, wrong))?);
        Ok(())
    };
    match text.trim_start().starts_with('{') {
        true => take(serde_json::from_str(text).map_err(|error| refused_text(&error))?)?,
        false => each(text.as_bytes(), "type infos", take)?,
    }
    let ask = call.ask.at_once();
    let part = format!("type infos xxh3-{:016x}", part_hash(text.as_bytes()));
    let known_as = format!("type infos {:016x}", old_text_hash(text));
    let mut import = ask.import(name);
    if known(&import, &part, Some(&known_as))?.is_some() {
        // What was changed by hand since then stays.
        return json(&json!({ "status": "already_imported", "pvs": infos.len(), "new": 0, "activated": 0 }));
    }
    // Paused at first, so that their fields come with the samples that carry them, or when they are archived.
    let news = ask.enter_paused(infos.iter().map(|info| info.name.clone()).collect())?;
    let added = ask.add(infos.iter().map(request).collect())?;
    let mut wanted = Vec::new();
    for (info, (entry, _)) in infos.iter().zip(&added) {
        let is_new = call.ask.own_metadata(entry.id, TimeRange::ALL)?.is_empty();
        if is_new && info.metadata != Metadata::default() {
            // It says what nothing else says: whatever the files say, of whatever time, stands behind it.
            let since = Timestamp::default();
            import.append(&[(entry.id, Record::Metadata(since, info.metadata.clone().into()))])?;
        }
        wanted.extend((info.state == PvState::Active).then_some(entry.id));
    }
    import.finish_part(&part)?;
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
