//! `policies.py` of the Archiver Appliance: the usual patterns of it. What a branch says becomes a policy, if its condition speaks of
//! names; all else is a note.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashMap;

use archive::Method;
use foreign::{CarriedOver, Policy, period, rule_name};

use super::{
    python::{Line, Literal, assignment, lines, literal, texts},
    stores,
};

/// A branch of `determinePolicy`: what is assigned while its condition holds.
#[derive(Default)]
struct Branch {
    indent: usize,
    number: usize,
    /// None outside of all conditions.
    condition: Option<String>,
    name: Option<String>,
    method: Option<String>,
    seconds: Option<f64>,
    fields: Vec<String>,
}

/// Reads the policies. `env` looks up a variable that a store's folder names.
pub fn read_policies(file: &str, text: &str, env: &dyn Fn(&str) -> Option<String>) -> CarriedOver {
    let mut carried = CarriedOver::default();
    let (mut function, mut variables) = (String::new(), HashMap::new());
    let (mut open, mut done) = (Vec::<Branch>::new(), Vec::<Branch>::new());
    for line in lines(text) {
        if line.indent == 0 {
            done.extend(open.drain(..).rev());
            let name = line.text.strip_prefix("def ").and_then(|rest| rest.split('(').next());
            name.unwrap_or_default().clone_into(&mut function);
            if function == "determinePolicy" {
                open.push(Branch { number: line.number, ..Branch::default() });
                continue;
            }
        }
        match function.as_str() {
            "determinePolicy" => branch(&mut carried, file, &line, &mut open, &mut done, &mut variables),
            "getPolicyList" => about(&line, &mut variables),
            "getFieldsArchivedAsPartOfStream" => {
                let fields = texts(&line.text).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", ");
                if !fields.is_empty() {
                    let text =
                        format!("{fields} stand within samples there; here `fields` of a policy records them beside");
                    carried.note(file, line.number, text);
                }
            }
            _ => {}
        }
        for (_, url) in texts(&line.text).iter().filter(|(_, text)| text.contains("://")) {
            stores::carry(&mut carried, (file, line.number), url, env);
        }
    }
    done.extend(open.drain(..).rev());
    done.sort_by_key(|branch| branch.number);
    let (usual, others): (Vec<Branch>, Vec<Branch>) = done.into_iter().partition(|branch| branch.condition.is_none());
    // What holds for all comes last: the first that fits decides.
    for branch in others.into_iter().chain(usual) {
        finish(&mut carried, file, branch, &variables);
    }
    carried
}

/// `'NAME': 'what it is for'` in the list of policies.
fn about(line: &Line, abouts: &mut HashMap<String, String>) {
    let words: Vec<String> = texts(&line.text).into_iter().map(|(_, text)| text).collect();
    for pair in words.chunks_exact(2) {
        if let [name, text] = pair {
            abouts.insert(format!("about {name}"), text.clone());
        }
    }
}

fn branch(
    carried: &mut CarriedOver,
    file: &str,
    line: &Line,
    open: &mut Vec<Branch>,
    done: &mut Vec<Branch>,
    variables: &mut HashMap<String, String>,
) {
    while open.last().is_some_and(|branch| branch.condition.is_some() && branch.indent >= line.indent) {
        done.extend(open.pop());
    }
    let text = line.text.as_str();
    let condition = ["if ", "elif ", "if(", "elif("].iter().find_map(|word| {
        let rest = text.strip_prefix(word)?;
        let begin = if word.ends_with('(') { "(" } else { "" };
        Some(format!("{begin}{}", rest.trim_end_matches(':')))
    });
    if text.starts_with("else") {
        // It holds where nothing before it did: for all names.
        open.push(Branch {
            indent: line.indent,
            number: usize::MAX,
            condition: Some(String::new()),
            ..Branch::default()
        });
    } else if let Some(condition) = condition {
        open.push(Branch { indent: line.indent, number: line.number, condition: Some(condition), ..Branch::default() });
    } else if let Some((target, value)) = assignment(text) {
        match texts(target).pop() {
            Some((_, key)) => {
                if let Some(branch) = open.last_mut() {
                    assign(carried, (file, line.number), branch, &key, value, variables);
                }
            }
            None => {
                if let Some(Literal::Text(value)) = literal(value) {
                    variables.insert(target.to_owned(), value);
                }
            }
        }
    } else if !["return", "pass", "import", "from", "print", "log", "global"].iter().any(|word| text.starts_with(word))
    {
        carried.note(file, line.number, format!("not understood: {text}"));
    }
}

fn assign(
    carried: &mut CarriedOver,
    at: (&str, usize),
    branch: &mut Branch,
    key: &str,
    value: &str,
    variables: &HashMap<String, String>,
) {
    let value = match literal(value) {
        Some(Literal::Name(name)) => variables.get(&name).cloned().map_or(Literal::Name(name), Literal::Text),
        Some(value) => value,
        None => return carried.note(at.0, at.1, format!("{key} is {value}, which is not a plain value")),
    };
    match (key, value) {
        ("policyName", Literal::Text(name)) => branch.name = Some(name),
        ("samplingMethod", Literal::Text(method)) => branch.method = Some(method),
        ("samplingPeriod", Literal::Number(seconds)) => branch.seconds = Some(seconds),
        ("archiveFields", Literal::List(fields)) => branch.fields = fields,
        ("dataStores", _) => {} // the URLs are told where they stand
        (key, value) => carried.note(at.0, at.1, format!("{key} = {value:?} has no counterpart in a policy")),
    }
}

fn finish(carried: &mut CarriedOver, file: &str, branch: Branch, variables: &HashMap<String, String>) {
    if branch.name.is_none() && branch.method.is_none() && branch.seconds.is_none() && branch.fields.is_empty() {
        return;
    }
    let line = if branch.number == usize::MAX { 0 } else { branch.number };
    let method = match (branch.method.as_deref(), branch.seconds.map(period)) {
        (Some("SCAN"), Some(Some(period))) => Some(Method::Scan { period }),
        (Some("MONITOR"), _) => Some(Method::Monitor),
        (None, None) => None,
        (method, _) => {
            let text = format!("samplingMethod {method:?} with samplingPeriod {:?} is not understood", branch.seconds);
            carried.note(file, line, text);
            None
        }
    };
    let fits = match branch.condition.as_deref() {
        None | Some("") => vec!["*".to_owned()],
        Some(condition) if chooses(condition) => Vec::new(),
        Some(condition) => match names(condition) {
            Some(fits) => fits,
            None => {
                let text =
                    format!("the condition `{condition}` does not speak of names alone: give its policy a match");
                carried.note(file, line, text);
                Vec::new()
            }
        },
    };
    let name = branch.name.unwrap_or_else(|| if line == 0 { "usual".to_owned() } else { format!("line{line}") });
    let about = variables.get(&format!("about {name}")).map(|text| text.replace(char::is_control, " "));
    let mut name = rule_name(&name);
    while carried.policies.iter().any(|policy| policy.name == name) {
        name.push('_');
    }
    carried.policies.push(Policy { name, fits, method, fields: branch.fields, about });
}

/// Whether a condition only asks which policy somebody chose.
fn chooses(condition: &str) -> bool {
    let condition = condition.trim().trim_matches(['(', ')']);
    condition.split_once("==").is_some_and(|(left, right)| left.contains("olicy") && !right.contains(" and "))
}

/// The patterns of a condition that speaks of names alone; alternatives are parted by `or`.
fn names(condition: &str) -> Option<Vec<String>> {
    let mut fits = Vec::new();
    for alternative in condition.split(" or ") {
        let is_of_names =
            alternative.contains("pvName") || alternative.contains("pvname") || alternative.contains("pv_name");
        let is_plain = !alternative.contains(" and ") && !alternative.contains("not ") && !alternative.contains("!=");
        // The key by which a name is looked up is no pattern.
        let texts = texts(alternative).into_iter().filter(|(_, text)| text.to_lowercase() != "pvname");
        let texts: Vec<(&str, String)> = texts.collect();
        let [(before, text)] = texts.as_slice() else { return None };
        if !is_of_names || !is_plain || text.contains(['*', '?']) && !alternative.contains("match") {
            return None;
        }
        let (before, after) = (before.trim_end(), alternative.split(text.as_str()).last().unwrap_or_default());
        fits.push(if before.ends_with("startswith(") {
            format!("{text}*")
        } else if before.ends_with("endswith(") {
            format!("*{text}")
        } else if before.contains("re.match(") {
            // It need not reach the end of the name. Alternatives stay together.
            format!("~(?:{text}).*")
        } else if before.contains("re.search(") {
            format!("~.*?(?:{text}).*")
        } else if before.ends_with("==") || (alternative.contains("fnmatch") && before.ends_with(',')) {
            text.clone()
        } else if after.contains(" in ") {
            format!("*{text}*")
        } else {
            return None;
        });
    }
    Some(fits)
}
