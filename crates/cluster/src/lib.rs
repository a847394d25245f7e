//! Nodes that record together: who lives, which shard a PV belongs to, and who has which.
//!
//! Nothing here knows a network, a store or a clock: beats are what somebody read from the shared store, times are what has passed on
//! the node that asks, and what comes out is what that node should do.

#![deny(missing_docs)]

mod members;
mod placement;
mod seats;

pub use members::{Members, SILENCE};
pub use placement::{Placement, PlacementError, Rule};
pub use seats::{Move, Seats, seat_of};
