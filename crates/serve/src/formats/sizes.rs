//! How long the lines of an answer are, as far as those tell that have been written: so much room is taken for the next.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// A line of the first piece; later ones have what those before them took.
const LINE_BYTES: usize = 64;

/// Shared by all that write lines of an answer.
#[derive(Clone)]
pub(crate) struct LineBytes(Arc<AtomicUsize>);

impl Default for LineBytes {
    fn default() -> LineBytes {
        LineBytes(Arc::new(AtomicUsize::new(LINE_BYTES)))
    }
}

impl LineBytes {
    /// What so many lines may take.
    pub(crate) fn of(&self, lines: usize) -> usize {
        self.0.load(Relaxed).saturating_mul(lines)
    }

    /// Makes room for so many lines, and notes what `put` took of it.
    pub(crate) fn written(&self, out: &mut Vec<u8>, lines: usize, put: impl FnOnce(&mut Vec<u8>)) {
        let before = out.len();
        out.reserve_exact(self.of(lines));
        put(out);
        if let Some(bytes) = (out.len() - before).checked_div(lines) {
            self.0.store(bytes + 2, Relaxed);
        }
    }
}
