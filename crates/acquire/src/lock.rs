//! Locks that are taken whatever became of their last holder.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock whose holder panicked is still good: everything behind these locks is changed in single steps.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
