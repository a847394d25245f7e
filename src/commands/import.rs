//! `pvark import`: samples of the past, from files of text or from another archiver, into a running archiver.

mod appliance;
mod config;
mod csv;
mod living;
mod parts;
mod patience;

use std::path::PathBuf;

use crate::{
    cli::{Import, ImportFrom},
    failure::Failure,
};

pub(crate) fn import(command: &Import) -> Result<(), Failure> {
    match &command.from {
        None => csv::import(&command.csv),
        Some(ImportFrom::ArchiverAppliance(command)) => match url(&command.folders) {
            Some(url) => living::import(command, url),
            None => appliance::import(command),
        },
        Some(ImportFrom::Config(command)) => config::import(command),
    }
}

/// An archiver that answers, in place of folders.
fn url(folders: &[PathBuf]) -> Option<&str> {
    let [url] = folders else { return None };
    url.to_str().filter(|url| url.starts_with("http://"))
}
