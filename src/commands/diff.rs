//! `pvark snapshot` and `pvark diff`: the values of many PVs at a time, and what changed between two times.

use serde_json::{Value, json};

use super::{
    get::posted,
    http::encoded,
    print::print_line,
    table::{aligned, list, text},
    typed::{moment, names},
};
use crate::{
    cli::{Diff, Format, SnapshotArgs},
    failure::Failure,
    host::clock::now,
};

pub(crate) fn snapshot(command: &SnapshotArgs) -> Result<(), Failure> {
    let time = moment(&command.time, now())?;
    let named = Named::of(&command.pvs)?;
    let Some(answer) = ask(&command.server.url, &format!("at?time={time}"), &named, command.format)? else {
        return Ok(());
    };
    let mut rows = vec![["pv", "value", "severity", "time"].map(str::to_owned).to_vec()];
    for row in list(&answer["pvs"]) {
        rows.push(["pv", "value", "severity", "time"].iter().map(|column| text(&row[*column])).collect());
    }
    told(&rows, &answer)
}

pub(crate) fn diff(command: &Diff) -> Result<(), Failure> {
    let now = now();
    let (before, after) = (moment(&command.before, now)?, moment(&command.after, now)?);
    let path = format!(
        "diff?before={before}&after={after}&usual={}&unchanged={}",
        command.usual.as_secs_f64(),
        command.unchanged
    );
    let named = Named::of(&command.pvs)?;
    let Some(answer) = ask(&command.server.url, &path, &named, command.format)? else { return Ok(()) };
    let mut rows = vec![["pv", "before", "after", "change", "usual spread", "score"].map(str::to_owned).to_vec()];
    for row in list(&answer["pvs"]) {
        let ends = ["before", "after"].map(|end| text(&row[end]["value"]));
        let numbers = ["change", "spread", "score"].map(|column| text(&row[column]));
        rows.push([vec![text(&row["pv"])], ends.to_vec(), numbers.to_vec()].concat());
    }
    told(&rows, &answer)
}

fn told(rows: &[Vec<String>], answer: &Value) -> Result<(), Failure> {
    aligned(rows).iter().try_for_each(|line| print_line(line))?;
    for name in list(&answer["unknown"]) {
        eprintln!("no PV of this archive is called {}", text(name));
    }
    all_answered(list(&answer["unanswered"]).iter().map(|row| (&row["pv"], &row["why"])))
}

/// Says of which PVs nothing is told, each with the reason; an error if there are any.
pub(super) fn all_answered<'a>(untold: impl Iterator<Item = (&'a Value, &'a Value)>) -> Result<(), Failure> {
    let say = |(pv, why): (&Value, &Value)| eprintln!("NOT ANSWERED  {}: {}", text(pv), text(why));
    match untold.map(say).count() {
        0 => Ok(()),
        1 => Err("one PV was not answered: ask again".into()),
        count => Err(format!("{count} PVs were not answered: ask again").into()),
    }
}

/// Names go in the body, patterns in the URL.
pub(super) struct Named {
    pub(super) names: Vec<String>,
    pub(super) pattern: Option<String>,
}

impl Named {
    pub(super) fn of(given: &[String]) -> Result<Named, Failure> {
        let is_pattern = |name: &String| name.contains(['*', '?']) || name.starts_with('~');
        let (mut patterns, names): (Vec<String>, Vec<String>) = names(given)?.into_iter().partition(is_pattern);
        if patterns.len() > 1 {
            return Err("only one pattern can be given; join them as one regular expression: '~A.*|B.*'".into());
        }
        Ok(Named { names, pattern: patterns.pop() })
    }
}

/// The answer for a table; in other formats it is printed as it comes. Most of these have no place to say of which PVs nothing is told: then
/// all or nothing is asked for.
pub(super) fn ask(server: &str, path: &str, named: &Named, format: Format) -> Result<Option<Value>, Failure> {
    let pattern = named.pattern.as_ref().map(|pattern| format!("&match={}", encoded(pattern))).unwrap_or_default();
    let whole = if matches!(format, Format::Table | Format::Json) { "" } else { "&whole=true" };
    posted(server, &format!("{path}{pattern}{whole}"), json!(named.names), format)
}
