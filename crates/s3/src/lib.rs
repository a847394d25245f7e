//! The shared store on S3: objects, and journals and names by conditional writes.
//!
//! ```text
//!   <folder>/object/<key>                    PUT, GET, DELETE, LIST
//!   <folder>/journal/<journal>/<seq>         PUT with If-None-Match: *          16 hexadecimal digits, so that lists are in order
//!   <folder>/name/<name>                     PUT with If-None-Match: * at first, then with If-Match: <ETag>
//!   <folder>/beat/<node>                     PUT
//! ```
//! It relies on a server that answers a GET with what was PUT before, as all do that are called S3 nowadays, and on one that heeds these
//! two headers, as not all do: [`S3::open`] tries them, and refuses a server that does not.

#![deny(missing_docs)]

mod config;
mod failure;
mod probe;
mod store;

pub use config::Config;
pub use store::S3;
