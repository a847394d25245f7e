//! Who asks: what a request shows is looked at once, before anything else of it is read; and what is refused becomes an answer.
//!
//! ```text
//!   dispatch ──► identify   what it shows ──► access ──► Identity         Watch     the same again while an answer goes on
//!                refused    401, 403, 429, or to the page's login         Shares    what all answers of one principal take
//! ```

mod identify;
mod refused;
mod shares;
mod watch;

pub use identify::rights_of;
pub(crate) use identify::{Origin, forget_session, identify, turn};
pub(crate) use refused::{Refusals, RequestLine, missing, refused};
pub(crate) use shares::Shares;
pub(crate) use watch::{Watch, watched};
