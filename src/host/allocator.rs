//! Memory: mimalloc's, but each large value has pages of its own from the system, which get them back as soon as it is gone.
//!
//! ```text
//!   < 4 MiB   mimalloc: what one thread has made and another has freed serves the first again
//!   ≥ 4 MiB   mmap, munmap
//! ```
//! Threads of the network make arrays and others free them. Of arrays of 8 MB and more mimalloc 2.3.2 never gave one back: with
//! 56 MB of them a second the program grew by 56 MB a second.

#![expect(unsafe_code, reason = "an allocator is nothing else")]

use std::{
    alloc::{GlobalAlloc, Layout},
    ptr::{self, null_mut},
};

use mimalloc::MiMalloc;
use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, munmap};

const LARGE_BYTES_MIN: usize = 4 << 20;

/// Pages of every system begin at multiples of this.
const PAGE_ALIGN: usize = 4096;

pub(crate) struct Memory;

/// Whether a value has pages of its own. Each call is told the layout that the value has, so all agree on it.
fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE_BYTES_MIN && layout.align() <= PAGE_ALIGN
}

/// Pages full of zeros; null if there are none.
fn map(size: usize) -> *mut u8 {
    // SAFETY: the system chooses the place, so that nothing that is there is lost.
    let mapped = unsafe { mmap_anonymous(null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) };
    mapped.map_or(null_mut(), <*mut _>::cast)
}

// SAFETY: a small value is mimalloc's from beginning to end. A large one has a mapping to itself, of at least its size, which begins
// at a page and so at a multiple of its alignment, and which lasts until it is freed or moved.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout is the caller's, who vouches for it.
        if is_large(layout) { map(layout.size()) } else { unsafe { MiMalloc.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        if is_large(layout) { map(layout.size()) } else { unsafe { MiMalloc.alloc_zeroed(layout) } }
    }

    unsafe fn dealloc(&self, value: *mut u8, layout: Layout) {
        if is_large(layout) {
            // SAFETY: a large value of this layout was mapped by `map` or `mremap`, and nobody uses it any more. If the system keeps
            // the pages nevertheless, they are lost, and nothing else is.
            let _ = unsafe { munmap(value.cast(), layout.size()) };
        } else {
            // SAFETY: a small value is mimalloc's.
            unsafe { MiMalloc.dealloc(value, layout) }
        }
    }

    unsafe fn realloc(&self, value: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller vouches for the size, as for that of a layout.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (is_large(layout), is_large(wanted)) {
            // SAFETY: a small value is mimalloc's, before and after.
            (false, false) => unsafe { MiMalloc.realloc(value, layout, size) },
            (true, true) => {
                // SAFETY: the whole mapping is that of the value.
                let moved = unsafe { mremap(value.cast(), layout.size(), size, MremapFlags::MAYMOVE) };
                moved.map_or(null_mut(), <*mut _>::cast)
            }
            _ => {
                // SAFETY: both values are of their layouts and apart from each other, and the old one is freed once.
                unsafe {
                    let to = self.alloc(wanted);
                    if !to.is_null() {
                        ptr::copy_nonoverlapping(value, to, size.min(layout.size()));
                        self.dealloc(value, layout);
                    }
                    to
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Grows and shrinks values across the border, in every direction, beside others.
    #[test]
    fn what_a_value_holds_stays_while_it_grows_and_shrinks() {
        let sizes = [100, LARGE_BYTES_MIN - 1, LARGE_BYTES_MIN, 3 * LARGE_BYTES_MIN + 5, 1000, 2 * LARGE_BYTES_MIN, 9];
        for align in [1, 64, PAGE_ALIGN, 4 * PAGE_ALIGN] {
            let layout = |size: usize| Layout::from_size_align(size, align).expect("it is a power of two");
            // SAFETY: each value is written and read within its size, and freed once with its layout.
            unsafe {
                let mut value = Memory.alloc_zeroed(layout(sizes[0]));
                let other = Memory.alloc(layout(LARGE_BYTES_MIN));
                assert_eq!(*value.add(99), 0);
                for (before, after) in sizes.iter().zip(&sizes[1..]) {
                    *value = 7;
                    *value.add(before - 1) = 8;
                    *value.add(8) = 9;
                    value = Memory.realloc(value, layout(*before), *after);
                    assert_eq!(value.align_offset(align), 0);
                    assert_eq!((*value, *value.add(8)), (7, 9));
                    assert!(after < before || *value.add(before - 1) == 8);
                }
                Memory.dealloc(other, layout(LARGE_BYTES_MIN));
                Memory.dealloc(value, layout(sizes[sizes.len() - 1]));
            }
        }
    }

    fn resident() -> u64 {
        let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
        statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).map_or(0, |pages: u64| pages * PAGE_ALIGN as u64)
    }

    #[test]
    fn large_values_that_another_thread_frees_go_back_to_the_system() {
        let (sender, receiver) = std::sync::mpsc::sync_channel::<Vec<u8>>(2);
        let freeing = std::thread::spawn(move || receiver.into_iter().map(|value| u64::from(value[77])).sum::<u64>());
        let before = resident();
        for _ in 0..100 {
            sender.send(vec![1; 10 << 20]).expect("the other thread runs");
        }
        assert!(resident() < before + (200 << 20), "a gigabyte was freed, and is still there");
        drop(sender);
        assert_eq!(freeing.join().expect("it sums up"), 100);
    }
}
