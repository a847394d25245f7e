//! Turns: how long a thread has the processor at a time when more than the machine can do is to be done.
//!
//! Linux gives the processor to the thread whose turn would end first, and takes it from one whose turn ends later. Whoever asks for short
//! turns so begins soon and is not put aside for a long one, and has no more of the processor than before (Linux 6.12 and later;
//! others take no notice).

#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "no library has this call in a safe form"))]

/// The shortest that Linux gives.
#[cfg(target_os = "linux")]
const SHORT_NANOS: u64 = 100_000;

/// Asks for short turns for this thread.
pub(crate) fn short() {
    #[cfg(target_os = "linux")]
    if let Some(now) = linux::of_this_thread() {
        // Only among those who have turns; and if the system refuses, they stay as they were.
        if matches!(now.sched_policy as i32, libc::SCHED_OTHER | libc::SCHED_BATCH) {
            linux::set(&libc::sched_attr { sched_runtime: SHORT_NANOS, ..now });
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use libc::{SYS_sched_getattr, SYS_sched_setattr, c_uint, sched_attr, syscall};

    /// How this thread is scheduled; none if the system does not tell.
    pub(super) fn of_this_thread() -> Option<sched_attr> {
        let mut attr = sched_attr {
            size: size_of::<sched_attr>() as u32,
            sched_policy: 0,
            sched_flags: 0,
            sched_nice: 0,
            sched_priority: 0,
            sched_runtime: 0,
            sched_deadline: 0,
            sched_period: 0,
        };
        let size = attr.size as c_uint;
        // SAFETY: the system writes no more than `size` bytes, which is what there is; 0 is this thread, and there are no flags.
        let result = unsafe { syscall(SYS_sched_getattr, 0, &raw mut attr, size, 0) };
        (result == 0).then_some(attr)
    }

    pub(super) fn set(attr: &sched_attr) {
        // SAFETY: the system reads as many bytes as `size` in it says, and only of this thread are the turns changed.
        let _ = unsafe { syscall(SYS_sched_setattr, 0, &raw const *attr, 0) };
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn turns_are_short_where_the_system_knows_of_them_and_nothing_else_changes() {
        let told = std::thread::spawn(|| {
            rustix::process::setpriority_process(None, 3).expect("everyone may give way");
            let before = linux::of_this_thread();
            short();
            (before, linux::of_this_thread())
        });
        let (Some(before), Some(after)) = told.join().expect("it does not panic") else {
            eprintln!("skipped: the system does not tell how threads are scheduled");
            return;
        };
        assert_eq!((after.sched_nice, after.sched_policy), (3, before.sched_policy));
        assert_eq!((after.sched_flags, after.sched_priority), (before.sched_flags, before.sched_priority));
        // Before Linux 6.12 it tells of none.
        assert!([0, SHORT_NANOS].contains(&after.sched_runtime), "{} ns", after.sched_runtime);
    }
}
