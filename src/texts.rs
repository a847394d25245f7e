//! Texts in files of others: UTF-8, with or without a mark at the beginning, or Latin-1, as many a database writes them.

use std::{fs, path::Path};

use crate::failure::Failure;

/// A whole file as text.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(text(bytes))
}

/// Bytes that are no UTF-8 are one letter each.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    let bytes = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(behind_mark) => behind_mark.to_vec(),
        None => bytes,
    };
    String::from_utf8(bytes).unwrap_or_else(|other| other.into_bytes().into_iter().map(char::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_in_utf_8_and_in_latin_1() {
        for bytes in ["µA °C".as_bytes(), "\u{feff}µA °C".as_bytes(), b"\xb5A \xb0C"] {
            assert_eq!(text(bytes.to_vec()), "µA °C");
        }
    }
}
