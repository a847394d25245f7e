//! Deletions, memos and tokens as nodes send them to each other, converted by hand like all of `wire`. PVs have the numbers of their shard.

use archive::{
    DataFate, Deletion, Ioc, Memo, MemoKind, MemoText, Protocol, PvEntry, PvId, PvName, PvSize, Right, TokenRow,
    UndoPlan, UndoStep, UndoTo,
};
use minicbor::{Decode, Encode};
use sample::{TimeRange, Timestamp};

use crate::wire::{ByWire, fate};

/// A range that was deleted.
#[derive(Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct DeletionRow {
    #[n(0)]
    number: u64,
    #[n(1)]
    pv: u32,
    #[n(2)]
    from: i64,
    #[n(3)]
    to: i64,
    #[n(4)]
    by: ByWire,
    #[n(5)]
    is_final: bool,
}

/// What a purge takes, or would take. Removed PVs are known by their numbers: their shard's list tells the rest.
#[derive(Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct PurgedRow {
    #[n(0)]
    pub(crate) pvs: Vec<u32>,
    #[n(1)]
    pub(crate) ranges: Vec<DeletionRow>,
    #[n(2)]
    pub(crate) samples: u64,
    #[n(3)]
    pub(crate) bytes: u64,
}

/// A memo as somebody writes it.
#[derive(Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct MemoTextRow {
    #[n(0)]
    is_view: bool,
    #[n(1)]
    name: String,
    #[n(2)]
    text: String,
    #[n(3)]
    query: String,
    #[n(4)]
    pvs: Vec<String>,
    #[n(5)]
    from: Option<i64>,
    #[n(6)]
    to: Option<i64>,
    #[n(7)]
    origin: String,
}

/// A memo as it is kept.
#[derive(Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct MemoRow {
    #[n(0)]
    number: u64,
    #[n(1)]
    text: MemoTextRow,
    #[n(2)]
    made: ByWire,
    #[n(3)]
    changed: Option<ByWire>,
}

/// What is kept of a token.
#[derive(Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct KeptTokenRow {
    #[n(0)]
    id: String,
    #[n(1)]
    name: String,
    #[n(2)]
    hash: Vec<u8>,
    #[n(3)]
    right: String,
    #[n(4)]
    pvs: Vec<String>,
    #[n(5)]
    made: ByWire,
    #[n(6)]
    expires: i64,
    #[n(7)]
    used: Option<i64>,
}

/// What undoing an order did to a PV. Its present settings are in the list of its shard.
#[derive(Debug, PartialEq, Encode, Decode)]
pub(crate) enum StepTo {
    #[n(0)]
    Settings,
    #[n(1)]
    Back,
    /// The flag: its data is to go.
    #[n(2)]
    Out(#[n(0)] bool),
    #[n(3)]
    Refused(#[n(0)] String),
}

#[derive(Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct StepRow {
    #[n(0)]
    pv: u32,
    #[n(1)]
    name: String,
    #[n(2)]
    to: StepTo,
}

impl From<&Deletion> for DeletionRow {
    fn from(of: &Deletion) -> DeletionRow {
        let (number, pv, is_final) = (of.number, of.pv.0, of.is_final);
        DeletionRow { number, pv, from: of.range.t0.nanos(), to: of.range.t1.nanos(), by: (&of.by).into(), is_final }
    }
}

impl DeletionRow {
    pub(crate) fn deletion(&self) -> Option<Deletion> {
        let (from, to) = (Timestamp::from_nanos(self.from), Timestamp::from_nanos(self.to));
        Some(Deletion {
            number: self.number,
            pv: PvId(self.pv),
            range: TimeRange::new(from, to).ok()?,
            by: self.by.by()?,
            is_final: self.is_final,
        })
    }
}

impl From<&MemoText> for MemoTextRow {
    fn from(of: &MemoText) -> MemoTextRow {
        MemoTextRow {
            is_view: of.kind == MemoKind::View,
            name: of.name.clone(),
            text: of.text.clone(),
            query: of.query.clone(),
            pvs: of.pvs.iter().map(PvName::to_string).collect(),
            from: of.from.map(Timestamp::nanos),
            to: of.to.map(Timestamp::nanos),
            origin: of.origin.clone(),
        }
    }
}

impl MemoTextRow {
    pub(crate) fn text(&self) -> Option<MemoText> {
        Some(MemoText {
            kind: if self.is_view { MemoKind::View } else { MemoKind::Note },
            name: self.name.clone(),
            text: self.text.clone(),
            query: self.query.clone(),
            pvs: self.pvs.iter().map(|name| PvName::recorded(name)).collect::<Result<_, _>>().ok()?,
            from: self.from.map(Timestamp::from_nanos),
            to: self.to.map(Timestamp::from_nanos),
            origin: self.origin.clone(),
        })
    }
}

impl From<&Memo> for MemoRow {
    fn from(of: &Memo) -> MemoRow {
        let changed = of.changed.as_ref().map(ByWire::from);
        MemoRow { number: of.number, text: (&of.text).into(), made: (&of.made).into(), changed }
    }
}

impl MemoRow {
    pub(crate) fn memo(&self) -> Option<Memo> {
        let changed = match &self.changed {
            Some(by) => Some(by.by()?),
            None => None,
        };
        Some(Memo { number: self.number, text: self.text.text()?, made: self.made.by()?, changed })
    }
}

impl From<&TokenRow> for KeptTokenRow {
    fn from(of: &TokenRow) -> KeptTokenRow {
        KeptTokenRow {
            id: of.id.to_string(),
            name: of.name.to_string(),
            hash: of.hash.to_vec(),
            right: of.right.name().to_owned(),
            pvs: of.pvs.iter().map(|pattern| pattern.to_string()).collect(),
            made: (&of.made).into(),
            expires: of.expires.nanos(),
            used: of.used.map(Timestamp::nanos),
        }
    }
}

impl KeptTokenRow {
    pub(crate) fn token(&self) -> Option<TokenRow> {
        Some(TokenRow {
            id: self.id.as_str().into(),
            name: self.name.as_str().into(),
            hash: self.hash.as_slice().try_into().ok()?,
            right: Right::from_name(&self.right)?,
            pvs: self.pvs.iter().map(|pattern| pattern.as_str().into()).collect(),
            made: self.made.by()?,
            expires: Timestamp::from_nanos(self.expires),
            used: self.used.map(Timestamp::from_nanos),
        })
    }
}

pub(crate) fn steps_rows(plan: &UndoPlan) -> Vec<StepRow> {
    let row = |step: &UndoStep| StepRow {
        pv: step.pv.0,
        name: step.name.to_string(),
        to: match &step.to {
            UndoTo::Settings(_) => StepTo::Settings,
            UndoTo::Back(_) => StepTo::Back,
            UndoTo::Out(data) => StepTo::Out(*data == DataFate::Delete),
            UndoTo::Refused(why) => StepTo::Refused(why.clone()),
        },
    };
    plan.steps.iter().map(row).collect()
}

impl StepRow {
    /// The step, where the list has this of the PV now; none if it makes no sense.
    pub(crate) fn step(&self, now: impl Fn(PvId) -> Option<PvEntry>) -> Option<UndoStep> {
        let pv = PvId(self.pv);
        let to = match &self.to {
            StepTo::Settings => UndoTo::Settings(now(pv)?),
            StepTo::Back => UndoTo::Back(now(pv)?),
            StepTo::Out(deletes) => UndoTo::Out(fate(*deletes)),
            StepTo::Refused(why) => UndoTo::Refused(why.clone()),
        };
        Some(UndoStep { pv, name: PvName::recorded(&self.name).ok()?, to })
    }
}

/// What a PV takes on disk.
#[derive(Debug, PartialEq, Encode, Decode)]
pub(crate) struct SizeRow {
    #[n(0)]
    pub(crate) pv: u32,
    #[n(1)]
    samples: u64,
    #[n(2)]
    bytes: u64,
    #[n(3)]
    first: i64,
    #[n(4)]
    last: i64,
}

impl SizeRow {
    pub(crate) fn of(pv: PvId, size: &PvSize) -> SizeRow {
        let PvSize { samples, bytes, first, last } = *size;
        SizeRow { pv: pv.0, samples, bytes, first: first.nanos(), last: last.nanos() }
    }

    pub(crate) fn size(&self) -> PvSize {
        let (first, last) = (Timestamp::from_nanos(self.first), Timestamp::from_nanos(self.last));
        PvSize { samples: self.samples, bytes: self.bytes, first, last }
    }
}

/// What is known of the connection to an IOC.
#[derive(Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct IocRow {
    #[n(0)]
    address: String,
    #[n(1)]
    protocol: String,
    #[n(2)]
    circuits: u64,
    #[n(3)]
    since: i64,
    #[n(4)]
    opened: u64,
    #[n(5)]
    lost: u64,
    #[n(6)]
    restarts: u64,
    #[n(7)]
    restarted: Option<i64>,
    #[n(8)]
    last_beacon: Option<i64>,
}

impl From<&Ioc> for IocRow {
    fn from(of: &Ioc) -> IocRow {
        IocRow {
            address: of.address.to_string(),
            protocol: of.protocol.name().to_owned(),
            circuits: of.circuits,
            since: of.since.nanos(),
            opened: of.opened,
            lost: of.lost,
            restarts: of.restarts,
            restarted: of.restarted.map(Timestamp::nanos),
            last_beacon: of.last_beacon.map(Timestamp::nanos),
        }
    }
}

impl IocRow {
    pub(crate) fn ioc(&self) -> Option<Ioc> {
        Some(Ioc {
            address: self.address.parse().ok()?,
            protocol: Protocol::from_name(&self.protocol)?,
            circuits: self.circuits,
            since: Timestamp::from_nanos(self.since),
            opened: self.opened,
            lost: self.lost,
            restarts: self.restarts,
            restarted: self.restarted.map(Timestamp::from_nanos),
            last_beacon: self.last_beacon.map(Timestamp::from_nanos),
        })
    }
}

#[cfg(test)]
mod tests {
    use archive::{By, How, Principal};

    use super::*;
    use crate::wire;

    fn by(seconds: i64) -> By {
        By::new(Principal::shown(How::Oidc, "ana"), Timestamp::from_seconds(seconds, 0))
    }

    /// A row comes back from its bytes, and no part of them is one.
    fn comes_back<T>(row: T) -> T
    where
        T: std::fmt::Debug + PartialEq + Encode<()> + for<'b> Decode<'b, ()>,
    {
        let sent = wire::bytes(&row);
        for len in 0..sent.len() {
            assert_eq!(wire::read::<T>(&sent[..len]), None, "cut at {len}");
        }
        let read = wire::read::<T>(&sent).unwrap();
        assert_eq!(read, row);
        read
    }

    #[test]
    fn what_was_deleted_memos_and_tokens_come_back_as_they_were() {
        let range = TimeRange::new(Timestamp::from_seconds(1, 2), Timestamp::MAX).unwrap();
        let deletion = Deletion { number: 7, pv: PvId(3), range, by: by(5), is_final: true };
        assert_eq!(comes_back(DeletionRow::from(&deletion)).deletion(), Some(deletion));
        let text = MemoText {
            kind: MemoKind::View,
            name: "operation/trips".to_owned(),
            text: "why".to_owned(),
            query: "pv=A".to_owned(),
            pvs: vec![PvName::new("A:B").unwrap()],
            from: Some(Timestamp::from_seconds(1, 0)),
            to: None,
            origin: String::new(),
        };
        let memo = Memo { number: 9, text, made: by(1), changed: Some(by(2)) };
        assert_eq!(comes_back(MemoRow::from(&memo)).memo(), Some(memo));
        let token = TokenRow {
            id: "abcdefgh".into(),
            name: "ingest".into(),
            hash: [7; 32],
            right: Right::Operate,
            pvs: vec!["SR*".into()],
            made: by(3),
            expires: Timestamp::MAX,
            used: None,
        };
        assert_eq!(comes_back(KeptTokenRow::from(&token)).token(), Some(token));
    }

    #[test]
    fn what_no_archive_would_have_written_is_no_row() {
        let by = ByWire::from(&by(1));
        let backwards = DeletionRow { number: 1, pv: 1, from: 2, to: 1, by, is_final: false };
        assert_eq!(backwards.deletion(), None);
        let step = StepRow { pv: 1, name: "a b".to_owned(), to: StepTo::Out(true) };
        assert_eq!(step.step(|_| None), None);
    }
}
