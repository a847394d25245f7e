//! The Archiver Appliance's side of a comparison: its files and its answers.

#![allow(dead_code, reason = "each test file uses its part of it")]

pub(crate) mod answers;
pub(crate) mod files;
pub(crate) mod lines;
