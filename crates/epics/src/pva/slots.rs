//! Numbers for things that come and go: a number is not used again soon, so that a late answer meets nothing
//! instead of a stranger.
//!
//! ```text
//!   id := generation (8 bits) place (24 bits)
//! ```

/// A table with up to 16,777,216 places.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u8,
    content: Option<T>,
}

const PLACE_BITS: u32 = 24;
const PLACE_MASK: u32 = (1 << PLACE_BITS) - 1;

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// Puts something in and returns its number.
    pub(crate) fn insert(&mut self, content: T) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, content: None });
            (self.slots.len() - 1) as u32
        });
        assert!(place <= PLACE_MASK, "16 million subscriptions at once are beyond any archive");
        let slot = &mut self.slots[place as usize];
        slot.content = Some(content);
        u32::from(slot.generation) << PLACE_BITS | place
    }

    /// Takes it out again.
    pub(crate) fn remove(&mut self, id: u32) -> Option<T> {
        let slot = self.slots.get_mut((id & PLACE_MASK) as usize)?;
        if u32::from(slot.generation) != id >> PLACE_BITS {
            return None;
        }
        let content = slot.content.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id & PLACE_MASK);
        Some(content)
    }

    /// What has that number.
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        let slot = self.slots.get_mut((id & PLACE_MASK) as usize)?;
        if u32::from(slot.generation) == id >> PLACE_BITS { slot.content.as_mut() } else { None }
    }

    /// Everything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.content.as_ref())
    }

    /// Everything, emptying the table.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        self.free.clear();
        self.slots.drain(..).filter_map(|slot| slot.content)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_number_meets_nothing() {
        let mut slots = Slots::default();
        let first = slots.insert('a');
        assert_eq!(slots.remove(first), Some('a'));
        let second = slots.insert('b');
        assert_eq!(slots.get_mut(first), None);
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.get_mut(second), Some(&mut 'b'));
        assert_eq!(slots.len(), 1);
    }
}
