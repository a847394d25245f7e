//! Channel Access: the client, its messages and its values.
//!
//! ```text
//!   config, monitor, counters    what a user says and is told; `Client` is in `net::ca`, which has the sockets
//!   search                       which server has a PV: datagrams out, answers in
//!   circuit, channels            one TCP connection: messages, channels, subscriptions, echoes
//!   beacon, restarts             which servers are new, and which were restarted
//!   dbr                          values and their descriptions -> Event
//!   filter                       dead bands that an IOC applies
//!   server                       the other side, for simulations and tests; with the feature of that name
//!   put                          the only messages that can change a PV; with the feature of that name
//!   wire                         message headers, and the messages that a client sends
//! ```
//!
//! Nothing here owns a socket or a clock, for tests and other runtimes.

pub mod beacon;
mod channels;
pub mod circuit;
mod config;
mod counters;
pub mod dbr;
pub mod filter;
mod monitor;
#[cfg(feature = "put")]
pub mod put;
pub(crate) mod restarts;
pub mod search;
#[cfg(feature = "server")]
pub mod server;
pub mod wire;

pub use config::Config;
pub use counters::Counters;
pub use monitor::{CharArrays, Monitor};

pub use crate::{mask::Mask, net::ca::Client};
