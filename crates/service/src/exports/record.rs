//! What is kept of an export beside its bytes, so that it outlives the program: lines of a name and a value.
//!
//! ```text
//!   pvark export 1                     the first line: anything else is no record
//!   owner, ordered, form, range, …     what was ordered
//!   pv 17 <tab> field <tab> name       each PV, in order; %09, %0A, %0D and %25 stand for tab, line feed, return and %
//!   state, place, …                    how far it is: `place` is the length up to which the file holds whole PVs; one that is `running`
//!                                      when it is read was under way when the program ended without a word
//! ```

use std::{fmt::Write, time::Duration};

use archive::PvId;
use query::{Alignment, Before, Series};
use sample::{TimeRange, Timestamp};

use super::{ExportPv, ExportRows, ExportState, ExportTally, ExportWanted, Form, RowTimes};
use crate::refusal::{Code, Refusal};

const FIRST: &str = "pvark export 1";
/// Longer ones were not written here.
pub(super) const RECORD_BYTES_MAX: u64 = 64 << 20;

/// What is kept of one.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) owner: String,
    pub(super) ordered: Timestamp,
    pub(super) bytes_planned: u64,
    pub(super) wanted: ExportWanted,
    pub(super) state: ExportState,
    pub(super) tally: ExportTally,
    pub(super) place: u64,
    pub(super) resumed: u32,
}

impl Record {
    pub(super) fn text(&self) -> String {
        let mut out = format!("{FIRST}\n");
        let mut put = |name: &str, value: &str| writeln!(out, "{name} {}", escaped(value)).expect("a text takes it");
        put("owner", &self.owner);
        put("ordered", &self.ordered.nanos().to_string());
        put("planned", &self.bytes_planned.to_string());
        put("form", self.wanted.form.name());
        put("range", &format!("{} {}", self.wanted.range.t0.nanos(), self.wanted.range.t1.nanos()));
        match &self.wanted.rows {
            ExportRows::Raw { before } => put("raw", if *before == Before::Include { "before" } else { "within" }),
            ExportRows::Aligned { alignment, tolerance, with_severity, .. } => {
                let tolerance = tolerance.map_or("-".to_owned(), |tolerance| tolerance.as_nanos().to_string());
                put("aligned", &format!("{} {tolerance} {with_severity}", alignment_name(*alignment)));
            }
        }
        match &self.wanted.rows {
            ExportRows::Aligned { times: RowTimes::Every(period), .. } => put("every", &period.as_nanos().to_string()),
            ExportRows::Aligned { times: RowTimes::Of(pv), .. } => {
                writeln!(out, "of {}", pv_text(pv)).expect("it fits")
            }
            ExportRows::Raw { .. } => {}
        }
        for pv in &self.wanted.pvs {
            writeln!(out, "pv {}", pv_text(pv)).expect("a text takes it");
        }
        let mut put = |name: &str, value: &str| writeln!(out, "{name} {}", escaped(value)).expect("a text takes it");
        let ExportTally { pvs_done, samples, bytes, gaps, without, without_count, damage, damage_count, notes, .. } =
            &self.tally;
        put("tally", &format!("{pvs_done} {samples} {bytes} {gaps} {without_count} {damage_count}"));
        without.iter().for_each(|name| put("without", name));
        damage.iter().for_each(|sentence| put("damage", sentence));
        notes.iter().for_each(|sentence| put("note", sentence));
        put("place", &format!("{} {}", self.place, self.resumed));
        match &self.state {
            ExportState::Waiting => put("state", "waiting"),
            ExportState::Running => put("state", "running"),
            ExportState::Done { since } => put("state", &format!("done {}", since.nanos())),
            ExportState::Failed { since, why } => {
                put("why", why.message());
                put("hint", why.what_to_do().unwrap_or_default());
                put("state", &format!("failed {} {}", since.nanos(), why.code().name()));
            }
        }
        out
    }

    /// None if it is no record, or not whole: `state` is its last line.
    pub(super) fn parse(text: &str) -> Option<Record> {
        let mut lines = text.lines();
        if lines.next()? != FIRST || !text.ends_with('\n') {
            return None;
        }
        let mut read = Read::default();
        for line in lines {
            let (name, value) = line.split_once(' ')?;
            read.line(name, value)?;
        }
        let (rows, times) = (read.rows?, read.times);
        let rows = match (rows, times) {
            (ExportRows::Aligned { alignment, tolerance, with_severity, .. }, times) => {
                ExportRows::Aligned { alignment, times: times?, tolerance, with_severity }
            }
            (raw, _) => raw,
        };
        let wanted = ExportWanted { pvs: read.pvs, range: read.range?, rows, form: read.form? };
        Some(Record {
            owner: read.owner?,
            ordered: read.ordered?,
            bytes_planned: read.planned,
            wanted,
            state: read.state?,
            tally: read.tally,
            place: read.place,
            resumed: read.resumed,
        })
    }
}

#[derive(Default)]
struct Read {
    owner: Option<String>,
    ordered: Option<Timestamp>,
    planned: u64,
    form: Option<Form>,
    range: Option<TimeRange>,
    rows: Option<ExportRows>,
    times: Option<RowTimes>,
    pvs: Vec<ExportPv>,
    tally: ExportTally,
    place: u64,
    resumed: u32,
    why: String,
    hint: String,
    state: Option<ExportState>,
}

impl Read {
    fn line(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "owner" => self.owner = Some(plain(value)?),
            "ordered" => self.ordered = Some(time(value)?),
            "planned" => self.planned = value.parse().ok()?,
            "form" => self.form = Some(Form::from_name(value)?),
            "range" => {
                let (t0, t1) = value.split_once(' ')?;
                self.range = Some(TimeRange::new(time(t0)?, time(t1)?).ok()?);
            }
            "raw" => {
                self.rows =
                    Some(ExportRows::Raw { before: if value == "before" { Before::Include } else { Before::None } });
            }
            "aligned" => self.rows = Some(aligned(value)?),
            "every" => self.times = Some(RowTimes::Every(Duration::from_nanos(value.parse().ok()?))),
            "of" => self.times = Some(RowTimes::Of(pv_of(value)?)),
            "pv" => self.pvs.push(pv_of(value)?),
            "without" => self.tally.without.push(plain(value)?),
            "damage" => self.tally.damage.push(plain(value)?),
            "note" => self.tally.notes.push(plain(value)?),
            "tally" => self.tally(value)?,
            "place" => {
                let (place, resumed) = value.split_once(' ')?;
                (self.place, self.resumed) = (place.parse().ok()?, resumed.parse().ok()?);
            }
            "why" => self.why = plain(value)?,
            "hint" => self.hint = plain(value)?,
            "state" => self.state = Some(self.state_of(value)?),
            _ => {} // of a newer program
        }
        Some(())
    }

    fn tally(&mut self, value: &str) -> Option<()> {
        let numbers: Vec<u64> = value.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [pvs_done, samples, bytes, gaps, without_count, damage_count] = numbers[..] else { return None };
        let pvs_done = usize::try_from(pvs_done).ok()?;
        let former = std::mem::take(&mut self.tally);
        self.tally = ExportTally { pvs_done, samples, bytes, gaps, without_count, damage_count, ..former };
        Some(())
    }

    fn state_of(&mut self, value: &str) -> Option<ExportState> {
        let mut words = value.split(' ');
        let (state, since) = (words.next()?, words.next().and_then(time));
        Some(match state {
            "waiting" => ExportState::Waiting,
            "running" => ExportState::Running,
            "done" => ExportState::Done { since: since? },
            "failed" => {
                let code = words.next().and_then(|name| CODES.into_iter().find(|code| code.name() == name));
                let why = Refusal::new(code.unwrap_or(Code::Internal), std::mem::take(&mut self.why));
                let hint = std::mem::take(&mut self.hint);
                ExportState::Failed { since: since?, why: if hint.is_empty() { why } else { why.hint(hint) } }
            }
            _ => return None,
        })
    }
}

/// With which exports fail.
const CODES: [Code; 8] = [
    Code::BadRequest,
    Code::UnknownPv,
    Code::TooLarge,
    Code::Conflict,
    Code::StoreRefused,
    Code::Busy,
    Code::Forbidden,
    Code::Internal,
];

fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok().map(Timestamp::from_nanos)
}

fn aligned(value: &str) -> Option<ExportRows> {
    let mut words = value.split(' ');
    let (name, tolerance, with_severity) = (words.next()?, words.next()?, words.next()? == "true");
    let alignment = ALIGNMENTS.into_iter().find(|alignment| alignment_name(*alignment) == name)?;
    let tolerance = match tolerance {
        "-" => None,
        nanos => Some(Duration::from_nanos(nanos.parse().ok()?)),
    };
    Some(ExportRows::Aligned { alignment, times: RowTimes::Every(Duration::ZERO), tolerance, with_severity })
}

const ALIGNMENTS: [Alignment; 4] = [Alignment::Previous, Alignment::Linear, Alignment::Nearest, Alignment::Pulse];

fn alignment_name(alignment: Alignment) -> &'static str {
    match alignment {
        Alignment::Previous => "previous",
        Alignment::Linear => "linear",
        Alignment::Nearest => "nearest",
        Alignment::Pulse => "pulse",
    }
}

fn pv_text(pv: &ExportPv) -> String {
    let field = pv.series.field.as_deref().unwrap_or_default();
    format!("{}\t{}\t{}", pv.series.pv.0, escaped(field), escaped(&pv.name))
}

fn pv_of(value: &str) -> Option<ExportPv> {
    let mut parts = value.split('\t');
    let (number, field, name) = (parts.next()?.parse().ok()?, plain(parts.next()?)?, plain(parts.next()?)?);
    let field = (!field.is_empty()).then(|| field.into());
    Some(ExportPv { name, series: Series { pv: PvId(number), field } })
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '%' | '\t' | '\n' | '\r' => write!(out, "%{:02X}", letter as u32).expect("a text takes it"),
            letter => out.push(letter),
        }
    }
    out
}

fn plain(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut out = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = (part.get(..2)?, part.get(2..)?);
        out.push(char::from(u8::from_str_radix(code, 16).ok()?));
        out.push_str(rest);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(rows: ExportRows, state: ExportState) -> Record {
        let pv = |name: &str, number, field: Option<&str>| ExportPv {
            name: name.to_owned(),
            series: Series { pv: PvId(number), field: field.map(Into::into) },
        };
        let range = TimeRange { t0: Timestamp::from_nanos(-5), t1: Timestamp::from_nanos(1_000_000_000_000_000_001) };
        Record {
            owner: "ldap:a b%\nstate done 1".to_owned(),
            ordered: Timestamp::from_nanos(7),
            bytes_planned: 9,
            wanted: ExportWanted {
                pvs: vec![pv("A:B", 1, None), pv("odd\tname\r\n%41.x.y", 2, Some("x.y"))],
                range,
                rows,
                form: Form::Xlsx,
            },
            state,
            tally: ExportTally {
                pvs_done: 1,
                samples: 2,
                bytes: 3,
                gaps: 4,
                without: vec!["A".to_owned()],
                without_count: 1,
                damage: vec!["a block\nof two lines".to_owned()],
                damage_count: 2,
                notes: vec!["%".to_owned()],
                progress: 0.0,
            },
            place: 11,
            resumed: 12,
        }
    }

    #[test]
    fn a_record_comes_back_as_it_was() {
        let of = ExportPv { name: "T".to_owned(), series: PvId(3).into() };
        let aligned = |alignment, times, tolerance| ExportRows::Aligned {
            alignment,
            times,
            tolerance,
            with_severity: tolerance.is_some(),
        };
        let why = Refusal::new(Code::TooLarge, "too\nlarge").hint("less");
        let states = [
            ExportState::Waiting,
            ExportState::Running,
            ExportState::Done { since: Timestamp::from_nanos(5) },
            ExportState::Failed { since: Timestamp::from_nanos(-6), why },
        ];
        let rows = [
            ExportRows::Raw { before: Before::Include },
            ExportRows::Raw { before: Before::None },
            aligned(Alignment::Pulse, RowTimes::Of(of), Some(Duration::from_nanos(77))),
            aligned(Alignment::Previous, RowTimes::Every(Duration::from_millis(100)), None),
        ];
        for (rows, state) in rows.iter().flat_map(|rows| states.iter().map(move |state| (rows, state))) {
            let record = record(rows.clone(), state.clone());
            let text = record.text();
            let again = Record::parse(&text).expect("it is one");
            assert_eq!(format!("{again:?}"), format!("{record:?}"));
            // Cut off anywhere it is no record, or it would be taken for one of fewer PVs.
            assert!((0..text.len()).all(|end| text.get(..end).is_none_or(|part| Record::parse(part).is_none())));
        }
        assert!(Record::parse("").is_none() && Record::parse("pvark export 2\nstate waiting\n").is_none());
    }
}
