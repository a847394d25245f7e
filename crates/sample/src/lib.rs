//! The numbers of an archive: what one sample of a PV holds, many of them in columns, and what they mean.
//!
//! ```text
//!   Timestamp, TimeRange         when, in nanoseconds since 1970
//!   Value, Column, Alarm         what it read, one at a time or many of a type
//!   Sample, Batch                a row, and the columns of many rows of one type

//!   Bare                         a row of which there is nothing to tell but a number and its time
//!   Summary, Stretch             what many of them amount to, so that bins need not look at each
//!   Stamp, Quality               what is to be said of a time that is out of the ordinary
//!   Metadata, Gap                what the numbers mean, and where there are none
//!   ZoneName, Zone               in which zone people read times
//! ```
//!
//! Nothing here knows a PV, does I/O, reads a clock or knows a file or wire format.

#![deny(missing_docs)]

mod alarm;
mod batch;
mod column;
mod gap;
mod meta;
mod span;
mod stamp;
mod summary;
mod time;
mod typed;
mod value;
mod zone;

pub use alarm::{Alarm, Severity};
pub use batch::{Bare, Batch, Runs, Sample};
pub use column::{Arrays, Blobs, Column, Strings};
pub use gap::{Gap, GapCause};
pub use meta::{Limits, Metadata};
pub use span::parse_span;
pub use stamp::{Quality, Stamp, Stamps};
pub use summary::{Stretch, Summary};
pub use time::{TimeError, TimeRange, Timestamp};
pub use value::{Element, Shape, Value, ValueType};
pub use zone::{Zone, ZoneName};
