//! The shared store on a CQL cluster (Cassandra, ScyllaDB): journals and names by lightweight transactions, objects in pieces.
//!
//! ```text
//!   journal  ((journal, part), seq) -> row         INSERT … IF NOT EXISTS, read at SERIAL; part = seq / 10,000
//!   name     (name) -> value                       INSERT … IF NOT EXISTS, UPDATE … IF value = …; read at SERIAL
//!   log_body ((key, part), piece) -> body          what begins with <shard>/log/, plainly at QUORUM
//!   young    ((key, part), piece) -> body          all other objects, likewise
//!   node     (name) -> beat                        plainly at QUORUM
//! ```
//! A table is written by transactions alone, or by none. Nothing has a time to live, and there is no index: a list looks through all
//! partitions, as only the search for orphans wants one.

#![deny(missing_docs)]

mod config;
mod failure;
mod place;
mod settings;
mod statements;
mod store;
mod tls;

pub use config::Config;
pub use store::Cql;
pub use tls::Tls;
