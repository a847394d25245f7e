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
//! | arrays | `array.rs` | column, shuffled, differences, cells |

pub(crate) mod array;
pub(crate) mod bits;
pub(crate) mod cells;
pub(crate) mod float;
pub(crate) mod grid;
pub(crate) mod int;
pub(crate) mod stamp;
pub(crate) mod structure;
pub(crate) mod text;
pub(crate) mod time;
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

/// Puts other bytes in place of those from `start` on, if they are fewer by so many.
pub(crate) fn replace_if(out: &mut Vec<u8>, start: usize, saved: usize, other: impl FnOnce() -> Option<Vec<u8>>) {
    if let Some(other) = other()
        && other.len() + saved < out.len() - start
    {
        out.truncate(start);
        out.extend_from_slice(&other);
    }
}
