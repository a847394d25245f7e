//! Measurements: benchmarks and storms for pvark.

fn main() {}
