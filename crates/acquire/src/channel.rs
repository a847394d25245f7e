//! The life of one PV: from events of its client to facts for the store. Pure: no sockets, no clock, no threads.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use archive::{Brief, Connection, PvEntry, PvState, Status};
use epics::{Event, Reading};
use sample::{Gap, GapCause, Metadata, Quality, Sample, Stamp, Timestamp, ValueType};

use crate::{
    convert::{self, Run},
    only::Only,
    sampling::{Decision, Passed, Sampler},
    served::{Known, ServedBy},
};

/// Something to be recorded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fact {
    Sample(Sample),
    /// A row of the ledger.
    LedgerRow(Sample),
    Gap(Gap),
    Metadata(Timestamp, Arc<Metadata>),
}

/// One PV. Facts come out through the closure given with each call, in the order in which they are to be recorded.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) entry: PvEntry,
    pub(crate) served: ServedBy,
    sampler: Sampler,
    /// The fields of its structures that a policy records; none if it records whole structures.
    only: Option<Box<Only>>,
    connection: Connection,
    since: Timestamp,
    gap: Option<(Timestamp, GapCause)>,
    /// Its groups are disabled.
    disabled: bool,
    /// The newest update that came while they were.
    held: Option<Box<Sample>>,
    /// Its record is to be asked for its own name.
    pub(crate) is_unnamed: bool,
    /// It is in the list of those in which an update waits until it is due.
    pub(crate) listed: bool,
    /// It was stopped or replaced: an event that comes late is not for it, and must open no gap that nobody would close.
    gone: bool,
}

impl Channel {
    /// A PV as the store knows it; `begin` sets it going.
    pub(crate) fn new(entry: PvEntry, now: Timestamp) -> Channel {
        Channel {
            sampler: Sampler::new(&entry.settings),
            only: Only::of(entry.settings.rules()),
            entry,
            served: ServedBy::default(),
            connection: Connection::Searching,
            since: now,
            gap: None,
            disabled: false,
            held: None,
            is_unnamed: false,
            listed: false,
            gone: false,
        }
    }

    /// What stands in the place of a channel that was taken out of it.
    pub(crate) fn gone(entry: PvEntry, now: Timestamp) -> Channel {
        Channel { gone: true, ..Channel::new(entry, now) }
    }

    /// Starts, or goes on after a pause or a change of settings: from here until the first value there is a gap.
    pub(crate) fn begin(&mut self, entry: PvEntry, now: Timestamp, record: &mut dyn FnMut(Fact)) {
        self.take_waiting(record);
        self.sampler = Sampler::new(&entry.settings);
        self.only = Only::of(entry.settings.rules());
        self.entry = entry;
        if let Some(served) = self.served.if_any() {
            (served.server, served.run, served.refusal) = (None, None, None);
        }
        let (connection, cause) = match self.entry.settings.state {
            PvState::Active if self.disabled => (Connection::Searching, GapCause::Disabled),
            PvState::Active => (Connection::Searching, GapCause::NeverConnected),
            PvState::Paused => (Connection::Paused, GapCause::Paused),
        };
        self.enter(connection, now);
        self.close_gap(now, record);
        self.open_gap(cause, now, record);
    }

    /// Goes on with other rules of sampling, by the same connection.
    pub(crate) fn adjust(&mut self, entry: PvEntry, record: &mut dyn FnMut(Fact)) {
        if entry.settings.method != self.entry.settings.method || entry.settings.rules != self.entry.settings.rules {
            // What is held while the groups are disabled goes on being held.
            self.take_due_or_not(record);
            let same_band = entry.settings.rules().deadband == self.entry.settings.rules().deadband;
            let at_server = same_band && self.sampler.band_at_server().unwrap_or(false);
            self.sampler = Sampler::new(&entry.settings);
            self.sampler.set_band_at_server(at_server);
            self.only = Only::of(entry.settings.rules());
        }
        self.entry = entry;
    }

    /// Its groups are disabled, or enabled again. What came last in between is recorded then, with its own time.
    pub(crate) fn set_disabled(&mut self, disabled: bool, now: Timestamp, record: &mut dyn FnMut(Fact)) {
        if self.gone || self.disabled == disabled {
            return;
        }
        self.disabled = disabled;
        if self.entry.settings.state == PvState::Paused {
            return;
        }
        if disabled {
            self.take_waiting(record);
            self.sampler.forget();
            self.close_gap(now, record);
            return self.open_gap(GapCause::Disabled, now, record);
        }
        self.close_gap(now, record);
        match self.connection {
            Connection::Searching => self.open_gap(GapCause::NeverConnected, now, record),
            Connection::Disconnected => self.open_gap(GapCause::Disconnected, now, record),
            Connection::Connected if self.served.refusal.is_some() => self.open_gap(GapCause::ServerError, now, record),
            Connection::Connected | Connection::Paused | Connection::Unknown => {}
        }
        if let Some(sample) = self.held.take() {
            self.served.last_sample = Some(sample.time);
            record(Fact::Sample(*sample));
        }
    }

    /// Whether its groups are disabled.
    pub(crate) fn is_disabled(&self) -> bool {
        self.disabled
    }

    /// Takes in what the client reports. `Shared::receive` calls it, and passes its facts on to the buffer.
    pub(crate) fn receive(&mut self, event: Event, now: Timestamp, record: &mut dyn FnMut(Fact)) {
        if self.gone {
            return;
        }
        match event {
            Event::Identified { run } => self.served.run = Some(Run::Guid(run)),
            // The stamp of the first value has told of it already.
            Event::Restarted if matches!(self.served.run, Some(Run::Unprocessed(at)) if self.served.last_connected <= Some(at)) =>
                {}
            Event::Restarted => {
                self.set_run(Run::Beacons(now));
                if let Some(value_type) = self.served.recorded.as_ref().and_then(|recorded| recorded.value_type)
                    && self.connection == Connection::Connected
                {
                    self.record_metadata(value_type, now, record);
                }
            }
            Event::Connected { server } => self.connected(server, now),
            Event::Described(description) => {
                self.served.described = Some(description);
                // By Channel Access the description comes after the first value, and a value that never changes has no second.
                if let Some(value_type) = self.served.recorded.as_ref().and_then(|recorded| recorded.value_type) {
                    self.record_metadata(value_type, now, record);
                }
            }
            Event::Updated(reading) => self.updated(reading, now, record),
            Event::Refused { message } => {
                self.served.refusal = Some(message);
                if self.gap.is_none() {
                    self.open_gap(GapCause::ServerError, now, record);
                }
            }
            Event::Crowded { duration } => self.suspect(duration),
            Event::Filtered => self.sampler.set_band_at_server(true),
            Event::Unfiltered => self.sampler.set_band_at_server(false),
            Event::Disconnected { .. } => {
                self.sampler.set_band_at_server(false);
                self.sampler.forget();
                self.served.lag.forget();
                self.enter(Connection::Disconnected, now);
                self.served.server = None;
                // By Channel Access it counts as the same until something says that it is another.
                self.served.run = self.served.run.filter(|run| !matches!(run, Run::Guid(_)));
                if self.gap.is_none() {
                    self.open_gap(GapCause::Disconnected, now, record);
                }
            }
        }
    }

    /// A scan period may be over.
    pub(crate) fn tick(&mut self, now: Timestamp, record: &mut dyn FnMut(Fact)) {
        if let Some(sample) = self.sampler.take_due(now) {
            record(Fact::Sample(sample));
        }
    }

    /// How it fares.
    pub(crate) fn status(&self) -> Status {
        Status {
            connection: self.connection,
            since: self.since,
            first_connected: self.served.first_connected,
            last_connected: self.served.last_connected,
            reconnects: self.served.reconnects,
            counters: self.served.counters.told(),
            last_sample: self.served.last_sample,
            server: self.served.server,
            refusal: self.served.refusal.clone(),
            disabled: self.disabled,
            deadband_at_server: self.sampler.band_at_server(),
            lacking: self.only.as_ref().map(|only| only.lacking().to_vec()).unwrap_or_default(),
        }
    }

    /// How it fares, in brief, for lists.
    pub(crate) fn brief(&self) -> Brief {
        let served: &Known = &self.served;
        Brief {
            connection: self.connection,
            since: self.since,
            first_connected: served.first_connected,
            last_connected: served.last_connected,
            reconnects: served.reconnects,
            received: served.counters.account.received,
            dropped: served.counters.account.queue_full + served.counters.account.store_refused,
            last_sample: served.last_sample,
            server: served.server,
        }
    }

    /// Where it stands.
    pub(crate) fn connection(&self) -> Connection {
        self.connection
    }

    /// Whether an update waits: until it is due, or until a group is enabled.
    pub(crate) fn is_waiting(&self) -> bool {
        self.held.is_some() || self.sampler.is_waiting()
    }

    /// Whether it is to be ticked until what waits is due.
    pub(crate) fn is_timed(&self) -> bool {
        self.sampler.is_waiting()
    }

    /// Stops because the archiver does. A gap that is open stays so: the store ends it.
    pub(crate) fn stop(&mut self, record: &mut dyn FnMut(Fact)) {
        self.take_waiting(record);
        self.gone = true;
    }

    /// Stops because the PV leaves the archive, and closes the gap that is open.
    pub(crate) fn end(&mut self, now: Timestamp, record: &mut dyn FnMut(Fact)) {
        self.stop(record);
        self.close_gap(now, record);
    }

    /// Takes the update that waits to be due, because nobody will ask for it again. One that came while the groups were
    /// disabled was not to be sampled.
    fn take_waiting(&mut self, record: &mut dyn FnMut(Fact)) {
        if self.held.take().is_some() {
            self.served.counters.account.skipped += 1;
        }
        self.take_due_or_not(record);
    }

    fn take_due_or_not(&mut self, record: &mut dyn FnMut(Fact)) {
        if let Some(sample) = self.sampler.take_waiting() {
            record(Fact::Sample(sample));
        }
    }

    fn connected(&mut self, server: SocketAddr, now: Timestamp) {
        self.enter(Connection::Connected, now);
        if self.served.first_connected.is_none() {
            self.served.first_connected = Some(now);
        } else {
            self.served.reconnects += 1;
        }
        self.served.last_connected = Some(now);
        self.served.server = Some(server);
        self.served.is_first = true;
        if !matches!(self.served.run, None | Some(Run::Guid(_))) && self.was_at() != Some(server) {
            self.served.run = None;
        }
    }

    /// The server that the metadata recorded last has.
    fn was_at(&self) -> Option<SocketAddr> {
        self.served.recorded.as_ref()?.server.as_ref()?.parse().ok()
    }

    fn set_run(&mut self, run: Run) {
        (self.served.run, self.served.run_is_news) = (Some(run), true);
    }

    /// A value has come: which time it gets, whether it ends a gap, and whether it becomes a sample.
    fn updated(&mut self, reading: Reading, now: Timestamp, record: &mut dyn FnMut(Fact)) {
        self.served.counters.account.received += 1;
        self.served.counters.account.overruns += u64::from(reading.overrun);
        self.served.refusal = None;
        if self.connection != Connection::Paused {
            self.enter(Connection::Connected, now); // a subscription that took the place of a lost one has said so before
        }
        if !self.disabled {
            self.close_gap(now, record);
        }
        let mut sample = convert::sample(reading, now);
        if let Some(only) = &mut self.only {
            only.apply(&mut sample.value);
        }
        if sample.stamp.is_none() && self.served.last_sample.is_some_and(|last| sample.time < last) {
            sample.stamp = Some(Stamp { quality: Quality::Backward, other: now });
        }
        let is_processed = sample.stamp.is_none_or(|stamp| stamp.quality != Quality::NeverSet);
        let is_first = std::mem::take(&mut self.served.is_first);
        if is_first && !is_processed {
            // Its record may have been processed between its answer and our reading of it: that update must not come before.
            sample.time = self.served.last_connected.unwrap_or(now);
        }
        let is_anew = is_first && self.served.was_processed && !is_processed;
        let is_known = self.served.run_is_news || matches!(self.served.run, Some(Run::Guid(_)));
        if is_anew && !is_known && self.was_at() == self.served.server {
            self.set_run(Run::Unprocessed(now));
        }
        self.served.was_processed = is_processed;
        if let Some(stamp) = sample.stamp {
            self.served.counters.count_stamp(stamp.quality);
        } else if let Some(duration) = self.served.lag.note(sample.time, now) {
            self.suspect(duration);
        }
        self.record_metadata(sample.value.value_type(), now, record);
        if self.disabled {
            self.served.counters.account.skipped += u64::from(self.held.replace(Box::new(sample)).is_some());
            return;
        }
        self.served.last_sample = Some(sample.time);
        match self.sampler.offer(sample, now) {
            Decision::Take(sample) | Decision::Release(sample) => record(Fact::Sample(sample)),
            Decision::Both(before, sample) => [before, sample].map(Fact::Sample).into_iter().for_each(record),
            Decision::Wait => {}
            Decision::Leave | Decision::Replace(Passed::Scan) => self.served.counters.account.skipped += 1,
            Decision::Replace(Passed::Cap) => self.served.counters.account.rate_capped += 1,
        }
    }

    /// Updates may have been lost on their way for so long.
    fn suspect(&mut self, duration: Duration) {
        self.served.counters.account.suspected_ms += u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    }

    /// Metadata is recorded as soon as a value has told the type.
    fn record_metadata(&mut self, value_type: ValueType, now: Timestamp, record: &mut dyn FnMut(Fact)) {
        let same_type = self.served.recorded.as_ref().is_some_and(|recorded| recorded.value_type == Some(value_type));
        let (said, since) = match (self.served.described.take(), &self.served.recorded) {
            (None, Some(_)) if same_type && !self.served.run_is_news => return,
            (None, Some(recorded)) => (Metadata::clone(recorded), now),
            (None, None) => (Metadata::default(), now),
            (Some(described), _) => {
                let since = self.served.undescribed.take().filter(|_| same_type);
                (convert::metadata(*described), since.unwrap_or(now))
            }
        };
        if !said.is_described() {
            self.served.undescribed = Some(now);
        }
        self.served.run_is_news = false;
        let (server, server_run) = convert::served(self.served.server, self.served.run);
        let metadata = Metadata { value_type: Some(value_type), server, server_run, ..said };
        if self.served.recorded.as_deref() != Some(&metadata) {
            let metadata = Arc::new(metadata);
            self.served.recorded = Some(metadata.clone());
            record(Fact::Metadata(since, metadata));
        }
    }

    fn enter(&mut self, connection: Connection, now: Timestamp) {
        if self.connection != connection {
            self.connection = connection;
            self.since = now;
        }
    }

    fn open_gap(&mut self, cause: GapCause, now: Timestamp, record: &mut dyn FnMut(Fact)) {
        self.gap = Some((now, cause));
        record(Fact::Gap(Gap { from: now, to: None, cause, lost: 0 }));
    }

    fn close_gap(&mut self, now: Timestamp, record: &mut dyn FnMut(Fact)) {
        if let Some((from, cause)) = self.gap.take() {
            record(Fact::Gap(Gap { from, to: Some(now.max(from)), cause, lost: 0 }));
        }
    }
}

#[cfg(test)]
mod tests {
    use archive::{Method, Protocol, PvId, PvName, PvSettings};

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(1_800_000_000 + seconds, 0)
    }

    fn entry(state: PvState, method: Method) -> PvEntry {
        let settings = PvSettings::plain(Protocol::Ca, method, state);
        PvEntry { id: PvId(1), name: PvName::new("A:B").unwrap(), settings, added: at(0) }
    }

    fn update(seconds: i64, value: f64) -> Event {
        let (seconds, nanos) = at(seconds).seconds_and_nanos();
        let value = epics::Value::F64(value);
        Event::Updated(Reading {
            value,
            seconds,
            nanos,
            severity: 0,
            status: 0,
            message: None,
            user_tag: 0,
            overrun: false,
        })
    }

    /// The value of a record that was not processed since its IOC started.
    fn never_set(value: f64) -> Event {
        match update(0, value) {
            Event::Updated(reading) => Event::Updated(Reading { seconds: 631_152_000, nanos: 0, ..reading }),
            other => other,
        }
    }

    fn connected() -> Event {
        Event::Connected { server: "127.0.0.1:5064".parse().unwrap() }
    }

    fn described(units: &str) -> Event {
        Event::Described(Box::new(epics::Description {
            units: Some(units.to_owned()),
            ..epics::Description::default()
        }))
    }

    /// Runs events at their seconds and tells what was recorded, a line each.
    fn run(channel: &mut Channel, events: Vec<(i64, Event)>) -> Vec<String> {
        let mut lines = Vec::new();
        let mut record = |fact| lines.push(line(fact));
        for (seconds, event) in events {
            channel.receive(event, at(seconds), &mut record);
            channel.tick(at(seconds), &mut record);
        }
        lines
    }

    fn line(fact: Fact) -> String {
        let second = |time: Timestamp| time.seconds_and_nanos().0 - 1_800_000_000;
        match fact {
            Fact::Sample(sample) | Fact::LedgerRow(sample) => {
                format!("sample {} {:?}", second(sample.time), sample.value.as_f64().unwrap())
            }
            Fact::Gap(gap) => format!("gap {} {:?} {}", second(gap.from), gap.to.map(second), gap.cause.name()),
            Fact::Metadata(time, metadata) => format!("metadata {} {:?}", second(time), metadata.units),
        }
    }

    #[test]
    fn from_the_start_to_the_first_value_and_from_each_loss_to_the_next_value_there_is_a_gap() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let mut began = Vec::new();
        channel.begin(channel.entry.clone(), at(0), &mut |fact| began.push(line(fact)));
        assert_eq!(began, ["gap 0 None never_connected"]);
        let lost = Event::Disconnected { reason: "closed".to_owned() };
        let events = vec![
            (1, connected()),
            (1, described("mA")),
            (2, update(2, 1.0)),
            (5, lost),
            (8, connected()),
            (9, update(9, 2.0)),
        ];
        let recorded = run(&mut channel, events);
        let expected = [
            "gap 0 Some(2) never_connected",
            "metadata 2 Some(\"mA\")",
            "sample 2 1.0",
            "gap 5 None disconnected",
            "gap 5 Some(9) disconnected",
            "sample 9 2.0",
        ];
        assert_eq!(recorded, expected);
        assert_eq!((channel.status().reconnects, channel.status().connection), (1, Connection::Connected));
    }

    #[test]
    fn a_stamp_before_the_last_one_is_kept_with_the_time_of_arrival_beside_it() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let mut stamps = Vec::new();
        for (now, event) in [(5, update(5, 1.0)), (6, update(5, 2.0)), (7, update(3, 3.0))] {
            channel.receive(event, at(now), &mut |fact| {
                if let Fact::Sample(sample) = fact {
                    stamps.push((sample.time, sample.stamp));
                }
            });
        }
        let backward = Stamp { quality: Quality::Backward, other: at(7) };
        assert_eq!(stamps, [(at(5), None), (at(5), None), (at(3), Some(backward))]);
        assert_eq!((channel.served.counters.account.backward, channel.served.counters.account.odd_stamps()), (1, 1));
    }

    #[test]
    fn metadata_is_recorded_once_and_again_when_it_changes() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let events = vec![
            (1, connected()),
            (1, described("mA")),
            (2, update(2, 1.0)),
            (3, described("mA")),
            (4, update(4, 1.0)),
            (5, described("A")),
            (6, update(6, 1.0)),
        ];
        let recorded = run(&mut channel, events);
        let metadata: Vec<&String> = recorded.iter().filter(|line| line.starts_with("metadata")).collect();
        assert_eq!(metadata, ["metadata 2 Some(\"mA\")", "metadata 5 Some(\"A\")"]);
    }

    #[test]
    fn another_run_of_the_server_is_recorded_with_the_metadata() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let mut runs = Vec::new();
        let lost = || Event::Disconnected { reason: "closed".to_owned() };
        for (second, run) in [(1, 7), (3, 7), (5, 8)] {
            let served =
                [Event::Identified { run: [run; 12] }, connected(), described("mA"), update(second, 1.0), lost()];
            for event in served {
                channel.receive(event, at(second), &mut |fact| {
                    if let Fact::Metadata(_, metadata) = fact {
                        runs.push((second, metadata.server_run.clone()));
                    }
                });
            }
        }
        assert_eq!(runs, [(1, Some("07".repeat(12))), (5, Some("08".repeat(12)))]);
    }

    /// What is recorded of the server's run with each event, in its second.
    fn runs(channel: &mut Channel, events: Vec<(i64, Event)>) -> Vec<(i64, Option<String>)> {
        let mut runs = Vec::new();
        for (second, event) in events {
            channel.receive(event, at(second), &mut |fact| {
                if let Fact::Metadata(_, metadata) = fact {
                    runs.push((second, metadata.server_run.clone()));
                }
            });
        }
        runs
    }

    #[test]
    fn a_restart_that_beacons_tell_of_is_recorded_before_and_after_the_channel_is_back() {
        let lost = || Event::Disconnected { reason: "closed".to_owned() };
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let first = vec![(1, connected()), (2, update(2, 1.0)), (3, lost())];
        assert_eq!(runs(&mut channel, first), [(2, None)]);
        let before =
            vec![(4, Event::Restarted), (5, connected()), (6, update(6, 2.0)), (7, update(7, 3.0)), (8, lost())];
        let by = |second| Some(format!("beacons:{}", at(second)));
        assert_eq!(runs(&mut channel, before), [(6, by(4))]);
        let only_lost = vec![(9, connected()), (10, update(10, 4.0)), (11, lost())];
        assert_eq!(runs(&mut channel, only_lost), [], "nothing says that it was restarted again");
        let after = vec![(12, connected()), (13, update(13, 4.0)), (14, Event::Restarted), (15, update(15, 5.0))];
        assert_eq!(runs(&mut channel, after), [(14, by(14))]);
        let moved = Event::Connected { server: "127.0.0.1:5065".parse().unwrap() };
        let elsewhere = vec![(16, lost()), (17, moved), (17, described("mA")), (18, update(18, 6.0))];
        assert_eq!(runs(&mut channel, elsewhere), [(17, None)], "of the other one nothing is known");
    }

    #[test]
    fn a_record_that_was_processed_and_is_not_any_more_tells_of_a_restart() {
        let lost = || Event::Disconnected { reason: "closed".to_owned() };
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let first = vec![(1, connected()), (2, never_set(0.0)), (3, lost()), (4, connected()), (5, never_set(0.0))];
        assert_eq!(runs(&mut channel, first), [(2, None)], "it never was");
        let then = vec![(6, update(6, 1.0)), (7, lost()), (8, connected()), (9, never_set(0.0))];
        assert_eq!(runs(&mut channel, then), [(9, Some(format!("unprocessed:{}", at(9))))]);
        assert_eq!(runs(&mut channel, vec![(10, Event::Restarted)]), [], "that is the same restart");
    }

    #[test]
    fn a_value_from_before_the_record_was_processed_comes_before_the_update_that_overtook_its_reading() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let overtaken = vec![(1, connected()), (4, never_set(0.0)), (4, update(3, 1.0)), (5, never_set(2.0))];
        let expected = ["metadata 4 None", "sample 1 0.0", "sample 3 1.0", "sample 5 2.0"];
        assert_eq!(run(&mut channel, overtaken), expected, "only the first after a connection has the time of that");
        assert_eq!(channel.served.counters.account.backward, 0);
    }

    #[test]
    fn metadata_that_comes_after_the_only_value_is_that_of_the_value() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let events = vec![(1, connected()), (2, update(2, 1.0)), (3, described("mA")), (4, described("A"))];
        let expected = ["metadata 2 None", "sample 2 1.0", "metadata 2 Some(\"mA\")", "metadata 4 Some(\"A\")"];
        assert_eq!(run(&mut channel, events), expected);
    }

    #[test]
    fn a_restart_that_is_told_before_the_description_does_not_take_its_place() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let events = vec![(1, connected()), (2, update(2, 1.0)), (3, Event::Restarted), (4, described("mA"))];
        let expected = ["metadata 2 None", "sample 2 1.0", "metadata 3 None", "metadata 3 Some(\"mA\")"];
        assert_eq!(run(&mut channel, events), expected);
    }

    #[test]
    fn limits_that_are_not_set_are_no_news_when_they_are_told_again() {
        let unset = || {
            let limits = Some(epics::Limits { low: f64::NAN, high: f64::NAN });
            Event::Described(Box::new(epics::Description {
                display: limits,
                alarm: limits,
                ..epics::Description::default()
            }))
        };
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let events = vec![(1, connected()), (1, unset()), (2, update(2, 1.0)), (3, unset()), (4, unset())];
        assert_eq!(run(&mut channel, events), ["metadata 2 None", "sample 2 1.0"]);
    }

    #[test]
    fn a_refusal_while_values_came_opens_a_gap_that_the_next_value_closes() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let refused = Event::Refused { message: "unable to load".to_owned() };
        let recorded =
            run(&mut channel, vec![(1, connected()), (2, update(2, 1.0)), (3, refused), (4, update(4, 2.0))]);
        assert_eq!(recorded[2..], ["gap 3 None server_error", "gap 3 Some(4) server_error", "sample 4 2.0"]);
        assert_eq!(channel.status().refusal, None);
    }

    #[test]
    fn a_pause_is_a_gap_until_values_come_again() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let mut lines = Vec::new();
        let mut record = |fact| lines.push(line(fact));
        channel.receive(connected(), at(1), &mut record);
        channel.begin(entry(PvState::Paused, Method::Monitor), at(2), &mut record);
        assert_eq!(channel.connection(), Connection::Paused);
        channel.begin(entry(PvState::Active, Method::Monitor), at(4), &mut record);
        assert_eq!(lines, ["gap 2 None paused", "gap 2 Some(4) paused", "gap 4 None never_connected"]);
    }

    #[test]
    fn what_comes_after_the_end_is_not_recorded() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let mut lines = run(&mut channel, vec![(1, connected()), (2, update(2, 1.0))]);
        channel.end(at(3), &mut |fact| lines.push(line(fact)));
        let lost = Event::Disconnected { reason: "closed".to_owned() };
        lines.extend(run(&mut channel, vec![(4, update(4, 2.0)), (5, lost)]));
        assert_eq!(lines, ["metadata 2 None", "sample 2 1.0"], "a gap opened now would never be closed");
    }

    #[test]
    fn the_update_that_waits_for_its_period_is_taken_at_a_pause_and_at_the_end() {
        let scan = Method::Scan { period: Duration::from_secs(100) };
        let mut channel = Channel::new(entry(PvState::Active, scan), at(0));
        let mut lines = run(&mut channel, vec![(1, update(1, 1.0)), (2, update(2, 2.0))]);
        channel.begin(entry(PvState::Paused, scan), at(3), &mut |fact| lines.push(line(fact)));
        assert_eq!(lines[1..], ["sample 1 1.0", "sample 2 2.0", "gap 3 None paused"]);
        channel.begin(entry(PvState::Active, scan), at(4), &mut |fact| lines.push(line(fact)));
        lines = run(&mut channel, vec![(5, update(5, 5.0)), (6, update(6, 6.0))]);
        channel.stop(&mut |fact| lines.push(line(fact)));
        assert_eq!(lines[1..], ["sample 5 5.0", "sample 6 6.0"]);
    }

    #[test]
    fn while_its_groups_are_disabled_there_is_a_gap_and_the_newest_update_waits() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let mut lines = run(&mut channel, vec![(1, connected()), (2, update(2, 1.0))]);
        channel.set_disabled(true, at(3), &mut |fact| lines.push(line(fact)));
        lines.extend(run(&mut channel, vec![(4, update(4, 2.0)), (5, update(5, 3.0))]));
        assert!(channel.is_waiting() && !channel.is_timed() && channel.is_disabled());
        channel.set_disabled(false, at(6), &mut |fact| lines.push(line(fact)));
        lines.extend(run(&mut channel, vec![(7, update(7, 4.0))]));
        assert_eq!(
            lines[1..],
            ["sample 2 1.0", "gap 3 None disabled", "gap 3 Some(6) disabled", "sample 5 3.0", "sample 7 4.0"]
        );
        assert_eq!((channel.served.counters.account.received, channel.served.counters.account.skipped), (4, 1));
    }

    #[test]
    fn other_rules_do_not_cost_what_waits_for_a_group() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let mut lines = run(&mut channel, vec![(1, connected()), (2, update(2, 1.0))]);
        channel.set_disabled(true, at(3), &mut |fact| lines.push(line(fact)));
        lines.extend(run(&mut channel, vec![(4, update(4, 2.0))]));
        let scan = Method::Scan { period: Duration::from_secs(100) };
        channel.adjust(entry(PvState::Active, scan), &mut |fact| lines.push(line(fact)));
        channel.set_disabled(false, at(5), &mut |fact| lines.push(line(fact)));
        assert_eq!(lines[2..], ["gap 3 None disabled", "gap 3 Some(5) disabled", "sample 4 2.0"]);
        assert_eq!(channel.served.counters.account.skipped, 0);
    }

    #[test]
    fn a_group_that_is_enabled_while_the_ioc_is_away_leaves_the_gap_of_the_loss() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let mut lines = run(&mut channel, vec![(1, connected()), (2, update(2, 1.0))]);
        channel.set_disabled(true, at(3), &mut |fact| lines.push(line(fact)));
        let lost = Event::Disconnected { reason: "closed".to_owned() };
        lines.extend(run(&mut channel, vec![(4, lost)]));
        channel.set_disabled(false, at(5), &mut |fact| lines.push(line(fact)));
        assert_eq!(lines[2..], ["gap 3 None disabled", "gap 3 Some(5) disabled", "gap 5 None disconnected"]);
    }

    #[test]
    fn what_waited_for_a_group_is_passed_over_at_a_pause() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let mut lines = run(&mut channel, vec![(1, connected()), (2, update(2, 1.0))]);
        channel.set_disabled(true, at(3), &mut |fact| lines.push(line(fact)));
        lines.extend(run(&mut channel, vec![(4, update(4, 2.0))]));
        channel.begin(entry(PvState::Paused, Method::Monitor), at(5), &mut |fact| lines.push(line(fact)));
        assert_eq!(lines[2..], ["gap 3 None disabled", "gap 3 Some(5) disabled", "gap 5 None paused"]);
        assert_eq!((channel.served.counters.account.received, channel.served.counters.account.skipped), (2, 1));
        channel.begin(entry(PvState::Active, Method::Monitor), at(6), &mut |fact| lines.push(line(fact)));
        assert_eq!(lines[5..], ["gap 5 Some(6) paused", "gap 6 None disabled"], "its groups still are");
    }

    #[test]
    fn other_rules_of_sampling_open_no_gap_and_lose_nothing() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Monitor), at(0));
        let mut lines = run(&mut channel, vec![(1, connected()), (2, update(2, 1.0))]);
        let scan = Method::Scan { period: Duration::from_secs(100) };
        channel.adjust(entry(PvState::Active, scan), &mut |fact| lines.push(line(fact)));
        lines.extend(run(&mut channel, vec![(3, update(3, 2.0)), (4, update(4, 3.0))]));
        channel.adjust(entry(PvState::Active, Method::Monitor), &mut |fact| lines.push(line(fact)));
        assert_eq!(lines[1..], ["sample 2 1.0", "sample 3 2.0", "sample 4 3.0"]);
        assert_eq!((channel.served.counters.account.received, channel.served.counters.account.skipped), (3, 0));
    }

    #[test]
    fn a_scanned_pv_gives_the_newest_value_once_a_period_and_counts_the_rest() {
        let mut channel = Channel::new(entry(PvState::Active, Method::Scan { period: Duration::from_secs(10) }), at(0));
        let updates = (1..=21).map(|second| (second, update(second, second as f64))).collect();
        let recorded = run(&mut channel, updates);
        let samples: Vec<&String> = recorded.iter().filter(|line| line.starts_with("sample")).collect();
        assert_eq!(samples, ["sample 1 1.0", "sample 9 9.0", "sample 19 19.0"]);
        assert!(channel.is_waiting(), "the newest");
        assert_eq!((channel.served.counters.account.received, channel.served.counters.account.skipped), (21, 17));
    }
}
