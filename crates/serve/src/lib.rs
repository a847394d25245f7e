//! Everything that speaks to clients: HTTP, its formats, the web page. The only crate that knows JSON and protobuf.
//!
//! ```text
//!   delivery/  connections, threads, memory: how answers are made and sent
//!   routes     every URL in one table: method, path, right, summary, handler
//!   host       by which names it may be asked for      browser        what pages of other sites may not
//!   losses     what was lost of late, as a sentence
//!   call       a request as handlers see it          refusal, delivery/answer   what they return
//!   api/       /api/v1          appliance/   the URLs of the Archiver Appliance
//!   formats/   batches ──► JSON, CSV, Arrow, protobuf lines, chunk by chunk
//!   lists      what a list of names and globs means  seen      PVs as lists see them, some hundred at a time
//!   metrics    /metrics         ui           the web page
//! ```
//!
//! Handlers are plain functions that may block. Long answers are iterators of chunks: rows that are read a little ahead and made into
//! text where they are sent, so that a client that stops reading costs half a megabyte at most, in a crowd one batch, and no thread.

#![deny(missing_docs)]

mod api;
mod app;
mod appliance;
mod browser;
mod call;
mod delivery;
mod dispatch;
mod explain;
mod form;
mod formats;
mod glob;
mod host;
mod ledger;
mod lists;
mod losses;
mod metrics;
mod names;
mod parameters;
mod policy_source;
mod process;
mod proof;
mod refusal;
mod routes;
mod seen;
mod ui;
mod url;

pub use delivery::server::{Appliance, Config, Error, Ports, Serve};
pub use host::HostName;
pub use policy_source::{FileRules, PolicySource};
