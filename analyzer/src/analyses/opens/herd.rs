//! Threads that are all woken for each connection, which one of them takes: a thundering herd.
//!
//! Needs `herds` (whom a socket's readiness wakes). Who waits for the same listening socket in `select`, `poll` or `epoll` is woken with all others, unless EPOLLEXCLUSIVE or
//! SO_REUSEPORT keeps them apart.

use crate::facts::Facts;
use crate::reconstruct::herds::HerdRow;

/// Fewest times, and the part of all times.
const TIMES: u64 = 20;
const MOSTLY: f64 = 0.5;

/// A socket that many wait for.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Herd {
    /// Name of the threads.
    pub task: String,
    /// Times that it became ready and woke eight or more at once.
    pub times: u64,
    /// Of so many times that it became ready, since the first of them.
    pub of: u64,
    /// Threads woken each time, mean.
    pub each: u64,
    /// Wakings in all.
    pub woken: u64,
}

/// The socket with most wakings.
pub(crate) fn herd(facts: &Facts) -> Option<Herd> {
    let often = |r: &&HerdRow| r.times >= TIMES && r.times as f64 >= MOSTLY * r.ready as f64;
    let row = facts.herds.iter().find(often)?;
    Some(Herd {
        task: row.task.text().into_owned(),
        times: row.times,
        of: row.ready,
        each: row.woken.saturating_add(row.times / 2) / row.times.max(1),
        woken: row.woken,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;

    #[test]
    fn a_few_times_are_no_herd() {
        let of = |(times, ready), woken| {
            let mut f = Facts::empty();
            f.herds.push(HerdRow {
                sk: 1,
                task: Name::new(b"gunicorn"),
                times,
                ready,
                woken,
                most: 160,
            });
            herd(&f).map(|h| h.each)
        };
        assert_eq!(of((654, 700), 104_400), Some(160));
        assert_eq!(of((19, 19), 3_000), None);
        // One idle worker in most cases.
        assert_eq!(of((20, 10_000), 160), None);
    }
}
