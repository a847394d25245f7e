//! Where an object lies: its table, its partition, and which row of that.

/// The pieces of an object that share a partition: 64 MiB, as partitions are best below 100 MB.
const PIECES: i32 = 256;

/// Tables of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// What is removed soon.
    LogBody,
    Young,
}

/// Where an object lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    pub(crate) table: Table,
    pub(crate) key: &'a str,
    pub(crate) part: i32,
    pub(crate) piece: &'a str,
}

impl Place<'_> {
    /// Where the object with a key lies. What of the log is of one file shares a partition; of all else, what has one folder.
    pub(crate) fn of(key: &str) -> Place<'_> {
        if let Some((partition, piece)) = log_file(key) {
            return Place { table: Table::LogBody, key: partition, part: 0, piece };
        }
        let (folder, piece) = key.rsplit_once('/').unwrap_or(("", key));
        let number: i32 = if piece.len() == 6 { piece.parse().unwrap_or(0) } else { 0 };
        Place { table: Table::Young, key: folder, part: number / PIECES, piece }
    }
}

/// `17.a/log/<epoch>/<file>` and what follows it.
fn log_file(key: &str) -> Option<(&str, &str)> {
    let mut slashes = key.match_indices('/').map(|(at, _)| at);
    let (first, second, _, fourth) = (slashes.next()?, slashes.next()?, slashes.next()?, slashes.next()?);
    (&key[first..=second] == "/log/").then(|| (&key[..fourth], &key[fourth + 1..]))
}

/// The key of the object in a row of a partition.
pub(crate) fn key_of(partition: &str, piece: &str) -> String {
    if partition.is_empty() { piece.to_owned() } else { format!("{partition}/{piece}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_an_object_and_stretches_of_a_file_lie_together() {
        let key = "17.a/seg/00000000000000e5/2026-W47/000000000007.seg/000300";
        let folder = "17.a/seg/00000000000000e5/2026-W47/000000000007.seg";
        assert_eq!(Place::of(key), Place { table: Table::Young, key: folder, part: 1, piece: "000300" });
        let key = "17.a/log/00000000000000e5/0000000000000002/0000000000-1f40/000000";
        let file = "17.a/log/00000000000000e5/0000000000000002";
        assert_eq!(
            Place::of(key),
            Place { table: Table::LogBody, key: file, part: 0, piece: "0000000000-1f40/000000" }
        );
        for key in [key, "alone", "a/b"] {
            let place = Place::of(key);
            assert_eq!(key_of(place.key, place.piece), key);
        }
    }
}
