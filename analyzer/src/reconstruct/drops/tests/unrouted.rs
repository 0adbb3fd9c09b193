//! Packets without a route, in the order of events of real recordings (6.18): a neighbour message of the kernel's, a timer of a
//! socket whose namespace is gone.

use super::{A, T};
use crate::facts::Facts;
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, N, S, Script};

const DISCARD: u64 = 0xffff_ffff_8100_0000;
const QUEUE: u64 = 0xffff_ffff_8110_0000;
const WRITE: u64 = 0xffff_ffff_8120_0000;
const SOFT: Ctx = Ctx::Soft(7);

fn script() -> Script {
    let mut s = Script::new("6.18.44", &[]);
    s.symbol(DISCARD, "ip6_pkt_discard");
    s.symbol(QUEUE, "__ip_queue_xmit");
    s.symbol(WRITE, "tcp_write_timer");
    s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
    s
}
fn only(f: &Facts) -> (Option<bool>, bool, &'static str) {
    assert_eq!(f.drops.len(), 1);
    (f.drops[0].expected, f.drops[0].background, f.drops[0].why)
}

fn unrouted(len: u64, ctx: Ctx, comm: &'static str) -> Facts {
    freed(len, ctx, comm, 88)
}

fn freed(len: u64, ctx: Ctx, comm: &'static str, reason: u64) -> Facts {
    let mut s = script();
    let switch = [
        ("next_pid", N(9)),
        ("next_comm", S(comm)),
        ("prev_comm", S("swapper/0")),
    ];
    s.ev(T - 9, 0, Ctx::Task(0), "sched:sched_switch", &switch);
    let frame = [("skbaddr", N(A)), ("len", N(len)), ("name", S("c0"))];
    let packet = [("skbaddr", N(A)), ("len", N(len - 14)), ("name", S("rc"))];
    s.ev(T, 0, ctx, "net:net_dev_queue", &frame);
    s.ev(T + 1, 0, ctx, "net:net_dev_start_xmit", &frame);
    s.ev(T + 2, 0, ctx, "net:netif_rx", &packet);
    s.ev(T + 3, 0, SOFT, "net:netif_receive_skb", &packet);
    let v = [
        ("skbaddr", N(A)),
        ("location", N(DISCARD)),
        ("protocol", N(0x86dd)),
        ("reason", N(reason)),
    ];
    s.ev(T + 4, 0, SOFT, "skb:kfree_skb", &v);
    s.facts()
}

/// Sent by a worker of the kernel or in an interrupt, as long as a message of neighbour discovery or MLD. A program's packet of
/// the same size, or a longer one of the kernel's (a tunnel), is lost as any other.
#[test]
fn what_the_kernel_sends_for_itself_is_background() {
    for (len, ctx, comm, background) in [
        (86, Ctx::Task(9), "kworker/u8:0", true),
        (90, Ctx::Soft(9), "kworker/u8:0", true),
        (70, Ctx::Soft(9), "rustc", true),
        (86, Ctx::Task(9), "ping", false),
        (1294, Ctx::Task(9), "kworker/u8:0", false),
        (94, Ctx::Task(9), "kworker/0:1-wg-", false),
    ] {
        let (expected, own, why) = only(&unrouted(len, ctx, comm));
        assert_eq!((expected, own), (Some(false), background), "{len} {comm}: {why}");
    }
}

/// A bridge without ports, a device that is down.
#[test]
fn what_no_device_takes_of_that_is_background_too() {
    let drop = |name: &str, len: u64| {
        let of = |reason: u64| freed(len, SOFT, "rustc", reason);
        let named = |f: &Facts| f.names.drop_reason(f.drops[0].reason) == crate::table::Cell::str(name);
        let f = (2..130).map(of).find(named).unwrap();
        only(&f)
    };
    for name in ["NO_TX_TARGET", "QDISC_DROP"] {
        let (expected, own, why) = drop(name, 70);
        assert_eq!((expected, own), (Some(false), true), "{name}: {why}");
        assert!(why.contains("neighbour discovery") && !why.contains("route"), "{why}");
        assert!(!drop(name, 1294).1, "{name}");
    }
}

/// The timer of a socket that is in no other event: whose connection that was, and whether somebody still waits, nothing tells.
/// Of a socket that sent and received it is a loss.
#[test]
fn a_timer_of_a_socket_without_traffic_is_unclear() {
    for (timer, after, vector, expected) in [
        (SOCK.sk + 0x10_0000, 15, None, None),
        (SOCK.sk + 1104, 15, None, Some(false)),
        // The socket's neighbour in the slab, that no event names.
        (SOCK.sk + 2368 + 1104, 15, None, None),
        // The timer was long ago, or in another vector's run.
        (SOCK.sk + 0x10_0000, 10_000_000, None, Some(false)),
        (SOCK.sk + 0x10_0000, 15, Some(3), Some(false)),
    ] {
        let mut s = script();
        SOCK.probe(&mut s, T - 900, 0, SOFT, &[]);
        s.ev(T, 0, SOFT, "irq:softirq_entry", &[("vec", N(1))]);
        s.ev(
            T + 1,
            0,
            SOFT,
            "timer:timer_expire_entry",
            &[("timer", N(timer)), ("function", N(WRITE))],
        );
        if let Some(vec) = vector {
            s.ev(T + 5, 0, SOFT, "irq:softirq_entry", &[("vec", N(vec))]);
        }
        let v = [
            ("skbaddr", N(A)),
            ("location", N(QUEUE)),
            ("protocol", N(0)),
            ("reason", N(54)),
        ];
        s.ev(T + after, 0, SOFT, "skb:kfree_skb", &v);
        let (got, own, why) = only(&s.facts());
        assert_eq!((got, own), (expected, false), "{why}");
    }
}
