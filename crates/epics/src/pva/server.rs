//! A pvAccess server for simulations and tests: many PVs of any type, many circuits, and breaches of the protocol on demand.
//! Compiled only with the feature `server`, which the archiver never enables.
//!
//! ```text
//!   hub         the PVs and circuits of one server: receive, post, outgoing; owns no socket
//!   answer      what it does with each message of a client
//!   pvs         names, types, newest values
//!   circuit     one circuit: its channels and requests, the bytes that wait for it
//!   monitor     what waits for one monitor: a queue, overruns, the window of a pipeline
//!   selection   which fields a client wants
//!   request     messages of clients        reply    messages of the server
//!   nt          the Normative Types        breach   broken and hostile servers, by seed
//! ```
//!
//! It serves what others change: a put is refused. `net::pva::server` has the sockets.

mod answer;
mod breach;
mod circuit;
mod hub;
mod monitor;
pub mod nt;
mod pvs;
mod reply;
mod request;
mod selection;

pub use breach::Breach;
pub use hub::{CircuitId, Counts, Hub, Settings};
pub use pvs::{Place, ServerPv};
pub use request::Searched;

pub use crate::net::pva::{Listen, Server};
