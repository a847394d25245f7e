//! Everything that speaks to clients: HTTP, its formats, the web page. The only crate that knows JSON and protobuf.
//!
//! ```text
//!   server     connections, their limits and their end
//!   ear, door  where they come in, and what that lets in      listener       the same as it is configured
//!   tls/       certificates and handshakes                    stream, peer   a client's bytes, and where it is
//!   delivery/  threads and memory: how answers are made and sent
//!   routes     every URL in one table: method, path, right, summary, handler     needed     what a request needs by it
//!   auth/      who asks, and what is refused
//!   dispatch   a request ──► its handler, within its budget   app            what all requests share
//!   parameters, url, form   what a request says, checked
//!   host       by which names it may be asked for      browser        what pages of other sites may not
//!   call       a request as handlers see it          refusal, delivery/answer   what they return
//!   api/       /api/v1          appliance/   the URLs of the Archiver Appliance
//!   formats/   batches ──► JSON, CSV, Arrow, protobuf lines, chunk by chunk
//!   bodies     bodies in JSON, value by value
//!   metrics    /metrics         ui           the web page         slow    which requests took long
//! ```
//!
//! Handlers are plain functions that may block. Long answers are iterators of chunks: rows that are read a little ahead and made into
//! text where they are sent, so that a client that stops reading costs half a megabyte at most, in a crowd one batch, and no thread.

#![deny(missing_docs)]

mod api;
mod app;
mod appliance;
mod auth;
mod bodies;
mod browser;
mod call;
mod config;
mod delivery;
mod dispatch;
mod door;
mod ear;
mod form;
mod formats;
mod host;
mod listener;
mod method;
mod metrics;
mod needed;
mod parameters;
mod peer;
mod process;
mod refusal;
mod routes;
mod server;
mod slow;
mod stream;
mod tls;
mod ui;
mod url;

pub use ::service::{ExportsConfig, FileRules, PolicySource};
pub use auth::rights_of;
pub use config::{Appliance, Config, Ports};
pub use ear::Error;
pub use host::HostName;
pub use listener::{At, ClientCertificate, ClientCertificates, ClientName, Listener, Site, Tls};
pub use needed::{Needed, explained, somebody};
pub use routes::needed_for;
pub use server::Serve;
