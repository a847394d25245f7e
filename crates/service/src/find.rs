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
        let entry = self.seen(name).ok_or_else(|| self.unknown(name))?;
        self.needs_alias(&entry, name)?;
        self.together().foresee(entry.id);
        Ok(entry)
    }

    /// The PV of that name, or the one of whose field it is the name if it is one, with the path of that field.
    pub(crate) fn owner<'n>(&self, name: &'n str) -> Option<(PvEntry, Option<&'n str>)> {
        if let Some(entry) = self.find(name) {
            return Some((entry, None));
        }
        let dots = name.match_indices('.').map(|(dot, _)| dot).take_while(|dot| *dot <= NAME_BYTES_MAX);
        let mut parts = dots.map(|dot| (&name[..dot], &name[dot + 1..]));
        parts.find_map(|(pv, path)| Some((self.find(pv)?, Some(path))))
    }

    /// The PV of that name, or one field of it if its values are structures: `PV.field.of.field`, or what `field` says.
    pub fn series(&self, name: &str, field: Option<&str>) -> Result<(PvEntry, Series), Refusal> {
        let (entry, path) = self.owner(name).ok_or_else(|| self.unknown(name))?;
        let series = self.series_of(&entry, name, path, field)?;
        Ok((entry, series))
    }

    /// The same of a PV that is found already, by that name, with the path in it.
    pub(crate) fn series_of(
        &self,
        entry: &PvEntry,
        name: &str,
        path: Option<&str>,
        field: Option<&str>,
    ) -> Result<Series, Refusal> {
        self.together().foresee(entry.id);
        let Some(path) = field.or(path) else { return Ok(entry.id.into()) };
        let fields = self.fields(entry.id)?;
        let is_there = fields.iter().any(|(known, _)| known == path);
        // Of one that retention has taken from all structures there are the gaps.
        let is_expired =
            !is_there && self.recorded(entry.id)?.listed.expired_fields(entry.id)?.iter().any(|known| known == path);
        if fields.is_empty() && field.is_none() && !is_expired {
            return Err(self.unknown(name));
        }
        if !is_there && !is_expired {
            let message = format!("{} has no field called {:?}", entry.name, shortened(path));
            return Err(Refusal::new(Code::UnknownPv, message).hint(match fields.is_empty() {
                true => "its newest value is no structure".to_owned(),
                false => format!("GET /api/v1/pvs/{} lists its fields", entry.name),
            }));
        }
        Ok(Series { pv: entry.id, field: Some(path.into()) })
    }

    /// That no PV is called so; or that nobody can say, where a part of the list is not known.
    pub fn unknown(&self, name: &str) -> Refusal {
        match self.listed().behind.directory.lacks() {
            None => Refusal::unknown_pv(name).hint("GET /api/v1/pvs?match= finds names"),
            Some(why) => {
                let message = format!("nobody can say whether a PV is called {:?}: {why}", shortened(name));
                Refusal::new(Code::StoreRefused, message)
            }
        }
    }
}
