//! The Appliance's configuration, turned into this archive's: policies, properties, members. Everything is read as text; nothing is
//! executed.
//!
//! ```text
//!   policies    policies.py       python    what of Python it uses, as text
//!   settings    archappl.properties and appliances.xml           stores    the store URLs in all of them
//! ```

mod policies;
mod python;
mod settings;
mod stores;

pub use policies::read_policies;
pub use settings::{read_appliances, read_properties};
