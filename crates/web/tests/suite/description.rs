//! The description of the API against the answers that are written down: each fits the schema that is promised for it.

use std::{fs, path::PathBuf};

use archive::Action;
use serde_json::Value;

fn testdata() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

fn description() -> Value {
    serde_json::from_str(&fs::read_to_string(testdata().join("openapi.json")).unwrap()).unwrap()
}

#[test]
fn every_action_of_the_audit_is_described() {
    fn actions(description: &Value) -> Option<Vec<&str>> {
        let named = description.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let named: Vec<&str> = named.collect();
        let inner = || match description {
            Value::Object(members) => members.values().find_map(actions),
            Value::Array(members) => members.iter().find_map(actions),
            _ => None,
        };
        if named.contains(&Action::PurgeOrdered.name()) { Some(named) } else { inner() }
    }
    assert_eq!(actions(&description()).unwrap(), Action::ALL.map(Action::name));
}

#[test]
fn every_answer_in_json_fits_its_schema() {
    let description = description();
    let mut fitted = 0;
    for entry in fs::read_dir(testdata().join("http")).unwrap() {
        let file = entry.unwrap().path();
        let text = fs::read_to_string(&file).unwrap();
        let (request, answer) = text.split_once("----\n").unwrap();
        let (head, body) = answer.split_once("\n\n").unwrap_or((answer, ""));
        let is_json = head.contains("content-type: application/json");
        let (Some(operation), true) = (operation(&description, request), is_json && !body.is_empty()) else { continue };
        // The Archiver Appliance's bare NaN is not JSON.
        let Ok(body) = serde_json::from_str::<Value>(body) else { continue };
        let status = head.lines().next().unwrap();
        let responses = &operation["responses"];
        let response = resolved(&description, responses.get(status).unwrap_or(&responses["default"]));
        let schema = &response["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{}: no schema for {status}", file.display());
        if let Err(misfit) = fit(&description, schema, &body, "answer") {
            panic!("{}: {misfit}", file.display());
        }
        fitted += 1;
    }
    assert!(fitted > 60, "only {fitted} answers were looked at");
}

#[test]
fn every_example_fits_its_schema() {
    let description = description();
    let mut fitted = 0;
    walk(&description, &mut |node| {
        if let (Some(schema), Some(example)) = (node.get("schema"), node.get("example")) {
            fit(&description, schema, example, "example").unwrap();
            fitted += 1;
        }
    });
    assert!(fitted > 10, "only {fitted} examples were looked at");
}

#[test]
fn every_reference_leads_somewhere() {
    let description = description();
    walk(&description, &mut |node| {
        if node.get("$ref").is_some() {
            assert!(!resolved(&description, node).is_null(), "{node}");
        }
    });
}

fn walk(node: &Value, visit: &mut impl FnMut(&Value)) {
    visit(node);
    match node {
        Value::Object(members) => members.values().for_each(|member| walk(member, visit)),
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        _ => {}
    }
}

/// What the description says about the request that a file holds.
fn operation<'a>(description: &'a Value, request: &str) -> Option<&'a Value> {
    let line = request.lines().find(|line| !line.starts_with('#'))?;
    let (method, target) = line.split_once(' ')?;
    let path = target.split('?').next()?;
    let fits = |template: &str| {
        template.split('/').count() == path.split('/').count()
            && template.split('/').zip(path.split('/')).all(|(a, b)| a == b || a.starts_with('{'))
    };
    let (_, operations) = description["paths"].as_object()?.iter().find(|(template, _)| fits(template))?;
    operations.get(method.to_ascii_lowercase())
}

fn resolved<'a>(description: &'a Value, node: &'a Value) -> &'a Value {
    match node.get("$ref").and_then(Value::as_str) {
        Some(reference) => description.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null),
        None => node,
    }
}

/// The part of JSON Schema that the description uses: types, members, items, words, alternatives, bounds.
fn fit(description: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let schema = resolved(description, schema);
    if let Some(alternatives) = schema["anyOf"].as_array() {
        let misfits: Vec<String> =
            alternatives.iter().filter_map(|schema| fit(description, schema, value, place).err()).collect();
        return if misfits.len() < alternatives.len() { Ok(()) } else { Err(misfits.join("; ")) };
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| is_of_type(value, name)) {
        return Err(format!("{place}: {value} is not of type {types:?}"));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        return Err(format!("{place}: {value} is none of {words:?}"));
    }
    if let (Some(minimum), Some(number)) = (schema["minimum"].as_f64(), value.as_f64())
        && number < minimum
    {
        return Err(format!("{place}: {number} is less than {minimum}"));
    }
    fit_parts(description, schema, value, place)
}

fn fit_parts(description: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    if let Some(items) = schema.get("items") {
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            fit(description, items, item, &format!("{place}[{index}]"))?;
        }
    }
    let Some(members) = value.as_object() else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            return Err(format!("{place}: {name} is missing"));
        }
    }
    let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
    // An object whose members are all required says everything that may be there.
    let is_closed = schema.get("additionalProperties").is_none()
        && schema["required"].as_array().is_some_and(|required| required.len() == properties.len());
    for (name, member) in members {
        match properties.get(name) {
            Some(schema) => fit(description, schema, member, &format!("{place}.{name}"))?,
            None if is_closed => return Err(format!("{place}: {name} is not described")),
            None => {}
        }
    }
    Ok(())
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type of JSON Schema"),
    }
}
