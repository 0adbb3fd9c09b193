//! Drops that nobody waited for; queues that others' packets fill; packets whose sender a router sent another way.

use netmortem_formats::event_format::{ValueTable, ValueTableKind};

use super::{answer, drop_row};
use crate::analyses::Outcome;
use crate::analyses::drops::{Drops, Flood, Redirected, Unmissed};
use crate::analyses::opens::scanning;
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::datagrams::tables::{Awaited, TurnRow};
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::reconstruct::whose::{Carries, Owner};

/// Reasons 1 to 3.
fn facts() -> Facts {
    let mut f = Facts::empty();
    f.names.drop_reasons = Some(ValueTable {
        kind: ValueTableKind::Symbolic,
        entries: ["NETFILTER_DROP", "OTHERHOST", "QDISC_DROP"]
            .iter()
            .zip(1..)
            .map(|(name, n)| (n, (*name).to_owned()))
            .collect(),
    });
    f
}

fn of(f: &Facts) -> Drops {
    let Outcome::Findings(d) = answer(f) else { panic!() };
    d
}

fn owned(f: &mut Facts, carries: Carries, connection: u32, pid: i32) {
    let mut row = drop_row(1_000, 1, 1, Some(false));
    row.owner = Some(Owner {
        connection: (carries != Carries::Datagram).then_some(ConnectionId(connection)),
        carries,
        task: Name::default(),
        pid,
        confidence: crate::Confidence::Strong,
    });
    f.drops.push(row);
}

/// Thread 7, alone in its process, sends on a socket to which nothing comes, and waits for nothing.
fn one_way(f: &mut Facts) {
    f.udp_sockets
        .push(crate::reconstruct::datagrams::sockets::SocketRow::begin(1, 500));
    let mut turn = TurnRow::begin(0, 7, 500);
    turn.end_ns = 2_000;
    f.udp_turns.push(turn);
    f.processes.insert(7, (7, Name::new(b"statsd")));
    for event in [
        "sock:sock_send_length",
        "sock:sock_recv_length",
        "sock:sk_data_ready",
        "syscalls:sys_enter_epoll_wait",
    ] {
        f.capture.events.insert(event.into(), 1);
    }
}

/// Attempts at so many ports, `apart` from each other, each given up after 50 ms; the address has another connection.
fn scan(f: &mut Facts, ports: u32, apart: u16) {
    let mut attempt = |n: u32, port: u16, end| {
        f.opens.push(OpenRow {
            connection: Some(ConnectionId(n)),
            from: None,
            to: Some(([10, 0, 0, 2].into(), port)),
            pid: 42,
            task: Name::new(b"masscan"),
            start_ns: 0,
            end_ns: 50_000_000,
            end,
            error: None,
            message: false,
            syns_again: Some(0),
            confidence: crate::Confidence::Certain,
        });
    };
    (100..100 + ports).for_each(|n| attempt(n, 21 + (n - 100) as u16 * apart, OpenEnd::GivenUp));
    attempt(99, 80, OpenEnd::Established);
}

#[test]
fn what_rules_drop_is_noise_where_nobody_waits_for_it() {
    let noise = |ports: u32| {
        let mut f = facts();
        scan(&mut f, ports, 150);
        one_way(&mut f);
        (0..30).for_each(|n| owned(&mut f, Carries::Fin, n, 0));
        (100..100 + ports).for_each(|n| owned(&mut f, Carries::Syn, n, 42));
        (0..5).for_each(|_| owned(&mut f, Carries::Datagram, 0, 7));
        f
    };
    let expected = Unmissed {
        fins: 30,
        scans: 10,
        datagrams: 5,
        ..Unmissed::default()
    };
    assert_eq!(of(&noise(10)).unmissed, Some(expected));
    let tone = |f: &Facts| {
        let lines = crate::analyses::answer(f).verdict;
        lines.into_iter().find(|l| l.subject == "drops").unwrap().tone
    };
    assert_eq!(tone(&noise(10)), crate::analyses::verdict::Tone::Notice);
    // Few ports are servers that are down.
    assert_eq!(of(&noise(9)).unmissed, None);
    assert_eq!(tone(&noise(9)), crate::analyses::verdict::Tone::Bad);
    // Nor are near ones, ones that are tried again and again, and one that answered before.
    let scanned = |ports: u32, apart: u16| {
        let mut f = facts();
        scan(&mut f, ports, apart);
        f
    };
    let scans = |f: &Facts| scanning(f).len();
    assert_eq!((scans(&scanned(10, 150)), scans(&scanned(10, 100))), (10, 0));
    let mut f = scanned(10, 150);
    let again: Vec<OpenRow> = (0..3).map(|_| f.opens[0].clone()).collect();
    f.opens.extend(again);
    assert_eq!(scans(&f), 0);
    let mut f = scanned(10, 150);
    let mut stood = f.opens[0].clone();
    stood.end = OpenEnd::Established;
    f.opens.push(stood);
    assert_eq!(scans(&f), 0);
    // Thirty near ones in turns are a scan however often; not of a host that answers nobody, where one is what it wants, or it waits.
    let swept = |ports: u32, times: usize| {
        let mut f = scanned(ports, 1);
        let once: Vec<OpenRow> = f.opens.iter().filter(|o| o.end == OpenEnd::GivenUp).cloned().collect();
        (1..times).for_each(|_| f.opens.extend(once.clone()));
        f
    };
    assert_eq!((scans(&swept(30, 13)), scans(&swept(30, 1))), (30, 30));
    assert_eq!((scans(&swept(29, 13)), scans(&swept(1, 400))), (0, 0));
    let mut f = swept(30, 13);
    f.opens.retain(|o| o.end == OpenEnd::GivenUp);
    assert_eq!(scans(&f), 0);
    let mut f = swept(30, 4);
    let first = f.opens.iter().find(|o| o.end == OpenEnd::GivenUp).cloned().unwrap();
    f.opens.extend(vec![first; 20]);
    assert_eq!(scans(&f), 0);
    let mut f = swept(30, 4);
    f.opens.iter_mut().for_each(|o| o.end_ns = 400_000_000);
    assert_eq!(scans(&f), 0);
    // Datagrams whose answer another thread may wait for, came once, or would not be seen to be waited for.
    for change in [
        (|f: &mut Facts| _ = f.processes.insert(8, (7, Name::new(b"reader")))) as fn(&mut Facts),
        |f| f.processes.clear(),
        |f| f.udp_sockets[0].arrived = 1,
        |f| f.udp_turns[0].awaited = Awaited::Perhaps,
        |f| f.udp_turns[0].waited_in = Name::new(b"io_uring_enter"),
        |f| f.udp_turns[0].end_ns = 900,
        |f| _ = f.capture.events.remove("sock:sk_data_ready"),
    ] {
        let mut f = noise(10);
        change(&mut f);
        assert_eq!(of(&f).unmissed, None);
    }
    // Data, a question, another reason, and where events were lost.
    let mut f = noise(10);
    owned(&mut f, Carries::Data, 1, 0);
    assert_eq!(of(&f).unmissed, None);
    let mut f = noise(10);
    // As many as are no chance of any queue.
    (0..6).for_each(|_| f.drops.push(drop_row(1_000, 3, 1, Some(false))));
    assert_eq!(of(&f).unmissed, of(&noise(10)).unmissed, "of what rules dropped");
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.into_iter().find(|l| l.subject == "drops").unwrap();
    assert_eq!(line.tone, Tone::Bad, "{}", line.sentence);
    assert!(
        line.sentence.contains(
            "nobody is known to miss 45 more: 45 for NETFILTER_DROP at 0x1 on eth0 (of what a rule dropped: "
        ),
        "{}",
        line.sentence
    );
    let mut f = noise(10);
    f.gaps.push(crate::ingest::GapRow {
        cpu: 0,
        start_ns: None,
        end_ns: None,
        lost_events: None,
        cause: "overrun",
    });
    assert_eq!(of(&f).unmissed, None);
}

/// Of 200 packets that left by eth0, whose queue refused two, 150 came to a host that they are not for.
#[test]
fn a_queue_is_filled_by_what_is_for_others() {
    let flooded = |others: u32| {
        let mut f = facts();
        for n in 0..200u32 {
            f.hops.push(crate::testing::hop(n, i64::from(n), "xmit", "eth0"));
        }
        for n in 0..others {
            let mut row = drop_row(i64::from(n), 2, 1, Some(true));
            row.skb_id = Some(SkbId(n));
            f.drops.push(row);
        }
        f.drops.push(drop_row(5, 3, 2, Some(false)));
        of(&f)
            .groups
            .into_iter()
            .find(|g| g.reason == "QDISC_DROP")
            .unwrap()
            .flood
    };
    assert_eq!(flooded(150), Some(Flood { others: 150, of: 200 }));
    assert_eq!((flooded(99), flooded(0)), (None, None));
}

#[test]
fn a_redirect_is_no_answer_to_a_drop() {
    let mut f = facts();
    f.capture.start_ns = Some(1_000);
    for (ns, icmp) in [
        (1_500, None),
        (2_000, Some((5, 1))),
        (3_000, None),
        (4_000, Some((5, 1))),
    ] {
        let mut row = drop_row(ns, 1, 1, Some(false));
        row.icmp = icmp;
        f.drops.push(row);
    }
    let group = of(&f).groups.remove(0);
    assert_eq!(group.answered, []);
    let expected = Redirected {
        count: 2,
        first_ns: 1_000,
        behind: 2,
    };
    assert_eq!(group.redirected, Some(expected));
}

#[test]
fn ends_of_idle_connections_are_nobodys() {
    let mut f = facts();
    f.connections = (0..5).map(crate::testing::tcp::connection).collect();
    for (row, bytes) in f.connections.iter_mut().zip([0, 1, 0, 0, 0]) {
        row.bytes_out = bytes;
    }
    (0..5).for_each(|n| owned(&mut f, Carries::Fin, n, 0));
    assert_eq!(of(&f).groups[0].aside, 4);
    // Something else of it was dropped, wherever.
    owned(&mut f, Carries::Data, 2, 0);
    f.drops[5].reason = Some(3);
    let d = of(&f);
    let group = d.groups.iter().find(|g| g.reason == "NETFILTER_DROP").unwrap();
    assert_eq!((group.count, group.aside), (5, 3));
}

/// Beside noise the others are told by themselves; what goes to their end is no noise.
#[test]
fn what_may_be_missed_is_described_apart() {
    let mut f = facts();
    f.connections = (0..8).map(crate::testing::tcp::connection).collect();
    let ports = [1, 1, 1, 1, 1, 2, 2, 2];
    for (row, port) in f.connections.iter_mut().zip(ports) {
        row.dport = port;
        row.bytes_out = u64::from(port == 2);
    }
    (0..8).for_each(|n| owned(&mut f, Carries::Fin, n, 0));
    let group = of(&f).groups[0].clone();
    let missed = group.missed.as_deref().unwrap();
    assert_eq!((group.count, group.aside), (8, 5));
    assert_eq!(
        (missed.count, missed.aside, missed.first_ns),
        (3, 0, f.drops[5].time_ns)
    );
    assert_eq!(missed.first_drop, 5);
    // One of the idle ones goes where they go.
    f.connections[0].dport = 2;
    assert_eq!(of(&f).groups[0].missed.as_deref().unwrap().count, 4);
}
