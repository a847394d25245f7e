//! Machines with processors, a network and a disk, each of which does one thing after another.

use std::{cmp::Reverse, collections::BinaryHeap};

/// What a machine has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    pub(super) cores: usize,
    /// Bytes a second, to and from it.
    pub(super) link: f64,
    /// Bytes a second that can be written.
    pub(super) disk: f64,
}

/// A time in nanoseconds, so that it has an order.
pub(super) type Nanos = u64;

pub(super) fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9) as Nanos
}

/// Servers of one queue: whoever comes first is served first, by whichever of them is free.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    free_at: BinaryHeap<Reverse<Nanos>>,
}

impl Queue {
    pub(super) fn of(servers: usize) -> Queue {
        Queue { free_at: (0..servers.max(1)).map(|_| Reverse(0)).collect() }
    }

    /// When something is done that comes at a time and takes so many seconds.
    pub(super) fn take(&mut self, at: Nanos, seconds: f64) -> Nanos {
        let Reverse(free) = self.free_at.pop().expect("a queue has a server");
        let done = free.max(at) + nanos(seconds);
        self.free_at.push(Reverse(done));
        done
    }
}

/// The queues of a machine.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    machine: Machine,
    cores: Queue,
    link: Queue,
    disk: Queue,
}

impl Queues {
    pub(super) fn new(machine: Machine) -> Queues {
        Queues { machine, cores: Queue::of(machine.cores), link: Queue::of(1), disk: Queue::of(1) }
    }

    /// Seconds of processor, after bytes have come.
    pub(super) fn works(&mut self, at: Nanos, bytes: f64, seconds: f64) -> Nanos {
        let come = self.link.take(at, bytes / self.machine.link);
        self.cores.take(come, seconds)
    }

    /// Writes bytes; who asked for it does not wait, but what is written behind it does.
    pub(super) fn writes(&mut self, at: Nanos, bytes: f64) -> Nanos {
        self.disk.take(at, bytes / self.machine.disk)
    }

    /// What goes on all the time takes this share of each processor for so many seconds.
    pub(super) fn is_busy_with(&mut self, at: Nanos, share: f64, seconds: f64) {
        for _ in 0..self.machine.cores {
            self.cores.take(at, share * seconds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_while_all_are_busy_waits_for_the_first_that_is_free() {
        let mut queue = Queue::of(2);
        let ends = [0.0, 0.0, 0.5, 9.0].map(|at| queue.take(nanos(at), 2.0));
        assert_eq!(ends, [2.0, 2.0, 4.0, 11.0].map(nanos));
    }

    #[test]
    fn bytes_come_before_they_are_worked_on() {
        let mut busy = Queues::new(Machine { cores: 1, link: 100.0, disk: 10.0 });
        assert_eq!(busy.works(0, 50.0, 1.0), nanos(1.5));
        assert_eq!(busy.works(0, 50.0, 1.0), nanos(2.5), "its bytes came meanwhile");
        assert_eq!((busy.writes(0, 20.0), busy.writes(0, 10.0)), (nanos(2.0), nanos(3.0)));
    }
}
