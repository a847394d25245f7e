//! Nodes that record together: who lives, which shard a PV belongs to, who has which, and the archive of all of them as one.
//!
//! ```text
//!   beats, leases ──► node ──► which shards this node takes            members, seats, placement: pure
//!   requests ──► whole ──► board ─┬─► a shard that is open here        an archive like that of one machine
//!                                 └─► the node that has it             over peers: samples, and questions of wire
//! ```
//! Questions to the whole cluster come through the seams of `archive` (`Directory`, `Source`, `Orders` and so on), as it does on one machine:
//! so nothing above knows that there is a cluster. Nothing here opens a store, a socket or a file; the program does, and hands it over.

#![deny(missing_docs)]

mod answers;
mod beat;
mod board;
mod claims;
mod continued;
mod copies;
mod curator;
mod days;
mod elsewhere;
mod figures;
mod in_force;
mod intake;
mod members;
mod mirror;
mod node;
mod numbers;
mod operator;
mod orders;
mod pairs;
mod placement;
mod rows;
mod seams;
mod seats;
mod shares;
mod source;
mod standing;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod testing;
mod upkeep;
mod whole;
mod wire;

pub use answers::{Answers, Willing};
pub use beat::Beat;
pub use board::{Board, Claim, Plan};
pub use claims::Claims;
pub use copies::CopiesOfShards;
pub use curator::SiteTokens;
pub use days::{Days, Lacking};
pub use in_force::{FORMAT, in_force};
pub use members::{Members, SILENCE};
pub use node::Node;
pub use numbers::{PVS_MAX, SHARDS_END, global, split};
pub use operator::NodeOperator;
pub use pairs::Pairs;
pub use placement::{Placement, PlacementError, Rule};
pub use seams::{Follows, Held, Open, Parts, Peers, Share};
pub use seats::{Move, Seats, seat_of};
pub use whole::Whole;
