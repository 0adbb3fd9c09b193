//! What forwarding took: event sequences of a router between wan0 and dmz0 on 6.18 (veth).

use super::*;
use crate::facts::Facts;

const B: u64 = A + 0x1000;

fn run(s: &mut Script, ts: u64) {
    s.ev(ts, 0, Ctx::Soft(1), "irq:softirq_entry", &[("vec", N(3))]);
}
fn came(s: &mut Script, ts: u64, addr: u64) {
    let v = [("skbaddr", N(addr)), ("len", N(147)), ("name", S("wan0"))];
    s.ev(ts, 0, Ctx::Soft(1), "net:netif_receive_skb", &v);
}
fn queued(s: &mut Script, (ts, cpu): (u64, usize), addr: u64) {
    let v = [("skbaddr", N(addr)), ("len", N(161)), ("name", S("dmz0"))];
    s.ev(ts, cpu, Ctx::Soft(1), "net:net_dev_queue", &v);
}
/// Handed to the driver, and by it to the other end of the veth, whose softirq comes later.
fn left(s: &mut Script, ts: u64, addr: u64) {
    let v = [
        ("skbaddr", N(addr)),
        ("len", N(161)),
        ("network_offset", N(14)),
        ("name", S("dmz0")),
    ];
    s.ev(ts, 0, Ctx::Soft(1), "net:net_dev_start_xmit", &v);
    let v = [("skbaddr", N(addr)), ("len", N(147)), ("name", S("v-fw-dmz"))];
    s.ev(ts + 500, 0, Ctx::Soft(1), "net:netif_rx_entry", &v);
    s.ev(ts + 600, 0, Ctx::Soft(1), "net:net_dev_xmit", &[("skbaddr", N(addr))]);
}
fn took(f: &Facts) -> Vec<(String, String, i64)> {
    let all = f.forwarded.iter();
    all.map(|r| (r.from.text().into_owned(), r.to.text().into_owned(), r.ns))
        .collect()
}
fn between(ns: &[i64]) -> Vec<(String, String, i64)> {
    ns.iter().map(|ns| ("wan0".into(), "dmz0".into(), *ns)).collect()
}

/// The second packet of a backlog's poll is received when the first one is gone.
#[test]
fn from_the_reception_to_the_queue() {
    let mut s = script();
    run(&mut s, T - 1_000);
    came(&mut s, T, A);
    queued(&mut s, (T + 590_000, 0), A);
    left(&mut s, T + 590_400, A);
    came(&mut s, T + 592_000, B);
    queued(&mut s, (T + 1_180_000, 0), B);
    let f = s.facts();
    assert_eq!(took(&f), between(&[590_000, 588_000]));
    assert_eq!((f.forwarded[0].skb, f.forwarded[0].cpu), (f.skbs[0].skb_id, 0));
    assert_eq!(f.skbs.len(), 2);
}

/// Three packets that are received before the first one goes on.
fn batch() -> Script {
    let mut s = script();
    run(&mut s, T - 1_000);
    came(&mut s, T, A);
    came(&mut s, T + 200, B);
    came(&mut s, T + 400, B + 0x1000);
    queued(&mut s, (T + 600_400, 0), A);
    s
}

/// All packets of a batch (GRO) are received before the first one goes on: what the first took is not the second one's, too, nor
/// what one took that a rule dropped.
#[test]
fn what_others_had_of_the_cpu_is_theirs() {
    let mut s = batch();
    left(&mut s, T + 601_000, A);
    let rule = [("skbaddr", N(B)), ("protocol", N(0x800))];
    s.ev(T + 1_201_600, 0, Ctx::Soft(1), "skb:kfree_skb", &rule);
    queued(&mut s, (T + 1_801_600, 0), B + 0x1000);
    assert_eq!(took(&s.facts()), between(&[600_000, 600_000]));
}

/// What waited for a neighbour goes on in the run that received its answer; a tunnel's worker, or a program, in a task.
#[test]
fn what_waited_is_none() {
    let mut s = script();
    run(&mut s, T - 1_000);
    came(&mut s, T, A);
    run(&mut s, T + 50_000);
    queued(&mut s, (T + 60_000, 0), A);
    assert_eq!(took(&s.facts()), []);
    let mut s = script();
    run(&mut s, T - 1_000);
    came(&mut s, T, A);
    queued(&mut s, (T + 60_000, 1), A);
    assert_eq!(took(&s.facts()), []);
    let mut s = script();
    run(&mut s, T - 1_000);
    came(&mut s, T, A);
    let v = [("skbaddr", N(A)), ("len", N(161)), ("name", S("dmz0"))];
    s.ev(T + 60_000, 0, Ctx::Task(7), "net:net_dev_queue", &v);
    assert_eq!(took(&s.facts()), []);
    // Nothing tells where a run began, or which packet it was across a loss.
    let mut s = script();
    came(&mut s, T, A);
    queued(&mut s, (T + 9_000, 0), A);
    assert_eq!(took(&s.facts()), []);
    let mut s = script();
    run(&mut s, T - 1_000);
    came(&mut s, T, A);
    s.lost(0, Some(3));
    queued(&mut s, (T + 60_000, 0), A);
    assert_eq!(took(&s.facts()), []);
}

/// The rules of PREROUTING are walked for all of a batch before its first packet goes on; the next batch begins behind it.
#[test]
fn a_batch_is_told_evenly() {
    let mut s = batch();
    queued(&mut s, (T + 610_400, 0), B);
    queued(&mut s, (T + 630_401, 0), B + 0x1000);
    came(&mut s, T + 640_000, B + 0x2000);
    came(&mut s, T + 640_200, B + 0x3000);
    queued(&mut s, (T + 650_200, 0), B + 0x2000);
    queued(&mut s, (T + 670_200, 0), B + 0x3000);
    // 600,000, 10,000 and 20,001 ns together; 10,000 and 20,000.
    assert_eq!(took(&s.facts()), between(&[210_001, 210_000, 210_000, 15_000, 15_000]));
}
