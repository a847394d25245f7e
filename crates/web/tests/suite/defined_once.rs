//! The description of the API says of settings and columns of the ledger what their tables say. `make golden` writes it anew.

#[path = "defined_once/ordered.rs"]
mod ordered;

use std::{env, fs, path::PathBuf};

use archive::{
    ledger::{COLUMNS, Column, Kind},
    settings::{Key, SETTINGS, Shape},
};
use ordered::Node;
use serde_json::{Map, Value, json};

/// Properties of a schema that come from a table.
struct Defined {
    /// Where the schema stands.
    path: &'static [&'static str],
    properties: Map<String, Value>,
    /// Properties that are no entry of the table; they stay as they are written.
    others: &'static [&'static str],
    /// Whether all of them are always there.
    required: bool,
}

#[test]
fn the_description_says_what_the_tables_say() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/openapi.json");
    let text = fs::read_to_string(&file).unwrap();
    let mut description = Node::parse(&text);
    assert_eq!(description.text(), text, "the description is not written as it would be written here");
    for defined in all() {
        apply(&defined, description.at("components").at("schemas"));
    }
    let made = description.text();
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, &made).unwrap();
    }
    let differ = text.lines().zip(made.lines()).position(|(written, made)| written != made);
    assert_eq!(
        text.len(),
        made.len(),
        "line {differ:?} of the description is not what the tables say; see `make golden`"
    );
    assert_eq!(differ, None, "the description is not what the tables say; see `make golden`");
}

fn all() -> [Defined; 7] {
    let groups = || COLUMNS.iter().filter(|column| !is_grouped(column.kind));
    let in_account = |column: &Column| (column.name.to_owned(), count(column.kind, column.in_account));
    let in_trouble = |column: &Column| (column.name.to_owned(), count(column.kind, column.in_trouble));
    let named = |kinds: &'static [Kind]| COLUMNS.iter().filter(move |column| kinds.contains(&column.kind));
    let lost: &'static [Kind] = &[Kind::Lost, Kind::Missed];
    let since_start = COLUMNS.iter().filter_map(|column| {
        let (name, doc) = column.since_start?;
        Some((name.to_owned(), count(column.kind, Some(doc))))
    });
    let requests = SETTINGS.iter().flat_map(|setting| setting.request).map(property);
    let answers = SETTINGS.iter().filter_map(|setting| setting.answer.as_ref()).map(property);
    let of = |path, properties, others, required| Defined { path, properties, others, required };
    [
        of(&["Account"], groups().map(in_account).collect(), &["lost", "stamps", "adds_up"], true),
        of(&["Account", "properties", "lost"], named(lost).map(in_account).collect(), &[], true),
        of(&["Account", "properties", "stamps"], named(&[Kind::OddStamp]).map(in_account).collect(), &[], true),
        of(&["Trouble", "properties", "lost"], named(lost).map(in_trouble).collect(), &[], true),
        of(&["Counters"], since_start.collect(), &["bad_stamps"], true),
        of(&["AddPvs", "properties", "pvs", "items", "anyOf", "1"], requests.collect(), &["name", "policy"], false),
        of(&["Sampling"], answers.collect(), &["policy", "by_hand", "deadband_at", "is_field"], true),
    ]
}

fn is_grouped(kind: Kind) -> bool {
    matches!(kind, Kind::Lost | Kind::Missed | Kind::OddStamp)
}

/// The schema of a count.
fn count(kind: Kind, doc: Option<&str>) -> Value {
    let mut schema = match kind {
        Kind::Waiting => json!({ "type": "integer" }),
        Kind::Suspected => json!({ "type": "number", "minimum": 0 }),
        _ => json!({ "type": "integer", "minimum": 0 }),
    };
    if let Some(doc) = doc {
        schema["description"] = doc.into();
    }
    schema
}

fn property(key: &Key) -> (String, Value) {
    let mut schema = schema(&key.shape);
    if !key.doc.is_empty() {
        schema["description"] = key.doc.into();
    }
    (key.name.to_owned(), schema)
}

fn schema(shape: &Shape) -> Value {
    let number = |bound: f64| if bound.fract() == 0.0 { json!(bound as i64) } else { json!(bound) };
    match shape {
        Shape::Switch => json!({ "type": "boolean" }),
        Shape::Number => json!({ "type": "number" }),
        Shape::Within(min, max) => json!({ "type": "number", "minimum": number(*min), "maximum": number(*max) }),
        Shape::Count { min, .. } => json!({ "type": "integer", "minimum": min }),
        Shape::Text => json!({ "type": "string" }),
        Shape::Word(words) => json!({ "type": "string", "enum": words }),
        Shape::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Shape::NumberOrText => json!({ "type": ["number", "string"] }),
        Shape::Members(keys) => {
            let required: Vec<&str> = keys.iter().map(|key| key.name).collect();
            let properties: Map<_, _> = keys.iter().map(property).collect();
            json!({ "type": "object", "required": required, "properties": properties })
        }
        Shape::Maybe(Shape::Members(keys)) => {
            json!({ "anyOf": [schema(&Shape::Members(keys)), { "type": "null" }] })
        }
        Shape::Maybe(inner) => {
            let mut schema = schema(inner);
            schema["type"] = json!([schema["type"], "null"]);
            schema
        }
        Shape::Rate => panic!("no request and no answer has this"),
    }
}

/// Writes what a table says into the schemas. What is right already stays as it is; what is new comes last.
fn apply(defined: &Defined, schemas: &mut Node) {
    let schema = defined.path.iter().fold(schemas, |node, name| node.at(name));
    let Node::Object(written) = schema.at("properties") else { panic!("{:?} has no properties", defined.path) };
    written.retain(|(name, _)| defined.others.contains(&name.as_str()) || defined.properties.contains_key(name));
    for (name, property) in &defined.properties {
        match written.iter_mut().find(|(other, _)| other == name) {
            Some((_, present)) if Value::from(&*present) == *property => {}
            Some((_, present)) => *present = property.into(),
            None => written.push((name.clone(), property.into())),
        }
    }
    if defined.required {
        let Node::Array(required) = schema.at("required") else {
            panic!("{:?} says not what is required", defined.path)
        };
        let name = |node: &Node| Value::from(node).as_str().map(str::to_owned);
        required.retain(|node| {
            name(node)
                .is_some_and(|name| defined.others.contains(&name.as_str()) || defined.properties.contains_key(&name))
        });
        for missing in defined.properties.keys() {
            if !required.iter().any(|node| name(node).as_ref() == Some(missing)) {
                required.push(Node::Scalar(missing.as_str().into()));
            }
        }
    }
}
