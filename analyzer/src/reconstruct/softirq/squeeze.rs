//! Was a NET_RX run stopped by its limits (`time_squeeze` of /proc/net/softnet_stat)?
//!
//! `net_rx_action` (net/core/dev.c) asks after each poll: is the sum of work >= netdev_budget, or have
//! netdev_budget_usecs passed, counted in jiffies? Then it counts a squeeze and stops, and raises NET_RX again when a
//! NAPI is left. It also raises without a squeeze, for a NAPI that used its full weight.
//!
//! ```text
//! sum(work) >= budget                                        yes
//! last event of the run raises NET_RX, no NAPI used its weight   yes: only a stop leaves a NAPI behind
//! last poll longer after the entry than any phase allows     yes
//! last poll earlier than the first tick that counts          no
//! else                                                       not known: the phase of the jiffy decides
//! ```

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;

/// What bounds a NET_RX run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// net.core.netdev_budget, packets.
    pub budget: i64,
    /// net.core.netdev_budget_usecs, ns.
    pub time_ns: i64,
    /// Whether the recording states them; else they are the kernel's defaults.
    pub recorded: bool,
}

/// Values of netdev_budget_usecs that are two jiffies, the default since 5.7, at CONFIG_HZ 100, 250 and 300.
const TWO_JIFFIES_NS: [i64; 3] = [20_000_000, 8_000_000, 6_666_000];
/// The longest jiffy (CONFIG_HZ 100), ns.
const JIFFY_NS: i64 = 10_000_000;

impl Default for Limits {
    fn default() -> Self {
        // netdev_budget 300; netdev_budget_usecs 2 jiffies, 2 ms where it was fixed (4.12 to 5.x).
        Limits {
            budget: 300,
            time_ns: 2_000_000,
            recorded: false,
        }
    }
}

impl Limits {
    /// As the recording's first snapshot states them.
    pub fn of(capture: &Capture) -> Limits {
        let number = |name: &str| -> Option<i64> {
            let of = |when| {
                let s = capture.snapshots.iter().find(|s| s.what == name && s.when == when)?;
                std::str::from_utf8(&s.text).ok()?.trim().parse().ok()
            };
            of(SnapshotWhen::Start).or_else(|| of(SnapshotWhen::End))
        };
        let budget = number("sys/net/core/netdev_budget");
        let usecs = number("sys/net/core/netdev_budget_usecs");
        match (budget, usecs) {
            (Some(budget), Some(us)) => Limits {
                budget,
                time_ns: us.saturating_mul(1000),
                recorded: true,
            },
            _ => Limits::default(),
        }
    }
    /// Run times up to which the time limit has surely not, and from which it surely has passed, ns. The limit is counted
    /// in jiffies, the first of which is cut by its phase; which HZ is not recorded.
    fn time(&self) -> (i64, i64) {
        let sure = match TWO_JIFFIES_NS.contains(&self.time_ns) && self.recorded {
            true => self.time_ns,
            false => self.time_ns.saturating_add(JIFFY_NS),
        };
        (self.time_ns / 2, sure)
    }
}

/// Squeezes as the kernel counted them, beside the limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counted {
    /// Increase of column 3 of /proc/net/softnet_stat, all CPUs, from snapshot to snapshot: a little longer than the
    /// recording. `None` when not recorded.
    pub squeezed: Option<u64>,
    /// The same of column 2: packets dropped because a CPU's backlog was full.
    pub dropped: Option<u64>,
    /// net.core.netdev_budget, packets.
    pub budget: i64,
    /// net.core.netdev_budget_usecs, ns.
    pub time_ns: i64,
    /// Whether the recording states both; else they are the kernel's defaults.
    pub limits_recorded: bool,
}

impl Counted {
    /// Its limits alone.
    pub fn uncounted(self) -> Counted {
        Counted {
            squeezed: None,
            dropped: None,
            ..self
        }
    }
    /// From the recording's snapshots.
    pub fn of(capture: &Capture) -> Counted {
        let limits = Limits::of(capture);
        let column = |n: usize| {
            let sum = |when| {
                let s = capture
                    .snapshots
                    .iter()
                    .find(|s| s.what == "net/softnet_stat" && s.when == when)?;
                let of = |line: &str| u64::from_str_radix(line.split_ascii_whitespace().nth(n)?, 16).ok();
                let lines = std::str::from_utf8(&s.text).ok()?.lines();
                lines.map(of).try_fold(0u64, |sum, v| sum.checked_add(v?))
            };
            sum(SnapshotWhen::End)?.checked_sub(sum(SnapshotWhen::Start)?)
        };
        Counted {
            squeezed: column(2),
            dropped: column(1),
            budget: limits.budget,
            time_ns: limits.time_ns,
            limits_recorded: limits.recorded,
        }
    }
}

/// Polls of one NET_RX run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Sum of work; `None` when the event does not state it.
    sum: Option<i64>,
    last_poll: Option<i64>,
    exhausted: bool,
}

impl Work {
    /// A poll ended.
    pub fn poll(&mut self, ts: i64, work: Option<i32>, budget: Option<i32>) {
        let so_far = if self.last_poll.is_none() { Some(0) } else { self.sum };
        self.sum = so_far.zip(work).map(|(a, w)| a + i64::from(w));
        self.last_poll = Some(ts);
        self.exhausted |= work.zip(budget).is_none_or(|(w, b)| w >= b);
    }
    /// Whether the run that began at `start` was squeezed; `raised_last`: its last event raised NET_RX. Only for
    /// recordings with `napi_poll`.
    pub fn squeezed(&self, limits: &Limits, start: i64, raised_last: bool) -> Option<bool> {
        // The limits are asked after a poll.
        if self.last_poll.is_none() {
            return Some(false);
        }
        let took = self.last_poll?.wrapping_sub(start);
        let sum = self.sum?;
        let (sure_not, sure) = limits.time();
        if sum >= limits.budget || took >= sure || raised_last && !self.exhausted {
            return Some(true);
        }
        (took < sure_not).then_some(false)
    }
}
