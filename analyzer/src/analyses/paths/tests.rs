//! Planted round trips: what rose, when and where is known beforehand.

mod filled;

use super::*;
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::name::Name;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::tables::TxRow;

const MS: i64 = 1_000_000;
const S: i64 = 1_000 * MS;

fn ip(n: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, n])
}

/// This host is 10.0.0.1; socket `n` goes to 10.0.0.`to`.
fn socket(f: &mut Facts, to: u8) -> u32 {
    let n = f.connections.len() as u32;
    f.connections.push(ConnectionRow {
        born: None,
        listens: None,
        connection: ConnectionId(n),
        saddr: Some(ip(1)),
        sport: 40_000,
        daddr: Some(ip(to)),
        dport: 7_600,
        peer: None,
        skaddr: 0,
        cookie: None,
        task: Name::default(),
        pid: 0,
        first_ns: 0,
        last_ns: 0,
        bytes_in: 0,
        bytes_out: 0,
        bytes_read: None,
        bytes_written: None,
        retransmits: None,
        retransmit_segments: None,
        retransmits_refused: None,
        samples: 1,
        confidence: Confidence::Certain,
    });
    n
}

/// A segment that left at `at` and was acknowledged `ns` later.
fn acked(f: &mut Facts, c: u32, at: i64, ns: i64, bytes: u32) {
    f.tx.push(TxRow {
        connection: Some(ConnectionId(c)),
        bytes: Some(bytes),
        t_sched_ns: at - 10_000,
        t_snd_ns: Some(at),
        t_ack_ns: Some(at + ns),
        confidence: Confidence::Certain,
        ..crate::testing::sent()
    });
}

fn answered(f: &mut Facts, c: u32, at: i64, ns: i64) {
    f.responses.push(crate::testing::answered(c, at, ns));
}

fn opened(f: &mut Facts, to: u8, at: i64, ns: i64, again: u32) {
    let c = socket(f, to);
    f.opens.push(OpenRow {
        connection: Some(ConnectionId(c)),
        from: Some((ip(1), 40_000)),
        to: Some((ip(to), 7_600)),
        pid: 8,
        task: Name::default(),
        start_ns: at,
        end_ns: at + ns,
        end: OpenEnd::Established,
        error: None,
        message: false,
        syns_again: Some(again),
        confidence: Confidence::Certain,
    });
}

/// Noise that repeats itself: 0 to below `most`.
struct Noise(u64);

impl Noise {
    fn below(&mut self, most: i64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % most.unsigned_abs()) as i64
    }
}

/// Calls to 10.0.0.`to` every 20 ms for 5 s on one connection, a handshake with every tenth; `way` is the round trip of one that began then, `work`
/// the server's time. Where it works for less than a delayed ACK lasts, the ACK comes with the answer.
fn calls(f: &mut Facts, to: u8, way: impl Fn(i64) -> i64, work: impl Fn(i64) -> i64) {
    let (c, mut noise) = (socket(f, to), Noise(u64::from(to)));
    for n in 0..250 {
        let at = n * 20 * MS;
        let trip = way(at) + noise.below(MS / 2);
        let held = work(at).min(40 * MS);
        acked(f, c, at, trip + held, 200);
        answered(f, c, at, trip + work(at));
        if n % 10 == 9 {
            opened(f, to, at + MS, way(at + MS) + noise.below(MS / 2), 0);
        }
    }
}

fn found(f: &Facts, to: u8) -> Option<Change> {
    let all = answer(f);
    all.hosts.iter().find(|h| h.host == ip(to).to_string())?.change.clone()
}

const NONE: fn(i64) -> i64 = |_| 0;

/// 3 ms, 43 ms from 2.5 s on; another host stays at 4.
#[test]
fn a_way_that_gets_longer_is_a_step_of_one_host() {
    let mut f = Facts::empty();
    calls(&mut f, 2, |at| if at < 2_500 * MS { 3 * MS } else { 43 * MS }, NONE);
    calls(&mut f, 3, |_| 4 * MS, NONE);
    let c = found(&f, 2).unwrap();
    assert_eq!((c.kind, c.from_ns, c.to_ns), (Kind::Rose, 2_500 * MS, None));
    assert!((3 * MS..4 * MS).contains(&c.low_ns) && (43 * MS..44 * MS).contains(&c.high_ns));
    let h = c.handshakes.unwrap();
    assert_eq!(
        (h.other_n + h.in_n, c.evidence, c.own),
        (25, Evidence::Handshakes, Own::Nothing)
    );
    assert!((3 * MS..4 * MS).contains(&h.other_ns) && (43 * MS..44 * MS).contains(&h.in_ns));
    assert_eq!((c.also.len(), c.not.as_slice()), (0, &["10.0.0.3".to_owned()][..]));
    assert!(c.matters() && found(&f, 3).is_none());
    assert_eq!(
        (answer(&f).hosts[0].acks.n, answer(&f).hosts[0].windows.len() > 20),
        (250, true)
    );
}

/// Both rose at the same time: each names the other.
#[test]
fn what_all_have_in_common_is_nearer() {
    let mut f = Facts::empty();
    for to in [2, 3] {
        calls(&mut f, to, |at| if at < 2_500 * MS { 3 * MS } else { 43 * MS }, NONE);
    }
    let c = found(&f, 2).unwrap();
    assert_eq!((c.also.as_slice(), c.not.len()), (&["10.0.0.3".to_owned()][..], 0));
}

#[test]
fn what_falls_back_is_a_spell_and_what_only_falls_is_told_so() {
    let mut f = Facts::empty();
    let slow = |at: i64| (1_500 * MS..3_000 * MS).contains(&at);
    calls(&mut f, 2, |at| if slow(at) { 60 * MS } else { 5 * MS }, NONE);
    calls(&mut f, 3, |at| if at < S { 60 * MS } else { 5 * MS }, NONE);
    let c = found(&f, 2).unwrap();
    assert_eq!(
        (c.kind, c.from_ns, c.to_ns),
        (Kind::Spell, 1_500 * MS, Some(3_000 * MS))
    );
    let c = found(&f, 3).unwrap();
    assert_eq!((c.kind, c.to_ns), (Kind::Fell, Some(S)));
}

/// A server that takes 25 ms longer from 2.5 s on sends its ACKs with its answers; handshakes are as before: nothing is told of the way, with many of them
/// or few. Without handshakes it may be either.
#[test]
fn a_slow_program_is_no_longer_way() {
    let mut f = Facts::empty();
    calls(&mut f, 2, |_| 3 * MS, |at| if at < 2_500 * MS { 0 } else { 25 * MS });
    assert_eq!(found(&f, 2), None);
    f.opens = f.opens.into_iter().step_by(6).collect();
    let c = found(&f, 2).unwrap();
    assert_eq!((c.evidence, c.matters()), (Evidence::NotHandshakes, false));
    f.opens.clear();
    let c = found(&f, 2).unwrap();
    assert_eq!(
        (c.evidence, c.matters(), c.above_delayed_acks()),
        (Evidence::Answers, true, false)
    );
}

/// 200 seeds of round trips of 1 to 20 ms, to 200 hosts; half of the ACKs delayed; a few very late; too few to tell.
#[test]
fn steady_noise_is_no_step() {
    for seed in 0..200 {
        let (mut f, mut noise) = (Facts::empty(), Noise(seed));
        let c = socket(&mut f, 2);
        // Few of some, many of others.
        for n in 0..(30 + seed as i64 * 5) {
            let delayed = if noise.below(2) == 0 { 40 * MS } else { 0 };
            let ns = MS + noise.below(19 * MS) + delayed;
            acked(&mut f, c, n * 20 * MS, ns, 200);
            answered(&mut f, c, n * 20 * MS, ns);
        }
        assert_eq!(found(&f, 2), None, "{seed}");
    }
    let mut f = Facts::empty();
    let late = |at: i64| {
        if (2_000 * MS..2_100 * MS).contains(&at) {
            300 * MS
        } else {
            3 * MS
        }
    };
    calls(&mut f, 2, late, NONE);
    assert_eq!(found(&f, 2), None);
    let mut f = Facts::empty();
    calls(&mut f, 2, |at| if at < 2_500 * MS { 3 * MS } else { 43 * MS }, NONE);
    f.tx.truncate(20);
    f.opens.clear();
    assert_eq!(found(&f, 2), None);
}

/// A new connection's ACKs come at once, then they wait for the timer or the answer: 40 ms of neither way nor peer.
#[test]
fn acks_that_begin_to_be_delayed_are_no_step() {
    let mut f = Facts::empty();
    let (c, mut noise) = (socket(&mut f, 2), Noise(7));
    for n in 0..200 {
        let quick = if n < 40 { 0 } else { 30 * MS };
        acked(&mut f, c, n * 50 * MS, 2 * MS + quick + noise.below(MS), 200);
        answered(&mut f, c, n * 50 * MS, 33 * MS);
    }
    let c = found(&f, 2).unwrap();
    assert_eq!((c.evidence, c.matters()), (Evidence::Acks, false));
    // Nobody answers.
    f.responses.clear();
    assert!(!found(&f, 2).unwrap().matters());
}

/// Bytes of this host fill a queue of 1 MB/s: from 2 s on 100 kB are in flight, and the round trip is theirs. A SYN sent again is no handshake's time.
#[test]
fn a_queue_that_this_host_fills_is_its_own() {
    let mut f = Facts::empty();
    calls(&mut f, 2, |at| if at < 2_000 * MS { 3 * MS } else { 103 * MS }, NONE);
    assert!(found(&f, 2).unwrap().matters());
    let c = socket(&mut f, 2);
    for n in 0..3_000 {
        acked(&mut f, c, 2_000 * MS + n * MS, 103 * MS, 1_000);
    }
    opened(&mut f, 2, 2_500 * MS, 1_003 * MS, 1);
    let found = found(&f, 2).unwrap();
    assert_eq!((found.own, found.matters()), (Own::InFlight, false));
    let (before, inside) = found.in_flight.unwrap();
    assert_eq!((before, inside > 90_000), (200, true));
    assert_eq!(answer(&f).hosts[0].handshakes.n, 25);
}

/// An upload to another host begins when the way to this one gets longer, and nobody knows whether its way did: they may share a queue.
#[test]
fn an_upload_to_another_host_may_have_filled_it() {
    let mut f = Facts::empty();
    calls(&mut f, 2, |at| if at < 2_000 * MS { 3 * MS } else { 43 * MS }, NONE);
    assert_eq!(found(&f, 2).unwrap().own, Own::Nothing);
    let c = socket(&mut f, 3);
    for n in 0..3_000 {
        acked(&mut f, c, 2_000 * MS + n * MS, 43 * MS, 1_000);
    }
    assert_eq!(found(&f, 2).unwrap().own, Own::Others);
    // It is as short as it was before: they share none.
    for n in 0..100 {
        acked(&mut f, c, n * 20 * MS, 43 * MS, 1_000);
    }
    let found = found(&f, 2).unwrap();
    assert_eq!(
        (found.own, found.not.as_slice()),
        (Own::Nothing, &["10.0.0.3".to_owned()][..])
    );
}

/// This host's own part rose as much: the packets waited in its queue before the device sent them, and the ACKs behind them, too.
#[test]
fn what_this_host_adds_itself_is_not_the_way() {
    let mut f = Facts::empty();
    calls(&mut f, 2, |at| if at < 2_500 * MS { 3 * MS } else { 43 * MS }, NONE);
    for r in f.tx.iter_mut().filter(|r| r.t_snd_ns.is_some_and(|t| t >= 2_500 * MS)) {
        r.t_sched_ns -= 40 * MS;
    }
    let c = found(&f, 2).unwrap();
    assert_eq!((c.own, c.own_ns), (Own::Host, Some((10_000, 40 * MS + 10_000))));
}

/// A fast connection ends and a slow one begins: no connection was both.
/// A host that rose a little, as far as its own round trip goes much, is no witness that nothing else changed.
#[test]
fn what_rose_in_small_neither_shares_it_nor_clears_it() {
    let mut f = Facts::empty();
    calls(&mut f, 2, |at| if at < 2_500 * MS { 3 * MS } else { 43 * MS }, NONE);
    calls(&mut f, 3, |at| if at < 2_500 * MS { MS } else { 4 * MS }, NONE);
    calls(&mut f, 4, |at| if at < 2_500 * MS { 9 * MS } else { 12 * MS }, NONE);
    let c = found(&f, 2).unwrap();
    assert_eq!((c.also.len(), c.not.as_slice()), (0, &["10.0.0.4".to_owned()][..]));
}

/// All of them within 40 ns: no more windows than of other times.
#[test]
fn windows_are_bounded() {
    let trip = |n: i64| super::samples::Trip {
        id: None,
        sent_ns: n / 250,
        ns: MS,
        of: super::samples::Of::Ack,
        in_flight: 0,
        connection: ConnectionId(0),
        port: 80,
    };
    let trips: Vec<_> = (0..10_000).map(trip).collect();
    assert_eq!(super::levels::windows(&trips).len(), 40);
}

#[test]
fn another_flow_is_no_step() {
    let mut f = Facts::empty();
    let (fast, slow) = (socket(&mut f, 2), socket(&mut f, 2));
    f.connections[slow as usize].dport = 7_601;
    for n in 0..250 {
        let (c, ns) = if n < 125 { (fast, 3 * MS) } else { (slow, 43 * MS) };
        acked(&mut f, c, n * 20 * MS, ns, 200);
        answered(&mut f, c, n * 20 * MS, ns);
    }
    assert_eq!(found(&f, 2), None);
}

/// Of thousands of remote hosts those with most round trips are kept; one that is in the recording is told so.
#[test]
fn the_busiest_are_kept() {
    let mut f = Facts::empty();
    for n in 0..5_000u32 {
        let c = socket(&mut f, 2);
        f.connections[c as usize].daddr = Some(IpAddr::from((0x0b00_0000 + n).to_be_bytes()));
        for nth in 0..=i64::from(n % 3) {
            acked(&mut f, c, i64::from(n) * MS + nth, MS, 200);
        }
    }
    calls(&mut f, 2, |_| 3 * MS, NONE);
    calls(&mut f, 1, |_| MS, NONE);
    let all = answer(&f);
    assert_eq!((all.hosts.len(), all.others), (HOSTS, 5_002 - HOSTS as u64));
    let first: Vec<_> = all
        .hosts
        .iter()
        .take(2)
        .map(|h| (h.host.as_str(), h.recorded))
        .collect();
    assert_eq!(first, [("10.0.0.1", true), ("10.0.0.2", false)]);
    assert!(all.hosts.iter().skip(2).all(|h| h.acks.n == 3));
    // An address that leads to a socket in the recording.
    let c = f.connections.iter_mut().find(|c| c.daddr == Some(ip(2)));
    c.unwrap().peer = Some(ConnectionId(0));
    assert!(answer(&f).hosts[1].recorded);
}
