//! What a thread's call receives and sends on: event sequences of a hypervisor whose guest sends by a tap (qemu writes to it), and of a poll in a thread.

use super::*;
use crate::facts::Facts;
use crate::testing::V;

const B: u64 = A + 0x1000;
const QEMU: i32 = 7;

fn named(addr: u64, len: u64, dev: &'static str) -> Vec<(&'static str, V)> {
    let of = [
        ("skbaddr", N(addr)),
        ("len", N(len)),
        ("name", S(dev)),
        ("network_offset", N(14)),
    ];
    of.to_vec()
}
fn came(s: &mut Script, ts: u64, ctx: Ctx, addr: u64) {
    s.ev(ts, 0, ctx, "net:netif_receive_skb", &named(addr, 84, "vnet0"));
}
fn left(s: &mut Script, (ts, cpu): (u64, usize), ctx: Ctx, addr: u64) {
    s.ev(ts, cpu, ctx, "net:net_dev_queue", &named(addr, 98, "eth1"));
    s.ev(ts + 500, cpu, ctx, "net:net_dev_start_xmit", &named(addr, 98, "eth1"));
}
/// Class, birth and confidence of each life, and what it took from the tap to the wire.
fn lives(s: &Script) -> (Vec<(SkbClass, u32)>, Vec<i64>, Facts) {
    let f = s.facts();
    let of = f.skbs.iter().map(|l| (l.class, l.hops)).collect();
    (of, f.forwarded.iter().map(|r| r.ns).collect(), f)
}

/// What it writes is bridged or routed on before its write call returns.
#[test]
fn a_call_that_receives_sends_on() {
    let mut s = script();
    s.ev(T - 9_000, 0, Ctx::Soft(QEMU), "irq:softirq_entry", &[("vec", N(3))]);
    came(&mut s, T, Ctx::Task(QEMU), A);
    left(&mut s, (T + 9_000, 0), Ctx::Task(QEMU), A);
    let (of, took, f) = lives(&s);
    assert_eq!((of, took), (vec![(SkbClass::Rx, 3)], vec![9_000]));
    assert_eq!(f.skbs[0].confidence, Confidence::Strong);
    // A poll in a thread (threaded NAPI) receives all of a batch before it sends the first on.
    let mut s = script();
    came(&mut s, T, Ctx::Task(QEMU), A);
    came(&mut s, T + 1_000, Ctx::Task(QEMU), B);
    left(&mut s, (T + 9_000, 0), Ctx::Task(QEMU), A);
    left(&mut s, (T + 19_000, 0), Ctx::Task(QEMU), B);
    assert_eq!(lives(&s).0, [(SkbClass::Rx, 3), (SkbClass::Rx, 3)]);
}

/// The socket it was for took it in silence, and the address is another packet's.
#[test]
fn another_call_sends_another_packet() {
    let two = [SkbClass::Rx, SkbClass::Tx];
    let apart = |s: &Script| {
        let (of, took, _) = lives(s);
        let classes: Vec<_> = of.iter().map(|l| l.0).collect();
        let tx = |c: &SkbClass| matches!(c, SkbClass::Tx | SkbClass::TxOther);
        assert!(
            classes.len() == two.len() && classes[0] == SkbClass::Rx && tx(&classes[1]),
            "{classes:?}"
        );
        assert_eq!(took, [0i64; 0]);
    };
    // Another thread.
    let mut s = script();
    came(&mut s, T, Ctx::Task(QEMU), A);
    left(&mut s, (T + 9_000, 0), Ctx::Task(QEMU + 1), A);
    apart(&s);
    // Another CPU.
    let mut s = script();
    came(&mut s, T, Ctx::Task(QEMU), A);
    left(&mut s, (T + 9_000, 1), Ctx::Task(QEMU), A);
    apart(&s);
    // Long after.
    let mut s = script();
    came(&mut s, T, Ctx::Task(QEMU), A);
    left(&mut s, (T + 2_000_000, 0), Ctx::Task(QEMU), A);
    apart(&s);
    // A softirq came between: bottom halves were on again.
    let mut s = script();
    came(&mut s, T, Ctx::Task(QEMU), A);
    s.ev(T + 4_000, 0, Ctx::Soft(QEMU), "irq:softirq_entry", &[("vec", N(3))]);
    left(&mut s, (T + 9_000, 0), Ctx::Task(QEMU), A);
    apart(&s);
    // It was received in a softirq that interrupted the thread.
    let mut s = script();
    s.ev(T - 1_000, 0, Ctx::Soft(QEMU), "irq:softirq_entry", &[("vec", N(3))]);
    came(&mut s, T, Ctx::Soft(QEMU), A);
    left(&mut s, (T + 9_000, 0), Ctx::Task(QEMU), A);
    apart(&s);
}
