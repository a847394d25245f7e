//! The twin: a shared store in memory, links that fail by a seed, and turns that interleave nodes call by call. All of it is
//! deterministic: a seed that found a fault finds it again.

mod link;
mod memory;
mod seed;
mod turns;

pub use link::{FaultRates, Link, Net};
pub use memory::Memory;
pub use seed::Seed;
pub use turns::{Leave, Pauses, Turn, Turns};
