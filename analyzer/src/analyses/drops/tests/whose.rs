//! Whose the dropped packets are.

use std::net::IpAddr;

use super::drop_row;
use crate::Confidence;
use crate::analyses::Outcome;
use crate::analyses::drops::{Lost, answer};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::skb::tables::HopRow;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};
use crate::reconstruct::whose::{Carries, Owner, Whose};
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, N, S, Script};

const A: u64 = 0xffff_8881_0000_0000;
const T: u64 = 1_000_000_000;

/// `n` frames of 1,066 bytes of one thread pass eth0, 100 ms apart; those of which `dropped` says so are freed there.
fn frames(n: u64, dropped: impl Fn(u64) -> bool) -> Vec<Lost> {
    let mut s = Script::new("6.18.44", &[]);
    s.symbol(0xffff_ffff_8100_0000, "nft_do_chain");
    for k in 0..n {
        let (at, skb) = (T + k * 100_000_000, A + k * 0x10000);
        let frame = [("skbaddr", N(skb)), ("len", N(1066)), ("name", S("eth0"))];
        s.ev(at, 0, Ctx::Task(1), "net:net_dev_queue", &frame);
        s.ev(at + 20, 0, Ctx::Task(1), "skb:consume_skb", &frame[..1]);
    }
    let mut f = s.facts();
    f.names.locations.insert(1, "nft_do_chain".into());
    f.tx = (0..n as u32)
        .map(|n| TxRow {
            skb_id: SkbId(n),
            kind: TxKind::Udp,
            task: Name::new(b"named"),
            pid: 7,
            ..crate::testing::sent()
        })
        .collect();
    let lost = (0..n).filter(|k| dropped(*k)).map(|k| {
        let mut row = drop_row((T + k * 100_000_000 + 20) as i64, 6, 1, Some(false));
        row.skb_id = Some(SkbId(k as u32));
        row.owner = Whose::of((&f).into()).packet(SkbId(k as u32));
        row
    });
    f.drops = lost.collect();
    let Outcome::Findings(d) = answer(&f) else { panic!() };
    d.groups[0].of.clone()
}

/// Every third one, and nothing else: a period. One out of step: none.
#[test]
fn a_period_is_told_only_where_it_is_exact() {
    let each = frames(12, |k| k % 3 == 1);
    assert_eq!(
        (each.len(), each[0].count, each[0].came, each[0].every),
        (1, 4, Some(12), Some(3))
    );
    assert_eq!((each[0].carries, each[0].whose.as_str()), ("datagram", "of named/7"));
    let off = frames(12, |k| k % 3 == 1 && k != 7 || k == 8);
    assert_eq!((off[0].count, off[0].every), (4, None));
    // It ended long before the last one came.
    assert_eq!(frames(30, |k| k < 9 && k % 3 == 1)[0].every, None);
    // It began only after more than a period had passed whole.
    assert_eq!(frames(12, |k| k > 4 && k % 3 == 0)[0].every, None);
}

/// What went on between the first drop and the last: 1,066 bytes each 100 ms, of which every second was dropped.
#[test]
fn the_rate_is_of_what_went_on_meanwhile() {
    let half = frames(40, |k| k % 2 == 0);
    // From the first to the last drop are 3.8 s, and 19 that went on.
    let expect = 19.0 * 1066.0 * 8.0 / 3.8;
    let told = half[0].passed_bit_s.unwrap();
    assert!((told - expect).abs() < 1.0, "{told}");
    assert_eq!(frames(10, |k| k < 5)[0].passed_bit_s, None);
}

/// None of those that came went on in a spell: at least from its first drop to its last, at most from the one before it to the next.
#[test]
fn a_spell_in_which_nothing_went_on_is_told() {
    let s = 100_000_000;
    let each = frames(20, |k| (5..9).contains(&k) || (12..15).contains(&k));
    assert_eq!(each[0].stopped_ns, [(3 * s, 5 * s), (2 * s, 4 * s)]);
    // One by itself, one that had not ended, one before which nothing is seen to go on.
    assert_eq!(frames(20, |k| (5..9).contains(&k) || k == 12)[0].stopped_ns, []);
    assert_eq!(frames(20, |k| k >= 17)[0].stopped_ns, []);
    assert_eq!(frames(20, |k| k < 3)[0].stopped_ns, []);
}

/// Of two ends that all of them have, the one of which the largest part was lost is named: one host's packets all, one server's some.
#[test]
fn the_end_that_lost_most_is_named() {
    let mut f = Facts::empty();
    let ip = |last| Some(IpAddr::from([10, 0, 0, last]));
    let mut s = Script::new("6.18.44", &[]);
    for (port, cpu) in [(1u64, 0usize), (2, 0), (3, 0), (4, 0)] {
        let sock = crate::testing::tcp::Sock {
            sk: SOCK.sk + port * 0x10000,
            cookie: port,
            sport: port as u16,
            dport: 443,
        };
        sock.state(&mut s, T + port * 1_000_000, cpu, Ctx::Task(1), 7, 2);
        let frame = [("skbaddr", N(A + port * 0x10000)), ("len", N(74)), ("name", S("eth0"))];
        s.ev(
            T + port * 1_000_000 + 10,
            cpu,
            Ctx::Task(1),
            "net:net_dev_queue",
            &frame,
        );
    }
    let seen = s.facts();
    f.tcp_states = seen.tcp_states.clone();
    f.connections = seen.connections.clone();
    (f.skbs, f.hops) = (seen.skbs.clone(), seen.hops.clone());
    for (c, row) in f.connections.iter_mut().enumerate() {
        (row.saddr, row.daddr) = (ip(if c < 2 { 7 } else { 8 }), ip(1));
    }
    f.drops = (0..2u32)
        .map(|n| {
            let mut row = drop_row(2_000_000_000 + i64::from(n), 6, 1, Some(false));
            row.skb_id = Some(SkbId(n));
            row.owner = Whose::of((&f).into()).packet(SkbId(n));
            assert_eq!(row.owner.unwrap().connection, Some(ConnectionId(n)));
            row
        })
        .collect();
    let Outcome::Findings(d) = answer(&f) else { panic!() };
    let told = &d.groups[0].of[0];
    assert_eq!(
        (told.whose.as_str(), told.count, told.came),
        ("from 10.0.0.7 to 10.0.0.1:443", 2, Some(2))
    );
    // A step that is not the same of all is none to count at.
    f.hops.push(HopRow {
        skb_id: SkbId(0),
        time_ns: 1_500_000_000,
        cpu: 0,
        kind: "rx",
        dev: Name::new(b"eth1"),
        bytes: Some(60),
        confidence: Confidence::Strong,
    });
    let Outcome::Findings(d) = answer(&f) else { panic!() };
    assert_eq!(
        (d.groups[0].of[0].whose.as_str(), d.groups[0].of[0].came),
        ("to 10.0.0.1:443", None)
    );
}

/// No end is common to four of five of them, and two servers are: both are told.
#[test]
fn of_two_servers_both_are_told() {
    let of = |ports: &[u16]| {
        let mut f = Facts::empty();
        f.capture.start_ns = Some(0);
        for (n, port) in (0u32..).zip(ports) {
            let mut c = crate::testing::tcp::connection(n);
            (c.saddr, c.sport) = (Some(IpAddr::from([10, 0, 0, (n % 3) as u8])), 40_000 + n as u16);
            c.dport = *port;
            f.connections.push(c);
            let mut row = drop_row(i64::from(n) * 1000, 6, 1, Some(false));
            row.owner = Some(Owner {
                connection: Some(ConnectionId(n)),
                carries: Carries::Data,
                task: Name::default(),
                pid: 0,
                confidence: Confidence::Strong,
            });
            f.drops.push(row);
        }
        let Outcome::Findings(d) = answer(&f) else { panic!() };
        let of = d.groups[0]
            .of
            .iter()
            .map(|l| (l.whose.rsplit(':').next().unwrap().to_owned(), l.count));
        of.collect::<Vec<_>>()
    };
    let told = |all: &[(&str, u64)]| all.iter().map(|(p, n)| ((*p).to_owned(), *n)).collect::<Vec<_>>();
    let ports: Vec<u16> = (0..10).map(|n| if n < 6 { 5432 } else { 6379 }).collect();
    assert_eq!(of(&ports), told(&[("5432", 6), ("6379", 4)]));
    // A scan has no few.
    let scan: Vec<u16> = (1..11).collect();
    assert_eq!(of(&scan), []);
    assert_eq!(of(&[5432; 10]), told(&[("5432", 10)]));
}
