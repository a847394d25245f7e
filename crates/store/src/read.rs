//! Reading: which parts of the archive hold samples of a PV, each opened when its time comes, merged into one order.

pub(crate) mod merge;
pub(crate) mod newest;
pub(crate) mod parts;
