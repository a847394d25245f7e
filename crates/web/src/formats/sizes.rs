//! How long the lines of an answer are, as far as those tell that have been written: so much room is taken for the next.

/// A line of the first piece; later ones have what those before them took.
const LINE_BYTES: usize = 64;

#[derive(Clone, Copy)]
pub(crate) struct LineBytes(usize);

impl Default for LineBytes {
    fn default() -> LineBytes {
        LineBytes(LINE_BYTES)
    }
}

impl LineBytes {
    /// Makes room for so many lines behind what is there.
    pub(crate) fn make_room(self, out: &mut Vec<u8>, lines: usize) {
        out.reserve_exact(self.0.saturating_mul(lines));
    }

    /// So many lines took so many bytes.
    pub(crate) fn note(&mut self, lines: usize, bytes: usize) {
        if let Some(each) = bytes.checked_div(lines) {
            self.0 = each + 2;
        }
    }
}
