//! Rights: what one principal may do at one listener, to each PV.

use std::{ops::Range, sync::Arc};

use archive::{Beginning, Fits, NameChunk, Right};

/// A right to the PVs of some patterns.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// What may be done.
    pub right: Right,
    /// To which PVs.
    pub pvs: Arc<[Fits]>,
}

impl Scope {
    /// Whether it is for every PV.
    pub(crate) fn is_for_all(&self) -> bool {
        self.pvs.iter().any(|fits| fits.as_str() == "*")
    }

    /// Whether it is for a PV.
    pub(crate) fn is_for(&self, pv: &str) -> bool {
        let pv = record(pv);
        let fits = |name: &str| self.pvs.iter().any(|fits| fits.is_for(name));
        fits(pv) || pv.match_indices('.').any(|(point, _)| fits(&pv[..point]))
    }

    /// How the names begin of the PVs that it is for. A name that goes on behind one that fits is that of a field only from a point on:
    /// where a beginning has one, not all that begin so are sure to be of the PV.
    fn beginnings(&self) -> impl Iterator<Item = Beginning> {
        self.pvs.iter().map(|fits| match fits.beginning() {
            Beginning::Each(text) if text.contains('.') => Beginning::Perhaps(text),
            beginning => beginning,
        })
    }

    /// Says yes in the places of those of some neighbouring names that it is for.
    fn note(&self, chunk: &NameChunk, rows: Range<usize>, is_for: &mut [bool]) {
        if chunk.text().contains('.') {
            let names = chunk.rows()[rows].iter().map(|named| named.name.as_str());
            is_for.iter_mut().zip(names).for_each(|(is_for, name)| *is_for = *is_for || self.is_for(name));
        } else {
            self.pvs.iter().for_each(|fits| fits.note(chunk, rows.clone(), is_for));
        }
    }
}

/// What one principal may do at one listener. Cheap to clone. Where the same is allowed for every PV, as when everything is open,
/// no name is looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rights {
    /// To every PV.
    all: Option<Right>,
    /// More than that, to some.
    some: Arc<[Scope]>,
    /// The most that anybody has at the listener.
    ceiling: Option<Right>,
}

impl Rights {
    /// Everything.
    pub fn open() -> Rights {
        Rights::new(Vec::new(), Some(Right::Administer), Right::Administer)
    }

    /// What some scopes add up to, with a right to all PVs besides, at a listener.
    pub fn new(scopes: Vec<Scope>, all: Option<Right>, ceiling: Right) -> Rights {
        let whole = scopes.iter().filter(|scope| scope.is_for_all()).map(|scope| scope.right).max();
        let all = all.max(whole).min(Some(ceiling));
        let mut some: Vec<Scope> = scopes.into_iter().filter(|scope| Some(scope.right.min(ceiling)) > all).collect();
        some.iter_mut().for_each(|scope| scope.right = scope.right.min(ceiling));
        Rights { all, some: some.into(), ceiling: Some(ceiling) }
    }

    /// Whether it may be done to a PV. A field of a record, and a field of a structure, count as their PV.
    ///
    /// Whoever asks by an alias must have the right to both names: see `may_each`.
    pub fn may(&self, right: Right, pv: &str) -> bool {
        self.all >= Some(right) || self.some.iter().any(|scope| scope.right >= right && scope.is_for(pv))
    }

    /// Whether it may be done to a PV by each of these names: its own, and the one by which it was asked for.
    pub fn may_each<'a>(&self, right: Right, names: impl IntoIterator<Item = &'a str>) -> bool {
        self.may_all(right) || names.into_iter().all(|name| self.may(right, name))
    }

    /// Whether it may be done to every PV, and to what is none.
    pub fn may_all(&self, right: Right) -> bool {
        self.all >= Some(right)
    }

    /// Whether a PV may be seen. One that may not does not exist.
    pub fn sees(&self, pv: &str) -> bool {
        self.may(Right::Read, pv)
    }

    /// Whether every PV may be seen, so that nothing need be left out of answers.
    pub fn sees_all(&self) -> bool {
        self.may_all(Right::Read)
    }

    /// The most that may be done to any PV; none if nothing may.
    pub fn most(&self) -> Option<Right> {
        self.some.iter().map(|scope| scope.right).max().max(self.all)
    }

    /// What may be done to every PV; none if nothing may.
    pub fn to_all(&self) -> Option<Right> {
        self.all
    }

    /// What more may be done to some.
    pub fn to_some(&self) -> &[Scope] {
        &self.some
    }

    /// The most that may be done to a PV; none if it may not be seen.
    pub fn most_to(&self, pv: &str) -> Option<Right> {
        let some = self.some.iter().filter(|scope| Some(scope.right) > self.all && scope.is_for(pv));
        some.map(|scope| scope.right).max().max(self.all)
    }

    /// How the names begin of the PVs to which it may be done: it may to none of which the name begins otherwise.
    pub fn beginnings(&self, right: Right) -> Vec<Beginning> {
        if self.may_all(right) {
            return vec![Beginning::Each(String::new())];
        }
        self.some.iter().filter(|scope| scope.right >= right).flat_map(Scope::beginnings).collect()
    }

    /// To which of some neighbouring names it may be done, all of which are compared together: the same as `may` of each.
    pub fn may_among(&self, right: Right, chunk: &NameChunk, rows: Range<usize>) -> Vec<bool> {
        let mut may = vec![self.may_all(right); rows.len()];
        if !self.may_all(right) {
            let scopes = self.some.iter().filter(|scope| scope.right >= right);
            scopes.for_each(|scope| scope.note(chunk, rows.clone(), &mut may));
        }
        may
    }

    /// Whether the listener allows it to anybody.
    pub fn is_below_ceiling(&self, right: Right) -> bool {
        self.ceiling >= Some(right)
    }

    /// Whether these are certainly rights to all that a scope is for: nobody gives more than they have. Where patterns cannot be
    /// compared it is taken for more.
    pub fn contain(&self, scope: &Scope) -> bool {
        let have: Vec<&Fits> =
            self.some.iter().filter(|own| own.right >= scope.right).flat_map(|own| own.pvs.iter()).collect();
        self.may_all(scope.right) || scope.pvs.iter().all(|pvs| have.iter().any(|own| own.contains(pvs)))
    }
}

/// A name without the field of a record: `PV.HIHI` is `PV`. Fields have capitals and digits.
pub(crate) fn record(pv: &str) -> &str {
    let is_field = |field: &str| {
        field.starts_with(|first: char| first.is_ascii_uppercase())
            && field.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    match pv.rsplit_once('.') {
        Some((record, field)) if !record.is_empty() && is_field(field) => record,
        _ => pv,
    }
}

#[cfg(test)]
mod tests {
    use Right::{Administer, Operate, Read};
    use archive::{NameKind, Named, Names, PvId, PvName};
    use proptest::prelude::*;

    use super::*;

    fn scope(right: Right, pvs: &[&str]) -> Scope {
        Scope { right, pvs: pvs.iter().map(|text| Fits::parse(text).unwrap()).collect() }
    }

    #[test]
    fn grants_add_up_and_each_right_contains_those_before_it() {
        let rights = Rights::new(vec![scope(Operate, &["SR*"]), scope(Administer, &["SR1"])], Some(Read), Administer);
        assert!(rights.may(Read, "X") && !rights.may(Operate, "X"));
        assert!(rights.may(Operate, "SR2") && !rights.may(Administer, "SR2"));
        assert!(rights.may(Administer, "SR1"));
        assert!(rights.sees_all() && rights.may_all(Read) && !rights.may_all(Operate));
        assert_eq!(rights.most(), Some(Administer));
        assert_eq!(
            (rights.to_all(), rights.most_to("X"), rights.most_to("SR2")),
            (Some(Read), Some(Read), Some(Operate))
        );
        let nothing = Rights::default();
        assert!(!nothing.sees("X") && nothing.most().is_none() && !nothing.is_below_ceiling(Read));
        assert!(Rights::open().may_all(Administer) && Rights::open().some.is_empty());
    }

    #[test]
    fn a_listener_caps_what_anybody_has() {
        let rights = Rights::new(vec![scope(Administer, &["SR*"]), scope(Read, &["X"])], None, Read);
        assert!(rights.may(Read, "SR1") && !rights.may(Operate, "SR1"));
        assert_eq!((rights.most(), rights.is_below_ceiling(Operate)), (Some(Read), false));
        assert_eq!(Rights::new(vec![scope(Administer, &["*"])], None, Read).most(), Some(Read));
    }

    #[test]
    fn a_field_counts_as_its_pv_and_no_field_opens_another_pv() {
        let rights = Rights::new(vec![scope(Read, &["SR1", "*SR", "DEV.1:X"])], None, Administer);
        for seen in ["SR1", "SR1.HIHI", "SR1.VAL", "SR1.value.rms", "SR1.value.RMS", "DEV.1:X", "DEV.1:X.EGU", "XSR"] {
            assert!(rights.sees(seen), "{seen}");
        }
        for hidden in ["SECRET.SR", "SR12", "DEV", "DEV.1:Y", "DEV.1", "SECRET", ".SR", ""] {
            assert!(!rights.sees(hidden) || hidden == ".SR", "{hidden}");
        }
    }

    #[test]
    fn both_names_must_fit() {
        let rights = Rights::new(vec![scope(Read, &["A*"])], None, Administer);
        assert!(rights.may_each(Read, ["A1", "ALIAS"]));
        assert!(!rights.may_each(Read, ["B1", "ALIAS"]) && !rights.may_each(Read, ["A1", "X"]));
    }

    #[test]
    fn nobody_gives_more_than_they_have() {
        let maker = Rights::new(vec![scope(Operate, &["SR*", "~LAB:[A-Z]+"])], Some(Read), Administer);
        assert!(maker.contain(&scope(Read, &["*"])));
        assert!(maker.contain(&scope(Operate, &["SR1*", "SR?", "~LAB:[A-Z]+"])));
        assert!(!maker.contain(&scope(Operate, &["SR1*", "*"])));
        assert!(!maker.contain(&scope(Operate, &["~SR.*"])), "what cannot be compared is more");
        assert!(!maker.contain(&scope(Administer, &["SR1"])));
    }

    proptest! {
        /// Few letters, so that much fits, and points, so that there are fields.
        #[test]
        fn neighbouring_names_may_be_what_each_alone_may(
            names in proptest::collection::vec("[AB:.]{1,7}", 1..80),
            scopes in proptest::collection::vec(
                (0..3_usize, proptest::collection::vec("[AB:.]{0,2}[AB:*?]{0,3}|~[AB:]{0,2}(\\.\\*|[AB]\\+|\\\\\\.A)?", 1..4)),
                0..4,
            ),
            right in 0..3_usize,
            first in 0..80_usize,
        ) {
            let right_of = |number: usize| [Read, Operate, Administer][number];
            let fits = |texts: Vec<String>| texts.iter().filter_map(|text| Fits::parse(text).ok()).collect();
            let scopes = scopes.into_iter().map(|(number, pvs)| Scope { right: right_of(number), pvs: fits(pvs) });
            let (rights, right) = (Rights::new(scopes.collect(), None, Administer), right_of(right));
            let recorded = |name: &String| PvName::recorded(name).ok();
            let mut names: Vec<PvName> = names.iter().filter_map(recorded).collect();
            names.sort_unstable();
            names.dedup();
            let named = |name: &PvName| Named { name: name.clone(), pv: PvId(0), kind: NameKind::Own };
            let all = Names::of(names.iter().map(named).collect());
            let rows = first.min(names.len())..names.len();
            let alone: Vec<bool> = names[rows.clone()].iter().map(|name| rights.may(right, name.as_str())).collect();
            let together = all.chunks().first().map(|chunk| rights.may_among(right, chunk, rows));
            prop_assert_eq!(together.unwrap_or_default(), alone);
            let beginnings = rights.beginnings(right);
            for name in &names {
                let (may, name) = (rights.may(right, name.as_str()), name.as_str());
                let begun = |beginning: &&Beginning| name.starts_with(beginning.text());
                prop_assert!(!may || beginnings.iter().any(|one| begun(&one)), "{} {:?}", name, beginnings);
                let is_sure = |one: &Beginning| matches!(one, Beginning::Each(_)) && begun(&one);
                prop_assert!(may || !beginnings.iter().any(is_sure), "{} {:?}", name, beginnings);
            }
        }
    }
}
