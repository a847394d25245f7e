//! The codecs: how the columns of a block become few bytes. Each column begins with the tag of its codec; the writer tries what
//! may fit and keeps the smallest.
//!
//! | column | file | tags |
//! |---|---|---|
//! | times | `time.rs` | step, linear, delta, ticks |
//! | integers, and lengths of all kinds | `int.rs` | constant, packed, delta, runs, pco, patched, patched delta, dictionary |
//! | floats | `float.rs` | constant, plain, pco, scaled, dictionary, grid, ordered, sorted dictionary |
//! | stamps out of the ordinary | `stamp.rs` | |
//! | texts | `text.rs` | list, dictionary |
//! | structures | `structure.rs` | those of texts, columns |
//! | arrays | `array.rs` | column, shuffled, differences, cells, pieces |

pub(crate) mod array;
pub(crate) mod bits;
pub(crate) mod cells;
pub(crate) mod float;
pub(crate) mod frames;
pub(crate) mod grid;
pub(crate) mod int;
pub(crate) mod limits;
pub(crate) mod pieces;
pub(crate) mod plain;
pub(crate) mod room;
pub(crate) mod stamp;
pub(crate) mod structure;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod values;
pub(crate) mod window;

/// Below this pco is slow and large (270 ns a sample at 100 samples, against 10 ns of the packer); the packer serves.
const PCO_ROWS_MIN: usize = 512;

/// Bytes a number that pco must save to be worth its time.
const PCO_SAVES_MIN: f64 = 0.25;

/// How hard to try: blocks of a flush are written while samples arrive, those of a merge when there is time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Soon: more of the same come.
    Flush,
    /// Well: what is written now stays.
    Merge,
}

impl Effort {
    fn pco(self) -> pco::ChunkConfig {
        let level = match self {
            Effort::Flush => 4,
            Effort::Merge => 8,
        };
        pco::ChunkConfig::default().with_compression_level(level)
    }
}

/// What stands for a column so far: bytes from `start` on, or, if there are none yet, so many that need not be written to be
/// known.
pub(crate) struct Best {
    pub(crate) start: usize,
    pub(crate) len: usize,
}

impl Best {
    /// What was written from `start` on.
    pub(crate) fn written(out: &[u8], start: usize) -> Best {
        Best { start, len: out.len() - start }
    }

    /// Writes the column another way, which stays if it is smaller by more than `saved`. `other` tells whether it can be.
    pub(crate) fn replace_if(
        &mut self,
        out: &mut Vec<u8>,
        saved: usize,
        other: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> bool {
        let end = out.len();
        let smaller = other(out) && out.len() - end + saved < self.len;
        if smaller {
            self.len = out.len() - end;
            out.copy_within(end.., self.start);
            out.truncate(self.start + self.len);
        } else {
            out.truncate(end);
        }
        smaller
    }
}
