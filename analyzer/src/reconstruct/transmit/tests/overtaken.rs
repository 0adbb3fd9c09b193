//! What a queue of this host still held when the ACK came, and dropped after it: a wait for nothing, in no stage.

use super::*;

/// A frame sent again that a queue holds: no driver is given it.
fn held(s: &mut Sender, at: u64, original: u64) {
    let v = [
        ("skbaddr", N(original + FCLONE)),
        ("len", N(200 + HEADERS)),
        ("name", S("va")),
    ];
    s.s.ev(at, 0, SOFT, "net:net_dev_queue", &v);
    SOCK.retransmit(&mut s.s, at + 5, 0, SOFT, original, &[]);
}

/// A queue drops it to take another packet.
fn dropped(s: &mut Sender, at: u64, original: u64) {
    let v = [("skbaddr", N(original + FCLONE)), ("protocol", N(0x800))];
    s.s.ev(at, 0, SOFT, "skb:kfree_skb", &v);
}

/// In the send call before: no event tells what the thread did.
const CALL: i64 = 1000;

/// The row of a segment of 200 bytes queued at 0, acknowledged at 500_000, with what happens after it.
fn row(what: impl Fn(&mut Sender, u64, u64)) -> TxRow {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    s.enter(t - CALL as u64);
    s.round(t - 900, 200);
    let original = s.segment(t, TASK, 200);
    s.leave(t + 500, 200);
    what(&mut s, t, original);
    // Both must be there, in order of time.
    requests(&mut s, 3_000_000, 2);
    let f = s.facts();
    let rows = segments(&f);
    let of = rows.iter().find(|r| r.t_sched_ns == t as i64);
    TxRow::clone(of.unwrap())
}

fn acked(s: &mut Sender, t: u64) {
    s.probe(t, 200, &[]);
    s.softirq_exit(t + 10);
}

/// Recovery, queue, network, not attributed.
fn told(r: &TxRow) -> (Option<i64>, Option<i64>, Option<i64>, i64) {
    assert_eq!(r.end, TxEnd::Acked);
    let of = |stage| r.stage(stage);
    (
        of(Stage::Recovery),
        of(Stage::Qdisc),
        of(Stage::Network),
        r.unattributed_ns,
    )
}

/// The one before it repaired the loss, and the network had it until the ACK.
#[test]
fn what_a_queue_drops_after_the_ack_is_in_no_stage() {
    let r = row(|s, t, original| {
        s.again(t + 100_000, SOFT, original, 200);
        held(s, t + 300_000, original);
        acked(s, t + 500_000);
        dropped(s, t + 600_000, original);
    });
    assert_eq!(r.retransmits, 2);
    assert_eq!(told(&r), (Some(100_000), Some(1), Some(500_000 - 100_003), CALL));
}

/// It was the only one: nothing was repaired.
#[test]
fn the_only_one_that_a_queue_drops_after_the_ack_repaired_nothing() {
    let r = row(|s, t, original| {
        held(s, t + 300_000, original);
        acked(s, t + 500_000);
        dropped(s, t + 600_000, original);
    });
    assert_eq!(r.retransmits, 1);
    assert_eq!(told(&r), (None, Some(1), Some(500_000 - 3), CALL));
}

/// Dropped before the ACK, it waited in the queue until then; what the ACK answered is not known.
#[test]
fn what_a_queue_drops_before_the_ack_waited_there() {
    let r = row(|s, t, original| {
        held(s, t + 300_000, original);
        dropped(s, t + 400_000, original);
        acked(s, t + 500_000);
    });
    assert_eq!(told(&r), (Some(300_000), Some(100_000), None, 100_000 + CALL));
}
