//! `pvark import`: samples of the past, from files of text or from another archiver, into a running archiver.

mod appliance;
mod config;
mod csv;
mod living;
mod parts;

use crate::{
    Failure,
    cli::{Import, ImportFrom},
};

pub(crate) fn import(command: &Import) -> Result<(), Failure> {
    match &command.from {
        None => csv::import(&command.csv),
        Some(ImportFrom::ArchiverAppliance(command)) => appliance::import(command),
        Some(ImportFrom::Config(command)) => config::import(command),
    }
}
