//! Near names: what may be meant by a name that nobody has, out of the names that whoever asks may see.

use std::collections::HashSet;

use archive::{NAME_BYTES_MAX, PvId};
use query::Permits;

use crate::{ask::Ask, table::Table};

/// So many are told.
const TOLD_MAX: usize = 3;
/// A name that differs by more letters is another one.
const LETTERS_MAX: usize = 4;
/// The names that are kept until the nearest of them are known.
const KEPT_MAX: usize = 64;
/// So many requests compare all names at once; the others hear no near names, only how to search.
static COMPARING: Permits = Permits::of(2);

impl Ask {
    /// The names that are most like one, the best first; none if none is.
    pub fn near(&self, name: &str) -> Vec<String> {
        let Some(_turn) = COMPARING.take().filter(|_| name.len() <= NAME_BYTES_MAX) else { return Vec::new() };
        let mut near = Near::to(name);
        for chunk in self.listed().behind.directory.names().chunks() {
            if self.is_abandoned() {
                return Vec::new();
            }
            for named in chunk.rows() {
                let name = named.name.as_str();
                near.look_at(name.as_bytes(), || (self.sees_all() || self.sees_named(named)).then(|| name.to_owned()));
            }
        }
        near.best()
    }

    /// The names, and words of names, of a table that are most like a word, the best first.
    pub(crate) fn near_words(&self, word: &str, table: &Table) -> Vec<String> {
        let Some(_turn) = COMPARING.take().filter(|_| word.len() <= NAME_BYTES_MAX) else { return Vec::new() };
        let (mut near, mut before) = (Near::to(word), &b""[..]);
        let (sees_all, mut looked_up) = (self.sees_all(), HashSet::new());
        for chunk in &table.chunks {
            if self.is_abandoned() {
                return Vec::new();
            }
            for row in 0..chunk.len() {
                let Some(pv) = chunk.pv(row) else { continue };
                for name in chunk.names(row) {
                    // Most names begin with the words of the one before; these may be hidden there and told here.
                    let known = if sees_all { known_words(before, name) } else { 0 };
                    for text in words_of(&name[known..]).filter(|word| word.len() < name.len()).chain([name]) {
                        near.look_at(text, || {
                            if looked_up.len() == KEPT_MAX {
                                looked_up.clear();
                            }
                            // A word is written in one way, mostly, whatever name it is in.
                            let is_new = !sees_all || looked_up.insert(text);
                            is_new.then(|| self.as_written(pv, text)).flatten()
                        });
                    }
                    before = name;
                }
            }
        }
        near.best()
    }

    /// The name of a PV, or the word of one, that is this in lower case; none if whoever asks may not know it.
    fn as_written(&self, pv: PvId, lower: &[u8]) -> Option<String> {
        let directory = &self.listed().behind.directory;
        let entry = directory.entry(pv)?;
        let names = std::iter::once(entry.name.clone()).chain(directory.aliases_of(pv));
        names.filter(|name| self.sees_as(&entry, name.as_str())).find_map(|name| {
            let name = name.as_str().as_bytes();
            let texts = std::iter::once(name).chain(words_of(name));
            let mut texts = texts.filter_map(|text| str::from_utf8(text).ok());
            texts.find(|text| text.to_lowercase().as_bytes() == lower).map(str::to_owned)
        })
    }

    /// Those of a few texts that are most like one.
    pub(crate) fn near_texts(&self, text: &str, among: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
        if text.len() > NAME_BYTES_MAX {
            return Vec::new();
        }
        let mut near = Near::to(text);
        among.into_iter().for_each(|other| near.look_at(other.as_ref().as_bytes(), || Some(other.as_ref().to_owned())));
        near.best()
    }

    /// What to do about a name that nobody has.
    pub fn did_you_mean(&self, name: &str) -> String {
        match self.near(name) {
            near if near.is_empty() => "GET /api/v1/pvs?match= finds names".to_owned(),
            near => format!("did you mean {}?", near.join(" or ")),
        }
    }
}

/// The words of a name: what stands between signs. Whatever is not of ASCII counts as a letter.
fn words_of(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    name.split(|byte| !IS_LETTER[usize::from(*byte)])
}

static IS_LETTER: [bool; 256] = {
    let (mut is_letter, mut byte) = ([false; 256], 0);
    while byte < 256 {
        is_letter[byte] = byte >= 128 || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    is_letter
};

/// Where the words of a name begin that are not all at the beginning of the one before it, too.
fn known_words(before: &[u8], name: &[u8]) -> usize {
    let (eights, _) = before.as_chunks::<8>();
    let pairs = eights.iter().zip(name.as_chunks::<8>().0);
    let eights = 8 * pairs.take_while(|(a, b)| a == b).count();
    let pairs = before[eights..].iter().zip(&name[eights..]);
    let shared = eights + pairs.take_while(|(a, b)| a == b).count();
    name[..shared].iter().rposition(|byte| !IS_LETTER[usize::from(*byte)]).map_or(0, |end| end + 1)
}

/// The nearest names that were found so far.
struct Near {
    name: Vec<u8>,
    letters: u64,
    allowed: usize,
    found: Vec<(usize, String)>,
    lower: Vec<u8>,
}

impl Near {
    fn to(name: &str) -> Near {
        let name = name.to_ascii_lowercase().into_bytes();
        let allowed = (name.len() / 3).clamp(1, LETTERS_MAX);
        Near { letters: letters(&name), name, allowed, found: Vec::new(), lower: Vec::new() }
    }

    /// Most names are dismissed by their length. `told` gives what is told of one that is near, if it may be.
    #[inline(always)]
    fn look_at(&mut self, other: &[u8], told: impl FnOnce() -> Option<String>) {
        if !other.is_empty() && other.len().abs_diff(self.name.len()) <= self.allowed {
            self.look_closer(other, told);
        }
    }

    /// Most of the others are dismissed by the letters that occur in one of both alone.
    fn look_closer(&mut self, other: &[u8], told: impl FnOnce() -> Option<String>) {
        // A letter that is changed for another takes one out of each set at most.
        if (letters(other) ^ self.letters).count_ones() as usize > 2 * self.allowed {
            return;
        }
        self.lower.clear();
        self.lower.extend(other.iter().map(u8::to_ascii_lowercase));
        let Some(distance) = distance(&self.name, &self.lower, self.allowed) else { return };
        if let Some(told) = told() {
            self.found.push((distance, told));
            if self.found.len() > KEPT_MAX {
                self.keep(TOLD_MAX);
            }
        }
    }

    fn keep(&mut self, count: usize) {
        self.found.sort();
        self.found.dedup();
        self.found.truncate(count);
        if let Some((worst, _)) = self.found.last().filter(|_| self.found.len() == count) {
            self.allowed = *worst;
        }
    }

    fn best(mut self) -> Vec<String> {
        self.keep(TOLD_MAX);
        self.found.into_iter().map(|(_, name)| name).collect()
    }
}

/// Which letters occur in any case, each as a bit that it may share with another.
fn letters(name: &[u8]) -> u64 {
    name.iter().fold(0, |letters, byte| letters | 1 << (byte.to_ascii_lowercase() & 63))
}

/// How many letters have to be put in, taken out or changed to make one text of another (Levenshtein, 1965), or none if these are more than
/// `most`: then only the places that are so near to the diagonal matter (Ukkonen, 1985).
fn distance(a: &[u8], b: &[u8], most: usize) -> Option<usize> {
    let (beyond, mut row) = (most + 1, [usize::MAX; 2 * LETTERS_MAX + 1]);
    let width = 2 * most + 1;
    // The place of `b` that stands at a column of the band, in the row of a letter of `a`.
    let place = |index: usize, column: usize| (index + column).checked_sub(most).filter(|place| *place <= b.len());
    for (column, cost) in row.iter_mut().enumerate().take(width) {
        *cost = place(0, column).unwrap_or(beyond);
    }
    for (index, letter) in a.iter().enumerate() {
        let mut best = beyond;
        for column in 0..width {
            let cost = match place(index + 1, column) {
                None => beyond,
                Some(0) => index + 1,
                Some(place) => {
                    let changed = row[column] + usize::from(b.get(place - 1) != Some(letter));
                    let taken_out = if column + 1 < width { row[column + 1] + 1 } else { beyond };
                    let put_in = if column > 0 { row[column - 1] + 1 } else { beyond };
                    changed.min(taken_out).min(put_in)
                }
            };
            row[column] = cost.min(beyond);
            best = best.min(row[column]);
        }
        if best > most {
            return None;
        }
    }
    let end = (b.len() + most).checked_sub(a.len()).filter(|column| *column < width)?;
    Some(row[end]).filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(name: &str, names: &[&str]) -> Vec<String> {
        let mut near = Near::to(name);
        for name in names {
            near.look_at(name.as_bytes(), || (*name != "SR:HIDDEN").then(|| (*name).to_owned()));
        }
        near.best()
    }

    #[test]
    fn what_is_mistyped_is_near() {
        let names = ["SR:CURRENT", "SR:LIFETIME", "BR:CURRENT", "SR:C01:BPM:X", "SR:HIDDEN"];
        assert_eq!(near("SR:CURENT", &names), ["SR:CURRENT", "BR:CURRENT"]);
        assert_eq!(near("sr:c01:bpm:y", &names), ["SR:C01:BPM:X"]);
        assert_eq!(near("SR:HIDEN", &names), Vec::<String>::new(), "what may not be seen is not told");
        assert!(near("SOMETHING:ELSE", &names).is_empty());
        let many: Vec<String> = (0..1000).map(|number| format!("SR:{number:04}")).collect();
        let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
        many.push("SR:12345");
        assert_eq!(near("SR:1234", &many), ["SR:0234", "SR:12345", "SR:0034"]);
    }

    #[test]
    fn words_that_the_name_before_has_are_known() {
        let known = |before: &str, name: &str| known_words(before.as_bytes(), name.as_bytes());
        assert_eq!(known("", "SR:C01"), 0);
        assert_eq!(known("SR:C01:PS1", "SR:C01:PS2"), 7);
        assert_eq!(known("SR01C:MG:PS1:Current", "SR01C:MG:PS1:Lifetime"), 13);
        assert_eq!(known("SR:C01", "SR:C01:X"), 3, "a word that ends where the name before does is looked at again");
        assert_eq!(known("SR:C0", "SR:C01"), 3);
        assert_eq!(known("Größe:a", "Größe:b"), "Größe:".len());
        assert_eq!(known("Größe", "Grüße"), 0, "a letter of two bytes is not cut");
    }

    /// By the whole table.
    fn plain(a: &[u8], b: &[u8]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (index, letter) in a.iter().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], index + 1);
            for (column, other) in b.iter().enumerate() {
                let changed = diagonal + usize::from(letter != other);
                diagonal = row[column + 1];
                row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn the_band_has_what_the_whole_table_has(a in "[ab:]{0,9}", b in "[ab:]{0,9}", most in 1..=LETTERS_MAX) {
            let plain = plain(a.as_bytes(), b.as_bytes());
            prop_assert_eq!(distance(a.as_bytes(), b.as_bytes(), most), (plain <= most).then_some(plain));
        }
    }
}
