//! What is said of a program that sleeps when its socket takes no more.

use super::sentences::{duration, moment};
use crate::analyses::transmit::{Naps, Transmit};

/// Time in vain from which a stream stands still, ns.
const LONG_NS: i64 = 2_000_000_000;

/// It slept in vain for long, and most of the time from the first of these sleeps to the last: the stream stands still.
pub(super) fn most_of_it(t: &Transmit) -> bool {
    t.naps.as_ref().is_some_and(mostly)
}

fn mostly(n: &Naps) -> bool {
    n.idle_ns >= LONG_NS && n.idle_ns.saturating_mul(2) >= n.within_ns.1.saturating_sub(n.within_ns.0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_stands_still_for_long_is_wrong() {
        let of = |times: u64, idle_ms: i64, until_ms: i64| Naps {
            task: "tv/7".into(),
            connection: 0,
            label: "10.0.0.1:1 > 10.0.0.2:2".into(),
            call: "clock_nanosleep".into(),
            times,
            p50_ns: 500_000_000,
            acked_p50_ns: 40_000_000,
            idle_ns: idle_ms * 1_000_000,
            within_ns: (1_000_000_000, until_ms * 1_000_000),
        };
        assert!(mostly(&of(20, 9_000, 11_000)));
        // For a moment; seldom.
        assert!(!mostly(&of(3, 1_300, 2_500)));
        assert!(!mostly(&of(20, 9_000, 30_000)));
        let says = "tv/7 slept 20 times, p50 500.00 ms each, in clock_nanosleep when 10.0.0.1:1 > 10.0.0.2:2 took no more (EAGAIN), from 1.000 s to 11.000 s, though all that it had sent was acknowledged after p50 40.00 ms of it: it does not wait until there is room (poll), and nothing was under way for 9.000 s in all";
        assert_eq!(naps(&of(20, 9_000, 11_000)), says);
    }
}
