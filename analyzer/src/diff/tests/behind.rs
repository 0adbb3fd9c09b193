//! What the threads of a server did while its answers took longer: real rows with more of it, and one thread with two clients.

use super::samples::{facts, of};
use crate::analyses::application::sockets;
use crate::analyses::verdict::duration;
use crate::diff::servers::behind::Behind;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::thread::Split;

fn of_server(f: &Facts) -> impl Iterator<Item = &TurnaroundRow> {
    f.turnarounds
        .iter()
        .filter(|t| f.connections[t.connection.0 as usize].sport == 7000)
}

/// Each answer so much later, read to send (or unread), while its thread did that.
fn later(f: &mut Facts, ns: i64, unread: bool, did: fn(&mut Split, i64)) {
    let ports: Vec<(u16, u16)> = f.connections.iter().map(|c| (c.sport, c.dport)).collect();
    for t in f
        .turnarounds
        .iter_mut()
        .filter(|t| ports[t.connection.0 as usize].0 == 7000)
    {
        t.send_ns += ns;
        t.read_ns += if unread { ns } else { 0 };
        did(&mut t.split, ns);
    }
    for r in f
        .responses
        .iter_mut()
        .filter(|r| ports[r.connection.0 as usize].1 == 7000)
    {
        r.ready_ns = r.ready_ns.map(|t| t + ns);
        if let Some(p) = &mut r.peer {
            p.turnaround_ns += ns;
        }
    }
}

fn told(f: &Facts, slow: &Facts) -> String {
    of(f, slow).verdict.sentence
}

#[test]
fn what_the_threads_did_is_said_where_it_is_most_of_what_is_more() {
    let f = facts("rpc/rpc.nmb");
    let paired: Vec<&TurnaroundRow> = of_server(&f)
        .filter(|t| {
            f.responses.iter().any(|r| {
                r.peer
                    .is_some_and(|p| p.connection == t.connection && r.ready_ns == Some(t.send_ns + p.back_ns))
            })
        })
        .collect();
    assert!(paired.len() > 390, "{}", paired.len());
    let mean = |of: fn(&TurnaroundRow) -> i64| paired.iter().map(|t| of(t)).sum::<i64>() / paired.len() as i64;
    let text = |ns: i64, more: i64| format!("{} -> {}", duration(ns), duration(ns + more));
    let whole = mean(TurnaroundRow::total_ns);
    let (ran, slept) = (mean(|t| t.split.running_ns), mean(|t| t.split.asleep_ns));
    let start = format!(
        "; of the time from readable to send (mean {}) its threads (python3) ",
        text(whole, 6_000_000)
    );
    let mut slow = facts("rpc/rpc.nmb");
    later(&mut slow, 6_000_000, false, |s, ns| s.running_ns += ns);
    let said = told(&f, &slow);
    assert!(
        said.contains("; mostly in the server, from read to send: mean "),
        "{said}"
    );
    assert!(
        said.contains(&format!("{start}ran on a CPU {}.", text(ran, 6_000_000))),
        "{said}"
    );
    // Nothing of it where answers become shorter.
    assert!(!told(&slow, &f).contains("readable to send"));
    // The two that are most of it together, and no third.
    let mut slow = facts("rpc/rpc.nmb");
    later(&mut slow, 6_000_000, false, |s, ns| {
        s.running_ns += ns / 3;
        s.asleep_ns += ns / 2 - 100_000;
        s.run_queue_ns += ns / 6 + 100_000;
    });
    let (ran, slept) = (text(ran, 2_000_000), text(slept, 2_900_000));
    let said = told(&f, &slow);
    assert!(
        said.contains(&format!("{start}slept {slept}, ran on a CPU {ran}.")),
        "{said}"
    );
    // What is not known is a part of the shorter ones only: no event told of their threads before they came to be.
    let mut short = facts("rpc/rpc.nmb");
    later(&mut short, 20_000, false, |s, ns| s.unknown_ns += ns);
    let mut slow = facts("rpc/rpc.nmb");
    later(&mut slow, 20_000, false, |s, ns| s.unknown_ns += ns);
    later(&mut slow, 6_000_000, false, |s, ns| s.running_ns += ns);
    assert!(
        told(&short, &slow).contains(") ran on a CPU "),
        "{}",
        told(&short, &slow)
    );
    // Most of it is not known; another thread answers.
    let mut slow = facts("rpc/rpc.nmb");
    later(&mut slow, 6_000_000, false, |s, ns| s.unknown_ns += ns);
    assert!(!told(&f, &slow).contains("readable to send"));
    let mut slow = facts("rpc/rpc.nmb");
    later(&mut slow, 6_000_000, false, |s, ns| s.running_ns += ns);
    slow.turnarounds.iter_mut().for_each(|t| t.sender_pid += 1000);
    assert!(!told(&f, &slow).contains("readable to send"));
}

/// The same, 10 ms between one request and the next; only those whose turnaround is known.
fn spaced() -> Facts {
    const MS: i64 = 1_000_000;
    let mut f = facts("rpc/rpc.nmb");
    let ports: Vec<(u16, u16)> = f.connections.iter().map(|c| (c.sport, c.dport)).collect();
    f.turnarounds.retain(|t| ports[t.connection.0 as usize].0 == 7000);
    f.responses
        .retain(|r| ports[r.connection.0 as usize].1 == 7000 && r.peer.is_some());
    let begun: Vec<Option<i64>> = f.turnarounds.iter().map(|t| t.ready_ns).collect();
    for (n, t) in f.turnarounds.iter_mut().enumerate() {
        let by = n as i64 * 10 * MS;
        t.ready_ns = t.ready_ns.map(|at| at + by);
        (t.read_ns, t.send_ns) = (t.read_ns + by, t.send_ns + by);
    }
    for r in &mut f.responses {
        let there = r.send_ns + r.peer.unwrap().there_ns;
        let by = begun.iter().position(|at| *at == Some(there)).unwrap() as i64 * 10 * MS;
        r.ready_ns = r.ready_ns.map(|at| at + by);
        (r.send_ns, r.read_ns) = (r.send_ns + by, r.read_ns + by);
    }
    f.capture.end_ns = f.capture.end_ns.map(|at| at + 5_000 * MS);
    f
}

#[test]
fn unread_while_its_thread_was_at_work_on_others_only_where_it_was() {
    let (f, mut slow) = (spaced(), spaced());
    later(&mut slow, 6_000_000, true, |s, ns| s.running_ns += ns);
    let said = told(&f, &slow);
    assert!(said.contains("; mostly unread at the server: mean "), "{said}");
    assert!(
        !said.contains("while they lay unread") && said.contains(" ran on a CPU "),
        "{said}"
    );
    // Another client's request in that time, by the same thread.
    let other = ConnectionId(slow.connections.len() as u32);
    let mut row = slow
        .connections
        .iter()
        .find(|c| c.sport == 7000 && c.dport > 7000)
        .unwrap()
        .clone();
    (row.connection, row.dport) = (other, row.dport + 1);
    slow.connections.push(row);
    let own: Vec<TurnaroundRow> = of_server(&slow).cloned().collect();
    for t in own {
        let (read_ns, send_ns) = (t.read_ns - 5_900_000, t.read_ns - 100_000);
        slow.turnarounds.push(TurnaroundRow {
            connection: other,
            ready_ns: Some(read_ns),
            read_ns,
            send_ns,
            ..t
        });
    }
    let said = told(&f, &slow);
    let clause = "; while they lay unread, the thread that then read them was at work on other requests: mean ";
    let (_, after) = said.split_once(clause).unwrap_or_else(|| panic!("{said}"));
    assert!(after.contains(" -> 5."), "{said}");
}

#[test]
fn a_request_that_is_left_open_is_no_work() {
    let facts = |of: &[(u32, i64, i64, i64)]| {
        let mut f = Facts::empty();
        for n in 0..3 {
            f.connections.push(crate::testing::tcp::connection(n));
            f.tcp_states.push(crate::testing::tcp::state(n, 3, 0));
        }
        let like = super::samples::facts("rpc/rpc.nmb").turnarounds.remove(0);
        f.turnarounds
            .extend(of.iter().map(|(c, ready, read_ns, send_ns)| TurnaroundRow {
                connection: ConnectionId(*c),
                pid: 7,
                sender_pid: 7,
                ready_ns: Some(*ready),
                read_ns: *read_ns,
                send_ns: *send_ns,
                overlap: false,
                ..like.clone()
            }));
        f
    };
    let during = |f: &Facts| {
        let behind = Behind::of(&sockets(f));
        behind.during(f.turnarounds.last().unwrap())
    };
    // Read at 10, answered at 50; the last one lies unread from 20 to 60.
    assert_eq!(during(&facts(&[(0, 5, 10, 50), (2, 20, 60, 70)])), 30);
    // The thread read and answered another one meanwhile: that one only.
    assert_eq!(during(&facts(&[(0, 5, 10, 50), (1, 21, 25, 30), (2, 20, 60, 70)])), 5);
    assert_eq!(during(&facts(&[(2, 20, 60, 70)])), 0);
}
