//! The names as a tree, level by level: what stands in a name up to each separator is a branch, and a name without any more is a leaf.
//!
//! ```text
//!   SR:            4,012 names      SR:C01:BPM1:X
//!     C01:           130               └┘ └─┘ └──┘ └ a leaf
//!       BPM1:          6              branches
//! ```
//! Names lie in their order, so that a branch is passed over by halving: a level of a million names costs what its children are, for who
//! sees all PVs. Who sees some is told of these alone, and each name of the level is looked at, once.

use std::ops::Range;

use archive::Places;

use crate::{
    ask::Ask,
    refusal::{Code, Refusal, shortened},
};

/// What a child takes, with the longest of names.
const CHILD_BYTES: usize = 320;

/// The signs at which a site's names are split: one to eight of ASCII, none of them a letter or a digit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Separators(String);

impl Default for Separators {
    fn default() -> Separators {
        Separators(":".to_owned())
    }
}

impl Separators {
    /// None where these are no such signs.
    pub fn new(signs: &str) -> Option<Separators> {
        let fits = (1..=8).contains(&signs.len()) && signs.bytes().all(|sign| sign.is_ascii_punctuation());
        fits.then(|| Separators(signs.to_owned()))
    }

    /// As they were given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A text up to its first separator and with it; none where it has none.
    fn first_part<'t>(&self, text: &'t str) -> Option<&'t str> {
        text.find(|sign| self.0.contains(sign)).map(|at| &text[..=at])
    }
}

/// A level that is wanted.
#[derive(Clone, Debug)]
pub struct TreeWanted {
    /// With what all of its names begin: nothing, or a branch as an answer gave it.
    pub prefix: String,
    /// The child behind which the answer begins.
    pub after: Option<String>,
    /// No more children than so many.
    pub limit: usize,
}

/// What stands at one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLevel {
    /// How many names and aliases there are in all of it.
    pub names: usize,
    /// In the order of names.
    pub children: Vec<TreeChild>,
    /// More follow behind the last one.
    pub has_more: bool,
}

/// A branch or a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeChild {
    /// The name of a leaf; of a branch that with which all of its names begin.
    pub name: String,
    /// How many names and aliases a branch has; a leaf is one.
    pub names: Option<usize>,
}

impl Ask {
    /// One level of the tree of names, as far as whoever asks may see them.
    pub fn tree(&self, wanted: &TreeWanted, separators: &Separators) -> Result<TreeLevel, Refusal> {
        let TreeWanted { prefix, after, limit } = wanted;
        if let Some(after) = after.as_ref().filter(|after| !after.starts_with(prefix.as_str())) {
            let message = format!("{:?} is no child of {:?}", shortened(after), shortened(prefix));
            return Err(
                Refusal::new(Code::BadRequest, message).hint("give `next` of the answer before, and its prefix")
            );
        }
        let names = self.listed().behind.directory.names();
        let places = names.places();
        let (first, end) = (places.from(prefix), places.behind_all(prefix));
        self.lease.grow_by((*limit).min(end - first), CHILD_BYTES)?;
        // A branch behind which it begins is passed over whole, and of a leaf there is one.
        let begin = match after {
            None => first,
            Some(after) if separators.first_part(&after[prefix.len()..]).is_some() => places.behind_all(after),
            Some(after) => places.from(after) + usize::from(is_at(&places, after)),
        };
        let level = TreeLevel { names: 0, children: Vec::new(), has_more: false };
        let mut filled = Filled { prefix, separators, limit: *limit, level };
        if self.sees_all() {
            filled.by_halving(&places, first..end, begin);
        } else {
            self.fill_by_looks(&mut filled, &places, first..end, begin)?;
        }
        Ok(filled.level)
    }

    /// Looks at each name of a level; those before `begin` only count.
    fn fill_by_looks(
        &self,
        filled: &mut Filled<'_>,
        places: &Places<'_>,
        level: Range<usize>,
        begin: usize,
    ) -> Result<(), Refusal> {
        let mut open: Option<(&str, usize)> = None;
        let mut place = level.start;
        for names in places.between(level) {
            self.go_on()?;
            for (named, is_seen) in names.iter().zip(self.seen_among(names)) {
                let (name, one) = (named.name.as_str(), usize::from(is_seen));
                filled.level.names += one;
                place += 1;
                if place <= begin {
                    continue;
                }
                match &mut open {
                    Some((branch, count)) if name.starts_with(*branch) => *count += one,
                    _ => {
                        filled.close(open.take());
                        match filled.branch_of(name) {
                            Some(branch) => open = Some((branch, one)),
                            None if is_seen => filled.put(name, None),
                            None => {}
                        }
                    }
                }
            }
        }
        filled.close(open);
        Ok(())
    }
}

/// A level while its children are put into it.
struct Filled<'w> {
    prefix: &'w str,
    separators: &'w Separators,
    limit: usize,
    level: TreeLevel,
}

impl Filled<'_> {
    /// The branch in which a name lies, up to its separator; none if it is a leaf of the level.
    fn branch_of<'n>(&self, name: &'n str) -> Option<&'n str> {
        let part = self.separators.first_part(&name[self.prefix.len()..])?;
        Some(&name[..self.prefix.len() + part.len()])
    }

    /// Where every name may be seen, of each branch its ends are looked for.
    fn by_halving(&mut self, places: &Places<'_>, level: Range<usize>, begin: usize) {
        self.level.names = level.len();
        let mut place = begin;
        while let Some(named) = places.get(place).filter(|_| place < level.end && !self.level.has_more) {
            let name = named.name.as_str();
            let branch = self.branch_of(name);
            let behind = branch.map_or(place + 1, |branch| places.behind_all(branch));
            self.put(branch.unwrap_or(name), branch.map(|_| behind - place));
            place = behind;
        }
    }

    /// A branch of which every name was looked at; one without names that are seen is not there.
    fn close(&mut self, branch: Option<(&str, usize)>) {
        if let Some((branch, names)) = branch.filter(|(_, names)| *names > 0) {
            self.put(branch, Some(names));
        }
    }

    fn put(&mut self, name: &str, names: Option<usize>) {
        if self.level.children.len() == self.limit {
            self.level.has_more = true;
        } else {
            self.level.children.push(TreeChild { name: name.to_owned(), names });
        }
    }
}

fn is_at(places: &Places<'_>, name: &str) -> bool {
    places.get(places.from(name)).is_some_and(|named| named.name.as_str() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_signs_and_names_are_split_behind_them() {
        for wrong in ["", "a", "1", ": ", "::::::::::", "é"] {
            assert_eq!(Separators::new(wrong), None, "{wrong:?}");
        }
        let both = Separators::new(":-").unwrap();
        assert_eq!(both.first_part("SR-C01:X"), Some("SR-"));
        assert_eq!(Separators::default().first_part("SR-C01:X"), Some("SR-C01:"));
        assert_eq!(both.first_part("CURRENT"), None);
        assert_eq!(both.first_part(":X"), Some(":"));
    }
}
