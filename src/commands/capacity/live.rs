//! The load of an archiver that runs, and what it takes, by two looks at its `/metrics`.

use std::{collections::HashMap, thread, time::Duration};

use super::{
    list::Load,
    model::{HeadSettings, Model},
};
use crate::{
    commands::http::{agent, checked},
    failure::Failure,
};

/// The largest answer that is read.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// Processor time is told in steps of so much; less than ten of them say nothing.
const STEP_SECONDS: f64 = 0.01;

/// What was seen.
pub(super) struct SeenLive {
    pub(super) load: Load,
    cores: f64,
    memory_gb: f64,
    /// Whether so much processor time was taken that it can be compared.
    is_telling: bool,
}

type CounterSums = HashMap<String, f64>;

/// Looks twice.
pub(super) fn watch(url: &str, seconds: f64) -> Result<SeenLive, Failure> {
    let before = look(url)?;
    thread::sleep(Duration::try_from_secs_f64(seconds).map_err(|_| "--seconds is no time")?);
    let after = look(url)?;
    let get = |sums: &CounterSums, name: &str| -> Result<f64, Failure> {
        sums.get(name).copied().ok_or_else(|| format!("{url}/metrics does not tell {name}").into())
    };
    let rate = |name: &str| -> Result<f64, Failure> { Ok((get(&after, name)? - get(&before, name)?) / seconds) };
    let (updates, received) = (rate("pvark_samples_received_total")?, rate("pvark_client_received_bytes_total")?);
    let cores = rate("process_cpu_seconds_total")?;
    let load = Load {
        pvs: get(&after, "pvark_pvs")?,
        updates,
        bytes: (received - HEAD_BYTES * updates).max(0.0),
        ..Load::default()
    };
    let memory_gb = get(&after, "process_resident_memory_bytes")? / 1e9;
    Ok(SeenLive { load, cores, memory_gb, is_telling: cores * seconds >= 10.0 * STEP_SECONDS })
}

/// Of each update, what is not its value: a header, alarm and time of Channel Access.
const HEAD_BYTES: f64 = 32.0;

/// Each quantity, summed over its labels.
fn look(url: &str) -> Result<CounterSums, Failure> {
    let answer = agent().get(&format!("{url}/metrics")).call();
    let text = checked(answer, url)?.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string()?;
    Ok(sums(&text))
}

fn sums(text: &str) -> CounterSums {
    let mut sums = CounterSums::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, value)) = line.rsplit_once(' ') else { continue };
        let name = name.split('{').next().unwrap_or_default();
        *sums.entry(name.to_owned()).or_default() += value.parse::<f64>().unwrap_or(0.0);
    }
    sums
}

impl SeenLive {
    /// How much longer the processor takes here than the model says; 1 where too little was seen.
    pub(super) fn factor(&self, model: &Model, head: HeadSettings) -> f64 {
        let expected = model.need(&self.load, head).cores;
        if self.is_telling && expected > 0.0 { self.cores / expected } else { 1.0 }
    }

    pub(super) fn in_words(&self, model: &Model, head: HeadSettings) -> String {
        let SeenLive { load, cores, memory_gb, .. } = self;
        let (pvs, updates) = (load.pvs, load.updates);
        let begin = format!("It runs with {pvs} PVs, {updates:.1} updates/s, {cores:.3} cores and {memory_gb:.3} GB");
        if self.is_telling {
            format!("{begin}: {:.2} times the processor time of the model.", self.factor(model, head))
        } else {
            format!("{begin}: too little processor time to correct the model by.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_summed_over_their_labels() {
        let sums = sums("# HELP a b\na_total{x=\"1\"} 2\na_total{x=\"2\"} 3.5\nb 7\n# EOF\n");
        assert_eq!((sums["a_total"], sums["b"], sums.len()), (5.5, 7.0, 2));
    }
}
