//! Thousands of schedules of nodes that take, lose and hand over one shard while calls are lost and nodes sleep and die: each durable
//! record is read exactly once and in order, by every node that answers, and once more when all is over.
//!
//! The same without the seal has to fail, or the oracle would see nothing.

mod sim;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use sim::{Counts, Fencing, schedule};

const SCHEDULES: u64 = 10_000;

#[test]
fn ten_thousand_schedules_lose_nothing_and_read_nothing_twice() {
    let next = AtomicU64::new(0);
    let threads = thread::available_parallelism().map_or(2, usize::from).min(8);
    let run = || {
        let mut counts = Counts::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= SCHEDULES {
                return counts;
            }
            match schedule(seed, Fencing::Sealed) {
                Ok(of_one) => counts.add(&of_one),
                Err(violation) => panic!("schedule {seed}: {violation}"),
            }
        }
    };
    let counts = thread::scope(|scope| {
        let runs: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let mut all = Counts::default();
        runs.into_iter().for_each(|run| all.add(&run.join().expect("no schedule has a violation")));
        all
    });
    eprintln!("{counts:?}");
    // A schedule in which nothing happens proves nothing.
    for (what, count) in counts.named() {
        assert!(count >= 1000, "only {count} {what} in {SCHEDULES} schedules");
    }
}

#[test]
fn without_the_seal_a_schedule_of_the_first_hundred_fails() {
    let failed =
        (0..100).find_map(|seed| schedule(seed, Fencing::SealLeftOut).err().map(|violation| (seed, violation)));
    let (seed, violation) = failed.expect("the oracle sees what gets lost without the seal");
    eprintln!("schedule {seed} without the seal: {violation}");
}

#[test]
fn a_schedule_is_the_same_every_time() {
    for seed in 0..20 {
        let (first, second) = (schedule(seed, Fencing::Sealed), schedule(seed, Fencing::Sealed));
        assert_eq!(format!("{first:?}"), format!("{second:?}"), "schedule {seed}");
    }
}
