//! Units in a row, each at a place that it can be found by. One that left is skipped when the row comes to it.

use std::collections::VecDeque;

use super::units::UnitId;

/// A row of units.
#[derive(Debug, Default)]
pub struct Line {
    /// Place of the first.
    start: u64,
    of: VecDeque<UnitId>,
}

impl Line {
    /// Appends; returns its place.
    pub fn push(&mut self, unit: UnitId) -> u64 {
        let place = self.end();
        self.of.push_back(unit);
        place
    }
    /// The place of the first.
    pub fn start(&self) -> u64 {
        self.start
    }
    /// The place that the next will have.
    pub fn end(&self) -> u64 {
        self.start + self.of.len() as u64
    }
    /// Takes the first away, there or not.
    pub fn pop(&mut self) -> Option<UnitId> {
        let unit = self.of.pop_front()?;
        self.start += 1;
        Some(unit)
    }
    /// The first that is still there.
    pub fn front(&mut self, there: impl Fn(UnitId, u64) -> bool) -> Option<(u64, UnitId)> {
        loop {
            let unit = *self.of.front()?;
            if there(unit, self.start) {
                return Some((self.start, unit));
            }
            self.pop();
        }
    }
    /// Takes those away from the end that have left.
    pub fn trim(&mut self, there: impl Fn(UnitId, u64) -> bool) {
        while let Some(unit) = self.of.back()
            && !there(*unit, self.end() - 1)
        {
            self.of.pop_back();
        }
    }
    /// Those from a place on.
    pub fn from(&self, place: u64) -> impl Iterator<Item = UnitId> {
        let at = place.saturating_sub(self.start) as usize;
        self.of.iter().skip(at).copied()
    }
    /// Takes those away from a place on.
    pub fn cut(&mut self, place: u64) -> VecDeque<UnitId> {
        let at = place.saturating_sub(self.start) as usize;
        self.of.split_off(at.min(self.of.len()))
    }
    /// Takes all away; returns those that were there.
    pub fn drain(&mut self, there: impl Fn(UnitId, u64) -> bool) -> Vec<UnitId> {
        let start = self.start;
        self.start = self.end();
        let all = std::mem::take(&mut self.of).into_iter();
        all.zip(start..)
            .filter(|(unit, place)| there(*unit, *place))
            .map(|(unit, _)| unit)
            .collect()
    }
}
