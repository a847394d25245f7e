//! Ask: one request to the service, with who asks, what it may do, what its answer may take of memory, and whether anybody still waits
//! for it.
//!
//! Everything that is asked or ordered about PVs goes through here. The fields of the service are reached by `recorded`, `acquired`
//! and `ordered`, which look at the rights first, and by `listed`, out of which lists of PVs are made without those that are not seen. There is no other way from a front end to a PV.

use std::{ops::Range, sync::Arc};

use archive::{
    Beginning, By, Curator, Directory, DirectoryError, Fault, NameChunk, Orders, Principal, PvEntry, PvId, Right,
    Rulebook, Standing,
};
use query::{LeftOut, Query};
use sample::Timestamp;

use crate::{
    budget::Lease,
    clock::now,
    refusal::{Code, Refusal},
    rights::Rights,
    service::Service,
    without::Without,
};

/// Whether nobody waits for an answer any more.
type IsGone = dyn Fn() -> bool + Send + Sync;

/// A request. Cheap to clone: an answer that is made while it is sent keeps one.
#[derive(Clone)]
pub struct Ask {
    /// Whom it asks.
    service: Arc<Service>,
    /// What was recorded, with what is to be said of the answer.
    query: Query,
    /// What it and its answer take of the budget.
    pub lease: Arc<Lease>,
    principal: Principal,
    rights: Rights,
    /// What it does with the PVs that it names.
    wants: Right,
    is_gone: Arc<IsGone>,
    /// What its answer is made without.
    pub(crate) without: Arc<Without>,
    /// When its orders are given, if all of them count as one.
    at: Option<Timestamp>,
}

/// What was recorded of a PV.
pub(crate) struct Recorded<'s> {
    /// By any source.
    pub(crate) query: &'s Query,
    /// In the archive itself.
    pub(crate) archive_alone: &'s Query,
    /// What its list of PVs says.
    pub(crate) listed: &'s dyn Directory,
}

/// Whom whoever may give orders can give them.
pub(crate) struct Ordered<'s> {
    /// What is recorded.
    pub(crate) orders: &'s dyn Orders,
    /// By which rules.
    pub(crate) rulebook: &'s dyn Rulebook,
    /// And what is done to the list of PVs otherwise.
    pub(crate) curator: &'s dyn Curator,
}

impl Ask {
    /// Of somebody who may do everything, and who waits for the answer until `is_gone` says otherwise.
    pub fn new(
        service: Arc<Service>,
        principal: Principal,
        lease: Arc<Lease>,
        is_gone: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Ask {
        let rights = Rights::everywhere(Some(Right::Administer));
        let query = service.behind.query.noting();
        let (is_gone, without) = (Arc::new(is_gone), Arc::default());
        Ask { service, query, lease, principal, rights, wants: Right::Read, is_gone, without, at: None }
    }

    /// The same of somebody who may do only that.
    #[must_use]
    pub fn with_rights(self, rights: Rights) -> Ask {
        Ask { rights, ..self }
    }

    /// The same that needs that right to the PVs that it names, by each of their names.
    #[must_use]
    pub fn wanting(self, right: Right) -> Ask {
        Ask { wants: right, ..self }
    }

    /// The same for several orders that count as one: they are given at one time.
    pub fn at_once(&self) -> Ask {
        Ask { at: Some(now()), ..self.clone() }
    }

    /// This request for the rows of a list, which never claim to be complete: it leaves out what cannot be asked, without saying so.
    pub(crate) fn unsaid(&self) -> Ask {
        Ask { query: self.query.unsaid(), ..self.clone() }
    }

    /// Who orders something, and when.
    pub(crate) fn by(&self) -> By {
        By::new(self.principal.clone(), self.at.unwrap_or_else(now))
    }

    /// Whether whoever asked has gone, so that further work on the answer is for nobody.
    pub fn is_abandoned(&self) -> bool {
        (self.is_gone)()
    }

    /// Refuses to go on for one that has gone.
    pub fn go_on(&self) -> Result<(), Refusal> {
        if self.is_abandoned() { Err(Refusal::new(Code::BadRequest, "the client has gone")) } else { Ok(()) }
    }

    /// Whether whoever asks may do that with the PV of a name, which is its own name and no alias.
    pub fn may(&self, right: Right, pv: &str) -> bool {
        self.rights.cover(right, pv)
    }

    /// Whether whoever asks may do that with every PV.
    pub fn may_with_all(&self, right: Right) -> bool {
        self.rights.cover_all(right)
    }

    /// Whether whoever asks may see a PV.
    pub(crate) fn sees(&self, entry: &PvEntry) -> bool {
        self.sees_name(entry.name.as_str())
    }

    /// Whether whoever asks may see a PV by a name, its own or an alias: both must be covered.
    pub(crate) fn sees_as(&self, entry: &PvEntry, name: &str) -> bool {
        self.sees(entry) && (entry.name.as_str() == name || self.sees_name(name))
    }

    /// Refuses what this request does with a PV by an alias that is not covered. That of the PV itself is looked at where it is done.
    pub(crate) fn needs_alias(&self, entry: &PvEntry, name: &str) -> Result<(), Refusal> {
        if entry.name.as_str() == name { Ok(()) } else { self.needs_named(self.wants, name) }
    }

    /// Whether whoever asks may see the PV of a name.
    pub(crate) fn sees_name(&self, pv: &str) -> bool {
        self.may(Right::Read, pv)
    }

    /// How the names begin of the PVs with which whoever asks may do that: with no others.
    pub(crate) fn beginnings(&self, right: Right) -> Vec<Beginning> {
        self.rights.beginnings(right)
    }

    /// With the PVs of which of some neighbouring names whoever asks may do that, each name as `may` has it.
    pub(crate) fn may_among(&self, right: Right, chunk: &NameChunk, rows: Range<usize>) -> Vec<bool> {
        self.rights.cover_among(right, chunk, rows)
    }

    /// Whether whoever asks may see every PV.
    pub(crate) fn sees_all(&self) -> bool {
        self.may_with_all(Right::Read)
    }

    /// Refuses what whoever asks may not do with a PV. One that is not seen is unknown.
    pub(crate) fn needs(&self, right: Right, pv: PvId) -> Result<(), Refusal> {
        if self.may_with_all(right) {
            return Ok(());
        }
        let directory = &self.service.behind.directory;
        let removed = || directory.removed().into_iter().map(|of| of.entry).find(|entry| entry.id == pv);
        match directory.entry(pv).or_else(removed).filter(|entry| self.sees(entry)) {
            Some(entry) => self.needs_named(right, entry.name.as_str()),
            None => Err(Refusal::new(Code::UnknownPv, format!("no PV of this archive has the number {}", pv.0))),
        }
    }

    /// Refuses what whoever asks may not do with the PV of a name, whether or not there is one.
    pub(crate) fn needs_named(&self, right: Right, pv: &str) -> Result<(), Refusal> {
        match self.may(right, pv) {
            true => Ok(()),
            false => Err(self.missing(right, pv)),
        }
    }

    /// Refuses what whoever asks may not do with the archive as a whole.
    pub fn needs_all(&self, right: Right) -> Result<(), Refusal> {
        match self.may_with_all(right) {
            true => Ok(()),
            false => Err(self.missing(right, "all PVs")),
        }
    }

    fn missing(&self, right: Right, pvs: &str) -> Refusal {
        let message = format!("this needs the right {right} to {pvs}, which {} does not have", self.principal);
        Refusal::new(Code::RightMissing, message)
    }

    /// What was recorded of a PV, for who may see it.
    pub(crate) fn recorded(&self, pv: PvId) -> Result<Recorded<'_>, Refusal> {
        self.needs(Right::Read, pv)?;
        let Service { behind, archive_alone, .. } = &*self.service;
        Ok(Recorded { query: &self.query, archive_alone, listed: &*behind.directory })
    }

    /// Several PVs at once, each of which was looked at by `recorded`.
    pub(crate) fn together(&self) -> &Query {
        &self.query
    }

    /// Without which copies the answer is made. From here on none is left out any more: where one fails, so does the answer.
    pub(crate) fn left_out(&self) -> Vec<LeftOut> {
        self.query.left_out()
    }

    /// What acquisition knows of a PV, for who may see it.
    pub(crate) fn acquired(&self, pv: PvId) -> Option<&dyn Standing> {
        self.needs(Right::Read, pv).is_ok().then_some(&*self.service.behind.standing)
    }

    /// The archive as a whole. Whoever makes lists of PVs out of it leaves out those that are not seen.
    pub(crate) fn listed(&self) -> &Service {
        &self.service
    }

    /// Those who take orders.
    fn takers(&self) -> Ordered<'_> {
        let behind = &self.service.behind;
        Ordered { orders: &*behind.orders, rulebook: &*behind.rulebook, curator: &*behind.curator }
    }

    /// Orders about PVs, for who may give them.
    pub(crate) fn ordered(&self, right: Right, pvs: &[PvId]) -> Result<Ordered<'_>, Refusal> {
        pvs.iter().try_for_each(|pv| self.needs(right, *pv))?;
        Ok(self.takers())
    }

    /// Orders about PVs by their names, which they may be about to get, for who may give them.
    pub(crate) fn ordered_named<'n>(
        &self,
        right: Right,
        pvs: impl IntoIterator<Item = &'n str>,
    ) -> Result<Ordered<'_>, Refusal> {
        pvs.into_iter().try_for_each(|pv| self.may_order(right, pv))?;
        Ok(self.takers())
    }

    /// Refuses an order about a name that whoever asks may not give. It may be another name of a PV that is called otherwise, which is
    /// not told to somebody who does not see it.
    pub fn may_order(&self, right: Right, name: &str) -> Result<(), Refusal> {
        if self.may_with_all(right) {
            return Ok(());
        }
        self.needs_named(right, name)?;
        match self.service.behind.directory.find(name) {
            Some(entry) if !self.sees(&entry) => Err(self.missing(right, name)),
            Some(entry) => self.needs_named(right, entry.name.as_str()),
            None => Ok(()),
        }
    }

    /// Why an order was not carried out. Whose name it is that is taken is told only to those who see all.
    pub(crate) fn failed(&self, error: DirectoryError) -> Refusal {
        match error.fault {
            Fault::NameTaken if !self.sees_all() => {
                Refusal::new(Code::Conflict, "the name belongs to another PV already")
            }
            _ => error.into(),
        }
    }

    /// Who asks, as the audit names them.
    pub(crate) fn established(&self) -> &str {
        self.principal.established()
    }

    /// Orders about all PVs, for who may give them.
    pub(crate) fn ordered_of_all(&self, right: Right) -> Result<Ordered<'_>, Refusal> {
        self.needs_all(right)?;
        Ok(self.takers())
    }
}
