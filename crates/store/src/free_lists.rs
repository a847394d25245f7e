//! Spare memory: lists that a query has read from one segment and is done with serve it for the next one.
//!
//! Tables of a PV take hundreds of kilobytes. Given back to the system after each segment and asked for again, page by page, they
//! took as long as all else of a query of ten years. All threads share them: a thread for each waiting client would keep its own.

use std::sync::Mutex;

/// So many lists of a kind are kept, of at most so many bytes each.
const LISTS_MAX: usize = 8;
const LIST_BYTES_MAX: usize = 1 << 20;

/// What such lists are of.
pub(crate) trait Spare: Sized + 'static {
    fn spare() -> &'static Lists<Self>;
}

/// Lists of this type are kept.
macro_rules! kept {
    ($($of:ty)*) => {$(
        impl $crate::free_lists::Spare for $of {
            fn spare() -> &'static $crate::free_lists::Lists<$of> {
                static SPARE: $crate::free_lists::Lists<$of> = $crate::free_lists::Lists::new();
                &SPARE
            }
        }
    )*};
}

pub(crate) use kept;

kept!(u8 sample::Summary);

/// An empty list, which may have had other things in it.
pub(crate) fn take<T: Spare>() -> Vec<T> {
    T::spare().take()
}

/// Gives back a list that nobody needs any more.
pub(crate) fn give<T: Spare>(list: Vec<T>) {
    T::spare().give(list);
}

/// Lists of one kind.
pub(crate) struct Lists<T>(Mutex<Vec<Vec<T>>>);

impl<T> Lists<T> {
    pub(crate) const fn new() -> Lists<T> {
        Lists(Mutex::new(Vec::new()))
    }

    fn take(&self) -> Vec<T> {
        self.0.lock().expect("no holder of this lock panics").pop().unwrap_or_default()
    }

    fn give(&self, mut list: Vec<T>) {
        if list.capacity() == 0 || list.capacity() * size_of::<T>() > LIST_BYTES_MAX {
            return;
        }
        list.clear();
        let mut lists = self.0.lock().expect("no holder of this lock panics");
        if lists.len() < LISTS_MAX {
            lists.push(list);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_empty_but_not_the_largest_nor_too_many() {
        let lists = Lists(Mutex::default());
        lists.give(vec![7u8; 5000]);
        lists.give(vec![7u8; LIST_BYTES_MAX + 1]);
        let (first, second) = (lists.take(), lists.take());
        assert_eq!((first.len(), second.len(), second.capacity()), (0, 0, 0));
        assert!(first.capacity() >= 5000);
        (0..2 * LISTS_MAX).for_each(|_| lists.give(vec![7u8; 10]));
        assert_eq!((0..2 * LISTS_MAX).filter(|_| lists.take().capacity() > 0).count(), LISTS_MAX);
    }
}
