//! What each call of the shared store takes, as `costs.csv` says it, and what recording takes, as `pvark capacity` predicts it.

use serde_json::Value;

use crate::store_bench::Outcome;

const CALLS: &str = include_str!("costs.csv");
/// The lines by which `pvark capacity` predicts.
const RECORDING: &str = include_str!("../../../../src/commands/capacity/model.json");

/// Bytes of a piece.
pub(super) const PIECE: f64 = 262_144.0;

/// What a call takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    /// Seconds of processor, of all servers together.
    pub(super) servers: f64,
    /// Of who calls.
    pub(super) caller: f64,
    /// Bytes that go to the servers or come from them, to one of them.
    pub(super) bytes: f64,
    /// Bytes that all servers write to disk.
    pub(super) written: f64,
}

/// All that is known of costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    pub(super) create: Cost,
    pub(super) row: Cost,
    pub(super) swap: Cost,
    pub(super) get: Cost,
    pub(super) beat: Cost,
    pub(super) beats_of_64: Cost,
    small_put: Cost,
    put: Cost,
    /// Seconds of processor of a node for each update, with all that it does for it.
    pub(super) update: f64,
    /// And of the one thread that writes into a store.
    pub(super) writer_update: f64,
    /// Bytes of an update in the log.
    pub(super) log_bytes: f64,
    /// And of memory in the head.
    pub(super) head_bytes: f64,
}

impl Costs {
    pub(super) fn measured() -> Outcome<Costs> {
        let recording: Value = serde_json::from_str(RECORDING)?;
        let line = |resource: &str| recording[resource]["update"].as_f64().ok_or("the model of capacity lacks a line");
        Ok(Costs {
            create: cost("create", 200)?,
            row: cost("row", 200)?,
            swap: cost("swap", 100)?,
            get: cost("get", 262_144)?,
            beat: cost("beat", 100)?,
            beats_of_64: cost("beats of 64", 6400)?,
            small_put: cost("put", 4096)?,
            put: cost("put", 262_144)?,
            update: line("cores")?,
            writer_update: line("writer")?,
            log_bytes: line("disk")?,
            head_bytes: line("head")?,
        })
    }

    /// Of so many bytes in one piece: a straight line through the two that were measured, and what no server wrote more slowly.
    pub(super) fn put(&self, bytes: f64) -> Cost {
        let (small, large) = (self.small_put, self.put);
        let share = ((bytes - small.bytes) / (large.bytes - small.bytes)).max(0.0);
        let between = |small: f64, large: f64| small + (large - small) * share;
        Cost {
            servers: between(small.servers, large.servers),
            caller: between(small.caller, large.caller),
            bytes,
            written: large.written * bytes / large.bytes,
        }
    }

    /// The beats of so many nodes.
    pub(super) fn beats_of(&self, nodes: usize) -> Cost {
        let times = nodes as f64 / 64.0;
        let Cost { servers, caller, bytes, .. } = self.beats_of_64;
        // To ask costs something whatever comes: what a row does.
        Cost {
            servers: servers.max(servers * times),
            caller: caller.max(caller * times),
            bytes: bytes * times,
            written: 0.0,
        }
    }
}

/// The line of a call with so many bytes.
fn cost(call: &str, bytes: u32) -> Outcome<Cost> {
    let mut lines = CALLS.lines().filter(|line| !line.starts_with('#'));
    let columns: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let wanted = format!("{call},{bytes},");
    let line = lines.find(|line| line.starts_with(&wanted)).ok_or_else(|| format!("costs.csv lacks {wanted}"))?;
    let field = |name: &str| -> Outcome<f64> {
        let (_, text) =
            columns.iter().zip(line.split(',')).find(|(column, _)| **column == name).ok_or("a column lacks")?;
        Ok(text.parse()?)
    };
    Ok(Cost {
        servers: field("servers_cpu_ms")? / 1e3,
        caller: field("client_cpu_ms")? / 1e3,
        bytes: field("bytes")?,
        written: field("servers_written_bytes")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_was_measured_is_there_and_between_two_sizes_lies_a_line() {
        let costs = Costs::measured().unwrap();
        assert_eq!(costs.put(4096.0).servers, costs.small_put.servers);
        assert!((costs.put(PIECE).servers - costs.put.servers).abs() < 1e-12);
        let middle = costs.put((PIECE + 4096.0) / 2.0);
        assert!(middle.servers > costs.small_put.servers && middle.servers < costs.put.servers);
        assert!(costs.update > 1e-8 && costs.update < 1e-5, "seconds");
        assert!(cost("put", 1).is_err());
    }
}
