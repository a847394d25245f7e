//! Names: all names and aliases in order, as a snapshot that is cheap to take while PVs are added one by one.
//!
//! ```text
//!   Names ──► [ chunk │ chunk │ chunk … ]      a change copies one chunk, and only if a snapshot holds it
//!                 └─► rows (name, PV) and, once somebody searches, all its names as one text
//! ```

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use crate::{PvId, PvName};

/// A chunk with more names is halved: small enough to be copied for one name, large enough that a search runs over long texts.
const CHUNK_NAMES_MAX: usize = 512;

/// A name, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// A PV's name or alias.
    pub name: PvName,
    /// The PV.
    pub pv: PvId,
    /// Which of both.
    pub kind: NameKind,
}

/// What a name is to its PV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// Its own.
    Own,
    /// Another one.
    Alias,
}

/// Where a name stands among the names of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamePlace {
    chunk: u32,
    row: u16,
}

impl NamePlace {
    /// In which neighbourhood, and which name of it.
    pub fn new(chunk: usize, row: usize) -> NamePlace {
        NamePlace { chunk: chunk as u32, row: row as u16 }
    }
}

/// All names and aliases at one moment, sorted.
#[derive(Clone, Debug, Default)]
pub struct Names {
    chunks: Arc<Vec<Arc<NameChunk>>>,
    len: usize,
}

/// Some hundred neighbours.
#[derive(Debug, Default)]
pub struct NameChunk {
    rows: Vec<Named>,
    text: OnceLock<Text>,
}

impl Clone for NameChunk {
    fn clone(&self) -> NameChunk {
        NameChunk { rows: self.rows.clone(), text: OnceLock::new() } // it is cloned to be changed
    }
}

#[derive(Debug)]
struct Text {
    text: Box<str>,
    starts: Box<[u32]>,
}

impl NameChunk {
    /// The names with whose they are.
    pub fn rows(&self) -> &[Named] {
        &self.rows
    }

    /// All names, each followed by a line feed, which no name holds.
    pub fn text(&self) -> &str {
        &self.lines().text
    }

    /// Where in the text each name begins.
    pub fn starts(&self) -> &[u32] {
        &self.lines().starts
    }

    fn lines(&self) -> &Text {
        self.text.get_or_init(|| {
            let bytes = self.rows.iter().map(|row| row.name.as_str().len() + 1).sum();
            let mut text = String::with_capacity(bytes);
            let mut starts = Vec::with_capacity(self.rows.len());
            for row in &self.rows {
                starts.push(text.len() as u32);
                text.push_str(row.name.as_str());
                text.push('\n');
            }
            Text { text: text.into(), starts: starts.into() }
        })
    }

    fn place(&self, name: &PvName) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| row.name.cmp(name))
    }
}

impl Names {
    /// Of names in any order.
    pub fn of(mut rows: Vec<Named>) -> Names {
        rows.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let len = rows.len();
        let mut chunks = Vec::with_capacity(len / (CHUNK_NAMES_MAX / 2) + 1);
        let mut rows = rows.into_iter().peekable();
        while rows.peek().is_some() {
            let rows: Vec<Named> = rows.by_ref().take(CHUNK_NAMES_MAX * 3 / 4).collect();
            chunks.push(Arc::new(NameChunk { rows, text: OnceLock::new() }));
        }
        Names { chunks: Arc::new(chunks), len }
    }

    /// Whether this is the same snapshot: then nothing has changed between the two.
    pub fn is_same(&self, other: &Names) -> bool {
        Arc::ptr_eq(&self.chunks, &other.chunks)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// In the order of names.
    pub fn iter(&self) -> impl Iterator<Item = &Named> {
        self.chunks.iter().flat_map(|chunk| &chunk.rows)
    }

    /// The name at a place of these names.
    pub fn at(&self, place: NamePlace) -> Option<&Named> {
        self.chunks.get(place.chunk as usize)?.rows.get(usize::from(place.row))
    }

    /// The neighbourhoods, for those who search.
    pub fn chunks(&self) -> &[Arc<NameChunk>] {
        &self.chunks
    }

    /// The same by their places in the order, for who passes over many at a time.
    pub fn places(&self) -> Places<'_> {
        let mut len = 0;
        let begins = self.chunks.iter().map(|chunk| {
            len += chunk.rows.len();
            len - chunk.rows.len()
        });
        Places { begins: begins.collect(), chunks: &self.chunks }
    }

    /// Enters a name, or gives it to another PV; snapshots that were taken before do not change.
    pub fn insert(&mut self, Named { name, pv, kind }: Named) {
        let chunks = Arc::make_mut(&mut self.chunks);
        let place = chunks.partition_point(|chunk| chunk.rows.first().is_some_and(|first| first.name <= name));
        let place = place.saturating_sub(1);
        if chunks.is_empty() {
            chunks.push(Arc::default());
        }
        let chunk = Arc::make_mut(&mut chunks[place]);
        chunk.text = OnceLock::new();
        match chunk.place(&name) {
            Ok(row) => (chunk.rows[row].pv, chunk.rows[row].kind) = (pv, kind),
            Err(row) => {
                chunk.rows.insert(row, Named { name, pv, kind });
                self.len += 1;
            }
        }
        if chunk.rows.len() > CHUNK_NAMES_MAX {
            let rows = chunk.rows.split_off(CHUNK_NAMES_MAX / 2);
            chunks.insert(place + 1, Arc::new(NameChunk { rows, text: OnceLock::new() }));
        }
    }

    /// Takes a name out; snapshots that were taken before do not change.
    pub fn remove(&mut self, name: &PvName) {
        let chunks = Arc::make_mut(&mut self.chunks);
        let after = chunks.partition_point(|chunk| chunk.rows.first().is_some_and(|first| first.name <= *name));
        let Some(place) = after.checked_sub(1) else { return };
        let Ok(row) = chunks[place].place(name) else { return };
        let chunk = Arc::make_mut(&mut chunks[place]);
        chunk.text = OnceLock::new();
        chunk.rows.remove(row);
        self.len -= 1;
        if chunk.rows.is_empty() {
            chunks.remove(place);
        }
    }
}

/// Names by their places in the order: a place is found by halving, however many names lie between two.
pub struct Places<'n> {
    chunks: &'n [Arc<NameChunk>],
    /// The place of the first name of each chunk.
    begins: Vec<usize>,
}

impl<'n> Places<'n> {
    /// The name at a place.
    pub fn get(&self, place: usize) -> Option<&'n Named> {
        let chunk = self.begins.partition_point(|begin| *begin <= place).checked_sub(1)?;
        self.chunks[chunk].rows.get(place - self.begins[chunk])
    }

    /// The names from one place to another, by their neighbourhoods.
    pub fn between(&self, places: Range<usize>) -> impl Iterator<Item = Neighbours<'n>> {
        let first = self.begins.partition_point(|begin| *begin <= places.start).saturating_sub(1);
        let chunks = self.begins.iter().zip(self.chunks).skip(first);
        let within = chunks.take_while(move |(begin, _)| **begin < places.end).map(move |(begin, chunk)| {
            let part = |place: usize| place.saturating_sub(*begin).min(chunk.rows.len());
            Neighbours { begin: *begin, chunk, rows: part(places.start)..part(places.end) }
        });
        within.filter(|neighbours| !neighbours.rows.is_empty())
    }

    /// The place of the first name that does not come before a text.
    pub fn from(&self, text: &str) -> usize {
        self.behind(|name| name < text)
    }

    /// The place behind the last name that comes before a text or begins with it.
    pub fn behind_all(&self, prefix: &str) -> usize {
        self.behind(|name| name < prefix || name.starts_with(prefix))
    }

    /// Behind all names for which that holds, which are the first ones.
    fn behind(&self, holds: impl Fn(&str) -> bool) -> usize {
        let holds_of = |row: &Named| holds(row.name.as_str());
        let chunk = self.chunks.partition_point(|chunk| chunk.rows.first().is_some_and(holds_of));
        let Some(chunk) = chunk.checked_sub(1) else { return 0 };
        self.begins[chunk] + self.chunks[chunk].rows.partition_point(holds_of)
    }
}

/// Names that lie in one neighbourhood, one behind the other.
#[derive(Clone, Debug)]
pub struct Neighbours<'n> {
    /// The place of the first name of the neighbourhood.
    begin: usize,
    /// The neighbourhood.
    pub chunk: &'n NameChunk,
    /// Which of its names.
    pub rows: Range<usize>,
}

impl<'n> Neighbours<'n> {
    /// The names.
    pub fn names(&self) -> &'n [Named] {
        &self.chunk.rows[self.rows.clone()]
    }

    /// Their places in the order of all names.
    pub fn places(&self) -> Range<usize> {
        self.begin + self.rows.start..self.begin + self.rows.end
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn name(number: usize) -> PvName {
        PvName::new(&format!("PV:{number:05}")).unwrap()
    }

    fn named(number: usize, pv: u32) -> Named {
        Named { name: name(number), pv: PvId(pv), kind: NameKind::Own }
    }

    #[test]
    fn names_stay_sorted_and_findable_however_they_come_and_go() {
        let mut names = Names::of((0..3000).rev().map(|i| named(i * 3, i as u32)).collect());
        let mut model: BTreeMap<PvName, PvId> = (0..3000).map(|i| (name(i * 3), PvId(i as u32))).collect();
        let before = names.clone();
        for step in 0..9000_usize {
            let number = step.wrapping_mul(7919) % 9000;
            if step % 3 == 0 {
                names.remove(&name(number));
                model.remove(&name(number));
            } else {
                names.insert(named(number, step as u32));
                model.insert(name(number), PvId(step as u32));
            }
        }
        let found: Vec<(PvName, PvId)> = names.iter().map(|row| (row.name.clone(), row.pv)).collect();
        assert_eq!(found, model.clone().into_iter().collect::<Vec<_>>());
        assert_eq!(names.len(), model.len());
        assert_eq!(before.iter().count(), 3000, "a snapshot does not change");
        for chunk in names.chunks() {
            assert!(chunk.rows().len() <= CHUNK_NAMES_MAX);
            for (row, named) in chunk.rows().iter().enumerate() {
                let line = &chunk.text()[chunk.starts()[row] as usize..];
                assert_eq!(line.split('\n').next(), Some(named.name.as_str()));
            }
        }
    }

    #[test]
    fn a_name_before_all_others_and_the_last_of_all_find_their_places() {
        let mut names = Names::default();
        names.remove(&name(1));
        for number in [5, 1, 9, 1] {
            names.insert(named(number, number as u32));
        }
        let sorted: Vec<u32> = names.iter().map(|row| row.pv.0).collect();
        assert_eq!((sorted, names.len()), (vec![1, 5, 9], 3));
        [1, 5, 9].iter().for_each(|number| names.remove(&name(*number)));
        assert!(names.is_empty() && names.chunks().is_empty());
    }

    #[test]
    fn places_are_those_that_a_look_at_each_name_finds() {
        let names = Names::of((0..5000).map(|number| named(number, number as u32)).collect());
        let (places, all) = (names.places(), names.iter().collect::<Vec<_>>());
        for text in ["", "A", "PV", "PV:00", "PV:0042", "PV:00420", "PV:1", "PV:4999", "PV:5", "Z"] {
            let before = all.iter().filter(|row| row.name.as_str() < text).count();
            let within = all.iter().filter(|row| row.name.as_str().starts_with(text)).count();
            assert_eq!((places.from(text), places.behind_all(text)), (before, before + within), "{text}");
        }
        assert!(all.iter().enumerate().all(|(place, row)| places.get(place) == Some(*row)));
        assert_eq!(places.get(5000), None);
        for range in [0..5000, 0..0, 7..7, 383..385, 384..768, 100..4999, 4000..9000] {
            let end = range.end.min(5000);
            let between: Vec<&Named> = places.between(range.clone()).flat_map(|some| some.names()).collect();
            assert_eq!(between, all[range.start..end], "{range:?}");
            let told: Vec<usize> = places.between(range.clone()).flat_map(|some| some.places()).collect();
            assert_eq!(told, (range.start..end).collect::<Vec<_>>(), "{range:?}");
        }
        let none = Names::default();
        assert_eq!((none.places().from("A"), none.places().behind_all("A"), none.places().get(0)), (0, 0, None));
        assert_eq!(none.places().between(0..1).count(), 0);
    }
}
