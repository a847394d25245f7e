//! How much one block holds.

/// Samples in a block. 8192 is where the gain of larger blocks ends: pco gave 0.86 bytes a value at 512, 0.74 at 8192, 0.84 at
/// 32768 (16-bit ADC).
pub(crate) const BLOCK_ROWS_MAX: usize = 8192;

/// Bytes of arrays, texts and structures in a block, uncompressed. One sample may be larger; it has a block of its own.
pub(crate) const BLOCK_BYTES_MAX: usize = 256 << 10;

/// Bytes of arrays in a block, uncompressed, where little changes from one array to the next: only the first is stored in full, and
/// this is what it is divided by. Frames of 80 KB would stay at 3:1 with the limit above.
const FRAMES_BYTES: usize = 16 << 20;

/// More may they have where these would be fewer than so many arrays, up to so many bytes: a waveform of 400 KB whose noise stays the
/// same would else be at 39:1. A single value may be three times as large, so that readers have room for this anyway.
const FRAMES_MIN: usize = 100;

pub(crate) const FRAMES_BYTES_MAX: usize = 40 << 20;

/// How many bytes arrays of so many each may have in a block, where little changes from one to the next.
pub(crate) fn frames_bytes_max(array_bytes: usize) -> usize {
    array_bytes.saturating_mul(FRAMES_MIN).clamp(FRAMES_BYTES, FRAMES_BYTES_MAX)
}
