//! Our server as p4p, the reference client, sees it; skipped, with the reason, where p4p is not installed.
//!
//! The Python is `PVARK_PYTHON`, or that of the repository's own environment, or `python3`.

use crate::samples;

use std::{
    env,
    path::Path,
    pin::pin,
    process::{Command, Output},
    time::Duration,
};

use epics::{
    Array,
    pva::{
        Data, Scalar, Tree, Type,
        server::{Listen, Server, Settings, nt},
        wire::{BitSet, Order},
    },
};
use samples::{sample, types};

/// What the script exits with where it has nothing to compare with.
const SKIPPED: i32 = 77;

/// What p4p says, a line each; none where it is not installed.
async fn referee(server: &Server, arguments: Vec<String>) -> Option<Vec<String>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = here.join("../../.venv/bin/python");
    let python = env::var_os("PVARK_PYTHON").unwrap_or_else(|| match own.exists() {
        true => own.into(),
        false => "python3".into(),
    });
    let mut command = Command::new(&python);
    command.arg(here.join("tests/pva_referee.py")).arg(server.searches().to_string()).args(arguments);
    let output: Output = match tokio::task::spawn_blocking(move || command.output()).await.expect("the task ends") {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: {} cannot be run ({error})", python.display());
            return None;
        }
    };
    let (words, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match output.status.code() {
        Some(0) => Some(words.lines().map(str::to_owned).collect()),
        Some(SKIPPED) => {
            eprintln!("skipped: {} has no p4p ({})", python.display(), words.trim());
            None
        }
        _ => panic!("{words}{errors}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p4p_reads_every_type_as_it_is_served() {
    let usual = Settings::default();
    let ways = [
        usual.clone(),
        Settings { order: Order::Big, ..usual.clone() },
        Settings { segment_bytes: 100, ..usual.clone() },
        Settings { type_numbers: false, ..usual },
    ];
    for settings in ways {
        let server = Server::start(Listen::default(), settings.clone()).await.expect("ports on loopback");
        let mut seed = 0;
        let mut names = Vec::new();
        let mut expected = Vec::new();
        for (name, ty) in types() {
            let value = sample(&ty, &mut seed);
            expected.push(json(&ty, &value));
            server.with(|hub| hub.add(&name, &ty, value)).expect("the sample has the shape of its type");
            names.push(name);
        }
        let arguments = [vec!["get".to_owned()], names.clone()].concat();
        let Some(found) = referee(&server, arguments).await else { return };
        for ((name, expected), found) in names.iter().zip(expected).zip(found) {
            assert_eq!(expected, found, "{name} with {settings:?}");
        }
    }
}

/// A counter, and what p4p sees of it with these options, when it is slow to begin.
async fn counted(settings: Settings, options: &str, waits: bool) -> Option<(Vec<i64>, u64)> {
    const LAST: i64 = 5_000;
    let server = Server::start(Listen::default(), settings).await.expect("ports on loopback");
    let ty = nt::scalar(Scalar::I64);
    let pv = server.with(|hub| hub.add("COUNT", &ty, Tree::default_of(&ty))).expect("the default fits");
    let place = server.with(|hub| hub.place(pv, "value")).expect("a field");
    let changed: BitSet = std::iter::once(place.number).collect();
    let arguments = ["count", "COUNT", options, "20", "5000"].map(str::to_owned);
    let mut asking = pin!(referee(&server, arguments.into()));
    let mut next = 1;
    let lines = loop {
        tokio::select! {
            lines = &mut asking => break lines?,
            () = tokio::time::sleep(Duration::from_millis(1)) => server.with(|hub| {
                let until = if waits { LAST + 1 } else { next + 10 };
                while hub.listeners(pv) > 0 && next < until.min(LAST + 1) && (!waits || hub.has_room(pv)) {
                    hub.post(pv, &changed, |tree| place.set(tree, Tree::I64(next)));
                    next += 1;
                }
            }),
        }
    };
    assert_eq!(lines.first().map(String::as_str), Some("\"ready\""));
    let seen = lines[1].trim_matches(['[', ']']).split(',').map(|number| number.parse().expect("a number")).collect();
    Some((seen, server.with(|hub| hub.squashed(pv))))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p4p_loses_nothing_with_a_pipeline_and_a_source_that_waits() {
    let options = "record[pipeline=true,queueSize=8]";
    let Some((seen, squashed)) = counted(Settings::default(), options, true).await else { return };
    assert_eq!((seen, squashed), ((0..=5_000).collect(), 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_p4p_does_not_see_with_a_pipeline_was_counted_by_the_server() {
    let options = "record[pipeline=true,queueSize=8]";
    let Some((seen, squashed)) = counted(Settings::default(), options, false).await else { return };
    assert!(seen.is_sorted() && squashed > 0, "{squashed} squashed");
    assert_eq!(seen.len() as u64 + squashed, 5_001);
}

/// As Python's `json` writes what p4p makes of it; only for values that have one way of being written.
fn json(ty: &Type, value: &Tree) -> String {
    let list = |all: Vec<String>| format!("[{}]", all.join(","));
    let none = || "null".to_owned();
    match (ty, value) {
        (Type::Structure(s), Tree::Structure(trees)) => {
            let fields = s.fields().iter().zip(trees);
            let fields: Vec<String> = fields.map(|(f, t)| format!("\"{}\":{}", f.name, json(&f.ty, t))).collect();
            format!("{{{}}}", fields.join(","))
        }
        (Type::Union(s), Tree::Union(Some(selected))) => json(&s.fields()[selected.member].ty, &selected.value),
        (Type::StructureArray(s, _), Tree::Structures(all)) => {
            let ty = Type::Structure(s.clone());
            list(all.iter().map(|t| t.as_ref().map_or_else(none, |t| json(&ty, &Tree::Structure(t.clone())))).collect())
        }
        (Type::UnionArray(s, _), Tree::Unions(all)) => {
            let ty = Type::Union(s.clone());
            list(all.iter().map(|t| t.as_ref().map_or_else(none, |t| json(&ty, t))).collect())
        }
        (_, Tree::Anys(all)) => list(all.iter().map(|d| d.as_ref().map_or_else(none, data)).collect()),
        (_, Tree::Any(Some(found))) => data(found),
        (_, Tree::Any(None) | Tree::Union(None)) => none(),
        (_, Tree::Array(array)) => list(elements(array)),
        (_, Tree::String(text)) => format!("{text:?}"),
        (_, Tree::F32(v)) => format!("{v:?}"),
        (_, Tree::F64(v)) => format!("{v:?}"),
        (_, Tree::U64(v)) => v.to_string(),
        (_, Tree::Bool(v)) => v.to_string(),
        (_, whole) => whole.as_i64().expect("a whole number").to_string(),
    }
}

fn data(data: &Data) -> String {
    json(&data.ty, &data.value)
}

fn elements(array: &Array) -> Vec<String> {
    macro_rules! each {
        ($($variant:ident)*) => {
            match array {
                $(Array::$variant(all) => all.iter().map(|v| format!("{v:?}")).collect(),)*
            }
        };
    }
    each!(Bool I8 U8 I16 U16 I32 U32 I64 U64 F32 F64 Enum String)
}
