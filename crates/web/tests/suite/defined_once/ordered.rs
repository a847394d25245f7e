//! JSON whose members keep their order, so that a text that people read can be changed in one place and stays as it is elsewhere.

use serde_json::Value;

/// A value whose members are in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Object(Vec<(String, Node)>),
    Array(Vec<Node>),
    Scalar(Value),
}

impl Node {
    /// Reads a text that holds one value.
    pub fn parse(text: &str) -> Node {
        let mut rest = text.trim();
        let node = take(&mut rest);
        assert!(rest.trim().is_empty(), "something follows the value: {rest:.40}");
        node
    }

    /// The member of that name, or the item of that number.
    pub fn at(&mut self, name: &str) -> &mut Node {
        let found = match self {
            Node::Object(members) => members.iter_mut().find(|(key, _)| key == name).map(|(_, member)| member),
            Node::Array(items) => items.get_mut(name.parse::<usize>().expect("a number")),
            Node::Scalar(_) => None,
        };
        found.unwrap_or_else(|| panic!("there is no {name}"))
    }

    /// The text, each member in a line, two blanks for each level.
    pub fn text(&self) -> String {
        let mut out = String::new();
        put(&mut out, self, 0);
        out + "\n"
    }
}

/// The same without an order.
impl From<&Node> for Value {
    fn from(node: &Node) -> Value {
        serde_json::from_str(&node.text()).expect("what was written is JSON")
    }
}

impl From<&Value> for Node {
    fn from(value: &Value) -> Node {
        Node::parse(&value.to_string())
    }
}

fn take(rest: &mut &str) -> Node {
    *rest = rest.trim_start();
    let Some(open) = rest.chars().next().filter(|first| "{[".contains(*first)) else {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let value = values.next().expect("a value").expect("a value of JSON");
        let end = values.byte_offset();
        *rest = &rest[end..];
        return Node::Scalar(value);
    };
    *rest = rest[1..].trim_start();
    let (mut members, mut items) = (Vec::new(), Vec::new());
    while !rest.starts_with(['}', ']']) {
        if open == '{' {
            let Node::Scalar(Value::String(name)) = take(rest) else { panic!("a member without a name") };
            *rest = rest.trim_start().strip_prefix(':').expect("a colon behind the name");
            members.push((name, take(rest)));
        } else {
            items.push(take(rest));
        }
        *rest = rest.trim_start();
        *rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    *rest = &rest[1..];
    if open == '{' { Node::Object(members) } else { Node::Array(items) }
}

fn put(out: &mut String, node: &Node, level: usize) {
    let line = |out: &mut String, level: usize| *out += &format!("\n{}", "  ".repeat(level));
    match node {
        Node::Scalar(value) => *out += &value.to_string(),
        Node::Object(members) if members.is_empty() => *out += "{}",
        Node::Array(items) if items.is_empty() => *out += "[]",
        Node::Object(members) => {
            for (index, (name, member)) in members.iter().enumerate() {
                out.push(if index == 0 { '{' } else { ',' });
                line(out, level + 1);
                *out += &format!("{}: ", Value::from(name.as_str()));
                put(out, member, level + 1);
            }
            line(out, level);
            out.push('}');
        }
        Node::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                out.push(if index == 0 { '[' } else { ',' });
                line(out, level + 1);
                put(out, item, level + 1);
            }
            line(out, level);
            out.push(']');
        }
    }
}
