//! `/api/v1`: the archive's own API.

pub(crate) mod aligned;
pub(crate) mod at;
pub(crate) mod bins;
pub(crate) mod cluster;
pub(crate) mod computed;
pub(crate) mod deletions;
pub(crate) mod diff;
pub(crate) mod gaps;
pub(crate) mod groups;
pub(crate) mod import;
pub(crate) mod import_lines;
pub(crate) mod ledger;
pub(crate) mod live;
pub(crate) mod login;
pub(crate) mod many;
pub(crate) mod policies;
pub(crate) mod pvs;
pub(crate) mod removals;
pub(crate) mod roster;
pub(crate) mod samples;
pub(crate) mod settings;
pub(crate) mod status;
pub(crate) mod tokens;
pub(crate) mod undo;
pub(crate) mod view;
pub(crate) mod when;
