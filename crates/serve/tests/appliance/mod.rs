//! The Archiver Appliance's side of a comparison: its files and its answers.

pub(crate) mod answers;
pub(crate) mod files;
pub(crate) mod lines;
