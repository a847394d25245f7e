//! `pvark xy` and `pvark fft`: what two expressions were at the same time, and which frequencies one has.

use serde_json::{Value, json};

use super::{
    computed::ask,
    get::posted,
    print::{print_line, print_rows},
    table::{aligned, list, text},
};
use crate::{
    cli::{Fft, Format, Xy},
    failure::Failure,
    host::clock::now,
};

/// Pairs and frequencies that a table shows; more is for the other formats.
const TABLE_ROWS_MAX: u32 = 100_000;

pub(crate) fn xy(command: &Xy) -> Result<(), Failure> {
    let (from, to) = command.range.ends(now())?;
    let mut path = format!("xy?from={from}&to={to}&units={}&by={}", command.units, command.by);
    for (name, length) in [("step", command.step), ("tolerance", command.tolerance)] {
        path.push_str(&length.map(|length| format!("&{name}={}", length.as_secs_f64())).unwrap_or_default());
    }
    let limit = command.limit.or((command.format == Format::Table).then_some(TABLE_ROWS_MAX));
    path.push_str(&limit.map(|limit| format!("&limit={limit}")).unwrap_or_default());
    let body = json!({ "x": command.x, "y": command.y });
    let Some(answer) = posted(&command.server.url, &path, body, command.format)? else { return Ok(()) };
    print_rows(&answer["pairs"], &["time", "x", "y"])?;
    let told = |name: &str| text(&answer[name]);
    eprintln!("{} pairs, {} without a partner; made of {}", told("count"), told("unpaired"), told("made_of"));
    eprintln!("correlation {}; y = {} x + {}", told("correlation"), told("slope"), told("intercept"));
    list(&answer["damage"]).iter().for_each(|damage| eprintln!("DAMAGE  {}", text(damage)));
    match &answer["until"] {
        Value::String(until) => {
            Err(format!("there are more from {until} on: go on from there, or raise --limit").into())
        }
        _ => Ok(()),
    }
}

pub(crate) fn fft(command: &Fft) -> Result<(), Failure> {
    if command.strongest.is_some() && command.of.format != Format::Table {
        return Err("--strongest is for tables: the other formats have all frequencies".into());
    }
    let mut more = format!("&window={}&output={}&detrend={}", command.window, command.output, command.detrend);
    if let Some(step) = command.step {
        more.push_str(&format!("&step={}&resample={}", step.as_secs_f64(), command.resample));
    }
    more.push_str(&command.tolerance.map(|tolerance| format!("&tolerance={tolerance}")).unwrap_or_default());
    let Some(answer) = ask(&command.of, "fft", &more)? else { return Ok(()) };
    let mut rows: Vec<&Value> = list(&answer["spectrum"]).iter().collect();
    let strength = |row: &Value| row[&command.output].as_f64().unwrap_or(0.0);
    if let Some(strongest) = command.strongest {
        rows.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
        rows.truncate(strongest);
    }
    let units = answer["output_units"].as_str().map(|units| format!(" ({units})")).unwrap_or_default();
    let mut cells = vec![vec!["frequency (Hz)".to_owned(), format!("{}{units}", command.output)]];
    let shown = rows.iter().take(TABLE_ROWS_MAX as usize);
    cells.extend(shown.map(|row| ["frequency", &command.output].map(|name| rounded(&row[name])).to_vec()));
    aligned(&cells).iter().try_for_each(|line| print_line(line))?;
    let told = |name: &str| text(&answer[name]);
    eprintln!("{} points, {} s apart, made of {}", told("points"), told("step"), told("made_of"));
    list(&answer["damage"]).iter().for_each(|damage| eprintln!("DAMAGE  {}", text(damage)));
    if rows.len() > TABLE_ROWS_MAX as usize {
        return Err("there are more frequencies: take another --format, or --strongest".into());
    }
    Ok(())
}

/// A number with as many digits as people read; programs take the other formats.
fn rounded(number: &Value) -> String {
    let short = number.as_f64().and_then(|number| format!("{number:.8e}").parse::<f64>().ok());
    text(&short.map_or(number.clone(), Value::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_rounding_leaves_are_not_shown() {
        for (number, shown) in
            [(2.000_000_000_000_000_4, "2.0"), (1.0 / 3.0, "0.333333333"), (1e-20, "1e-20"), (0.0, "0.0")]
        {
            assert_eq!(rounded(&Value::from(number)), shown);
        }
        assert_eq!(rounded(&Value::Null), "-");
    }
}
