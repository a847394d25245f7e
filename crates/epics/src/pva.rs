//! pvAccess: the client, its messages, types and values.
//!
//! ```text
//!   client, config, counters     what a user holds: subscribe, unsubscribe
//!   search                       which server has a PV: datagrams out, answers in
//!   circuit, frames, channels    one TCP connection: messages, channels, monitors, retries, echoes
//!   normative, describe          updates of the Normative Types -> Event
//!   message                      each message that a client sends or gets
//!   put                          the only messages that can change a PV; with the feature of that name
//!   value, array, types, wire    pvData: values, their type descriptions, the bytes of both
//! ```

mod array;
mod channels;
pub mod circuit;
mod client;
mod config;
mod counters;
mod describe;
mod frames;
pub mod message;
mod normative;
#[cfg(feature = "put")]
pub mod put;
pub mod search;
mod slots;
pub mod types;
pub mod value;
pub mod wire;

pub use channels::Returned;
pub(crate) use client::Wish;
pub use client::{Client, Monitor};
pub use config::Config;
pub use counters::Counters;
pub use frames::MESSAGE_BYTES_MAX;
pub use message::Account;
pub use types::{Extent, Field, Registry, Scalar, Structure, Type};
pub use value::{Data, Selected, Tree, decode_structure};
pub use wire::Error;
