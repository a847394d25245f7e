//! Our client against our own server when that breaks the protocol on purpose: other PVs do not notice.
//!
//! The breaches depend on a seed; `PVARK_SEED` sets another one.

use crate::peers;

use std::{env, future::poll_fn, task::Poll};

use epics::{
    Event, Key, Value,
    pva::{
        Client, Config, Monitor, Scalar, Tree,
        server::{Breach, Listen, Place, Server, ServerPv, Settings, nt},
        wire::BitSet,
    },
};
use peers::{User, soon};

const LAST: i32 = 500;

fn seed() -> u64 {
    env::var("PVARK_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_121)
}

/// A server, and the PVs of these names in it, which count.
struct Counting {
    server: Server,
    pvs: Vec<ServerPv>,
    place: Place,
}

impl Counting {
    async fn start(names: &[&str], seed: u64) -> Counting {
        let settings = Settings { seed, ..Settings::default() };
        let server = Server::start(Listen::default(), settings).await.expect("ports on loopback");
        let ty = nt::scalar(Scalar::I32);
        let add = |name: &&str| server.with(|hub| hub.add(name, &ty, Tree::default_of(&ty))).expect("the default fits");
        let pvs = names.iter().map(add).collect();
        let place = Place::of(&ty, "value").expect("a field");
        Counting { server, pvs, place }
    }

    /// Tells all PVs to be at that number.
    fn count(&self, number: i32) {
        let changed: BitSet = std::iter::once(self.place.number).collect();
        self.server.with(|hub| {
            for pv in &self.pvs {
                hub.post(*pv, &changed, |tree| self.place.set(tree, Tree::I32(number)));
            }
        });
    }
}

/// Follows two PVs while they count; returns what was told of the good one, and how often the bad one was lost.
async fn follow(user: &mut User<Client>, good: &Counting, bad: Option<&Counting>) -> (Vec<i32>, usize) {
    let (mut numbers, mut losses, mut next) = (Vec::new(), 0, 1);
    soon("the last number", async {
        while numbers.last() != Some(&LAST) {
            match user.next().await {
                (1, Event::Updated(reading)) => match reading.value {
                    Value::I32(number) => numbers.push(number),
                    other => panic!("{other:?}"),
                },
                (1, Event::Disconnected { reason }) => panic!("the good PV was lost: {reason}"),
                (2, Event::Disconnected { .. } | Event::Refused { .. }) => losses += 1,
                _ => continue,
            }
            // the next number is posted when the one before has been seen, so that none has to share its place
            if numbers.last() == Some(&(next - 1)) && next <= LAST {
                good.count(next);
                bad.iter().for_each(|bad| bad.count(next));
                next += 1;
            }
        }
    })
    .await;
    (numbers, losses)
}

fn start(config: Config) -> User<Client> {
    User::with(|events| Client::start(config, move |key, event| drop(events.send((key, event)))).expect("sockets"))
}

#[tokio::test]
async fn a_pv_that_is_nonsense_does_not_harm_another_on_its_circuit() {
    for (breach, word) in Breach::ALL.into_iter().filter(|(breach, _)| breach.spares_the_circuit()) {
        let counting = Counting::start(&["GOOD", "BAD"], seed()).await;
        let one_in = if breach == Breach::Introspection { 1 } else { 3 };
        counting.server.with(|hub| hub.set_breach(counting.pvs[1], Some(breach), one_in));
        let mut user = start(counting.server.client_config());
        user.client.subscribe(Key(1), "GOOD", Monitor::default());
        user.client.subscribe(Key(2), "BAD", Monitor::default());
        let (numbers, _) = follow(&mut user, &counting, None).await;
        assert_eq!(numbers, (0..=LAST).collect::<Vec<_>>(), "{word}");
        let counts = counting.server.with(|hub| hub.counts());
        assert!(counts.breaches > 0, "{word}: {counts:?}");
        assert_eq!(user.client.counters().circuits_opened, 1, "{word} ended the circuit");
    }
}

#[tokio::test]
async fn a_server_that_is_nonsense_does_not_harm_another() {
    for (breach, word) in Breach::ALL.into_iter().filter(|(breach, _)| !breach.spares_the_circuit()) {
        let (good, bad) = (Counting::start(&["GOOD"], seed()).await, Counting::start(&["BAD"], seed() + 1).await);
        bad.server.with(|hub| hub.set_breach(bad.pvs[0], Some(breach), 2));
        let addresses = vec![good.server.searches(), bad.server.searches()];
        let mut user = start(Config { addresses, auto_addresses: false, ..Config::default() });
        user.client.subscribe(Key(1), "GOOD", Monitor::default());
        user.client.subscribe(Key(2), "BAD", Monitor::default());
        soon(
            "the bad PV is asked for",
            poll_fn(|context| {
                context.waker().wake_by_ref();
                if bad.server.with(|hub| hub.counts().channels) > 0 { Poll::Ready(()) } else { Poll::Pending }
            }),
        )
        .await;
        let (numbers, losses) = follow(&mut user, &good, Some(&bad)).await;
        assert_eq!(numbers, (0..=LAST).collect::<Vec<_>>(), "{word}");
        assert!(losses > 0, "{word} was not told");
    }
}

#[tokio::test]
async fn a_pv_that_becomes_sensible_is_followed_again() {
    // the client waits for half a minute before it asks again where it has no answer at all
    let unanswered = [Breach::Silence, Breach::WrongRequest];
    for (breach, word) in Breach::ALL.into_iter().filter(|(breach, _)| !unanswered.contains(breach)) {
        let counting = Counting::start(&["X"], seed()).await;
        counting.server.with(|hub| hub.set_breach(counting.pvs[0], Some(breach), 1));
        let mut user = start(counting.server.client_config());
        user.client.subscribe(Key(1), "X", Monitor::default());
        soon(
            "a breach",
            poll_fn(|context| {
                context.waker().wake_by_ref();
                if counting.server.with(|hub| hub.counts().breaches) > 0 { Poll::Ready(()) } else { Poll::Pending }
            }),
        )
        .await;
        counting.server.with(|hub| hub.set_breach(counting.pvs[0], None, 1));
        counting.count(7);
        let followed = async {
            loop {
                if let (1, Event::Updated(reading)) = user.next().await
                    && reading.value == Value::I32(7)
                {
                    break;
                }
            }
        };
        soon(word, followed).await;
    }
}
