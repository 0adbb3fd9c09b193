mod ends;
mod known;
mod segments;
mod stops;

use super::tables::Pass;
use crate::facts::Facts;
use crate::testing::{Ctx, N, S, Script, V};

pub(super) const T: u64 = 1_000_000_000;
pub(super) const A: u64 = 0xffff_8880_0100_0000;
pub(super) const B: u64 = A + 0x1000;
pub(super) const C: u64 = A + 0x2000;
pub(super) const TASK: Ctx = Ctx::Task(7);
pub(super) const SOFT: Ctx = Ctx::Soft(7);

/// A recording that begins long before the packets and has qdisc events, of another queue, and tells when packets are received.
pub(super) fn script() -> Script {
    let mut s = Script::new("6.18.44", &[]);
    s.ev(1, 0, TASK, "qdisc:qdisc_dequeue", &[("qdisc", N(1)), ("txq", N(2))]);
    for event in ["net:netif_rx", "net:netif_receive_skb"] {
        s.ev(2, 0, SOFT, event, &[("skbaddr", N(A + 0x9000)), ("name", S("eth9"))]);
    }
    s
}
/// `net_dev_<event>` on eth0 and CPU 0.
pub(super) fn dev(s: &mut Script, t: u64, ctx: Ctx, event: &str, addr: u64, len: u64) {
    on(s, t, ctx, event, addr, len, "eth0");
}
pub(super) fn on(s: &mut Script, t: u64, ctx: Ctx, event: &str, addr: u64, len: u64, name: &'static str) {
    let v = [("skbaddr", N(addr)), ("len", N(len)), ("name", S(name))];
    s.ev(T + t, 0, ctx, &format!("net:net_dev_{event}"), &v);
}
/// Through the driver: 10 ns.
pub(super) fn sent(s: &mut Script, t: u64, ctx: Ctx, addr: u64, len: u64) {
    dev(s, t, ctx, "start_xmit", addr, len);
    dev(s, t + 10, ctx, "xmit", addr, len);
}
/// `qdisc_enqueue`, or `qdisc_dequeue` of `packets` with `txq_state`.
pub(super) fn qdisc(s: &mut Script, t: u64, ctx: Ctx, event: &str, addr: u64, packets: u64, state: u64) {
    let v: [(&str, V); 8] = [
        ("qdisc", N(0xffff_8880_0200_0000)),
        ("txq", N(0xffff_8880_0300_0000)),
        ("skbaddr", N(addr)),
        ("ifindex", N(3)),
        ("handle", N(0x1_0000)),
        ("parent", N(0xffff_ffff)),
        ("packets", N(packets)),
        ("txq_state", N(state)),
    ];
    s.ev(T + t, 0, ctx, &format!("qdisc:qdisc_{event}"), &v);
}
pub(super) fn consume(s: &mut Script, t: u64, ctx: Ctx, addr: u64) {
    s.ev(T + t, 0, ctx, "skb:consume_skb", &[("skbaddr", N(addr))]);
}
pub(super) fn soft(s: &mut Script, t: u64, event: &str, vec: u64) {
    s.ev(T + t, 0, SOFT, &format!("irq:softirq_{event}"), &[("vec", N(vec))]);
}
/// The facts, after the check that every row's parts sum to its total.
pub(super) fn facts(s: &Script) -> Facts {
    let f = s.facts();
    sums(&f.xmits);
    f
}
pub(super) fn sums(rows: &[Pass]) {
    for r in rows {
        let sum: i64 = r.parts().iter().filter_map(|p| p.1).sum();
        assert_eq!(sum + r.unattributed_ns, r.total_ns, "{r:?}");
    }
}
