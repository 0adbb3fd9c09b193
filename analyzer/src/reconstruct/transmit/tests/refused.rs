//! What a device refused in the sender's own call: TCP is told, and its bytes are the next segment's.

use super::{BASE, HEADERS, ORIGINAL, SOFT, Sender, TASK, requests, segments};
use crate::confidence::Confidence;
use crate::facts::Facts;
use crate::reconstruct::balances::tables::BalanceKind;
use crate::reconstruct::transmit::Stage;
use crate::testing::{Ctx, FCLONE, N, S};

fn ev(s: &mut Sender, t: u64, ctx: Ctx, event: &str, addr: u64, dev: &'static str) {
    let v = [("skbaddr", N(addr)), ("len", N(200 + HEADERS)), ("name", S(dev))];
    s.s.ev(t, 0, ctx, event, &v);
}
/// A device hands a segment to the one below it, whose queueing discipline drops it.
fn refused_below(s: &mut Sender, t: u64, ctx: Ctx, addr: u64) {
    ev(s, t + 2, ctx, "net:net_dev_start_xmit", addr, "va.5");
    ev(s, t + 4, ctx, "net:net_dev_queue", addr, "va");
    s.s.ev(
        t + 6,
        0,
        ctx,
        "skb:kfree_skb",
        &[("skbaddr", N(addr)), ("protocol", N(0x800))],
    );
    ev(s, t + 8, ctx, "net:net_dev_xmit", addr, "va.5");
}
/// What an event sequence does with one segment of 200 bytes, at its address and from its moment.
type Way = fn(&mut Sender, u64, u64);

/// Labels of the rows of segments, behind three requests: one segment each of `ways`, of whose bytes TCP was told that `sent` were sent; then
/// a call that sends the others again and 200 bytes more, and two requests.
fn labels(ways: &[Way], sent: u64) -> Vec<Confidence> {
    segments(&facts(ways, sent)).iter().map(|r| r.confidence).collect()
}

fn facts(ways: &[Way], sent: u64) -> Facts {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    s.enter(t);
    s.round(t + 100, 200 * ways.len() as u64);
    for (i, way) in ways.iter().enumerate() {
        let (at, addr) = (t + 1000 + i as u64 * 100, ORIGINAL + s.originals * 512 + FCLONE);
        s.originals += 1;
        way(&mut s, at, addr);
    }
    s.leave(t + 2000, 200 * ways.len() as u64);
    s.nxt += sent;
    s.enter(t + 19_000);
    s.round(t + 19_100, 200);
    for i in 0..=ways.len() as u64 - sent / 200 {
        s.segment(t + 20_000 + i * 1000, TASK, 200);
    }
    s.leave(t + 25_000, 200);
    s.probe(t + 40_000, 200 * (ways.len() as u64 + 1), &[]);
    s.softirq_exit(t + 41_000);
    requests(&mut s, 2_000_000, 2);
    s.facts()
}

fn first_device(s: &mut Sender, t: u64, addr: u64) {
    ev(s, t, TASK, "net:net_dev_queue", addr, "va");
    s.s.ev(
        t + 6,
        0,
        TASK,
        "skb:kfree_skb",
        &[("skbaddr", N(addr)), ("protocol", N(0x800))],
    );
}
fn below_a_vlan(s: &mut Sender, t: u64, addr: u64) {
    ev(s, t, TASK, "net:net_dev_queue", addr, "va.5");
    refused_below(s, t, TASK, addr);
}

/// `vlan_dev_hard_start_xmit` returns what `dev_queue_xmit` of the card said, so `snd_nxt` stands still as on the card itself.
#[test]
fn a_segment_that_the_device_below_a_vlan_refused_was_not_sent() {
    let weak = |ways: &[Way], sent| {
        let labels = labels(ways, sent);
        // The last has no later probe.
        let weak = labels[..labels.len() - 1].iter().filter(|c| !c.is_solid()).count();
        (weak, labels)
    };
    for ways in [
        &[first_device as Way][..],
        &[below_a_vlan],
        &[below_a_vlan, first_device],
    ] {
        let (weak, labels) = weak(ways, 0);
        assert_eq!(weak, 0, "{labels:?}");
    }
    // Where the device above said that all was well (a tunnel does, and whoever has a queue of its own), those below it count as sent. Segments
    // of a window that does not sum are weak, and no others; one may be so for what held it.
    let (some, labels) = weak(&[below_a_vlan, first_device], 200);
    assert!(some < 2, "{labels:?}");
    // Nor is what a router of this recording drops refused.
    let routed: Way = |s, t, addr| {
        ev(s, t, TASK, "net:net_dev_queue", addr, "va");
        ev(s, t + 1, TASK, "net:net_dev_start_xmit", addr, "va");
        let packet = [("skbaddr", N(addr)), ("len", N(186 + HEADERS)), ("name", S("vb"))];
        s.s.ev(t + 2, 0, TASK, "net:netif_rx_entry", &packet);
        ev(s, t + 3, TASK, "net:net_dev_xmit", addr, "va");
        s.s.ev(t + 5, 0, SOFT, "net:netif_receive_skb", &packet);
        s.s.ev(
            t + 6,
            0,
            SOFT,
            "skb:kfree_skb",
            &[("skbaddr", N(addr)), ("protocol", N(0x800))],
        );
    };
    let (own, labels) = weak(&[routed], 0);
    assert!((1..=3).contains(&own), "{labels:?}");
}

/// Nothing in flight, and the windows open: until TCP tries again it is the refusal that holds the bytes, and no Nagle or cork. A recording of
/// three streams through a tbf shorter than their windows had 41 s of it, all of which stood as Nagle.
#[test]
fn what_was_refused_waits_for_the_next_try() {
    let f = facts(&[first_device], 0);
    let rows = segments(&f);
    let sent = BASE + 1_000_000;
    let at = |ns: u64| rows.iter().find(|r| r.t_sched_ns == (sent + ns) as i64).unwrap();
    let (first, again) = (at(1_000), at(20_000));
    assert!(first.refused && !again.refused);
    // Until 2,000 the call itself ran that had brought its bytes.
    assert_eq!(again.stage(Stage::Refused), Some(18_000));
    assert_eq!((first.stage(Stage::Refused), again.stage(Stage::Nagle)), (None, None));
    // Behind it, in the same call, nothing waited for a refusal.
    assert_eq!(at(21_000).stage(Stage::Refused), None);
    // Its bytes left once.
    let balance = f.balances.iter().find(|b| b.kind == BalanceKind::TxPayload).unwrap();
    assert!(balance.bytes_expected >= 400, "{balance:?}");
    assert_eq!(
        (balance.bytes_found, balance.unexplained_bytes),
        (balance.bytes_expected, 0)
    );
    // A frame that TCP counts as sent is one of the balance, whatever became of it.
    let f = facts(&[below_a_vlan, first_device], 200);
    let refused = segments(&f).into_iter().filter(|r| r.refused).map(|r| r.t_sched_ns);
    assert_eq!(refused.collect::<Vec<_>>(), [(sent + 1_100) as i64]);
    let balance = f.balances.iter().find(|b| b.kind == BalanceKind::TxPayload).unwrap();
    assert_eq!(balance.unexplained_bytes, 0, "{balance:?}");
}
