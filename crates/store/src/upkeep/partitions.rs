//! The partitions of an archive, as an operator sees them: week by week, level by level, place by place.

use std::{collections::BTreeMap, sync::Arc};

use archive::{LevelHealth, Partition, PlaceHealth};
use sample::Timestamp;

use crate::{
    engine::Engine,
    segment::{Segment, manifest::Level},
    upkeep::{compact::views, merge_policy},
};

impl Engine {
    /// The partitions, by week.
    pub(crate) fn partitions(&self) -> Vec<Partition> {
        let now = self.alive();
        let segments = self.snapshot().segments.clone();
        let mut weeks: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        let views = views(&segments, &self.places);
        for view in &views {
            weeks.entry(view.manifest.folder()).or_default().push(*view);
        }
        let partition = |(week, views): (&str, Vec<merge_policy::View>)| Partition {
            week: week.to_owned(),
            state: merge_policy::state(week, &views, now),
            segments: views.len() as u64,
            bytes: views.iter().map(|view| view.manifest.bytes).sum(),
            samples: views.iter().map(|view| view.manifest.samples).sum(),
        };
        weeks.into_iter().map(partition).collect()
    }
}

/// How many segments have come how far.
pub(crate) fn levels(segments: &[Arc<Segment>]) -> Vec<LevelHealth> {
    let of = |level: Level| {
        let bytes = segments.iter().map(|segment| &segment.manifest).filter(|manifest| manifest.level == level);
        let (segments, bytes) = bytes.fold((0, 0), |(count, bytes), manifest| (count + 1, bytes + manifest.bytes));
        LevelHealth { level: level.name(), segments, bytes }
    };
    Level::ALL.into_iter().map(of).collect()
}

impl Engine {
    /// The folder of the archive, then the other places.
    pub(crate) fn place_health(&self, segments: &[Arc<Segment>], now: Timestamp) -> Vec<PlaceHealth> {
        let place = |name: &str, trouble, room| PlaceHealth {
            name: name.to_owned(),
            trouble,
            room,
            segments: 0,
            bytes: 0,
            moves_waiting: 0,
        };
        let mut all = vec![place("", None, self.room.get())];
        all.extend(self.places.iter().map(|found| place(&found.name, found.trouble(), found.room.get())));
        for manifest in segments.iter().map(|segment| &segment.manifest) {
            let at = manifest.place.as_deref().and_then(|name| self.places.find(name)).map_or(0, |(at, _)| at + 1);
            all[at].segments += 1;
            all[at].bytes += manifest.bytes;
            if let Some(to) = self.destination(manifest, now).and_then(|to| self.places.find(&to.name)) {
                all[to.0 + 1].moves_waiting += 1;
            }
        }
        all
    }
}
