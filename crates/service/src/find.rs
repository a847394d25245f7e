//! Find: which PV, or which field of one, a name means. PVs that whoever asks does not see are as if they were not there.

use archive::{NAME_BYTES_MAX, Named, PvEntry, PvId};
use query::Series;

use crate::{
    ask::Ask,
    refusal::{Code, Refusal, shortened},
};

impl Ask {
    /// The PV of that name or alias, if it is to be archived, and may be asked for by it.
    pub fn find(&self, name: &str) -> Option<PvEntry> {
        self.seen(name).filter(|entry| self.needs_alias(entry, name).is_ok())
    }

    fn seen(&self, name: &str) -> Option<PvEntry> {
        self.listed().behind.directory.find(name).filter(|entry| self.sees_as(entry, name))
    }

    /// The PV with that number, if it is to be archived.
    pub fn entry(&self, pv: PvId) -> Option<PvEntry> {
        self.listed().behind.directory.entry(pv).filter(|entry| self.sees(entry))
    }

    /// Whether a name of the list may be seen.
    pub(crate) fn sees_named(&self, named: &Named) -> bool {
        let entry = self.listed().behind.directory.entry(named.pv);
        entry.is_some_and(|entry| self.sees_as(&entry, named.name.as_str()))
    }

    /// The PV of that name or alias.
    pub fn pv(&self, name: &str) -> Result<PvEntry, Refusal> {
        let entry = self.seen(name).ok_or_else(|| unknown(name))?;
        self.needs_alias(&entry, name)?;
        Ok(entry)
    }

    /// The PV of that name, or one field of it if its values are structures: `PV.field.of.field`, or what `field` says.
    pub fn series(&self, name: &str, field: Option<&str>) -> Result<(PvEntry, Series), Refusal> {
        let (entry, path) = match self.find(name) {
            Some(entry) => (entry, None),
            None => {
                let dots = name.match_indices('.').map(|(dot, _)| dot).take_while(|dot| *dot <= NAME_BYTES_MAX);
                let parts = dots.map(|dot| (&name[..dot], &name[dot + 1..]));
                let mut owners = parts.filter_map(|(pv, path)| Some((self.find(pv)?, Some(path))));
                owners.next().ok_or_else(|| unknown(name))?
            }
        };
        let Some(path) = field.or(path) else { return Ok((entry.clone(), entry.id.into())) };
        let fields = self.fields(entry.id)?;
        let is_there = fields.iter().any(|(known, _)| known == path);
        // Of one that retention has taken from all structures there are the gaps.
        let is_expired =
            !is_there && self.recorded(entry.id)?.listed.expired_fields(entry.id)?.iter().any(|known| known == path);
        if fields.is_empty() && field.is_none() && !is_expired {
            return Err(unknown(name));
        }
        if !is_there && !is_expired {
            let message = format!("{} has no field called {:?}", entry.name, shortened(path));
            return Err(Refusal::new(Code::UnknownPv, message).hint(match fields.is_empty() {
                true => "its newest value is no structure".to_owned(),
                false => format!("GET /api/v1/pvs/{} lists its fields", entry.name),
            }));
        }
        let series = Series { pv: entry.id, field: Some(path.into()) };
        Ok((entry, series))
    }
}

fn unknown(name: &str) -> Refusal {
    Refusal::unknown_pv(name).hint("GET /api/v1/pvs?match= finds names")
}
