//! How answers are delivered: the threads that read and make answers, and the memory that these may take.
//!
//! ```text
//!   socket     what a connection has written, and who is stuck
//!   answer     what handlers return                           chunk      what a long answer consists of
//!   sending    a long answer, read and made as it is sent     backlog    what of it was read and is not sent yet
//!   pool       on which thread something is done              crowd      how many answers are under way
//!   pieces     a stretch of a batch, shared                   compress   the same answers in gzip or zstd
//!   leased     what an answer holds of the budget of memory
//! ```

use std::sync::Arc;

pub(crate) mod answer;
mod backlog;
pub(crate) mod chunk;
pub(crate) mod compress;
pub(crate) mod crowd;
pub(crate) mod leased;
pub(crate) mod pieces;
mod pool;
mod sending;
pub(crate) mod socket;
#[cfg(test)]
mod tests;

use crowd::Crowd;
use pool::Pool;
use service::Budget;

/// What all answers of a server share.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) budget: Arc<Budget>,
    pub(crate) pool: Pool,
    pub(crate) crowd: Crowd,
}

impl Delivery {
    /// For answers that may take so much memory together.
    pub(crate) fn within(bytes_max: usize) -> Delivery {
        Delivery::with(Crowd::new(), bytes_max)
    }

    fn with(crowd: Crowd, bytes_max: usize) -> Delivery {
        Delivery { budget: Budget::new(bytes_max), pool: Pool::new(crowd.clone()), crowd }
    }
}
