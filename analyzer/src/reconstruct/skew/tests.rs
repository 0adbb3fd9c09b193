use super::bound::paths;
use super::{ClockError, SkewRow};
use crate::testing::{Ctx, N, Script};

const T: u64 = 1_000_000_000;

/// CPU 1's clock is `ahead` ns ahead of CPU 0's.
struct Rig {
    s: Script,
    ahead: i64,
    last: [u64; 2],
}

impl Rig {
    fn new(ahead: i64) -> Rig {
        let s = Script::new("6.18.44", &[]);
        Rig { s, ahead, last: [0; 2] }
    }
    /// An event at a true time.
    fn ev(&mut self, t: u64, cpu: usize, key: &str, values: &[(&str, crate::testing::V)]) {
        let ahead = if cpu == 1 { self.ahead } else { 0 };
        let ts = (T + t).saturating_add_signed(ahead);
        assert!(ts >= self.last[cpu], "a script's events of a CPU are in order");
        self.last[cpu] = ts;
        self.s.ev(ts, cpu, Ctx::Task(1), key, values);
    }
    /// Thread 7 sleeps on `cpu` at `t`, is woken by the other CPU 100 us later, and runs `latency` after that.
    fn sleep_and_wake(&mut self, t: u64, cpu: usize, latency: u64) {
        let out = [("prev_pid", N(7)), ("prev_state", N(1)), ("next_pid", N(0))];
        self.ev(t, cpu, "sched:sched_switch", &out);
        self.ev(t + 100_000, 1 - cpu, "sched:sched_waking", &[("pid", N(7))]);
        self.ev(
            t + 100_000 + latency,
            cpu,
            "sched:sched_switch",
            &[("prev_pid", N(0)), ("next_pid", N(7))],
        );
    }
    fn rows(&self) -> Vec<SkewRow> {
        self.s.facts().clock_skew
    }
}

/// Clocks that agree: each direction's smallest latency bounds the other.
#[test]
fn latencies_of_both_directions_bound_the_offset() {
    let mut r = Rig::new(0);
    for i in 0..5u64 {
        r.sleep_and_wake(i * 1_000_000, 1, 3_000 + i);
        r.sleep_and_wake(i * 1_000_000 + 500_000, 1, 5_000);
    }
    // The other way by a packet: queued on CPU 1, received on CPU 0.
    r.ev(8_000_000, 1, "net:netif_rx", &[("skbaddr", N(0xab))]);
    r.ev(8_002_000, 0, "net:netif_receive_skb", &[("skbaddr", N(0xab))]);
    let rows = r.rows();
    let row = &rows[0];
    assert_eq!((rows.len(), row.cpu_a, row.cpu_b), (1, 0, 1));
    // The last sleep is not over: its waking may yet be followed by another.
    assert_eq!((row.pairs_ab, row.pairs_ba), (9, 1));
    assert_eq!((row.min_ab_ns, row.min_ba_ns), (Some(3_000), Some(2_000)));
    assert_eq!((row.kind_ab, row.kind_ba), ("wake", "queue"));
    assert_eq!((row.ahead_least_ns, row.ahead_most_ns), (Some(-2_000), Some(3_000)));
    assert_eq!((row.bound_ns(), row.residual_ns, row.offset_ns), (Some(3_000), 0, 0));
    let e = ClockError::of(&rows);
    assert_eq!(
        (e.error_ns, e.bound_ns, e.negative, e.consistent),
        (Some(0), Some(3_000), 0, true)
    );
}

/// Order kept everywhere is no proof of clocks that agree: the bound is said, not an error bar of 0.
#[test]
fn what_bounds_an_interval_is_said() {
    let of = |error_ns, bound_ns| ClockError {
        pairs: 12,
        cpu_pairs: 1,
        negative: 0,
        error_ns,
        bound_ns,
        consistent: true,
    };
    assert_eq!(
        of(Some(0), Some(49_560)).short(),
        "Clocks of the CPUs: at most 49.6 µs apart; no effect came before its cause in 12 pairs."
    );
    let said = of(Some(0), Some(49_560)).sentence();
    assert!(
        said.ends_with("an interval between two CPUs may be wrong by that, 49560 ns at most"),
        "{said}"
    );
    let said = of(Some(0), None).sentence();
    assert!(
        said.ends_with("by how much an interval between two CPUs may be wrong is not known"),
        "{said}"
    );
    assert!(!of(Some(0), None).short().contains("error bar 0"));
}

/// CPU 1's clock is 20 us behind: what it does is recorded before what made it do so. The error bar says how much, and the
/// smallest offset that puts it right is within the latency of the truth.
#[test]
fn effects_before_their_causes_make_the_error_bar() {
    let mut r = Rig::new(-20_000);
    for i in 0..20u64 {
        r.sleep_and_wake(i * 1_000_000, 1, 3_000);
    }
    r.sleep_and_wake(30_000_000, 0, 4_000);
    r.sleep_and_wake(31_000_000, 0, 4_000);
    let rows = r.rows();
    let row = &rows[0];
    assert_eq!((row.min_ab_ns, row.min_ba_ns), (Some(-17_000), Some(24_000)));
    assert_eq!((row.residual_ns, row.offset_ns), (17_000, -17_000));
    assert_eq!((row.ahead_least_ns, row.ahead_most_ns), (Some(-24_000), Some(-17_000)));
    assert!(row.negative >= 18 && row.consistent, "{row:?}");
    let said = ClockError::of(&rows).sentence();
    assert!(
        said.contains("error bar 17000 ns") && said.contains("no interval is clamped"),
        "{said}"
    );
}

/// A waking recorded just before its thread's switch-out (the waker saw it on its way to sleep) is no skew.
#[test]
fn a_waking_on_the_way_to_sleep_is_no_skew() {
    let mut r = Rig::new(0);
    r.sleep_and_wake(0, 1, 3_000);
    for i in 1..10u64 {
        let t = i * 1_000_000;
        // Woken 500 ns before the switch-out that makes it sleep.
        r.ev(t - 500, 0, "sched:sched_waking", &[("pid", N(7))]);
        let out = [("prev_pid", N(7)), ("prev_state", N(1)), ("next_pid", N(0))];
        r.ev(t, 1, "sched:sched_switch", &out);
        r.ev(
            t + 2_000,
            1,
            "sched:sched_switch",
            &[("prev_pid", N(0)), ("next_pid", N(7))],
        );
    }
    let e = ClockError::of(&r.rows());
    assert_eq!((e.negative, e.error_ns.unwrap_or(0)), (0, 0));
}

/// A thread that is switched in again by itself, and woken for the next time while it runs: it looks as if its waking came late. One of hundreds is no clock.
#[test]
fn what_is_rare_is_no_skew() {
    let mut r = Rig::new(0);
    for i in 0..300u64 {
        r.sleep_and_wake(i * 1_000_000, 1, 3_000);
    }
    let t = 300_000_000;
    let out = [("prev_pid", N(7)), ("prev_state", N(1)), ("next_pid", N(0))];
    r.ev(t, 1, "sched:sched_switch", &out);
    let again = [("prev_pid", N(0)), ("next_pid", N(7))];
    r.ev(t + 2_000, 1, "sched:sched_switch", &again);
    r.ev(t + 18_000, 0, "sched:sched_waking", &[("pid", N(7))]);
    r.sleep_and_wake(t + 1_000_000, 1, 3_000);
    r.sleep_and_wake(t + 2_000_000, 1, 3_000);
    let rows = r.rows();
    assert_eq!(
        (rows[0].pairs_ab, rows[0].min_ab_ns, rows[0].negative),
        (301, Some(3_000), 0)
    );
    assert_eq!((rows[0].residual_ns, rows[0].consistent), (0, true));
}

/// Pairs do not reach over a loss: what lies in it may be another cause.
#[test]
fn a_loss_ends_every_pair() {
    let mut r = Rig::new(0);
    r.ev(0, 0, "net:netif_rx", &[("skbaddr", N(0xab))]);
    r.s.lost(0, None);
    r.ev(1_000, 0, "net:netif_rx", &[("skbaddr", N(0xcd))]);
    r.ev(2_000, 1, "net:netif_receive_skb", &[("skbaddr", N(0xab))]);
    assert!(r.rows().is_empty());
    let e = ClockError::of(&[]);
    assert_eq!((e.error_ns, e.bound_ns), (None, None));
    assert!(e.sentence().contains("not known") && e.short().contains("no error bar"));
}

/// Difference constraints: a third CPU tightens what two say directly, and a cycle below 0 contradicts any constant offset.
#[test]
fn shortest_paths_bound_and_negative_cycles_contradict() {
    let p = paths(&[(0, 1, 100), (1, 2, 100), (0, 2, 500), (2, 0, 50)]);
    assert_eq!((p.dist[&(0, 2)], p.dist[&(1, 0)], p.dist[&(2, 1)]), (200, 150, 150));
    assert!(p.contradicted.is_empty());
    let p = paths(&[(0, 1, -100), (1, 0, 60), (2, 3, 5)]);
    assert_eq!(p.contradicted, [0, 1]);
    assert!(paths(&[]).dist.is_empty());
}
