//! When updates are due: the same for every server of a farm, by whichever protocol.

use std::{ops::Range, time::Duration};

use super::plan::Plan;

/// How far the updates of each part of each group have been made.
pub(crate) struct Pacer {
    parts: Vec<Part>,
}

struct Part {
    group: usize,
    slice: u32,
    newest: u64,
}

impl Pacer {
    /// Everything is at update 0.
    pub(crate) fn new(plan: &Plan) -> Pacer {
        let parts = plan.groups.iter().enumerate();
        let parts = parts.flat_map(|(group, of)| (0..of.slices).map(move |slice| Part { group, slice, newest: 0 }));
        Pacer { parts: parts.collect() }
    }

    /// Tells of each update that has become due: its PVs and its number. Returns how late the latest was.
    pub(crate) fn advance(
        &mut self,
        plan: &Plan,
        elapsed: Duration,
        mut post: impl FnMut(Range<u32>, u64),
    ) -> Duration {
        let now = nanos(elapsed);
        let mut late = 0;
        for part in &mut self.parts {
            let group = &plan.groups[part.group];
            let newest = group.newest(now, part.slice);
            if newest > part.newest {
                late = late.max(now - group.offset(part.newest + 1, part.slice));
            }
            while part.newest < newest {
                part.newest += 1;
                post(group.pvs_of(part.slice), part.newest);
            }
        }
        Duration::from_nanos(late)
    }

    /// Updates that all PVs have made, without the one that was there from the beginning.
    pub(crate) fn produced(&self, plan: &Plan) -> u64 {
        let made = |part: &Part| plan.groups[part.group].pvs_of(part.slice).len() as u64 * part.newest;
        self.parts.iter().map(made).sum()
    }

    /// When the next update is due, since the start of the farm.
    pub(crate) fn next(&self, plan: &Plan) -> Duration {
        let due = self.parts.iter().map(|part| plan.groups[part.group].offset(part.newest + 1, part.slice));
        Duration::from_nanos(due.min().unwrap_or(u64::MAX / 4))
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_update_is_made_once_and_in_order_however_late_one_looks() {
        let groups = ["name=A:,count=10,rate=14,slices=3", "name=B,rate=1000,active=3,rest=9", "name=C,rate=0"];
        let plan = Plan::new(groups.iter().map(|spec| spec.parse().expect("a group")).collect(), 0);
        let mut pacer = Pacer::new(&plan);
        let mut newest = [0; 12];
        for milli in [1, 2, 70, 71, 72, 500, 501, 3000] {
            pacer.advance(&plan, Duration::from_millis(milli), |pvs, number| {
                for pv in pvs {
                    assert_eq!(newest[pv as usize] + 1, number, "PV {pv}");
                    newest[pv as usize] = number;
                }
            });
            assert!(pacer.next(&plan) > Duration::from_millis(milli));
            assert_eq!(newest.iter().sum::<u64>(), pacer.produced(&plan));
        }
        assert_eq!((newest[0], newest[10], newest[11]), (42, 750, 0));
    }
}
