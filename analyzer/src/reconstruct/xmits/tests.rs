use super::tables::{Pass, PassEnd};
use crate::Confidence;
use crate::testing::{Ctx, N, S, Script, V};

const T: u64 = 1_000_000_000;
const A: u64 = 0xffff_8880_0100_0000;
const QDISC: u64 = 0xffff_8880_0200_0000;
const TXQ: u64 = 0xffff_8880_0300_0000;

fn script() -> Script {
    let mut s = Script::new("6.18.44", &[]);
    // The recording begins long before the packets, and has qdisc events: of another queue.
    s.ev(
        1,
        0,
        Ctx::Task(1),
        "qdisc:qdisc_dequeue",
        &[("qdisc", N(1)), ("txq", N(2))],
    );
    s
}
fn dev(s: &mut Script, t: u64, ctx: Ctx, event: &str, addr: u64, len: u64, more: &[(&'static str, V)]) {
    let mut v = vec![("skbaddr", N(addr)), ("len", N(len)), ("name", S("eth0"))];
    v.extend(more.iter().cloned());
    s.ev(T + t, 0, ctx, &format!("net:net_dev_{event}"), &v);
}
fn row(s: &Script, of: usize) -> Pass {
    let f = s.facts();
    for r in &f.xmits {
        let sum: i64 = r.parts().iter().filter_map(|p| p.1).sum();
        assert_eq!(sum + r.unattributed_ns, r.total_ns, "{r:?}");
    }
    f.xmits[of].clone()
}

/// A packet that no qdisc held: 0 in the qdisc and certain, not missing; an interrupt inside the driver is not the driver's.
#[test]
fn a_bypassed_qdisc_took_no_time() {
    let mut s = script();
    let c = Ctx::Task(7);
    dev(&mut s, 0, c, "queue", A, 100, &[]);
    dev(&mut s, 10, c, "start_xmit", A, 100, &[]);
    s.ev(T + 12, 0, Ctx::Hard(7), "irq:irq_handler_entry", &[("name", S("eth0"))]);
    s.ev(T + 17, 0, Ctx::Hard(7), "irq:irq_handler_exit", &[]);
    dev(&mut s, 30, c, "xmit", A, 100, &[]);
    s.ev(T + 130, 0, Ctx::Soft(7), "skb:consume_skb", &[("skbaddr", N(A))]);
    let r = row(&s, 0);
    assert_eq!(
        (r.bypass, r.qdisc_ns, r.bql_ns, r.ring_ns),
        (Some(true), Some(0), None, None)
    );
    assert_eq!(
        (r.driver_ns, r.nested_ns, r.completion_ns),
        (Some(15), Some(5), Some(100))
    );
    assert_eq!((r.total_ns, r.unattributed_ns), (130, 10));
    assert_eq!((r.end, r.confidence), (PassEnd::Completed, Confidence::Certain));
}

/// What a qdisc drops was in it until then, the victim found by its address.
#[test]
fn a_packet_dropped_in_the_qdisc_waited_until_then() {
    let mut s = script();
    let c = Ctx::Task(7);
    dev(&mut s, 0, c, "queue", A, 100, &[]);
    let q = [
        ("qdisc", N(QDISC)),
        ("txq", N(TXQ)),
        ("skbaddr", N(A)),
        ("ifindex", N(3)),
    ];
    s.ev(T + 1, 0, c, "qdisc:qdisc_enqueue", &q);
    s.ev(
        T + 500,
        0,
        Ctx::Soft(7),
        "skb:kfree_skb",
        &[("skbaddr", N(A)), ("protocol", N(0x800)), ("reason", N(64))],
    );
    let r = row(&s, 0);
    assert_eq!((r.end, r.qdisc_ns, r.total_ns), (PassEnd::Dropped, Some(500), 500));
    assert_eq!((r.bypass, r.ifindex, r.started_ns), (Some(false), Some(3), None));
}
