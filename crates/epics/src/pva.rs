//! pvAccess: the client, its messages, types and values.
//!
//! ```text
//!   config, monitor, counters    what a user says and is told; `Client` is in `net::pva`, which has the sockets
//!   search                       which server has a PV: datagrams out, answers in
//!   circuit, frames, channels    one TCP connection: messages, channels, monitors, retries, echoes
//!   backoff                      how long it pauses before it tries again
//!   keep                         what the last values of all monitors may take together
//!   plan, normative, describe    updates of the Normative Types -> Event
//!   message                      each message that a client sends or gets
//!   server                       the other side, for simulations and tests; with the feature of that name
//!   put                          the only messages that can change a PV; with the feature of that name
//!   wire                         message headers
//!   pvdata (a crate)             values of any type, their descriptions, and the alphabet of all these
//! ```

pub(crate) mod backoff;
mod channels;
pub mod circuit;
mod config;
mod counters;
mod describe;
mod error;
mod frames;
mod keep;
pub mod message;
mod monitor;
mod normative;
mod plan;
#[cfg(feature = "put")]
pub mod put;
pub mod search;
#[cfg(feature = "server")]
pub mod server;
mod slots;
pub mod wire;

pub use crate::net::pva::Client;
pub use channels::Returned;
pub use config::Config;
pub use counters::Counters;
pub use error::Error;
pub use frames::{MESSAGE_BYTES_MAX, Unfinished};
pub use keep::Keep;
pub use message::Account;
pub use monitor::Monitor;
pub use pvdata::{
    Data, Extent, Fewer, Field, Scalar, Selected, Structure, Tree, Type, TypeRegistry, decode_structure, types, value,
};
