//! Everything that speaks to clients: HTTP, its formats, the web page. The only crate that knows JSON and protobuf.
//!
//! ```text
//!   server     connections, their limits and their end
//!   routes     every URL in one table: method, path, right, summary, handler
//!   host       by which names it may be asked for      browser        what pages of other sites may not
//!   losses     what was lost of late, as a sentence
//!   call       a request as handlers see it          refusal, answer   what they return
//!   api/       /api/v1          appliance/   the URLs of the Archiver Appliance
//!   formats/   batches ──► JSON, CSV, Arrow, protobuf lines, chunk by chunk
//!   work       on which thread an answer is made
//!   budget     how much memory all answers together may take     lists   what a list of names and globs means
//!   seen       PVs as lists see them, some hundred at a time
//!   compress   answers in gzip or zstd, for clients that ask for it
//!   metrics    /metrics         ui           the web page
//! ```
//!
//! Handlers are plain functions that may block. Long answers are iterators of chunks: the next chunk is made when
//! the client has taken the one before, so a client that stops reading costs one chunk of memory and no thread.

#![deny(missing_docs)]

mod answer;
mod api;
mod app;
mod appliance;
mod browser;
mod budget;
mod call;
mod compress;
mod crowd;
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
mod server;
mod socket;
mod ui;
mod url;
mod work;

pub use host::HostName;
pub use policy_source::{FileRules, PolicySource};
pub use server::{Appliance, Config, Error, Ports, Serve};
