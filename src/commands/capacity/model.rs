//! The model: straight lines, fitted by `pvark-lab capacity`, for what the archiver takes of each resource.

use serde::Deserialize;

use super::list::Load;

/// What is needed per second, or held, for each of these.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    base: f64,
    /// Of threads that wake up.
    #[serde(default)]
    wake: f64,
    #[serde(default)]
    pv: f64,
    /// Of each PV in a flush.
    #[serde(default)]
    flush: f64,
    /// Of scalars.
    #[serde(default)]
    update: f64,
    /// Updates of arrays.
    #[serde(default)]
    frame: f64,
    #[serde(default)]
    byte: f64,
    /// Of the arrays of all PVs once.
    #[serde(default)]
    held: f64,
}

/// The lines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    /// What they were fitted on.
    #[expect(dead_code, reason = "it is for who reads the file")]
    machine: String,
    /// Threads wake up for each update, but no more often than this: then one wakes up for several.
    wakes_max: f64,
    /// Of processor time, in cores, with flushes and merges.
    cores: Line,
    /// The same of the thread that writes into the store.
    writer: Line,
    /// Bytes of memory besides the head.
    memory: Line,
    /// Bytes of the head.
    head: Line,
    /// Bytes received per second.
    network: Line,
    /// Bytes written: by each update, and by each flush for each PV.
    disk: Line,
    /// Bytes that stay on disk, likewise.
    kept: Line,
}

/// The settings of the head, on which memory depends.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct HeadSettings {
    /// The archiver's head_megabytes_max
    #[arg(long = "head-megabytes", value_name = "MB", default_value_t = 256.0)]
    megabytes: f64,
    /// The archiver's flush_after, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600.0)]
    flush_after: f64,
}

/// What a load needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Need {
    pub(super) cores: f64,
    pub(super) writer: f64,
    pub(super) memory_gb: f64,
    pub(super) network_mbits: f64,
    pub(super) disk_mb: f64,
    pub(super) kept_gb_a_day: f64,
}

/// What a machine has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) cores: f64,
    pub(super) memory_gb: f64,
    pub(super) network_mbits: f64,
    pub(super) disk_mb: f64,
}

impl Line {
    /// Besides what it takes that threads wake up.
    fn of(&self, load: &Load) -> f64 {
        let Load { pvs, bytes, held, .. } = *load;
        self.base + self.pv * pvs + self.of_updates(load) + self.byte * bytes + self.held * held
    }

    fn of_updates(&self, load: &Load) -> f64 {
        self.update * (load.updates - load.frames) + self.frame * load.frames
    }
}

impl Model {
    /// What threads take of a core.
    fn of_threads(&self, line: &Line, load: &Load) -> f64 {
        line.of(load) + line.wake * load.updates * self.wakes_max / (load.updates + self.wakes_max)
    }

    pub(super) fn need(&self, load: &Load, head: HeadSettings) -> Need {
        let most = head.megabytes * f64::from(1 << 20);
        // Twice where one is filled while the other is written.
        let full = self.head.of(&Load {
            updates: load.updates * head.flush_after,
            frames: load.frames * head.flush_after,
            ..*load
        }) + load.changed * head.flush_after;
        let in_head = if full > most { 2.0 * most } else { full };
        // The arrays of a head are written once more with each, and those that change always.
        let of_all = self.head.pv * load.pvs + self.head.held * load.held;
        let flushes = (self.head.of_updates(load) + load.changed) / (most - of_all).max(most / 10.0);
        let flushes = flushes.max(1.0 / head.flush_after);
        let firsts = load.held * flushes;
        let bytes = |line: &Line| line.of_updates(load) + line.pv * load.pvs * flushes;
        Need {
            cores: self.of_threads(&self.cores, load) + self.cores.flush * load.pvs * flushes,
            writer: self.of_threads(&self.writer, load),
            memory_gb: (self.memory.of(load) + in_head) / 1e9,
            network_mbits: self.network.of(load) * 8.0 / 1e6,
            disk_mb: (bytes(&self.disk) + 2.0 * (load.changed + firsts)) / 1e6,
            kept_gb_a_day: (bytes(&self.kept) + load.changed) * 86_400.0 / 1e9,
        }
    }
}

/// Loads are not looked at beyond so many times the one in question.
const TIMES_MAX: f64 = 1e9;

impl Need {
    /// On a machine whose processor takes so many times as long.
    pub(super) fn slower(self, factor: f64) -> Need {
        Need { cores: self.cores * factor, writer: self.writer * factor, ..self }
    }
}

/// At how many times the load what it needs of something reaches the most that there is; infinite if it never does.
pub(super) fn exhausted_at(needed: impl Fn(f64) -> f64, most: f64) -> f64 {
    if needed(TIMES_MAX) < most {
        return f64::INFINITY;
    }
    let (mut enough, mut too_much) = (0.0, TIMES_MAX);
    // All needs grow with the load, so that each halving keeps the answer in between.
    for _ in 0..100 {
        let middle = if enough < 1.0 && too_much > 2.0 { 1.0 } else { f64::midpoint(enough, too_much) };
        if needed(middle) < most { enough = middle } else { too_much = middle }
    }
    enough
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: HeadSettings = HeadSettings { megabytes: 256.0, flush_after: 3600.0 };

    fn load(pvs: f64) -> Load {
        Load { pvs, updates: 14.0 * pvs, frames: 14.0 * pvs, bytes: 56_000.0 * pvs, held: 4000.0 * pvs, changed: 0.0 }
    }

    #[test]
    fn the_fitted_model_can_be_read_and_needs_more_for_more() {
        let model: Model = serde_json::from_str(super::super::FITTED).expect("a model");
        let (one, two) = (model.need(&load(5_000.0), HEAD), model.need(&load(10_000.0), HEAD));
        assert!(one.cores > 0.0 && two.cores > 1.2 * one.cores && two.cores < 2.0 * one.cores + 0.01);
        assert!(two.writer <= two.cores && two.network_mbits > 1.9 * one.network_mbits);
        assert!(two.disk_mb > one.disk_mb && two.kept_gb_a_day > one.kept_gb_a_day);
    }

    #[test]
    fn what_is_there_without_any_load_is_not_multiplied() {
        let at = |most| exhausted_at(|times| 0.1 + times, most);
        assert!((at(2.1) - 2.0).abs() < 1e-9 && (at(0.6) - 0.5).abs() < 1e-9);
        assert_eq!((at(0.05), at(f64::INFINITY)), (0.0, f64::INFINITY));
        assert_eq!(Need { cores: 1.0, ..Need::default() }.slower(2.0).cores, 2.0);
    }

    #[test]
    fn memory_that_the_head_may_take_is_not_taken_twice_for_twice_the_load() {
        let model: Model = serde_json::from_str(super::super::FITTED).expect("a model");
        let memory = |times: f64| model.need(&load(5_000.0).times(times), HEAD).memory_gb;
        let at = exhausted_at(memory, 10.0);
        assert!(memory(1.0) > 0.5 && at > 20.0 && (memory(at) - 10.0).abs() < 1e-3, "{at}");
    }
}
