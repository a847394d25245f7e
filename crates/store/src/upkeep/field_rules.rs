//! Rules of retention that name fields of structures: which of a PV's fields have come to their end.
//!
//! A field is named by a rule with a point and a name behind it that fits `PV.path`, or a part of it that ends before a point, so that
//! `PV.value` means all that is in `value`. The first rule that fits a field or its PV decides; fields that none names follow
//! the PV.

use archive::{Glob, PvName};

use crate::config::{Retention, Rule};

/// Whether the time of a PV as a whole is over, and with it that of all fields that no rule names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PvOver {
    No,
    Yes,
}

/// The rules for the fields of one PV, and which of them are over.
#[derive(Debug)]
pub(crate) struct FieldRules {
    /// The patterns of those that could name one of its fields, before the rule that decides for the PV.
    rules: Vec<(String, bool)>,
    pv: String,
    pv_over: PvOver,
}

impl FieldRules {
    /// Of rules in their order, each with whether it is over. None if none could name a field of that PV before one decides for
    /// all of it.
    pub(crate) fn of(rules: &[Rule], over: &[bool], pv: &str, pv_over: PvOver) -> Option<FieldRules> {
        let beginning = format!("{pv}.");
        let before = rules.iter().zip(over).take_while(|(rule, _)| !Glob(&rule.pvs).fits(pv));
        let names_one = |rule: &Rule| names_fields(rule) && Glob(&rule.pvs).fits_longer(&beginning);
        let naming = before.filter(|(rule, _)| names_one(rule)).map(|(rule, over)| (rule.pvs.clone(), *over));
        let rules: Vec<_> = naming.collect();
        (!rules.is_empty()).then(|| FieldRules { rules, pv: pv.to_owned(), pv_over })
    }

    pub(crate) fn pv(&self) -> PvOver {
        self.pv_over
    }

    /// Whether the time of the field at the end of this path is over.
    pub(crate) fn is_over(&self, path: &str) -> bool {
        let name = format!("{}.{path}", self.pv);
        let ends = path.match_indices('.').map(|(dot, _)| self.pv.len() + 1 + dot).chain([name.len()]);
        let ends: Vec<usize> = ends.collect();
        let names_it = |pattern: &str| ends.iter().any(|end| Glob(pattern).fits(&name[..*end]));
        self.rules.iter().find(|(pattern, _)| names_it(pattern)).map_or(self.pv_over == PvOver::Yes, |(_, over)| *over)
    }
}

/// Whether the field at the end of a path is the one at the end of another, or lies in it.
pub(crate) fn is_part(path: &str, of: &str) -> bool {
    path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl Retention {
    /// Why one of the rules could never mean anything, if that is so.
    pub fn mistake(&self) -> Option<String> {
        let wrong = |(place, rule): (usize, &Rule)| {
            let told = |why: String| Some(format!("the rule for {:?} could never mean anything: {why}", rule.pvs));
            if let Err(error) = PvName::recorded(&rule.pvs) {
                return told(error.to_string());
            }
            if names_fields(rule) && rule.pvs.split('.').any(str::is_empty) {
                return told("a name is missing beside one of its points, expected one like PV.value.wave".to_owned());
            }
            // A rule with one point may mean the field of a record that is a PV of its own: it is not in the way of `PV` itself.
            let pv = rule.pvs.split_once('.').filter(|(_, path)| path.contains('.')).map(|(pv, _)| pv);
            let before = self.rules[..place].iter().find(|before| {
                let covers = |pattern| covers(&before.pvs, pattern);
                names_fields(rule) && (covers(&rule.pvs) || pv.is_some_and(covers))
            });
            before.and_then(|before| told(format!("the rule for {:?} stands before it and decides first", before.pvs)))
        };
        self.rules.iter().enumerate().find_map(wrong)
    }
}

/// Whether a pattern fits all that another one fits: whatever a star of the other stands for.
fn covers(pattern: &str, other: &str) -> bool {
    ["", "\u{1}", "\u{1}\u{1}"].iter().all(|stands| Glob(pattern).fits(&other.replace('*', stands)))
}

/// Whether a rule may name fields. One without a point means PVs, or every rule like `*e` would take fields away; so does one
/// without a name behind the point, as `*.*`, which means the fields of records that are PVs of their own.
pub(crate) fn names_fields(rule: &Rule) -> bool {
    rule.pvs.split_once('.').is_some_and(|(_, path)| path.bytes().any(|byte| byte.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(patterns: &[&str]) -> Vec<Rule> {
        patterns.iter().map(|pattern| Rule { pvs: (*pattern).to_owned(), keep: None }).collect()
    }

    #[test]
    fn the_first_rule_that_fits_a_field_or_its_pv_decides() {
        let rules = rules(&["X.value.rms", "X.value.*", "Y", "*.value.wave", "X", "X.alarm"]);
        let over = [false, true, true, true, false, true];
        let of = |pv, pv_over| FieldRules::of(&rules, &over, pv, pv_over);
        let x = of("X", PvOver::No).unwrap();
        let is_over = |path| x.is_over(path);
        assert_eq!(["value.rms", "value.wave", "value.a.b", "alarm.severity"].map(is_over), [false, true, true, false]);
        assert!(of("Y", PvOver::Yes).is_none(), "the rule for the PV comes before all that name fields of it");
        let z = of("Z", PvOver::No).unwrap();
        assert!(z.is_over("value.wave") && !z.is_over("value.rms"));
        assert!(of("Z", PvOver::Yes).unwrap().is_over("value.rms"), "what no rule names follows the PV");
    }

    #[test]
    fn only_rules_with_a_name_behind_a_point_name_fields_and_a_part_of_a_path_means_all_in_it() {
        let (with, without) = (rules(&["X.value"]), rules(&["*e", "X?value?wave", "*.*", "X.?*"]));
        let x = FieldRules::of(&with, &[true], "X", PvOver::No).unwrap();
        assert!(x.is_over("value.wave") && x.is_over("value") && !x.is_over("values.wave"));
        assert!(FieldRules::of(&without, &[true; 4], "X", PvOver::No).is_none());
    }

    #[test]
    fn rules_that_could_never_decide_are_mistakes() {
        let wrong = |patterns: &[&str]| Retention { keep: None, rules: rules(patterns) }.mistake();
        for (patterns, reason) in [
            (&[""][..], "empty"),
            (&["A B"], "blank"),
            (&["X..wave"], "beside one of its points"),
            (&["*.value."], "beside one of its points"),
            (&["*", "X.value.wave"], "\"*\" stands before it"),
            (&["X", "X.value.wave"], "\"X\" stands before it"),
            (&["X.value", "X.value.wave", "X*", "X*.value.rms"], "\"X*\" stands before it"),
        ] {
            let told = wrong(patterns).unwrap_or_default();
            assert!(told.contains(reason), "{patterns:?}: {told}");
        }
        for right in [
            &["X.value.rms", "X.value.*", "X"][..],
            &["X", "X.HIHI", "*.HIHI"],
            &["*", "ledger:*"],
            &["X?", "X*.value.wave"],
            &["*:A", "X.value.wave", "*"],
        ] {
            assert_eq!(wrong(right), None, "{right:?}");
        }
    }
}
