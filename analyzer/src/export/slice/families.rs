//! Lives that are related: union-find over edges of the lineage.

use crate::facts::SkbId;

/// Sets of lives.
#[derive(Debug, Clone)]
pub struct Families {
    parent: Vec<u32>,
}

impl Families {
    /// Every life alone.
    pub fn new(lives: usize) -> Families {
        Families {
            parent: (0..u32::try_from(lives).unwrap_or(u32::MAX)).collect(),
        }
    }

    /// The life that stands for the family of `skb`.
    pub fn of(&mut self, skb: SkbId) -> usize {
        let mut at = skb.0;
        loop {
            let up = self.parent.get(at as usize).copied().unwrap_or(at);
            if up == at {
                return at as usize;
            }
            // Halves the way for the next one.
            let above = self.parent.get(up as usize).copied().unwrap_or(up);
            if let Some(p) = self.parent.get_mut(at as usize) {
                *p = above;
            }
            at = above;
        }
    }

    /// They are related.
    pub fn join(&mut self, a: SkbId, b: SkbId) {
        let (a, b) = (self.of(a), self.of(b));
        if let Some(p) = self.parent.get_mut(a.max(b)) {
            *p = a.min(b) as u32;
        }
    }
}
