//! Whether two answers mean the same: equal samples, floats to 1e-12, whatever the layout.

use std::collections::BTreeSet;

use sample::Sample;
use serde_json::Value;

use super::lines;

/// Asserts it for the format that the path names.
pub(crate) fn assert_same_meaning(path: &str, answered: &[u8], expected: &[u8], place: &str) {
    if path.contains(".raw") {
        let samples = |bytes| lines::read(bytes).into_iter().flat_map(|chunk| chunk.samples).collect::<Vec<Sample>>();
        let kinds = |bytes| {
            let with_samples = lines::read(bytes).into_iter().filter(|chunk| !chunk.samples.is_empty());
            with_samples.map(|chunk| (chunk.value_type, chunk.element_count)).collect::<BTreeSet<_>>()
        };
        assert_eq!(kinds(answered), kinds(expected), "{place}");
        let (answered, expected) = (samples(answered), samples(expected));
        assert_eq!(answered.len(), expected.len(), "{place}");
        for (answered, expected) in answered.iter().zip(&expected) {
            assert!(same_sample(answered, expected), "{place}: {answered:?} is not {expected:?}");
        }
    } else if path.contains("getData.csv") {
        assert_same_csv(&as_text(answered), &as_text(expected), place);
    } else {
        let (answered, mut expected) = (json(answered), json(expected));
        if path.contains(".qw") {
            // The Appliance leaves NaN bare within arrays, where no browser can read it.
            words_to_null(&mut expected);
        }
        if path.contains("getDataAtTime") {
            assert_same_at_time(&answered, &expected, place);
        } else {
            assert_same_json(&answered, &expected, place);
        }
    }
}

fn as_text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it is UTF-8")
}

/// JSON in which NaN and the infinities stand bare; they become strings.
fn json(bytes: &[u8]) -> Value {
    let text = as_text(bytes);
    let mut strict = String::new();
    for (index, part) in split_at_strings(&text).enumerate() {
        let is_string = index % 2 == 1;
        if is_string {
            strict.push_str(part);
        } else {
            strict.push_str(
                &part
                    .replace("-Infinity", "@")
                    .replace("NaN", "\"NaN\"")
                    .replace("Infinity", "\"Infinity\"")
                    .replace('@', "\"-Infinity\""),
            );
        }
    }
    serde_json::from_str(&strict).unwrap_or_else(|error| panic!("{error} in {strict}"))
}

fn words_to_null(value: &mut Value) {
    match value {
        Value::String(word) if ["NaN", "Infinity", "-Infinity"].contains(&word.as_str()) => *value = Value::Null,
        Value::Array(values) => values.iter_mut().for_each(words_to_null),
        Value::Object(members) => members.values_mut().for_each(words_to_null),
        _ => {}
    }
}

/// Parts outside and inside of quotes in turn; the quotes belong to the inside.
fn split_at_strings(text: &str) -> impl Iterator<Item = &str> {
    let mut borders = vec![0];
    let (mut inside, mut escaped) = (false, false);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !escaped => {
                borders.push(if inside { index + 1 } else { index });
                inside = !inside;
            }
            _ => {}
        }
        escaped = byte == b'\\' && !escaped;
    }
    borders.push(text.len());
    (1..borders.len()).map(move |i| &text[borders[i - 1]..borders[i]])
}

/// A PV without samples may be an object without data or no object at all.
fn assert_same_json(answered: &Value, expected: &Value, place: &str) {
    let data = |answer: &Value| answer[0]["data"].as_array().cloned().unwrap_or_default();
    let (answered_data, expected_data) = (data(answered), data(expected));
    assert_eq!(answered_data.len(), expected_data.len(), "{place}");
    for (answered, expected) in answered_data.iter().zip(&expected_data) {
        for member in ["secs", "nanos", "millis", "severity", "status"] {
            assert_eq!(answered.get(member), expected.get(member), "{place}: {member} of {answered}");
        }
        assert!(same_value(&answered["val"], &expected["val"]), "{place}: {answered} is not {expected}");
    }
    if let Some(meta) = expected[0]["meta"].as_object().filter(|_| !expected_data.is_empty()) {
        for (name, value) in meta {
            assert_eq!(&answered[0]["meta"][name], value, "{place}: {name}");
        }
    }
}

fn assert_same_at_time(answered: &Value, expected: &Value, place: &str) {
    let (answered, expected) = (answered.as_object().unwrap(), expected.as_object().unwrap());
    assert_eq!(answered.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{place}");
    for (pv, expected) in expected {
        for member in ["secs", "nanos", "severity", "status"] {
            assert_eq!(answered[pv][member], expected[member], "{place}: {member} of {pv}");
        }
        assert!(same_value(&answered[pv]["val"], &expected["val"]), "{place}: {pv}");
    }
}

fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b)),
        (Value::Number(a), Value::Number(b)) => same_float(a.as_f64().unwrap(), b.as_f64().unwrap()),
        _ => a == b,
    }
}

fn same_sample(a: &Sample, b: &Sample) -> bool {
    let numbers = |value: &sample::Value| match value {
        sample::Value::F64(number) => Some(vec![*number]),
        sample::Value::Array(sample::Column::F64(numbers)) => Some(numbers.clone()),
        _ => None,
    };
    let values = match (numbers(&a.value), numbers(&b.value)) {
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same_float(*a, *b)),
        _ => a.value == b.value,
    };
    values && (a.time, &a.alarm) == (b.time, &b.alarm)
}

fn same_float(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

/// Texts may hold line breaks, so lines are compared as long as they hold the same, and numbers within them as numbers.
fn assert_same_csv(answered: &str, expected: &str, place: &str) {
    let tokens = |text: &str| text.split([',', '\n', '[', ']']).map(str::to_owned).collect::<Vec<_>>();
    let (answered, expected) = (tokens(answered.trim_end()), tokens(expected.trim_end()));
    assert_eq!(answered.len(), expected.len(), "{place}");
    for (a, b) in answered.iter().zip(&expected) {
        let same = a == b || a.parse().ok().zip(b.parse().ok()).is_some_and(|(a, b)| same_float(a, b));
        assert!(same, "{place}: {a:?} is not {b:?}");
    }
}

pub(crate) fn from_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for character in text.chars().filter(|character| *character != '=') {
        let digit = ALPHABET.find(character).unwrap_or_else(|| panic!("{character:?} is not base64"));
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
