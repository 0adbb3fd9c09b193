//! What is said of a program that sleeps when its socket takes no more.

use super::sentences::{duration, moment};
use crate::analyses::transmit::{Naps, Transmit};

/// It slept in vain for most of the time from the first of these sleeps to the last: the stream stands still.
pub(super) fn most_of_it(t: &Transmit) -> bool {
    let mostly = |n: &Naps| n.idle_ns.saturating_mul(2) >= n.within_ns.1.saturating_sub(n.within_ns.0);
    t.naps.as_ref().is_some_and(mostly)
}

/// `tv/7 slept 19 times, p50 500.4 ms each, in clock_nanosleep when 10.0.0.1:40000 > 10.0.0.2:1935 took no more (EAGAIN), ...`
pub(super) fn naps(n: &Naps) -> String {
    let (from, to) = n.within_ns;
    format!(
        "{} slept {} times, p50 {} each, in {} when {} took no more (EAGAIN), from {} to {}, though all that it had sent was acknowledged after p50 {} of it: it does not wait until there is room (poll), and nothing was under way for {} in all",
        n.task,
        n.times,
        duration(n.p50_ns),
        n.call,
        n.label,
        moment(from),
        moment(to),
        duration(n.acked_p50_ns),
        duration(n.idle_ns),
    )
}
