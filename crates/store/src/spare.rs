//! Spare memory: lists that a query has read from one segment and is done with serve it for the next one.
//!
//! Tables of a PV take hundreds of kilobytes. Given back to the system after each segment and asked for again, page by page, they
//! took as long as all else of a query of ten years.

use std::{cell::RefCell, thread::LocalKey};

use crate::{Summary, segment::Entry};

/// So many lists of a kind stay with a thread, of at most so many bytes each.
const LISTS_MAX: usize = 2;
const LIST_BYTES_MAX: usize = 1 << 20;

/// What such lists are of.
pub(crate) trait Spare: Sized + 'static {
    fn spare() -> &'static LocalKey<RefCell<Vec<Vec<Self>>>>;
}

macro_rules! spare {
    ($($of:ty)*) => {$(
        impl Spare for $of {
            fn spare() -> &'static LocalKey<RefCell<Vec<Vec<Self>>>> {
                thread_local!(static SPARE: RefCell<Vec<Vec<$of>>> = const { RefCell::new(Vec::new()) });
                &SPARE
            }
        }
    )*};
}

spare!(u8 Entry Summary);

/// An empty list, which may have had other things in it.
pub(crate) fn take<T: Spare>() -> Vec<T> {
    T::spare().try_with(|spare| spare.borrow_mut().pop()).ok().flatten().unwrap_or_default()
}

/// Gives back a list that nobody needs any more.
pub(crate) fn give<T: Spare>(mut list: Vec<T>) {
    if list.capacity() == 0 || list.capacity() * size_of::<T>() > LIST_BYTES_MAX {
        return;
    }
    list.clear();
    // A thread that ends has none.
    let _ = T::spare().try_with(|spare| {
        let mut spare = spare.borrow_mut();
        if spare.len() < LISTS_MAX {
            spare.push(list);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_empty_but_not_the_largest() {
        give(vec![7u8; 5000]);
        give(vec![7u8; LIST_BYTES_MAX + 1]);
        let (first, second) = (take::<u8>(), take::<u8>());
        assert_eq!((first.len(), second.len(), second.capacity()), (0, 0, 0));
        assert!(first.capacity() >= 5000);
    }
}
