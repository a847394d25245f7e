//! Turns: of all nodes one runs at a time, and at each of its calls a seed says whether another goes on. So a test that runs each node in
//! a thread is the same every time, and a node that sleeps for long is only one that has no turn.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::twin::seed::Seed;

/// How often a node loses its turn, in 1000 calls.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    /// Another goes on; this one may be next.
    pub switches: u32,
    /// This one sleeps.
    pub sleeps: u32,
    /// For how many calls of others at most.
    pub sleep_len: u64,
}

/// The turns of some nodes.
#[derive(Debug)]
pub struct Turns {
    state: Mutex<State>,
    bells: Vec<Condvar>,
}

#[derive(Debug)]
struct State {
    seed: Seed,
    pauses: Pauses,
    calls: u64,
    running: usize,
    /// Of each node until which call it sleeps; none if it has left.
    asleep: Vec<Option<u64>>,
}

impl Turns {
    /// Turns for so many nodes. Each takes part from the beginning: nothing runs before the one whose turn is first has come.
    pub fn new(nodes: usize, seed: Seed, pauses: Pauses) -> Arc<Turns> {
        let state = State { seed, pauses, calls: 0, running: 0, asleep: vec![Some(0); nodes] };
        Arc::new(Turns { state: Mutex::new(state), bells: (0..nodes).map(|_| Condvar::new()).collect() })
    }

    /// Waits for the first turn of a node, which leaves when what is given here is dropped.
    pub fn join(self: &Arc<Turns>, node: usize) -> Leave {
        self.wait(self.state(), node);
        Leave(self.turn(node))
    }

    /// What a node's links ask between calls.
    pub fn turn(self: &Arc<Turns>, node: usize) -> Turn {
        Turn { turns: self.clone(), node }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, mut state: MutexGuard<'_, State>, node: usize) {
        while state.running != node {
            state = self.bells[node].wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The turn of one node.
#[derive(Clone, Debug)]
pub struct Turn {
    turns: Arc<Turns>,
    node: usize,
}

impl Turn {
    /// Lets others go on, if the seed says so, and comes back when it is this one's turn again.
    pub fn pass(&self) {
        let mut state = self.turns.state();
        if state.asleep[self.node].is_none() {
            return; // it has left, as at the end of a test
        }
        state.calls += 1;
        let pauses = state.pauses;
        if state.seed.happens(pauses.sleeps) {
            let until = state.calls + 1 + state.seed.below(pauses.sleep_len);
            state.asleep[self.node] = Some(until);
        } else if !state.seed.happens(pauses.switches) {
            return;
        }
        self.turns.hand_on(&mut state);
        self.turns.wait(state, self.node);
    }
}

impl Turns {
    /// Chooses who runs next; of nodes that all sleep the one that would wake first.
    fn hand_on(&self, state: &mut State) {
        let calls = state.calls;
        let there: Vec<(u64, usize)> =
            state.asleep.iter().enumerate().filter_map(|(node, until)| Some(((*until)?, node))).collect();
        let awake: Vec<usize> = there.iter().filter(|(until, _)| *until <= calls).map(|(_, node)| *node).collect();
        let next = match (awake.is_empty(), there.iter().min()) {
            (false, _) => awake[state.seed.below(awake.len() as u64) as usize],
            (true, Some((until, node))) => {
                state.calls = *until;
                *node
            }
            (true, None) => return,
        };
        state.running = next;
        self.bells[next].notify_one();
    }
}

/// A node that takes part until this is dropped, also by a panic.
#[derive(Debug)]
pub struct Leave(Turn);

impl Drop for Leave {
    fn drop(&mut self) {
        let Turn { turns, node } = &self.0;
        let mut state = turns.state();
        state.asleep[*node] = None;
        turns.hand_on(&mut state);
    }
}
