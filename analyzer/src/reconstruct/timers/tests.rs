use super::{Kind, Timers, What};
use crate::ingest::Trace;
use crate::testing::tcp::{SOCK, Sock};
use crate::testing::{Ctx, N, Script};

const PACE: u64 = 0xffff_ffff_8202_c2c0;
const WRITE: u64 = 0xffff_ffff_8202_d000;
const SOFT: Ctx = Ctx::Soft(0);

fn script() -> Script {
    let mut s = Script::new("6.18.44", &[]);
    s.symbol(PACE, "tcp_pace_kick");
    s.symbol(WRITE, "tcp_write_timer");
    s.symbol(0xffff_ffff_8300_0000, "other");
    s
}

/// Two sockets 2432 bytes apart, as in their slab.
fn sockets() -> [Sock; 2] {
    let second = Sock {
        sk: SOCK.sk + 2432,
        cookie: 78,
        sport: 40_001,
        ..SOCK
    };
    [SOCK, second]
}

fn read(s: &Script) -> Timers {
    let c = s.capture();
    let t = Trace::read(&c, &Default::default());
    let known = sockets().iter().map(|s| s.sk).collect();
    Timers::read(&t, &c.kallsyms, &known)
}

#[test]
fn a_pacing_timer_names_its_socket_and_its_slip() {
    let mut s = script();
    for (i, k) in sockets().iter().enumerate() {
        let t = 1_000_000 * (i as u64 + 1);
        let arm = [
            ("hrtimer", N(k.sk + 1960)),
            ("function", N(PACE)),
            ("expires", N(t + 500_000)),
        ];
        s.ev(t, 0, SOFT, "timer:hrtimer_start", &arm);
        let fire = [
            ("hrtimer", N(k.sk + 1960)),
            ("function", N(PACE)),
            ("now", N(t + 527_000)),
        ];
        // The trace clock need not be the timer's.
        s.ev(t + 530_000, 0, SOFT, "timer:hrtimer_expire_entry", &fire);
    }
    let t = read(&s);
    assert_eq!(t.distances.len(), 1);
    assert_eq!((t.distances[0].0, t.distances[0].1.bytes), (Kind::Pace, 1960));
    let owners: Vec<u64> = t.events.iter().map(|e| e.owner).collect();
    let [a, b] = sockets().map(|k| k.sk);
    assert_eq!(owners, [a, a, b, b]);
    let armed = What::Armed {
        expires_ns: Some(1_500_000),
    };
    assert_eq!(t.events[0].what, armed);
    assert_eq!(t.events[1].what, What::Expired { slip_ns: Some(27_000) });
}

/// One timer above both sockets: 3536 from the first, 1104 from the second. The second lies between, so it is not the first's:
/// a recording with a single paced socket told nothing when both were thought possible.
#[test]
fn a_timer_is_of_the_nearest_socket_below_it() {
    let mut s = script();
    let arm = [("timer", N(SOCK.sk + 3536)), ("function", N(WRITE)), ("expires", N(1))];
    s.ev(1_000_000, 0, SOFT, "timer:timer_start", &arm);
    let t = read(&s);
    assert_eq!((t.distances[0].1.bytes, t.events.len()), (1104, 1));
    assert_eq!(t.events[0].owner, SOCK.sk + 3536 - 1104);
}

#[test]
fn of_two_distances_that_fit_equally_none_is_believed() {
    let mut s = script();
    for timer in [SOCK.sk + 3536, SOCK.sk + 1200] {
        let arm = [("timer", N(timer)), ("function", N(WRITE)), ("expires", N(1))];
        s.ev(1_000_000, 0, SOFT, "timer:timer_start", &arm);
    }
    assert!(read(&s).events.is_empty());
    // Another timer of the first decides.
    let arm = [("timer", N(SOCK.sk + 1104)), ("function", N(WRITE)), ("expires", N(1))];
    s.ev(1_100_000, 0, SOFT, "timer:timer_start", &arm);
    let t = read(&s);
    assert_eq!((t.distances[0].1.bytes, t.events.len()), (1104, 2));
}

#[test]
fn a_lost_re_arm_leaves_the_slip_unknown() {
    let mut s = script();
    for k in sockets() {
        let arm = [
            ("hrtimer", N(k.sk + 1960)),
            ("function", N(PACE)),
            ("expires", N(1_500_000)),
        ];
        s.ev(1_000_000, 0, SOFT, "timer:hrtimer_start", &arm);
    }
    s.lost(0, Some(3));
    let fire = [
        ("hrtimer", N(SOCK.sk + 1960)),
        ("function", N(PACE)),
        ("now", N(9_000_000)),
    ];
    s.ev(9_000_000, 0, SOFT, "timer:hrtimer_expire_entry", &fire);
    let t = read(&s);
    assert_eq!(t.events.last().unwrap().what, What::Expired { slip_ns: None });
}
