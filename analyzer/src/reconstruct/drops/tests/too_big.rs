//! Packets larger than an MTU, in the order of events of real recordings (6.18): a router whose next link has a smaller one.

use super::{A, T};
use crate::Confidence;
use crate::facts::Facts;
use crate::reconstruct::drops::too_big::{
    Case, FILTERED, MESSAGE, Message, REPAIRED, SILENT, STOPPED, UNHEARD, decide,
};
use crate::reconstruct::tcp::tables::RetransmitClass::{self, Pmtu, Rto, Tlp};
use crate::testing::{Ctx, N, S, Script};

const SOFT: Ctx = Ctx::Soft(7);

/// What a tunnel made of a segment and was dropped: a timeout before it, or of another socket, says nothing.
#[test]
fn only_what_its_sender_did_after_it_makes_a_black_hole() {
    use crate::facts::ConnectionId;
    use crate::reconstruct::drops::too_big::{Again, TUNNEL, TUNNEL_HOLE};
    use crate::reconstruct::tcp::tables::RetransmitRow;
    let row = |c: u32, time_ns: i64, class| RetransmitRow {
        original: None,
        index: 0,
        time_ns,
        connection: Some(ConnectionId(c)),
        synack: None,
        class,
        err: Some(0),
        bytes: None,
        segments: Some(1),
        confidence: Confidence::Strong,
    };
    let owner = crate::reconstruct::whose::Owner {
        connection: Some(ConnectionId(0)),
        carries: crate::reconstruct::whose::Carries::TooBig,
        task: Default::default(),
        pid: 0,
        confidence: Confidence::Strong,
    };
    for (again, says) in [
        (vec![row(0, 20, Rto)], TUNNEL_HOLE),
        (vec![row(0, 5, Rto)], TUNNEL),
        (vec![row(1, 20, Rto)], TUNNEL),
        (vec![row(0, 15, Tlp)], TUNNEL),
        (vec![row(0, 20, Rto), row(0, 30, Pmtu)], TUNNEL),
        (vec![row(0, 5, Pmtu), row(0, 20, Rto)], TUNNEL_HOLE),
    ] {
        assert_eq!(Again::of(&again).by_tunnel(&owner, 10), says, "{again:?}");
    }
}

/// (what became of the message, a segment, acknowledged at, what was sent again when) and what is said.
#[test]
fn only_path_mtu_discovery_makes_it_normal() {
    type Row<'r> = (
        Message,
        bool,
        Option<i64>,
        &'r [(i64, RetransmitClass)],
        Option<(bool, &'r str)>,
    );
    let gone = Message::Dropped(0);
    let rows: [Row<'_>; 14] = [
        (
            Message::Sent(None),
            true,
            Some(30),
            &[(20, Pmtu)],
            Some((true, REPAIRED)),
        ),
        (
            Message::Unknown,
            true,
            Some(30),
            &[(10, Tlp), (20, Pmtu)],
            Some((true, REPAIRED)),
        ),
        // Sent smaller only after it had come through: that was not the reason.
        (Message::Sent(None), true, Some(30), &[(40, Pmtu)], None),
        (Message::Sent(None), true, Some(30), &[(20, Rto)], None),
        (gone, true, None, &[], Some((false, FILTERED))),
        (gone, true, None, &[(20, Rto)], Some((false, FILTERED))),
        // Brought through by something else (packetization layer discovery): no black hole, and no repair by ICMP.
        (gone, true, Some(30), &[(20, Rto)], Some((false, STOPPED))),
        (gone, false, None, &[], Some((false, STOPPED))),
        (Message::None, true, None, &[(20, Rto)], Some((false, SILENT))),
        (Message::Sent(None), true, None, &[(20, Rto)], Some((false, UNHEARD))),
        // Kernels before 5.19, and no message in the recording: it is counted, and no timer brought the segment through.
        (Message::Counted, true, Some(30), &[], Some((true, REPAIRED))),
        (Message::Counted, true, Some(30), &[(20, Rto)], None),
        (Message::Counted, true, None, &[(20, Rto)], Some((false, UNHEARD))),
        // Still under way at the end.
        (Message::Sent(None), true, None, &[(20, Pmtu)], None),
    ];
    for (message, segment, acked, again, expect) in rows {
        let again: Vec<_> = again
            .iter()
            .map(|(at, class)| (*at, *class, Confidence::Strong))
            .collect();
        let got = decide(&Case {
            message,
            segment,
            acked,
            links: Confidence::Certain,
            again: &again,
        });
        assert_eq!(
            got.map(|(e, why, _)| (e, why)),
            expect,
            "{message:?} {segment} {acked:?} {again:?}"
        );
    }
}

/// Number of a reason in the recording's own table.
fn number(f: &Facts, name: &str) -> u64 {
    let table = f.names.drop_reasons.as_ref().unwrap();
    table.entries.iter().find(|(_, n)| n == name).unwrap().0
}
fn free(s: &mut Script, t: u64, cpu: usize, addr: u64, reason: u64) {
    let v = [("skbaddr", N(addr)), ("protocol", N(0x0800)), ("reason", N(reason))];
    s.ev(T + t, cpu, SOFT, "skb:kfree_skb", &v);
}

/// The message is what its CPU frees as lost between `icmp_send` and the free of the packet; only then.
#[test]
fn the_message_is_what_is_freed_between() {
    let empty = Script::new("6.18.44", &[]);
    let (rule, big) = (
        number(&empty.facts(), "NETFILTER_DROP"),
        number(&empty.facts(), "PKT_TOO_BIG"),
    );
    let old = number(&empty.facts(), "TCP_OLD_DATA");
    // (CPU and reason of the other free, packet that the message is of) and whether it is the message.
    for (cpu, reason, of, expect) in [
        (0, rule, A, true),
        (1, rule, A, false),
        (0, old, A, false),
        (0, rule, A + 512, false),
    ] {
        let mut s = Script::new("6.18.44", &[]);
        let v = [("skbaddr", N(A)), ("len", N(1500)), ("name", S("rc"))];
        s.ev(T, 0, SOFT, "net:netif_receive_skb", &v);
        s.ev(
            T + 1,
            0,
            SOFT,
            "icmp:icmp_send",
            &[("skbaddr", N(of)), ("type", N(3)), ("code", N(4))],
        );
        free(&mut s, 2, cpu, A + 1024, reason);
        free(&mut s, 3, 0, A, big);
        let f = s.facts();
        let why: Vec<_> = f.drops.iter().map(|d| d.why).collect();
        assert_eq!((why[0] == MESSAGE, why[1] == STOPPED), (expect, expect), "{why:?}");
        assert_eq!(f.drops[1].expected, Some(false));
    }
}

/// The rule counted five packets of 576 bytes; none is the 60 bytes whose address the first message was given, and none was on a device yet.
#[test]
fn a_message_that_is_dropped_where_it_is_made_is_no_packet_that_was_there_before() {
    let f = crate::tests::facts("mtu/mtu.nmb");
    let own: Vec<_> = f.drops.iter().filter(|d| d.why == MESSAGE).collect();
    assert_eq!(own.len(), 5);
    assert!(own.iter().all(|d| d.skb_id.is_none() && d.dev.is_empty()), "{own:?}");
}
