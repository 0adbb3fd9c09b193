//! Units on their way. A place is re-used once nothing can ask for its unit any more, so memory follows what is alive.

use super::unit::Unit;

/// Names a unit; never means another one later. Ordered by arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnitId {
    nth: u64,
    slot: u32,
}

/// The units.
#[derive(Debug, Default)]
pub struct Units {
    slots: Vec<Option<(u64, Unit)>>,
    free: Vec<u32>,
    arrived: u64,
}

impl Units {
    /// A new one.
    pub fn add(&mut self, unit: Unit) -> UnitId {
        let nth = self.arrived;
        self.arrived += 1;
        let slot = match self.free.pop() {
            Some(s) => s,
            None => {
                self.slots.push(None);
                (self.slots.len() - 1) as u32
            }
        };
        if let Some(s) = self.slots.get_mut(slot as usize) {
            *s = Some((nth, unit));
        }
        UnitId { nth, slot }
    }
    /// A unit that is still there.
    pub fn get(&self, id: UnitId) -> Option<&Unit> {
        let (nth, unit) = self.slots.get(id.slot as usize)?.as_ref()?;
        (*nth == id.nth).then_some(unit)
    }
    /// The same, to change it.
    pub fn get_mut(&mut self, id: UnitId) -> Option<&mut Unit> {
        let (nth, unit) = self.slots.get_mut(id.slot as usize)?.as_mut()?;
        (*nth == id.nth).then_some(unit)
    }
    /// Nothing asks for it any more.
    pub fn remove(&mut self, id: UnitId) {
        if self.get(id).is_some()
            && let Some(slot) = self.slots.get_mut(id.slot as usize)
        {
            *slot = None;
            self.free.push(id.slot);
        }
    }
    /// Forgets all.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
    }
    /// Units there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
