//! Rights: what somebody may do, with the archive as a whole and with PVs by their names.

use std::{fmt, ops::Range, sync::Arc};

use archive::{Beginning, NameChunk, Named, Right};

/// Who says what may be done with PVs by their names, one by one and many together: all of it says the same.
pub trait ByName: Send + Sync {
    /// What may be done with the PV of a name.
    fn to(&self, pv: &str) -> Option<Right>;

    /// How the names begin with whose PVs it may be done: with none of which the name begins otherwise.
    fn beginnings(&self, right: Right) -> Vec<Beginning> {
        let _ = right;
        vec![Beginning::Perhaps(String::new())]
    }

    /// With the PVs of which of some neighbouring names it may be done.
    fn among(&self, right: Right, chunk: &NameChunk, rows: Range<usize>) -> Vec<bool> {
        let may = |named: &Named| self.to(named.name.as_str()) >= Some(right);
        chunk.rows()[rows].iter().map(may).collect()
    }
}

/// Each name by itself.
struct Each<F>(F);

impl<F: Fn(&str) -> Option<Right> + Send + Sync> ByName for Each<F> {
    fn to(&self, pv: &str) -> Option<Right> {
        (self.0)(pv)
    }
}

/// What somebody may do. Cheap to clone.
#[derive(Clone)]
pub struct Rights {
    everywhere: Option<Right>,
    by_name: Option<Arc<dyn ByName>>,
}

impl Rights {
    /// With the archive as a whole, and with every PV; none without a right.
    pub fn everywhere(right: Option<Right>) -> Rights {
        Rights { everywhere: right, by_name: None }
    }

    /// And with the PV of a name what `by_name` says, if that is more.
    #[must_use]
    pub fn or_by_name(self, by_name: impl Fn(&str) -> Option<Right> + Send + Sync + 'static) -> Rights {
        self.or_by(Each(by_name))
    }

    /// The same, where whoever says it can say it of many names together.
    #[must_use]
    pub fn or_by(self, by_name: impl ByName + 'static) -> Rights {
        Rights { by_name: Some(Arc::new(by_name)), ..self }
    }

    /// Whether they cover the whole archive, so that no PV has to be looked at.
    pub fn cover_all(&self, right: Right) -> bool {
        self.everywhere >= Some(right)
    }

    /// Whether they cover the PV of a name, which is its own name and no alias.
    pub fn cover(&self, right: Right, pv: &str) -> bool {
        self.cover_all(right) || self.by_name.as_ref().is_some_and(|by_name| by_name.to(pv) >= Some(right))
    }

    /// How the names begin of the PVs that they cover: they cover none of which the name begins otherwise.
    pub(crate) fn beginnings(&self, right: Right) -> Vec<Beginning> {
        match &self.by_name {
            _ if self.cover_all(right) => vec![Beginning::Each(String::new())],
            Some(by_name) => by_name.beginnings(right),
            None => Vec::new(),
        }
    }

    /// The PVs of which of some neighbouring names they cover: the same as `cover` of each.
    pub(crate) fn cover_among(&self, right: Right, chunk: &NameChunk, rows: Range<usize>) -> Vec<bool> {
        match &self.by_name {
            Some(by_name) if !self.cover_all(right) => by_name.among(right, chunk, rows),
            _ => vec![self.cover_all(right); rows.len()],
        }
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
