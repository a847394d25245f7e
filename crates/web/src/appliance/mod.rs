//! The URLs of the EPICS Archiver Appliance, for the clients that know them: its answers where they are right, and refusals
//! where it would guess.

pub(crate) mod aliases;
pub(crate) mod changes;
pub(crate) mod configuration;
mod dates;
pub(crate) mod details;
pub(crate) mod engine;
pub(crate) mod flags;
pub(crate) mod losses;
pub(crate) mod manage;
pub(crate) mod measures;
mod metadata;
mod names;
pub(crate) mod rates;
pub(crate) mod reports;
pub(crate) mod retrieval;
pub(crate) mod rules;
pub(crate) mod search;
pub(crate) mod spans;
pub(crate) mod status;
mod whose;
mod words;
