//! Frames: an answer on its way between nodes, piece by piece, so that neither end holds it whole, and what is cut off is seen.
//!
//! ```text
//!   answer := frame* end            frame := size:u32le kind:u8 bytes[size - 1]
//! ```
//! An answer without its end, or with another number of frames than the end says, is no answer.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

use archive::{Carried, Cost, Extent, GapScope, PvId, SourceError, VALUE_BYTES_MAX};
use sample::{Batch, Gap, GapCause, Limits, Metadata, Severity, Shape, Summary, Timestamp, ValueType};

use crate::{
    batch,
    bytes_format::{In, Out},
};

/// No frame is longer: the largest sample, and what is said of it.
pub(crate) const BYTES_MAX: usize = VALUE_BYTES_MAX + (1 << 20);
/// What stands before a frame.
pub(crate) const HEAD_BYTES: usize = 4;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    /// Somebody works on the next piece.
    Alive,
    /// So many pieces came before, and that is all.
    End(u64),
    /// What went wrong in place of a piece.
    Trouble(SourceError),
    Hello(Hello),
    /// It has no such PV, or cannot tell.
    Absent,
    Batch(Batch),
    Summary(Summary),
    Extent(Extent),
    Metadata(Timestamp, Metadata),
    Gap(GapScope, Gap),
    Name(String),
    Carried(Carried),
    Header(String, String),
    Text(String),
    Flags(Vec<bool>),
    /// A question or an answer of the cluster, in its own bytes.
    Cluster(Vec<u8>),
    /// What follows is of this PV.
    Pv(PvId),
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) language: u64,
    /// Another one each time that it starts.
    pub(crate) run: u64,
    /// The version of its program.
    pub(crate) program: String,
}

impl Item {
    fn kind(&self) -> u8 {
        match self {
            Item::Alive => 0,
            Item::End(_) => 1,
            Item::Trouble(_) => 2,
            Item::Hello(_) => 3,
            Item::Absent => 4,
            Item::Batch(_) => 5,
            Item::Summary(_) => 6,
            Item::Extent(_) => 7,
            Item::Metadata(..) => 8,
            Item::Gap(..) => 9,
            Item::Name(_) => 10,
            Item::Carried(_) => 11,
            Item::Header(..) => 12,
            Item::Text(_) => 13,
            Item::Flags(_) => 14,
            Item::Cluster(_) => 15,
            Item::Pv(_) => 16,
        }
    }

    /// The frame; none if it would be too long.
    pub(crate) fn frame(&self) -> Option<Vec<u8>> {
        let mut out = Out(vec![0; HEAD_BYTES]);
        out.byte(self.kind());
        self.write(&mut out);
        let size = out.0.len() - HEAD_BYTES;
        let head = u32::try_from(size).ok().filter(|_| size <= BYTES_MAX)?;
        out.0.get_mut(..HEAD_BYTES)?.copy_from_slice(&head.to_le_bytes());
        Some(out.0)
    }

    fn write(&self, out: &mut Out) {
        match self {
            Item::Alive | Item::Absent => {}
            Item::End(count) => out.uint(*count),
            Item::Trouble(error) => {
                out.byte(match error.cost {
                    Cost::Piece => 0,
                    Cost::UntilBack => 1,
                    Cost::Answer => 2,
                });
                out.text(&error.message);
            }
            Item::Hello(hello) => {
                out.uint(hello.language);
                out.uint(hello.run);
                out.text(&hello.program);
            }
            Item::Batch(batch) => batch::write(batch, out),
            Item::Summary(summary) => write_summary(summary, out),
            Item::Extent(extent) => {
                out.time(extent.first);
                out.time(extent.last);
                out.uint(extent.samples);
            }
            Item::Metadata(since, metadata) => {
                out.time(*since);
                write_metadata(metadata, out);
            }
            Item::Gap(scope, gap) => {
                out.byte((*scope == GapScope::Archiver).into());
                out.time(gap.from);
                out.option(gap.to, Out::time);
                out.text(gap.cause.name());
                out.uint(gap.lost);
            }
            Item::Name(text) | Item::Text(text) => out.text(text),
            Item::Carried(carried) => {
                out.time(carried.time);
                out.alarm(&carried.alarm);
                out.byte(carried.is_change.into());
                out.size(carried.fields.len());
                for (name, text) in &carried.fields {
                    out.text(name);
                    out.text(text);
                }
            }
            Item::Header(name, text) => {
                out.text(name);
                out.text(text);
            }
            Item::Flags(flags) => {
                out.size(flags.len());
                flags.iter().for_each(|flag| out.byte((*flag).into()));
            }
            Item::Cluster(answer) => out.0.extend_from_slice(answer),
            Item::Pv(pv) => out.uint(pv.0.into()),
        }
    }

    /// What a frame says, without its size; none if it makes no sense.
    pub(crate) fn read(frame: &[u8]) -> Option<Item> {
        let mut bytes = In(frame);
        let kind = bytes.byte()?;
        let text = |bytes: &mut In<'_>| bytes.text().map(str::to_owned);
        let item = match kind {
            0 => Item::Alive,
            1 => Item::End(bytes.uint()?),
            2 => {
                let cost = match bytes.byte()? {
                    0 => Cost::Piece,
                    1 => Cost::UntilBack,
                    2 => Cost::Answer,
                    _ => return None,
                };
                Item::Trouble(SourceError { cost, message: text(&mut bytes)? })
            }
            3 => Item::Hello(Hello { language: bytes.uint()?, run: bytes.uint()?, program: text(&mut bytes)? }),
            4 => Item::Absent,
            5 => return batch::read(bytes).map(Item::Batch),
            15 => return Some(Item::Cluster(frame.get(1..)?.to_vec())),
            6 => Item::Summary(read_summary(&mut bytes)?),
            7 => Item::Extent(Extent { first: bytes.time()?, last: bytes.time()?, samples: bytes.uint()? }),
            8 => Item::Metadata(bytes.time()?, read_metadata(&mut bytes)?),
            9 => read_gap(&mut bytes)?,
            10 => Item::Name(text(&mut bytes)?),
            11 => Item::Carried(read_carried(&mut bytes)?),
            12 => Item::Header(text(&mut bytes)?, text(&mut bytes)?),
            13 => Item::Text(text(&mut bytes)?),
            14 => Item::Flags((0..bytes.count(1)?).map(|_| read_flag(&mut bytes)).collect::<Option<_>>()?),
            16 => Item::Pv(PvId(bytes.uint()?.try_into().ok()?)),
            _ => return None,
        };
        bytes.is_empty().then_some(item)
    }
}

fn read_flag(bytes: &mut In<'_>) -> Option<bool> {
    match bytes.byte()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

fn write_type(of: ValueType, out: &mut Out) {
    out.byte(of.element as u8);
    out.byte((of.shape == Shape::Array).into());
}

fn read_type(bytes: &mut In<'_>) -> Option<ValueType> {
    let element = sample::Element::from_number(bytes.byte()?)?;
    Some(if read_flag(bytes)? { ValueType::array(element) } else { ValueType::scalar(element) })
}

fn write_summary(of: &Summary, out: &mut Out) {
    write_type(of.value_type, out);
    out.time(of.t0);
    out.time(of.t1);
    [of.count, of.nan_count, of.covered, of.invalid_count].into_iter().for_each(|count| out.uint(count));
    [of.min, of.max, of.sum, of.squares, of.integral, of.first, of.last].into_iter().for_each(|float| out.float(float));
    out.byte(of.severity_max as u8);
}

fn read_summary(bytes: &mut In<'_>) -> Option<Summary> {
    let (value_type, t0, t1) = (read_type(bytes)?, bytes.time()?, bytes.time()?);
    let (count, nan_count, covered, invalid_count) = (bytes.uint()?, bytes.uint()?, bytes.uint()?, bytes.uint()?);
    // More of them than samples would be fewer than none.
    if count == 0 || nan_count > count || invalid_count > count || t1 < t0 {
        return None;
    }
    let (min, max, sum, squares) = (bytes.float()?, bytes.float()?, bytes.float()?, bytes.float()?);
    let (integral, first, last) = (bytes.float()?, bytes.float()?, bytes.float()?);
    let severity = bytes.byte().filter(|number| *number <= Severity::Undefined as u8)?;
    Some(Summary {
        value_type,
        t0,
        t1,
        count,
        nan_count,
        min,
        max,
        sum,
        squares,
        integral,
        covered,
        first,
        last,
        severity_max: Severity::from_number(severity.into()),
        invalid_count,
    })
}

fn write_metadata(of: &Metadata, out: &mut Out) {
    out.option(of.value_type, |out, of| write_type(of, out));
    out.option(of.element_count, Out::uint);
    out.option(of.units.as_deref(), Out::text);
    out.option(of.precision, |out, precision| out.int(precision.into()));
    for limits in [of.display, of.control, of.warning, of.alarm] {
        out.option(limits, |out, limits: Limits| {
            out.float(limits.low);
            out.float(limits.high);
        });
    }
    out.size(of.labels.len());
    of.labels.iter().for_each(|label| out.text(label));
    for text in [&of.description, &of.server, &of.server_run] {
        out.option(text.as_deref(), Out::text);
    }
}

fn read_metadata(bytes: &mut In<'_>) -> Option<Metadata> {
    let text = |bytes: &mut In<'_>| bytes.option(|bytes| bytes.text().map(str::to_owned));
    let limits = |bytes: &mut In<'_>| bytes.option(|bytes| Some(Limits { low: bytes.float()?, high: bytes.float()? }));
    Some(Metadata {
        value_type: bytes.option(read_type)?,
        element_count: bytes.option(In::uint)?,
        units: text(bytes)?,
        precision: bytes.option(|bytes| i32::try_from(bytes.int()?).ok())?,
        display: limits(bytes)?,
        control: limits(bytes)?,
        warning: limits(bytes)?,
        alarm: limits(bytes)?,
        labels: (0..bytes.count(1)?).map(|_| bytes.text().map(str::to_owned)).collect::<Option<_>>()?,
        description: text(bytes)?,
        server: text(bytes)?,
        server_run: text(bytes)?,
    })
}

fn read_gap(bytes: &mut In<'_>) -> Option<Item> {
    let scope = if read_flag(bytes)? { GapScope::Archiver } else { GapScope::Pv };
    let (from, to) = (bytes.time()?, bytes.option(In::time)?);
    let cause = bytes.text()?;
    let cause = GapCause::ALL.into_iter().find(|known| known.name() == cause)?;
    Some(Item::Gap(scope, Gap { from, to, cause, lost: bytes.uint()? }))
}

fn read_carried(bytes: &mut In<'_>) -> Option<Carried> {
    let (time, alarm, is_change) = (bytes.time()?, bytes.alarm()?, read_flag(bytes)?);
    let fields = (0..bytes.count(2)?).map(|_| Some((bytes.text()?.to_owned(), bytes.text()?.to_owned())));
    Some(Carried { time, alarm, fields: fields.collect::<Option<_>>()?, is_change })
}

#[cfg(test)]
mod tests {
    use sample::{Alarm, Element, Sample, Value};

    use super::*;

    #[test]
    fn every_piece_comes_back_and_no_part_of_one_is_one() {
        let time = Timestamp::from_seconds(1_800_000_000, 1);
        let alarm = Alarm { severity: Severity::Major, status: 3, message: Some("hot".into()) };
        let batch = Batch::of(&Sample { time, value: Value::F64(-0.0), alarm: alarm.clone(), pulse: 9, stamp: None });
        let metadata = Metadata {
            value_type: Some(ValueType::array(Element::Enum)),
            element_count: Some(1 << 40),
            units: Some("µA".to_owned()),
            precision: Some(-3),
            warning: Some(Limits { low: f64::NAN, high: 4.0 }),
            labels: vec!["off".to_owned(), String::new()],
            server_run: Some("beacons:".to_owned()),
            ..Metadata::default()
        };
        let summary = Summary::of(&batch, 0..1).expect("there is a row");
        let gap = Gap { from: time, to: None, cause: GapCause::QueueFull, lost: 17 };
        let fields = vec![("HIHI".to_owned(), "7".to_owned())];
        let items = [
            Item::Alive,
            Item::End(1 << 33),
            Item::Trouble(SourceError { cost: Cost::UntilBack, message: "the disk is away".to_owned() }),
            Item::Hello(Hello { language: 1, run: u64::MAX, program: "0.1.0".to_owned() }),
            Item::Absent,
            Item::Batch(batch),
            Item::Summary(summary),
            Item::Extent(Extent { first: Timestamp::MIN, last: Timestamp::MAX, samples: 3 }),
            Item::Metadata(time, metadata),
            Item::Gap(GapScope::Archiver, gap),
            Item::Name("A:B".to_owned()),
            Item::Carried(Carried { time, alarm, fields, is_change: true }),
            Item::Header("EGU".to_owned(), "mA".to_owned()),
            Item::Text("{}".to_owned()),
            Item::Flags(vec![true, false]),
            Item::Pv(PvId(1 << 30)),
        ];
        for item in items {
            let frame = item.frame().expect("it is short");
            assert_eq!(
                frame[..HEAD_BYTES],
                u32::try_from(frame.len() - HEAD_BYTES).expect("it is short").to_le_bytes()
            );
            assert_eq!(Item::read(&frame[HEAD_BYTES..]), Some(item.clone()));
            for end in HEAD_BYTES..frame.len() {
                assert_eq!(Item::read(&frame[HEAD_BYTES..end]), None, "{item:?}");
            }
        }
    }
}
