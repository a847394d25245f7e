//! Channel Access and pvAccess clients for tokio; usable by anyone, knows nothing of archiving.
//!
//! ```text
//!   net       the only sockets: UDP searches, TCP circuits, timers
//!    │  bytes, now          ▲ bytes to send
//!    ▼                      │
//!   ca, pva   state machines that own no socket: receive(bytes, now), transmit()
//!    │
//!    ▼
//!   Event     connected, described, updated, disconnected: to the handler that the user gave
//! ```
//!
//! Both clients speak the same [`Event`]s, so that a user need not care by which protocol a PV came.

#![deny(missing_docs)]

pub mod addr;
pub mod ca;
mod event;
mod mask;
mod net;
pub mod pva;
mod servers;

pub use event::{Description, Event, Key, Limits, Reading, Value};
pub use pvdata::Array;
pub use servers::Server;
