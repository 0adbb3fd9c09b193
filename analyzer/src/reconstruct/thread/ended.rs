//! Threads that ended: when each left its CPU for the last time.

use rustc_hash::FxHashMap;

/// `EXIT_DEAD` and `EXIT_ZOMBIE` in prev_state, since 4.14.
const DEAD: i64 = 0x30;

/// When threads ended, by thread; a number may come again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended(FxHashMap<i32, Vec<i64>>);

impl Ended {
    /// It leaves its CPU with this prev_state.
    pub fn leaves(&mut self, ts: i64, pid: i32, prev_state: i64) {
        if prev_state & DEAD != 0 {
            self.0.entry(pid).or_default().push(ts);
        }
    }
    /// Whether a thread ended from one time to another.
    pub fn within(&self, pid: i32, from: i64, to: i64) -> bool {
        let of = self.0.get(&pid);
        of.is_some_and(|of| of.iter().any(|t| (from..=to).contains(t)))
    }
}
