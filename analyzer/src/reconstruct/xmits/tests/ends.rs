//! How passes end, and what of the driver's time is its own.

use super::*;
use crate::Confidence;
use crate::reconstruct::xmits::PassEnd;

/// A packet that no qdisc held: 0 in the qdisc and certain, not missing; an interrupt in the driver is not the driver's.
#[test]
fn a_bypassed_qdisc_took_no_time() {
    let mut s = script();
    dev(&mut s, 0, TASK, "queue", A, 100);
    dev(&mut s, 10, TASK, "start_xmit", A, 100);
    s.ev(T + 12, 0, Ctx::Hard(7), "irq:irq_handler_entry", &[("name", S("eth0"))]);
    s.ev(T + 17, 0, Ctx::Hard(7), "irq:irq_handler_exit", &[]);
    dev(&mut s, 30, TASK, "xmit", A, 100);
    consume(&mut s, 130, SOFT, A);
    let r = &facts(&s).xmits[0];
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

/// Where no qdisc event was recorded, nothing tells a bypass from a wait.
#[test]
fn without_qdisc_events_a_bypass_is_not_known() {
    let mut s = Script::new("6.18.44", &["qdisc:qdisc_enqueue", "qdisc:qdisc_dequeue"]);
    dev(&mut s, 0, TASK, "queue", A, 100);
    sent(&mut s, 50, TASK, A, 100);
    let f = facts(&s);
    assert_eq!((f.xmits[0].bypass, f.xmits[0].qdisc_ns), (None, Some(50)));
    assert!(
        f.unknown
            .iter()
            .any(|r| r.subject == "xmits" && r.because.contains("qdisc_dequeue"))
    );
}

/// What a qdisc drops was in it until then; the victim is found by its address, not by what was queued last.
#[test]
fn a_packet_dropped_in_the_qdisc_waited_until_then() {
    let mut s = script();
    for (t, a) in [(0, A), (300, B)] {
        dev(&mut s, t, TASK, "queue", a, 100);
        qdisc(&mut s, t + 1, TASK, "enqueue", a, 0, 0);
    }
    let v = [("skbaddr", N(A)), ("protocol", N(0x800)), ("reason", N(64))];
    s.ev(T + 500, 0, TASK, "skb:kfree_skb", &v);
    // Begins of drivers' functions are recorded.
    sent(&mut s, 900, TASK, C, 100);
    let f = facts(&s);
    let r = &f.xmits[0];
    assert_eq!((r.end, r.qdisc_ns, r.total_ns), (PassEnd::Dropped, Some(500), 500));
    assert_eq!((r.bypass, r.ifindex, r.started_ns), (Some(false), Some(3), None));
    assert_eq!(f.xmits[1].end, PassEnd::Open);
}

/// Linux before 3.14 has no net_dev_start_xmit: what was before the end of the driver's function is neither the qdisc's nor the driver's.
#[test]
fn without_begins_of_drivers_the_time_before_their_end_has_no_parts() {
    let mut s = Script::new(
        "6.18.44",
        &["net:net_dev_start_xmit", "qdisc:qdisc_enqueue", "qdisc:qdisc_dequeue"],
    );
    for event in ["net:netif_rx", "net:netif_receive_skb"] {
        s.ev(2, 0, SOFT, event, &[("skbaddr", N(A + 0x9000)), ("name", S("eth9"))]);
    }
    // Sent and completed; freed before any driver's function ended; refused once, then freed inside the function that took it.
    dev(&mut s, 0, TASK, "queue", A, 100);
    dev(&mut s, 40, TASK, "xmit", A, 100);
    consume(&mut s, 70, SOFT, A);
    dev(&mut s, 100, TASK, "queue", B, 100);
    consume(&mut s, 150, TASK, B);
    dev(&mut s, 200, TASK, "queue", C, 100);
    let busy = [("skbaddr", N(C)), ("len", N(100)), ("rc", N(16)), ("name", S("eth0"))];
    s.ev(T + 210, 0, TASK, "net:net_dev_xmit", &busy);
    consume(&mut s, 240, TASK, C);
    dev(&mut s, 250, TASK, "xmit", C, 100);
    let f = facts(&s);
    let said: Vec<_> = f
        .xmits
        .iter()
        .map(|r| (r.end, r.total_ns, r.unattributed_ns, r.completion_ns))
        .collect();
    assert_eq!(
        said,
        [
            (PassEnd::Completed, 70, 40, Some(30)),
            (PassEnd::Consumed, 50, 50, None),
            (PassEnd::Sent, 50, 50, None),
        ]
    );
    assert_eq!((f.xmits[0].ended_ns, f.xmits[2].requeues), (Some(T as i64 + 40), 1));
    assert!(
        f.xmits
            .iter()
            .all(|r| (r.qdisc_ns, r.driver_ns, r.bypass) == (None, None, None))
    );
}

/// Of a device on top of another, as a bridge: what ends its own function is not the end of the lower device's, whose queue still holds the packet.
#[test]
fn without_begins_of_drivers_the_end_of_a_stacked_device_is_its_own() {
    let untold = ["net:net_dev_start_xmit", "qdisc:qdisc_enqueue", "qdisc:qdisc_dequeue"];
    let mut s = Script::new("6.18.44", &untold);
    on(&mut s, 0, TASK, "queue", A, 100, "br0");
    dev(&mut s, 10, TASK, "queue", A, 100);
    on(&mut s, 20, TASK, "xmit", A, 100, "br0");
    dev(&mut s, 500, SOFT, "xmit", A, 100);
    consume(&mut s, 600, SOFT, A);
    let f = facts(&s);
    let lower = f.xmits.iter().find(|r| r.dev.bytes() == b"eth0");
    let lower = lower.expect("queued on eth0");
    assert_eq!(lower.queued_ns, Some(T as i64 + 10));
    assert_eq!(lower.ended_ns, Some(T as i64 + 500));
}

/// 3i-6: a driver that completes by kfree_skb without a reason lost nothing; one that frees it inside its transmit did.
#[test]
fn a_drivers_kfree_is_a_drop_only_where_it_refuses() {
    let mut s = script();
    dev(&mut s, 0, TASK, "queue", A, 100);
    sent(&mut s, 10, TASK, A, 100);
    let v = [("skbaddr", N(A)), ("protocol", N(0x800)), ("reason", N(2))];
    s.ev(T + 70, 0, SOFT, "skb:kfree_skb", &v);
    dev(&mut s, 100, TASK, "queue", B, 100);
    dev(&mut s, 110, TASK, "start_xmit", B, 100);
    let v = [("skbaddr", N(B)), ("protocol", N(0x800)), ("reason", N(2))];
    s.ev(T + 115, 0, TASK, "skb:kfree_skb", &v);
    let v = [("skbaddr", N(B)), ("len", N(100)), ("rc", N(1)), ("name", S("eth0"))];
    s.ev(T + 120, 0, TASK, "net:net_dev_xmit", &v);
    let f = facts(&s);
    assert_eq!(
        (f.xmits[0].end, f.xmits[0].completion_ns),
        (PassEnd::Completed, Some(50))
    );
    let r = &f.xmits[1];
    assert_eq!(
        (r.end, r.rc, r.completed_ns, r.total_ns),
        (PassEnd::Dropped, Some(1), None, 20)
    );
}

/// Another CPU freed it before the driver's return was traced: nothing is left of the completion, and nothing is negative.
#[test]
fn a_completion_inside_the_transmit_ends_the_drivers_part() {
    let mut s = script();
    dev(&mut s, 0, TASK, "queue", A, 100);
    dev(&mut s, 10, TASK, "start_xmit", A, 100);
    s.ev(T + 15, 1, SOFT, "skb:consume_skb", &[("skbaddr", N(A))]);
    dev(&mut s, 20, TASK, "xmit", A, 100);
    let r = &facts(&s).xmits[0];
    assert_eq!(
        (r.end, r.completed_ns.is_some(), r.completion_ns),
        (PassEnd::Completed, true, None)
    );
    assert_eq!((r.driver_ns, r.total_ns, r.unattributed_ns), (Some(5), 15, 10));
    assert_eq!(
        (r.left_ns(), r.driver_until(T as i64 + 13)),
        (Some(T as i64 + 15), Some(3))
    );
}

/// An interrupt in the driver's function, partly after the free on another CPU.
#[test]
fn what_nests_in_the_transmit_counts_up_to_its_end() {
    let mut s = script();
    dev(&mut s, 0, TASK, "queue", A, 100);
    dev(&mut s, 10, TASK, "start_xmit", A, 100);
    s.ev(T + 20, 0, Ctx::Hard(7), "irq:irq_handler_entry", &[("irq", N(9))]);
    s.ev(T + 25, 1, SOFT, "skb:consume_skb", &[("skbaddr", N(A))]);
    s.ev(T + 30, 0, Ctx::Hard(7), "irq:irq_handler_exit", &[("irq", N(9))]);
    dev(&mut s, 40, TASK, "xmit", A, 100);
    let r = &facts(&s).xmits[0];
    assert_eq!((r.driver_ns, r.nested_ns, r.total_ns), (Some(10), Some(5), 25));
    assert_eq!(r.unattributed_ns, 10);
    assert_eq!(r.driver_until(T as i64 + 18), Some(8));
}

/// loopback and veth hand the skb on: no completion, and its free at the receiver is none.
#[test]
fn a_device_that_hands_the_skb_on_completes_nothing() {
    let mut s = script();
    dev(&mut s, 0, TASK, "queue", A, 114);
    dev(&mut s, 10, TASK, "start_xmit", A, 114);
    let v = [("skbaddr", N(A)), ("len", N(100)), ("name", S("veth1"))];
    s.ev(T + 12, 0, TASK, "net:netif_rx_entry", &v);
    s.ev(T + 13, 0, TASK, "net:netif_rx", &v);
    dev(&mut s, 20, TASK, "xmit", A, 114);
    s.ev(T + 30, 0, SOFT, "net:netif_receive_skb", &v);
    consume(&mut s, 500, SOFT, A);
    let r = &facts(&s).xmits[0];
    assert_eq!((r.end, r.completed_ns, r.total_ns), (PassEnd::Sent, None, 20));
}

/// A VLAN device queues the same skb to the device below inside its own transmit: two passes, and the lower one's driver
/// time is not the upper one's.
#[test]
fn stacked_devices_are_two_passes_of_one_skb() {
    let mut s = script();
    on(&mut s, 0, TASK, "queue", A, 100, "eth0.5");
    on(&mut s, 10, TASK, "start_xmit", A, 100, "eth0.5");
    on(&mut s, 20, TASK, "queue", A, 104, "eth0");
    on(&mut s, 30, TASK, "start_xmit", A, 104, "eth0");
    on(&mut s, 70, TASK, "xmit", A, 104, "eth0");
    on(&mut s, 80, TASK, "xmit", A, 100, "eth0.5");
    consume(&mut s, 200, SOFT, A);
    let f = facts(&s);
    let [upper, lower] = &f.xmits[..] else {
        panic!("{:?}", f.xmits)
    };
    assert_eq!(upper.skb_id, lower.skb_id);
    assert_eq!(
        (upper.driver_ns, upper.nested_ns, upper.end),
        (Some(30), Some(40), PassEnd::Sent)
    );
    assert_eq!(
        (lower.driver_ns, lower.completion_ns, lower.end),
        (Some(40), Some(130), PassEnd::Completed)
    );
}

/// Events lost between the queue and the driver: the time stands, what was in it is a guess.
#[test]
fn a_loss_inside_a_pass_makes_it_weak() {
    let mut s = script();
    dev(&mut s, 0, TASK, "queue", A, 100);
    s.lost(0, Some(3));
    sent(&mut s, 100, TASK, A, 100);
    let r = &facts(&s).xmits[0];
    assert!(r.confidence <= Confidence::Weak, "{r:?}");
}

/// Without events that tell that a driver handed a packet on, as under `--profile tx`: what a receiver frees was no completion, nor a drop
/// of the device's; what veth sends never completes; of a device that no text tells of, or two, it is not told.
#[test]
fn what_a_receiver_frees_is_no_completion_where_nobody_tells_of_handing_on() {
    use netmortem_formats::{Snapshot, SnapshotWhen};
    let told = [
        "net:netif_rx",
        "net:netif_rx_entry",
        "net:napi_gro_receive_entry",
        "net:netif_receive_skb",
    ];
    let (receiver, driver) = (0xffff_ffff_8100_0010, 0xffff_ffff_8200_0010);
    let ends = |without: &[&str], name: &'static str, links: &str, place: u64, drop: bool| {
        let mut s = Script::new("6.18.44", without);
        s.symbol(receiver & !0xff, "tcp_rcv_state_process");
        s.symbol(driver & !0xff, "free_old_xmit");
        on(&mut s, 0, TASK, "queue", A, 100, name);
        on(&mut s, 10, TASK, "start_xmit", A, 100, name);
        on(&mut s, 20, TASK, "xmit", A, 100, name);
        let of = [
            ("skbaddr", N(A)),
            ("location", N(place)),
            ("protocol", N(0x800)),
            ("reason", N(64)),
        ];
        match drop {
            false => s.ev(T + 9_000, 0, SOFT, "skb:consume_skb", &of[..2]),
            true => s.ev(T + 9_000, 0, SOFT, "skb:kfree_skb", &of),
        };
        let mut c = s.capture();
        c.snapshots = vec![Snapshot {
            what: "links".into(),
            when: SnapshotWhen::End,
            text: links.as_bytes().to_vec(),
        }];
        let f = crate::analyze(&c, &Default::default());
        sums(&f.xmits);
        let r = &f.xmits[0];
        (r.end, r.completion_ns, r.confidence)
    };
    let real = "netns=1 ifindex=2 name=eth0 type=1 qdisc=fq\n";
    let veth = "netns=1 ifindex=2 name=eth0 type=1 kind=veth qdisc=noqueue\n";
    let (sent, completed) = (
        (PassEnd::Sent, None, Confidence::Certain),
        (PassEnd::Completed, Some(8_980), Confidence::Certain),
    );
    // By the code that frees, whatever is recorded.
    for without in [&told[..], &[]] {
        for links in [real, veth, ""] {
            assert_eq!(ends(without, "eth0", links, receiver, false), sent, "{links}");
            assert_eq!(ends(without, "eth0", links, receiver, true), sent, "{links}");
        }
        assert_eq!(ends(without, "eth0", real, driver, false), completed);
    }
    // By the device, where the code is nobody's that is known.
    assert_eq!(ends(&told, "eth0", veth, driver, false), sent);
    assert_eq!(
        ends(&told, "lo", "netns=1 ifindex=1 name=lo type=772\n", driver, false),
        sent
    );
    let both = format!("{real}netns=2 ifindex=2 name=eth0 type=1 kind=veth\n");
    for links in ["", &both] {
        assert_eq!(ends(&told, "eth0", links, driver, false), sent, "{links}");
    }
}

/// 3i-18: `net_dev_xmit` comes when the driver returns: another CPU may have completed the skb by then, and its address be the next one's.
#[test]
fn an_address_that_is_used_again_before_the_driver_returns_is_another_pass() {
    let mut s = script();
    dev(&mut s, 0, TASK, "queue", A, 100);
    dev(&mut s, 10, TASK, "start_xmit", A, 100);
    s.ev(T + 15, 1, SOFT, "skb:consume_skb", &[("skbaddr", N(A))]);
    let next = [("skbaddr", N(A)), ("len", N(700)), ("name", S("eth0"))];
    s.ev(T + 16, 1, TASK, "net:net_dev_queue", &next);
    dev(&mut s, 20, TASK, "xmit", A, 100);
    let f = facts(&s);
    let (first, second) = (&f.xmits[0], &f.xmits[1]);
    assert_eq!(
        (first.bytes, first.end, first.driver_ns),
        (Some(100), PassEnd::Completed, Some(5))
    );
    assert_eq!(
        (second.bytes, second.end, second.driver_ns),
        (Some(700), PassEnd::Open, None)
    );
    assert!(first.skb_id != second.skb_id);
}
