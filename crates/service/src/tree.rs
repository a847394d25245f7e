//! The names as a tree, level by level: what stands in a name up to each separator is a branch, and a name without any more is a leaf.
//!
//! ```text
//!   SR:            4,012 names      SR:C01:BPM1:X
//!     C01:           130               └┘ └─┘ └──┘ └ a leaf
//!       BPM1:          6              branches
//! ```
//! Names lie in their order, so that a branch is passed over by halving: a level of a million names costs what its children are, for who
//! sees all PVs. Who sees some is told of these alone: their names are found first, a bit for each. Where rights say how names begin, those
//! are found by halving too, and only where they say more each name is looked at, once.

use std::ops::Range;

use archive::{Beginning, NameKind, Neighbours, PlaceSet, Places, PvId, Right};
use query::{processors, side_by_side};

use crate::{
    ask::Ask,
    refusal::{Code, Refusal, shortened},
};

/// What a child takes, with the longest of names.
const CHILD_BYTES: usize = 320;
/// What a name takes while it is looked at.
const LOOK_BYTES: usize = 1;
/// More names than this are looked at by several threads, and as many threads look at most.
const NAMES_ALONE_MAX: usize = 50_000;
const THREADS_MAX: usize = 4;

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
            filled.level.names = end - first;
            filled.fill(&places, begin, |from| (from < end).then_some(from), |places| places.len());
        } else {
            let seen = self.seen_places(&places, first..end)?;
            filled.level.names = seen.count(first..end);
            filled.fill(&places, begin, |from| seen.next(from), |places| seen.count(places));
        }
        Ok(filled.level)
    }

    /// Which names of a level may be seen.
    fn seen_places(&self, places: &Places<'_>, level: Range<usize>) -> Result<PlaceSet, Refusal> {
        self.lease.grow(PlaceSet::bytes_of(level.len()))?;
        let (mut seen, mut unsure) = (PlaceSet::none_of(level.clone()), PlaceSet::none_of(level.clone()));
        for beginning in self.beginnings(Right::Read) {
            let begun = places.from(beginning.text())..places.behind_all(beginning.text());
            match beginning {
                Beginning::Each(_) => seen.put(begun),
                Beginning::Perhaps(_) => unsure.put(begun),
            }
        }
        let is_unsure = |of: &Neighbours<'_>| unsure.next(of.places().start).is_some_and(|next| next < of.places().end);
        let is_sure = |of: &Neighbours<'_>| seen.count(of.places()) == of.rows.len();
        let looks: Vec<Neighbours<'_>> =
            places.between(level.clone()).filter(|of| is_unsure(of) && !is_sure(of)).collect();
        let names = looks.iter().map(|of| of.rows.len()).sum();
        self.lease.grow_by(names, LOOK_BYTES)?;
        let threads = if names > NAMES_ALONE_MAX { processors().min(THREADS_MAX) } else { 1 };
        let covered =
            |of: &Neighbours<'_>| self.go_on().map(|()| self.may_among(Right::Read, of.chunk, of.rows.clone()));
        for (of, covered) in looks.iter().zip(side_by_side(&looks, threads, covered)) {
            let places = of.places().zip(covered?).filter(|(_, is_covered)| *is_covered);
            places.for_each(|(place, _)| seen.put(place..place + 1));
        }
        self.leave_out_aliases(places, level, &mut seen)?;
        Ok(seen)
    }

    /// Takes out the aliases of PVs that may not be seen.
    fn leave_out_aliases(&self, places: &Places<'_>, level: Range<usize>, seen: &mut PlaceSet) -> Result<(), Refusal> {
        for of in places.between(level) {
            let aliases = of.places().zip(of.names()).filter(|(_, named)| named.kind == NameKind::Alias);
            let aliases: Vec<(usize, PvId)> =
                aliases.filter(|(place, _)| seen.has(*place)).map(|(place, named)| (place, named.pv)).collect();
            if aliases.is_empty() {
                continue;
            }
            self.go_on()?;
            let pvs: Vec<Option<PvId>> = aliases.iter().map(|(_, pv)| Some(*pv)).collect();
            let entries = self.listed().behind.directory.entries_of(&pvs);
            let hidden = aliases.iter().zip(entries).filter(|(_, of)| !of.as_ref().is_some_and(|of| self.sees(of)));
            hidden.for_each(|((place, _), _)| seen.take(*place));
        }
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

    /// From a place on: `next` gives the first name there that is seen, of each branch the ends are looked for, and `count` says how many
    /// names between them are seen.
    fn fill(
        &mut self,
        places: &Places<'_>,
        begin: usize,
        next: impl Fn(usize) -> Option<usize>,
        count: impl Fn(Range<usize>) -> usize,
    ) {
        let mut from = begin;
        while let Some(place) = next(from).filter(|_| !self.level.has_more) {
            let Some(named) = places.get(place) else { return };
            let name = named.name.as_str();
            let branch = self.branch_of(name);
            from = branch.map_or(place + 1, |branch| places.behind_all(branch));
            self.put(branch.unwrap_or(name), branch.map(|_| count(place..from)));
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
