//! Fields of display, control, valueAlarm and enum choices -> [`Description`].

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use super::value::Tree;
use crate::{Array, Description, Limits};

/// Units, descriptions and labels are a few words. A server that sends megabytes of them must not fill the memory and the catalogue.
const TEXT_BYTES_MAX: usize = 4096;
const LABELS_MAX: usize = 4096;
const LABEL_BYTES_MAX: usize = 256;

/// A part of a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Labels,
    Text,
    Units,
    Precision,
    /// A format of C such as `%.3f`, from which the precision is taken where no field gives it.
    Format,
    DisplayLow,
    DisplayHigh,
    ControlLow,
    ControlHigh,
    WarningLow,
    WarningHigh,
    AlarmLow,
    AlarmHigh,
}

impl Part {
    /// Writes the part into the description; returns whether that changed it.
    pub(crate) fn note(self, tree: Tree, d: &mut Description) -> bool {
        match (self, tree) {
            (Part::Labels, Tree::Array(Array::String(mut labels))) => {
                labels.truncate(LABELS_MAX);
                labels.shrink_to_fit();
                set(&mut d.labels, labels.into_iter().map(|label| cut(label, LABEL_BYTES_MAX)).collect())
            }
            // a descriptor and display.description say the same thing; the one that is filled in counts
            (Part::Text, Tree::String(text)) if text.is_empty() && d.description.is_some() => false,
            (Part::Text, Tree::String(text)) => set(&mut d.description, filled(text)),
            (Part::Units, Tree::String(text)) => set(&mut d.units, filled(text)),
            (Part::Precision, tree) => set(&mut d.precision, tree.as_i64().map(|digits| digits as i32)),
            (Part::Format, Tree::String(format)) if d.precision.is_none() => {
                set(&mut d.precision, digits_after_point(&format))
            }
            (Part::DisplayLow, tree) => set_low(&mut d.display, &tree),
            (Part::DisplayHigh, tree) => set_high(&mut d.display, &tree),
            (Part::ControlLow, tree) => set_low(&mut d.control, &tree),
            (Part::ControlHigh, tree) => set_high(&mut d.control, &tree),
            (Part::WarningLow, tree) => set_low(&mut d.warning, &tree),
            (Part::WarningHigh, tree) => set_high(&mut d.warning, &tree),
            (Part::AlarmLow, tree) => set_low(&mut d.alarm, &tree),
            (Part::AlarmHigh, tree) => set_high(&mut d.alarm, &tree),
            _ => false,
        }
    }
}

fn filled(text: String) -> Option<String> {
    Some(cut(text, TEXT_BYTES_MAX)).filter(|text| !text.is_empty())
}

/// A text as far as it is kept.
fn cut(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text.shrink_to_fit();
    text
}

fn digits_after_point(format: &str) -> Option<i32> {
    let (_, after) = format.split_once('.')?;
    let digits = after.find(|c: char| !c.is_ascii_digit()).map_or(after, |end| after.get(..end).unwrap_or_default());
    digits.parse().ok()
}

fn set<T: PartialEq>(place: &mut T, new: T) -> bool {
    let changed = *place != new;
    *place = new;
    changed
}

fn set_low(limits: &mut Option<Limits>, tree: &Tree) -> bool {
    set_limit(limits, tree, |limits| &mut limits.low)
}

fn set_high(limits: &mut Option<Limits>, tree: &Tree) -> bool {
    set_limit(limits, tree, |limits| &mut limits.high)
}

/// NaN is "not set" and equals itself here, or every update would seem to change it.
fn set_limit(limits: &mut Option<Limits>, tree: &Tree, side: fn(&mut Limits) -> &mut f64) -> bool {
    let Some(new) = tree.as_f64() else { return false };
    let fresh = limits.is_none();
    let place = side(limits.get_or_insert(Limits { low: f64::NAN, high: f64::NAN }));
    let changed = place.to_bits() != new.to_bits();
    *place = new;
    changed || fresh
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_of_c_gives_the_precision() {
        for (format, digits) in [("%.3f", Some(3)), ("%5.2lf", Some(2)), ("%d", None), ("", None), ("%.f", None)] {
            assert_eq!(digits_after_point(format), digits, "{format}");
        }
    }

    #[test]
    fn words_without_end_are_cut_between_two_letters() {
        let mut description = Description::default();
        Part::Units.note(Tree::String(format!("x{}", "µ".repeat(TEXT_BYTES_MAX))), &mut description);
        assert_eq!(description.units.as_deref().map(str::len), Some(TEXT_BYTES_MAX - 1));
        let labels = vec!["y".repeat(LABEL_BYTES_MAX + 1); LABELS_MAX + 1];
        assert!(Part::Labels.note(Tree::Array(Array::String(labels.clone())), &mut description));
        assert_eq!(
            (description.labels.len(), description.labels.first().map_or(0, String::len)),
            (LABELS_MAX, LABEL_BYTES_MAX)
        );
        assert!(!Part::Labels.note(Tree::Array(Array::String(labels)), &mut description), "the same as before");
    }

    #[test]
    fn an_unset_limit_that_stays_unset_is_no_change() {
        let mut description = Description::default();
        assert!(Part::WarningLow.note(Tree::F64(f64::NAN), &mut description));
        assert!(!Part::WarningLow.note(Tree::F64(f64::NAN), &mut description));
        assert!(Part::WarningLow.note(Tree::I32(-5), &mut description));
        assert_eq!(description.warning.map(|limits| limits.low), Some(-5.0));
    }
}
