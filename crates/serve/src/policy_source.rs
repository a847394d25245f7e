//! Where the policies of the config file come from when they are to be applied anew: the file as it is then.

use std::{fmt, sync::Arc};

use acquire::Policies;

type Read = dyn Fn() -> Result<Policies, String> + Send + Sync;

/// Reads the policies, or says in a sentence why they cannot be.
#[derive(Clone)]
pub struct PolicySource(Arc<Read>);

impl PolicySource {
    /// From whatever reads them.
    pub fn new(read: impl Fn() -> Result<Policies, String> + Send + Sync + 'static) -> PolicySource {
        PolicySource(Arc::new(read))
    }

    pub(crate) fn read(&self) -> Result<Policies, String> {
        (self.0)()
    }
}

impl fmt::Debug for PolicySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PolicySource")
    }
}
