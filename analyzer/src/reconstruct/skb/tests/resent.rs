//! Originals sent again: the same as before, or another one at the address (seen on 6.1, where nothing names an original
//! before it is sent: `tcp_fragment` cuts off what a tail loss probe sends).

use crate::Confidence;
use crate::facts::Facts;
use crate::reconstruct::lineage::tables::{LineageKind, LineageRow};
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, FCLONE, N, S, Script};

pub(super) const A: u64 = 0xffff_8881_0000_0000;
pub(super) const X: u64 = A + 0x10_0000;
const Y: u64 = X + 512;
const Z: u64 = X + 1024;
pub(super) const T: u64 = 1_000_000_000;
pub(super) const MS: u64 = 1_000_000;
pub(super) const SOFT: Ctx = Ctx::Soft(0);

/// The first frame of an original, or one that is sent again, with 66 bytes of headers.
pub(super) fn frame(s: &mut Script, ts: u64, original: u64, payload: u64) {
    let v = [
        ("skbaddr", N(original + FCLONE)),
        ("len", N(payload + 66)),
        ("name", S("e")),
    ];
    s.ev(ts, 0, SOFT, "net:net_dev_queue", &v);
}
pub(super) fn probe(s: &mut Script, ts: u64, una: u64, nxt: u64) {
    SOCK.probe(s, ts, 0, SOFT, &[("snd_una", N(una)), ("snd_nxt", N(nxt))]);
}
pub(super) fn again(s: &mut Script, ts: u64, original: u64, payload: u64, state: u64) {
    frame(s, ts, original, payload);
    SOCK.retransmit(s, ts + 10, 0, SOFT, original, &[("state", N(state))]);
}

/// A kernel that names no original before it is sent again, and whose companions' place is known.
pub(super) fn script() -> Script {
    with(Script::new("6.1.192", &[]))
}
pub(super) fn with(mut s: Script) -> Script {
    for k in 0..40 {
        frame(&mut s, T - 100_000 + k * 1000, A + k * 512, 1448);
    }
    s
}
/// The edge to the frame queued at a time, and whether its original is the one first sent at another.
pub(super) fn edge(f: &Facts, ts: u64) -> &LineageRow {
    let of = |r: &&LineageRow| r.kind == LineageKind::Fclone && r.ts_ns == ts as i64;
    f.lineage.iter().find(of).unwrap()
}
pub(super) fn same(f: &Facts, first: u64, then: u64) -> bool {
    edge(f, first).parent == edge(f, then).parent
}

/// X is acknowledged whole, Y is not; then the part cut off Y is sent, at X's address.
#[test]
fn what_was_acknowledged_is_not_sent_again() {
    let mut s = script();
    probe(&mut s, T + MS, 1000, 1000);
    frame(&mut s, T + 2 * MS, X, 1448);
    probe(&mut s, T + 3 * MS, 1000, 2448);
    probe(&mut s, T + 4 * MS, 2448, 2448);
    frame(&mut s, T + 5 * MS, Y, 4344);
    probe(&mut s, T + 6 * MS, 2448, 6792);
    again(&mut s, T + 7 * MS, X, 1448, 1);
    // Then Y's first segment, and once more what was cut off.
    again(&mut s, T + 8 * MS, Y, 1448, 1);
    again(&mut s, T + 9 * MS, X, 1448, 1);
    probe(&mut s, T + 10 * MS, 2448, 6792);
    let f = s.facts();
    assert!(!same(&f, T + 2 * MS, T + 7 * MS));
    assert!(same(&f, T + 5 * MS, T + 8 * MS));
    assert!(same(&f, T + 7 * MS, T + 9 * MS));
    let links = [2, 5, 7, 8, 9].map(|ms| edge(&f, T + ms * MS).confidence);
    assert_eq!(links, [Confidence::Strong; 5]);
}

/// The ACK that frees X makes way for the part cut off: only the next probe shows what it acknowledged.
#[test]
fn the_next_probe_tells_what_the_last_ack_freed() {
    let mut s = script();
    probe(&mut s, T + MS, 1000, 1000);
    frame(&mut s, T + 2 * MS, X, 1448);
    probe(&mut s, T + 3 * MS, 1000, 2448);
    frame(&mut s, T + 4 * MS, Y, 4344);
    probe(&mut s, T + 5 * MS, 1000, 6792);
    again(&mut s, T + 5 * MS + 100, X, 1448, 1);
    probe(&mut s, T + 6 * MS, 2448, 6792);
    let f = s.facts();
    assert!(!same(&f, T + 2 * MS, T + 5 * MS + 100));
    assert_eq!(edge(&f, T + 5 * MS + 100).confidence, Confidence::Strong);
}

/// Originals sent between two probes, of which a part is acknowledged: known one by one if they add up.
#[test]
fn where_nothing_tells_the_link_is_weak() {
    for (foreign, link) in [(None, Confidence::Strong), (Some(934), Confidence::Weak)] {
        let mut s = script();
        probe(&mut s, T + MS, 1000, 1000);
        frame(&mut s, T + 2 * MS, X, 1448);
        frame(&mut s, T + 3 * MS, Y, 1448);
        if let Some(payload) = foreign {
            frame(&mut s, T + 4 * MS, Z, payload);
        }
        probe(&mut s, T + 5 * MS, 1000, 3896);
        probe(&mut s, T + 6 * MS, 2448, 3896);
        again(&mut s, T + 7 * MS, Y, 1448, 1);
        probe(&mut s, T + 8 * MS, 2448, 3896);
        let f = s.facts();
        assert!(same(&f, T + 3 * MS, T + 7 * MS));
        assert_eq!(edge(&f, T + 7 * MS).confidence, link, "{foreign:?}");
    }
}

/// Nothing was acknowledged since: the same. Without probes, or where the state has none, nobody can say that.
#[test]
fn without_probes_nothing_tells() {
    for (probes, state, link) in [
        (true, 1, Confidence::Strong),
        (true, 8, Confidence::Weak),
        (false, 1, Confidence::Weak),
        (false, 2, Confidence::Strong),
    ] {
        let mut s = script();
        if probes {
            probe(&mut s, T + MS, 1000, 1000);
        }
        frame(&mut s, T + 2 * MS, X, 1448);
        again(&mut s, T + 300 * MS, X, 1448, state);
        again(&mut s, T + 900 * MS, X, 1448, state);
        let f = s.facts();
        assert!(same(&f, T + 2 * MS, T + 900 * MS));
        assert_eq!(edge(&f, T + 900 * MS).confidence, link, "{probes} {state}");
    }
}

/// An address freed and taken again at once, by a frame as long: two frames, not two hops of one.
#[test]
fn an_address_taken_again_at_once_is_counted() {
    let mut s = script();
    probe(&mut s, T + MS, 1000, 1000);
    frame(&mut s, T + 2 * MS, X, 1448);
    probe(&mut s, T + 3 * MS, 1000, 2448);
    probe(&mut s, T + 4 * MS, 2448, 2448);
    frame(&mut s, T + 5 * MS, X, 1448);
    frame(&mut s, T + 6 * MS, Y, 1448);
    probe(&mut s, T + 7 * MS, 2448, 5344);
    probe(&mut s, T + 8 * MS, 3896, 5344);
    again(&mut s, T + 9 * MS, Y, 1448, 1);
    probe(&mut s, T + 10 * MS, 3896, 5344);
    let f = s.facts();
    assert!(same(&f, T + 6 * MS, T + 9 * MS));
    assert_eq!(edge(&f, T + 9 * MS).confidence, Confidence::Strong);
}
