//! Streams that some of their receivers did not get for a while.

use super::twenty_seconds;
use crate::analyses::answer;
use crate::analyses::datagrams::Silent;
use crate::analyses::verdict::Tone;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::TurnRow;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

const MS: i64 = 1_000_000;

/// A receiver of a datagram each 10 ms from 0 to 20 s, with one silence.
fn receiver(pid: i32, task: &[u8], local: &str, silent: (i64, i64)) -> SocketRow {
    let mut s = SocketRow::begin(0xff00 + pid as u64, 0);
    (s.pid, s.task, s.served, s.named_by) = (pid, Name::new(task), true, "task");
    (s.holder, s.holder_task) = (pid, Name::new(task));
    s.arrived = (2_001 - (silent.1 - silent.0) / 10) as u64;
    s.received = s.arrived;
    (s.first_arrived_ns, s.last_arrived_ns) = (Some(0), Some(19_990 * MS));
    (s.silent_from_ns, s.silent_ns) = (Some(silent.0 * MS), (silent.1 - silent.0) * MS);
    s.last_ns = 19_990 * MS;
    s.local = local.into();
    s
}

fn facts(sockets: Vec<SocketRow>) -> Facts {
    let mut f = twenty_seconds();
    f.udp_sockets = sockets;
    f
}

fn found(sockets: Vec<SocketRow>) -> Vec<Silent> {
    let f = facts(sockets);
    let a = answer(&f);
    a.datagrams.findings().unwrap().silent.clone()
}

const GROUP: &str = "239.1.1.1:5000";

#[test]
fn who_gets_nothing_of_what_another_gets_is_named() {
    let both = || {
        vec![
            receiver(11, b"quoter", GROUP, (8_000, 11_000)),
            receiver(12, b"risk", GROUP, (5_000, 5_010)),
        ]
    };
    let expect = Silent {
        readers: vec!["quoter/11".into()],
        local: GROUP.into(),
        times: 1,
        longest_ns: 3_000 * MS,
        first_ns: 8_000 * MS,
        went_on: "risk/12".into(),
        sent: false,
        meanwhile: 300,
    };
    assert_eq!(found(both()), [expect]);
    let lines = answer(&facts(both())).verdict;
    let line = lines.iter().find(|l| l.subject == "datagrams").unwrap();
    let said = "o datagram came to quoter/11 at 239.1.1.1:5000 for 3.000 s (from 8.0 s on), though they had come steadily and risk/12 got about 300 of the same stream meanwhile (inferred)";
    assert!(line.headline.contains(said), "{}", line.headline);
    assert_eq!(line.tone, Tone::Bad);
}

#[test]
fn a_stream_that_stops_for_all_or_ends_is_no_loss() {
    // Nobody got it; nobody else is there; another group; lost events.
    let silent = || receiver(11, b"quoter", GROUP, (8_000, 11_000));
    assert_eq!(found(vec![silent(), receiver(12, b"risk", GROUP, (8_000, 11_000))]), []);
    assert_eq!(found(vec![silent()]), []);
    assert_eq!(
        found(vec![silent(), receiver(12, b"risk", "239.1.1.2:5000", (5_000, 5_010))]),
        []
    );
    let mut lost = facts(vec![silent(), receiver(12, b"risk", GROUP, (5_000, 5_010))]);
    lost.gaps.push(crate::testing::gap(0, MS));
    assert_eq!(answer(&lost).datagrams.findings().unwrap().silent, []);
    // Not long enough; one whose program may have ended; one of a few datagrams.
    let other = || receiver(12, b"risk", GROUP, (5_000, 5_010));
    assert_eq!(found(vec![receiver(11, b"quoter", GROUP, (8_000, 8_900)), other()]), []);
    let mut ended = receiver(11, b"quoter", GROUP, (5_000, 5_010));
    (ended.last_arrived_ns, ended.named_by, ended.arrived) = (Some(9_000 * MS), "", 900);
    assert_eq!(found(vec![ended.clone(), other()]), []);
    ended.named_by = "task";
    assert_eq!(found(vec![ended, other()]).len(), 1);
    let mut few = silent();
    few.arrived = 40;
    assert_eq!(found(vec![few, other()]), []);
}

/// What comes to a queue that is full, or is not what its socket wants, came.
#[test]
fn what_was_dropped_at_its_socket_came() {
    let with = |ms: i64, reason: u32, remote: &str| {
        let mut f = facts(vec![
            receiver(11, b"quoter", GROUP, (8_000, 11_000)),
            receiver(12, b"risk", GROUP, (5_000, 5_010)),
        ]);
        f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
            entries: vec![(6, "SOCKET_RCVBUFF".into()), (7, "NETFILTER_DROP".into())],
            kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
        });
        let mut drop = crate::testing::drop_at(ms * MS);
        (drop.expected, drop.reason) = (Some(false), Some(reason));
        if !remote.is_empty() {
            let mut from = SocketRow::begin(0xaa, 0);
            (from.pid, from.remote) = (20, remote.into());
            f.udp_sockets.push(from);
            f.udp_turns.push(TurnRow::begin(2, 20, 0));
            drop.owner = Some(crate::reconstruct::whose::Owner {
                connection: None,
                carries: crate::reconstruct::whose::Carries::Datagram,
                task: Name::default(),
                pid: 20,
                confidence: crate::Confidence::Strong,
            });
        }
        f.drops.push(drop);
        answer(&f).datagrams.findings().unwrap().silent.len()
    };
    assert_eq!((with(9_000, 6, ""), with(9_000, 6, GROUP)), (0, 0));
    // Another time, another reason, another port.
    let others = (with(7_000, 6, ""), with(9_000, 7, ""), with(9_000, 6, "10.0.0.2:53"));
    assert_eq!(others, (1, 1, 1));
    // Whether any was dropped is not recorded.
    let mut f = facts(vec![
        receiver(11, b"quoter", GROUP, (8_000, 11_000)),
        receiver(12, b"risk", GROUP, (5_000, 5_010)),
    ]);
    f.capture.events.remove("skb:kfree_skb");
    assert_eq!(answer(&f).datagrams.findings().unwrap().silent, []);
}

/// Of addresses of hosts only the port is the same: as of a stream sent to both it is where just the rest came.
#[test]
fn hosts_of_one_port_get_one_stream_where_just_the_silence_is_missing() {
    let at = |b: &str, arrived: u64| {
        let mut other = receiver(12, b"risk", b, (5_000, 5_010));
        other.arrived = arrived;
        vec![receiver(11, b"quoter", "10.0.0.1:5000", (8_000, 11_000)), other]
    };
    let told = found(at("10.0.0.2:5000", 2_000));
    assert_eq!((told.len(), told[0].went_on.as_str()), (1, "risk/12"));
    let lines = answer(&facts(at("10.0.0.2:5000", 2_000))).verdict;
    let line = lines.iter().find(|l| l.subject == "datagrams").unwrap();
    let said = "risk/12 got about 300 at the same port meanwhile, as often as before (inferred)";
    assert!(line.headline.contains(said), "{}", line.headline);
    // What did not come here came there; a port of the host itself; those who share an address divide what comes.
    assert_eq!(found(at("10.0.0.2:5000", 2_300)), []);
    assert_eq!(found(at("10.0.0.2:5000", 1_900)), []);
    assert_eq!(found(at("127.0.0.1:5000", 2_000)), []);
    assert_eq!(found(at("10.0.0.1:5000", 2_000)), []);
}

/// Who joins again closes its socket and opens another in its place; who closes it for good may have left.
#[test]
fn a_socket_that_was_closed_is_judged_where_another_took_its_place() {
    let half = |pid: i32, from: i64, to: i64| {
        let mut s = receiver(pid, b"quoter", "", (from, from));
        (s.first_ns, s.first_arrived_ns) = (from * MS, Some(from * MS));
        (s.last_ns, s.last_arrived_ns) = (to * MS, Some(to * MS));
        (s.silent_from_ns, s.silent_ns) = (None, 0);
        s.arrived = ((to - from) / 10 + 1) as u64;
        s
    };
    // Until 8 s, closed at 11 s; the next from then on.
    let both = |next: i64, each: i64| {
        let (mut first, mut second) = (half(11, 0, 8_000), half(11, next, 19_990));
        (first.closed, first.last_ns, first.named_by) = (true, 11_000 * MS, "");
        (second.local, second.arrived) = (GROUP.into(), (19_990 - next) as u64 / each as u64);
        vec![first, second, receiver(12, b"risk", GROUP, (5_000, 5_010))]
    };
    let told = found(both(11_010, 10));
    assert_eq!((told.len(), told[0].longest_ns), (1, 3_000 * MS));
    assert_eq!((told[0].local.as_str(), told[0].first_ns), (GROUP, 8_000 * MS));
    // The other stream of its thread: there before, much later, or of another rate.
    assert_eq!(found(both(6_000, 10)), []);
    assert_eq!(found(both(14_000, 10)), []);
    assert_eq!(found(both(11_010, 20)), []);
    // Closed for good, whatever its address.
    let mut closed = both(11_010, 10);
    closed[0].local = GROUP.into();
    closed.remove(1);
    assert_eq!(found(closed), []);
}

/// A sender of one each 10 ms from 0 to 20 s, all of which came but those of the silence.
fn sent() -> Facts {
    let mut to = receiver(11, b"quoter", "10.0.0.1:5000", (8_000, 11_000));
    to.arrived = 1_700;
    let mut from = SocketRow::begin(0xaa, 0);
    (from.pid, from.task) = (20, Name::new(b"feed"));
    let mut f = facts(vec![to, from]);
    let mut turn = TurnRow::begin(1, 20, 0);
    (turn.task, turn.sent_ns, turn.there, turn.landed) = (Name::new(b"feed"), 19_990 * MS, Some(0), 1_700);
    f.udp_turns.push(turn);
    for n in 0..2_000 {
        f.tx.push(TxRow {
            kind: TxKind::Udp,
            pid: 20,
            start_ns: n * 10 * MS - MS / 10,
            ..crate::testing::sent()
        });
    }
    f
}

#[test]
fn the_one_sender_that_sends_on_is_named() {
    let told = |f: &Facts| answer(f).datagrams.findings().unwrap().silent.clone();
    let f = sent();
    let of = told(&f);
    assert_eq!((of.len(), of[0].sent, of[0].went_on.as_str()), (1, true, "feed/20"));
    assert_eq!(of[0].meanwhile, 300);
    let line = answer(&f)
        .verdict
        .into_iter()
        .find(|l| l.subject == "datagrams")
        .unwrap();
    let said = "though they had come steadily and feed/20, which had sent them, sent 300 meanwhile";
    assert!(line.headline.contains(said), "{}", line.headline);
    // Some of it came to another socket; more of it than this one got; by another socket in the silence.
    let mut f = sent();
    let mut other = f.udp_turns[0].clone();
    (other.start_ns, other.there, other.landed) = (9_000 * MS, Some(1), 0);
    f.udp_turns.push(other);
    assert_eq!(told(&f), []);
    let mut f = sent();
    f.udp_turns[0].landed = 2_000;
    assert_eq!(told(&f), []);
    let mut f = sent();
    let mut other = f.udp_turns[0].clone();
    (other.socket, other.start_ns, other.sent_ns) = (2, 9_000 * MS, 9_100 * MS);
    (other.there, other.landed) = (None, 0);
    f.udp_turns.push(other);
    assert_eq!(told(&f), []);
    // It sends as much to others, or most came from elsewhere; or it stopped.
    let mut f = sent();
    let twice: Vec<TxRow> = f.tx.clone();
    f.tx.extend(twice);
    assert_eq!(told(&f), []);
    let mut f = sent();
    f.tx.retain(|t| t.start_ns % (50 * MS) > 40 * MS);
    assert_eq!(told(&f), []);
    let mut f = sent();
    f.tx.retain(|t| !(8_005 * MS..10_990 * MS).contains(&t.start_ns));
    assert_eq!(told(&f), []);
}
