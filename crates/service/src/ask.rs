//! Ask: one request to the service, with who asks, what its answer may take of memory, and whether anybody still waits for it.

use std::sync::Arc;

use acquire::Control;
use archive::{By, Principal, PvEntry};
use query::Series;
use sample::Timestamp;
use store::Writer;

use crate::{
    clock::now,
    find,
    refusal::{Code, Refusal},
    room::Lease,
    service::Service,
};

/// Whether nobody waits for an answer any more.
type IsGone = dyn Fn() -> bool + Send + Sync;

/// A request. Cheap to clone: an answer that is made while it is sent keeps one.
#[derive(Clone)]
pub struct Ask {
    /// Whom it asks.
    pub service: Arc<Service>,
    /// What it and its answer take of the budget.
    pub lease: Arc<Lease>,
    principal: Principal,
    is_gone: Arc<IsGone>,
    /// When its orders are given, if all of them count as one.
    at: Option<Timestamp>,
}

impl Ask {
    /// Of somebody who waits for the answer until `is_gone` says otherwise.
    pub fn new(
        service: Arc<Service>,
        principal: Principal,
        lease: Arc<Lease>,
        is_gone: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Ask {
        Ask { service, lease, principal, is_gone: Arc::new(is_gone), at: None }
    }

    /// The same for several orders that count as one: they are given at one time.
    pub fn at_once(&self) -> Ask {
        Ask { at: Some(now()), ..self.clone() }
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

    /// The PV of that name or alias.
    pub fn pv(&self, name: &str) -> Result<PvEntry, Refusal> {
        find::pv(&self.service, name)
    }

    /// The PV of that name, or one field of it if its values are structures: `PV.field.of.field`, or what `field` says.
    pub fn series(&self, name: &str, field: Option<&str>) -> Result<(PvEntry, Series), Refusal> {
        find::series(&self.service, name, field)
    }

    pub(crate) fn control(&self) -> &Control<Writer> {
        &self.service.control
    }
}
