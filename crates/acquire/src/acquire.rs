//! Acquisition as a whole: the two clients, a channel for each PV, the buffer and the writer's thread.

mod installed;
mod record_fields;
mod subscriptions;
mod switches;

use std::{
    io,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicI64, AtomicU32, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::{Instant, SystemTime},
};

use archive::{
    Group, Ioc, LEDGER_SHARES, Policies, Protocol, PvEntry, PvId, Record, Roster, Sink, Totals, Touches, ledger_share,
};
use epics::{Event, Key, Server};
use sample::{GapCause, Timestamp};

use crate::{
    buffer::{Buffer, Offered},
    channel::{Channel, Fact},
    control::Control,
    descriptions::Descriptions,
    groups::SwitchedGroups,
    ledger::{Ledger, Occasion, Recent},
    lock::lock,
    names::Names,
    slot::ChannelSlot,
    slots::Slots,
    status::{Counters, Tally, ca_traffic, pva_traffic},
    writer,
};

/// How acquisition is set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// The protocol of PVs that are added without `ca://` or `pva://`.
    pub default_protocol: Protocol,
    /// Whether PVs that are added are asked for the name of their record.
    pub resolve_aliases: bool,
    /// Bytes of samples that may wait for the store. The default, 256 MiB, holds ten seconds of 200,000 samples/s.
    pub queue_bytes_max: usize,
    /// How PVs are archived whose names they are for.
    pub policies: Policies,
    /// Groups that go before those of the same name which somebody set by command.
    pub groups: Vec<Group>,
    /// How Channel Access searches and connects.
    pub ca: epics::ca::Config,
    /// How pvAccess searches and connects.
    pub pva: epics::pva::Config,
}

/// What the tasks, the writer and the control share.
#[derive(Debug)]
pub(crate) struct Shared<S> {
    // fixed after start
    pub(crate) sink: S,
    pub(crate) buffer: Buffer,
    pub(crate) default_protocol: Protocol,
    resolve_aliases: bool,
    // set at the start, and taken away at the end: the clients' tasks hold their handler, and that holds this
    clients: RwLock<Option<Clients>>,
    // set at the end
    /// From here on nothing is heard any more.
    stopped: OnceLock<Timestamp>,
    // atomic
    next_generation: AtomicU32,
    /// All that arrived before this moment is in the sink.
    written: AtomicI64,
    tally: Tally,
    /// The PVs whose connection has changed.
    pub(crate) moved: Touches,
    // guarded by their locks: commands, ledger, channels by number, then one of the others; none is taken while `timed` is held
    /// Those by which PVs are added.
    pub(crate) policies: Mutex<Policies>,
    /// Held while a command is carried out, so that the list of PVs and what is acquired cannot come apart.
    pub(crate) commands: Mutex<()>,
    channels: RwLock<Slots>,
    /// Those of the channels in which an update waits until it is due.
    timed: Mutex<Vec<(PvId, Arc<ChannelSlot>)>>,
    /// What the switches of groups say. Locked for a look only, also while a channel is locked.
    groups: Mutex<SwitchedGroups>,
    /// The records' own names, as far as they are asked for. Locked for a look only, also while a channel is locked.
    names: Mutex<Names>,
    descriptions: Descriptions,
    pub(crate) ledger: Mutex<Ledger>,
    /// What was lost of late, by the ledger. Locked for a look only, also while the ledger is locked.
    pub(crate) recent: Mutex<Recent>,
}

#[derive(Debug)]
struct Clients {
    ca: epics::ca::Client,
    pva: epics::pva::Client,
}

/// Records that are counted while the list of channels is looked at once.
const RECORDS_AT_ONCE: usize = 256;

/// The number that stands for the switches of groups, which are no PVs of the archive. No PV has it.
const SWITCHES: PvId = PvId(u32::MAX);

/// The number that stands for the fields with the names of records.
const NAMES: PvId = PvId(u32::MAX - 1);

/// The number that stands for the fields with the descriptions of records.
const DESCRIPTIONS: PvId = PvId(u32::MAX - 2);

/// Acquisition while it runs.
#[derive(Debug)]
pub struct Acquire<S> {
    shared: Arc<Shared<S>>,
    writer: JoinHandle<()>,
}

impl<S: Roster> Acquire<S> {
    /// Starts the clients on the current tokio runtime and acquires every PV that the sink knows. `since` is the moment up to
    /// which the sink has told why nothing was recorded: the gaps of the start begin there, however long it took to open.
    pub fn start(config: Config, sink: S, since: Timestamp) -> io::Result<Acquire<S>> {
        let entries = sink.entries();
        let ledger = Ledger::begin(&sink, since).map_err(io::Error::other)?;
        let shared = Arc::new(Shared {
            sink,
            buffer: Buffer::new(config.queue_bytes_max),
            default_protocol: config.default_protocol,
            resolve_aliases: config.resolve_aliases,
            policies: Mutex::new(config.policies),
            clients: RwLock::default(),
            stopped: OnceLock::new(),
            next_generation: AtomicU32::new(0),
            written: AtomicI64::new(since.nanos()),
            tally: Tally::default(),
            moved: Touches::default(),
            commands: Mutex::default(),
            channels: RwLock::default(),
            timed: Mutex::default(),
            groups: Mutex::default(),
            names: Mutex::default(),
            descriptions: Descriptions::default(),
            ledger: Mutex::new(ledger),
            recent: Mutex::new(Recent::default()),
        });
        for (pv, row) in lock(&shared.ledger).rebuilt(&shared.sink.unfinished()) {
            shared.buffer.insist(pv, row, since);
        }
        let receive = {
            let shared = shared.clone();
            move |key, event| shared.receive(key, event)
        };
        let clients = Clients {
            ca: epics::ca::Client::start(config.ca, receive.clone())?,
            pva: epics::pva::Client::start(config.pva, receive)?,
        };
        *shared.write_clients() = Some(clients);
        let writer = {
            let shared = shared.clone();
            std::thread::Builder::new().name("writer".to_owned()).spawn(move || writer::run(&shared))?
        };
        shared.set_groups(&shared.known_groups(config.groups));
        for entry in entries {
            shared.install(entry, since);
        }
        Ok(Acquire { shared, writer })
    }

    /// The commands: add, pause, resume, remove, status.
    pub fn control(&self) -> Control<S> {
        Control::new(self.shared.clone())
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Shared<S> {
        &self.shared
    }

    /// Stops listening and hands the store all that has arrived. Gives the moment from which on nothing is recorded: handing
    /// over may take a while, and the archiver's gap is to begin here.
    pub fn finish(self) -> Timestamp {
        let stopped = *self.shared.stopped.get_or_init(now);
        self.shared.stop_all(stopped);
        self.shared.keep_ledger(stopped, Occasion::End);
        self.shared.buffer.close();
        if self.writer.join().is_err() {
            tracing::error!("the writer had failed; samples that waited for it are lost");
        }
        drop(self.shared.write_clients().take());
        stopped
    }
}

impl<S: Sink> Shared<S> {
    /// Looks at a PV.
    pub(crate) fn with_channel<T>(&self, pv: PvId, look: impl FnOnce(&Channel) -> T) -> Option<T> {
        self.slot(pv).map(|slot| look(&slot.lock()))
    }

    /// Looks at several PVs in turn, with the list of channels locked once: nobody waits for that list who has a channel locked.
    pub(crate) fn with_channels<T>(&self, pvs: &[PvId], look: impl Fn(&Channel) -> T) -> Vec<Option<T>> {
        let channels = self.channels.read().unwrap_or_else(PoisonError::into_inner);
        pvs.iter().map(|pv| channels.get(*pv).map(|slot| look(&slot.lock()))).collect()
    }

    /// The servers that both clients know.
    pub(crate) fn iocs(&self) -> Vec<Ioc> {
        let clients = self.read_clients();
        let Some(clients) = clients.as_ref() else { return Vec::new() };
        let (instant, now) = (Instant::now(), now());
        let at = |then: Instant| now.saturating_sub(instant.saturating_duration_since(then));
        let ioc = |of: &Server, protocol| Ioc {
            address: of.address,
            protocol,
            circuits: of.circuits,
            since: at(of.since),
            opened: of.opened,
            lost: of.lost,
            restarts: of.restarts,
            restarted: of.restarted.map(at),
            last_beacon: of.beacon.map(at),
        };
        let (ca, pva) = (clients.ca.servers(), clients.pva.servers());
        let ca = ca.iter().map(|server| ioc(server, Protocol::Ca));
        ca.chain(pva.iter().map(|server| ioc(server, Protocol::Pva))).collect()
    }

    pub(crate) fn totals(&self) -> Totals {
        let mut totals = self.tally.totals();
        (totals.queue_bytes, totals.queue_bytes_max) = self.buffer.fill();
        totals.queue_merged = self.buffer.merged();
        if let Some(clients) = self.read_clients().as_ref() {
            let (ca, pva) = (clients.ca.counters(), clients.pva.counters());
            (totals.beacons_of_note, totals.overruns) = (ca.beacon_anomalies, pva.overruns);
            totals.duplicates = pva.duplicates;
            (totals.ca, totals.pva) = (ca_traffic(&ca), pva_traffic(&pva));
        }
        totals
    }

    /// Takes the updates that were waiting and are due now.
    pub(crate) fn tick(&self, now: Timestamp) {
        let timed = std::mem::take(&mut *lock(&self.timed));
        let mut left = Vec::with_capacity(timed.len());
        for (pv, slot) in timed {
            let mut channel = slot.lock();
            self.run(&mut channel, |channel, record| channel.tick(now, record), pv, now);
            channel.listed = channel.is_timed();
            if channel.listed {
                drop(channel);
                left.push((pv, slot));
            }
        }
        lock(&self.timed).append(&mut left);
    }

    pub(crate) fn count_written(&self, records: &[(PvId, Record)]) {
        self.count(records, |counters, samples| counters.written += samples);
    }

    pub(crate) fn count_refused(&self, records: &[(PvId, Record)]) {
        self.count(records, |counters, samples| counters.account.store_refused += samples);
    }

    /// The list of channels is locked once for many records, and never while a channel is.
    fn count(&self, records: &[(PvId, Record)], add: impl Fn(&mut Counters, u64)) {
        let mut all = 0;
        for some in records.chunks(RECORDS_AT_ONCE) {
            let slots = self.slots_of(some.iter().map(|(pv, _)| *pv));
            for (slot, (_, record)) in slots.into_iter().zip(some) {
                let samples = record.samples() as u64;
                all += samples;
                if let Some(slot) = slot.filter(|_| samples > 0) {
                    add(&mut slot.lock().served.counters, samples);
                }
            }
        }
        let mut sum = Counters::default();
        add(&mut sum, all);
        self.tally.add(sum.told());
    }

    /// An event from a client's task: the handler of both clients. A key is the number of a PV, and which of its subscriptions it is, as
    /// `acquire/subscriptions.rs` puts them together.
    pub(crate) fn receive(&self, key: Key, event: Event) {
        let (pv, generation) = (PvId(key.0 as u32), (key.0 >> 32) as u32);
        if pv == SWITCHES {
            return self.switched(generation, event);
        }
        if pv == NAMES {
            return lock(&self.names).hear(generation, event);
        }
        if pv == DESCRIPTIONS {
            return self.descriptions.hear(generation, event);
        }
        let Some(slot) = self.slot(pv).filter(|slot| self.is_heard(pv, slot, generation, &event)) else { return };
        let now = now();
        let mut channel = slot.lock();
        if channel.is_unnamed && matches!(event, Event::Connected { .. }) {
            channel.is_unnamed = false;
            let PvEntry { name, settings, .. } = &channel.entry;
            lock(&self.names).ask(pv, name.clone(), settings.protocol);
        }
        self.run(&mut channel, |channel, record| channel.receive(event, now, record), pv, now);
        if channel.is_timed() && !channel.listed {
            channel.listed = true;
            drop(channel);
            lock(&self.timed).push((pv, slot));
        }
    }

    /// Lets a channel do something, passes its facts on to the buffer, and counts those that found no room there.
    fn run(
        &self,
        channel: &mut Channel,
        work: impl FnOnce(&mut Channel, &mut dyn FnMut(Fact)),
        pv: PvId,
        now: Timestamp,
    ) {
        let (mut taken, mut lost_queue, mut lost_store) = (0, 0, 0);
        let mut record = |fact| {
            let is_sample = matches!(fact, Fact::Sample(_));
            match self.buffer.offer(pv, fact, now) {
                Offered::Taken => taken += u64::from(is_sample),
                Offered::Lost(GapCause::StoreRefused) => lost_store += 1,
                Offered::Lost(_) => lost_queue += 1,
            }
        };
        let (connection, before) = (channel.connection(), channel.served.counters.told());
        work(channel, &mut record);
        if taken + lost_queue + lost_store > 0 {
            let account = &mut channel.served.counters.account;
            account.stored += taken;
            account.queue_full += lost_queue;
            account.store_refused += lost_store;
        }
        self.tally.add(channel.served.counters.told() - before);
        if connection != channel.connection() {
            self.tally.moved(connection, channel.connection());
            self.moved.note(pv);
        }
    }

    /// Hears nothing more; what waits for the end of a scan period is taken now.
    fn stop_all(&self, now: Timestamp) {
        for slot in self.slots() {
            let mut channel = slot.lock();
            let pv = channel.entry.id;
            slot.generations().for_each(|generation| self.unsubscribe(pv, generation));
            self.run(&mut channel, |channel, record| channel.stop(record), pv, now);
        }
    }

    /// The sign of life that goes to the sink with what was taken out of the queue: the moment before that, and never later than the
    /// end. With a later one, what has arrived since and is not in the sink could be lost without lying in a gap.
    pub(crate) fn alive(&self, before: Timestamp) -> Timestamp {
        self.stopped.get().copied().map_or(before, |stopped| stopped.min(before))
    }

    /// All that arrived before this moment is in the sink.
    pub(crate) fn note_written(&self, before: Timestamp) {
        self.written.store(before.nanos(), Relaxed);
    }

    pub(crate) fn heard_until(&self) -> Timestamp {
        Timestamp::from_nanos(self.written.load(Relaxed))
    }

    /// The channels by the share of the ledger that they are in.
    pub(crate) fn slots_by_share(&self) -> Vec<Vec<(PvId, Arc<ChannelSlot>)>> {
        let mut shares = vec![Vec::new(); LEDGER_SHARES];
        for (pv, slot) in self.channels.read().unwrap_or_else(PoisonError::into_inner).iter() {
            shares[ledger_share(pv)].push((pv, slot.clone()));
        }
        shares
    }

    fn slot(&self, pv: PvId) -> Option<Arc<ChannelSlot>> {
        self.channels.read().unwrap_or_else(PoisonError::into_inner).get(pv).cloned()
    }

    /// Those of several PVs, with the list of channels locked once.
    pub(crate) fn slots_of(&self, pvs: impl Iterator<Item = PvId>) -> Vec<Option<Arc<ChannelSlot>>> {
        let channels = self.channels.read().unwrap_or_else(PoisonError::into_inner);
        pvs.map(|pv| channels.get(pv).cloned()).collect()
    }

    fn slots(&self) -> Vec<Arc<ChannelSlot>> {
        self.channels.read().unwrap_or_else(PoisonError::into_inner).iter().map(|(_, slot)| slot.clone()).collect()
    }

    fn read_clients(&self) -> RwLockReadGuard<'_, Option<Clients>> {
        self.clients.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_clients(&self) -> RwLockWriteGuard<'_, Option<Clients>> {
        self.clients.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_channels(&self) -> RwLockWriteGuard<'_, Slots> {
        self.channels.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The clock of acquisition: arrival times, gaps and scan periods.
#[expect(clippy::disallowed_methods, reason = "this is where acquisition reads the clock; everything else takes `now`")]
pub(crate) fn now() -> Timestamp {
    Timestamp::from(SystemTime::now())
}
