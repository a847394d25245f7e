//! Writes that wait for the IOC's answer on one circuit. Compiled only with the feature `put`.

use std::collections::HashMap;

use tokio::sync::oneshot;

use crate::{
    Key,
    ca::{
        circuit::Circuit,
        put::{PutError, PutValue},
        wire,
    },
};

/// A value to write, and who waits for the answer.
pub(super) struct PutOrder {
    pub(super) value: PutValue,
    pub(super) done: oneshot::Sender<Result<(), PutError>>,
}

/// When the circuit is lost these are dropped, which tells those who wait.
#[derive(Default)]
pub(super) struct Puts {
    next: u32,
    waiting: HashMap<u32, oneshot::Sender<Result<(), PutError>>>,
}

impl Puts {
    pub(super) fn send(&mut self, circuit: &mut Circuit, key: Key, order: PutOrder) {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        match circuit.put(key, &order.value, number) {
            Ok(()) => drop(self.waiting.insert(number, order.done)),
            Err(error) => tell(order.done, Err(error)),
        }
    }

    pub(super) fn take_answers(&mut self, circuit: &mut Circuit) {
        for (number, status) in circuit.take_puts() {
            let Some(done) = self.waiting.remove(&number) else { continue };
            let refused = || PutError::Refused { message: wire::status_text(status).to_owned() };
            tell(done, if status == wire::ECA_NORMAL { Ok(()) } else { Err(refused()) });
        }
    }
}

fn tell(done: oneshot::Sender<Result<(), PutError>>, result: Result<(), PutError>) {
    // The user may have stopped waiting.
    drop(done.send(result));
}
