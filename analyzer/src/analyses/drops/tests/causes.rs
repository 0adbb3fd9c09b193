//! Drops whose cause is told beyond their place: a NAT without a free port, a damaged line, transfers that find their rate, many that answer one at once.

use std::net::{IpAddr, Ipv4Addr};

use netmortem_formats::event_format::{ValueTable, ValueTableKind};

use super::drop_row;
use crate::Confidence;
use crate::analyses::drops::{Drops, answer};
use crate::analyses::verdict::{Line, Tone};
use crate::counters::tables::CounterRow;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::drops::{CHECKSUM, Repair};
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::whose::{Carries, Owner};

pub(super) const MS: i64 = 1_000_000;

fn host(last: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, last).into()
}
/// Connection `n`, from a local end to a remote one.
pub(in crate::analyses::drops) fn connection(n: u32, from: (u8, u16), to: (u8, u16)) -> ConnectionRow {
    ConnectionRow {
        saddr: Some(host(from.0)),
        sport: from.1,
        daddr: Some(host(to.0)),
        dport: to.1,
        ..crate::testing::tcp::connection(n)
    }
}
fn with(reason: &str, place: &str) -> Facts {
    let mut f = Facts::empty();
    f.capture.events.insert("skb:kfree_skb".into(), 1);
    f.capture.duration_ns = 10_000 * MS;
    f.names.locations.insert(0x10, place.into());
    f.names.drop_reasons = Some(ValueTable {
        kind: ValueTableKind::Symbolic,
        entries: vec![(3, reason.into())],
    });
    f
}
pub(in crate::analyses::drops) fn lose(f: &mut Facts, at: i64, connection: u32, carries: Carries) {
    let mut row = drop_row(at, 3, 0x10, Some(false));
    row.owner = Some(Owner {
        connection: Some(ConnectionId(connection)),
        carries,
        task: Name::default(),
        pid: 0,
        confidence: Confidence::Certain,
    });
    f.drops.push(row);
}
/// A real recording, for its rows.
pub(in crate::analyses::drops) fn rpc() -> Facts {
    crate::tests::facts("rpc/rpc.nmb")
}
fn told(f: &Facts) -> (Drops, Line) {
    let line = crate::analyses::answer(f)
        .verdict
        .into_iter()
        .find(|l| l.subject == "drops")
        .unwrap();
    (answer(f).findings().unwrap().clone(), line)
}

/// Ten SYNs of 10.0.0.1 and 10.0.0.2 to 10.0.0.9:443, which saw ports 40000 to 40011 of 10.0.0.50.
fn without_a_port(clashes: u64, drops: u64, carries: Carries, missing: Option<u16>) -> (Drops, Line) {
    let mut f = with("NETFILTER_DROP", "nf_hook_slow");
    for n in 0..10u32 {
        f.connections
            .push(connection(n, (1 + (n % 2) as u8, 50_000 + n as u16), (9, 443)));
        lose(&mut f, i64::from(n) * 900 * MS, n, carries);
    }
    for (n, port) in (40_000..40_012u16).filter(|p| Some(*p) != missing).enumerate() {
        f.connections.push(connection(10 + n as u32, (9, 443), (50, port)));
    }
    // One that was silent all the time is in a list of sockets alone.
    f.snapshots.push(crate::snapshots::tables::SnapshotRow {
        what: "sockets".into(),
        netns: None,
        start: true,
        end: false,
        line: "netns=1 proto=tcp state=established src=10.0.0.9:443 dst=10.0.0.50:40012 if=0".into(),
    });
    for (name, rose) in [("insert_failed", clashes), ("drop", drops)] {
        f.counters.push(CounterRow {
            source: "nf_conntrack",
            netns: None,
            of: String::new(),
            name: name.into(),
            start: Some(7),
            end: Some(7 + rose),
        });
    }
    told(&f)
}

#[test]
fn syns_for_which_a_nat_has_no_port_are_told() {
    let (d, line) = without_a_port(11, 11, Carries::Syn, None);
    let full = d.groups[0].full.clone().unwrap();
    assert!(full.counted);
    let said = "the address translation (NAT) had no free port for them: 10.0.0.9:443 saw 13 ports of 10.0.0.50, 40000 to 40012, and no other, which are all that it may use, \
                and nf_conntrack counted 11 more insert_failed (inferred)";
    assert_eq!(full.says, said);
    assert_eq!((line.tone, line.names_cause), (Tone::Bad, true));
    // Ports with a hole between them are not all that there are.
    let (d, _) = without_a_port(11, 11, Carries::Syn, Some(40_005));
    let says = d.groups[0].full.clone().unwrap().says;
    assert!(
        says.contains("was taken: ") && says.contains("--random-fully") && !says.contains("saw"),
        "{says}"
    );
    // Two questions at once are another thing; of what is no attempt nothing is said.
    let (d, _) = without_a_port(11, 11, Carries::Datagram, None);
    assert!(
        d.groups[0]
            .full
            .clone()
            .unwrap()
            .says
            .contains("two datagrams of one new flow at once")
    );
    assert_eq!(without_a_port(11, 11, Carries::Data, None).0.groups[0].full, None);
    // Counted as no drop: a chain that is too long, an entry that dies.
    assert_eq!(without_a_port(11, 4, Carries::Syn, None).0.groups[0].full, None);
    // A full table; far more clashes than drops, which were elsewhere.
    assert!(
        without_a_port(0, 10, Carries::Syn, None).0.groups[0]
            .full
            .clone()
            .unwrap()
            .says
            .contains("no room")
    );
    assert_eq!(without_a_port(50, 50, Carries::Syn, None).0.groups[0].full, None);
}

#[test]
fn what_lies_between_two_hosts_damages() {
    let facts = |third: u32| {
        let mut f = with("TCP_CSUM", "tcp_v4_rcv");
        // To 10.0.0.1 from .2, to .2 from .1, to .1 from .3.
        f.connections = vec![
            connection(0, (1, 40_000), (2, 80)),
            connection(1, (2, 80), (1, 40_000)),
            connection(2, (1, 40_001), (3, 80)),
        ];
        for n in 0..40u32 {
            lose(
                &mut f,
                i64::from(n) * 100 * MS,
                u32::from(n % 4 == 0),
                Carries::Received,
            );
        }
        for n in 0..third {
            lose(&mut f, i64::from(n) * 100 * MS, 2, Carries::Received);
        }
        for d in &mut f.drops {
            d.why = CHECKSUM;
        }
        let like = rpc().rx.remove(0);
        for n in 0..600u32 {
            let mut r = like.clone();
            r.connection = Some(ConnectionId(if n < 400 { n % 2 } else { 2 }));
            f.rx.push(r);
        }
        f
    };
    let (d, line) = told(&facts(0));
    let g = d.groups[0].damaged.clone().unwrap();
    assert_eq!((g.hosts.0.as_str(), g.hosts.1.as_str()), ("10.0.0.1", "10.0.0.2"));
    assert_eq!((g.damaged, g.came, g.others), ((30, 10), 440, 200));
    let said = "damaged on the way, between 10.0.0.1 and 10.0.0.2, 30 to the one and 10 to the other, of 440 units with payload that came so, and hardly any of 200 that \
                came to them from others: what lies between these two damages them";
    assert!(line.sentence.contains(said), "{}", line.sentence);
    assert!(line.names_cause);
    // So few that the others would hardly have one.
    let mut few = facts(0);
    few.drops.truncate(12);
    for n in 0..4_000u32 {
        let mut r = few.rx[0].clone();
        r.connection = Some(ConnectionId(n % 2));
        few.rx.push(r);
    }
    assert_eq!(told(&few).0.groups[0].damaged.clone().unwrap().others, 0);
    // Others lose, too: what they have in common is nearer.
    assert_eq!(told(&facts(10)).0.groups[0].damaged, None);
}

/// So many bytes leave by a device, in a thousand packets.
fn left(f: &mut Facts, dev: &str, bytes: u64, during: std::ops::Range<i64>) {
    for n in 0..1_000i64 {
        let mut p = crate::testing::pass();
        let at = during.start + (during.end - during.start) / 1_000 * n;
        (p.dev, p.started_ns, p.bytes) = (Name::new(dev.as_bytes()), Some(at), Some((bytes / 1_000) as u32));
        f.xmits.push(p);
    }
}

/// One transfer of 10 MB loses so many packets.
pub(super) fn lossy(lost: u32, change: impl Fn(&mut Facts)) -> (Drops, Line) {
    let mut f = with("QDISC_DROP", "__dev_queue_xmit");
    f.connections = vec![ConnectionRow {
        bytes_out: 10_000_000,
        ..connection(0, (1, 40_000), (2, 5201))
    }];
    for key in [
        "tcp:tcp_retransmit_skb",
        "sock:sock_send_length",
        "sock:sock_recv_length",
        "net:net_dev_start_xmit",
    ] {
        f.capture.events.insert(key.into(), 1);
    }
    for n in 0..lost {
        lose(&mut f, i64::from(n) * 100 * MS, 0, Carries::Data);
    }
    for (n, d) in f.drops.iter_mut().enumerate() {
        d.repair = Some(Repair {
            retransmit: n as u32,
            after_ns: Some(9 * MS),
            confidence: Confidence::Strong,
        });
    }
    let lasts = (i64::from(lost) * 100 * MS).max(10_000 * MS);
    left(&mut f, "eth0", 11_000_000, 0..lasts);
    change(&mut f);
    told(&f)
}

/// Whether it finds its rate so.
pub(super) fn transfer(lost: u32, change: impl Fn(&mut Facts)) -> (bool, Tone) {
    let (d, line) = lossy(lost, change);
    let others = d.groups[0].finds_rate;
    // What is another's is told.
    let of_another = line
        .sentence
        .contains("one is another's, or it is not known whose; the others are few of a transfer");
    assert_eq!(of_another, others == Some(1), "{}", line.sentence);
    (others.is_some(), line.tone)
}

#[test]
fn a_transfer_that_fills_its_queue_finds_its_rate() {
    assert_eq!(transfer(20, |_| {}), (true, Tone::Notice));
    // Much of it; somebody awaits an answer on it; a small one; another's packets among them; events were lost.
    assert_eq!(transfer(200, |_| {}), (false, Tone::Bad));
    let asked = |f: &mut Facts| {
        let mut r = rpc().responses.remove(0);
        (r.connection, r.send_ns, r.read_ns) = (ConnectionId(0), 100 * MS, 900 * MS);
        f.responses.push(r);
    };
    assert_eq!(transfer(20, asked), (false, Tone::Bad));
    // What was said before the first loss waited for none.
    let before = |f: &mut Facts| {
        asked(f);
        f.responses.iter_mut().for_each(|r| (r.send_ns, r.read_ns) = (-3, -2));
    };
    assert_eq!(transfer(20, before), (true, Tone::Notice));
    // Each waits for its own losses: another lost before; and one packet of a small exchange in sixty, that waits for its answer.
    let two = |f: &mut Facts, small: bool| {
        before(f);
        f.connections.push(ConnectionRow {
            bytes_out: if small { 90_000 } else { 10_000_000 },
            ..connection(1, (1, 40_001), (2, 5201))
        });
        let at = if small { 10 } else { 0 };
        f.drops[at].owner.as_mut().unwrap().connection = Some(ConnectionId(1));
        f.responses.iter_mut().for_each(|r| match small {
            true => r.connection = ConnectionId(1),
            false => (r.send_ns, r.read_ns) = (50 * MS, 60 * MS),
        });
    };
    assert!(transfer(60, |f| two(f, true)).0 && transfer(60, |f| two(f, false)).0);
    assert!(!transfer(20, |f| two(f, true)).0);
    // One in nine, of what does not slow down for losses; of what does it was much.
    let ninth = |f: &mut Facts, own: bool| {
        let one = crate::reconstruct::negotiated::Negotiated {
            window_scaling: true,
            congestion: Some(Name::new(if own { b"bbr".as_slice() } else { b"cubic" })),
            delivered_ce: None,
            sizes: None,
            ends: None,
        };
        f.negotiated.insert(ConnectionId(0), one);
    };
    assert!(transfer(800, |f| ninth(f, true)).0 && !transfer(800, |f| ninth(f, false)).0);
    assert!(!transfer(20, |f| f.connections[0].bytes_out = 900_000).0);
    assert!(!transfer(20, |f| f.drops[3].owner = None).0);
    // Some are not known to be sent again; a queue that is others'; answers were not recorded.
    assert!(!transfer(20, |f| f.drops.iter_mut().take(3).for_each(|d| d.repair = None)).0);
    assert!(!transfer(20, |f| left(f, "eth0", 30_000_000, 0..10_000 * MS)).0);
    assert!(!transfer(20, |f| _ = f.capture.events.remove("sock:sock_recv_length")).0);
    assert!(!transfer(20, |f| f.xmits.clear()).0);
    assert!(!transfer(20, |f| f.gaps.push(crate::testing::gap(0, MS))).0);
}

/// So many hosts lose a packet each in so many moments, `apart` from each other.
fn fan(
    hosts: u32,
    moments: i64,
    apart: i64,
    to: impl Fn(u32) -> u8,
    more: impl Fn(&mut Facts),
) -> Option<(u64, u64, u64, i64, String)> {
    let mut f = with("QDISC_DROP", "__dev_queue_xmit");
    f.connections = (0..hosts)
        .map(|n| connection(n, (100 + n as u8, 6379), (to(n), 40_000)))
        .collect();
    for at in 0..moments {
        for n in 0..hosts {
            lose(&mut f, at * apart + i64::from(n) * 200_000, n, Carries::Data);
        }
    }
    more(&mut f);
    let i = told(&f).0.groups[0].incast.clone()?;
    Some((i.bursts, i.senders, i.of, i.lasted_ns, i.to))
}

#[test]
fn many_that_answer_one_at_once_are_told() {
    let in_bursts =
        |f: &mut Facts| (0..10i64).for_each(|n| left(f, "eth0", 100_000, n * 500 * MS..n * 500 * MS + 1_400_000));
    let found = fan(8, 10, 500 * MS, |_| 1, in_bursts);
    assert_eq!(found, Some((10, 8, 8, 7 * 200_000, "10.0.0.1".into())));
    // As much leaves at any time: no idle queue.
    let busy = |f: &mut Facts| (0..100i64).for_each(|n| left(f, "eth0", 1_000_000, n * 100 * MS..(n + 1) * 100 * MS));
    assert_eq!(fan(8, 10, 500 * MS, |_| 1, busy), None);
    assert_eq!(fan(8, 10, 500 * MS, |_| 1, |_| ()), None);
    // Three only; a queue that is full all the time; to several hosts.
    assert_eq!(fan(3, 10, 500 * MS, |_| 1, in_bursts), None);
    assert_eq!(fan(8, 1_000, 9 * MS, |_| 1, in_bursts), None);
    assert_eq!(fan(8, 10, 500 * MS, |n| n as u8 % 4, in_bursts), None);
}
