//! Devices of one name in several namespaces, each with a queue that cuts: whose segments a queue gives.

use netmortem_formats::{Snapshot, SnapshotWhen};

use super::*;

const FULL: u64 = 66 + 1448;
/// Root queues, of two namespaces' eth0, and of the eth0 below them.
const P: u64 = A + 0x10_0000;
const Q: u64 = A + 0x20_0000;
const BELOW: u64 = A + 0x30_0000;

fn qdisc(s: &mut Script, ts: u64, event: &str, qdisc: u64, addr: u64, packets: u64) {
    let v = [
        ("qdisc", N(qdisc)),
        ("skbaddr", N(addr)),
        ("ifindex", N(2)),
        ("packets", N(packets)),
    ];
    s.ev(ts, 0, Ctx::Task(7), &format!("qdisc:qdisc_{event}"), &v);
}
fn whole(s: &mut Script, ts: u64, of: u64, at: u64) {
    queue(s, ts, A + at, 66);
    qdisc(s, ts + 1, "enqueue", of, A + at, 0);
    qdisc(s, ts + 2, "dequeue", of, A + at, 1);
    xmit(s, ts + 3, 0, A + at, 66);
}
/// The queue cuts a packet up and takes of it; it has to wait for its tokens.
fn cut(s: &mut Script, ts: u64, of: u64, at: u64, payload: u64) {
    queue(s, ts, A + at, 66 + payload);
    free(s, ts + 1, "skb:consume_skb", A + at, TBF);
    qdisc(s, ts + 2, "enqueue", of, A + at, 0);
    qdisc(s, ts + 3, "dequeue", of, 0, 0);
}
/// The queue gives segments, at addresses from `at` on.
fn gives(s: &mut Script, ts: u64, of: u64, at: u64, lens: &[u64]) {
    qdisc(s, ts, "dequeue", of, A + at, lens.len() as u64);
    for (i, len) in lens.iter().enumerate() {
        xmit(s, ts + 1 + i as u64, 0, A + at + 256 * i as u64, *len);
    }
}
/// Both queues hold nothing that was not seen, and then a packet of the one and a longer one of the other, whose segments leave in turns.
fn in_turns(without: &[&str]) -> Script {
    let mut s = script(without);
    whole(&mut s, T - 100, P, 65_536);
    whole(&mut s, T - 50, Q, 69_632);
    cut(&mut s, T, P, 0, 1448 * 2 + 100);
    cut(&mut s, T + 10, Q, 4096, 1448 * 3);
    gives(&mut s, T + 20, Q, 8192, &[FULL]);
    gives(&mut s, T + 30, P, 12_288, &[FULL, FULL]);
    gives(&mut s, T + 40, Q, 16_384, &[FULL]);
    gives(&mut s, T + 50, P, 20_480, &[166]);
    gives(&mut s, T + 60, Q, 24_576, &[FULL]);
    s
}
fn of(f: &Facts) -> Vec<(u64, u64, Conserved, Confidence)> {
    edges(f).iter().map(|e| (e.2, e.3, e.5, e.6)).collect()
}

/// Two senders in namespaces of their own, each with a tbf on its eth0, send at the same time.
#[test]
fn segments_are_of_the_packet_that_their_queue_cut() {
    let f = in_turns(&[]).facts();
    let strong = |parent, child| (parent, child, Conserved::Yes, Confidence::Strong);
    let (p, q) = (|child| strong(0, child), |child| strong(4096, child));
    let want = [q(8192), p(12_288), p(12_544), q(16_384), p(20_480), q(24_576)];
    assert_eq!(of(&f), want);
    let b = balance(&f, BalanceKind::GsoChildren);
    assert_eq!((b.bytes_expected, b.unexplained_bytes, b.matched), (7340, 0, 2));
}

/// Where no event names queues, order says nothing of the segments of devices that share a name.
#[test]
fn without_events_of_queues_a_shared_name_says_nothing() {
    let s = in_turns(&["qdisc:qdisc_enqueue"]);
    let said = |links: &str| {
        let mut c = s.capture();
        c.snapshots.push(Snapshot {
            what: "links".into(),
            when: SnapshotWhen::End,
            text: links.as_bytes().to_vec(),
        });
        crate::analyze(&c, &Default::default())
    };
    let f = said("netns=1 ifindex=2 name=eth0 qdisc=tbf\nnetns=2 ifindex=2 name=eth0 qdisc=tbf\n");
    assert!(!f.lineage.is_empty());
    for r in &f.lineage {
        assert_eq!(
            (r.conserved, r.why, r.confidence),
            (Conserved::Unknown, Why::Devices, Confidence::Weak)
        );
        assert!(r.because().contains("several devices"));
    }
    let b = balance(&f, BalanceKind::GsoChildren);
    assert_eq!((b.unexplained_bytes, b.because), (0, Why::Devices.of_unit()));
    // The other one has no queue: whatever a queue cut is of this one.
    let f = said("netns=1 ifindex=2 name=eth0 qdisc=tbf\nnetns=2 ifindex=2 name=eth0 qdisc=noqueue\n");
    assert!(f.lineage.iter().all(|r| r.why != Why::Devices));
}

/// A container's eth0 lies on the host's eth0 (macvlan), which has a queue, too: what that gives in between takes nothing of what the upper one gave.
#[test]
fn a_device_below_of_the_same_name_is_another_queue() {
    let mut s = script(&[]);
    whole(&mut s, T - 100, P, 65_536);
    cut(&mut s, T, P, 0, 1448 * 2 + 100);
    cut(&mut s, T + 10, P, 4096, 1448 * 2);
    let segments = [8192, 8448, 8704, 8960, 9216];
    let lens = [FULL, FULL, 166, FULL, FULL];
    qdisc(&mut s, T + 20, "dequeue", P, A + 8192, 5);
    for (i, (at, len)) in segments.into_iter().zip(lens).enumerate() {
        let t = T + 30 + 10 * i as u64;
        xmit(&mut s, t, 0, A + at, len);
        queue(&mut s, t + 1, A + at, len);
        qdisc(&mut s, t + 2, "enqueue", BELOW, A + at, 0);
        qdisc(&mut s, t + 3, "dequeue", BELOW, A + at, 1);
        xmit(&mut s, t + 4, 0, A + at, len);
    }
    let f = s.facts();
    let parents: Vec<_> = of(&f).iter().map(|e| (e.0, e.2)).collect();
    let yes = |parent| (parent, Conserved::Yes);
    assert_eq!(parents, [yes(0), yes(0), yes(0), yes(4096), yes(4096)]);
}

/// A queue whose headers a short segment has shown: 66 bytes. Then two packets, cut before any segment leaves.
fn known(first: u64, second: u64, lens: &[u64]) -> Facts {
    let mut s = script(&[]);
    whole(&mut s, T - 100, P, 65_536);
    cut(&mut s, T - 50, P, 69_632, 1448 + 100);
    gives(&mut s, T - 40, P, 73_728, &[FULL, 166]);
    cut(&mut s, T, P, 0, first);
    cut(&mut s, T + 10, P, 4096, second);
    gives(&mut s, T + 20, P, 8192, lens);
    s.facts()
}

/// 20 full segments are as many bytes as if headers had 62 bytes and nothing followed: what is known of headers says that a short one follows.
#[test]
fn headers_that_are_known_stand_before_others_that_would_fit() {
    let lens: Vec<u64> = std::iter::repeat_n(FULL, 20).chain([142, FULL, 166]).collect();
    let f = known(1448 * 20 + 76, 1448 + 100, &lens);
    let of: Vec<_> = of(&f).iter().filter(|e| e.0 < 65_536).map(|e| (e.0, e.2)).collect();
    let want: Vec<_> = (0..23)
        .map(|i| (if i < 21 { 0 } else { 4096 }, Conserved::Yes))
        .collect();
    assert_eq!(of, want);
}

/// Another connection of the queue has no timestamps: its packet is whole when the next one's first segment would be too much.
#[test]
fn a_packet_with_other_headers_is_whole_where_the_next_begins() {
    let f = known(1460 * 3 - 12, 1448 + 100, &[FULL, FULL, FULL, FULL, 166]);
    let of: Vec<_> = of(&f).iter().filter(|e| e.0 < 65_536).map(|e| (e.0, e.2)).collect();
    let yes = |parent| (parent, Conserved::Yes);
    assert_eq!(of, [yes(0), yes(0), yes(0), yes(4096), yes(4096)]);
    let bytes: Vec<_> = f.lineage.iter().filter_map(|r| r.bytes).collect();
    assert_eq!(bytes[2..], [1460, 1460, 1460, 1448, 100]);
}
