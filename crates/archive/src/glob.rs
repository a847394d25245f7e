//! Globs: patterns in which `*` is any text and `?` one character, wherever they are typed. All else stands for itself.
//!
//! Names are compared byte by byte: that takes a tenth of the time of the regular expression that says the same
//! (`cargo test --release -p web a_search_in_a_million -- --ignored --nocapture`). Where case does not count, that expression is
//! compared instead.

/// A glob, which must fit a whole name, case included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glob<'g>(pub &'g str);

impl<'g> Glob<'g> {
    /// Whether it fits a whole name. Only the last `*` is ever widened: what an earlier one takes stays right, as the
    /// text behind it was found as far to the left as can be.
    pub fn fits(self, name: &str) -> bool {
        let (glob, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut at, mut from, mut star) = (0, 0, None);
        while let Some(byte) = name.get(from) {
            match glob.get(at) {
                Some(b'*') => {
                    at += 1;
                    star = Some((at, from));
                }
                Some(b'?') if width(*byte) > 0 => {
                    at += 1;
                    from += width(*byte);
                }
                Some(wanted) if wanted == byte => {
                    at += 1;
                    from += 1;
                }
                _ => {
                    let Some((behind, taken)) = star else { return false };
                    (at, from) = (behind, taken + 1);
                    star = Some((behind, from));
                }
            }
        }
        glob[at..].iter().all(|byte| *byte == b'*')
    }

    /// Whether there could be a name that begins so, goes on, and fits.
    pub fn fits_longer(self, beginning: &str) -> bool {
        let glob: Vec<char> = self.0.chars().collect();
        // Each place in the glob that what was read so far may have come to. A star may stand for nothing.
        let pass_stars = |places: &mut Vec<bool>| {
            for (place, wanted) in glob.iter().enumerate() {
                if *wanted == '*' && places[place] {
                    places[place + 1] = true;
                }
            }
        };
        let mut places = vec![false; glob.len() + 1];
        places[0] = true;
        pass_stars(&mut places);
        for character in beginning.chars() {
            let mut next = vec![false; glob.len() + 1];
            for (place, wanted) in glob.iter().enumerate().filter(|(place, _)| places[*place]) {
                match wanted {
                    '*' => next[place] = true,
                    '?' => next[place + 1] = true,
                    wanted => next[place + 1] |= *wanted == character,
                }
            }
            places = next;
            pass_stars(&mut places);
        }
        places[..glob.len()].contains(&true)
    }

    /// The longest text that is in all names that fit, the first of several; empty if there is none.
    pub fn literal(self) -> &'g str {
        self.0.split(['*', '?']).rev().max_by_key(|piece| piece.len()).unwrap_or_default()
    }

    /// The regular expression that says the same.
    pub fn regex(self) -> String {
        let mut pattern = String::from("^");
        for character in self.0.chars() {
            match character {
                '*' => pattern.push_str(".*"),
                '?' => pattern.push('.'),
                other => pattern.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
            }
        }
        pattern.push('$');
        pattern
    }
}

/// How many bytes the character has that begins with this one; none within a character.
fn width(byte: u8) -> usize {
    match byte {
        0..0x80 => 1,
        0x80..0xc0 => 0,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_glob_fits_whole_names() {
        for (glob, name, expected) in [
            ("TEST:*", "TEST:A", true),
            ("TEST:*", "TEST:", true),
            ("TEST:*", "XTEST:A", false),
            ("test:*", "TEST:A", false),
            ("*:X", "A:X", true),
            ("*:X", "A:X:Y", false),
            ("*:X*Y", "A:X:X1Y", true),
            ("S?:*", "S1:A", true),
            ("S?:*", "S:A", false),
            ("S?:*", "Sö:A", true),
            ("S??:*", "Sö:A", false),
            ("*", "", true),
            ("", "A", false),
            ("**A", "BA", true),
            ("A.[1]", "A.[1]", true),
            ("A.[1]", "AB1", false),
        ] {
            assert_eq!(Glob(glob).fits(name), expected, "{glob} {name}");
        }
    }

    #[test]
    fn a_glob_that_no_name_with_that_beginning_could_fit_is_known() {
        for (glob, beginning, expected) in [
            ("*.wave", "A.", true),
            ("A.*", "A.", true),
            ("A.", "A.", false),
            ("A.?", "A.", true),
            ("B.*", "A.", false),
            ("A:*.x.y", "A:B.", true),
            ("*.HIHI", "A.", true),
            ("A", "A.", false),
            ("?.x", "AB.", false),
            ("A*B.x", "AXB.", true),
            ("", "A.", false),
        ] {
            assert_eq!(Glob(glob).fits_longer(beginning), expected, "{glob} {beginning}");
        }
    }

    #[test]
    fn the_longest_literal_is_the_first_of_equal_ones() {
        assert_eq!(Glob("*SR05?:*:VAL2").literal(), ":VAL2");
        assert_eq!(Glob("SR05:*:VAL2").literal(), "SR05:");
        assert_eq!(Glob("??*").literal(), "");
    }

    proptest! {
        /// Few letters, so that much fits; some of two and three bytes.
        #[test]
        fn a_glob_says_what_its_regular_expression_says(glob in "[abö℃*?.]{0,7}", name in "[abö℃.]{0,8}") {
            let regex = regex::Regex::new(&Glob(&glob).regex()).unwrap();
            prop_assert_eq!(Glob(&glob).fits(&name), regex.is_match(&name));
            prop_assert!(!Glob(&glob).fits(&name) || name.contains(Glob(&glob).literal()));
        }

        /// A name that fits goes on from each of its beginnings.
        #[test]
        fn each_beginning_of_a_name_that_fits_could_go_on(glob in "[abö℃*?.]{0,7}", name in "[abö℃.]{1,8}") {
            for (end, _) in name.char_indices().filter(|_| Glob(&glob).fits(&name)) {
                prop_assert!(Glob(&glob).fits_longer(&name[..end]), "{} from {}", name, end);
            }
        }

        /// What could go on does, with some end of the letters of the glob.
        #[test]
        fn a_beginning_that_cannot_go_on_fits_with_no_end(glob in "[ab*?]{0,4}", name in "[ab]{0,3}") {
            let letter = |bits: u32, at: u32| if bits >> at & 1 == 0 { 'a' } else { 'b' };
            let end = |bits, len| (0..len).map(|at| letter(bits, at)).collect::<String>();
            let mut ends = (1..=5).flat_map(|len| (0..1 << len).map(move |bits| end(bits, len)));
            let goes_on = ends.any(|end| Glob(&glob).fits(&format!("{name}{end}")));
            prop_assert_eq!(Glob(&glob).fits_longer(&name), goes_on);
        }
    }
}
