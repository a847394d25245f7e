//! What the nodes of a cluster share: the seam to a shared store, the ownership of shards over it, and its twin in memory.
//!
//! A shard is an archive that one node at a time has open. What it recorded lies in its own log first; from there it goes to the shared
//! store, and a journal says what of it counts:
//!
//! ```text
//!   node A ── log pieces, segments ──► objects            put, get: keys that never change
//!      │                                  ▲ named by
//!      └────── commit, change, … ──► journal 0 1 2 3 …    append: whoever is first has the number
//!                                         ▲
//!   node B ────── seal ───────────────────┘               what A appends from then on comes too late, and A learns it
//! ```
//!
//! A lease says who should try to own a shard. That nobody else can is the work of the journal alone: no clock is compared, and a node
//! that slept through its own replacement does no harm. Nothing here knows a network; every call blocks.

#![deny(missing_docs)]

mod aside;
mod bytes;
mod cached;
mod check;
pub mod conformance;
mod counted;
mod error;
mod follow;
#[doc(hidden)]
pub mod fuzz;
mod handover;
mod ids;
mod image;
mod journal;
mod keys;
mod lease;
mod orphans;
mod owner;
mod pieces;
mod seam;
pub mod settle;
mod takeover;
pub mod twin;

pub use aside::Aside;
pub use cached::{CacheUse, Cached};
pub use check::{Checked, check};
pub use counted::{Counted, Traffic};
pub use error::{Error, Result};
pub use follow::Follow;
pub use handover::{Part, Wanted};
pub use ids::{Epoch, Frames, Seq};
pub use image::{Catalogue, EpochPosition, Image};
pub use journal::{Change, Checkpoint, Commit, Entry, Row, Run, Seal};
pub use keys::{MAX_KEY_LEN, Shard, is_key, segment_key, segment_of};
pub use lease::Lease;
pub use orphans::{Inventory, Orphans, Swept};
pub use owner::{Local, LogRun, Owner, OwnerStanding, Plan, Settings};
pub use pieces::{Object, PIECE_LEN, copy, doubt, read_at, read_whole};
pub use seam::{Created, MAX_ROW_LEN, MAX_VALUE_LEN, Shared, Swapped};
