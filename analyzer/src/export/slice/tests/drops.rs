//! Whose drops are: by what the kernel says of each, event by event.

use super::super::owners::{Of, Owners};
use super::{facts, open, records, sliced, subject};
use crate::Confidence;
use crate::export::slice::cut;
use crate::ingest::Trace;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::{skb, tcp};
use crate::testing::tcp::{SOCK, Sock};
use crate::testing::{B, Ctx, N, Script, V};

const SOFT: Ctx = Ctx::Soft(0);
const TCP_RCV: u64 = 0xffff_ffff_8100_0000;
const UDP_RCV: u64 = 0xffff_ffff_8200_0000;
const IP_OUT: u64 = 0xffff_ffff_8300_0000;
const VSOCK: u64 = 0xffff_ffff_8400_0000;
const ARP: u64 = 0xffff_ffff_8500_0000;
/// SKB_DROP_REASON_IP_OUTNOROUTES of 6.18.
const NO_ROUTE: u64 = 54;
const A: u64 = 0xffff_8880_2000_0000;
/// The socket that is not asked for.
const OTHER: Sock = Sock {
    sk: 0xffff_8880_1100_0000,
    cookie: 78,
    sport: 40_001,
    dport: 80,
};
/// A UDP socket.
const UDP_SK: u64 = 0xffff_8880_1200_0000;

fn end(last: u8, port: u16) -> V {
    let mut b = vec![2, 0];
    b.extend(port.to_be_bytes());
    b.extend([10, 0, 0, last]);
    b.resize(28, 0);
    B(b)
}

/// A drop `n` with its fields, and before it an event that may name its ends.
fn drop(s: &mut Script, n: u64, before: Option<(&str, &[(&str, V)])>, fields: &[(&str, V)]) {
    let (ts, skb) = (1_000_000 * n, A + 0x1000 * n);
    if let Some((key, of)) = before {
        let mut v = vec![("skbaddr", N(skb))];
        v.extend(of.iter().cloned());
        s.ev(ts, 0, SOFT, key, &v);
    }
    let mut v = vec![
        ("skbaddr", N(skb)),
        ("location", N(TCP_RCV)),
        ("protocol", N(0x0800)),
        ("reason", N(3)),
    ];
    v.extend(fields.iter().cloned());
    s.ev(ts + 500, 0, SOFT, "skb:kfree_skb", &v);
}

#[test]
fn a_drop_is_of_whom_its_ports_socket_or_place_say() {
    let mut s = Script::new("6.18.44", &[]);
    s.symbol(TCP_RCV, "tcp_v4_rcv");
    s.symbol(UDP_RCV, "udp_queue_rcv_one_skb");
    s.symbol(UDP_RCV + 0x1000, "a_function_behind");
    s.symbol(IP_OUT, "__ip_queue_xmit");
    s.symbol(VSOCK, "virtio_transport_recv_pkt");
    s.symbol(ARP, "arp_error_report");
    for (sock, ts) in [(SOCK, 10), (OTHER, 20)] {
        sock.state(&mut s, ts, 0, SOFT, 2, 1);
        sock.probe(&mut s, ts + 1, 0, SOFT, &[]);
    }
    let udp = [("sk", N(UDP_SK)), ("family", N(2)), ("protocol", N(17)), ("ret", N(5))];
    s.ev(30, 0, Ctx::Task(9), "sock:sock_recv_length", &udp);
    let reset = |sport, dport| [("saddr", end(1, sport)), ("daddr", end(2, dport))];
    let datagram = |port| {
        [
            ("saddr", B(vec![10, 0, 0, 1])),
            ("daddr", B(vec![10, 0, 0, 2])),
            ("sport", N(port)),
            ("dport", N(port)),
        ]
    };
    type Case<'c> = (Option<(&'c str, &'c [(&'c str, V)])>, &'c [(&'c str, V)], Of);
    let (own, other, none) = (reset(40_000, 443), reset(40_000, 80), reset(0, 0));
    let turned = [("saddr", end(2, 443)), ("daddr", end(1, 40_000))];
    let (ports, no_ports) = (datagram(53), datagram(0));
    let cases: [Case<'_>; 20] = [
        (Some(("tcp:tcp_send_reset", &own)), &[], Of::Own),
        (Some(("tcp:tcp_send_reset", &turned)), &[], Of::Own),
        (Some(("tcp:tcp_send_reset", &other)), &[], Of::Other),
        (Some(("tcp:tcp_send_reset", &none)), &[], Of::Unknown),
        (Some(("tcp:tcp_bad_csum", &other)), &[], Of::Other),
        (Some(("icmp:icmp_send", &ports)), &[], Of::Other),
        (Some(("icmp:icmp_send", &no_ports)), &[], Of::Unknown),
        (None, &[("rx_sk", N(SOCK.sk))], Of::Own),
        (None, &[("rx_sk", N(OTHER.sk))], Of::Other),
        (None, &[("rx_sk", N(UDP_SK))], Of::Other),
        (None, &[("rx_sk", N(0x7777))], Of::Unknown),
        (None, &[("location", N(UDP_RCV))], Of::Other),
        (None, &[("protocol", N(0x0806))], Of::Other),
        (None, &[("protocol", N(0x8100))], Of::Unknown),
        // A segment that found no route: neither protocol nor life.
        (None, &[("location", N(IP_OUT)), ("protocol", N(0))], Of::Unknown),
        (None, &[("location", N(VSOCK)), ("protocol", N(0))], Of::Other),
        (None, &[("location", N(0x7777)), ("protocol", N(0))], Of::Unknown),
        (
            None,
            &[("location", N(VSOCK)), ("protocol", N(0)), ("reason", N(NO_ROUTE))],
            Of::Unknown,
        ),
        // What waited for a neighbour.
        (None, &[("location", N(ARP))], Of::Unknown),
        (None, &[], Of::Unknown),
    ];
    for (n, (before, fields, _)) in cases.iter().enumerate() {
        drop(&mut s, n as u64 + 1, *before, fields);
    }
    // The answer to a packet that was freed elsewhere says nothing of a later one at its address.
    s.ev(
        90_000_000,
        0,
        SOFT,
        "tcp:tcp_send_reset",
        &[("skbaddr", N(A)), other[0].clone(), other[1].clone()],
    );
    s.ev(
        99_000_000,
        0,
        SOFT,
        "skb:kfree_skb",
        &[("skbaddr", N(A)), ("location", N(TCP_RCV)), ("protocol", N(0x0800))],
    );
    let capture = s.capture();
    let facts = facts(&capture);
    let trace = Trace::read(&capture, &Default::default());
    let identity = skb::identify(&trace, &capture);
    let tcp = tcp::run(&trace, &Comms::read(&trace, &capture));
    let asked = subject(&["10.0.0.1:40000-10.0.0.2:443"], &[]);
    let ends = asked.ends(&facts).unwrap();
    let owners = Owners::of((&trace, &identity, &tcp), &facts, &asked, &ends);
    let mut told: Vec<(u32, Of)> = owners.drops.iter().map(|(i, d)| (*i, d.0)).collect();
    told.sort_unstable_by_key(|d| d.0);
    let told: Vec<Of> = told.into_iter().map(|d| d.1).collect();
    let mut want: Vec<Of> = cases.iter().map(|c| c.2).collect();
    want.push(Of::Unknown);
    assert_eq!(told, want);
    // Where no flow is asked for, none is another's.
    let all = Owners::of((&trace, &identity, &tcp), &facts, &subject(&[], &[]), &[]);
    assert!(all.drops.values().all(|d| d.0 == Of::Own));
}

/// Where addresses are translated between two sockets of this host, the flow has two pairs of ends: drops of both are its.
#[test]
fn drops_of_translated_ends_are_the_flows() {
    let mut s = Script::new("6.18.44", &[]);
    s.symbol(TCP_RCV, "tcp_v4_rcv");
    for (sock, ts) in [(SOCK, 10), (OTHER, 20)] {
        sock.state(&mut s, ts, 0, SOFT, 2, 1);
        sock.probe(&mut s, ts + 1, 0, SOFT, &[]);
    }
    let reset = |sport, dport| [("saddr", end(1, sport)), ("daddr", end(2, dport))];
    drop(&mut s, 1, Some(("tcp:tcp_send_reset", &reset(40_001, 80))), &[]);
    drop(&mut s, 2, None, &[("rx_sk", N(OTHER.sk))]);
    drop(&mut s, 3, Some(("tcp:tcp_send_reset", &reset(40_002, 80))), &[]);
    let capture = s.capture();
    let mut facts = facts(&capture);
    let trace = Trace::read(&capture, &Default::default());
    let identity = skb::identify(&trace, &capture);
    let tcp = tcp::run(&trace, &Comms::read(&trace, &capture));
    let asked = subject(&["10.0.0.1:40000-10.0.0.2:443"], &[]);
    let ends = asked.ends(&facts).unwrap();
    let told = |facts: &crate::facts::Facts| -> Vec<Of> {
        let owners = Owners::of((&trace, &identity, &tcp), facts, &asked, &ends);
        let mut told: Vec<(u32, Of)> = owners.drops.iter().map(|(i, d)| (*i, d.0)).collect();
        told.sort_unstable_by_key(|d| d.0);
        told.into_iter().map(|d| d.1).collect()
    };
    assert_eq!(told(&facts), [Of::Other, Of::Other, Of::Other]);
    // One packet, by both sockets.
    let skb = super::facts(&open("rpc/rpc.nmb")).skbs[0].clone();
    let id = crate::facts::SkbId(facts.skbs.len() as u32);
    facts.skbs.push(skb);
    let sockets: Vec<_> = facts.connections.iter().map(|c| c.connection).collect();
    assert_eq!(sockets.len(), 2);
    facts.rx.extend(sockets.into_iter().map(|c| RxRow {
        skb_id: id,
        connection: Some(c),
        confidence: Confidence::Certain,
        ..RxRow::default()
    }));
    assert_eq!(told(&facts), [Of::Own, Of::Own, Of::Other]);
}

/// In the slice are the drops of the flow, each as it was, and those of which nothing tells; its notes count them.
#[test]
fn drops_of_others_are_not_in_a_slice() {
    let capture = open("kernel-6.1/netem.nmb");
    let before = facts(&capture);
    let kfree = capture
        .event_formats
        .iter()
        .find(|f| f.key() == "skb:kfree_skb")
        .unwrap()
        .id;
    let frees = |c: &netmortem_formats::Capture| -> Vec<_> {
        records(c).into_iter().flatten().filter(|r| r.0 == kfree).collect()
    };
    // Both sockets of a flow are in this host: a flow is its two ends.
    let ends = |c: &ConnectionRow| {
        let mut ends = [(c.saddr, c.sport), (c.daddr, c.dport)];
        ends.sort_unstable();
        ends
    };
    let whose = |skb| {
        let rx = before
            .rx
            .iter()
            .filter(|r| r.confidence.is_solid() && Some(r.skb_id) == skb);
        let tx = before
            .tx
            .iter()
            .filter(|r| r.confidence.is_solid() && Some(r.skb_id) == skb);
        let mut of = rx.map(|r| r.connection).chain(tx.map(|r| r.connection)).flatten();
        of.next().map(|c| ends(&before.connections[c.0 as usize]))
    };
    let (mut cut_some, mut compared_some, all) = (0, 0, frees(&capture));
    for (flow, port) in [("conn:0", before.connections[0].sport), (":51830", 51830)] {
        let (cut, compared) = cut(&capture, &before, &subject(&[flow], &[])).unwrap();
        let drops = cut.drops.clone();
        let (new, _) = sliced(&capture, cut);
        let left = frees(&new);
        let after = facts(&new);
        assert_eq!(left.len(), after.drops.len());
        let kept = drops.own.len() as u64 + drops.unknown + drops.others_kept;
        assert_eq!(
            (left.len() as u64, kept + drops.others),
            (kept, all.len() as u64),
            "{flow}"
        );
        assert_eq!(compared.drops, drops.own.len());
        // By the tables of the whole recording, filtered by the flow.
        let there: Vec<_> = after.drops.iter().map(|d| (d.time_ns, d.cpu)).collect();
        for d in &before.drops {
            let is_there = there.contains(&(d.time_ns, d.cpu));
            let whose = whose(d.skb_id);
            compared_some += u64::from(whose.is_some());
            match whose {
                Some(of) if of.iter().any(|e| e.1 == port) => assert!(is_there, "{flow}: {d:?}"),
                Some(_) if drops.others_kept == 0 => assert!(!is_there, "{flow}: {d:?}"),
                _ => {}
            }
        }
        cut_some += drops.others;
        let told = crate::Told::sentences(&new);
        let note = told.drops().next().unwrap();
        let counts = format!("Drops in this slice: {} of what was asked for", drops.own.len());
        assert!(
            note.starts_with(&counts) && note.ends_with(&format!("{} of others were cut.", drops.others)),
            "{note}"
        );
        assert!(
            told.slice[0].contains(&format!(
                "{} of {} events kept",
                after.capture.total_events, before.capture.total_events
            )),
            "{told:?}"
        );
    }
    assert!(
        compared_some > 0,
        "no drop is of a known flow: the test compares nothing"
    );
    assert!(cut_some > 0, "no drop of another was cut: the test tests nothing");
}
