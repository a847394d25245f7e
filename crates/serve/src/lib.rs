//! Everything that speaks to clients: HTTP, its formats, the web page. The only crate that knows JSON and protobuf.
//!
//! ```text
//!   server     connections, their limits and their end
//!   routes     every URL in one table: method, path, right, summary, handler
//!   host       by which names it may be asked for      browser        what pages of other sites may not
//!   call       a request as handlers see it          refusal, answer   what they return
//!   api/       /api/v1          appliance/   the URLs of the Archiver Appliance
//!   formats/   batches ──► JSON, CSV, Arrow, protobuf lines, chunk by chunk
//!   work       on which thread an answer is made
//!   budget     what an answer takes of the budget until it has been sent     bodies   bodies in JSON, value by value
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
mod bodies;
mod browser;
mod budget;
mod call;
mod compress;
mod config;
mod crowd;
mod dispatch;
mod form;
mod formats;
mod host;
mod metrics;
mod parameters;
mod peer;
mod process;
mod refusal;
mod routes;
mod server;
mod socket;
mod ui;
mod url;
mod work;

pub use ::service::{FileRules, PolicySource};
pub use config::{Appliance, Config, Ports};
pub use host::HostName;
pub use server::{Error, Serve};
