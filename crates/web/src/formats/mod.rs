//! From batches to bytes: each format is an iterator that turns batches into chunks of an answer.

pub(crate) mod appliance_json;
pub(crate) mod appliance_lines;
pub(crate) mod appliance_values;
pub(crate) mod arrow;
pub(crate) mod at_time;
pub(crate) mod bars;
pub(crate) mod base64;
pub(crate) mod counts;
pub(crate) mod csv;
mod elements;
mod ended;
pub(crate) mod gathered;
pub(crate) mod in_turn;
pub(crate) mod joined;
pub(crate) mod json;
pub(crate) mod line_buffer;
pub(crate) mod list;
pub(crate) mod matlab;
pub(crate) mod metadata;
pub(crate) mod npy;
pub(crate) mod object;
pub(crate) mod parquet_file;
pub(crate) mod pb;
mod pb_arrays;
pub(crate) mod pb_messages;
pub(crate) mod pb_numbers;
#[cfg(test)]
mod printed;
pub(crate) mod reconnects;
pub(crate) mod rows;
pub(crate) mod seconds;
pub(crate) mod sizes;
pub(crate) mod span_samples;
pub(crate) mod streams;
pub(crate) mod structure;
pub(crate) mod svg;
pub(crate) mod value;
