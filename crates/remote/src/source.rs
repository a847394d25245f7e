//! What another node holds, as a source: each question is asked over the link, and its answer is read as it comes.

use std::{io, ops::ControlFlow, sync::Arc};

use archive::{
    Carried, CarriedStream, Extent, Fits, GapScope, Key as PvKey, KeyedBy, PvId, PvName, Role, SampleStream, Source,
    SourceError, StretchStream,
};
use sample::{Batch, Gap, Metadata, Sample, Stretch, TimeRange, Timestamp};

use crate::{
    call::{Call, Pv},
    frame::Item,
    key::Key,
    link::{Items, Link, Looker},
    share::{self, Share},
};

/// Another node, and what it is asked for.
#[derive(Clone, Debug)]
pub struct RemoteConfig {
    /// What it is called in messages.
    pub name: String,
    /// Where its listener for nodes is, `HOST:PORT`.
    pub address: String,
    /// The key that both have.
    pub key: Key,
    /// Which run of the program asks: one that answers with the same is the one that asks.
    pub own_run: u64,
    /// By what both know PVs.
    pub keyed_by: KeyedBy,
    /// Whether it records the same PVs as this one.
    pub role: Role,
    /// Which names it is asked for; all if nothing is said.
    pub pvs: Option<Vec<Fits>>,
}

/// What another node holds.
#[derive(Debug)]
pub struct Remote {
    link: Arc<Link>,
    name: String,
    keyed_by: KeyedBy,
    role: Role,
    pvs: Option<Vec<Fits>>,
    /// Looks whether the node is there as long as somebody may ask.
    _looker: Looker,
}

impl Remote {
    /// Begins to look for the node, and waits for nothing.
    pub fn new(config: RemoteConfig) -> io::Result<Remote> {
        let RemoteConfig { name, address, key, own_run, keyed_by, role, pvs } = config;
        let (link, looker) = Link::begin(name.clone(), address, key, own_run)?;
        Ok(Remote { link, name, keyed_by, role, pvs, _looker: looker })
    }

    /// Asks what nodes of a cluster ask of each other, an order once alone, and reads the whole answer.
    pub fn ask_cluster(&self, question: Vec<u8>, is_order: bool) -> Result<Vec<u8>, SourceError> {
        let (call, mut answer) = (Call::Cluster { question }, None);
        for item in if is_order { self.link.order(&call) } else { self.link.ask(&call) }? {
            match item? {
                Item::Cluster(bytes) => answer = Some(bytes),
                _ => return Err(self.nonsense()),
            }
        }
        answer.ok_or_else(|| self.nonsense())
    }

    /// Begins to send it its share of an import, behind a question of the cluster.
    pub fn begin_share(&self, question: Vec<u8>) -> Result<Share, SourceError> {
        Share::begin(self.link.begin_sending(share::NAME)?, &self.name, question)
    }

    fn is_asked_for(&self, key: PvKey<'_>) -> bool {
        let fits = |name: &PvName| self.pvs.as_ref().is_none_or(|pvs| pvs.iter().any(|of| of.is_for(name.as_str())));
        key.name().is_none_or(fits)
    }

    /// The answer; nothing if this node is not to be asked for the PV.
    fn items(&self, key: PvKey<'_>, call: impl FnOnce(Pv) -> Call) -> Result<Option<Items>, SourceError> {
        if !self.is_asked_for(key) {
            return Ok(None);
        }
        self.link.ask(&call(Pv::of(key))).map(Some)
    }

    /// The only piece of an answer, read to its end.
    fn only<T>(
        &self,
        key: PvKey<'_>,
        call: impl FnOnce(Pv) -> Call,
        take: impl Fn(Item) -> Option<T>,
    ) -> Result<Option<T>, SourceError> {
        Ok(self.all(key, call, take)?.unwrap_or_default().pop())
    }

    /// All pieces of an answer; none if the node has no such PV.
    fn all<T>(
        &self,
        key: PvKey<'_>,
        call: impl FnOnce(Pv) -> Call,
        take: impl Fn(Item) -> Option<T>,
    ) -> Result<Option<Vec<T>>, SourceError> {
        let Some(items) = self.items(key, call)? else { return Ok(None) };
        let (mut all, mut is_absent) = (Vec::new(), false);
        for item in items {
            match item? {
                Item::Absent => is_absent = true,
                item => all.push(take(item).ok_or_else(|| self.nonsense())?),
            }
        }
        Ok((!is_absent).then_some(all))
    }

    fn nonsense(&self) -> SourceError {
        nonsense(&self.name)
    }

    fn flags(&self, call: &Call, len: usize) -> Result<Vec<bool>, SourceError> {
        for item in self.link.ask(call)? {
            if let Item::Flags(flags) = item?
                && flags.len() == len
            {
                return Ok(flags);
            }
        }
        Err(self.nonsense())
    }

    fn batches(&self, key: PvKey<'_>, call: impl FnOnce(Pv) -> Call) -> SampleStream {
        match self.items(key, call) {
            Ok(None) => Box::new(std::iter::empty()),
            Ok(Some(items)) => Box::new(Stream::new(items, &self.name, batch)),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }
}

pub(crate) fn nonsense(name: &str) -> SourceError {
    SourceError {
        cost: archive::Cost::UntilBack,
        message: format!("{name} answered something else than what it was asked"),
    }
}

fn batch(item: Item) -> Option<Batch> {
    if let Item::Batch(batch) = item { Some(batch) } else { None }
}

fn stretch(item: Item) -> Option<Stretch> {
    match item {
        Item::Batch(batch) => Some(Stretch::Samples(batch)),
        Item::Summary(summary) => Some(Stretch::Summary(summary)),
        _ => None,
    }
}

fn carried(item: Item) -> Option<Carried> {
    if let Item::Carried(carried) = item { Some(carried) } else { None }
}

/// Pieces of one kind.
struct Stream<T> {
    /// What was read to see whether there is anything.
    first: Option<Result<Item, SourceError>>,
    items: Items,
    name: String,
    take: fn(Item) -> Option<T>,
    over: bool,
}

impl<T> Stream<T> {
    fn new(items: Items, name: &str, take: fn(Item) -> Option<T>) -> Stream<T> {
        Stream { first: None, items, name: name.to_owned(), take, over: false }
    }
}

impl<T> Iterator for Stream<T> {
    type Item = Result<T, SourceError>;

    fn next(&mut self) -> Option<Result<T, SourceError>> {
        if self.over {
            return None;
        }
        match self.first.take().or_else(|| self.items.next())? {
            Ok(Item::Absent) => self.next(),
            Ok(item) => {
                let taken = (self.take)(item);
                self.over = taken.is_none();
                Some(taken.ok_or_else(|| nonsense(&self.name)))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

impl archive::Stretches for Stream<Stretch> {}

impl Source for Remote {
    fn name(&self) -> &str {
        &self.name
    }

    fn role(&self) -> Role {
        self.role
    }

    fn away(&self) -> Option<String> {
        self.link.away()
    }

    fn keyed_by(&self) -> KeyedBy {
        self.keyed_by
    }

    fn samples(&self, key: PvKey<'_>, range: TimeRange) -> SampleStream {
        self.batches(key, |pv| Call::Samples { pv, field: None, range })
    }

    fn samples_of_field(&self, key: PvKey<'_>, field: &str, range: TimeRange) -> SampleStream {
        self.batches(key, |pv| Call::Samples { pv, field: Some(field.to_owned()), range })
    }

    fn stretches(
        &self,
        key: PvKey<'_>,
        field: Option<&str>,
        range: TimeRange,
        edges: &Arc<[Timestamp]>,
    ) -> Result<Option<StretchStream>, SourceError> {
        let field = field.map(str::to_owned);
        let call = |pv| Call::Stretches { pv, field, range, edges: edges.to_vec() };
        let Some(mut items) = self.items(key, call)? else { return Ok(None) };
        let first = items.next().transpose()?;
        if first == Some(Item::Absent) {
            return Ok(None);
        }
        let first = first.map(Ok);
        Ok(Some(Box::new(Stream { first, ..Stream::new(items, &self.name, stretch) })))
    }

    fn last_before(&self, key: PvKey<'_>, time: Timestamp) -> Result<Option<Sample>, SourceError> {
        let only = self.only(key, |pv| Call::Before { pv, time }, batch)?;
        Ok(only.filter(|batch| !batch.is_empty()).map(|batch| batch.get(0)))
    }

    fn extent(&self, key: PvKey<'_>) -> Result<Option<Extent>, SourceError> {
        let extent = |item| if let Item::Extent(extent) = item { Some(extent) } else { None };
        self.only(key, |pv| Call::Extent { pv }, extent)
    }

    fn metadata(&self, key: PvKey<'_>, range: TimeRange) -> Result<Vec<(Timestamp, Metadata)>, SourceError> {
        let metadata = |item| if let Item::Metadata(since, of) = item { Some((since, of)) } else { None };
        Ok(self.all(key, |pv| Call::Metadata { pv, range }, metadata)?.unwrap_or_default())
    }

    fn gaps(&self, key: PvKey<'_>, field: Option<&str>, range: TimeRange) -> Result<Vec<(GapScope, Gap)>, SourceError> {
        let field = field.map(str::to_owned);
        Ok(self.all(key, |pv| Call::Gaps { pv, field, range }, gap)?.unwrap_or_default())
    }

    fn lacks(
        &self,
        key: PvKey<'_>,
        field: Option<&str>,
        range: TimeRange,
    ) -> Result<Option<Vec<(GapScope, Gap)>>, SourceError> {
        let field = field.map(str::to_owned);
        self.all(key, |pv| Call::Lacks { pv, field, range }, gap)
    }

    fn may_have_samples(&self, pvs: &[PvId]) -> Vec<bool> {
        match self.keyed_by {
            KeyedBy::Name => vec![true; pvs.len()],
            KeyedBy::Number => self
                .flags(&Call::HaveSamples { pvs: pvs.to_vec() }, pvs.len())
                .unwrap_or_else(|_| vec![true; pvs.len()]),
        }
    }

    fn may_have_metadata(&self, pvs: &[PvId]) -> Result<Vec<bool>, SourceError> {
        match self.keyed_by {
            KeyedBy::Name => Ok(vec![true; pvs.len()]),
            KeyedBy::Number => self.flags(&Call::HaveMetadata { pvs: pvs.to_vec() }, pvs.len()),
        }
    }

    fn pvs(&self, found: &mut dyn FnMut(PvName) -> ControlFlow<()>) -> Result<(), SourceError> {
        for item in self.link.ask(&Call::Names)? {
            let Item::Name(name) = item? else { return Err(self.nonsense()) };
            let name = PvName::new(&name).map_err(|_| self.nonsense())?;
            if self.is_asked_for(PvKey::Name(&name)) && found(name).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn carried(&self, key: PvKey<'_>, range: TimeRange, name: Option<&str>) -> CarriedStream {
        let name = name.map(str::to_owned);
        match self.items(key, |pv| Call::Carried { pv, name, range }) {
            Ok(None) => Box::new(std::iter::empty()),
            Ok(Some(items)) => Box::new(Stream::new(items, &self.name, carried)),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }

    fn headers(&self, key: PvKey<'_>, range: TimeRange) -> Result<Vec<(String, String)>, SourceError> {
        let header = |item| if let Item::Header(name, text) = item { Some((name, text)) } else { None };
        Ok(self.all(key, |pv| Call::Headers { pv, range }, header)?.unwrap_or_default())
    }

    fn configuration(&self, key: PvKey<'_>) -> Option<String> {
        let text = |item| if let Item::Text(text) = item { Some(text) } else { None };
        self.only(key, |pv| Call::Configuration { pv }, text).ok().flatten()
    }
}

fn gap(item: Item) -> Option<(GapScope, Gap)> {
    if let Item::Gap(scope, gap) = item { Some((scope, gap)) } else { None }
}
