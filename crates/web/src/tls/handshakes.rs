//! How many handshakes are under way at a time, so that slow ones keep nobody from the server.
//!
//! A client that has not sent the whole of its first message takes no place: that costs no more than a connection. From then on the server
//! computes, and there are so many places. When all are taken and another waits, one gives way whose client has kept the server waiting
//! for a while: a client that is there answers within that time.

use std::{
    io,
    pin::pin,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use tokio::{
    sync::{Notify, Semaphore},
    time::timeout,
};

/// A handshake takes so long at most, from the first byte on.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The most handshakes that are under way at a time.
const AT_ONCE: usize = 64;
/// Whoever has had a place for so long gives way when others wait for one.
const GIVES_WAY_AFTER: Duration = Duration::from_millis(250);

/// The places for handshakes.
pub(crate) struct Handshakes {
    places: Semaphore,
    line: Mutex<Line>,
    longer: Notify,
}

/// Who waits for a place.
#[derive(Default)]
struct Line {
    waiting: usize,
    /// For so many of them somebody has given way.
    given: usize,
}

impl Handshakes {
    pub(crate) fn new() -> Handshakes {
        Handshakes { places: Semaphore::new(AT_ONCE), line: Mutex::default(), longer: Notify::new() }
    }

    /// Runs the part of a handshake that takes a place, when there is one.
    pub(crate) async fn run<T>(&self, handshake: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        let _place = match self.places.try_acquire() {
            Ok(place) => place,
            Err(_) => {
                let mut waits = Waits::in_line(self);
                let place = self.places.acquire().await.map_err(io::Error::other)?;
                waits.has_place = true;
                place
            }
        };
        let mut handshake = pin!(handshake);
        if let Ok(done) = timeout(GIVES_WAY_AFTER, &mut handshake).await {
            return done;
        }
        tokio::select! {
            done = &mut handshake => done,
            () = self.has_to_give_way() => Err(io::Error::new(io::ErrorKind::TimedOut, "a slow handshake gave way to another")),
        }
    }

    /// Waits until another waits for whom nobody has given way yet.
    async fn has_to_give_way(&self) {
        loop {
            let longer = self.longer.notified();
            {
                let mut line = self.line();
                if line.given < line.waiting {
                    line.given += 1;
                    return;
                }
            }
            longer.await;
        }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().expect("no holder of this lock panics")
    }
}

/// Somebody waits for a place.
struct Waits<'a> {
    handshakes: &'a Handshakes,
    has_place: bool,
}

impl<'a> Waits<'a> {
    fn in_line(handshakes: &'a Handshakes) -> Waits<'a> {
        handshakes.line().waiting += 1;
        handshakes.longer.notify_waiters();
        Waits { handshakes, has_place: false }
    }
}

impl Drop for Waits<'_> {
    /// What was given to one who has gone is the next one's, if there is one.
    fn drop(&mut self) {
        let mut line = self.handshakes.line();
        line.waiting -= 1;
        let taken = usize::from(self.has_place);
        line.given = line.given.saturating_sub(taken).min(line.waiting);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    };

    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test]
    async fn slow_ones_give_way_to_others_and_to_nobody_else() {
        let handshakes = Arc::new(Handshakes::new());
        let begun = Arc::new(AtomicUsize::new(0));
        let slow = |handshakes: &Arc<Handshakes>| {
            let (handshakes, begun) = (Arc::clone(handshakes), Arc::clone(&begun));
            tokio::spawn(async move {
                begun.fetch_add(1, Relaxed);
                handshakes.run(std::future::pending::<io::Result<()>>()).await
            })
        };
        let held: Vec<_> = (0..AT_ONCE).map(|_| slow(&handshakes)).collect();
        sleep(2 * GIVES_WAY_AFTER).await;
        assert!(held.iter().all(|slow| !slow.is_finished()), "nobody asked");

        let asked = Instant::now();
        handshakes.run(async { Ok(()) }).await.unwrap();
        assert!(asked.elapsed() < GIVES_WAY_AFTER);
        sleep(GIVES_WAY_AFTER / 2).await;
        assert_eq!(held.iter().filter(|slow| slow.is_finished()).count(), 1, "one gave way for one");

        // However many slow ones come before it, another comes to its turn.
        let more: Vec<_> = (0..500).map(|_| slow(&handshakes)).collect();
        while begun.load(Relaxed) < held.len() + more.len() {
            tokio::task::yield_now().await;
        }
        let asked = Instant::now();
        handshakes.run(async { Ok(()) }).await.unwrap();
        assert!(asked.elapsed() < HANDSHAKE_TIMEOUT / 2, "{:?}", asked.elapsed());
    }
}
