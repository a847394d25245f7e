//! Bounds: the limits between which a number lies that is not itself looked at. They may be too wide, and are never too narrow: whatever
//! they decide, the numbers would decide alike.
//!
//! Sums, products and quotients of floats are rounded in the same direction as their arguments move, so that those of the ends bound all
//! others. Of functions that a library computes less exactly only what is certain is taken.

use crate::{
    program::{Binary, Unary},
    text::{Arithmetic, NumberComparison},
};

/// What a number may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    /// The least and the greatest; the least is greater if there certainly is no number.
    low: f64,
    high: f64,
    /// Whether it may be that it is not known.
    unknown: bool,
}

impl Bounds {
    /// Nothing is said.
    pub(crate) const ANY: Bounds = Bounds { low: f64::NEG_INFINITY, high: f64::INFINITY, unknown: true };
    /// Nothing yet: neither a number nor none.
    pub(crate) const EMPTY: Bounds = Bounds { low: f64::INFINITY, high: f64::NEG_INFINITY, unknown: false };
    /// It certainly is not known.
    pub(crate) const UNKNOWN: Bounds = Bounds { unknown: true, ..Bounds::EMPTY };
    /// A condition that may be true or false.
    const EITHER: Bounds = Bounds { low: 0.0, high: 1.0, unknown: false };

    /// That number, or NaN for one that is not known.
    pub(crate) fn one(number: f64) -> Bounds {
        if number.is_nan() { Bounds::UNKNOWN } else { Bounds { low: number, high: number, unknown: false } }
    }

    pub(crate) fn between(low: f64, high: f64) -> Bounds {
        if low.is_nan() || high.is_nan() { Bounds::ANY } else { Bounds { low, high, unknown: false } }
    }

    pub(crate) fn or_unknown(self) -> Bounds {
        Bounds { unknown: true, ..self }
    }

    /// What lies within either.
    pub(crate) fn or(self, other: Bounds) -> Bounds {
        Bounds { low: self.low.min(other.low), high: self.high.max(other.high), unknown: self.unknown || other.unknown }
    }

    fn is_no_number(self) -> bool {
        self.low > self.high
    }

    fn may_be_infinite(self) -> bool {
        self.low == f64::NEG_INFINITY || self.high == f64::INFINITY
    }

    fn may_be_zero(self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }

    /// The one that it is, NaN if it is not known, if that is certain.
    pub(crate) fn decided(self) -> Option<f64> {
        match self.is_no_number() {
            true => self.unknown.then_some(f64::NAN),
            false => (self.low == self.high && !self.unknown).then_some(self.low),
        }
    }

    /// The least and the greatest that it may be, both NaN if it certainly is not known; none if it may be known or not.
    pub(crate) fn ends(self) -> Option<(f64, f64)> {
        match self.is_no_number() {
            true => self.unknown.then_some((f64::NAN, f64::NAN)),
            false => (!self.unknown).then_some((self.low, self.high)),
        }
    }

    pub(crate) fn one_of(self, how: Unary) -> Bounds {
        if self.is_no_number() {
            return self;
        }
        let monotone = |low: f64, high: f64| Bounds { low, high, ..self };
        match how {
            Unary::Negative => monotone(-self.high, -self.low),
            Unary::Not => monotone(1.0 - self.high, 1.0 - self.low),
            Unary::Round => monotone(self.low.round(), self.high.round()),
            Unary::Sqrt if self.low >= 0.0 => monotone(self.low.sqrt(), self.high.sqrt()),
            Unary::Abs if self.low >= 0.0 => self,
            Unary::Abs if self.high <= 0.0 => monotone(-self.high, -self.low),
            Unary::Abs => monotone(0.0, self.high.max(-self.low)),
            Unary::Sqrt | Unary::Exp | Unary::Log | Unary::Log10 | Unary::Sin | Unary::Cos => Bounds::ANY,
        }
    }

    pub(crate) fn two_of(self, how: Binary, other: Bounds) -> Bounds {
        match how {
            Binary::And => self.and(other),
            Binary::Or => self.one_of(Unary::Not).and(other.one_of(Unary::Not)).one_of(Unary::Not),
            _ if self.is_no_number() || other.is_no_number() => Bounds::UNKNOWN,
            Binary::Compares(compare) => {
                let made = self.compared(compare, other);
                Bounds { unknown: self.unknown || other.unknown, ..made }
            }
            Binary::Counts(arithmetic) => self.counted(arithmetic, other),
            Binary::Min => self.each_end(other, f64::min),
            Binary::Max => self.each_end(other, f64::max),
        }
    }

    fn each_end(self, other: Bounds, of: fn(f64, f64) -> f64) -> Bounds {
        let (low, high) = (of(self.low, other.low), of(self.high, other.high));
        Bounds { low, high, unknown: self.unknown || other.unknown }
    }

    fn and(self, other: Bounds) -> Bounds {
        let is = |of: Bounds, number: f64| of.low <= number && number <= of.high;
        let may_be_true = is(self, 1.0) && is(other, 1.0);
        let may_be_false = is(self, 0.0) || is(other, 0.0);
        let is_known = |of: Bounds| !of.unknown;
        // It is not known where one side is not, and the other is not false.
        let may_be_unknown = (!is_known(self) && (is(other, 1.0) || other.unknown))
            || (!is_known(other) && (is(self, 1.0) || self.unknown));
        let numbers = match (may_be_false, may_be_true) {
            (true, true) => Bounds::EITHER,
            (true, false) => Bounds::one(0.0),
            (false, true) => Bounds::one(1.0),
            (false, false) => Bounds::EMPTY,
        };
        Bounds { unknown: may_be_unknown, ..numbers }
    }

    fn compared(self, how: NumberComparison, other: Bounds) -> Bounds {
        let (is_true, is_false) = match how {
            NumberComparison::Less => (self.high < other.low, self.low >= other.high),
            NumberComparison::LessOrEqual => (self.high <= other.low, self.low > other.high),
            NumberComparison::Greater => (self.low > other.high, self.high <= other.low),
            NumberComparison::GreaterOrEqual => (self.low >= other.high, self.high < other.low),
            NumberComparison::Equal | NumberComparison::Unequal => {
                let is_apart = self.high < other.low || other.high < self.low;
                let is_same = self.low == self.high && other.low == other.high && self.low == other.low;
                if how == NumberComparison::Equal { (is_same, is_apart) } else { (is_apart, is_same) }
            }
        };
        match (is_true, is_false) {
            (true, _) => Bounds::one(1.0),
            (_, true) => Bounds::one(0.0),
            _ => Bounds::EITHER,
        }
    }

    fn counted(self, how: Arithmetic, other: Bounds) -> Bounds {
        let of = |a: f64, b: f64| Binary::Counts(how).of(a, b);
        let ends = match how {
            Arithmetic::Add => [of(self.low, other.low), of(self.high, other.high)].to_vec(),
            Arithmetic::Subtract => [of(self.low, other.high), of(self.high, other.low)].to_vec(),
            Arithmetic::Divide if other.may_be_zero() => return Bounds::ANY,
            Arithmetic::Multiply | Arithmetic::Divide => {
                let pairs =
                    [(self.low, other.low), (self.low, other.high), (self.high, other.low), (self.high, other.high)];
                pairs.map(|(a, b)| of(a, b)).to_vec()
            }
            Arithmetic::Remainder | Arithmetic::Power => return Bounds::ANY,
        };
        if ends.iter().any(|end| end.is_nan()) || self.may_be_infinite() || other.may_be_infinite() {
            return Bounds::ANY; // what is infinite may come to no number
        }
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Bounds { low, high, unknown: self.unknown || other.unknown }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => (-8i32..8).prop_map(f64::from),
            2 => any::<f64>(),
            1 => prop_oneof![Just(f64::NAN), Just(0.0), Just(-0.0), Just(f64::INFINITY), Just(f64::MAX)],
        ]
    }

    fn truth() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), Just(1.0), Just(f64::NAN)]
    }

    fn of_all(numbers: &[f64]) -> Bounds {
        numbers.iter().map(|number| Bounds::one(*number)).fold(Bounds::EMPTY, Bounds::or)
    }

    fn holds(bounds: Bounds, number: f64) -> bool {
        if number.is_nan() { bounds.unknown } else { bounds.low <= number && number <= bounds.high }
    }

    proptest! {
        #[test]
        fn what_is_made_of_numbers_lies_within_what_is_made_of_their_bounds(
            some in prop::collection::vec(number(), 1..4),
            others in prop::collection::vec(number(), 1..4),
        ) {
            use Arithmetic::*;
            let compares = [NumberComparison::Equal, NumberComparison::Unequal, NumberComparison::Less, NumberComparison::LessOrEqual, NumberComparison::Greater,
                NumberComparison::GreaterOrEqual].map(Binary::Compares);
            let counts = [Add, Subtract, Multiply, Divide, Remainder, Power].map(Binary::Counts);
            for how in compares.into_iter().chain(counts).chain([Binary::Min, Binary::Max]) {
                let made = of_all(&some).two_of(how, of_all(&others));
                for (a, b) in some.iter().flat_map(|a| others.iter().map(move |b| (*a, *b))) {
                    prop_assert!(holds(made, how.of(a, b)), "{a} {how:?} {b} = {} in {made:?}", how.of(a, b));
                }
                if let Some(decided) = made.decided() {
                    let all = some.iter().flat_map(|a| others.iter().map(move |b| how.of(*a, *b)));
                    for number in all {
                        prop_assert!(number == decided || (number.is_nan() && decided.is_nan()));
                    }
                }
            }
            for how in [Unary::Negative, Unary::Abs, Unary::Sqrt, Unary::Exp, Unary::Round, Unary::Log] {
                let made = of_all(&some).one_of(how);
                prop_assert!(some.iter().all(|a| holds(made, how.of(*a))), "{how:?} {some:?} in {made:?}");
            }
        }

        #[test]
        fn conditions_are_bounded_by_their_tables(
            some in prop::collection::vec(truth(), 1..4),
            others in prop::collection::vec(truth(), 1..4),
        ) {
            for how in [Binary::And, Binary::Or] {
                let made = of_all(&some).two_of(how, of_all(&others));
                let all: Vec<f64> = some.iter().flat_map(|a| others.iter().map(move |b| how.of(*a, *b))).collect();
                prop_assert!(all.iter().all(|number| holds(made, *number)));
                prop_assert_eq!(made, of_all(&all), "they are no wider than need be");
            }
        }
    }
}
