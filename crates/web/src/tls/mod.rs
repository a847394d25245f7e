//! TLS: certificates that are replaced while the server runs, handshakes that keep nobody from the server, and what clients show.
//!
//! ```text
//!   certificates   what is used now, what was refused and why      pair          files ► a certificate that fits its key and its time
//!   handshakes     how many at a time, and who gives way           shown         who a client's certificate is for
//!   plain          what is said to clients without TLS
//! ```
//! A pair of files is taken only if all of it fits; else the one before is used on, and the status says why. So nothing that happens to
//! files ends recording, or the answers to who is connected.

pub(crate) mod certificates;
pub(crate) mod handshakes;
mod pair;
pub(crate) mod plain;
pub(crate) mod shown;
