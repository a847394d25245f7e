//! What pvark asks of the machine it runs on, and nothing that knows of archiving.
//!
//! ```text
//!   allocator   memory that goes back to the system as soon as it is free
//!   runtime     threads of tokio          slices    how long one of them has the processor at a time
//!   signals     SIGTERM and Ctrl-C        clock     the time
//!   process     environment, open files   log       lines on standard error
//! ```

pub(crate) mod allocator;
pub(crate) mod clock;
pub(crate) mod log;
pub(crate) mod process;
pub(crate) mod runtime;
pub(crate) mod signals;
mod slices;
