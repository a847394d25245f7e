//! Whose samples a name means: those of a PV, or of a field of its record.

use archive::PvEntry;
use query::number_in;
use serde_json::Value;
use service::Ask;

use super::names::{bare, find};
use crate::refusal::Refusal;

/// Whose samples: a PV's, or those of a field of its record.
pub(super) struct SamplesOf {
    pub(super) entry: PvEntry,
    /// As it was asked for: an alias stays one.
    pub(super) name: String,
    pub(super) field: Option<String>,
}

impl SamplesOf {
    /// `PV.HIHI` means the field only where no PV of that name is archived, and where the PV's configuration or its metadata
    /// know of it.
    pub(super) fn of(ask: &Ask, name: &str) -> Result<SamplesOf, Refusal> {
        let bare = bare(name);
        match find(ask, bare) {
            // A field that has been archived with its PV and has no sample of its own is what the PV's metadata says of it.
            Ok(entry) if entry.settings.rules().is_field && ask.extent(entry.id)?.is_none() => {
                let own = || SamplesOf { entry, name: bare.to_owned(), field: None };
                Ok(SamplesOf::of_field(ask, bare)?.unwrap_or_else(own))
            }
            Ok(entry) => {
                let name = bare.strip_suffix(".VAL").unwrap_or(bare).to_owned();
                Ok(SamplesOf { entry, name, field: None })
            }
            Err(refusal) => SamplesOf::of_field(ask, bare)?.ok_or(refusal),
        }
    }

    pub(super) fn of_field(ask: &Ask, bare: &str) -> Result<Option<SamplesOf>, Refusal> {
        let Some((pv, field)) = bare.rsplit_once('.') else { return Ok(None) };
        let Ok(entry) = find(ask, pv) else { return Ok(None) };
        let archived = ask.configuration(entry.id).and_then(|text| fields_in(&text));
        let is_there = match archived {
            Some(fields) => fields.iter().any(|known| known == field),
            None => number_in(&ask.newest_metadata(&entry)?, field).is_some(),
        };
        Ok(is_there.then(|| SamplesOf { entry, name: bare.to_owned(), field: Some(field.to_owned()) }))
    }
}

/// The PV to which a name belongs that is its own, an alias or that of one of its fields.
pub(crate) fn owner(ask: &Ask, name: &str) -> Option<PvEntry> {
    SamplesOf::of(ask, name).ok().map(|whose| whose.entry)
}

/// The fields that a type info says are archived with the PV.
fn fields_in(type_info: &str) -> Option<Vec<String>> {
    let info: Value = serde_json::from_str(type_info).ok()?;
    serde_json::from_value(info.get("archiveFields")?.clone()).ok()
}
