//! `engineconfig.xml` of the Channel Archiver from 2 on: parameters, groups, channels.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use archive::{Method, PvName};
use foreign::{CarriedOver, Mark, Pv, marks, period, rule_name};

/// A channel as far as it has been read.
#[derive(Default)]
struct Channel {
    name: String,
    period: Option<String>,
    monitored: bool,
    disables: bool,
    line: usize,
}

/// Reads a configuration.
pub fn read_engine_config(file: &str, text: &str) -> CarriedOver {
    let (marks, broken) = marks(text);
    let mut carried = CarriedOver::default();
    let (mut group, mut channel) = (None::<String>, None::<Channel>);
    for (line, mark) in marks {
        match (mark, &mut channel) {
            (Mark::Begin(name), _) if name == "channel" => channel = Some(Channel { line, ..Channel::default() }),
            (Mark::Begin(_), _) => {}
            (Mark::End(name, _), Some(_)) if name == "channel" => {
                finish(&mut carried, file, group.as_deref(), channel.take().unwrap_or_default());
            }
            (Mark::End(name, text), Some(channel)) => match name.as_str() {
                "name" => channel.name = text,
                "period" => channel.period = Some(text),
                "monitor" => channel.monitored = true,
                "scan" => channel.monitored = false,
                "disable" => channel.disables = true,
                other => carried.note(file, line, format!("<{other}> of a channel is not known")),
            },
            (Mark::End(name, text), None) => match name.as_str() {
                "name" => group = Some(rule_name(&text)),
                "group" => group = None,
                "engineconfig" => {}
                "write_period" | "get_threshold" | "file_size" | "buffer_reserve" => {
                    carried.note(file, line, format!("{name} {text} is not needed: no buffer is sized by it here"));
                }
                "max_repeat_count" => {
                    carried.note(file, line, format!("{name} {text} is not needed: repeats are not left out here"));
                }
                "disconnect" => {
                    carried.note(file, line, "disconnect has no counterpart: disabled PVs stay connected here");
                }
                "ignored_future" => {
                    carried.note(
                        file,
                        line,
                        format!("{name} {text}: samples from the future are kept and marked here"),
                    );
                }
                other => carried.note(file, line, format!("<{other}> is not known")),
            },
        }
    }
    if let Some((line, text)) = broken {
        carried.note(file, line, format!("the file is not XML from here on: {text}"));
    }
    carried
}

fn finish(carried: &mut CarriedOver, file: &str, group: Option<&str>, channel: Channel) {
    let line = channel.line;
    let (protocol, name) = match PvName::parse(&channel.name) {
        Ok(parsed) => parsed,
        Err(error) => return carried.note(file, line, format!("{:?} is left out: {error}", channel.name)),
    };
    let seconds = channel.period.as_deref().map(seconds);
    let method = match (channel.monitored, seconds.flatten().and_then(period)) {
        (true, _) => Method::Monitor,
        (false, Some(period)) => Method::Scan { period },
        (false, None) => {
            let period = channel.period.unwrap_or_default();
            carried.note(file, line, format!("{name}: a period of {period:?} cannot be scanned at; it is monitored"));
            Method::Monitor
        }
    };
    if channel.disables {
        match group {
            Some(group) => carried.disable(group, &name),
            None => carried.note(file, line, format!("{name} disables a group that has no name")),
        }
    }
    let groups = group.map(str::to_owned).into_iter().collect();
    carried.add(Pv { name, protocol, method: Some(method), groups, policy: None });
}

/// `30`, `30 sec`, `0.5 m`: a number and any beginning of a unit.
fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || ".+-eE".contains(c))).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let unit = unit.trim();
    let units = [("seconds", 1.0), ("minutes", 60.0), ("hours", 3600.0), ("days", 86_400.0)];
    let factor = units.into_iter().find(|(name, _)| name.starts_with(unit))?.1;
    Some(number.parse::<f64>().ok()? * factor)
}
