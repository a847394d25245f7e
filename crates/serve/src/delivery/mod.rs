//! How answers are delivered: connections, the threads that make answers, and the memory that these may take.
//!
//! ```text
//!   server     connections, their limits and their end        socket     what a connection has written, and who is stuck
//!   work       on which thread something is done              crowd      how many answers are under way
//!   answer     what handlers return, made as it is read       compress   the same in gzip or zstd
//!   budget     how much memory all answers together may take
//! ```

pub(crate) mod answer;
pub(crate) mod budget;
pub(crate) mod compress;
pub(crate) mod crowd;
pub(crate) mod server;
pub(crate) mod socket;
pub(crate) mod work;
