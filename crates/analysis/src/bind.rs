//! Binding: the names of an expression become tracks of PVs, and what it says is checked against their types, units and labels.

use std::sync::Arc;

use query::Series;
use sample::{Element, Shape, Timestamp, ValueType};

use crate::{
    arrays::ArrayProgram,
    fault::{ExpressionFault, Place, Reason},
    program::{Binary, Kind, Program, Step, Unary},
    text::{Arithmetic, Expression, Function, Name, Node, NodeId, NumberComparison, Takes},
    track::{State, Track, What},
};

/// No expression has more PVs: each has a batch in memory.
const TRACKS_MAX: usize = 50;
/// No expression computes with the arrays of more PVs, each of which is held whole.
const ARRAYS_MAX: usize = 16;

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
    Fault(ExpressionFault),
    Other(E),
}

impl<E> Unbound<E> {
    fn told(self, faulty: impl FnOnce(ExpressionFault) -> E) -> E {
        match self {
            Unbound::Fault(fault) => faulty(fault),
            Unbound::Other(error) => error,
        }
    }
}

impl<E> From<ExpressionFault> for Unbound<E> {
    fn from(fault: ExpressionFault) -> Unbound<E> {
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
        faulty: impl FnOnce(ExpressionFault) -> E,
    ) -> Result<Program, E> {
        match self.binder(units, find, None).program() {
            Ok(Bound::Numbers(program)) => Ok(program),
            Ok(Bound::Arrays(_)) => unreachable!("arrays are refused where they are not taken"),
            Err(unbound) => Err(unbound.told(faulty)),
        }
    }

    /// Like `bind`, for an expression that may compute with arrays, element by element.
    pub fn bind_arrays<E>(
        &self,
        units: Units,
        find: &mut dyn FnMut(&str) -> Result<Option<Known>, E>,
        faulty: impl FnOnce(ExpressionFault) -> E,
    ) -> Result<Bound, E> {
        self.binder(units, find, Some(Vec::new())).program().map_err(|unbound| unbound.told(faulty))
    }

    fn binder<'e, 'f, E>(
        &'e self,
        units: Units,
        find: &'f mut dyn FnMut(&str) -> Result<Option<Known>, E>,
        arrays: Option<Vec<Series>>,
    ) -> Binder<'e, 'f, E> {
        Binder { expression: self, units, find, known: Vec::new(), steps: Vec::new(), tracks: Vec::new(), arrays }
    }
}

/// What an expression is made into.
pub enum Bound {
    /// It gives numbers, of numbers.
    Numbers(Program),
    /// It computes with arrays.
    Arrays(ArrayProgram),
}

struct Binder<'e, 'f, E> {
    expression: &'e Expression,
    units: Units,
    find: &'f mut dyn FnMut(&str) -> Result<Option<Known>, E>,
    /// The PVs found so far, by name: the binder looks for each once.
    known: Vec<(Box<str>, Option<Known>)>,
    steps: Vec<Step>,
    tracks: Vec<Track>,
    /// The PVs that hold arrays, where these are taken.
    arrays: Option<Vec<Series>>,
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

    /// A number, or an array if it is made of any.
    fn of(kind: Kind, units: Option<String>) -> Made {
        Made { kind, units }
    }

    const CONDITION: Made = Made { kind: Kind::Condition, units: None };
}

impl<E> Binder<'_, '_, E> {
    fn program(mut self) -> Result<Bound, Unbound<E>> {
        let root = self.expression.nodes.len() - 1;
        let made = self.node(root)?;
        let Binder { steps, tracks, expression, arrays, .. } = self;
        let program = Program { steps, tracks, kind: made.kind, dwell: expression.dwell, units: made.units };
        Ok(match arrays.filter(|arrays| !arrays.is_empty()) {
            None => Bound::Numbers(program),
            Some(arrays) => Bound::Arrays(ArrayProgram { program, arrays }),
        })
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
                Node::Arithmetic(how, left, other) => {
                    let other_made = self.node(*other)?;
                    let kind = self.numbers([(id, &made), (*other, &other_made)])?;
                    let units = match how {
                        Arithmetic::Add | Arithmetic::Subtract => self.same_units(id, &made, &other_made)?,
                        Arithmetic::Multiply if self.is_number(*left) => other_made.units,
                        Arithmetic::Multiply | Arithmetic::Divide if self.is_number(*other) => made.units,
                        Arithmetic::Multiply | Arithmetic::Divide | Arithmetic::Remainder | Arithmetic::Power => None,
                    };
                    self.steps.push(Step::Two(Binary::Counts(*how)));
                    Made::of(kind, units)
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
            Node::Compare(NumberComparison::Equal | NumberComparison::Unequal, left, right)
                if self.state_in(left, right).is_some() =>
            {
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
            return Err(ExpressionFault::kind(place, "a PV is needed here, and no formula").into());
        };
        let known = self.look(&name.text).map_err(Unbound::Other)?;
        Ok(known.ok_or_else(|| ExpressionFault::new(place, Reason::UnknownPv(name.text.to_string())))?)
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
                Err(ExpressionFault::kind(place, why).into())
            }
            Node::Name(_) => {
                let known = self.pv(id)?;
                let units = known.units.clone();
                if self.arrays.is_some() && known.value_type.is_some_and(is_array_of_numbers) {
                    self.array(id, known)?;
                    return Ok(Made::of(Kind::Array, units));
                }
                self.need_number(&known, place)?;
                self.track(id, known, What::Value)?;
                Ok(Made::number(units))
            }
            Node::Negative(of) => {
                let made = self.node(*of)?;
                self.numbers([(*of, &made)])?;
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
    fn state(&mut self, pv: NodeId, text: NodeId, how: NumberComparison) -> Result<Made, Unbound<E>> {
        let known = self.pv(pv)?;
        let name: Arc<str> = match &self.expression.nodes[text] {
            Node::Text(text) => (&**text).into(),
            Node::Name(name) => (&*name.text).into(),
            _ => return Err(ExpressionFault::kind(self.place(text), "a text is needed here").into()),
        };
        let number = |labels: &Vec<String>| labels.iter().position(|label| **label == *name).map(|index| index as f64);
        let numbers: Arc<[_]> = known.labels.iter().map(|(since, labels)| (*since, number(labels))).collect();
        let is_enum = known.value_type.is_some_and(|of| of.element == Element::Enum);
        if is_enum && numbers.iter().all(|(_, number)| number.is_none()) {
            let states = known.labels.last().map(|(_, labels)| labels.join(", ")).unwrap_or_default();
            return Err(ExpressionFault::kind(
                self.place(text),
                format!("no state is called {name:?}; there are {states}"),
            )
            .into());
        }
        self.track(pv, known, What::Is(State { name, numbers }))?;
        if how == NumberComparison::Unequal {
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
            let kind = self.numbers([(first, &made)])?;
            self.steps.push(Step::One(unary));
            let keeps_units = matches!(unary, Unary::Abs | Unary::Round);
            return Ok(Made::of(kind, made.units.filter(|_| keeps_units)));
        }
        if function.takes() == Takes::Several && arguments.len() > 1 {
            let mut made = self.node(first)?;
            for other in &arguments[1..] {
                let other_made = self.node(*other)?;
                let kind = self.numbers([(first, &made), (*other, &other_made)])?;
                made = Made::of(kind, self.same_units(id, &made, &other_made)?);
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
        if self.arrays.is_some()
            && !matches!(self.expression.nodes[first], Node::Name(_))
            && amounts(function, 0).is_some()
        {
            return self.of_array(id, function, first, number);
        }
        let known = self.pv(first)?;
        self.of_pv(id, function, first, known, number)
    }

    /// What an array amounts to that is computed.
    fn of_array(&mut self, id: NodeId, function: Function, of: NodeId, number: f64) -> Result<Made, Unbound<E>> {
        let made = self.node(of)?;
        self.want(Kind::Array, [(of, &made)])?;
        let index = if function == Function::Element { self.index(id, number)? } else { 0 };
        self.steps.extend(amounts(function, index).map(Step::Amounts));
        Ok(Made::number(made.units.filter(|_| function != Function::Length)))
    }

    fn index(&self, id: NodeId, number: f64) -> Result<usize, ExpressionFault> {
        let is_index = number >= 0.0 && number.fract() == 0.0 && number < 1e15;
        let fault = || ExpressionFault::kind(self.place(id), format!("{number} is no index; the first is 0"));
        is_index.then_some(number as usize).ok_or_else(fault)
    }

    fn no_number(&self, id: NodeId, function: Function) -> Unbound<E> {
        let takes = if function == Function::Element { "an index" } else { "a length of time like 10 s" };
        ExpressionFault::kind(
            self.place(id),
            format!("{} takes {takes} here, which no formula can be", function.name()),
        )
        .into()
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
        let nanos = || -> Result<i64, ExpressionFault> {
            let nanos = (number * 1e9).round();
            let is_length = nanos.abs() < (i64::MAX / 4) as f64 && (nanos > 0.0 || function == Function::Shift);
            if is_length {
                Ok(nanos as i64)
            } else {
                Err(ExpressionFault::kind(place, format!("{number:?} s is too short or too long")))
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
            Function::Element => (What::Element(self.index(id, number)?), Made::number(units)),
            Function::Length => (What::Length, Made::number(None)),
            Function::Sum => (What::Sum, Made::number(units)),
            Function::Mean => (What::Mean, Made::number(units)),
            Function::Min => (What::Least, Made::number(units)),
            Function::Max => (What::Greatest, Made::number(units)),
            _ => return Err(ExpressionFault::kind(place, format!("{} takes no PV", function.name())).into()),
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

    fn need_number(&self, known: &Known, place: Place) -> Result<(), ExpressionFault> {
        match known.value_type {
            Some(value_type) if !value_type.is_numeric_scalar() => {
                let instead = match value_type.shape {
                    Shape::Array => "take element(PV, 0), mean(PV), min(PV), max(PV), sum(PV) or length(PV)",
                    Shape::Scalar => "compare it with a text, PV = 'text', or name one of its fields, PV.field",
                };
                Err(ExpressionFault::kind(place, format!("this PV holds {value_type}, which is no number; {instead}")))
            }
            _ => Ok(()),
        }
    }

    fn track(&mut self, id: NodeId, known: Known, what: What) -> Result<(), ExpressionFault> {
        let track = Track { series: known.series, what };
        let index = match self.tracks.iter().position(|other| *other == track) {
            Some(index) => index,
            None if self.tracks.len() < TRACKS_MAX => {
                self.tracks.push(track);
                self.tracks.len() - 1
            }
            None => {
                let why = format!("the expression asks for more than {TRACKS_MAX} things of PVs");
                return Err(ExpressionFault::too_much(self.place(id), why));
            }
        };
        self.steps.push(Step::Track(index));
        Ok(())
    }

    fn array(&mut self, id: NodeId, known: Known) -> Result<(), ExpressionFault> {
        let Some(arrays) = &mut self.arrays else { return Ok(()) };
        let index = match arrays.iter().position(|other| *other == known.series) {
            Some(index) => index,
            None if arrays.len() < ARRAYS_MAX => {
                arrays.push(known.series);
                arrays.len() - 1
            }
            None => {
                let why = format!("the expression computes with the arrays of more than {ARRAYS_MAX} PVs");
                return Err(ExpressionFault::too_much(self.place(id), why));
            }
        };
        self.steps.push(Step::Array(index));
        Ok(())
    }

    /// Whether numbers are made of these, or arrays, where one of them is one.
    fn numbers<const N: usize>(&self, of: [(NodeId, &Made); N]) -> Result<Kind, ExpressionFault> {
        let is_array = of.iter().any(|(_, made)| made.kind == Kind::Array);
        self.want(Kind::Number, of.into_iter().filter(|(_, made)| made.kind != Kind::Array))?;
        Ok(if is_array { Kind::Array } else { Kind::Number })
    }

    fn want<'m>(&self, kind: Kind, of: impl IntoIterator<Item = (NodeId, &'m Made)>) -> Result<(), ExpressionFault> {
        match of.into_iter().find(|(_, made)| made.kind != kind) {
            None => Ok(()),
            Some((id, made)) => Err(ExpressionFault::kind(
                self.place(id),
                match (kind, made.kind) {
                    (Kind::Array, _) => "an array is needed here, and none was found",
                    (_, Kind::Array) => {
                        "this is an array, which is no number and no condition; take element(…, 0), mean(…), min(…), max(…), \
                         sum(…) or length(…) of it"
                    }
                    (Kind::Condition, _) => "a condition is needed here, like A > 0, and a number was found",
                    (Kind::Number, _) => "a number is needed here, and a condition was found",
                },
            )),
        }
    }

    fn same_units(&self, id: NodeId, a: &Made, b: &Made) -> Result<Option<String>, ExpressionFault> {
        match (&a.units, &b.units) {
            (Some(a), Some(b)) if a != b && self.units == Units::Same => {
                let why = format!("{a} and {b} are different units; say units=any if that is meant");
                Err(ExpressionFault::new(self.place(id), Reason::Units(why)))
            }
            (Some(a), Some(b)) if a != b => Ok(None),
            (a, b) => Ok(a.clone().or(b.clone())),
        }
    }
}

fn is_array_of_numbers(value_type: ValueType) -> bool {
    value_type.shape == Shape::Array && ValueType::scalar(value_type.element).is_numeric_scalar()
}

/// What a function of an array makes of it; none if it is none.
fn amounts(function: Function, index: usize) -> Option<What> {
    match function {
        Function::Element => Some(What::Element(index)),
        Function::Length => Some(What::Length),
        Function::Sum => Some(What::Sum),
        Function::Mean => Some(What::Mean),
        Function::Min => Some(What::Least),
        Function::Max => Some(What::Greatest),
        _ => None,
    }
}
