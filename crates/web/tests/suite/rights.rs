//! What somebody may not see or do: PVs that are not seen are in no answer, and no order is taken that is not covered by a right.
//!
//! Whoever asks here sees `T:…` but for `T:DOUBLE` and `T:ENUM`, and may operate `T:LONG`.

use std::sync::Arc;

use analysis::Units;
use archive::{
    AddRequest, DataFate, Group, Manual, OldName, Principal, Purge, PvEntry, PvName, Right, RuleName, Sense, Switch,
};
use query::{AlignRequest, Alignment, Before, Cut, Operator, Request, Rows, Series, Span};
use sample::{TimeRange, Timestamp};
use served::{Archive, time};
use service::{Ask, AuditWanted, Budget, Carry, Code, Item, NamedRow, Pattern, PvsWanted, Refusal, Rights};

use crate::served;

/// What is tried, and how.
type Tried<'t> = (&'t str, &'t dyn Fn(&Ask) -> Result<(), Refusal>);

const HIDDEN: [&str; 2] = ["T:DOUBLE", "T:ENUM"];

fn ask(archive: &Archive) -> Ask {
    let lease = Arc::new(Budget::new(64 << 20).lease());
    Ask::new(Arc::clone(&archive.service), Principal::here("somebody"), lease, || false)
}

/// Of somebody who may do little.
fn limited(archive: &Archive) -> Ask {
    ask(archive).with_rights(Rights::everywhere(None).or_by_name(|name| match name {
        name if HIDDEN.contains(&name) => None,
        "T:LONG" => Some(Right::Operate),
        name => name.starts_with("T:").then_some(Right::Read),
    }))
}

/// An archive in which a hidden PV has an alias, a deleted range, a pause, and a removed one beside it.
fn archive() -> Archive {
    let archive = Archive::with_history();
    let all = ask(&archive);
    let hidden = all.pv("T:DOUBLE").unwrap();
    all.add_alias(hidden.id, &PvName::new("T:OTHER").unwrap()).unwrap();
    all.delete_range(hidden.id, TimeRange::new(time(-1.0), time(0.1)).unwrap()).unwrap();
    all.remove(&[all.pv("T:ENUM").unwrap().id], DataFate::Keep).unwrap();
    all.resume(&[all.pv("T:BYTE").unwrap().id]).unwrap();
    all.pause(&[all.pv("T:BYTE").unwrap().id]).unwrap();
    let switch = Switch { pv: hidden.name.clone(), protocol: None, sense: Sense::Enables };
    all.make_groups(vec![Group { name: RuleName::new("T:DOUBLE").unwrap(), switches: vec![switch] }]).unwrap();
    archive
}

fn is_hidden(name: &str) -> bool {
    HIDDEN.contains(&name) || name == "T:OTHER"
}

fn range() -> TimeRange {
    TimeRange::new(time(-1.0), time(5.0)).unwrap()
}

#[test]
fn lists_leave_out_what_is_not_seen() {
    let archive = archive();
    let (all, few) = (ask(&archive), limited(&archive));
    let names = |ask: &Ask, pattern: Pattern| -> Vec<String> {
        let page = ask.pvs(&PvsWanted { pattern, state: None, offset: 0, limit: 100 }).unwrap();
        let total = page.total;
        let names: Vec<String> = page.map(|row| row.unwrap().name.to_string()).collect();
        assert_eq!(total, names.len());
        names
    };
    for pattern in ["", "t:", "T:*", "~.*"] {
        let search = |ask: &Ask| Pattern::search(pattern, &ask.lease).unwrap();
        assert!(names(&all, search(&all)).iter().any(|name| is_hidden(name)), "{pattern:?} finds them");
        let seen = names(&few, search(&few));
        assert!(seen.len() == 7 && !seen.iter().any(|name| is_hidden(name)), "{pattern:?}: {seen:?}");
        let fitting = few.fitting(&search(&few)).unwrap();
        assert!(fitting.len() == 7 && !fitting.iter().any(|item| is_hidden(item.name.as_str())), "{pattern:?}");
    }
    let resolved = few.resolve(vec!["T:*".to_owned(), "T:OTHER".to_owned()], |name| Some(few.find(name)?.id)).unwrap();
    assert_eq!(resolved.iter().filter(|item| item.pv.is_some()).count(), 7);
    assert!(!few.all_names().any(|name| is_hidden(name.as_str())) && few.all_names().count() == 7);
    assert!(!few.all_pvs().any(|entry| is_hidden(entry.name.as_str())) && few.all_pvs().count() == 7);
    assert!(all.all_configured().unwrap().count() == 8 && few.all_configured().unwrap().count() == 7);
    assert!(all.aliases().len() == 1 && few.aliases().is_empty());
    assert!(all.deletions().len() == 1 && few.deletions().is_empty());
    assert!(all.removed().len() == 1 && few.removed().is_empty());
    assert!(all.groups().unwrap().len() == 1 && few.groups().unwrap().is_empty());
    assert!(few.last_removed("T:ENUM", None).is_err() && few.purge_of(Some("T:ENUM"), Timestamp::MAX).is_err());
}

#[test]
fn the_audit_tells_only_of_what_is_seen() {
    let archive = archive();
    let (all, few) = (ask(&archive), limited(&archive));
    let of = |ask: &Ask, limit: usize| ask.audit(&AuditWanted::newest(limit)).unwrap().lines;
    let hidden: Vec<_> = of(&all, 1000).into_iter().filter(|line| is_hidden(&line.name)).collect();
    assert!(hidden.len() >= 3, "an alias, a deletion and a removal: {hidden:?}");
    let seen = of(&few, 1000);
    assert!(!seen.is_empty() && !seen.iter().any(|line| is_hidden(&line.name) || line.detail.contains("T:OTHER")));
    assert_eq!(of(&few, 2), seen[..2], "what is left out does not count");
}

#[test]
fn reports_leave_out_what_is_not_seen() {
    let archive = archive();
    let few = limited(&archive);
    let all = usize::MAX;
    let names = [
        few.recently_added(all).unwrap().map(|row| row.unwrap().name).collect::<Vec<_>>(),
        few.recently_modified(all).unwrap().map(|row| row.unwrap().name).collect(),
        few.paused_pvs().unwrap().map(|row| row.unwrap().name).collect(),
        few.time_spans(&Pattern::Everything).unwrap().map(|row| row.unwrap().name).collect(),
        few.creations(&Pattern::whole_regex("T:.*", &few.lease).unwrap())
            .unwrap()
            .map(|row| row.unwrap().name)
            .collect(),
    ];
    for names in names {
        assert!(names.len() == 7 && !names.iter().any(|name| is_hidden(name.as_str())), "{names:?}");
    }
    // By each name, an alias of a PV that is not seen too.
    let fares = |ask: &Ask| {
        let name = |row: NamedRow<Item>| (row.asked.name.to_string(), row.seen.unwrap().sight().name.to_string());
        ask.all_fares().map(|row| name(row.unwrap())).collect::<Vec<_>>()
    };
    let (of_all, of_few) = (fares(&ask(&archive)), fares(&few));
    assert!(of_all.contains(&("T:OTHER".to_owned(), "T:DOUBLE".to_owned())) && of_all.len() == 9, "{of_all:?}");
    assert!(of_few.len() == 7 && !of_few.iter().any(|(name, _)| is_hidden(name)), "{of_few:?}");
    let hidden = ask(&archive).pv("T:DOUBLE").unwrap();
    assert!(few.fares(std::iter::once(()), |()| Some(hidden.id)).all(|row| row.unwrap().seen.is_none()));
    assert!(!few.storage_consumed(all).unwrap().any(|row| is_hidden(row.unwrap().name.as_str())));
}

/// Every read by a number that somebody has got elsewhere.
#[test]
fn nothing_is_read_of_what_is_not_seen() {
    let archive = archive();
    let (all, few) = (ask(&archive), limited(&archive));
    for name in ["T:DOUBLE", "T:OTHER"] {
        let unknown = few.pv("T:NOT_THERE").unwrap_err();
        let refusal = few.pv(name).unwrap_err();
        assert_eq!(refusal.message(), unknown.message().replace("T:NOT_THERE", name), "as if it were not there");
        assert!(few.find(name).is_none() && few.series(name, None).is_err());
        let in_condition = |name: &str| {
            let text = format!("T:LONG > 1 while {name} > 1");
            few.when(&text, range(), Units::Same).err().expect("it is refused")
        };
        let (hidden, unknown) = (in_condition(name), in_condition("T:NOT_THERE"));
        assert_eq!(hidden.message(), unknown.message().replace("T:NOT_THERE", name), "in a condition, too");
        assert!(!hidden.what_to_do().is_some_and(is_hidden), "{hidden:?}");
        assert!(few.live([name], None).is_err());
    }
    let hidden = all.pv("T:DOUBLE").unwrap();
    let (pv, series) = (hidden.id, Series::from(hidden.id));
    let span = Span { from: time(0.0), to: time(5.0) };
    let mean = Operator::parse("mean_60", &[]).unwrap();
    let request = Request { series: series.clone(), range: range(), before: Before::Include };
    let align = |series: Vec<Series>, rows| AlignRequest {
        series,
        range: range(),
        rows,
        alignment: Alignment::Previous,
        tolerance: None,
    };
    let seen = Series::from(all.pv("T:LONG").unwrap().id);
    let second = Rows::Every(std::time::Duration::from_secs(1));
    let reads: &[Tried] = &[
        ("samples", &|ask| ask.samples(&request).map(drop)),
        ("last_before", &|ask| ask.last_before(&series, Timestamp::MAX).map(drop)),
        ("bins", &|ask| ask.bins(series.clone(), range(), Cut::Equal(3)).map(drop)),
        ("aligned", &|ask| ask.aligned(&align(vec![seen.clone(), series.clone()], second.clone())).map(drop)),
        ("times of", &|ask| ask.aligned(&align(vec![seen.clone()], Rows::Of(series.clone()))).map(drop)),
        ("reduced", &|ask| ask.reduced(pv, span, &mean).map(drop)),
        ("reduced together", &|ask| ask.reduced_together(pv, &[span, span], span, &mean).map(drop)),
        ("gaps", &|ask| ask.gaps(&series, range()).map(drop)),
        ("own gaps", &|ask| ask.own_gaps(pv, range()).map(drop)),
        ("metadata", &|ask| ask.metadata(pv, range()).map(drop)),
        ("extent", &|ask| ask.extent(pv).map(drop)),
        ("field samples", &|ask| ask.field_samples(pv, range(), "HIHI").map(drop)),
        ("carried", &|ask| ask.carried(pv, range(), None).map(drop)),
        ("headers", &|ask| ask.headers(pv, range()).map(drop)),
        ("size", &|ask| ask.size(pv).map(drop)),
        ("details", &|ask| ask.details(&hidden).map(drop)),
        ("configured", &|ask| ask.configured(hidden.clone()).map(drop)),
        ("explain", &|ask| ask.explain(&hidden, None, range(), None).map(drop)),
        ("ledger", &|ask| ask.ledger(&hidden, range(), 60).map(drop)),
    ];
    for (name, read) in reads {
        assert!(read(&all).is_ok(), "{name} can be read");
        assert_eq!(read(&few).unwrap_err().code(), Code::UnknownPv, "{name}");
    }
    assert!(all.pv_status(pv).is_some() && few.pv_status(pv).is_none());
    assert!(few.entry(pv).is_none() && few.configuration(pv).is_none() && few.rate(&hidden).is_none());
}

/// Every order, first by somebody who may see the PV and not more, then by the archive's own.
#[test]
fn no_order_is_taken_without_its_right() {
    let archive = archive();
    let (all, few) = (ask(&archive), limited(&archive));
    let text = |entry: &PvEntry| entry.name.to_string();
    let name = |text: &str| PvName::new(text).unwrap();
    let (read, operate) = (all.pv("T:STRING").unwrap(), all.pv("T:LONG").unwrap());
    assert!(few.may(Right::Operate, &text(&operate)) && !few.may(Right::Operate, &text(&read)));
    let new = |text: &str| vec![AddRequest::new(name(text))];
    let import = |ask: &Ask, entry: &PvEntry| {
        ask.import_of_pv(entry, "import", "part", None)?.take_samples(entry, std::iter::empty()).map(drop)
    };
    let group = || Group {
        name: RuleName::new("G").unwrap(),
        switches: vec![Switch { pv: name("T:STRING"), protocol: None, sense: Sense::Enables }],
    };
    let operates: &[Tried] = &[
        ("add", &|ask| ask.add(new("T:NEW")).map(drop)),
        ("add what is there", &|ask| ask.add(new("T:STRING")).map(drop)),
        ("pause", &|ask| ask.pause(&[operate.id, read.id]).map(drop)),
        ("resume", &|ask| ask.resume(&[read.id]).map(drop)),
        ("import", &|ask| import(ask, &read)),
        ("make a group", &|ask| ask.make_groups(vec![group()])),
        ("set a group", &|ask| ask.set_group(&group()).map(drop)),
        ("remove a group", &|ask| ask.remove_group(&group().name).map(drop)),
        ("apply", &|ask| ask.apply_rules(Manual::Leave).map(drop)),
    ];
    for (what, order) in operates {
        assert_eq!(order(&few).unwrap_err().code(), Code::RightMissing, "{what}");
        assert!(order(&all).is_ok(), "{what} can be ordered");
    }
    few.pause(&[operate.id]).unwrap();
    import(&few, &operate).unwrap();
    let purge = Purge { pv: None, before: served::clock() };
    let administers: &[Tried] = &[
        ("alias", &|ask| ask.add_alias(operate.id, &name("T:ALIAS"))),
        ("remove an alias", &|ask| ask.remove_alias(operate.id, &name("T:ALIAS"))),
        ("rename", &|ask| ask.rename(operate.id, &name("T:RENAMED"), OldName::Free).map(drop)),
        ("rename back", &|ask| ask.rename(operate.id, &name("T:LONG"), OldName::Free).map(drop)),
        ("delete", &|ask| ask.delete_range(operate.id, range()).map(drop)),
        ("append", &|ask| ask.append_pv(&read, &operate).map(drop)),
        ("remove", &|ask| ask.remove(&[operate.id], DataFate::Keep).map(drop)),
        ("remove by name", &|ask| ask.remove_named(vec!["T:BYTE".to_owned()], DataFate::Keep, Carry::Out).map(drop)),
        ("restore by name", &|ask| ask.restore_named(vec!["T:BYTE".to_owned()], Carry::Out).map(drop)),
        ("remove one", &|ask| ask.remove_one("T:BYTE", DataFate::Keep).map(drop)),
        ("restore", &|ask| ask.restore(ask.last_removed("T:BYTE", None)?.entry.id, None).map(drop)),
        ("purge", &|ask| ask.purge(purge).map(drop)),
    ];
    for (what, order) in administers {
        assert_eq!(order(&few).unwrap_err().code(), Code::RightMissing, "{what}");
        order(&all).unwrap_or_else(|refusal| panic!("{what} can be ordered: {refusal}"));
    }
    assert_eq!(few.restore_range(0).unwrap_err().code(), Code::UnknownPv, "of a PV that is not seen");
    assert!(few.purgeable(purge).is_err() && all.purgeable(purge).is_ok());
}

/// A name in one's own part of the list may be that of a PV in another.
#[test]
fn another_name_of_a_pv_gives_no_right_to_it() {
    let archive = archive();
    let few = ask(&archive).with_rights(
        Rights::everywhere(None)
            .or_by_name(|name| (!is_hidden(name) || name == "T:OTHER").then_some(Right::Administer)),
    );
    let refusal = few.add(vec![AddRequest::new(PvName::new("T:OTHER").unwrap())]).unwrap_err();
    assert_eq!(refusal.code(), Code::RightMissing);
    assert!(few.pv("T:OTHER").is_err());
}
