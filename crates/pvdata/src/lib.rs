//! pvData: values of any type with the description of that type, as pvAccess writes them down. No sockets, no messages.
//!
//! ```text
//!   value, array                 values of any type
//!   types, registry              descriptions of types
//!   bits                         which fields of a structure have changed
//!   fewer                        structures without some of their fields
//!   wire                         the alphabet of all these: integers, sizes, strings
//! ```

#![deny(missing_docs)]

mod array;
mod bits;
mod error;
mod fewer;
mod registry;
pub mod types;
pub mod value;
pub mod wire;

pub use array::Array;
pub use bits::BitSet;
pub use error::Error;
pub use fewer::Fewer;
pub use registry::TypeRegistry;
pub use types::{Extent, Field, Scalar, Structure, Type};
pub use value::{Data, Decoder, Selected, Tree, decode_structure};
