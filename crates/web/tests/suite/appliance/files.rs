//! The Appliance's files, put into a store.

use std::{
    collections::BTreeMap,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use aa::{PlainPb, TypeInfo};
use archive::{By, Method, Protocol, PvName, PvSettings, PvState, Record, Sink, Source};
use sample::{Batch, Metadata, Timestamp};
use serde_json::Value;
use store::Store;

use super::lines;
use crate::served::Archive;

/// The Appliance's stores where they lie, as old archives, with what its configuration says of the PVs.
pub(crate) fn in_place(folder: &Path) -> Vec<Arc<dyn Source>> {
    let infos = fs::read_dir(folder.join("typeinfo")).unwrap().flat_map(|file| {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        TypeInfo::read_all(&text).unwrap()
    });
    let infos: Vec<TypeInfo> = infos.collect();
    let open = |tier: &str| -> Arc<dyn Source> { Arc::new(PlainPb::new(folder.join(tier), infos.clone())) };
    ["sts", "mts", "lts"].map(open).into()
}

/// Enters every PV of old archives into the list, paused.
pub(crate) fn register(old: &[Arc<dyn Source>], store: &Store) {
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Paused);
    for archive in old {
        let mut names = Vec::new();
        let mut see = |name| {
            names.push((name, settings.clone()));
            ControlFlow::Continue(())
        };
        archive.pvs(&mut see).unwrap();
        assert!(!names.is_empty());
        store.writer().register(&names, &By::new("test", Timestamp::from_nanos(0))).unwrap();
    }
}

/// The Appliance's type infos and files as `pvark import` sends them, each file a part. All of it must be found again.
pub(crate) fn import(folder: &Path, archive: &Archive) {
    let infos = fs::read_dir(folder.join("typeinfo")).unwrap().map(|file| {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    });
    let infos = Value::from_iter(infos).to_string();
    let sent = archive.post("/api/v1/import/type-info?import=aa", "application/json", infos.as_bytes());
    assert_eq!(sent.status, 200, "{}", sent.text());
    for tier in ["sts", "mts", "lts"] {
        for (number, file) in fs::read_dir(folder.join(tier).join("REF")).unwrap().enumerate() {
            let (target, file) = (format!("/api/v1/import?import=aa&part={tier}{number}"), file.unwrap().path());
            let sent = archive.post(&target, "application/x-protobuf", &fs::read(&file).unwrap());
            let told: Value = serde_json::from_str(&sent.text()).unwrap();
            assert_eq!((sent.status, &told["missing"]), (200, &Value::from(0)), "{}: {told}", file.display());
        }
    }
}

/// All samples of all PVs. What one of its stores repeats of another is left to our store to drop.
pub(crate) fn load(folder: &Path, store: &Store) {
    let mut chunks: BTreeMap<String, Vec<lines::Chunk>> = BTreeMap::new();
    for tier in ["lts", "mts", "sts"] {
        let mut files: Vec<PathBuf> =
            fs::read_dir(folder.join(tier).join("REF")).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files {
            for chunk in lines::read(&fs::read(file).unwrap()) {
                chunks.entry(chunk.pv_name.clone()).or_default().push(chunk);
            }
        }
    }
    let writer = store.writer();
    let now = Timestamp::from_nanos(0);
    let settings = PvSettings::plain(Protocol::Ca, Method::Monitor, PvState::Paused);
    for (name, chunks) in chunks {
        let units = (name == "REF:ALARMS").then(|| "mA".to_owned());
        let element_count = (name == "REF:WFD").then_some(40);
        let pv =
            writer.register(&[(PvName::new(&name).unwrap(), settings.clone())], &By::new("test", now)).unwrap()[0].id;
        for chunk in chunks {
            let value_type = Some(chunk.value_type);
            let metadata = Metadata { value_type, element_count, units: units.clone(), ..Metadata::default() };
            let mut batch = Batch::new(chunk.value_type);
            for sample in &chunk.samples {
                assert!(batch.push(sample), "a chunk holds one type");
            }
            let since = batch.times().first().copied().unwrap_or_default();
            writer
                .append(&[(pv, Record::Metadata(since, metadata.into())), (pv, Record::Samples(batch))], now)
                .unwrap();
        }
    }
}
