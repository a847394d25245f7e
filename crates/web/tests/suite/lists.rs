//! Lists of PVs over HTTP: sorted, found by words, narrowed, counted, paged while PVs come and go, and never with what is not seen.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use access::Scope;
use archive::{AddRequest, DataFate, Fits, OldName, Principal, PvName, PvState, Record, Right, Sink, Wishes};
use proptest::{
    prelude::*,
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use sample::Metadata;
use serde_json::{Value, json};
use service::{
    Ask, AuditWanted, Budget, IocsWanted, ListWanted, Rights, Separators, SortBy, TreeChild, TreeLevel, TreeWanted,
};
use web::rights_of;

use crate::served::{Answer, Archive, clock};

fn page(archive: &Archive, query: &str) -> Value {
    let answer = archive.get(&format!("/api/v1/pvs?{query}"));
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    answer.json()
}

fn names_of(page: &Value) -> Vec<String> {
    page["pvs"].as_array().unwrap().iter().map(|pv| pv["name"].as_str().unwrap().to_owned()).collect()
}

fn names(archive: &Archive, query: &str) -> Vec<String> {
    let page = page(archive, query);
    assert_eq!(page["total"].as_u64(), Some(names_of(&page).len() as u64), "{query}");
    names_of(&page)
}

fn ask(archive: &Archive) -> Ask {
    let lease = Arc::new(Budget::new(64 << 20).lease());
    Ask::new(Arc::clone(&archive.service), Principal::here("somebody"), lease, || false)
}

fn add(archive: &Archive, names: impl IntoIterator<Item = String>) {
    let requests = names.into_iter().map(|name| AddRequest::new(PvName::new(&name).unwrap()));
    ask(archive).add(requests.collect()).unwrap();
}

#[test]
fn pvs_are_found_by_words_in_any_order_and_counted() {
    let archive = Archive::with_history();
    let body =
        json!({ "pvs": [{ "name": "W:1", "groups": ["beam"] }, { "name": "W:2", "groups": ["beam", "water"] }] });
    assert_eq!(archive.post("/api/v1/pvs", "application/json", body.to_string().as_bytes()).status, 200);
    ask(&archive).add_alias(ask(&archive).pv("T:LONG").unwrap().id, &PvName::new("Other:Name").unwrap()).unwrap();
    for (query, expected) in [
        ("words=CURRENT%20beam", vec!["T:DOUBLE"]),
        ("words=ma", vec!["T:DOUBLE"]),
        ("words=other", vec!["T:LONG"]),
        ("words=water", vec!["W:2"]),
        ("words=5064", vec!["T:DOUBLE"]),
        ("words=beam&state=searching", vec!["W:1", "W:2"]),
        ("group=beam&order=desc", vec!["W:2", "W:1"]),
        ("group=-&match=w", vec![]),
        ("ioc=127.0.0.1", vec!["T:DOUBLE"]),
        ("ioc=127.0.0.1:5065", vec![]),
        ("match=T:*E&sort=name", vec!["T:BYTE", "T:CHANGE", "T:DOUBLE", "T:NONE", "T:STRUCTURE"]),
        ("match=other&sort=name", vec!["T:LONG"]),
        ("sort=added&match=W&order=asc", vec!["W:1", "W:2"]),
    ] {
        assert_eq!(names(&archive, query), expected, "{query}");
    }
    let counted = page(&archive, "words=beam&state=paused&limit=0");
    assert_eq!((&counted["total"], &counted["next"]), (&json!(1), &json!(null)));
    let states = json!({ "searching": 2, "connected": 0, "disconnected": 0, "paused": 1 });
    assert_eq!(counted["facets"]["state"], states, "as if the list were not narrowed to a state");
    assert_eq!(counted["facets"]["ioc"], json!([{ "name": "127.0.0.1:5064", "pvs": 1 }]));
    let of_all = page(&archive, "sort=name");
    let groups = json!([{ "name": "beam", "pvs": 2 }, { "name": "water", "pvs": 1 }]);
    assert_eq!((&of_all["facets"]["group"], &of_all["total"]), (&groups, &json!(11)));
    let row = &page(&archive, "words=current")["pvs"][0];
    assert_eq!((&row["description"], &row["ioc"]), (&json!("Beam \"current\""), &json!("127.0.0.1:5064")));
    assert_eq!((&row["units"], &row["state"], &row["groups"]), (&json!("mA"), &json!("paused"), &json!([])));
}

#[test]
fn what_fits_no_pv_is_answered_with_what_is_near() {
    let archive = Archive::with_history();
    let near = |query: &str| page(&archive, query)["near"].clone();
    assert_eq!(near("words=T:DUBLE"), json!(["T:DOUBLE"]));
    assert_eq!(near("words=doubel")[0], "DOUBLE");
    assert_eq!(near("ioc=127.0.0.1:5063"), json!(["127.0.0.1:5064"]));
    assert_eq!(page(&archive, "words=double").get("near"), None);
    let none_there = page(&archive, "words=double&state=disconnected");
    assert_eq!((&none_there["total"], &none_there["near"]), (&json!(0), &json!([])), "there is such a PV elsewhere");
}

#[test]
fn bad_questions_are_refused_and_say_why() {
    let archive = Archive::with_history();
    let refused = |query: &str| -> Answer { archive.get(&format!("/api/v1/pvs?{query}")) };
    let next = page(&archive, "sort=rate&limit=1")["next"].as_str().unwrap().to_owned();
    for (query, why) in [
        ("sort=colour".to_owned(), "sort is \"colour\", expected one of name, rate"),
        ("order=up".to_owned(), "order is \"up\", expected one of asc, desc"),
        (format!("sort=rate&offset=3&cursor={next}"), "cursor says where a page begins, and offset says it otherwise"),
        ("cursor=zz".to_owned(), "the cursor is none that this archive gives"),
        (format!("sort=added&cursor={next}"), "the cursor belongs to a list that was asked for otherwise"),
        (format!("words={}", "a%20".repeat(17)), "17 words are looked for, at most 16 are possible"),
        (format!("words={}", "a".repeat(256)), "a word has 256 bytes, at most 255 are possible"),
        ("words=a%1fb".to_owned(), "no PV has the character '\\u{1f}' that is looked for"),
        ("words=a&match=~(".to_owned(), "the pattern \"(\" cannot be used: unclosed group"),
    ] {
        let answer = refused(&query);
        assert!((400..500).contains(&answer.status), "{query}: {}", answer.status);
        let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.starts_with(why), "{query}: {message}");
    }
}

/// Turns all pages of a list, and does something to the archive between each two.
fn pages(archive: &Archive, query: &str, mut meanwhile: impl FnMut(usize)) -> Vec<String> {
    let (mut found, mut cursor, mut turned) = (Vec::new(), String::new(), 0);
    loop {
        let page = page(archive, &format!("{query}&limit=10{cursor}"));
        found.extend(names_of(&page));
        let Some(next) = page["next"].as_str() else { return found };
        cursor = format!("&cursor={next}");
        meanwhile(turned);
        turned += 1;
    }
}

#[test]
fn pages_have_each_pv_once_while_others_come_and_go() {
    let archive = Archive::start(|_| {}, |config| config);
    add(&archive, (0..60).map(|number| format!("PV:{number:02}")));
    let mut fresh = 0;
    for query in ["sort=name", "sort=name&order=desc", "sort=added", "sort=rate", "sort=state&order=desc"] {
        let stay: Vec<String> = (0..60).map(|number| format!("PV:{number:02}")).collect();
        let found = pages(&archive, query, |turned| {
            fresh += 1;
            add(&archive, [format!("PV:{turned}0:NEW{fresh}"), format!("A:{fresh}")]);
            let asked = ask(&archive);
            let gone = asked.pv(&format!("A:{fresh}")).unwrap().id;
            asked.remove(&[gone], DataFate::Keep).unwrap();
            // One that stands on a page behind, and would move to one before or the other way round.
            let moved = asked.pv(&format!("PV:{:02}", 59 - turned)).unwrap();
            match moved.settings.state {
                PvState::Active => asked.pause(&[moved.id]).unwrap(),
                PvState::Paused => asked.resume(&[moved.id]).unwrap(),
            };
        });
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        found.iter().for_each(|name| *seen.entry(name).or_default() += 1);
        assert!(seen.values().all(|count| *count == 1), "{query}: {seen:?}");
        assert!(stay.iter().all(|name| seen.contains_key(name.as_str())), "{query}: {seen:?}");
    }
}

#[test]
fn a_page_in_the_middle_is_had_at_once_and_who_added_pvs_is_told_and_counted() {
    let archive = Archive::start(|_| {}, |config| config);
    let of = |who: &'static str| {
        let lease = Arc::new(Budget::new(64 << 20).lease());
        Ask::new(Arc::clone(&archive.service), Principal::here(who), lease, || false)
    };
    let added = |who: &'static str, names: std::ops::Range<usize>| {
        let requests = names.map(|number| AddRequest::new(PvName::new(&format!("PV:{number:02}")).unwrap()));
        of(who).add(requests.collect()).unwrap();
    };
    added("ana", 0..30);
    let all: Vec<String> = (0..60).map(|number| format!("PV:{number:02}")).collect();
    assert_eq!(page(&archive, "sort=name&limit=1")["pvs"][0]["added_by"], "ana");
    added("bob", 30..60);
    for query in ["sort=name", "sort=added&order=asc", "sort=added_by"] {
        assert_eq!(names_of(&page(&archive, &format!("{query}&offset=25&limit=10"))), all[25..35], "{query}");
    }
    let last = page(&archive, "sort=name&offset=55&limit=10");
    assert_eq!((names_of(&last), &last["next"]), (all[55..].to_vec(), &json!(null)));
    assert_eq!(names_of(&page(&archive, "sort=name&offset=60&limit=10")), [""; 0]);
    let bobs = page(&archive, "added_by=bob&limit=100");
    assert_eq!(names_of(&bobs), all[30..]);
    let counted = json!([{ "name": "ana", "pvs": 30 }, { "name": "bob", "pvs": 30 }]);
    assert_eq!(bobs["facets"]["added_by"], counted, "as if the list were not narrowed to one of them");
    assert_eq!(bobs.get("audit_unread"), None, "all of the audit was read");
    let bob = &bobs["pvs"][0];
    assert_eq!((&bob["added_by"], &bob["policy"], &bob["groups"]), (&json!("bob"), &json!(null), &json!([])));
    let lines: Vec<_> = ask(&archive).audit(&AuditWanted::newest(2)).unwrap().lines;
    let told = lines.iter().map(|line| (line.action.name(), line.pvs.len(), line.by.who.established()));
    assert_eq!(told.collect::<Vec<_>>(), [("added", 30, "bob"), ("added", 30, "ana")]);
}

#[test]
fn the_audit_is_found_by_pv_by_who_by_what_and_by_when() {
    let archive = Archive::start(|_| {}, |config| config);
    let of = |who: &'static str| {
        let lease = Arc::new(Budget::new(64 << 20).lease());
        Ask::new(Arc::clone(&archive.service), Principal::here(who), lease, || false)
    };
    let request = |name: &str| AddRequest::new(PvName::new(name).unwrap());
    of("ana").add(vec![request("A:1"), request("A:2"), request("B:1")]).unwrap();
    let (one, two) = (ask(&archive).pv("A:1").unwrap().id, ask(&archive).pv("A:2").unwrap().id);
    of("bob").pause(&[one, two]).unwrap();
    of("ana").rename(one, &PvName::new("C:1").unwrap(), OldName::Free).unwrap();
    of("bob").resume(&[two]).unwrap();
    of("ana").remove(&[two], DataFate::Keep).unwrap();
    let told = |query: &str| {
        let answer = archive.get(&format!("/api/v1/audit?{query}"));
        assert_eq!(answer.status, 200, "{query}: {}", answer.text());
        let answer = answer.json();
        let line = |line: &Value| format!("{} {}", line["by"].as_str().unwrap(), line["action"].as_str().unwrap());
        (answer["audit"].as_array().unwrap().iter().map(line).collect::<Vec<_>>(), answer["next"].clone())
    };
    let lines = |query: &str| told(query).0;
    assert_eq!(lines(""), ["ana removed", "bob resumed", "ana renamed", "bob paused", "ana added"]);
    assert_eq!(lines("pv=A:2"), ["ana removed", "bob resumed", "bob paused", "ana added"], "it is gone by now");
    assert_eq!(lines("pv=A:1"), ["ana renamed"], "by the name of then");
    assert_eq!(lines("pv=C:1"), ["ana renamed", "bob paused", "ana added"], "by the name of now");
    assert_eq!(lines("pv=B*"), ["ana added"]);
    assert_eq!(lines("who=BOB"), ["bob resumed", "bob paused"]);
    assert_eq!(lines("action=paused"), ["bob paused"]);
    assert_eq!(lines("action=paused&who=ana"), [""; 0]);
    assert_eq!(lines("from=2100-01-01"), [""; 0]);
    assert_eq!(lines("to=2100-01-01&limit=1"), ["ana removed"]);
    let (first, next) = told("who=ana&limit=2");
    assert_eq!(first, ["ana removed", "ana renamed"]);
    assert_eq!(told(&format!("who=ana&limit=2&before={next}")), (vec!["ana added".to_owned()], json!(null)));
    let refused = archive.get("/api/v1/audit?action=painted");
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("action is \\\"painted\\\", expected one of renamed"), "{}", refused.text());
    let csv = archive.get("/api/v1/audit?action=paused&format=csv").text();
    let columns: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((columns[2], columns[6], columns[8], columns[9]), ("bob", "paused", "2", "C:1 A:2"), "{csv}");
}

/// The same where the table of the first page is not kept any more, as many others turn pages.
#[test]
fn pages_go_on_behind_their_place_when_the_list_is_made_anew() {
    let archive = Archive::start(|_| {}, |config| config);
    add(&archive, (0..30).map(|number| format!("PV:{number:02}")));
    for sort in ["name", "added", "rate"] {
        let first = page(&archive, &format!("sort={sort}&limit=20"));
        let next = first["next"].as_str().unwrap();
        for number in 0..6 {
            add(&archive, [format!("A:{sort}:{number}")]);
            assert!(page(&archive, "sort=since&limit=1")["next"].is_string());
        }
        let rest = page(&archive, &format!("sort={sort}&limit=1000&cursor={next}"));
        assert!(rest["total"].as_u64() > first["total"].as_u64(), "{sort}: it is another table");
        let mut all = [names_of(&first), names_of(&rest)].concat();
        all.retain(|name| name.starts_with("PV:"));
        assert_eq!(all.len(), 30, "{sort}");
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 30, "{sort}");
    }
}

#[test]
fn what_is_not_seen_is_in_no_list_no_count_and_not_near() {
    let archive = Archive::with_history();
    let all = ask(&archive);
    all.add_alias(all.pv("T:LONG").unwrap().id, &PvName::new("SECRET:NAME").unwrap()).unwrap();
    let few = ask(&archive).with_rights(
        Rights::everywhere(None)
            .or_by_name(|name| (name.starts_with("T:") && name != "T:DOUBLE").then_some(Right::Read)),
    );
    let listed = |ask: &Ask, words: &[&str]| {
        let wanted = ListWanted {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            pattern: None,
            state: None,
            policy: None,
            group: None,
            ioc: None,
            added_by: None,
            offset: 0,
            sort: SortBy::Name,
            descending: false,
            cursor: None,
            limit: 100,
        };
        ask.list(&wanted).unwrap()
    };
    let count = |ask: &Ask, words: &[&str]| {
        let page = listed(ask, words);
        let (total, near) = (page.total, page.near.clone());
        assert_eq!(page.facets.states.iter().map(|(_, pvs)| pvs).sum::<u64>(), total);
        assert_eq!(page.facets.iocs.iter().map(|ioc| ioc.pvs).sum::<u64>(), total);
        assert_eq!(page.filter(Result::is_ok).count() as u64, total);
        (total, near)
    };
    assert_eq!((count(&all, &[]).0, count(&few, &[]).0), (9, 8));
    assert_eq!((count(&all, &["current"]).0, count(&few, &["current"]).0), (1, 0));
    assert_eq!((count(&all, &["secret"]).0, count(&few, &["secret"]).0), (1, 0));
    assert_eq!(count(&few, &["T:DOUBEL"]).1, Vec::<String>::new());
    assert_eq!(count(&all, &["T:DOUBEL"]).1[0], "T:DOUBLE");
}

/// Whatever is ordered, the list says the same as the PVs one by one.
#[test]
fn lists_follow_every_order_and_every_description() {
    let archive = Archive::with_history();
    let asked = ask(&archive);
    let check = |what: &str| {
        let page = page(&archive, "sort=name&limit=1000");
        let mut expected: Vec<String> = asked.all_pvs().map(|entry| entry.name.to_string()).collect();
        expected.sort_by_key(|name| name.to_lowercase());
        assert_eq!(names_of(&page), expected, "{what}");
        let mut paused = names(&archive, "sort=name&state=paused&limit=1000");
        paused.sort();
        let mut plain = names(&archive, "state=paused&limit=1000");
        plain.retain(|name| expected.contains(name));
        assert_eq!(paused, plain, "{what}");
    };
    check("at first");
    add(&archive, ["N:1".to_owned(), "N:2".to_owned()]);
    check("added");
    let one = asked.pv("N:1").unwrap().id;
    asked.pause(&[one]).unwrap();
    check("paused");
    asked.rename(one, &PvName::new("N:3").unwrap(), OldName::Free).unwrap();
    check("renamed");
    asked.remove(&[asked.pv("T:BYTE").unwrap().id], DataFate::Keep).unwrap();
    check("removed");
    let back = asked.removed()[0].entry.id;
    asked.restore(back, None).unwrap();
    check("restored");
    let described =
        Metadata { description: Some("a cold pump".to_owned()), units: Some("bar".to_owned()), ..Metadata::default() };
    archive.store.writer().append(&[(one, Record::Metadata(clock(), described.into()))], clock()).unwrap();
    assert_eq!(names(&archive, "words=PUMP%20bar"), ["N:3"]);
    let wishes = Wishes { groups: Some(vec![archive::RuleName::new("cold").unwrap()]), ..Wishes::default() };
    asked.add(vec![AddRequest { wishes, ..AddRequest::new(PvName::new("N:3").unwrap()) }]).unwrap();
    assert_eq!(names(&archive, "group=cold"), ["N:3"]);
}

#[test]
fn names_are_a_tree_whose_levels_are_told_one_by_one() {
    let archive = Archive::with_history();
    let names = ["N:A:1", "N:A:2", "N:A:B:X", "N:A:B:Y", "N:B", "N:C-1", "N:C-2", "N:", "NO"];
    add(&archive, names.map(str::to_owned));
    ask(&archive).add_alias(ask(&archive).pv("T:LONG").unwrap().id, &PvName::new("N:D:OTHER").unwrap()).unwrap();
    let level = |query: &str| {
        let answer = archive.get(&format!("/api/v1/tree?{query}"));
        assert_eq!(answer.status, 200, "{query}: {}", answer.text());
        answer.json()
    };
    let branch = |prefix: &str, names: u64| json!({ "prefix": prefix, "names": names });
    let leaf = |name: &str| json!({ "name": name });
    let of_n = level("prefix=N:");
    let children = [leaf("N:"), branch("N:A:", 4), leaf("N:B"), leaf("N:C-1"), leaf("N:C-2"), branch("N:D:", 1)];
    assert_eq!(of_n["children"], json!(children));
    assert_eq!((&of_n["names"], &of_n["next"], &of_n["separators"]), (&json!(9), &json!(null), &json!(":")));
    assert_eq!(level("prefix=N:A:")["children"], json!([leaf("N:A:1"), leaf("N:A:2"), branch("N:A:B:", 2)]));
    let first = level("")["children"].clone();
    assert_eq!((&first[0], &first[1]), (&branch("N:", 9), &leaf("NO")));
    // Page after page the same, behind branches and leaves, and however a level ends.
    let (mut paged, mut after) = (Vec::new(), String::new());
    loop {
        let page = level(&format!("prefix=N:&limit=1{after}"));
        paged.extend(page["children"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(json!(paged), json!(children));
    assert_eq!(level("prefix=nobody")["children"], json!([]));
    let refused = archive.get("/api/v1/tree?prefix=N:A:&after=N:B");
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("is no child of"), "{}", refused.text());
    // What is not seen is in no branch and in no count.
    let few = ask(&archive)
        .with_rights(Rights::everywhere(None).or_by_name(|name| name.starts_with("N:A:B").then_some(Right::Read)));
    let wanted = |prefix: &str| TreeWanted { prefix: prefix.to_owned(), after: None, limit: 10 };
    let seen = few.tree(&wanted(""), &Separators::default()).unwrap();
    assert_eq!((seen.names, seen.children), (2, vec![TreeChild { name: "N:".to_owned(), names: Some(2) }]));
    // Whatever part of a level is asked for, each of its names is looked at once.
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&looks);
    let watched = ask(&archive).with_rights(Rights::everywhere(None).or_by_name(move |name| {
        counted.fetch_add(1, Ordering::Relaxed);
        (name != "N:A:2" && name != "N:D:OTHER").then_some(Right::Read)
    }));
    for (after, limit) in [(None, 10), (Some("N:A:"), 1), (Some("N:B"), 10), (Some("N:C-2"), 10), (None, 1)] {
        let wanted = TreeWanted { prefix: "N:".to_owned(), after: after.map(str::to_owned), limit };
        looks.store(0, Ordering::Relaxed);
        assert_eq!(watched.tree(&wanted, &Separators::default()).unwrap().names, 7, "{wanted:?}");
        assert_eq!(looks.load(Ordering::Relaxed), 9, "{wanted:?}");
    }
    // No more are promised than are seen.
    let last = TreeWanted { after: Some("N:B".to_owned()), limit: 2, ..wanted("N:") };
    assert!(!watched.tree(&last, &Separators::default()).unwrap().has_more, "behind N:C-2 is only what is not seen");
    let signs = Separators::new("-:").unwrap();
    let by_both = ask(&archive).tree(&wanted("N:C"), &signs).unwrap();
    assert_eq!(by_both.children, [TreeChild { name: "N:C-".to_owned(), names: Some(2) }]);
}

/// A level as a look at each name makes it. Each name stands with that of its PV.
fn plain_level(rights: &access::Rights, names: &BTreeMap<String, String>, wanted: &TreeWanted) -> TreeLevel {
    let TreeWanted { prefix, after, limit } = wanted;
    let is_seen = |(name, own): &(&String, &String)| rights.may_each(Right::Read, [name.as_str(), own.as_str()]);
    let seen: Vec<&String> =
        names.iter().filter(is_seen).map(|(name, _)| name).filter(|name| name.starts_with(prefix.as_str())).collect();
    let mut children: BTreeMap<String, Option<usize>> = BTreeMap::new();
    for name in &seen {
        match name[prefix.len()..].find(':') {
            Some(at) => {
                *children.entry(name[..=prefix.len() + at].to_owned()).or_default().get_or_insert_default() += 1;
            }
            None => _ = children.insert((*name).clone(), None),
        }
    }
    let behind: Vec<TreeChild> = children
        .into_iter()
        .filter(|(name, _)| after.as_ref().is_none_or(|after| name > after))
        .map(|(name, names)| TreeChild { name, names })
        .collect();
    let has_more = behind.len() > *limit;
    TreeLevel { names: seen.len(), children: behind.into_iter().take(*limit).collect(), has_more }
}

/// Whatever the names and the patterns of rights are: the tree is that of who has looked at each name.
#[test]
fn a_level_by_patterns_is_that_of_a_look_at_each_name() {
    let archive = Archive::with_history();
    let mut runner = TestRunner::new(ProptestConfig { cases: 1000, ..ProptestConfig::default() });
    let several = proptest::collection::vec("[ABC]{1,2}(:[ABC]{0,2}){0,3}([.][AB]{1,2}){0,1}", 1500);
    let mut fresh: BTreeSet<String> = several.new_tree(&mut runner).unwrap().current().into_iter().collect();
    let aliases: Vec<String> = fresh.iter().step_by(9).cloned().collect();
    aliases.iter().for_each(|alias| _ = fresh.remove(alias));
    add(&archive, fresh.iter().cloned());
    let asked = ask(&archive);
    let owners: Vec<&String> = fresh.iter().rev().collect();
    for (place, (alias, owner)) in aliases.iter().zip(owners.iter().step_by(5)).enumerate() {
        let (pv, alias) = (asked.pv(owner).unwrap().id, PvName::new(alias).unwrap());
        asked.add_alias(pv, &alias).unwrap();
        match place % 4 {
            0 => _ = asked.rename(pv, &alias, OldName::Alias).unwrap(),
            1 => _ = asked.remove(&[pv], DataFate::Keep).unwrap(),
            _ => {}
        }
    }
    let names: BTreeMap<String, String> =
        asked.all_names().map(|name| (name.to_string(), asked.find(name.as_str()).unwrap().name.to_string())).collect();
    assert!(names.len() > 600 && names.iter().filter(|(name, own)| name != own).count() > 20, "{}", names.len());
    let pattern = "[ABC]{0,2}:?[ABC.]{0,1}[*?]{0,2}:?[ABC*]{0,2}|~[ABC:]{0,3}(\\[AB\\]|\\.\\+|A\\?|B\\|)?(\\.\\*)?";
    let patterns = proptest::collection::vec(pattern, 1..4);
    let wanted = ("[ABC]{0,2}:?([ABC]:)?", proptest::option::of(0..40_usize), 0..30_usize);
    let level_of = |(patterns, (prefix, after, limit)): (Vec<String>, (String, Option<usize>, usize))| {
        let pvs = patterns.iter().filter_map(|pattern| Fits::parse(pattern).ok()).collect();
        let rights = access::Rights::new(vec![Scope { right: Right::Read, pvs }], None, Right::Administer);
        let all = TreeWanted { prefix: prefix.clone(), after: None, limit: usize::MAX };
        let after = after.and_then(|place| plain_level(&rights, &names, &all).children.get(place).cloned());
        let wanted = TreeWanted { prefix, after: after.map(|child| child.name), limit };
        let found = ask(&archive).with_rights(rights_of(&rights)).tree(&wanted, &Separators::default()).unwrap();
        prop_assert_eq!(found, plain_level(&rights, &names, &wanted), "{:?} {:?}", wanted, rights);
        Ok(())
    };
    runner.run(&(patterns, wanted), level_of).unwrap();
}

/// What this thread has had of the processor, as Linux counts it.
fn processor_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(told.split(' ').next().unwrap().parse().unwrap())
}

/// Prints what levels of the tree of a million names take: `cargo test --release -p web --test suite what_levels -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
#[expect(clippy::print_stdout, reason = "it is there to be read")]
fn what_levels_of_a_million_names_take() {
    let archive = Archive::with_history();
    let name = |i: u32| format!("SR{:02}:DEV{:02}:CH{:03}:V{}", i % 32, i / 32 % 25, i / 800 % 125, i / 100_000);
    for part in 0..20 {
        add(&archive, (part * 50_000..(part + 1) * 50_000).map(name));
    }
    for (prefix, what) in [("", "the first"), ("SR07:", "a second"), ("SR07:DEV03:", "a third")] {
        let wanted = TreeWanted { prefix: prefix.to_owned(), after: None, limit: 10_000 };
        let fits = |pattern: &str| Fits::parse(pattern).unwrap();
        let some = |patterns: &[&str]| {
            let scope = Scope { right: Right::Read, pvs: patterns.iter().map(|pattern| fits(pattern)).collect() };
            let rights = access::Rights::new(vec![scope], None, Right::Administer);
            ask(&archive).with_rights(rights_of(&rights))
        };
        let readers = [
            ("sees all", ask(&archive)),
            ("sees half", some(&["SR0*", "SR2[0-9]*", "SR1[0-5]*", "T:*"])),
            ("sees all but by patterns", some(&["SR*", "T:*"])),
            ("sees half by an expression", some(&["~SR(0[0-9]|1[0-5]):.*"])),
            ("sees some by their ends", some(&["*:V3"])),
            ("sees some by four patterns", some(&["*:DEV03:*", "*:CH11?:*", "~.*:CH0[0-4]:V.", "~.*:V[57]"])),
            ("sees few", some(&["SR07:DEV03:*"])),
        ];
        for (who, asked) in readers {
            let (begun, worked) = (Instant::now(), processor_time());
            let level = asked.tree(&wanted, &Separators::default()).unwrap();
            let (took, worked) = (begun.elapsed(), processor_time() - worked);
            let (children, names) = (level.children.len(), level.names);
            println!("{what} level, who {who}: {children} children of {names} names, {took:?}, processor {worked:?}");
        }
    }
}

#[test]
fn iocs_are_told_with_their_pvs_to_who_sees_these() {
    let archive = Archive::with_history();
    let answer = archive.get("/api/v1/iocs").json();
    let [ioc] = answer["iocs"].as_array().unwrap().as_slice() else { panic!("{answer}") };
    let (address, protocols) = (json!("127.0.0.1:5064"), json!(["ca"]));
    assert_eq!((&ioc["address"], &ioc["protocols"]), (&address, &protocols));
    let counted = ["pvs", "connected", "disconnected", "searching", "paused"].map(|what| ioc[what].as_u64().unwrap());
    assert_eq!(counted, [1, 0, 0, 0, 1]);
    assert_eq!((&ioc["circuits"], &ioc["last_beacon"]), (&json!(null), &json!(null)), "there was none in this run");
    assert_eq!(archive.get("/api/v1/iocs?match=5064").json()["iocs"].as_array().map(Vec::len), Some(1));
    assert_eq!(archive.get("/api/v1/iocs?match=5065").json()["iocs"], json!([]));
    assert_eq!(archive.get("/api/v1/iocs?state=disconnected").json()["iocs"], json!([]));
    assert_eq!(archive.get("/api/v1/iocs?state=lost").status, 400);
    let few = ask(&archive)
        .with_rights(Rights::everywhere(None).or_by_name(|name| (name != "T:DOUBLE").then_some(Right::Read)));
    assert!(few.iocs(&IocsWanted::default()).unwrap().is_empty());
}
