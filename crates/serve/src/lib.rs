//! Everything that speaks to clients: HTTP, its formats, the web page.
