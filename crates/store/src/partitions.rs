//! The partitions of an archive, as an operator sees them: week by week, how far each has come and how large it is.

use std::collections::BTreeMap;

use crate::{Reader, compact::views, policy};

pub use crate::policy::WeekState;

/// A week of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Partition {
    /// As in `2026-W47`.
    pub week: String,
    /// How far it has come.
    pub state: WeekState,
    /// Its segments.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their samples.
    pub samples: u64,
}

impl Reader {
    /// The partitions, by week.
    pub fn partitions(&self) -> Vec<Partition> {
        let now = self.engine().ingest().alive;
        let segments = self.engine().snapshot().segments.clone();
        let mut weeks: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        let views = views(&segments);
        for view in &views {
            weeks.entry(view.manifest.folder()).or_default().push(*view);
        }
        let partition = |(week, views): (&str, Vec<policy::View>)| Partition {
            week: week.to_owned(),
            state: policy::state(week, &views, now),
            segments: views.len() as u64,
            bytes: views.iter().map(|view| view.manifest.bytes).sum(),
            samples: views.iter().map(|view| view.manifest.samples).sum(),
        };
        weeks.into_iter().map(partition).collect()
    }
}
