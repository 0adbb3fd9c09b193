//! Transfers that fill their own queue: what a qdisc cut, what the end of the recording cut, and whom it costs something.

use super::causes::{MS, connection, lose, rpc, transfer};
use crate::Confidence;
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::tcp::tables::{ConnectionRow, RetransmitClass, RetransmitRow};
use crate::reconstruct::transmit::stages::Stage;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};
use crate::reconstruct::whose::Carries;

const QUIET: (bool, Tone) = (true, Tone::Notice);
const LOUD: (bool, Tone) = (false, Tone::Bad);

/// Which retransmission repaired which loss is not known; each loss is followed by one on its connection.
fn unlinked(f: &mut Facts, after: i64, class: RetransmitClass, segments: u64) {
    for at in 0..f.drops.len() {
        let d = &mut f.drops[at];
        d.repair = None;
        f.retransmits.push(RetransmitRow {
            index: at as u32,
            time_ns: d.time_ns + after,
            connection: d.owner.unwrap().connection,
            synack: None,
            class,
            err: None,
            bytes: None,
            original: None,
            segments: Some(segments as _),
            confidence: Confidence::Certain,
        });
    }
}

#[test]
fn what_a_qdisc_cut_is_repaired_by_what_is_sent_again_behind_it() {
    let fast = |f: &mut Facts| unlinked(f, 20 * MS, RetransmitClass::Fast, 1);
    assert_eq!(transfer(20, fast), QUIET);
    // A timer ran out; far behind; hardly any of it.
    assert_eq!(transfer(20, |f| unlinked(f, 20 * MS, RetransmitClass::Rto, 1)), LOUD);
    assert_eq!(
        transfer(20, |f| unlinked(f, 5_000 * MS, RetransmitClass::Fast, 1)),
        LOUD
    );
    let few = |f: &mut Facts| {
        fast(f);
        f.drops.iter_mut().for_each(|d| d.time_ns = 0);
        f.retransmits.truncate(4);
    };
    assert_eq!(transfer(20, few), LOUD);
    // Of another connection.
    let another = |f: &mut Facts| {
        fast(f);
        f.retransmits
            .iter_mut()
            .for_each(|r| r.connection = Some(ConnectionId(1)));
    };
    assert_eq!(transfer(20, another), LOUD);
}

/// The next of a series, of which the recording has the begin only.
#[test]
fn one_that_goes_on_when_the_recording_ends_is_a_transfer_where_the_one_before_was() {
    let next = |f: &mut Facts, change: fn(&mut ConnectionRow), closed: bool| {
        let mut c = ConnectionRow {
            bytes_out: 90_000,
            ..connection(1, (1, 40_001), (2, 5201))
        };
        change(&mut c);
        f.connections.push(c);
        f.capture.events.insert("sock:inet_sock_set_state".into(), 1);
        for n in 0..8 {
            lose(f, (9_000 + n) * MS, 1, Carries::Data);
        }
        unlinked(f, 20 * MS, RetransmitClass::Fast, 1);
        f.tcp_states.push(crate::testing::tcp::state(1, 1, 8_900 * MS));
        if closed {
            f.tcp_states.push(crate::testing::tcp::state(1, 7, 9_900 * MS));
        }
    };
    assert_eq!(transfer(20, |f| next(f, |_| (), false)), QUIET);
    // It ended: a small exchange. Another program's; to another end.
    assert_eq!(transfer(20, |f| next(f, |_| (), true)), LOUD);
    assert_eq!(transfer(20, |f| next(f, |c| c.task = Name::new(b"app"), false)), LOUD);
    assert_eq!(transfer(20, |f| next(f, |c| c.dport = 80, false)), LOUD);
}

/// Packets of others lay behind it: requests, SYNs, DNS.
#[test]
fn others_that_wait_in_the_queue_make_it_theirs_too() {
    let others = |f: &mut Facts, n: i64, kind: TxKind, c: Option<u32>, ns: i64| {
        for at in 0..n {
            let mut t = TxRow {
                connection: c.map(ConnectionId),
                kind,
                start_ns: at * 100 * MS,
                ..crate::testing::sent()
            };
            t.stages.set(Stage::Qdisc, Some(ns));
            f.tx.push(t);
        }
    };
    let with = |n, kind, c, ns| transfer(20, |f| others(f, n, kind, c, ns));
    assert_eq!(with(20, TxKind::Tcp, Some(7), 8 * MS), LOUD);
    assert_eq!(with(20, TxKind::TcpControl, Some(7), 8 * MS), LOUD);
    assert_eq!(with(20, TxKind::Udp, None, 8 * MS), LOUD);
    // Its own; few; hardly any time; by another device.
    assert_eq!(with(20, TxKind::Tcp, Some(0), 8 * MS), QUIET);
    assert_eq!(with(5, TxKind::Tcp, Some(7), 8 * MS), QUIET);
    assert_eq!(with(20, TxKind::Tcp, Some(7), MS), QUIET);
    let elsewhere = |f: &mut Facts| {
        others(f, 20, TxKind::Tcp, Some(7), 8 * MS);
        f.tx.iter_mut().for_each(|t| t.dev = Name::new(b"eth1"));
    };
    assert_eq!(transfer(20, elsewhere), QUIET);
    // On their way through it, from a host that this one sends on for.
    let passed = |f: &mut Facts, ns: i64| {
        elsewhere(f);
        let pass = f.xmits[0].clone();
        for (n, t) in (0..).zip(&mut f.tx) {
            t.skb_id = SkbId(1_000_000 + n);
            let at = t.start_ns;
            let mut p = pass.clone();
            (p.skb_id, p.queued_ns, p.started_ns) = (Some(t.skb_id), Some(at), Some(at + ns));
            f.xmits.push(p);
        }
    };
    assert_eq!(transfer(20, |f| passed(f, 8 * MS)), LOUD);
    assert_eq!(transfer(20, |f| passed(f, MS)), QUIET);
}

/// The thread that sends it answers a request of its own with it: a user waits for the upload.
#[test]
fn a_transfer_that_somebody_waits_for_is_no_backup() {
    let with = |from: i64, to: i64, pid: i32| {
        transfer(20, |f| {
            f.connections[0].pid = 11;
            f.connections.push(connection(1, (1, 80), (3, 40_000)));
            let mut t = rpc().turnarounds.remove(0);
            (t.connection, t.ready_ns, t.read_ns, t.send_ns) = (ConnectionId(1), Some(from), from, to);
            (t.pid, t.sender_pid) = (pid, pid);
            f.turnarounds.push(t);
        })
    };
    assert_eq!(with(-MS, 3_000 * MS, 11), LOUD);
    // Another thread's; one that ends while it goes on.
    assert_eq!(with(-MS, 3_000 * MS, 12), QUIET);
    assert_eq!(with(-MS, 1_000 * MS, 11), QUIET);
}

/// Something keeps it far below the rate of its queue.
#[test]
fn a_queue_that_is_seldom_full_is_not_its_rate() {
    let lay = |part: i64| {
        transfer(20, |f| {
            (f.connections[0].first_ns, f.connections[0].last_ns) = (0, 10_000 * MS);
            for p in &mut f.xmits {
                p.queued_ns = p.started_ns;
                p.started_ns = p.queued_ns.map(|ns| ns + 10 * MS * part / 100);
            }
        })
    };
    assert_eq!(lay(95), QUIET);
    assert_eq!(lay(20), LOUD);
}
