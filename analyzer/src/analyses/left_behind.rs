//! Sockets that nobody has: of a network namespace that was removed (`ip netns del`, a container), in which they still send again what nobody will acknowledge.
//!
//! A socket whose process is gone keeps its namespace alive until it gives up (`tcp_orphan_retries`), and the namespace its devices. No list of sockets has it, since no
//! process and no name leads to its namespace; nothing comes to it; its neighbours are asked for in vain. Nobody waits for any of that. Inferred. Must not be said where
//! lists of sockets are missing, where events were lost, or of flights, whose lists are younger than their sockets.

use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::snapshots::field;

/// A neighbour fails so long before its packets are sent again, at most: all in one timer, ns.
const AT_ONCE_NS: i64 = 1_000_000;
/// Sockets of a list, and namespaces, from which the recorder leaves some out.
const LISTED: usize = 10_000;
const SPACES: usize = 64;
/// Failures of an entry from which it is of these.
const TWICE: usize = 2;
/// NUD_FAILED (include/net/neighbour.h).
const FAILED: u8 = 0x20;

/// Sockets that were there before the recording, and that no list has.
pub(crate) fn sockets(facts: &Facts) -> FxHashSet<ConnectionId> {
    let listed =
        |r: &crate::snapshots::tables::SnapshotRow| r.what == "sockets" && r.start && field(&r.line, "state").is_some();
    let lists = || facts.snapshots.iter().filter(|r| r.what == "sockets" && r.start);
    // Lists that are cut leave live ones out.
    let spaces: FxHashSet<Option<u64>> = lists().map(|r| r.netns).collect();
    let whole = lists().all(|r| !r.line.starts_with('#')) && lists().count() < LISTED && spaces.len() < SPACES;
    let known = facts.capture.flight.is_none() && facts.gaps.is_empty() && whole && facts.snapshots.iter().any(listed);
    // What is just being opened is younger than its list.
    let opening = facts.retransmits.iter().filter(|r| r.class == RetransmitClass::Syn);
    let opening: FxHashSet<ConnectionId> = opening.filter_map(|r| r.connection).collect();
    let of = facts.connections.iter().filter(|_| known);
    let nobodys = of.filter(|c| c.born.is_none() && c.cookie.is_none() && c.pid == 0 && c.task.text().is_empty());
    let silent = nobodys.filter(|c| !opening.contains(&c.connection));
    let silent = silent.filter(|c| c.samples == 0 && c.bytes_in == 0 && c.retransmits.is_some_and(|n| n > 0));
    silent.map(|c| c.connection).collect()
}

/// Neighbours, with the devices of their entries, that such sockets alone ask for.
pub(super) fn neighbours(facts: &Facts) -> FxHashSet<(IpAddr, Name)> {
    let of = sockets(facts);
    let mut again: Vec<(i64, bool)> = vec![];
    if !of.is_empty() {
        let rows = facts.retransmits.iter();
        again.extend(rows.map(|r| (r.time_ns, r.connection.is_some_and(|c| of.contains(&c)))));
    }
    // Of those before each, how many are others'.
    let mut others: Vec<usize> = vec![0];
    for (_, own) in &again {
        others.push(others.last().copied().unwrap_or(0) + usize::from(!own));
    }
    let theirs = |failed: i64| {
        let from = again.partition_point(|(t, _)| *t < failed);
        let to = again.partition_point(|(t, _)| *t <= failed.saturating_add(AT_ONCE_NS));
        to > from && others.get(from) == others.get(to)
    };
    // Failures, and whether all are theirs.
    let mut entries: FxHashMap<(IpAddr, Name), (usize, bool)> = FxHashMap::default();
    for r in facts.neighbours.iter().filter(|_| !again.is_empty()) {
        let state = r.after.or(r.before).map_or(0, |held| held.state);
        if r.event == "timer_handler" && state & FAILED != 0 {
            let e = entries.entry((r.address, r.dev)).or_insert((0, true));
            *e = (e.0 + 1, e.1 && theirs(r.time_ns));
        }
    }
    let failed = entries.into_iter().filter(|(_, (n, all))| *n >= TWICE && *all);
    failed.map(|(entry, _)| entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyses::verdict::Tone;
    use crate::reconstruct::tcp::tables::RetransmitRow;
    use crate::snapshots::tables::SnapshotRow;

    const S: i64 = 1_000_000_000;

    fn again(connection: u32, time_ns: i64) -> RetransmitRow {
        RetransmitRow {
            original: None,
            index: 0,
            time_ns,
            connection: Some(ConnectionId(connection)),
            synack: None,
            class: RetransmitClass::Pmtu,
            err: Some(0),
            bytes: None,
            segments: None,
            confidence: crate::Confidence::Weak,
        }
    }

    /// Three sockets of a removed container send again when their neighbour has failed, each 3 s; a list of sockets has another.
    fn facts() -> Facts {
        let mut f = Facts::empty();
        (f.capture.start_ns, f.capture.end_ns, f.capture.duration_ns) = (Some(0), Some(10 * S), 10 * S);
        f.capture.events.insert("tcp:tcp_retransmit_skb".into(), 9);
        f.snapshots.push(SnapshotRow {
            what: "sockets".into(),
            netns: Some(1),
            start: true,
            end: true,
            line: "netns=1 proto=tcp state=established src=10.0.0.7:5000 dst=10.0.0.9:80 cookie=0x7 inode=5".into(),
        });
        for n in 0..3 {
            let mut c = crate::testing::tcp::connection(n);
            (c.born, c.cookie, c.pid, c.task, c.samples, c.bytes_in) = (None, None, 0, Name::default(), 0, 0);
            c.retransmits = Some(3);
            f.connections.push(c);
        }
        for nth in 0..3i64 {
            let at = S + nth * 3 * S;
            for n in 0..3 {
                f.retransmits.push(again(n, at + 40_000 + i64::from(n) * 10_000));
            }
        }
        f
    }

    fn tcp(f: &Facts) -> (Tone, String) {
        let line = crate::analyses::answer(f)
            .verdict
            .into_iter()
            .find(|l| l.subject == "tcp")
            .unwrap();
        (line.tone, line.sentence)
    }

    #[test]
    fn sockets_that_no_list_has_are_nobodys() {
        let f = facts();
        assert_eq!(sockets(&f).len(), 3);
        let (tone, said) = tcp(&f);
        let says = "9 TCP segments were retransmitted by 3 sockets that no list of sockets has and no process: left behind in a network namespace that was removed, as a container's, and nobody waits for them (inferred); none by others";
        assert!(said.starts_with(says) && tone == Tone::Ok, "{said}");
        // One that a list has, or a thread reads, or that was answered, or began meanwhile; without lists, across a loss, in a flight.
        let changes: [fn(&mut Facts); 7] = [
            |f| f.connections[0].cookie = Some(7),
            |f| f.connections[0].pid = 9,
            |f| f.connections[0].bytes_in = 100,
            |f| f.connections[0].born = Some(2),
            |f| f.snapshots.clear(),
            |f| f.gaps.push(crate::testing::gap(S, 2 * S)),
            |f| f.capture.flight = Some(Default::default()),
        ];
        for (nth, change) in changes.into_iter().enumerate() {
            let mut f = facts();
            change(&mut f);
            assert_eq!(sockets(&f).len(), if nth < 4 { 2 } else { 0 }, "{nth}");
            assert_eq!(tcp(&f).0, Tone::Notice, "{nth}");
        }
    }
}
