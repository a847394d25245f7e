//! The memory of large messages while they arrive: for all circuits of a client together, so that many servers that each send a large
//! one take no more than a few do.
//!
//! A circuit that sees the head of a large message takes a lease for the whole of it before it reads on, and waits while others have
//! all of the memory; meanwhile its server waits too, as nobody reads. Large messages are taken apart one at a time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use tokio::{
    sync::{Mutex, MutexGuard, OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// Messages below this need no lease.
pub(super) const LARGE_BYTES: usize = 1 << 20;

/// A message for which there is no memory for so long ends its circuit.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// While others wait, a large message must arrive in this time, and so many bytes of it in each second.
const SLOW_AFTER: Duration = Duration::from_secs(10);
const BYTES_PER_SECOND_MIN: u64 = 1 << 20;

/// What all circuits of a client share.
#[derive(Clone, Debug)]
pub(super) struct Arriving(Arc<Share>);

#[derive(Debug)]
struct Share {
    kib: usize,
    memory: Arc<Semaphore>,
    waiting: AtomicUsize,
    decoding: Mutex<()>,
}

/// The memory of one message.
#[derive(Debug)]
pub(super) struct Lease {
    arriving: Arriving,
    permit: OwnedSemaphorePermit,
    /// If others wait then.
    ends: Instant,
}

/// A circuit's lease, if it has one.
pub(super) type Held = Option<Lease>;

impl Arriving {
    pub(super) fn new(bytes: usize) -> Arriving {
        let kib = (bytes >> 10).min(Semaphore::MAX_PERMITS);
        Arriving(Arc::new(Share {
            kib,
            memory: Arc::new(Semaphore::new(kib)),
            waiting: AtomicUsize::new(0),
            decoding: Mutex::new(()),
        }))
    }

    /// Makes the lease fit the message that has begun to arrive on a circuit; none has, or a small one: gives it back. The error says
    /// why the circuit must end.
    pub(super) async fn hold(&self, held: &mut Held, bytes: Option<usize>) -> Result<(), String> {
        let Some(bytes) = bytes.filter(|bytes| *bytes >= LARGE_BYTES) else {
            *held = None;
            return Ok(());
        };
        let share = &*self.0;
        let kib = bytes.div_ceil(1 << 10);
        if kib > share.kib {
            return Err(format!("a message of {bytes} bytes has no room in the {} kB for large messages", share.kib));
        }
        let more = kib.saturating_sub(held.as_ref().map_or(0, |lease| lease.permit.num_permits()));
        let Ok(more) = u32::try_from(more) else { return Err(format!("a message of {bytes} bytes")) };
        if more == 0 {
            return Ok(());
        }
        let waits = Waits::on(share);
        let permit = timeout(WAIT_MAX, share.memory.clone().acquire_many_owned(more)).await;
        drop(waits);
        let Ok(Ok(permit)) = permit else {
            return Err(format!("other servers' large messages left no memory for one of {bytes} bytes"));
        };
        match held {
            Some(lease) => lease.permit.merge(permit),
            None => {
                let seconds = Duration::from_secs(bytes as u64 / BYTES_PER_SECOND_MIN);
                let ends = Instant::now() + SLOW_AFTER + seconds;
                *held = Some(Lease { arriving: self.clone(), permit, ends });
            }
        }
        Ok(())
    }

    /// The turn to take a large message apart.
    pub(super) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.0.decoding.lock().await
    }
}

/// One that waits for memory.
struct Waits<'a>(&'a Share);

impl Waits<'_> {
    fn on(share: &Share) -> Waits<'_> {
        share.waiting.fetch_add(1, Relaxed);
        Waits(share)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Relaxed);
    }
}

impl Lease {
    /// When to look whether it has ended.
    pub(super) fn ends(&self) -> Instant {
        self.ends
    }

    /// Looks whether the message has taken too long while others wait for its memory; if nobody waits it gets more time.
    pub(super) fn check(&mut self, now: Instant) -> Result<(), String> {
        if now < self.ends {
            return Ok(());
        }
        if self.arriving.0.waiting.load(Relaxed) > 0 {
            return Err("a large message comes too slowly, and others wait for its memory".to_owned());
        }
        self.ends = now + SLOW_AFTER;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_messages_wait_for_each_other_and_small_ones_for_none() {
        let arriving = Arriving::new(10 << 20);
        let (mut one, mut other, mut small) = (None, None, None);
        arriving.hold(&mut one, Some(8 << 20)).await.unwrap();
        arriving.hold(&mut small, Some(LARGE_BYTES - 1)).await.unwrap();
        assert!(small.is_none());
        let waiting = timeout(Duration::from_millis(20), arriving.hold(&mut other, Some(4 << 20))).await;
        assert!(waiting.is_err(), "it waits");
        arriving.hold(&mut one, None).await.unwrap();
        arriving.hold(&mut other, Some(4 << 20)).await.unwrap();
        arriving.hold(&mut other, Some(9 << 20)).await.unwrap(); // segments: more of the same message
        assert!(arriving.hold(&mut one, Some(11 << 20)).await.is_err(), "it never fits");
    }

    #[tokio::test]
    async fn whoever_keeps_others_waiting_loses_its_lease() {
        let arriving = Arriving::new(10 << 20);
        let (mut slow, mut other) = (None, None);
        arriving.hold(&mut slow, Some(8 << 20)).await.unwrap();
        let lease = slow.as_mut().unwrap();
        let late = lease.ends();
        assert_eq!(lease.check(late), Ok(()), "nobody waits");
        let late = lease.ends();
        let mut waits = Box::pin(arriving.hold(&mut other, Some(8 << 20)));
        assert!(timeout(Duration::from_millis(20), &mut waits).await.is_err());
        assert!(slow.as_mut().unwrap().check(late).is_err());
        drop(slow.take());
        waits.await.unwrap();
    }
}
