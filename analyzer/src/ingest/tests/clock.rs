use super::{poll, script};
use crate::ingest::{TraceClock, check};
use netmortem_formats::Capture;
use netmortem_formats::capture::{ClockConversion, ClockPair};

fn capture(clock: &str, conversions: Vec<ClockConversion>) -> Capture {
    let mut s = script();
    poll(&mut s, 3_000, 0, 1);
    let mut c = s.capture();
    c.streams[0].clock = clock.into();
    c.clock_conversions = conversions;
    c
}
fn tsc(mult: u32, shift: u32) -> ClockConversion {
    ClockConversion::Tsc2Nsec { mult, shift, offset: 0 }
}

/// 3h: no latency is made of clocks that do not count ns.
#[test]
fn which_clocks_count_ns() {
    for c in ["", "local", "global", "perf", "mono", "mono_raw", "boot", "tai"] {
        assert!(TraceClock::of(&capture(c, vec![])).is_ns, "{c}");
    }
    for c in ["counter", "uptime", "x86-tsc", "ppc-tb", "novel"] {
        assert!(!TraceClock::of(&capture(c, vec![])).is_ns, "{c}");
    }
    assert!(TraceClock::of(&capture("x86-tsc", vec![tsc(1, 0)])).is_ns);
}

#[test]
fn offsets_add_up() {
    let c = capture(
        "mono",
        vec![ClockConversion::OffsetNs(-500), ClockConversion::OffsetNs(100)],
    );
    assert_eq!(check(&c, &Default::default()).start_ns, Some(2_600));
}

/// (cycles * mult) >> shift in 128 bits: 2.5 GHz for a year does not overflow.
#[test]
fn cycles_become_ns() {
    let clock = TraceClock::of(&capture(
        "x86-tsc",
        vec![tsc(0x6666_6666, 32), ClockConversion::OffsetNs(7)],
    ));
    assert_eq!(clock.ns(10), 3 + 7);
    let year = 2_500_000_000u64 * 86_400 * 365;
    let expect = (u128::from(year) * 0x6666_6666u128) >> 32;
    assert_eq!(clock.ns(year), expect as i64 + 7);
}

#[test]
fn absurd_conversions_end_at_the_edge_of_the_scale() {
    let max = TraceClock::of(&capture(
        "x86-tsc",
        vec![tsc(u32::MAX, 0), ClockConversion::OffsetNs(i64::MAX)],
    ));
    assert_eq!(max.ns(u64::MAX), i64::MAX);
    let wide = TraceClock::of(&capture("x86-tsc", vec![tsc(u32::MAX, 200)]));
    assert_eq!(wide.ns(u64::MAX), 0);
    let low = TraceClock::of(&capture("mono", vec![ClockConversion::OffsetNs(i64::MIN); 3]));
    assert_eq!(low.ns(0), i64::MIN);
}

/// The wall clock is stated only for clocks that the recorded pairs cover.
#[test]
fn realtime_offset_by_clock() {
    let pair = ClockPair {
        monotonic_ns: 1_000,
        realtime_ns: Some(50_000),
        boottime_ns: Some(4_000),
        monotonic_raw_ns: None,
        uncertainty_ns: 10,
    };
    for (clock, expect) in [
        ("mono", Some(49_000)),
        ("boot", Some(46_000)),
        ("mono_raw", None),
        ("local", None),
    ] {
        let mut c = capture(clock, vec![]);
        c.clock_pairs = vec![pair];
        assert_eq!(check(&c, &Default::default()).realtime_offset_ns, expect, "{clock}");
    }
}
