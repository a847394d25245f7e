//! What one node asks of another: each question has a URL of its own below `/internal/v1/`, and its arguments as bytes in the body.
//!
//! ```text
//!   key := 0 number:uint | 1 name:text          field := 0 | 1 path:text          range := from:time to:time
//! ```

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

use archive::{Key, PvId, PvName};
use sample::{TimeRange, Timestamp};

use crate::bytes_format::{In, Out};

/// Where all of them are asked. Another number is another language.
pub(crate) const ROOT: &str = "/internal/v1/";
/// Which of the languages of that number is spoken: a node that answers another one is not asked.
pub(crate) const LANGUAGE: u64 = 1;
/// The longest arguments: the edges of 100,000 bins.
pub(crate) const BYTES_MAX: usize = 2 << 20;

/// Which PV is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pv {
    Number(PvId),
    Name(PvName),
}

impl Pv {
    pub(crate) fn of(key: Key<'_>) -> Pv {
        match key {
            Key::Number(pv) => Pv::Number(pv),
            Key::Name(name) => Pv::Name(name.clone()),
        }
    }
}

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    Hello,
    Names,
    Samples {
        pv: Pv,
        field: Option<String>,
        range: TimeRange,
    },
    Stretches {
        pv: Pv,
        field: Option<String>,
        range: TimeRange,
        edges: Vec<Timestamp>,
    },
    Before {
        pv: Pv,
        time: Timestamp,
    },
    Extent {
        pv: Pv,
    },
    Metadata {
        pv: Pv,
        range: TimeRange,
    },
    Gaps {
        pv: Pv,
        field: Option<String>,
        range: TimeRange,
    },
    Lacks {
        pv: Pv,
        field: Option<String>,
        range: TimeRange,
    },
    Carried {
        pv: Pv,
        name: Option<String>,
        range: TimeRange,
    },
    Headers {
        pv: Pv,
        range: TimeRange,
    },
    Configuration {
        pv: Pv,
    },
    HaveSamples {
        pvs: Vec<PvId>,
    },
    HaveMetadata {
        pvs: Vec<PvId>,
    },
    /// A question of the cluster, in its own bytes.
    Cluster {
        question: Vec<u8>,
    },
}

impl Call {
    /// The number of the PV that it is about, if it names one so.
    pub(crate) fn number(&self) -> Option<PvId> {
        match self {
            Call::Samples { pv, .. }
            | Call::Stretches { pv, .. }
            | Call::Before { pv, .. }
            | Call::Extent { pv }
            | Call::Metadata { pv, .. }
            | Call::Gaps { pv, .. }
            | Call::Lacks { pv, .. }
            | Call::Carried { pv, .. }
            | Call::Headers { pv, .. }
            | Call::Configuration { pv } => match pv {
                Pv::Number(pv) => Some(*pv),
                Pv::Name(_) => None,
            },
            _ => None,
        }
    }

    /// The last part of its URL.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Call::Hello => "hello",
            Call::Names => "names",
            Call::Samples { .. } => "samples",
            Call::Stretches { .. } => "stretches",
            Call::Before { .. } => "before",
            Call::Extent { .. } => "extent",
            Call::Metadata { .. } => "metadata",
            Call::Gaps { .. } => "gaps",
            Call::Lacks { .. } => "lacks",
            Call::Carried { .. } => "carried",
            Call::Headers { .. } => "headers",
            Call::Configuration { .. } => "configuration",
            Call::HaveSamples { .. } => "have-samples",
            Call::HaveMetadata { .. } => "have-metadata",
            Call::Cluster { .. } => "cluster",
        }
    }

    /// Its arguments.
    pub(crate) fn arguments(&self) -> Vec<u8> {
        let mut out = Out::default();
        match self {
            Call::Hello | Call::Names => {}
            Call::Samples { pv, field, range }
            | Call::Gaps { pv, field, range }
            | Call::Lacks { pv, field, range }
            | Call::Carried { pv, name: field, range } => within(pv, field.as_deref(), *range, &mut out),
            Call::Stretches { pv, field, range, edges } => {
                within(pv, field.as_deref(), *range, &mut out);
                out.size(edges.len());
                let mut before = 0;
                for edge in edges {
                    out.int(edge.nanos().wrapping_sub(before));
                    before = edge.nanos();
                }
            }
            Call::Before { pv, time } => {
                key(pv, &mut out);
                out.time(*time);
            }
            Call::Extent { pv } | Call::Configuration { pv } => key(pv, &mut out),
            Call::Metadata { pv, range } | Call::Headers { pv, range } => {
                key(pv, &mut out);
                out.range(*range);
            }
            Call::HaveSamples { pvs } | Call::HaveMetadata { pvs } => {
                out.size(pvs.len());
                pvs.iter().for_each(|pv| out.uint(pv.0.into()));
            }
            Call::Cluster { question } => out.0.extend_from_slice(question),
        }
        out.0
    }

    /// The question of that name with these arguments; none if there is no such question, or these are not its arguments.
    pub(crate) fn read(name: &str, arguments: &[u8]) -> Option<Call> {
        if name == "cluster" {
            return Some(Call::Cluster { question: arguments.to_vec() });
        }
        let mut bytes = In(arguments);
        let call = match name {
            "hello" => Call::Hello,
            "names" => Call::Names,
            "samples" => {
                Call::Samples { pv: read_key(&mut bytes)?, field: read_text(&mut bytes)?, range: bytes.range()? }
            }
            "gaps" => Call::Gaps { pv: read_key(&mut bytes)?, field: read_text(&mut bytes)?, range: bytes.range()? },
            "lacks" => Call::Lacks { pv: read_key(&mut bytes)?, field: read_text(&mut bytes)?, range: bytes.range()? },
            "carried" => {
                Call::Carried { pv: read_key(&mut bytes)?, name: read_text(&mut bytes)?, range: bytes.range()? }
            }
            "stretches" => Call::Stretches {
                pv: read_key(&mut bytes)?,
                field: read_text(&mut bytes)?,
                range: bytes.range()?,
                edges: read_edges(&mut bytes)?,
            },
            "before" => Call::Before { pv: read_key(&mut bytes)?, time: bytes.time()? },
            "extent" => Call::Extent { pv: read_key(&mut bytes)? },
            "configuration" => Call::Configuration { pv: read_key(&mut bytes)? },
            "metadata" => Call::Metadata { pv: read_key(&mut bytes)?, range: bytes.range()? },
            "headers" => Call::Headers { pv: read_key(&mut bytes)?, range: bytes.range()? },
            "have-samples" => Call::HaveSamples { pvs: read_numbers(&mut bytes)? },
            "have-metadata" => Call::HaveMetadata { pvs: read_numbers(&mut bytes)? },
            _ => return None,
        };
        bytes.is_empty().then_some(call)
    }
}

fn within(pv: &Pv, field: Option<&str>, range: TimeRange, out: &mut Out) {
    key(pv, out);
    out.option(field, Out::text);
    out.range(range);
}

fn key(pv: &Pv, out: &mut Out) {
    match pv {
        Pv::Number(pv) => {
            out.byte(0);
            out.uint(pv.0.into());
        }
        Pv::Name(name) => {
            out.byte(1);
            out.text(name.as_str());
        }
    }
}

fn read_key(bytes: &mut In<'_>) -> Option<Pv> {
    match bytes.byte()? {
        0 => read_number(bytes).map(Pv::Number),
        1 => PvName::new(bytes.text()?).ok().map(Pv::Name),
        _ => None,
    }
}

fn read_number(bytes: &mut In<'_>) -> Option<PvId> {
    bytes.uint()?.try_into().ok().map(PvId)
}

/// Outer none: it makes no sense.
fn read_text(bytes: &mut In<'_>) -> Option<Option<String>> {
    bytes.option(|bytes| bytes.text().map(str::to_owned))
}

fn read_edges(bytes: &mut In<'_>) -> Option<Vec<Timestamp>> {
    let mut before = 0_i64;
    let edges = (0..bytes.count(1)?).map(|_| {
        before = before.wrapping_add(bytes.int()?);
        Some(Timestamp::from_nanos(before))
    });
    edges.collect()
}

fn read_numbers(bytes: &mut In<'_>) -> Option<Vec<PvId>> {
    (0..bytes.count(1)?).map(|_| read_number(bytes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_comes_back_and_no_part_of_one_is_one() {
        let time = |seconds| Timestamp::from_seconds(seconds, 7);
        let range = TimeRange { t0: time(-5), t1: time(1_800_000_000) };
        let pv = Pv::Name(PvName::new("SR:C01{BPM:1}x").expect("a name"));
        let number = Pv::Number(PvId(70_000));
        let field = Some("value.x".to_owned());
        let calls = [
            Call::Hello,
            Call::Names,
            Call::Samples { pv: pv.clone(), field: field.clone(), range },
            Call::Stretches { pv: number.clone(), field: None, range, edges: vec![time(1), time(2), time(4)] },
            Call::Before { pv: pv.clone(), time: time(3) },
            Call::Extent { pv: number.clone() },
            Call::Metadata { pv: pv.clone(), range },
            Call::Gaps { pv: number.clone(), field: field.clone(), range },
            Call::Lacks { pv: pv.clone(), field, range: TimeRange::ALL },
            Call::Carried { pv: pv.clone(), name: Some("HIHI".to_owned()), range },
            Call::Headers { pv, range },
            Call::Configuration { pv: number },
            Call::HaveSamples { pvs: vec![PvId(1), PvId(1_000_000)] },
            Call::HaveMetadata { pvs: Vec::new() },
        ];
        for call in calls {
            let arguments = call.arguments();
            assert_eq!(Call::read(call.name(), &arguments), Some(call.clone()));
            for size in 0..arguments.len() {
                assert_eq!(Call::read(call.name(), &arguments[..size]), None, "{call:?}");
            }
            assert_eq!(Call::read(call.name(), &[&arguments[..], &[0]].concat()), None, "{call:?}");
            assert_eq!(Call::read("write", &arguments), None);
        }
    }
}
