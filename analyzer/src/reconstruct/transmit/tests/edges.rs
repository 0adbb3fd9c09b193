//! Edges between originals and the frames that went down for them: whose bytes are the same, and whose are not.

use super::*;
use crate::reconstruct::lineage::Why;
use crate::reconstruct::lineage::tables::{Conserved, LineageKind, LineageRow};

/// bytes, conserved, why, confidence is weak.
type Edge = (Option<u32>, Conserved, Why, bool);

fn edge(l: &LineageRow) -> Edge {
    (l.bytes, l.conserved, l.why, l.confidence <= Confidence::Weak)
}
/// Of what was sent for originals, by time.
fn edges(f: &Facts) -> Vec<Edge> {
    let kinds = [LineageKind::Fclone, LineageKind::RetransmitCopy];
    let of = f.lineage.iter().filter(|l| kinds.contains(&l.kind));
    of.map(edge).collect()
}
const SAME: Edge = (Some(200), Conserved::Yes, Why::Unit, false);

/// Eight requests of 200 bytes; before the fifth `snd_nxt` is `apart` ahead of what frames carry, and the frame has `more` bytes than that.
fn requests_with(apart: u64, more: u64) -> Vec<Edge> {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 4);
    s.nxt = s.nxt + apart - more;
    requests(&mut s, 600_000, 4);
    let f = s.facts();
    let e = edges(&f);
    assert_eq!(e.len(), 8);
    // Neither what came before nor what came after.
    assert!(e.iter().enumerate().all(|(i, e)| i == 4 || *e == SAME), "{e:?}");
    e[4..5].to_vec()
}

/// The first is compared too: the handshake was seen, and nothing was acknowledged before the first probe.
#[test]
fn frames_between_two_probes_have_what_snd_nxt_advanced_by() {
    assert_eq!(requests_with(0, 0), [SAME]);
    let apart = |bytes| (bytes, Conserved::No, Why::Advance, true);
    assert_eq!(requests_with(77, 0), [apart(Some(200))]);
    // Fewer than the frame has, by no number that options have.
    assert_eq!(requests_with(0, 77), [apart(Some(200))]);
    // One, or two SACK blocks.
    for more in [12, 20] {
        let options = (Some(200), Conserved::Unknown, Why::Options, false);
        assert_eq!(requests_with(0, more), [options]);
    }
}

/// A copy, or its companion again, of `bytes` of an original that was sent with others. `mss`: what the device is to cut another frame to.
fn again((first, bytes): (u64, u64), copy: bool, mss: Option<u64>) -> Edge {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    s.enter(t);
    s.round(t + 100, first + 1448);
    let original = s.segment(t + 1000, TASK, first);
    let other = s.segment(t + 1500, TASK, 1448);
    if let Some(mss) = mss {
        let v = [
            ("skbaddr", N(other + FCLONE)),
            ("len", N(1448 + HEADERS)),
            ("name", S("va")),
            ("gso_size", N(mss)),
        ];
        s.s.ev(t + 1502, 0, TASK, "net:net_dev_start_xmit", &v);
    }
    s.leave(t + 2000, first + 1448);
    s.probe(t + 40_000, 0, &[]);
    match copy {
        false => s.again(t + 41_000, SOFT, original, bytes),
        true => {
            s.frame(t + 41_000, SOFT, 0xffff_8881_4000_0000, bytes + HEADERS);
            SOCK.retransmit(&mut s.s, t + 41_005, 0, SOFT, original, &[]);
        }
    }
    s.softirq_exit(t + 45_000);
    s.probe(t + 90_000, first + 1448, &[]);
    s.softirq_exit(t + 91_000);
    requests(&mut s, 7_000_000, 2);
    let f = s.facts();
    let kind = match copy {
        false => LineageKind::Fclone,
        true => LineageKind::RetransmitCopy,
    };
    let t = (t + 41_000) as i64;
    let mut of = f.lineage.iter().filter(|l| l.kind == kind && l.ts_ns >= t);
    edge(of.next().unwrap())
}

#[test]
fn what_is_sent_again_has_the_bytes_of_the_first_time() {
    for copy in [false, true] {
        let same = (Some(1448), Conserved::Yes, Why::Unit, false);
        assert_eq!(again((1448, 1448), copy, None), same);
        let shorter = (Some(1448), Conserved::Unknown, Why::Shorter, false);
        assert_eq!(again((2896, 1448), copy, None), shorter);
        // Small ones in one, or another original there, so it is weak where the address alone tells: never longer than a segment,
        // where it is known how long that is.
        for (bytes, mss) in [(700, Some(724)), (2000, None)] {
            let e = again((200, bytes), copy, mss);
            assert_eq!((e.0, e.1, e.2), (Some(bytes as u32), Conserved::Unknown, Why::Joined));
        }
        let longer = (Some(2000), Conserved::No, Why::Longer, true);
        assert_eq!(again((200, 2000), copy, Some(724)), longer);
    }
}

/// Where events are missing in between nothing is compared; of a frame behind the last probe nothing tells.
#[test]
fn across_a_loss_and_behind_the_last_probe_nothing_is_compared() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    s.s.lost(1, Some(9));
    s.s.ev(BASE + 500_000, 1, TASK, "napi:napi_poll", &[]);
    requests(&mut s, 600_000, 3);
    let t = BASE + 1_000_000;
    s.enter(t);
    s.round(t + 100, 200);
    s.segment(t + 1000, TASK, 200);
    s.leave(t + 2000, 200);
    let f = s.facts();
    assert!(!f.gaps.is_empty());
    let of: Vec<(Conserved, Why)> = edges(&f).iter().map(|e| (e.1, e.2)).collect();
    assert_eq!(of.len(), 7);
    assert!(of[..6].contains(&(Conserved::Unknown, Why::Lost)), "{of:?}");
    assert!(of[..6].iter().all(|e| e.0 != Conserved::No), "{of:?}");
    assert_eq!(of[6], (Conserved::Unknown, Why::NoProbe));
}

/// What its own queue refused left with more bytes the next time: it is those that it has when it is sent again.
#[test]
fn what_was_refused_at_first_is_compared_with_what_left() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    s.enter(t);
    s.round(t + 100, 2896);
    let clone = ORIGINAL + s.originals * 512 + FCLONE;
    let v = [("skbaddr", N(clone)), ("len", N(1448 + HEADERS)), ("name", S("va"))];
    s.s.ev(t + 1000, 0, TASK, "net:net_dev_queue", &v);
    let v = [("skbaddr", N(clone)), ("protocol", N(0x800))];
    s.s.ev(t + 1005, 0, TASK, "skb:kfree_skb", &v);
    for (at, event) in ["queue", "start_xmit", "xmit"].into_iter().enumerate() {
        let v = [
            ("skbaddr", N(clone)),
            ("len", N(2896 + HEADERS)),
            ("name", S("va")),
            ("gso_size", N(1448)),
        ];
        let v = &v[..if event == "start_xmit" { 4 } else { 3 }];
        s.s.ev(t + 1500 + at as u64, 0, TASK, &format!("net:net_dev_{event}"), v);
    }
    (s.originals, s.nxt) = (s.originals + 1, s.nxt + 2896);
    s.leave(t + 2000, 2896);
    s.probe(t + 40_000, 0, &[]);
    s.again(t + 41_000, SOFT, clone - FCLONE, 2896);
    s.softirq_exit(t + 45_000);
    s.probe(t + 90_000, 2896, &[]);
    s.softirq_exit(t + 91_000);
    requests(&mut s, 7_000_000, 2);
    let f = s.facts();
    let edges = edges(&f);
    let of: Vec<_> = edges[3..6].iter().map(|e| (e.0, e.1, e.2)).collect();
    assert_eq!(
        of,
        [
            (Some(1448), Conserved::Unknown, Why::Refused),
            (Some(2896), Conserved::Yes, Why::Unit),
            (Some(2896), Conserved::Yes, Why::Unit),
        ]
    );
}

/// TCP Fast Open: bytes were sent before the handshake was over, of which the first probe tells, too.
#[test]
fn bytes_sent_in_the_handshake_are_none_of_the_frames_behind_it() {
    let mut s = Sender::new(&[]);
    s.nxt += 300;
    requests(&mut s, 100_000, 4);
    let e = edges(&s.facts());
    assert_eq!((e[0].0, e[0].1, e[0].2), (Some(200), Conserved::Unknown, Why::NoProbe));
    assert_eq!(e[1..], [SAME; 3]);
}
