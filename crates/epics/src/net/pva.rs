//! pvAccess over sockets: the client, and the server for simulations and tests.

mod client;
mod counters;
mod hub;
mod link;
#[cfg(feature = "put")]
mod puts;
#[cfg(feature = "server")]
mod server;
mod udp;

pub use client::Client;
#[cfg(feature = "server")]
pub use server::{Listen, Server};
