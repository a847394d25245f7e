//! Which parameters each URL of our own takes, read from their description: others are refused, because a misspelt one would be passed
//! over in silence, and the answer would be that to another question.

use std::{collections::HashMap, sync::LazyLock};

use serde_json::Value;

use crate::{
    refusal::{Code, Refusal},
    routes::{DESCRIPTION, Route},
    url::Params,
};

/// URLs below this are ours; those of the Archiver Appliance pass over what they do not know, as it does.
pub(crate) const OWN: &str = "/api/v1/";

/// Who asks may be said with every request; what changes something keeps it for the audit.
const WHO: &str = "by";

/// By method and path.
static KNOWN: LazyLock<HashMap<(String, String), Vec<String>>> = LazyLock::new(|| {
    let description: Value = serde_json::from_str(DESCRIPTION).expect("a test reads it");
    let operations = description["paths"].as_object().into_iter().flatten().flat_map(|(path, operations)| {
        operations.as_object().into_iter().flatten().map(move |(method, operation)| (method, path, operation))
    });
    let names = |operation: &Value| {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let resolved = parameters.map(|parameter| match parameter["$ref"].as_str() {
            Some(reference) => description.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null),
            None => parameter,
        });
        let in_query = resolved.filter(|parameter| parameter["in"] == "query");
        in_query.filter_map(|parameter| Some(parameter["name"].as_str()?.to_owned())).collect()
    };
    operations.map(|(method, path, operation)| ((method.to_uppercase(), path.clone()), names(operation))).collect()
});

/// Refuses what the URL does not take.
pub(crate) fn check(route: &Route, given: &Params) -> Result<(), Refusal> {
    if !route.path.starts_with(OWN) || given.names().next().is_none() {
        return Ok(());
    }
    let key = (format!("{:?}", route.method).to_uppercase(), route.path.to_owned());
    let known = KNOWN.get(&key).map_or(&[][..], Vec::as_slice);
    match given.names().find(|name| *name != WHO && !known.iter().any(|known| known == name)) {
        None => Ok(()),
        Some(name) => {
            let takes = if known.is_empty() { "takes none".to_owned() } else { format!("takes {}", known.join(", ")) };
            let message = format!("there is no parameter {name:?}: {} {takes}", route.path);
            Err(Refusal::new(Code::BadRequest, message))
        }
    }
}
