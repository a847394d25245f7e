//! The ledger: what became of every update, written down for each PV and minute, and again for each hour.
//!
//! ```text
//!   channels count ──► at the end of a minute, and when losses are over: one row for each share of PVs
//!                      ──► the same queue as samples ──► writer ──► store
//! ```
//! A channel counts an update when it offers the sample to the queue, and rows go through the same queue behind them: a row that
//! is stored has all the samples before it that it counts as stored. The store counts what comes behind the last row; when it is
//! opened after a kill, that becomes a row too. What was lost is not in the store: its row is written as soon as all that it came
//! between is stored. So there is a row for each minute, or a gap that says why not.

mod recent;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use archive::{
    LEDGER_SHARES, LedgerScale, PvId, PvName, Roster, Sink, Unfinished, UnfinishedShare,
    ledger::{Account, COUNT, Origin, RowHead, Trouble, account_in, encode_row},
    ledger_share,
};
use sample::{Alarm, Column, Sample, Timestamp, Value};

pub(crate) use recent::Recent;

use crate::{
    acquire::Shared,
    channel::{Channel, Fact},
    lock::lock,
};

const SCALES: [LedgerScale; 2] = [LedgerScale::Minute, LedgerScale::Hour];

/// How far the ledger has come.
#[derive(Debug)]
pub(crate) struct Ledger {
    pages: [Page; 2],
}

/// The rows of one scale.
#[derive(Debug)]
struct Page {
    scale: LedgerScale,
    /// The PVs that hold the rows, by share.
    pvs: Vec<PvId>,
    /// Where the stretch of the next rows begins.
    from: Timestamp,
    /// What PVs had counted when they left the archive.
    departed: Vec<(PvId, Account)>,
}

/// What a channel had counted when the last row of each scale was written. Numbers wrap; only differences count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LedgerMarks([[u32; COUNT]; 2]);

impl Ledger {
    /// Begins at `since`, the moment up to which the store tells why nothing was recorded.
    pub(crate) fn begin<S: Roster>(sink: &S, since: Timestamp) -> Result<Ledger, S::Error> {
        let names = SCALES.iter().flat_map(|scale| scale.names());
        let names: Vec<PvName> = names.map(|name| PvName::recorded(&name).expect("the names have no blanks")).collect();
        let pvs = sink.own(&names, since)?;
        let page =
            |(scale, pvs): (LedgerScale, &[PvId])| Page { scale, pvs: pvs.to_vec(), from: since, departed: Vec::new() };
        let (minutes, hours) = pvs.split_at(LEDGER_SHARES);
        Ok(Ledger { pages: [(SCALES[0], minutes), (SCALES[1], hours)].map(page) })
    }

    /// Rows for what the store found at its opening.
    pub(crate) fn rebuilt(&self, unfinished: &Unfinished) -> Vec<(PvId, Fact)> {
        let Some(alive) = unfinished.alive else { return Vec::new() };
        let rows = self.pages[0].pvs.iter().zip(&unfinished.shares);
        rows.filter_map(|(pv, share)| Some((*pv, rebuilt(share, unfinished, alive)?))).collect()
    }

    /// Where the minute begins of which there are no rows yet.
    pub(crate) fn minute_began(&self) -> Timestamp {
        self.pages[0].from
    }

    /// Keeps what a PV has counted that leaves the archive.
    pub(crate) fn depart(&mut self, pv: PvId, channel: &mut Channel) {
        for (index, page) in self.pages.iter_mut().enumerate() {
            page.departed.push((pv, channel.settle(index)));
        }
    }
}

/// The row of a share for the time from its last row to the last sign of life; none if there is nothing to tell.
fn rebuilt(share: &UnfinishedShare, of: &Unfinished, alive: Timestamp) -> Option<Fact> {
    let last = share.last_row.as_ref().and_then(|row| Some((row.time, bytes(row)?)));
    let until = last.and_then(|(from, row)| Some(account_in(row, from, PvId(0)).ok()?.0.until));
    let from = until.max(of.began).unwrap_or(alive);
    if share.samples.is_empty() && (until.is_none() || alive <= from) {
        return None;
    }
    let origin = if share.is_whole { Origin::Rebuilt } else { Origin::RebuiltInPart };
    let accounts: Vec<_> = share.samples.iter().map(|(pv, samples)| (*pv, Account::usual(*samples))).collect();
    Some(row(RowHead { until: alive.max(from), origin }, from, &accounts))
}

/// The bytes of a row.
fn bytes(row: &Sample) -> Option<&[u8]> {
    if let Value::Array(Column::U8(bytes)) = &row.value { Some(bytes) } else { None }
}

fn row(head: RowHead, from: Timestamp, accounts: &[(PvId, Account)]) -> Fact {
    let value = Value::Array(Column::U8(encode_row(head, from, accounts)));
    Fact::LedgerRow(Sample { time: from, value, alarm: Alarm::default(), pulse: 0, stamp: None })
}

impl Page {
    fn width(&self) -> i64 {
        let seconds = if self.scale == LedgerScale::Minute { 60 } else { 3600 };
        Duration::from_secs(seconds).as_nanos() as i64
    }

    /// Whether another minute or hour has begun, by a clock that may have been set back.
    fn is_over(&self, now: Timestamp) -> bool {
        self.from.nanos().div_euclid(self.width()) != now.nanos().div_euclid(self.width())
    }

    /// What is to be told of the PVs of a share that have left.
    fn take_departed(&mut self, share: usize) -> Vec<(PvId, Account)> {
        let (taken, left) = self.departed.drain(..).partition(|(pv, _)| ledger_share(*pv) == share);
        self.departed = left;
        taken
    }
}

impl Channel {
    /// What it has counted since the last row of minutes.
    pub(crate) fn unsettled(&self) -> Account {
        let mark = self.served.marks.as_deref().copied().unwrap_or_default().0[0];
        self.counted().since(&mark)
    }

    /// What it has counted since the last row of a scale.
    pub(crate) fn settle(&mut self, scale: usize) -> Account {
        if self.served.counters.is_empty() {
            return Account::default();
        }
        let counted = self.counted();
        let mark = &mut self.served.marks.get_or_insert_default().0[scale];
        let since = counted.since(mark);
        *mark = counted.0;
        since
    }

    /// What it has counted so far, and whether an update waits.
    fn counted(&self) -> Counted {
        let account = Account { waiting: i64::from(self.is_waiting()), ..self.served.counters.account };
        Counted(account.counts().map(|count| count as u32))
    }
}

/// What was counted up to some moment. Numbers wrap; only differences count.
struct Counted([u32; COUNT]);

impl Counted {
    fn since(&self, mark: &[u32; COUNT]) -> Account {
        let mut since = [0; COUNT];
        for ((since, count), mark) in since.iter_mut().zip(self.0).zip(mark) {
            *since = u64::from(count.wrapping_sub(*mark));
        }
        let account = Account::of_counts(since);
        Account { waiting: i64::from((account.waiting as u32).cast_signed()), ..account }
    }
}

/// Why rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// It is looked whether a minute or an hour is over.
    Look,
    /// Losses were told, and nothing waits behind them.
    Losses,
    /// The archiver ends.
    End,
}

impl<S: Roster> Shared<S> {
    /// Writes rows if it is time to.
    pub(crate) fn keep_ledger(&self, now: Timestamp, occasion: Occasion) {
        let mut ledger = lock(&self.ledger);
        for index in 0..SCALES.len() {
            let page = &ledger.pages[index];
            // What was lost is not counted anew at a restart.
            let due = occasion == Occasion::Losses && page.scale == LedgerScale::Minute;
            if due || page.is_over(now) || occasion == Occasion::End {
                self.write_rows(&mut ledger.pages[index], index, now);
            }
        }
    }
}

impl<S: Sink> Shared<S> {
    fn write_rows(&self, page: &mut Page, scale: usize, now: Timestamp) {
        let from = page.from.min(now);
        let head = RowHead { until: now, origin: Origin::Counted };
        let mut shares = self.slots_by_share();
        let mut trouble = Trouble::default();
        for (share, slots) in shares.iter_mut().enumerate() {
            let departed = page.take_departed(share);
            if slots.is_empty() && departed.is_empty() {
                continue;
            }
            slots.sort_unstable_by_key(|(pv, _)| *pv);
            let mut accounts: Vec<(PvId, Account)> = Vec::new();
            // All are held until the row is in the queue. A sample that got in before the row without being counted in it would be
            // forgotten after a kill, because only what lies behind the row is counted anew.
            let mut held = Vec::with_capacity(slots.len());
            for (pv, slot) in slots.iter() {
                let mut channel = slot.lock();
                let account = channel.settle(scale);
                held.push(channel);
                if !account.is_empty() {
                    accounts.push((*pv, account));
                }
            }
            if !departed.is_empty() {
                let mut sums: BTreeMap<PvId, Account> = BTreeMap::new();
                accounts.into_iter().chain(departed).for_each(|(pv, account)| *sums.entry(pv).or_default() += account);
                accounts = sums.into_iter().filter(|(_, account)| !account.is_empty()).collect();
            }
            accounts.iter().for_each(|(_, account)| trouble.add(account));
            self.buffer.insist(page.pvs[share], row(head, from, &accounts), now);
        }
        if page.scale == LedgerScale::Minute {
            lock(&self.recent).add(now, trouble);
        }
        page.from = now;
    }
}
