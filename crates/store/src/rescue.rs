//! Rescue: opening after a crash, checks, repairs, and backups.

pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod rebuild;
pub(crate) mod recover;
pub(crate) mod repair;
