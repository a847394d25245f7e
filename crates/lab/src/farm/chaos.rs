//! What a farm does to its clients besides serving them: lost circuits, restarts, false beacons, nonsense.

use std::time::Duration;

use crate::workload::Noise;

/// What is done, and how often; nothing where a pause is zero.
#[derive(Clone)]
pub(crate) struct Chaos {
    storms: Repeated,
    restarts: Repeated,
    beacons: Repeated,
    nonsense: Repeated,
    noise: Noise,
    round: u64,
}

/// Pauses between two of each.
#[derive(Clone, Copy, Default)]
pub(crate) struct ChaosPauses {
    pub(crate) storms: Duration,
    pub(crate) restarts: Duration,
    pub(crate) beacons: Duration,
    pub(crate) nonsense: Duration,
}

/// One act.
#[derive(Debug, PartialEq)]
pub(crate) enum Disturbance {
    DropCircuits,
    /// All circuits end; new ones are accepted at another port.
    Restart,
    /// A beacon with this number.
    Beacon(u32),
    /// Bytes that are no message, and perhaps the end of the circuit.
    Nonsense {
        bytes: Vec<u8>,
        and_end: bool,
    },
}

#[derive(Clone, Copy)]
struct Repeated {
    pause: Duration,
    due: Duration,
}

impl Repeated {
    fn new(pause: Duration) -> Repeated {
        Repeated { pause, due: if pause.is_zero() { Duration::MAX } else { pause } }
    }

    fn take(&mut self, elapsed: Duration) -> bool {
        let is_due = self.due <= elapsed;
        while self.due <= elapsed {
            self.due += self.pause;
        }
        is_due
    }
}

impl Chaos {
    pub(crate) fn new(pauses: ChaosPauses, seed: u64) -> Chaos {
        Chaos {
            storms: Repeated::new(pauses.storms),
            restarts: Repeated::new(pauses.restarts),
            beacons: Repeated::new(pauses.beacons),
            nonsense: Repeated::new(pauses.nonsense),
            noise: Noise::new(seed),
            round: 0,
        }
    }

    /// What is to be done now; to be asked until there is nothing.
    pub(crate) fn due(&mut self, elapsed: Duration) -> Option<Disturbance> {
        if self.nonsense.take(elapsed) {
            self.round += 1;
            return Some(nonsense(self.round, &mut self.noise));
        }
        if self.beacons.take(elapsed) {
            return Some(Disturbance::Beacon(0));
        }
        if self.restarts.take(elapsed) {
            return Some(Disturbance::Restart);
        }
        self.storms.take(elapsed).then_some(Disturbance::DropCircuits)
    }

    /// When there will be something.
    pub(crate) fn next(&self) -> Duration {
        self.storms.due.min(self.restarts.due).min(self.beacons.due).min(self.nonsense.due)
    }
}

/// Six kinds in turn. Only what makes no sense ends a circuit, so the milder kinds are followed by updates as if nothing were.
fn nonsense(round: u64, noise: &mut Noise) -> Disturbance {
    let number = noise.bits() as u32;
    let header = |command: u16, size: u16, data_type: u16, count: u16, first: u32, second: u32| {
        let halves = [command, size, data_type, count].into_iter().flat_map(u16::to_be_bytes);
        halves.chain([first, second].into_iter().flat_map(u32::to_be_bytes)).collect::<Vec<u8>>()
    };
    let (bytes, and_end) = match round % 6 {
        // A command that there is not.
        1 => (header(777, 0, 0, 0, number, number), false),
        // An update of a type that there is not.
        2 => ([header(1, 8, 99, 1, 1, 0), vec![0; 8]].concat(), false),
        // An update that is shorter than its count.
        3 => ([header(1, 16, 20, 60_000, 1, 0), vec![0; 16]].concat(), false),
        // Answers to what nobody asked.
        4 => ([header(18, 0, 6, 1, number, number), header(12, 0, 0, 0, number, number)].concat(), false),
        // Half a message, then the end.
        5 => ([header(1, 4096, 20, 500, 1, 0), vec![0; 100]].concat(), true),
        // More than anybody takes, then chance.
        _ => {
            let mut bytes = header(1, 0xFFFF, 20, 0, 1, 0);
            bytes.extend_from_slice(&[0xFF; 8]);
            bytes.extend((0..512).map(|_| noise.bits() as u8));
            (bytes, true)
        }
    };
    Disturbance::Nonsense { bytes, and_end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_disturbance_comes_as_often_as_ordered() {
        let seconds = Duration::from_secs;
        let pauses = ChaosPauses { storms: seconds(3), nonsense: seconds(2), ..ChaosPauses::default() };
        let mut chaos = Chaos::new(pauses, 1);
        let mut done = [0, 0];
        for second in 0..=12 {
            while let Some(disturbance) = chaos.due(seconds(second)) {
                done[usize::from(disturbance == Disturbance::DropCircuits)] += 1;
            }
            assert!(chaos.next() > seconds(second));
        }
        assert_eq!(done, [6, 4], "nonsense every 2 s, storms every 3 s");
    }
}
