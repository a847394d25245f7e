//! `pvark-lab ioc`: a farm of simulated IOCs whose every update can be counted.

pub(crate) mod group;
pub(crate) mod kind;
pub(crate) mod payload;
pub(crate) mod plan;
