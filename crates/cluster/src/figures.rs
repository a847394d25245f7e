//! What nodes say of themselves to each other: each asks all others every few seconds, so that every one can show all of them. It needs no
//! shared store: that one has not answered for a while is among what is said.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use archive::{NodeFigures, Room, ShardLag, Watermark, ledger::Kind};
use minicbor::{Decode, Encode};

use crate::{
    board::Board,
    wire::{Answer, Question},
};

/// Figures older than this are not shown.
const OLD: Duration = Duration::from_secs(30);

/// What a node says of itself, as bytes.
#[derive(Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct FiguresRow {
    #[n(0)]
    pvs: Vec<u64>,
    #[n(1)]
    lost: u64,
    #[n(2)]
    appended: u64,
    #[n(3)]
    durable: u64,
    #[n(4)]
    log_bytes: u64,
    /// Free bytes of the disk, and its size.
    #[n(5)]
    room: Option<(u64, u64)>,
    #[n(6)]
    refusal: Option<String>,
    #[n(7)]
    problems: u64,
    #[n(8)]
    shards: Vec<LagRow>,
    #[n(9)]
    page: Option<String>,
}

#[derive(Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct LagRow {
    #[n(0)]
    shard: u32,
    #[n(1)]
    epoch: u64,
    #[n(2)]
    rows: u64,
    #[n(3)]
    samples: u64,
    #[n(4)]
    changes: u64,
    #[n(5)]
    detached_seconds: Option<u64>,
}

impl From<&NodeFigures> for FiguresRow {
    fn from(of: &NodeFigures) -> FiguresRow {
        let lag = |of: &ShardLag| LagRow {
            shard: of.shard,
            epoch: of.epoch,
            rows: of.rows,
            samples: of.samples,
            changes: of.changes,
            detached_seconds: of.detached_seconds,
        };
        FiguresRow {
            pvs: of.pvs.to_vec(),
            lost: of.lost,
            appended: of.watermark.appended,
            durable: of.watermark.durable,
            log_bytes: of.log_bytes,
            room: of.room.map(|room| (room.free, room.total)),
            refusal: of.refusal.clone(),
            problems: of.problems,
            shards: of.shards.iter().map(lag).collect(),
            page: of.page.clone(),
        }
    }
}

impl FiguresRow {
    fn figures(self, age: Duration) -> Option<NodeFigures> {
        let lag = |of: LagRow| ShardLag {
            shard: of.shard,
            epoch: of.epoch,
            rows: of.rows,
            samples: of.samples,
            changes: of.changes,
            detached_seconds: of.detached_seconds,
        };
        Some(NodeFigures {
            age,
            pvs: self.pvs.try_into().ok()?,
            lost: self.lost,
            watermark: Watermark { appended: self.appended, durable: self.durable },
            log_bytes: self.log_bytes,
            room: self.room.map(|(free, total)| Room { free, total }),
            refusal: self.refusal,
            problems: self.problems,
            shards: self.shards.into_iter().map(lag).collect(),
            page: self.page,
        })
    }
}

/// What other nodes said last, and when.
#[derive(Debug, Default)]
pub(crate) struct Said(Mutex<BTreeMap<String, (Instant, NodeFigures)>>);

impl Said {
    /// What a node said last, if that is not too long ago.
    pub(crate) fn by(&self, node: &str) -> Option<NodeFigures> {
        let said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, figures) = said.get(node)?;
        let age = at.elapsed();
        (age < OLD).then(|| NodeFigures { age, ..figures.clone() })
    }
}

impl Board {
    /// What this node says of itself.
    pub(crate) fn own_figures(&self) -> NodeFigures {
        let mut sum = NodeFigures {
            problems: self.problems().len() as u64,
            page: self.plan.page.clone(),
            ..NodeFigures::default()
        };
        for (shard, open) in self.open() {
            let (health, totals, watermark) =
                (open.storage.health().numbered(shard), open.standing.totals(), open.storage.watermark());
            let stand = [totals.searching, totals.connected, totals.disconnected, totals.paused];
            sum.pvs.iter_mut().zip(stand).for_each(|(sum, of)| *sum += of);
            let lost = archive::ledger::Column::of(&[Kind::Lost, Kind::Missed], totals.counters.counts());
            sum.lost += lost.map(|(_, count)| count).sum::<u64>();
            sum.watermark.appended += watermark.appended;
            sum.watermark.durable += watermark.durable;
            sum.log_bytes += health.log_bytes;
            sum.room = sum.room.or_else(|| health.places.first().and_then(|place| place.room));
            sum.problems += health.problems.len() as u64 + u64::from(health.refusal.is_some());
            sum.refusal = sum.refusal.or(health.refusal);
            sum.shards.extend(health.shards);
        }
        sum
    }

    /// Asks all other nodes that live what they have to say of themselves. To be called every few seconds; a node that does not answer
    /// holds up those behind it for as long as a question takes.
    pub fn ask_figures(&self) {
        for node in self.others() {
            if let Ok(Answer::Figures(row)) = self.ask(&node, &Question::Figures)
                && let Some(figures) = row.figures(Duration::ZERO)
            {
                let mut said = self.said.0.lock().unwrap_or_else(PoisonError::into_inner);
                said.insert(node, (Instant::now(), figures));
            }
        }
        let known: Vec<String> = self.nodes().into_iter().map(|(node, ..)| node).collect();
        self.said.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|node, _| known.contains(node));
    }

    /// What a node says of itself, as far as this one knows.
    pub(crate) fn figures_of(&self, node: &str) -> Option<NodeFigures> {
        if node == self.own() { Some(self.own_figures()) } else { self.said.by(node) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire;

    #[test]
    fn figures_come_back_and_what_is_no_set_of_them_is_none() {
        let lag = ShardLag { shard: 3, epoch: 9, rows: 7, samples: 5, changes: 1, detached_seconds: Some(8) };
        let figures = NodeFigures {
            pvs: [1, 2, 3, 4],
            lost: 6,
            watermark: Watermark { appended: 9, durable: 8 },
            room: Some(Room { free: 1, total: 2 }),
            refusal: Some("full".to_owned()),
            page: Some("https://a.example.org/".to_owned()),
            shards: vec![lag],
            ..NodeFigures::default()
        };
        let sent = wire::bytes(&Answer::Figures((&figures).into()));
        let Some(Answer::Figures(row)) = wire::read(&sent) else { panic!("it was just written") };
        assert_eq!(row.figures(Duration::ZERO), Some(figures.clone()));
        assert_eq!((figures.detached_seconds(), figures.samples_waiting()), (Some(8), 5));
        assert_eq!(FiguresRow { pvs: vec![1], ..FiguresRow::default() }.figures(Duration::ZERO), None);
    }
}
