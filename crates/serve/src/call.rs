//! A call: one request as its handler sees it, with the readings of parameters that many handlers need.

use std::{str::FromStr, sync::Arc, time::Duration};

use archive::{ARCHIVER, By, NAME_BYTES_MAX, Principal, PvEntry, PvId};
use axum::{body::Bytes, http::HeaderMap};
use query::Series;
use sample::{Metadata, TimeRange, Timestamp};

use crate::{
    app::{App, now},
    budget::Lease,
    dispatch::Peer,
    refusal::{Code, Refusal, shortened},
    url::Params,
};

/// How far back a request reaches that does not say from when.
const RANGE_DEFAULT: Duration = Duration::from_secs(3600);

pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    /// What stands in the path for `{pv}` and the like.
    pub(crate) path: Vec<(String, String)>,
    /// The whole path.
    pub(crate) url_path: String,
    pub(crate) query: Params,
    pub(crate) headers: HeaderMap,
    /// From where the request came.
    pub(crate) peer: Option<Peer>,
    pub(crate) body: Bytes,
    /// What the request and its answer take of the budget.
    pub(crate) lease: Arc<Lease>,
}

impl Call {
    /// The part of the path that stands for `{name}` in the table of routes.
    pub(crate) fn path_part(&self, name: &str) -> &str {
        self.path.iter().find(|(n, _)| n == name).map_or("", |(_, value)| value)
    }

    /// The same call without its body, for an answer that is made while it is sent.
    pub(crate) fn without_body(&self) -> Call {
        Call {
            app: Arc::clone(&self.app),
            path: self.path.clone(),
            url_path: self.url_path.clone(),
            query: self.query.clone(),
            headers: HeaderMap::new(),
            peer: self.peer.clone(),
            body: Bytes::new(),
            lease: Arc::clone(&self.lease),
        }
    }

    /// Refuses to go on for a client that has gone.
    pub(crate) fn go_on(&self) -> Result<(), Refusal> {
        self.peer.as_ref().map_or(Ok(()), Peer::go_on)
    }

    /// The PV that the path names.
    pub(crate) fn pv(&self) -> Result<PvEntry, Refusal> {
        let name = self.path_part("pv");
        self.app.reader.find(name).ok_or_else(|| unknown(name))
    }

    /// The PV that the path names, or one field of it if its values are structures: `PV.field.of.field`, or `field=` in the query.
    pub(crate) fn pv_or_field(&self) -> Result<(PvEntry, Series), Refusal> {
        self.named(self.path_part("pv"), self.query.get("field"))
    }

    /// The PV of that name, or the field of it that the name or `field` says.
    pub(crate) fn named(&self, name: &str, field: Option<&str>) -> Result<(PvEntry, Series), Refusal> {
        let (entry, path) = match self.app.reader.find(name) {
            Some(entry) => (entry, None),
            None => {
                let dots = name.match_indices('.').map(|(dot, _)| dot).take_while(|dot| *dot <= NAME_BYTES_MAX);
                let parts = dots.map(|dot| (&name[..dot], &name[dot + 1..]));
                let mut owners = parts.filter_map(|(pv, path)| Some((self.app.reader.find(pv)?, Some(path))));
                owners.next().ok_or_else(|| unknown(name))?
            }
        };
        let Some(path) = field.or(path) else { return Ok((entry.clone(), entry.id.into())) };
        let fields = self.app.reader.fields(entry.id, Timestamp::MAX)?;
        let is_there = fields.iter().any(|(known, _)| known == path);
        // Of one that retention has taken from all structures there are the gaps.
        let is_expired = !is_there && self.app.reader.expired_fields(entry.id)?.iter().any(|known| known == path);
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

    /// Under which name the archive stands where the Archiver Appliance names its members.
    pub(crate) fn identity(&self) -> &str {
        &self.app.config.appliance.identity
    }

    /// Who orders what the call does: from where it comes, and beside that what the client calls itself.
    pub(crate) fn principal(&self) -> Principal {
        let peer = self.peer.as_ref().map(|peer| Principal::at(peer.address.ip()));
        let principal = peer.unwrap_or_else(|| Principal::here(ARCHIVER));
        match self.query.get("by") {
            Some(name) => principal.calling_itself(name),
            None => principal,
        }
    }

    /// The same, now.
    pub(crate) fn by(&self) -> By {
        By::new(self.principal(), now())
    }

    /// From `from` up to, not including, `to`: by default the last hour.
    pub(crate) fn range(&self) -> Result<TimeRange, Refusal> {
        let now = now();
        Ok(TimeRange::typed(self.query.get("from"), self.query.get("to"), now, (RANGE_DEFAULT, now))?)
    }

    pub(crate) fn time(&self, name: &str) -> Result<Option<Timestamp>, Refusal> {
        Ok(self.query.get(name).map(|text| Timestamp::typed(text, now())).transpose()?)
    }

    /// A number, if it is given.
    pub(crate) fn number<N: FromStr>(&self, name: &str) -> Result<Option<N>, Refusal> {
        let Some(text) = self.query.get(name) else { return Ok(None) };
        let number = text.parse();
        let number = number.map_err(|_| {
            Refusal::new(Code::BadRequest, format!("{name} is {text:?}, expected a number that is not negative"))
        })?;
        Ok(Some(number))
    }

    /// A word out of a few, the first of which is the default.
    pub(crate) fn word<'a>(&self, name: &str, known: &[&'a str], code: Code) -> Result<&'a str, Refusal> {
        let given = self.query.get(name);
        let found = given.map_or(known.first(), |text| known.iter().find(|word| word.eq_ignore_ascii_case(text)));
        found.copied().ok_or_else(|| {
            let given = given.unwrap_or_default();
            Refusal::new(code, format!("{name} is {given:?}, expected one of {}", known.join(", ")))
        })
    }

    /// Whether the client has gone, so that further work on the answer is for nobody.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.peer.as_ref().is_some_and(Peer::has_gone)
    }

    /// The metadata in force at the end of `range`, and since when.
    pub(crate) fn metadata_at_end(&self, pv: PvId, range: TimeRange) -> Result<Option<(Timestamp, Metadata)>, Refusal> {
        Ok(self.app.query.metadata(pv, range)?.pop())
    }
}

fn unknown(name: &str) -> Refusal {
    Refusal::unknown_pv(name).hint("GET /api/v1/pvs?match= finds names")
}
