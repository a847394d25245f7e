//! Binding: the names of an expression become tracks of PVs, and it is looked at whether what it says can be.

use std::sync::Arc;

use query::Series;
use sample::{Element, Timestamp, ValueType};

use crate::{
    fault::{Fault, Place, Reason},
    program::{Binary, Kind, Program, Step, Unary},
    text::{Arithmetic, Compare, Expression, Function, Name, Node, NodeId, Takes},
    track::{State, Track, What},
};

/// No expression has more PVs: each has a batch in memory.
const TRACKS_MAX: usize = 50;

/// What is known of a PV that an expression names.
#[derive(Clone, Debug)]
pub struct Known {
    /// Whose samples.
    pub series: Series,
    /// The type of its newest value; none if there is none.
    pub value_type: Option<ValueType>,
    /// Its units, if it has any.
    pub units: Option<String>,
    /// The names of its states, and since when.
    pub labels: Vec<(Timestamp, Vec<String>)>,
}

/// Whether numbers of different units may be added and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// They are refused.
    Same,
    /// They may.
    Any,
}

/// Why an expression is not bound: it is wrong, or one that it names cannot be looked at.
#[derive(Debug)]
pub(crate) enum Unbound<E> {
    Fault(Fault),
    Other(E),
}

impl<E> From<Fault> for Unbound<E> {
    fn from(fault: Fault) -> Unbound<E> {
        Unbound::Fault(fault)
    }
}

impl Expression {
    /// Makes a program of it. `find` says what is known of a PV, none if there is no such PV, or fails; `faulty` makes a failure of a
    /// fault.
    pub fn bind<E>(
        &self,
        units: Units,
        find: &mut dyn FnMut(&str) -> Result<Option<Known>, E>,
        faulty: impl FnOnce(Fault) -> E,
    ) -> Result<Program, E> {
        let binder = Binder { expression: self, units, find, known: Vec::new(), steps: Vec::new(), tracks: Vec::new() };
        binder.program().map_err(|unbound| match unbound {
            Unbound::Fault(fault) => faulty(fault),
            Unbound::Other(error) => error,
        })
    }
}

struct Binder<'e, 'f, E> {
    expression: &'e Expression,
    units: Units,
    find: &'f mut dyn FnMut(&str) -> Result<Option<Known>, E>,
    /// The PVs found so far, by name: the binder looks for each once.
    known: Vec<(Box<str>, Option<Known>)>,
    steps: Vec<Step>,
    tracks: Vec<Track>,
}

/// What a node gives.
#[derive(Clone, Debug)]
struct Made {
    kind: Kind,
    units: Option<String>,
}

impl Made {
    fn number(units: Option<String>) -> Made {
        Made { kind: Kind::Number, units }
    }

    const CONDITION: Made = Made { kind: Kind::Condition, units: None };
}

impl<E> Binder<'_, '_, E> {
    fn program(mut self) -> Result<Program, Unbound<E>> {
        let root = self.expression.nodes.len() - 1;
        let made = self.node(root)?;
        let Binder { steps, tracks, expression, .. } = self;
        Ok(Program { steps, tracks, kind: made.kind, dwell: expression.dwell, units: made.units })
    }

    fn place(&self, id: NodeId) -> Place {
        self.expression.places.get(id).copied().unwrap_or_default()
    }

    /// Puts the steps that make a node. A long sum leans to the left: it is walked down in a loop, so that depth has the parser's limit.
    fn node(&mut self, id: NodeId) -> Result<Made, Unbound<E>> {
        let expression = self.expression;
        let mut spine = vec![id];
        let mut lowest = id;
        while let Some(left) = self.left_of(lowest) {
            spine.push(left);
            lowest = left;
        }
        let mut made = self.leaf(lowest)?;
        for id in spine.into_iter().rev().skip(1) {
            made = match &expression.nodes[id] {
                Node::Arithmetic(how, _, other) => {
                    let other_made = self.node(*other)?;
                    self.want(Kind::Number, [(id, &made), (*other, &other_made)])?;
                    let units = match how {
                        Arithmetic::Add | Arithmetic::Subtract => self.same_units(id, &made, &other_made)?,
                        Arithmetic::Multiply if other_made.units.is_none() => {
                            made.units.filter(|_| self.is_number(*other))
                        }
                        Arithmetic::Divide if other_made.units.is_none() => {
                            made.units.filter(|_| self.is_number(*other))
                        }
                        Arithmetic::Multiply | Arithmetic::Divide | Arithmetic::Remainder | Arithmetic::Power => None,
                    };
                    self.steps.push(Step::Two(Binary::Counts(*how)));
                    Made::number(units)
                }
                Node::Compare(how, _, other) => {
                    let other_made = self.node(*other)?;
                    self.want(Kind::Number, [(id, &made), (*other, &other_made)])?;
                    self.same_units(id, &made, &other_made)?;
                    self.steps.push(Step::Two(Binary::Compares(*how)));
                    Made::CONDITION
                }
                Node::And(_, other) | Node::Or(_, other) => {
                    let other_made = self.node(*other)?;
                    self.want(Kind::Condition, [(id, &made), (*other, &other_made)])?;
                    let is_and = matches!(expression.nodes[id], Node::And(..));
                    self.steps.push(Step::Two(if is_and { Binary::And } else { Binary::Or }));
                    Made::CONDITION
                }
                _ => unreachable!("only what joins two has a left one"),
            };
        }
        Ok(made)
    }

    /// The left side of a binary operator, unless the operator compares a PV with a text.
    fn left_of(&mut self, id: NodeId) -> Option<NodeId> {
        match self.expression.nodes[id] {
            Node::Compare(Compare::Equal | Compare::Unequal, left, right) if self.state_in(left, right).is_some() => {
                None
            }
            Node::Arithmetic(_, left, _) | Node::Compare(_, left, _) | Node::And(left, _) | Node::Or(left, _) => {
                Some(left)
            }
            _ => None,
        }
    }

    fn is_number(&self, id: NodeId) -> bool {
        matches!(self.expression.nodes[id], Node::Number(_))
    }

    /// The PV, and the text with which it is compared, if that is what two nodes are.
    fn state_in(&mut self, left: NodeId, right: NodeId) -> Option<(NodeId, NodeId)> {
        let nodes = &self.expression.nodes;
        match (&nodes[left], &nodes[right]) {
            (Node::Name(_), Node::Text(_)) => Some((left, right)),
            (Node::Text(_), Node::Name(_)) => Some((right, left)),
            (Node::Name(pv), Node::Name(word)) if self.is_state(pv, word) => Some((left, right)),
            (Node::Name(word), Node::Name(pv)) if self.is_state(pv, word) => Some((right, left)),
            _ => None,
        }
    }

    /// Whether a bare word is a state of a PV. What cannot be looked at is told when it is bound.
    fn is_state(&mut self, pv: &Name, word: &Name) -> bool {
        if word.is_quoted {
            return false;
        }
        let Ok(Some(known)) = self.look(&pv.text) else { return false };
        // A text that no PV is called is a text.
        if known.value_type == Some(ValueType::scalar(Element::String)) {
            return matches!(self.look(&word.text), Ok(None));
        }
        known.labels.iter().any(|(_, labels)| labels.iter().any(|label| **label == *word.text))
    }

    fn look(&mut self, name: &str) -> Result<Option<Known>, E> {
        if let Some((_, known)) = self.known.iter().find(|(other, _)| **other == *name) {
            return Ok(known.clone());
        }
        let known = (self.find)(name)?;
        self.known.push((name.into(), known.clone()));
        Ok(known)
    }

    fn pv(&mut self, id: NodeId) -> Result<Known, Unbound<E>> {
        let place = self.place(id);
        let Node::Name(name) = &self.expression.nodes[id] else {
            return Err(Fault::kind(place, "a PV is needed here, and no formula").into());
        };
        let known = self.look(&name.text).map_err(Unbound::Other)?;
        Ok(known.ok_or_else(|| Fault::new(place, Reason::UnknownPv(name.text.to_string())))?)
    }

    fn leaf(&mut self, id: NodeId) -> Result<Made, Unbound<E>> {
        let (place, expression) = (self.place(id), self.expression);
        match &expression.nodes[id] {
            Node::Number(number) => {
                self.steps.push(Step::Number(*number));
                Ok(Made::number(None))
            }
            Node::Text(text) => {
                let why = format!(
                    "the text {text:?} can only be compared with a PV, by = or !=; a PV's name stands between backquotes"
                );
                Err(Fault::kind(place, why).into())
            }
            Node::Name(_) => {
                let known = self.pv(id)?;
                let units = known.units.clone();
                self.need_number(&known, place)?;
                self.track(id, known, What::Value)?;
                Ok(Made::number(units))
            }
            Node::Negative(of) => {
                let made = self.node(*of)?;
                self.want(Kind::Number, [(*of, &made)])?;
                self.steps.push(Step::One(Unary::Negative));
                Ok(made)
            }
            Node::Not(of) => {
                let made = self.node(*of)?;
                self.want(Kind::Condition, [(*of, &made)])?;
                self.steps.push(Step::One(Unary::Not));
                Ok(made)
            }
            Node::Compare(how, left, right) => {
                let (pv, text) = self.state_in(*left, *right).expect("only such a comparison is a leaf");
                self.state(pv, text, *how)
            }
            Node::Call(function, arguments) => self.call(id, *function, arguments),
            Node::Arithmetic(..) | Node::And(..) | Node::Or(..) => unreachable!("what joins two is no leaf"),
        }
    }

    /// A PV that is compared with the name of a state, or with a text.
    fn state(&mut self, pv: NodeId, text: NodeId, how: Compare) -> Result<Made, Unbound<E>> {
        let known = self.pv(pv)?;
        let name: Arc<str> = match &self.expression.nodes[text] {
            Node::Text(text) => (&**text).into(),
            Node::Name(name) => (&*name.text).into(),
            _ => return Err(Fault::kind(self.place(text), "a text is needed here").into()),
        };
        let number = |labels: &Vec<String>| labels.iter().position(|label| **label == *name).map(|index| index as f64);
        let numbers: Arc<[_]> = known.labels.iter().map(|(since, labels)| (*since, number(labels))).collect();
        let is_enum = known.value_type.is_some_and(|of| of.element == Element::Enum);
        if is_enum && numbers.iter().all(|(_, number)| number.is_none()) {
            let states = known.labels.last().map(|(_, labels)| labels.join(", ")).unwrap_or_default();
            return Err(
                Fault::kind(self.place(text), format!("no state is called {name:?}; there are {states}")).into()
            );
        }
        self.track(pv, known, What::Is(State { name, numbers }))?;
        if how == Compare::Unequal {
            self.steps.push(Step::One(Unary::Not));
        }
        Ok(Made::CONDITION)
    }

    fn call(&mut self, id: NodeId, function: Function, arguments: &[NodeId]) -> Result<Made, Unbound<E>> {
        let first = arguments[0];
        let unary = match function {
            Function::Abs => Some(Unary::Abs),
            Function::Sqrt => Some(Unary::Sqrt),
            Function::Exp => Some(Unary::Exp),
            Function::Log => Some(Unary::Log),
            Function::Log10 => Some(Unary::Log10),
            Function::Sin => Some(Unary::Sin),
            Function::Cos => Some(Unary::Cos),
            Function::Round => Some(Unary::Round),
            _ => None,
        };
        if let Some(unary) = unary {
            let made = self.node(first)?;
            self.want(Kind::Number, [(first, &made)])?;
            self.steps.push(Step::One(unary));
            let keeps_units = matches!(unary, Unary::Abs | Unary::Round);
            return Ok(Made::number(made.units.filter(|_| keeps_units)));
        }
        if function.takes() == Takes::Several && arguments.len() > 1 {
            let mut made = self.node(first)?;
            self.want(Kind::Number, [(first, &made)])?;
            for other in &arguments[1..] {
                let other_made = self.node(*other)?;
                self.want(Kind::Number, [(*other, &other_made)])?;
                made = Made::number(self.same_units(id, &made, &other_made)?);
                self.steps.push(Step::Two(if function == Function::Min { Binary::Min } else { Binary::Max }));
            }
            return Ok(made);
        }
        let number = match arguments.get(1) {
            None => 0.0,
            Some(second) => match self.expression.nodes[*second] {
                Node::Number(number) => number,
                Node::Negative(of) => match self.expression.nodes[of] {
                    Node::Number(number) => -number,
                    _ => return Err(self.no_number(*second, function)),
                },
                _ => return Err(self.no_number(*second, function)),
            },
        };
        let known = self.pv(first)?;
        self.of_pv(id, function, first, known, number)
    }

    fn no_number(&self, id: NodeId, function: Function) -> Unbound<E> {
        let takes = if function == Function::Element { "an index" } else { "a length of time like 10 s" };
        Fault::kind(self.place(id), format!("{} takes {takes} here, which no formula can be", function.name())).into()
    }

    fn of_pv(
        &mut self,
        id: NodeId,
        function: Function,
        pv: NodeId,
        known: Known,
        number: f64,
    ) -> Result<Made, Unbound<E>> {
        let place = self.place(id);
        let nanos = || -> Result<i64, Fault> {
            let nanos = (number * 1e9).round();
            let is_length = nanos.abs() < (i64::MAX / 4) as f64 && (nanos > 0.0 || function == Function::Shift);
            if is_length {
                Ok(nanos as i64)
            } else {
                Err(Fault::kind(place, format!("{number:?} s is too short or too long")))
            }
        };
        let units = known.units.clone();
        let (what, made) = match function {
            Function::Severity => (What::Severity, Made::number(None)),
            Function::Missing => (What::Missing, Made::CONDITION),
            Function::IsNan => (What::IsNan, Made::CONDITION),
            Function::Silent => (What::Silent(nanos()?), Made::CONDITION),
            Function::Previous => (What::Previous, Made::number(units)),
            Function::Change => (What::Change, Made::number(units)),
            Function::Derivative => (What::Derivative, Made::number(units.map(|units| format!("{units}/s")))),
            Function::Integral => (What::Integral, Made::number(units.map(|units| format!("{units}·s")))),
            Function::Average => (What::Average(nanos()?), Made::number(units)),
            Function::Shift => (What::Shift(nanos()?), Made::number(units)),
            Function::Element if number >= 0.0 && number.fract() == 0.0 && number < 1e15 => {
                (What::Element(number as usize), Made::number(units))
            }
            Function::Element => return Err(Fault::kind(place, format!("{number} is no index; the first is 0")).into()),
            Function::Length => (What::Length, Made::number(None)),
            Function::Sum => (What::Sum, Made::number(units)),
            Function::Mean => (What::Mean, Made::number(units)),
            Function::Min => (What::Least, Made::number(units)),
            Function::Max => (What::Greatest, Made::number(units)),
            _ => return Err(Fault::kind(place, format!("{} takes no PV", function.name())).into()),
        };
        let wants_number = matches!(
            what,
            What::IsNan
                | What::Previous
                | What::Change
                | What::Derivative
                | What::Integral
                | What::Average(_)
                | What::Shift(_)
        );
        if wants_number {
            self.need_number(&known, place)?;
        }
        self.track(pv, known, what)?;
        Ok(made)
    }

    fn need_number(&self, known: &Known, place: Place) -> Result<(), Fault> {
        match known.value_type {
            Some(value_type) if !value_type.is_numeric_scalar() => {
                let instead = match value_type.shape {
                    sample::Shape::Array => "take element(PV, 0), mean(PV), min(PV), max(PV), sum(PV) or length(PV)",
                    sample::Shape::Scalar => "compare it with a text, PV = 'text', or name one of its fields, PV.field",
                };
                Err(Fault::kind(place, format!("this PV holds {value_type}, which is no number; {instead}")))
            }
            _ => Ok(()),
        }
    }

    fn track(&mut self, id: NodeId, known: Known, what: What) -> Result<(), Fault> {
        let track = Track { series: known.series, what };
        let index = match self.tracks.iter().position(|other| *other == track) {
            Some(index) => index,
            None if self.tracks.len() < TRACKS_MAX => {
                self.tracks.push(track);
                self.tracks.len() - 1
            }
            None => {
                let why = format!("the expression asks for more than {TRACKS_MAX} things of PVs");
                return Err(Fault::too_much(self.place(id), why));
            }
        };
        self.steps.push(Step::Track(index));
        Ok(())
    }

    fn want<const N: usize>(&self, kind: Kind, of: [(NodeId, &Made); N]) -> Result<(), Fault> {
        match of.into_iter().find(|(_, made)| made.kind != kind) {
            None => Ok(()),
            Some((id, _)) => Err(Fault::kind(
                self.place(id),
                match kind {
                    Kind::Condition => "a condition is needed here, like A > 0, and a number was found",
                    Kind::Number => "a number is needed here, and a condition was found",
                },
            )),
        }
    }

    fn same_units(&self, id: NodeId, a: &Made, b: &Made) -> Result<Option<String>, Fault> {
        match (&a.units, &b.units) {
            (Some(a), Some(b)) if a != b && self.units == Units::Same => {
                let why = format!("{a} and {b} are different units; say units=any if that is meant");
                Err(Fault::new(self.place(id), Reason::Units(why)))
            }
            (Some(a), Some(b)) if a != b => Ok(None),
            (a, b) => Ok(a.clone().or(b.clone())),
        }
    }
}
