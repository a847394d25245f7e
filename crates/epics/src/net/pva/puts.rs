//! Writes that wait for the server's answer on one circuit. Compiled only with the feature `put`.

use std::collections::HashMap;

use tokio::sync::oneshot;

use crate::{
    Key,
    pva::{
        circuit::Circuit,
        put::{PutError, PutValue},
    },
};

/// A value to write, and who waits for the answer.
#[derive(Debug)]
pub(super) struct PutOrder {
    pub(super) value: PutValue,
    pub(super) done: oneshot::Sender<Result<(), PutError>>,
}

impl PutOrder {
    /// Ends the wait before it has begun.
    pub(super) fn tell(self, result: Result<(), PutError>) {
        // the user may have stopped waiting
        drop(self.done.send(result));
    }
}

/// Who waits for what.
#[derive(Default)]
pub(super) struct Puts {
    next: u32,
    waiting: HashMap<u32, oneshot::Sender<Result<(), PutError>>>,
}

impl Puts {
    pub(super) fn begin(&mut self, circuit: &mut Circuit, key: Key, order: PutOrder) {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        circuit.put(key, order.value, number);
        self.waiting.insert(number, order.done);
    }

    pub(super) fn tell(&mut self, circuit: &mut Circuit) {
        for (number, result) in circuit.take_outcomes() {
            if let Some(done) = self.waiting.remove(&number) {
                // the user may have stopped waiting
                drop(done.send(result));
            }
        }
    }
}
