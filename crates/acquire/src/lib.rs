//! From the network to the store: the life of each archived PV.
//!
//! ```text
//!   epics clients ── Event ──► channel ── Fact ──► buffer ── batches ──► writer ──► Sink
//!    (their tasks)             sampling           (bounded)            (own thread)
//!                                  ▲
//!   Control: add, pause, resume, remove, status, plan and apply policies, groups
//! ```
//!
//! The ledger writes down for each PV and minute what became of every update; its rows take the same way as samples.
//!
//! There is one queue between the network and the disk. It is bounded; what it cannot take is counted per PV and recorded
//! as a gap. Nothing on the network side ever waits for the disk.

mod acquire;
mod buffer;
mod channel;
mod control;
mod convert;
mod descriptions;
mod fields;
pub mod fuzz;
mod groups;
mod lag;
mod ledger;
mod lock;
mod names;
mod only;
mod orders;
mod sampling;
mod served;
mod slot;
mod slots;
mod status;
#[cfg(test)]
mod tests;
mod writer;

pub use acquire::{Acquire, Config};
pub use control::Control;
pub use names::Alias;
