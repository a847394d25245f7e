//! Lists of names: `.archive` files, and the Channel Archiver's files of up to 1.x, which have one form.
//!
//! ```text
//!   # comment
//!   !write_period 30                       a parameter, for all files
//!   !group other.cfg                       another file, which is a group of its own
//!   NAME [period in s] [Monitor] [Disable] a period without Monitor is a scan
//! ```

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use archive::{Method, PvName};
use foreign::{CarriedOver, Pv, period, rule_name};

/// No file leads to more others.
const FILES_MAX: usize = 10_000;

/// Reads a list and the files that it names. `load` gives the text of a file by the name that stands in the list.
pub fn read_list(file: &str, text: &str, load: &mut dyn FnMut(&str) -> Result<String, String>) -> CarriedOver {
    let mut carried = CarriedOver::default();
    let mut waiting = vec![(file.to_owned(), text.to_owned())];
    let mut seen = vec![file.to_owned()];
    let mut usual = 1.0;
    while let Some((file, text)) = waiting.pop() {
        let group = rule_name(stem(&file));
        for (line, number) in text.lines().zip(1..) {
            let mut words = line.split_whitespace();
            match words.next() {
                None => {}
                Some(comment) if comment.starts_with('#') => {}
                Some("!group") => match words.next() {
                    Some(name) if seen.len() < FILES_MAX && !seen.iter().any(|one| one == name) => {
                        seen.push(name.to_owned());
                        match load(name) {
                            Ok(text) => waiting.push((name.to_owned(), text)),
                            Err(error) => carried.note(&file, number, format!("the group {name} is left out: {error}")),
                        }
                    }
                    Some(_) => {}
                    None => carried.note(&file, number, "!group names no file"),
                },
                Some(parameter) if parameter.starts_with('!') => {
                    let value = words.next().unwrap_or_default();
                    parameter_of(&mut carried, (&file, number), parameter, value, &mut usual);
                }
                Some(name) => pv(&mut carried, (&file, number), &group, name, words, usual),
            }
        }
    }
    carried
}

/// The name of a file without folders and extension.
fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn parameter_of(carried: &mut CarriedOver, at: (&str, usize), parameter: &str, value: &str, usual: &mut f64) {
    let (file, line) = at;
    match parameter {
        "!default_period" | "!save_default" => match value.parse() {
            Ok(seconds) if period(seconds).is_some() => *usual = seconds,
            _ => carried.note(file, line, format!("{parameter} is {value:?}, expected seconds")),
        },
        "!write_period" | "!write_freq" | "!buffer_reserve" | "!file_size" | "!get_threshold" => {
            carried.note(file, line, format!("{parameter} {value} is not needed: no buffer is sized by it here"));
        }
        "!max_repeat_count" => {
            carried.note(file, line, format!("{parameter} {value} is not needed: repeats are not left out here"));
        }
        "!disconnect" => carried.note(file, line, "!disconnect has no counterpart: disabled PVs stay connected here"),
        "!ignored_future" => {
            carried.note(file, line, format!("{parameter} {value}: samples from the future are kept and marked here"));
        }
        other => carried.note(file, line, format!("{other} is no parameter that is known")),
    }
}

fn pv<'a>(
    carried: &mut CarriedOver,
    at: (&str, usize),
    group: &str,
    name: &str,
    words: impl Iterator<Item = &'a str>,
    usual: f64,
) {
    let (file, line) = at;
    let (protocol, name) = match PvName::parse(name) {
        Ok(parsed) => parsed,
        Err(error) => return carried.note(file, line, format!("{name:?} is left out: {error}")),
    };
    let (mut seconds, mut monitored, mut disables) = (None, false, false);
    for word in words {
        match (word.chars().next(), word.parse::<f64>()) {
            (_, Ok(number)) => seconds = Some(number),
            (Some('#'), _) => break,
            (Some('m' | 'M'), _) => monitored = true,
            (Some('d' | 'D'), _) => disables = true,
            (Some('s' | 'S'), _) => monitored = false,
            _ => carried.note(file, line, format!("{word:?} behind {name} is not understood")),
        }
    }
    let seconds = seconds.unwrap_or(usual);
    let method = match (monitored, period(seconds)) {
        (true, _) => Method::Monitor,
        (false, Some(period)) => Method::Scan { period },
        (false, None) => {
            carried.note(file, line, format!("{name}: a period of {seconds} s cannot be scanned at; it is monitored"));
            Method::Monitor
        }
    };
    if disables {
        carried.disable(group, &name);
    }
    carried.add(Pv { name, protocol, method: Some(method), groups: vec![group.to_owned()], policy: None });
}
