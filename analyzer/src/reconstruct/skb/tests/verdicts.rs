//! Packets that netfilter gave to a program: event sequences of an inline inspector (NFQUEUE) on 6.18.

use super::*;

const PROGRAM: i32 = 700;

/// A packet received on lan1 and queued on dc1 60 ms later by a thread, whose family and protocol of sends are these; frees recorded.
fn through(family: u64, protocol: u64, gained: u64, ctx: Ctx) -> crate::Facts {
    let mut s = script();
    s.ev(T - 9, 0, Ctx::Task(1), "skb:consume_skb", &[("skbaddr", N(A + 0x9000))]);
    s.ev(T - 8, 0, Ctx::Task(1), "skb:kfree_skb", &[("skbaddr", N(A + 0x9000))]);
    let said = [("family", N(family)), ("protocol", N(protocol)), ("ret", N(40))];
    s.ev(T - 5, 0, Ctx::Task(PROGRAM), "sock:sock_send_length", &said);
    let came = [("skbaddr", N(A)), ("len", N(146)), ("name", S("lan1"))];
    s.ev(T, 0, Ctx::Soft(1), "net:netif_receive_skb", &came);
    let goes = [("skbaddr", N(A)), ("len", N(146 + gained)), ("name", S("dc1"))];
    s.ev(T + 60_000_000, 1, ctx, "net:net_dev_queue", &goes);
    s.facts()
}

#[test]
fn a_packet_that_a_program_lets_go_is_the_one_that_came() {
    let f = through(16, 12, 14, Ctx::Task(PROGRAM));
    assert_eq!(f.skbs.len(), 1);
    let hops: Vec<_> = f.hops.iter().map(|h| (h.kind, h.dev.text().into_owned())).collect();
    assert_eq!(hops, [("rx", "lan1".to_owned()), ("queue", "dc1".to_owned())]);
    let [r] = &f.reinjected[..] else {
        panic!("{:?}", f.reinjected)
    };
    assert_eq!((r.to_ns - r.from_ns, r.pid), (60_000_000, PROGRAM));
    assert_eq!(f.skbs[0].confidence, Confidence::Strong);
}

/// The thread of another netlink protocol, or of a socket of IP; another thread; a softirq on its time; a frame of another length.
#[test]
fn what_others_send_at_that_address_is_another_packet() {
    for (family, protocol, gained, ctx) in [
        (16, 0, 14, Ctx::Task(PROGRAM)),
        (2, 6, 14, Ctx::Task(PROGRAM)),
        (16, 12, 14, Ctx::Task(PROGRAM + 1)),
        (16, 12, 14, Ctx::Soft(PROGRAM)),
        (16, 12, 40, Ctx::Task(PROGRAM)),
    ] {
        let f = through(family, protocol, gained, ctx);
        assert_eq!(
            (f.skbs.len(), f.reinjected.len()),
            (2, 0),
            "{family} {protocol} {gained} {ctx:?}"
        );
    }
}
