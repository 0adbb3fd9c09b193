//! Processes of one name that ask one place: a server that forks for each client, a job that is started again and again.
//!
//! In: who sent where. Out: of [`FEWEST`] processes or more, the one under which all are told.

use std::collections::{BTreeMap, BTreeSet};

use super::{Key, TurnRow};
use crate::facts::Facts;
use crate::name::Name;

/// Fewest processes; fewer are told one by one.
const FEWEST: usize = 3;

/// By key of a process, that of its crowd.
pub(super) struct Crowds(BTreeMap<Key, Key>);

impl Crowds {
    pub(super) fn of<'f>(facts: &Facts, turns: impl Iterator<Item = (Key, &'f TurnRow)>) -> Crowds {
        let mut by: BTreeMap<(Name, Option<u32>, String), BTreeSet<Key>> = BTreeMap::new();
        for (key, t) in turns {
            let name = facts.processes.get(&key.0).map_or(t.task, |p| p.1);
            if !name.is_empty() {
                by.entry((name, key.1, key.2.clone())).or_default().insert(key);
            }
        }
        let mut of = BTreeMap::new();
        for keys in by.into_values().filter(|keys| keys.len() >= FEWEST) {
            if let Some(first) = keys.first().cloned() {
                of.extend(keys.into_iter().map(|key| (key, first.clone())));
            }
        }
        Crowds(of)
    }

    /// The key under which those of this one are told.
    pub(super) fn told(&self, key: Key) -> Key {
        self.0.get(&key).cloned().unwrap_or(key)
    }
}
