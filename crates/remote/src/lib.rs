//! Nodes read each other's archives: what another pvark recorded is a source like any other, and a listener that knows nobody but nodes
//! answers for this one.
//!
//! ```text
//!   this node                                            another node
//!   Remote: a Source ── call ──► POST /internal/v1/… ──► Listener ──► its own Source
//!                    ◄── frames ──────────────────────
//!   Share: of an import ── frames ──► POST /internal/v1/import ──► Listener ──► its own Intake, in a cluster
//! ```
//! Both ends prove to each other that they have the same key file (`key`), over TLS 1.3. `call` is what is asked, `frame` what comes back,
//! `lots` which frames go together, `share` what one sends the other of an import, `batch` how samples are written, `http` the little of HTTP that a client needs, `link` whether the other node
//! is there.

#![deny(missing_docs)]

mod batch;
mod bytes_format;
mod call;
mod frame;
pub mod fuzz;
mod http;
mod key;
mod link;
mod listener;
mod lots;
mod share;
mod source;

pub use key::{Key, KeyError, new_run};
pub use listener::{Cluster, Listener, ListenerConfig, Offered};
pub use share::Share;
pub use source::{Remote, RemoteConfig};
