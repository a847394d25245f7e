//! Pages: where plain numbers lie until there are enough of them for a batch.
//!
//! ```text
//!   lane of a PV ──► page ──► page ──► page        15 rows each: (time, value in 64 bits, number of its alarm)
//! ```
//! 150,000 PVs that send one sample now and then would each need vectors that grow; a page is one allocation for none of them.
//! The first pages of a lane come one by one; a lane that has more takes them in groups that lie side by side, so that whoever
//! reads or fills it does not wait for memory at each page.
//!
//! Its size is no power of two, so that the same row of many pages does not fall into the same lines of the cache.

use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

use sample::{Column, Element, Timestamp};

pub(super) const PAGE_ROWS: usize = 15;
pub(super) const PAGE_BYTES: usize = size_of::<Page>();
/// So many pages of a lane come one by one, and so many of the others at once.
const LONE_PAGES: usize = 8;
const GROUP_PAGES: usize = 8;
/// Pages are taken from the allocator so many at a time: whole groups.
const SLAB_PAGES: usize = 256;
const NO_PAGE: u32 = u32::MAX;

/// Time and value of a row lie side by side, and an alarm is only written if there is one: so a sample touches one line of the
/// cache, which is what it costs with more PVs than the cache has room for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    rows: [Row; PAGE_ROWS],
    /// Those of rows that are not filled yet are 0.
    alarms: [u16; PAGE_ROWS],
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    time: i64,
    value: u64,
}

const EMPTY: Page = Page { rows: [Row { time: 0, value: 0 }; PAGE_ROWS], alarms: [0; PAGE_ROWS], next: NO_PAGE };

/// Slabs of heads that were flushed, for the heads that come: memory that is there costs less than new memory.
#[derive(Debug)]
pub(crate) struct SlabPool {
    slabs: Mutex<Vec<Box<[Page]>>>,
    slabs_max: usize,
}

impl SlabPool {
    /// Keeps at most so many bytes.
    pub(crate) fn new(bytes_max: usize) -> SlabPool {
        SlabPool { slabs: Mutex::default(), slabs_max: bytes_max / (SLAB_PAGES * PAGE_BYTES) }
    }

    fn take(&self) -> Box<[Page]> {
        let slab = self.slabs.lock().expect("no holder of this lock panics").pop();
        slab.unwrap_or_else(|| vec![EMPTY; SLAB_PAGES].into_boxed_slice())
    }

    #[cfg(test)]
    pub(super) fn slabs(&self) -> usize {
        self.slabs.lock().expect("no holder of this lock panics").len()
    }

    fn give_back(&self, returned: Vec<Box<[Page]>>) {
        let mut slabs = self.slabs.lock().expect("no holder of this lock panics");
        let room = self.slabs_max.saturating_sub(slabs.len());
        slabs.extend(returned.into_iter().take(room));
    }
}

/// The rows of one PV in pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
    rows: u32,
}

impl Chain {
    pub(super) const EMPTY: Chain = Chain { first: NO_PAGE, last: NO_PAGE, rows: 0 };

    pub(super) fn len(&self) -> usize {
        self.rows as usize
    }

    fn pages(&self) -> usize {
        self.len().div_ceil(PAGE_ROWS)
    }

    /// Memory of its pages, also of those of its last group that are empty.
    pub(super) fn bytes(&self) -> usize {
        let in_groups = self.pages().saturating_sub(LONE_PAGES).next_multiple_of(GROUP_PAGES);
        (self.pages().min(LONE_PAGES) + in_groups) * PAGE_BYTES
    }
}

/// All pages of a head.
#[derive(Debug)]
pub(super) struct Pages {
    pool: Arc<SlabPool>,
    slabs: Vec<Box<[Page]>>,
    /// How many pages of the slabs were ever used.
    used: u32,
    /// The first of those that are free again, and the first page of the first group that is.
    free: u32,
    free_groups: u32,
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.slabs));
    }
}

impl Pages {
    pub(super) fn new(pool: Arc<SlabPool>) -> Pages {
        Pages { pool, slabs: Vec::new(), used: 0, free: NO_PAGE, free_groups: NO_PAGE }
    }

    /// Adds a row to a chain, and tells how many bytes of memory that took.
    #[inline]
    pub(super) fn push(&mut self, chain: &mut Chain, time: Timestamp, value: u64, alarm: u16) -> usize {
        let row = chain.rows as usize % PAGE_ROWS;
        let bytes = if row == 0 { self.add_page(chain) } else { 0 };
        chain.rows += 1;
        let page = self.page_mut(chain.last);
        page.rows[row] = Row { time: time.nanos(), value };
        if alarm != 0 {
            page.alarms[row] = alarm;
        }
        bytes
    }

    /// Adds some rows of a column of single numbers, all with one alarm, and tells how many bytes of memory that took.
    pub(super) fn extend(
        &mut self,
        chain: &mut Chain,
        times: &[Timestamp],
        values: &Column,
        rows: Range<usize>,
        alarm: u16,
    ) -> usize {
        match values {
            Column::Bool(v) => self.extend_by(chain, times, &v[rows], alarm, |v| u64::from(*v)),
            Column::I8(v) => self.extend_by(chain, times, &v[rows], alarm, |v| *v as u64),
            Column::U8(v) => self.extend_by(chain, times, &v[rows], alarm, |v| u64::from(*v)),
            Column::I16(v) => self.extend_by(chain, times, &v[rows], alarm, |v| *v as u64),
            Column::U16(v) => self.extend_by(chain, times, &v[rows], alarm, |v| u64::from(*v)),
            Column::I32(v) | Column::Enum(v) => self.extend_by(chain, times, &v[rows], alarm, |v| *v as u64),
            Column::U32(v) => self.extend_by(chain, times, &v[rows], alarm, |v| u64::from(*v)),
            Column::I64(v) => self.extend_by(chain, times, &v[rows], alarm, |v| *v as u64),
            Column::U64(v) => self.extend_by(chain, times, &v[rows], alarm, |v| *v),
            Column::F32(v) => self.extend_by(chain, times, &v[rows], alarm, |v| u64::from(v.to_bits())),
            Column::F64(v) => self.extend_by(chain, times, &v[rows], alarm, |v| v.to_bits()),
            Column::String(_) | Column::Structure(_) | Column::Array(_) => unreachable!("only numbers get into pages"),
        }
    }

    /// Page by page, so that each is looked for once.
    fn extend_by<T>(
        &mut self,
        chain: &mut Chain,
        mut times: &[Timestamp],
        mut values: &[T],
        alarm: u16,
        bits: impl Fn(&T) -> u64,
    ) -> usize {
        let mut bytes = 0;
        while !times.is_empty() {
            let row = chain.rows as usize % PAGE_ROWS;
            bytes += if row == 0 { self.add_page(chain) } else { 0 };
            let count = times.len().min(PAGE_ROWS - row);
            let (some_times, some_values);
            (some_times, times) = times.split_at(count);
            (some_values, values) = values.split_at(count);
            let page = self.page_mut(chain.last);
            let rows = page.rows[row..row + count].iter_mut();
            for ((to, time), value) in rows.zip(some_times).zip(some_values) {
                *to = Row { time: time.nanos(), value: bits(value) };
            }
            if alarm != 0 {
                page.alarms[row..row + count].fill(alarm);
            }
            chain.rows += count as u32;
        }
        bytes
    }

    /// Adds a page to a chain whose pages are full, and tells what that took.
    fn add_page(&mut self, chain: &mut Chain) -> usize {
        let (page, taken) = match chain.pages().checked_sub(LONE_PAGES) {
            None => (self.new_page(), 1),
            Some(grouped) if grouped.is_multiple_of(GROUP_PAGES) => (self.new_group(), GROUP_PAGES),
            Some(_) => (chain.last + 1, 0),
        };
        self.page_mut(page).alarms = [0; PAGE_ROWS];
        match chain.rows {
            0 => chain.first = page,
            _ => self.page_mut(chain.last).next = page,
        }
        chain.last = page;
        taken * PAGE_BYTES
    }

    fn new_page(&mut self) -> u32 {
        if self.free != NO_PAGE {
            let page = self.free;
            self.free = self.page(page).next;
            return page;
        }
        self.unused(1)
    }

    fn new_group(&mut self) -> u32 {
        if self.free_groups != NO_PAGE {
            let group = self.free_groups;
            self.free_groups = self.page(group).next;
            return group;
        }
        while !(self.used as usize).is_multiple_of(GROUP_PAGES) {
            let skipped = self.unused(1);
            self.page_mut(skipped).next = self.free;
            self.free = skipped;
        }
        self.unused(GROUP_PAGES)
    }

    /// Pages that were never used.
    fn unused(&mut self, count: usize) -> u32 {
        if self.used as usize == self.slabs.len() * SLAB_PAGES {
            self.slabs.push(self.pool.take());
        }
        self.used += count as u32;
        self.used - count as u32
    }

    fn page(&self, page: u32) -> &Page {
        &self.slabs[page as usize / SLAB_PAGES][page as usize % SLAB_PAGES]
    }

    fn page_mut(&mut self, page: u32) -> &mut Page {
        &mut self.slabs[page as usize / SLAB_PAGES][page as usize % SLAB_PAGES]
    }

    /// The pages of a chain, each with how many of its rows are filled.
    fn pages(&self, chain: Chain) -> impl Iterator<Item = (&Page, usize)> {
        let mut next = chain.first;
        let mut left = chain.len();
        std::iter::from_fn(move || {
            let page = (left > 0).then(|| self.page(next))?;
            let rows = left.min(PAGE_ROWS);
            left -= rows;
            next = page.next;
            Some((page, rows))
        })
    }

    pub(super) fn times(&self, chain: Chain) -> Vec<Timestamp> {
        let mut times = Vec::with_capacity(chain.len());
        for (page, rows) in self.pages(chain) {
            times.extend(page.rows[..rows].iter().map(|row| Timestamp::from_nanos(row.time)));
        }
        times
    }

    /// The numbers of the alarms, each with how many rows in a row have it.
    pub(super) fn alarms(&self, chain: Chain) -> Vec<(u16, usize)> {
        let mut runs: Vec<(u16, usize)> = Vec::new();
        for (page, rows) in self.pages(chain) {
            let alarms = &page.alarms[..rows];
            if let Some((last, count)) = runs.last_mut()
                && page.alarms[..rows] == [*last; PAGE_ROWS][..rows]
            {
                *count += rows;
                continue;
            }
            for alarms in alarms.chunk_by(|a, b| a == b) {
                match runs.last_mut() {
                    Some((last, count)) if *last == alarms[0] => *count += alarms.len(),
                    _ => runs.push((alarms[0], alarms.len())),
                }
            }
        }
        runs
    }

    pub(super) fn values(&self, chain: Chain, element: Element) -> Column {
        macro_rules! column {
            ($variant:ident, $bits:ident => $number:expr) => {{
                let mut numbers = Vec::with_capacity(chain.len());
                for (page, rows) in self.pages(chain) {
                    numbers.extend(page.rows[..rows].iter().map(|Row { value: $bits, .. }| $number));
                }
                Column::$variant(numbers)
            }};
        }
        match element {
            Element::Bool => column!(Bool, bits => *bits != 0),
            Element::I8 => column!(I8, bits => *bits as i8),
            Element::U8 => column!(U8, bits => *bits as u8),
            Element::I16 => column!(I16, bits => *bits as i16),
            Element::U16 => column!(U16, bits => *bits as u16),
            Element::I32 => column!(I32, bits => *bits as i32),
            Element::U32 => column!(U32, bits => *bits as u32),
            Element::I64 => column!(I64, bits => *bits as i64),
            Element::U64 => column!(U64, bits => *bits),
            Element::F32 => column!(F32, bits => f32::from_bits(*bits as u32)),
            Element::F64 => column!(F64, bits => f64::from_bits(*bits)),
            Element::Enum => column!(Enum, bits => *bits as i32),
            Element::String | Element::Structure => unreachable!("only numbers get into pages"),
        }
    }

    /// Gives the pages of a chain back.
    pub(super) fn free(&mut self, chain: &mut Chain) {
        let (mut page, mut given_back) = (chain.first, 0);
        while given_back < chain.pages() {
            let is_group = given_back >= LONE_PAGES;
            let count = if is_group { GROUP_PAGES.min(chain.pages() - given_back) } else { 1 };
            let next = self.page(page + count as u32 - 1).next; // of the last page it is nothing
            let free = if is_group { &mut self.free_groups } else { &mut self.free };
            let before = std::mem::replace(free, page);
            self.page_mut(page).next = before;
            page = next;
            given_back += count;
        }
        *chain = Chain::EMPTY;
    }
}
