//! `pvark import`: samples of the past, from files of text or from another archiver, into a running archiver.

mod appliance;
mod config;
mod csv;
mod living;
mod parts;

use std::{path::PathBuf, time::Duration};

use ureq::{Body, Error, http::Response};

use super::patience::{self, Patience};
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

/// An answer that is a success, for which an import waits so long.
fn patiently(
    lasts: Duration,
    server: &str,
    send: impl Fn() -> Result<Response<Body>, Error>,
) -> Result<Response<Body>, Failure> {
    let afterwards = " (--patience). Begin the import again when it is over: what was taken is not taken again";
    patience::patiently(Patience { lasts, afterwards }, server, send)
}
