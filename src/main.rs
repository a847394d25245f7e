//! pvark: an archiver for EPICS process variables.

fn main() {}
