//! What stands in the catalogue's values about PVs: CBOR maps with numbered keys, converted by hand, so that the public types
//! can change without the files.

use archive::{
    Action, AuditRecord, By, DataFate, Deletion, How, Method, Principal, Protocol, PvEntry, PvId, PvName, PvSettings,
    PvState, RemovedPv, Way,
};
use minicbor::{Decode, Encode};
use sample::{TimeRange, Timestamp};

use super::rules_wire::{RulesRow, rules, rules_row};
use crate::{
    bytes::{Cursor, put_varint},
    catalog::deletion::Hiding,
};

/// Whether a PV is archived, or was removed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
enum Presence {
    #[n(0)]
    Archived,
    #[n(1)]
    Kept,
    #[n(2)]
    Deleted,
    #[n(3)]
    Purging,
    #[n(4)]
    Purged,
    /// One that the archive keeps for itself.
    #[n(5)]
    Own,
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct PvWire {
    #[n(0)]
    name: String,
    #[n(1)]
    presence: Presence,
    #[n(2)]
    protocol: String,
    /// None: a monitor.
    #[n(3)]
    scan_period_nanos: Option<u64>,
    #[n(4)]
    paused: bool,
    #[n(5)]
    added: i64,
    #[n(6)]
    removed: Option<ByRow>,
    /// Of a removed PV; those of the others have a table.
    #[n(7)]
    aliases: Option<Vec<String>>,
    /// Since when it is out of the archive.
    #[n(8)]
    since: Option<i64>,
    /// What is asked beyond the method.
    #[n(9)]
    rules: Option<RulesRow>,
}

#[derive(Encode, Decode)]
#[cbor(map)]
pub(super) struct ByRow {
    #[n(0)]
    at: i64,
    /// In one text, what was claimed before what was established.
    #[n(1)]
    who: String,
    /// Not in rows of older programs, as all that follows.
    #[n(2)]
    how: Option<String>,
    #[n(3)]
    claimed: Option<String>,
    #[n(4)]
    way: Option<WayRow>,
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct WayRow {
    #[n(0)]
    address: Option<String>,
    #[n(1)]
    listener: String,
    #[n(2)]
    request: String,
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct DeletionRow {
    #[n(0)]
    pv: u32,
    #[n(1)]
    t0: i64,
    #[n(2)]
    t1: i64,
    #[n(3)]
    below: u64,
    #[n(4)]
    by: ByRow,
    #[n(5)]
    is_final: bool,
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct AuditRow {
    #[n(0)]
    by: ByRow,
    #[n(1)]
    action: u8,
    #[n(2)]
    pv: Option<u32>,
    #[n(3)]
    name: String,
    #[n(4)]
    detail: String,
    #[n(5)]
    range: Option<(i64, i64)>,
    #[n(6)]
    samples: u64,
    #[n(7)]
    bytes: u64,
    /// Of many: the difference of each number to the one before it, as varints. Not in rows of older programs.
    #[n(8)]
    #[cbor(with = "minicbor::bytes")]
    pvs: Option<Vec<u8>>,
}

/// What a row says about a PV.
#[derive(Debug, PartialEq)]
pub(super) enum Pv {
    Archived(PvEntry),
    Removed(RemovedPv),
    Purging(PvEntry),
    Purged(PvEntry),
    Own(PvEntry),
}

impl Pv {
    pub(super) fn entry(&self) -> &PvEntry {
        match self {
            Pv::Archived(entry) | Pv::Purging(entry) | Pv::Purged(entry) | Pv::Own(entry) => entry,
            Pv::Removed(removed) => &removed.entry,
        }
    }

    pub(super) fn into_entry(self) -> PvEntry {
        match self {
            Pv::Archived(entry) | Pv::Purging(entry) | Pv::Purged(entry) | Pv::Own(entry) => entry,
            Pv::Removed(removed) => removed.entry,
        }
    }
}

/// What a row takes about; so that a flush, which writes those of all its PVs, does not let each grow bit by bit.
const ROW_BYTES: usize = 128;

fn bytes_of<T: Encode<()>>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ROW_BYTES);
    minicbor::encode(value, &mut bytes).expect("writing to memory cannot fail");
    bytes
}

pub(super) fn by_row(by: &By) -> ByRow {
    let way = by.who.way().map(|way| WayRow {
        address: way.address.map(|address| address.to_string()),
        listener: way.listener.to_string(),
        request: way.request.to_string(),
    });
    ByRow {
        at: by.at.nanos(),
        who: by.who.in_records(),
        how: by.who.how().map(|how| how.name().to_owned()),
        claimed: by.who.how().and(by.who.claimed()).map(str::to_owned),
        way,
    }
}

pub(super) fn by(row: ByRow) -> By {
    let who = match row.how.as_deref().and_then(How::from_name) {
        None => Principal::recorded_alone(&row.who),
        Some(how) => {
            let way = row.way.map(|way| Way {
                address: way.address.and_then(|address| address.parse().ok()),
                listener: way.listener.into(),
                request: way.request.into(),
            });
            Principal::recorded(&row.who, how, row.claimed.as_deref(), way)
        }
    };
    By { who, at: Timestamp::from_nanos(row.at) }
}

fn pv_row(entry: &PvEntry, presence: Presence) -> PvWire {
    let PvSettings { protocol, method, state, ref rules } = entry.settings;
    PvWire {
        name: entry.name.as_str().to_owned(),
        presence,
        protocol: protocol.name().to_owned(),
        scan_period_nanos: match method {
            Method::Monitor => None,
            Method::Scan { period } => Some(u64::try_from(period.as_nanos()).unwrap_or(u64::MAX)),
        },
        paused: state == PvState::Paused,
        added: entry.added.nanos(),
        removed: None,
        aliases: None,
        since: None,
        rules: rules.as_deref().map(rules_row),
    }
}

pub(crate) fn archived_bytes(entry: &PvEntry) -> Vec<u8> {
    bytes_of(&pv_row(entry, Presence::Archived))
}

pub(super) fn purging_bytes(entry: &PvEntry) -> Vec<u8> {
    bytes_of(&pv_row(entry, Presence::Purging))
}

pub(crate) fn own_bytes(entry: &PvEntry) -> Vec<u8> {
    bytes_of(&pv_row(entry, Presence::Own))
}

pub(super) fn purged_bytes(entry: &PvEntry) -> Vec<u8> {
    bytes_of(&pv_row(entry, Presence::Purged))
}

pub(crate) fn removed_bytes(removed: &RemovedPv) -> Vec<u8> {
    let presence = match removed.data {
        DataFate::Keep => Presence::Kept,
        DataFate::Delete => Presence::Deleted,
    };
    let aliases = removed.aliases.iter().map(|alias| alias.as_str().to_owned()).collect();
    bytes_of(&PvWire {
        removed: Some(by_row(&removed.by)),
        aliases: Some(aliases),
        since: Some(removed.since.nanos()),
        ..pv_row(&removed.entry, presence)
    })
}

pub(super) fn pv(id: PvId, bytes: &[u8]) -> Option<Pv> {
    let row: PvWire = minicbor::decode(bytes).ok()?;
    let period = row.scan_period_nanos.map(std::time::Duration::from_nanos);
    let settings = PvSettings {
        protocol: Protocol::from_name(&row.protocol)?,
        method: period.map_or(Method::Monitor, |period| Method::Scan { period }),
        state: if row.paused { PvState::Paused } else { PvState::Active },
        rules: match row.rules {
            None => None,
            Some(row) => Some(rules(row)?),
        },
    };
    let entry =
        PvEntry { id, name: PvName::recorded(&row.name).ok()?, settings, added: Timestamp::from_nanos(row.added) };
    let data = match row.presence {
        Presence::Archived => return Some(Pv::Archived(entry)),
        Presence::Purging => return Some(Pv::Purging(entry)),
        Presence::Purged => return Some(Pv::Purged(entry)),
        Presence::Own => return Some(Pv::Own(entry)),
        Presence::Kept => DataFate::Keep,
        Presence::Deleted => DataFate::Delete,
    };
    let aliases = row.aliases.unwrap_or_default();
    let aliases = aliases.iter().map(|alias| PvName::recorded(alias).ok()).collect::<Option<_>>()?;
    let since = Timestamp::from_nanos(row.since?);
    Some(Pv::Removed(RemovedPv { entry, aliases, data, since, by: by(row.removed?) }))
}

pub(super) fn deletion_bytes(Hiding { of: deletion, below }: &Hiding) -> Vec<u8> {
    bytes_of(&DeletionRow {
        pv: deletion.pv.0,
        t0: deletion.range.t0.nanos(),
        t1: deletion.range.t1.nanos(),
        below: *below,
        by: by_row(&deletion.by),
        is_final: deletion.is_final,
    })
}

pub(super) fn deletion(number: u64, bytes: &[u8]) -> Option<Hiding> {
    let row: DeletionRow = minicbor::decode(bytes).ok()?;
    let range = TimeRange::new(Timestamp::from_nanos(row.t0), Timestamp::from_nanos(row.t1)).ok()?;
    let of = Deletion { number, pv: PvId(row.pv), range, by: by(row.by), is_final: row.is_final };
    Some(Hiding { of, below: row.below })
}

pub(super) fn audit_bytes(record: &AuditRecord) -> Vec<u8> {
    let action = Action::ALL.iter().position(|action| *action == record.action).expect("the list names every action");
    bytes_of(&AuditRow {
        by: by_row(&record.by),
        action: action as u8,
        pv: record.pv.map(|pv| pv.0),
        name: record.name.clone(),
        detail: record.detail.clone(),
        range: record.range.map(|range| (range.t0.nanos(), range.t1.nanos())),
        samples: record.samples,
        bytes: record.bytes,
        pvs: (!record.pvs.is_empty()).then(|| numbers_bytes(&record.pvs)),
    })
}

fn numbers_bytes(pvs: &[PvId]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut before = 0;
    for pv in pvs {
        put_varint(&mut bytes, u64::from(pv.0.wrapping_sub(before)));
        before = pv.0;
    }
    bytes
}

fn numbers(bytes: &[u8]) -> Option<Vec<PvId>> {
    let mut cursor = Cursor::new(bytes);
    let (mut pvs, mut before) = (Vec::new(), 0u32);
    while !cursor.is_empty() {
        before = before.wrapping_add(u32::try_from(cursor.varint().ok()?).ok()?);
        pvs.push(PvId(before));
    }
    Some(pvs)
}

pub(super) fn audit(number: u64, bytes: &[u8]) -> Option<AuditRecord> {
    let row: AuditRow = minicbor::decode(bytes).ok()?;
    let range = match row.range {
        None => None,
        Some((t0, t1)) => Some(TimeRange::new(Timestamp::from_nanos(t0), Timestamp::from_nanos(t1)).ok()?),
    };
    Some(AuditRecord {
        number,
        by: by(row.by),
        action: *Action::ALL.get(usize::from(row.action))?,
        pv: row.pv.map(PvId),
        pvs: match row.pvs {
            None => Vec::new(),
            Some(bytes) => numbers(&bytes)?,
        },
        name: row.name,
        detail: row.detail,
        range,
        samples: row.samples,
        bytes: row.bytes,
    })
}

#[cfg(test)]
mod tests {
    use archive::Rules;

    use super::*;

    fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[test]
    fn rows_with_everything_come_back() {
        let method = Method::Scan { period: std::time::Duration::from_millis(1500) };
        let asked = Rules { is_field: true, ..Rules::default() };
        let settings = PvSettings { protocol: Protocol::Pva, method, state: PvState::Paused, rules: asked.shared() };
        let entry = PvEntry { id: PvId(7), name: PvName::new("A:B").unwrap(), settings, added: at(-5) };
        let by = By::new("somebody", at(9));
        let aliases = vec![PvName::new("C").unwrap()];
        let removed = RemovedPv { entry: entry.clone(), aliases, data: DataFate::Delete, since: at(8), by: by.clone() };
        assert_eq!(pv(PvId(7), &archived_bytes(&entry)), Some(Pv::Archived(entry.clone())));
        assert_eq!(pv(PvId(7), &purging_bytes(&entry)), Some(Pv::Purging(entry.clone())));
        assert_eq!(pv(PvId(7), &own_bytes(&entry)), Some(Pv::Own(entry.clone())));
        assert_eq!(pv(PvId(7), &purged_bytes(&entry)), Some(Pv::Purged(entry)));
        assert_eq!(pv(PvId(7), &removed_bytes(&removed)), Some(Pv::Removed(removed)));

        let range = TimeRange::new(at(3), at(4)).unwrap();
        let of = Deletion { number: 4, pv: PvId(7), range, by: by.clone(), is_final: true };
        let of = Hiding { of, below: 12 };
        assert_eq!(deletion(4, &deletion_bytes(&of)), Some(of));
        for action in Action::ALL {
            let record = AuditRecord {
                number: 5,
                pv: Some(PvId(7)),
                pvs: vec![PvId(9), PvId(0), PvId(u32::MAX)],
                name: "A:B".into(),
                detail: "C".into(),
                range: Some(range),
                samples: 8,
                bytes: 9,
                ..AuditRecord::new(action, &by)
            };
            assert_eq!(audit(5, &audit_bytes(&record)), Some(record));
        }
    }

    #[test]
    fn a_row_says_how_somebody_was_established_from_where_and_what_he_said() {
        let way =
            Way { address: Some("10.0.0.7".parse().unwrap()), listener: "0.0.0.0:17665".into(), request: "a-1".into() };
        let who = Principal::shown(How::Oidc, "ana at home").calling_itself("root").by_way(way);
        let record = AuditRecord::new(Action::Renamed, &By::new(who, at(1)));
        assert_eq!(audit(0, &audit_bytes(&record)), Some(record));
    }

    #[test]
    fn rows_of_older_programs_are_read_and_they_read_what_they_know_of_ours() {
        #[derive(Encode, Decode)]
        #[cbor(map)]
        struct OldBy {
            #[n(0)]
            at: i64,
            #[n(1)]
            who: String,
        }
        let old = bytes_of(&OldBy { at: 7, who: "ana at 10.0.0.7".to_owned() });
        assert_eq!(by(minicbor::decode(&old).unwrap()).who, Principal::recorded_alone("ana at 10.0.0.7"));
        let way = Way { address: None, listener: "socket".into(), request: "1".into() };
        let new = bytes_of(&by_row(&By::new(Principal::shown(How::Socket, "0").by_way(way), at(8))));
        let read: OldBy = minicbor::decode(&new).unwrap();
        assert_eq!((read.at, &*read.who), (8, "local:0"));
    }
}
