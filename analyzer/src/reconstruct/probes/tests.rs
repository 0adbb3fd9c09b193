//! The probes of a recording under Linux 6.12 against `ss` and the program's own stopwatch; and what is cut.

use super::tables::{AcceptRow, LookupRow};
use crate::facts::Facts;
use crate::testing::{Ctx, Script, V};

fn recorded() -> Facts {
    crate::tests::facts("probes/probes.nmb.zst")
}

/// Lines of truth.txt that begin so, their other words.
fn truth(first: &str) -> Vec<Vec<String>> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-data/probes/truth.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let words = text
        .lines()
        .map(|l| l.split(' ').map(str::to_owned).collect::<Vec<_>>());
    words.filter(|w| w[0] == first).map(|w| w[1..].to_vec()).collect()
}

/// `ss -ltn` says four after the fourth connection, seven after the seventh, two when five were accepted: the next is the third.
#[test]
fn so_many_wait_to_be_accepted_as_ss_says() {
    let facts = recorded();
    let mine: Vec<&AcceptRow> = facts
        .probes
        .accepts
        .iter()
        .filter(|r| r.local.is_some_and(|l| l.1 == 7001))
        .collect();
    let waiting: Vec<u32> = mine.iter().map(|r| r.waiting).collect();
    let ss: Vec<(u32, u32)> = truth("ss")
        .iter()
        .map(|w| (w[1].parse().unwrap(), w[2].parse().unwrap()))
        .collect();
    assert_eq!(ss, [(4, 9), (7, 9), (2, 9)]);
    assert_eq!(
        (waiting[3], waiting[6], waiting[7]),
        (ss[0].0, ss[1].0, ss[2].0 + 1),
        "{waiting:?}"
    );
    assert_eq!(waiting, [1, 2, 3, 4, 5, 6, 7, 3]);
    assert!(
        mine.iter()
            .all(|r| r.limit == ss[0].1 && r.sk == mine[0].sk && !r.is_full())
    );
    // The other listener took its connection at once, or soon.
    let other: Vec<&AcceptRow> = facts
        .probes
        .accepts
        .iter()
        .filter(|r| r.local.is_some_and(|l| l.1 == 7002))
        .collect();
    assert!(
        matches!(other[..], [r] if (r.waiting, r.limit) == (1, 4) && r.sk != mine[0].sk),
        "{other:?}"
    );
}

/// The program's stopwatch is around the call, and the names say for how long their server waits at least.
#[test]
fn names_are_resolved_for_as_long_as_the_program_says() {
    let facts = recorded();
    let lookups: Vec<&LookupRow> = facts
        .probes
        .lookups
        .iter()
        .filter(|r| r.task.text() == "probes")
        .collect();
    let truth = truth("lookup");
    assert_eq!((lookups.len(), truth.len()), (5, 5), "{lookups:?}");
    for (row, told) in lookups.iter().zip(truth) {
        let (from, to): (i64, i64) = (told[1].parse().unwrap(), told[2].parse().unwrap());
        let (start, end) = (row.start_ns.unwrap(), row.end_ns.unwrap());
        assert!(from <= start && end <= to, "{told:?} {row:?}");
        let took = row.took_ns().unwrap();
        // Entering and leaving a uprobe costs some ms where the CPU is emulated.
        assert!(to - from - took < 20_000_000, "{told:?} {row:?}");
        let waits: i64 = told[0].split('.').next().unwrap().parse().unwrap();
        assert!(
            !told[0].ends_with("test") || took >= waits * 1_000_000,
            "{told:?} {row:?}"
        );
    }
}

#[test]
fn what_waits_behind_a_socket_in_use_is_told_by_its_peaks() {
    let facts = recorded();
    let rows = &facts.probes.backlogs;
    let most = &rows[0];
    assert!(
        most.segments > 0 && most.most_backlog.0 >= rows.last().unwrap().most_backlog.0,
        "{rows:?}"
    );
    let segments: u64 = rows.iter().map(|r| r.segments).sum();
    let events = facts.capture.events.iter().find(|(key, _)| key.ends_with(":backlog"));
    assert_eq!(Some(segments), events.map(|(_, n)| *n));
    // The kernel refuses what is more than both limits together (tcp_add_backlog).
    assert!(
        rows.iter().all(|r| r.most_backlog.0 < 64 << 20 && r.rcvbuf > 0),
        "{rows:?}"
    );
    let (begin, end) = (facts.capture.start_ns.unwrap(), facts.capture.end_ns.unwrap());
    assert!(
        rows.iter()
            .all(|r| (begin..=end).contains(&r.most_backlog.1) && (begin..=end).contains(&r.most_rmem.1))
    );
}

const KERNEL: &str = "6.12.117";

fn lookup(s: &mut Script, at: u64, pid: u64, returns: bool) {
    let (event, field) = match returns {
        false => ("netmortem:getaddrinfo", "__probe_ip"),
        true => ("netmortem:getaddrinfo_return", "__probe_ret_ip"),
    };
    s.ev(at, 0, Ctx::Task(pid as i32), event, &[(field, V::N(7))]);
}

/// Threads at once, an end without a begin, a begin without an end, a begin whose end never came.
#[test]
fn a_lookup_that_is_cut_has_no_length() {
    let mut s = Script::new(KERNEL, &[]);
    for (at, pid, returns) in [
        (10, 1, true),
        (20, 1, false),
        (30, 2, false),
        (40, 1, true),
        (50, 2, false),
        (60, 2, true),
        (70, 3, false),
    ] {
        lookup(&mut s, at * 1_000, pid, returns);
    }
    let took: Vec<(i32, Option<i64>, Option<i64>)> = s
        .facts()
        .probes
        .lookups
        .iter()
        .map(|r| (r.pid, r.took_ns(), r.end_ns.or(r.start_ns)))
        .collect();
    assert_eq!(
        took.iter().map(|t| (t.0, t.1)).collect::<Vec<_>>(),
        [(1, None), (1, Some(20_000)), (2, None), (2, Some(10_000)), (3, None)]
    );
}

/// A peak is the largest, when it first was; what another CPU changed meanwhile may be below nothing.
#[test]
fn peaks_are_of_each_socket() {
    let mut s = Script::new(KERNEL, &[]);
    for (at, sk, backlog, rmem) in [
        (1u64, 0xa0u64, 100u64, 5u64),
        (2, 0xa0, 300, 7),
        (3, 0xb0, 200, 0),
        (4, 0xa0, 300, 6),
        (5, 0xa0, u64::from(u32::MAX), 1),
    ] {
        let values = [
            ("sk", V::N(sk)),
            ("skb", V::N(1)),
            ("backlog", V::N(backlog)),
            ("rmem", V::N(rmem)),
            ("rcvbuf", V::N(1000)),
        ];
        s.ev(at * 1_000, 0, Ctx::Soft(0), "netmortem:backlog", &values);
    }
    let facts = s.facts();
    let rows: Vec<_> = facts
        .probes
        .backlogs
        .iter()
        .map(|r| (r.sk, r.segments, r.most_backlog.0, r.most_rmem.0, r.rcvbuf))
        .collect();
    assert_eq!(rows, [(0xa0, 4, 300, 7, 1000), (0xb0, 1, 200, 0, 1000)]);
    // Without a probe there is nothing.
    assert_eq!(Script::new(KERNEL, &[]).facts().probes, super::Probes::default());
}
