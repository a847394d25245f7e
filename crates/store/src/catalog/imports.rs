//! When a part of an import is known by its name.

/// Whether a part is known when it has been entered, or when all of it has been found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    None,
    Waits,
}
