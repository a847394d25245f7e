//! The parser: words to an expression, by how strongly signs bind (Pratt, 1973). What it makes, and how deep it goes, has limits.

use super::{
    Arithmetic, Dwell, Expression, Function, Name, Node, NodeId, NumberComparison, Takes,
    words::{Word, words},
};
use crate::fault::{ExpressionFault, Place};

/// No expression has more parts.
const NODES_MAX: usize = 1000;
/// Nor stands one in more others.
const DEPTH_MAX: usize = 64;

/// What joins two terms, and how strongly: more to the right where equals are joined from the left.
#[derive(Clone, Copy)]
enum Joins {
    Or,
    And,
    Compares(NumberComparison),
    Counts(Arithmetic),
}

/// How strongly a `not`, and a minus before a term, hold what follows.
const NOT: u8 = 5;
const NEGATIVE: u8 = 12;

pub(super) fn parse(text: &str) -> Result<Expression, ExpressionFault> {
    let mut parser = Parser { words: words(text)?, next: 0, nodes: Vec::new(), places: Vec::new() };
    if parser.word() == &Word::End {
        return Err(ExpressionFault::syntax(parser.place(), "the expression is empty; write one like SR:CURRENT > 3"));
    }
    parser.expression(0, 0)?;
    let dwell = if parser.takes_word("for") { Some(parser.dwell()?) } else { None };
    match parser.word() {
        Word::End => Ok(Expression { nodes: parser.nodes, places: parser.places, dwell }),
        _ => Err(parser.unexpected("the end, or a sign that joins what follows")),
    }
}

struct Parser {
    words: Vec<(Word, Place)>,
    next: usize,
    nodes: Vec<Node>,
    places: Vec<Place>,
}

impl Parser {
    fn word(&self) -> &Word {
        self.words.get(self.next).map_or(&Word::End, |(word, _)| word)
    }

    fn place(&self) -> Place {
        self.words.get(self.next).or(self.words.last()).map(|(_, place)| *place).unwrap_or_default()
    }

    fn unexpected(&self, expected: &str) -> ExpressionFault {
        let found = match self.word() {
            Word::End => "the end".to_owned(),
            Word::Number(number) => format!("the number {number}"),
            Word::Text(text) => format!("the text {text:?}"),
            Word::Bare(name) | Word::Quoted(name) => format!("the name {name:?}"),
            Word::Sign(sign) => format!("{sign:?}"),
        };
        ExpressionFault::syntax(self.place(), format!("{expected} is expected and {found} was found"))
    }

    fn takes_sign(&mut self, wanted: &str) -> bool {
        let is_there = matches!(self.word(), Word::Sign(sign) if *sign == wanted);
        self.next += usize::from(is_there);
        is_there
    }

    fn takes_word(&mut self, wanted: &str) -> bool {
        let is_there = matches!(self.word(), Word::Bare(word) if word.eq_ignore_ascii_case(wanted));
        self.next += usize::from(is_there);
        is_there
    }

    fn add(&mut self, node: Node, place: Place) -> Result<NodeId, ExpressionFault> {
        if self.nodes.len() >= NODES_MAX {
            return Err(ExpressionFault::too_much(place, format!("the expression has more than {NODES_MAX} parts")));
        }
        self.nodes.push(node);
        self.places.push(place);
        Ok(self.nodes.len() - 1)
    }

    /// Parses an expression whose operators bind at least this strongly.
    fn expression(&mut self, strength: u8, depth: usize) -> Result<NodeId, ExpressionFault> {
        if depth >= DEPTH_MAX {
            return Err(ExpressionFault::too_much(
                self.place(),
                format!("parentheses and signs are nested {DEPTH_MAX} deep"),
            ));
        }
        let mut left = self.term(depth)?;
        while let Some((joins, own, right)) = self.joins() {
            if own < strength {
                break;
            }
            let place = self.place();
            self.next += 1;
            let other = self.expression(right, depth + 1)?;
            let node = match joins {
                Joins::Or => Node::Or(left, other),
                Joins::And => Node::And(left, other),
                Joins::Compares(compare) => Node::Compare(compare, left, other),
                Joins::Counts(arithmetic) => Node::Arithmetic(arithmetic, left, other),
            };
            left = self.add(node, place)?;
            if matches!(joins, Joins::Compares(_)) && matches!(self.joins(), Some((Joins::Compares(_), ..))) {
                return Err(ExpressionFault::syntax(self.place(), "comparisons are joined by and: 1 < A and A < 3"));
            }
        }
        Ok(left)
    }

    /// The sign that comes next, if it joins: how strongly it holds what stands before it, and what follows.
    fn joins(&self) -> Option<(Joins, u8, u8)> {
        use Arithmetic::{Add, Divide, Multiply, Power, Remainder, Subtract};
        let compares = |compare| (Joins::Compares(compare), 6, 7);
        Some(match self.word() {
            Word::Bare(word) if word.eq_ignore_ascii_case("or") => (Joins::Or, 1, 2),
            Word::Bare(word) if ["and", "while"].iter().any(|and| word.eq_ignore_ascii_case(and)) => (Joins::And, 3, 4),
            Word::Sign("||") => (Joins::Or, 1, 2),
            Word::Sign("&&") => (Joins::And, 3, 4),
            Word::Sign("=" | "==") => compares(NumberComparison::Equal),
            Word::Sign("!=" | "<>") => compares(NumberComparison::Unequal),
            Word::Sign(sign) if comparison(sign).is_some() => compares(comparison(sign)?),
            Word::Sign("+") => (Joins::Counts(Add), 8, 9),
            Word::Sign("-") => (Joins::Counts(Subtract), 8, 9),
            Word::Sign("*") => (Joins::Counts(Multiply), 10, 11),
            Word::Sign("/") => (Joins::Counts(Divide), 10, 11),
            Word::Sign("%") => (Joins::Counts(Remainder), 10, 11),
            Word::Sign("^" | "**") => (Joins::Counts(Power), 14, 13),
            _ => return None,
        })
    }

    fn term(&mut self, depth: usize) -> Result<NodeId, ExpressionFault> {
        let place = self.place();
        if self.takes_sign("-") {
            let of = self.expression(NEGATIVE, depth + 1)?;
            return self.add(Node::Negative(of), place);
        }
        if self.takes_sign("+") {
            return self.expression(NEGATIVE, depth + 1);
        }
        if self.takes_sign("!") || self.takes_word("not") {
            let of = self.expression(NOT, depth + 1)?;
            return self.add(Node::Not(of), place);
        }
        if self.takes_sign("(") {
            let inner = self.expression(0, depth + 1)?;
            return if self.takes_sign(")") { Ok(inner) } else { Err(self.unexpected("a ) for the ( before")) };
        }
        let node = match self.word().clone() {
            Word::Number(number) => Node::Number(number),
            Word::Text(text) => Node::Text(text),
            Word::Quoted(text) => Node::Name(Name { text, is_quoted: true }),
            Word::Bare(word) => {
                self.next += 1;
                if self.takes_sign("(") {
                    return self.call(&word, place, depth);
                }
                if ["or", "and", "while", "for"].iter().any(|known| word.eq_ignore_ascii_case(known)) {
                    self.next -= 1;
                    return Err(self.unexpected("a number, a name or a function"));
                }
                return self.add(Node::Name(Name { text: word, is_quoted: false }), place);
            }
            Word::Sign(_) | Word::End => return Err(self.unexpected("a number, a name or a function")),
        };
        self.next += 1;
        self.add(node, place)
    }

    /// The arguments of a function, behind its parenthesis.
    fn call(&mut self, name: &str, place: Place, depth: usize) -> Result<NodeId, ExpressionFault> {
        let function = Function::named(name).ok_or_else(|| {
            let known: Vec<&str> = Function::ALL.iter().map(|(name, ..)| *name).collect();
            ExpressionFault::syntax(place, format!("there is no function {name:?}; there are {}", known.join(", ")))
        })?;
        let mut arguments = Vec::new();
        while !self.takes_sign(")") {
            if !arguments.is_empty() && !self.takes_sign(",") {
                return Err(self.unexpected("a , or a )"));
            }
            arguments.push(self.expression(0, depth + 1)?);
        }
        let (is_right, wants) = match function.takes() {
            Takes::One => (arguments.len() == 1, "one number"),
            Takes::Several => (!arguments.is_empty(), "two numbers or more, or one PV with arrays"),
            Takes::Pv => (arguments.len() == 1, "one PV"),
            Takes::PvAndNumber => (arguments.len() == 2, "a PV and a number"),
        };
        if !is_right {
            return Err(ExpressionFault::syntax(
                place,
                format!("{} takes {wants}, not {}", function.name(), arguments.len()),
            ));
        }
        self.add(Node::Call(function, arguments), place)
    }

    /// What stands behind `for`.
    fn dwell(&mut self) -> Result<Dwell, ExpressionFault> {
        let compare = match self.word() {
            Word::Sign(sign) => comparison(sign).ok_or_else(|| self.unexpected("a length of time like 10 s"))?,
            _ => NumberComparison::GreaterOrEqual,
        };
        self.next += usize::from(matches!(self.word(), Word::Sign(_)));
        let Word::Number(seconds) = *self.word() else { return Err(self.unexpected("a length of time like 10 s")) };
        let nanos = seconds * 1e9;
        if !(nanos >= 0.0 && nanos < i64::MAX as f64) {
            return Err(ExpressionFault::syntax(self.place(), format!("{seconds:?} s is no length of time")));
        }
        self.next += 1;
        Ok(Dwell { compare, nanos: nanos.round() as i64 })
    }
}

fn comparison(sign: &str) -> Option<NumberComparison> {
    Some(match sign {
        "<" => NumberComparison::Less,
        "<=" => NumberComparison::LessOrEqual,
        ">" => NumberComparison::Greater,
        ">=" => NumberComparison::GreaterOrEqual,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a text says, with a parenthesis around everything.
    fn read(text: &str) -> String {
        match parse(text) {
            Ok(expression) => shown(&expression, expression.nodes.len() - 1),
            Err(fault) => fault.to_string(),
        }
    }

    #[expect(clippy::indexing_slicing, reason = "a node names nodes before it")]
    fn shown(expression: &Expression, id: NodeId) -> String {
        let of = |id: &NodeId| shown(expression, *id);
        match &expression.nodes[id] {
            Node::Number(number) => number.to_string(),
            Node::Text(text) => format!("{text:?}"),
            Node::Name(name) => name.text.to_string(),
            Node::Negative(a) => format!("(- {})", of(a)),
            Node::Not(a) => format!("(not {})", of(a)),
            Node::Arithmetic(how, a, b) => format!("({how:?} {} {})", of(a), of(b)),
            Node::Compare(how, a, b) => format!("({how:?} {} {})", of(a), of(b)),
            Node::And(a, b) => format!("(and {} {})", of(a), of(b)),
            Node::Or(a, b) => format!("(or {} {})", of(a), of(b)),
            Node::Call(function, of_it) => format!("{}{:?}", function.name(), of_it.iter().map(of).collect::<Vec<_>>()),
        }
    }

    #[test]
    fn signs_bind_as_people_expect() {
        for (text, expected) in [
            ("A - 2*B", "(Subtract A (Multiply 2 B))"),
            ("A-B", "A-B"),
            ("A -B", "(Subtract A B)"),
            ("3-1", "(Subtract 3 1)"),
            ("A > 2 -1", "(Greater A (Subtract 2 1))"),
            ("A - B - C", "(Subtract (Subtract A B) C)"),
            ("-A^2", "(- (Power A 2))"),
            ("2^3^2", "(Power 2 (Power 3 2))"),
            ("a > 3 while b = ON", "(and (Greater a 3) (Equal b ON))"),
            ("not a > 3 and b < 1 or c = 2", "(or (and (not (Greater a 3)) (Less b 1)) (Equal c 2))"),
            ("SR:C01-MG{PS:CL1A}I-SP > 1e-3", "(Greater SR:C01-MG{PS:CL1A}I-SP 0.001)"),
            ("`0:odd[name]` == 'On air'", "(Equal 0:odd[name] \"On air\")"),
            ("average(A, 2 min) < 500ms", "(Less average[\"A\", \"120\"] 0.5)"),
            ("min(A, B+1) / 2", "(Divide min[\"A\", \"(Add B 1)\"] 2)"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_place() {
        for (text, expected) in [
            ("", "the expression is empty; write one like SR:CURRENT > 3, at character 1"),
            ("A >", "a number, a name or a function is expected and the end was found, at character 4"),
            ("µ:A > (3", "a ) for the ( before is expected and the end was found, at character 9"),
            ("1 < A < 3", "comparisons are joined by and: 1 < A and A < 3, at character 7"),
            (
                "A B",
                "the end, or a sign that joins what follows is expected and the name \"B\" was found, at character 3",
            ),
            ("A > 'x", "the ' that begins here has no end, at character 5"),
            ("sqrt(1, 2)", "sqrt takes one number, not 2, at character 1"),
            (
                "A > 3 for long",
                "a length of time like 10 s is expected and the name \"long\" was found, at character 11",
            ),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        assert!(read("A > 3x").contains("is neither a number nor"), "{}", read("A > 3x"));
        assert!(read("wrong(A)").starts_with("there is no function \"wrong\"; there are abs,"));
        assert!(read("A ? B").contains("stands between backquotes, at character 3"));
    }

    #[test]
    fn a_dwell_is_a_length_and_how_it_is_compared() {
        let dwell = |text: &str| parse(text).expect("a condition").dwell.expect("a dwell");
        assert_eq!(
            dwell("A > 3 for >= 10 s"),
            Dwell { compare: NumberComparison::GreaterOrEqual, nanos: 10_000_000_000 }
        );
        assert_eq!(dwell("A > 3 for 10 min").nanos, 600_000_000_000);
        assert_eq!(dwell("A > 3 for < 2ms"), Dwell { compare: NumberComparison::Less, nanos: 2_000_000 });
    }

    #[test]
    fn size_and_depth_have_limits() {
        let million = format!("A{}", " + 1".repeat(1_000_000));
        assert!(read(&million).starts_with("the expression has 4000001 bytes"), "{}", read(&million));
        let terms = format!("A{}", "+1".repeat(2000));
        assert!(read(&terms).starts_with("the expression has more than 1000 parts"));
        for deep in ["(".repeat(5000), "-".repeat(5000), "not ".repeat(3000), "2^".repeat(5000), "abs(".repeat(3000)] {
            let told = read(&format!("{deep}A"));
            assert!(told.starts_with("parentheses and signs are nested 64 deep"), "{told}");
        }
        assert!(parse(&format!("A{}", "+1".repeat(400))).is_ok(), "a long sum is not deep");
    }
}
