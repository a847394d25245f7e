//! Where the policies and groups of the config file come from when they are to be applied anew: the file as it is then.

use std::{fmt, sync::Arc};

use archive::{Group, Policies};

type Read = dyn Fn() -> Result<FileRules, String> + Send + Sync;

/// What the config file says of how PVs are archived.
#[derive(Clone, Debug, Default)]
pub struct FileRules {
    /// By their names.
    pub policies: Policies,
    /// Only while others say so.
    pub groups: Vec<Group>,
}

/// Reads the policies and groups, or says in a sentence why they cannot be. Without anything that reads them there are none.
#[derive(Clone)]
pub struct PolicySource(Arc<Read>);

impl PolicySource {
    /// From whatever reads them.
    pub fn new(read: impl Fn() -> Result<FileRules, String> + Send + Sync + 'static) -> PolicySource {
        PolicySource(Arc::new(read))
    }

    /// Reads them.
    pub fn read(&self) -> Result<FileRules, String> {
        (self.0)()
    }
}

impl Default for PolicySource {
    fn default() -> PolicySource {
        PolicySource::new(|| Ok(FileRules::default()))
    }
}

impl fmt::Debug for PolicySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PolicySource")
    }
}
