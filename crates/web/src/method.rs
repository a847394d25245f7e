//! The methods of HTTP that occur here.

/// One of them. `Get` answers HEAD too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    /// By its name, however it is written.
    pub(crate) fn named(name: &str) -> Option<Method> {
        Some(match name.to_ascii_uppercase().as_str() {
            "GET" | "HEAD" => Method::Get,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "DELETE" => Method::Delete,
            _ => return None,
        })
    }
}
