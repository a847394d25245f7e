//! Transactions that fail at their end: the catalogue may have them or not.
//!
//! Each transaction has a number, which the catalogue keeps. When one fails at its end the catalogue is opened anew, which makes
//! what is found durable, and the number tells whether it holds: then nothing has failed. While even that cannot be done nobody
//! knows; whoever wanted it is told so, and nothing else is written before it is known.

use std::sync::atomic::Ordering::Relaxed;

use redb::{ReadableDatabase, ReadableTable};

use super::{
    changes::Transaction,
    database::{Catalog, CatalogUse, Doubt},
    tables::{META, Tables},
};
use crate::{Error, outbox::Changes};

impl Catalog {
    /// Runs one transaction: all of it or nothing, durable when this returns.
    pub(super) fn write<T>(&self, write: impl FnOnce(&Transaction) -> Result<T, redb::Error>) -> Result<T, Error> {
        let mut doubt = self.doubt.lock().expect("no holder of this lock panics");
        self.at_home()?;
        self.look(&mut doubt)?;
        let (mut ended, mut changes) = (None, None);
        let result = self.with_database(CatalogUse::Write, |database| {
            let writing = database.begin_write()?;
            let transaction = match self.outbox.get() {
                None => Transaction::plain(&writing),
                Some(_) => Transaction::recorded(&writing),
            };
            let made = write(&transaction)?;
            ended = Some((count(&transaction)?, made));
            changes = transaction.into_changes();
            Ok(writing.commit()?)
        });
        match (result, ended) {
            (Ok(()), Some((number, made))) => {
                self.transactions.store(number, Relaxed);
                self.journal(changes);
                Ok(made)
            }
            (Ok(()), None) => unreachable!("a transaction that was committed has a number"),
            (Err(error), None) => Err(error),
            (Err(error), Some((number, made))) => {
                (doubt.unsure, doubt.changes) = (Some(number), changes);
                self.unsure.store(number, Relaxed);
                match self.holds(&mut doubt) {
                    Ok(true) => Ok(made),
                    Ok(false) => Err(error),
                    Err(_) => Err(Error::Doubtful { source: Box::new(error) }),
                }
            }
        }
    }

    /// Whether a transaction was told as failed that holds; true once for each time. An error while nobody knows.
    pub(crate) fn has_held_late(&self) -> Result<bool, Error> {
        let mut doubt = self.doubt.lock().expect("no holder of this lock panics");
        self.look(&mut doubt)?;
        if self.has_late_order() {
            let reason = "the shared store has not told whether it has the change before".to_owned();
            return Err(Error::CannotDo { doing: "change the catalogue", reason });
        }
        Ok(std::mem::take(&mut doubt.held_late))
    }

    /// Nobody has taken over yet what held late.
    pub(crate) fn hold_late(&self) {
        self.doubt.lock().expect("no holder of this lock panics").held_late = true;
    }

    /// Whether there may be something in the catalogue that was told as failed.
    pub(crate) fn is_in_doubt(&self) -> bool {
        let doubt = self.doubt.lock().expect("no holder of this lock panics");
        doubt.unsure.is_some() || doubt.held_late || self.has_late_order()
    }

    /// Whether there is an order in the catalogue of which nobody knows whether the journal has it.
    fn has_late_order(&self) -> bool {
        self.outbox.get().is_some_and(|outbox| outbox.has_late())
    }

    /// Hands on what a transaction changed that holds.
    fn journal(&self, changes: Option<Changes>) {
        if let (Some(outbox), Some(changes)) = (self.outbox.get(), changes) {
            outbox.give(changes);
        }
    }

    pub(super) fn look(&self, doubt: &mut Doubt) -> Result<(), Error> {
        doubt.held_late |= self.holds(doubt)?;
        Ok(())
    }

    /// Whether the catalogue has the transaction that nobody knows of, durably.
    fn holds(&self, doubt: &mut Doubt) -> Result<bool, Error> {
        let Some(number) = doubt.unsure else { return Ok(false) };
        let last =
            self.with_database(CatalogUse::Write, |database| Tables(database.begin_read()?).meta("transactions"))?;
        doubt.unsure = None;
        self.unsure.store(0, Relaxed);
        self.transactions.store(last.unwrap_or(0), Relaxed);
        let changes = doubt.changes.take();
        if last == Some(number) {
            self.journal(changes);
        }
        Ok(last == Some(number))
    }
}

/// Gives a transaction the next number.
fn count(transaction: &Transaction) -> Result<u64, redb::Error> {
    let mut meta = transaction.open_table(META)?;
    let number = meta.get("transactions")?.map_or(0, |last| last.value()) + 1;
    meta.insert("transactions", number)?;
    Ok(number)
}
