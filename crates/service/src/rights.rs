//! Rights: what somebody may do, with the archive as a whole and with PVs by their names.

use std::{fmt, sync::Arc};

use archive::Right;

type ByName = dyn Fn(&str) -> Option<Right> + Send + Sync;

/// What somebody may do. Cheap to clone.
#[derive(Clone)]
pub struct Rights {
    everywhere: Option<Right>,
    by_name: Option<Arc<ByName>>,
}

impl Rights {
    /// With the archive as a whole, and with every PV; none without a right.
    pub fn everywhere(right: Option<Right>) -> Rights {
        Rights { everywhere: right, by_name: None }
    }

    /// And with the PV of a name what `by_name` says, if that is more.
    #[must_use]
    pub fn or_by_name(self, by_name: impl Fn(&str) -> Option<Right> + Send + Sync + 'static) -> Rights {
        Rights { by_name: Some(Arc::new(by_name)), ..self }
    }

    /// Whether they cover the whole archive, so that no PV has to be looked at.
    pub fn cover_all(&self, right: Right) -> bool {
        self.everywhere >= Some(right)
    }

    /// Whether they cover the PV of a name, which is its own name and no alias.
    pub fn cover(&self, right: Right, pv: &str) -> bool {
        self.cover_all(right) || self.by_name.as_ref().is_some_and(|by_name| by_name(pv) >= Some(right))
    }
}

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rights").field("everywhere", &self.everywhere).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_cover_what_they_say_and_what_lies_below() {
        let rights =
            Rights::everywhere(Some(Right::Read)).or_by_name(|name| name.starts_with("T:").then_some(Right::Operate));
        assert!(rights.cover_all(Right::Read) && !rights.cover_all(Right::Operate));
        assert!(rights.cover(Right::Operate, "T:A") && !rights.cover(Right::Administer, "T:A"));
        assert!(rights.cover(Right::Read, "S:A") && !rights.cover(Right::Operate, "S:A"));
        assert!(!Rights::everywhere(None).cover(Right::Read, "T:A"));
    }
}
