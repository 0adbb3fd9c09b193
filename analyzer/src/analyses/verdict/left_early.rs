//! Requests that their client left before such are answered: whether their server was at rest meanwhile, and what is said of them.
//!
//! In: what `application::patience` found, and what the server's threads did in its slow answers. Must not be said where these ran, waited for a CPU, a lock, another thread, another server that
//! is not known to have been at rest itself, or lay unread: such a server is slow, and its clients time out.

use super::always::TIMERS;
use super::sentences::{counted, duration};
use crate::analyses::application::{Application, FOR_ANY, GivenUp, Part, Slow, Unanswered, Waited};

/// Share of the time that it slept there.
const NEARLY: f64 = 0.9;
/// Servers, one behind the other: of more it is not asked (`application::waited`).
const HOPS: usize = 3;

fn asleep(p: &Part) -> bool {
    // For what comes, or for a time.
    let call = p
        .call
        .as_deref()
        .is_some_and(|c| FOR_ANY.contains(&c) || TIMERS.contains(&c));
    let by_itself = p.woken_by.is_none() && p.ran_meanwhile.is_none() && p.waker_held.is_none();
    p.state == "asleep_in" && call && by_itself && p.share >= NEARLY
}

/// It waited for an answer of one that was at rest.
fn for_one_at_rest(w: &Waited, hops: usize) -> bool {
    let rest = match (&w.next, &w.there) {
        (Some(next), _) => for_one_at_rest(next, hops + 1),
        (None, Some((_, did))) => asleep(did),
        (None, None) => false,
    };
    w.kind == "answer" && w.released.is_none() && hops < HOPS && rest
}

fn slept(s: &Slow) -> bool {
    let held = s.released.is_some() || s.kept.is_some() || s.metered.is_some() || s.opening.is_some();
    let waited = s.waited.as_ref().is_none_or(|w| for_one_at_rest(w, 1));
    s.at == "server" && !held && waited && s.parts.first().is_some_and(asleep)
}

/// Whether the server slept through most of what its slow answers took, and waited for nobody that did not.
pub(super) fn at_rest(a: &Application, server: &str) -> bool {
    let of = a.servers.iter().find(|s| s.server == server);
    of.and_then(|s| s.slow.first()).is_some_and(slept)
}

/// All of a program's to a server.
pub(super) fn left(a: &Application, g: &GivenUp) -> bool {
    g.patience.is_some() && at_rest(a, &g.server)
}

/// One that was closed.
pub(super) fn left_one(a: &Application, u: &Unanswered) -> bool {
    let to = u.label.rsplit(" > ").next();
    u.patient && to.is_some_and(|to| at_rest(a, to))
}

/// Behind what was given up: both readings.
pub(super) fn how(g: &GivenUp) -> Option<String> {
    let p = g.patience.as_ref()?;
    let (least, most) = p.bytes;
    let long = if least == most {
        least.to_string()
    } else {
        format!("{least} to {most}")
    };
    Some(format!(
        ", while {} as long ({long} B) were answered, {} of them later than that (p50 {}), and other requests were answered in time, and the server slept: requests that are held until there is news (long polls), which their clients left as when a tab is closed, a client time-out shorter than these always take, or something inside that server that no event tells (a pool, a limit; inferred)",
        counted(p.answered, "other", "others"),
        p.longer,
        duration(p.p50_ns)
    ))
}
