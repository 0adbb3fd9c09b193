//! Threads that are all woken for each connection, which one of them takes: a thundering herd.
//!
//! Needs the calls of `accept`. Who waits for the same listening socket in `select`, `poll` or `epoll` is woken with all others, unless EPOLLEXCLUSIVE or
//! SO_REUSEPORT keeps them apart; each then calls `accept`, and all but one get EAGAIN. One such call for each connection is usual: a loop that accepts until
//! there is none.

use crate::facts::Facts;
use crate::reconstruct::opens::tables::Accepting;

/// Calls that found none, for each connection taken.
const EACH: u64 = 8;
/// Fewest connections, and fewest threads.
const TAKEN: u64 = 20;
const THREADS: u64 = 8;

/// Threads of one name.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Herd {
    /// Their name.
    pub task: String,
    /// How many called `accept`.
    pub threads: u64,
    /// Connections they took.
    pub taken: u64,
    /// Calls that found none (EAGAIN).
    pub none: u64,
}

impl Herd {
    fn of(a: &Accepting) -> Herd {
        Herd {
            task: a.task.text().into_owned(),
            threads: a.threads,
            taken: a.taken,
            none: a.none,
        }
    }
    /// Calls that found none, for each connection.
    pub(crate) fn each(&self) -> u64 {
        self.none / self.taken.max(1)
    }
    /// `each connection that python3 accepts wakes many of its 160 threads: ...`
    pub(crate) fn words(&self) -> String {
        format!(
            "each connection that {} accepts wakes about {} of its {} threads in vain: {} calls of accept found none (EAGAIN) beside {} that took one, as where all wait for one listening socket without EPOLLEXCLUSIVE or SO_REUSEPORT (thundering herd, inferred)",
            self.task,
            self.each(),
            self.threads,
            self.none,
            self.taken
        )
    }
}

/// The one with most of these calls, of those with so many.
pub(crate) fn herd(facts: &Facts) -> Option<Herd> {
    let is = |a: &&Accepting| a.taken >= TAKEN && a.threads >= THREADS && a.none / a.taken.max(1) >= EACH;
    facts.accepting.iter().filter(is).max_by_key(|a| a.none).map(Herd::of)
}

/// How much the threads of a name wake each other; of any number.
pub(crate) fn of_task(facts: &Facts, task: &str) -> Option<Herd> {
    let own = |a: &&Accepting| a.task.text() == task && a.taken >= TAKEN;
    facts.accepting.iter().find(own).map(Herd::of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;

    #[test]
    fn calls_that_find_none_are_a_herd_where_they_are_many() {
        let of = |threads, taken, none| {
            let mut f = Facts::empty();
            f.accepting.push(Accepting {
                task: Name::new(b"gunicorn"),
                threads,
                taken,
                none,
            });
            herd(&f).map(|h| h.each())
        };
        assert_eq!(of(160, 654, 104_000), Some(159));
        // Four workers; one loop that accepts until there is none; few connections.
        assert_eq!(of(4, 654, 1_962), None);
        assert_eq!(of(1, 654, 654), None);
        assert_eq!(of(160, 19, 3_000), None);
    }
}
