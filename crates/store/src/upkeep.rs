//! Upkeep: what happens to samples after they were appended: flushes, merges, moves, retention, purges, imports, what is given up to another archive,
//! scrubs, shipping, and the threads that do it.

pub(crate) mod away;
pub(crate) mod compact;
pub(crate) mod deletion;
pub(crate) mod field_rules;
pub(crate) mod flush;
pub(crate) mod gather;
pub(crate) mod give_up;
pub(crate) mod idle_rules;
pub(crate) mod import;
pub(crate) mod merge_policy;
pub(crate) mod moving;
pub(crate) mod names;
pub(crate) mod output;
pub(crate) mod partitions;
pub(crate) mod purge;
pub(crate) mod retention;
pub(crate) mod scrub;
pub(crate) mod settle;
pub(crate) mod ship;
pub(crate) mod sizes;
pub(crate) mod sources;
pub(crate) mod stop;
pub(crate) mod sweep;
pub(crate) mod taken;
pub(crate) mod threads;
pub(crate) mod trim;
