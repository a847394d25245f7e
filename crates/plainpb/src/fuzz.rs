//! Doors for fuzzers: any bytes as a file of each kind that a folder may hold, and as an entry of the Appliance's configuration.

use std::{fs, io, ops::ControlFlow, path::PathBuf, sync::OnceLock};

use archive::{Key, PvName, Source};
use sample::{TimeRange, Timestamp};

use crate::{
    Payload, Piece, PlainPb, Relay, TypeInfo,
    digest::{Head, Page, page_of, resealed, rows_of},
    digest_format::{PAGE_LEN, PAGE_ROWS},
};

/// A folder in memory, one for each process.
fn folder() -> io::Result<&'static PathBuf> {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let path = FOLDER.get_or_init(|| PathBuf::from(format!("/dev/shm/pvark-fuzz-{}", std::process::id())));
    fs::create_dir_all(path)?;
    Ok(path)
}

/// Any bytes as the file of that name: all ways to read it end, without a panic, and say no more than there is.
fn archive(name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = folder()?;
    let path = folder.join(name);
    fs::write(&path, bytes)?;
    let archive = PlainPb::new(folder.clone(), []);
    // What cannot be read is an answer, too.
    let _ = archive.pvs(&mut |_| ControlFlow::Continue(()));
    let Ok(pv) = PvName::new("A") else { return Ok(()) };
    let middle = Timestamp::from_seconds(1_780_000_000, 0);
    let count = archive.samples(Key::Name(&pv), TimeRange::ALL).flatten().map(|batch| batch.len()).sum::<usize>();
    let (first, second) = (TimeRange { t0: Timestamp::MIN, t1: middle }, TimeRange { t0: middle, t1: Timestamp::MAX });
    let parts = [first, second]
        .map(|part| archive.samples(Key::Name(&pv), part).flatten().map(|batch| batch.len()).sum::<usize>());
    assert!(parts.iter().sum::<usize>() <= 2 * count.max(1) + 16, "{parts:?} of {count}");
    let _ = archive.last_before(Key::Name(&pv), middle);
    let _ = archive.metadata(Key::Name(&pv), TimeRange { t1: middle, ..TimeRange::ALL });
    let _ = archive.gaps(Key::Name(&pv), None, TimeRange::ALL);
    for mut slice in archive.slices(&pv, TimeRange::ALL).into_iter().flatten() {
        while let Ok(Some(piece)) = slice.next(1000) {
            if let Piece::Lines(chunk) = piece {
                crate::read_chunks(&chunk);
            }
        }
    }
    fs::remove_file(path)
}

/// As a `.pb` file in which times are looked for.
pub fn file(bytes: &[u8]) {
    let header = b"\x08\x06\x12\x01A\x18\xea\x0f\n";
    archive("A:2026.pb", &[header, bytes].concat()).expect("there is a folder in memory");
}

/// As a tar, a zip and a Parquet file.
pub fn packed(bytes: &[u8]) {
    for name in ["A.tar", "A.zip", "A:_pb.zip", "A:2026.parquet"] {
        archive(name, bytes).expect("there is a folder in memory");
    }
}

/// As the head and as a page of a digest, as they are and with the check that belongs to them: what is read is what is written again.
pub fn digest(bytes: &[u8]) {
    let mut page: Page = [0; PAGE_LEN];
    page.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    for page in [page, resealed(&page)] {
        if let Some(head) = Head::decode(&page) {
            let again = head.encode().and_then(|page| Head::decode(&page));
            assert_eq!(again.as_ref(), Some(&head));
        }
        for count in [1, PAGE_ROWS, usize::MAX] {
            let value_type = Payload::ScalarDouble.value_type();
            let Some(rows) = rows_of(&page, count, value_type) else { continue };
            assert!(rows.len() == count.min(PAGE_ROWS));
            let again = rows_of(&page_of(&rows), count, value_type).expect("what was read is sound");
            let same = again.iter().zip(&rows).all(|(a, b)| a.at == b.at && a.summary.identical(&b.summary));
            assert!(same && again.len() == rows.len());
        }
    }
}

/// As an entry of the Appliance's configuration, and as a raw answer that is passed on.
pub fn texts(bytes: &[u8]) {
    // Refused texts are an answer, too.
    let _ = TypeInfo::read_all(&String::from_utf8_lossy(bytes));
    let mut relay = Relay::new(bytes, TimeRange::ALL);
    while let Ok(Some(_)) = relay.next(100) {}
}
