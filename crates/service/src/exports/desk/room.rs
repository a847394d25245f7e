//! How many exports there may be, and how much room they and those of one principal may take.

use std::sync::atomic::Ordering::Relaxed;

use super::Desk;
use crate::{
    ask::Ask,
    exports::{job::Job, shelf::no_room},
    refusal::{Code, Refusal},
};

/// The most exports that are kept, running and finished ones together, and the most of one principal.
const KEPT_MAX: usize = 200;
const KEPT_EACH_MAX: usize = 25;
/// One principal has at most this part of what all may have on the disk.
const PART_OF_ONE: u64 = 2;

impl Desk {
    /// Takes so much more for a job, if there is room.
    pub(in crate::exports) fn take(&self, job: &Job, bytes: u64) -> Result<(), Refusal> {
        let taken = || {
            self.check_room_of_one(job, bytes)?;
            self.shelf.take(bytes)
        };
        taken().or_else(|_| {
            self.clear();
            taken()
        })?;
        job.taken.fetch_add(bytes, Relaxed);
        Ok(())
    }

    /// Gives so much of what it has back.
    pub(in crate::exports) fn give_back(&self, job: &Job, bytes: u64) {
        let less = |taken: u64| Some(taken.saturating_sub(bytes));
        let former = job.taken.fetch_update(Relaxed, Relaxed, less).unwrap_or(0);
        self.shelf.give_back(former.min(bytes));
    }

    pub(super) fn bytes_of_one_max(&self) -> u64 {
        self.config.bytes_max / PART_OF_ONE
    }

    pub(super) fn too_large(&self, bytes: u64) -> Refusal {
        let bytes_max = self.bytes_of_one_max();
        let message = format!("the export needs some {bytes} bytes, and the exports of one may have {bytes_max}");
        Refusal::new(Code::TooLarge, message)
            .hint("ask for a shorter range or fewer PVs, or raise megabytes_max in [exports]")
    }

    /// Refuses so many more bytes where whoever has ordered them would have more than may be of one.
    fn check_room_of_one(&self, job: &Job, bytes: u64) -> Result<(), Refusal> {
        let jobs = self.jobs();
        let taken: u64 = jobs.values().filter(|other| other.owner == job.owner).map(|other| other.taken()).sum();
        let left = self.bytes_of_one_max().saturating_sub(taken);
        match job.taken().saturating_add(bytes) {
            _ if bytes <= left => Ok(()),
            whole if whole > self.bytes_of_one_max() => Err(self.too_large(whole)),
            _ => Err(no_room(bytes, left)),
        }
    }

    /// How much more whoever asks may have.
    pub(super) fn left_of_one(&self, ask: &Ask) -> u64 {
        let jobs = self.jobs();
        let own = jobs.values().filter(|job| job.owner == ask.established());
        let taken: u64 = own
            .map(|job| match job.is_under_way() {
                true => job.bytes_planned.max(job.taken()),
                false => job.taken(),
            })
            .sum();
        self.bytes_of_one_max().saturating_sub(taken)
    }

    /// Refuses more than there may be.
    pub(super) fn check_numbers(&self, ask: &Ask) -> Result<(), Refusal> {
        let jobs = self.jobs();
        let count = |counts: &dyn Fn(&Job) -> bool| jobs.values().filter(|job| counts(job)).count();
        let is_own = |job: &Job| job.owner == ask.established();
        let bounds = [
            (count(&Job::is_under_way), self.config.jobs_max, "exports are under way", "wait for one of them to end"),
            (
                count(&|job| is_own(job) && job.is_under_way()),
                self.config.jobs_each_max,
                "exports of yours are under way",
                "wait for one of them to end, or remove it",
            ),
            (jobs.len(), KEPT_MAX, "exports are kept", "wait until some have expired"),
            (count(&is_own), KEPT_EACH_MAX, "exports of yours are kept", "remove those that you have fetched"),
        ];
        match bounds.into_iter().find(|(count, count_max, ..)| count >= count_max) {
            None => Ok(()),
            Some((count, count_max, what, hint)) => {
                Err(Refusal::busy(format!("{count} {what}, and at most {count_max} are possible")).hint(hint))
            }
        }
    }
}
