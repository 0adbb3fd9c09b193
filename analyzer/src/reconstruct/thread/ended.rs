//! Threads that ended: when each left its CPU for the last time.

use rustc_hash::FxHashMap;

/// `EXIT_DEAD` and `EXIT_ZOMBIE` in prev_state; before 4.20 the bits were shifted by one (kernel commit 3054426dc68e).
const DEAD: i64 = 0x30;
/// Who ends so soon after, or before, it closed a connection closed it because it ended, or ended as it had, ns.
pub const ENDS_NS: i64 = 250_000_000;
/// Kernels that do so, the first by its numbers.
const SINCE: (u32, u32) = (4, 20);

/// When threads ended, by thread, in order; a number may come again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    told: bool,
    of: FxHashMap<i32, Vec<i64>>,
}

impl Ended {
    /// Of a recording that tells of them.
    pub fn told() -> Ended {
        Ended {
            told: true,
            ..Ended::default()
        }
    }
    /// Of a kernel.
    pub(super) fn of(release: &str, switches: bool) -> Ended {
        let mut numbers = release.split(['.', '-']).map_while(|n| n.parse::<u32>().ok());
        let version = numbers.next().zip(numbers.next());
        Ended {
            told: switches && version.is_some_and(|v| v >= SINCE),
            ..Ended::default()
        }
    }
    /// Whether the recording tells of them.
    pub fn is_told(&self) -> bool {
        self.told
    }
    /// It leaves its CPU with this prev_state.
    pub fn leaves(&mut self, ts: i64, pid: i32, prev_state: i64) {
        if self.told && prev_state & DEAD != 0 {
            self.of.entry(pid).or_default().push(ts);
        }
    }
    /// In order of time, whatever that of the events was.
    pub(super) fn finish(&mut self) {
        self.of.values_mut().for_each(|of| of.sort_unstable());
    }
    /// Whether a thread ended from one time to another; `None`: the recording does not tell.
    pub fn within(&self, pid: i32, from: i64, to: i64) -> Option<bool> {
        let next = |of: &Vec<i64>| of.get(of.partition_point(|t| *t < from)).is_some_and(|t| *t <= to);
        self.told.then(|| self.of.get(&pid).is_some_and(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kernels_whose_bits_are_known_tell() {
        for (release, switches, told) in [
            ("6.18.44-fc-v657", true, true),
            ("4.20.0", true, true),
            ("4.19.0-27-amd64", true, false),
            ("", true, false),
            ("6.1.0", false, false),
        ] {
            let mut ended = Ended::of(release, switches);
            ended.leaves(5, 7, 16);
            ended.leaves(9, 7, 32);
            ended.leaves(7, 7, 1);
            ended.finish();
            let within = |from, to| ended.within(7, from, to);
            let expected = [
                (0, 4, false),
                (0, 5, true),
                (6, 8, false),
                (9, 20, true),
                (10, 20, false),
            ];
            for (from, to, is) in expected {
                assert_eq!(within(from, to), told.then_some(is), "{release} {from} {to}");
            }
        }
    }
}
