//! What listening sockets dropped, by the snapshots of sockets: `mem.drops` (SK_MEMINFO_DROPS) of each, before and after.
//!
//! Not all of it are connections turned away: who says so compares it with ListenDrops (`analyses::counters`). Source: net/ipv4/tcp_input.c
//! `tcp_conn_request`, net/ipv4/tcp_ipv4.c `tcp_v4_syn_recv_sock` (`tcp_listendrop`: `sk_drops` and ListenDrops, for whatever reason), and
//! `tcp_v4_rcv` (`discard_and_relse`: `sk_drops` alone, of what `tcp_check_req` does not take: bare ACKs under TCP_DEFER_ACCEPT, RSTs of handshakes);
//! `wqueue` of a listening socket is the limit of its accept queue (net/ipv4/tcp_diag.c `tcp_diag_get_info`).

use std::collections::{BTreeMap, BTreeSet};

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;

use super::tasks::processes;
use super::{field, hex, listening, number};

/// A listening TCP socket that dropped something.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Refusing {
    /// Network namespace (inode).
    pub netns: u64,
    /// Its local address.
    pub local: String,
    /// `task/process` that holds it; empty: not known.
    pub task: String,
    /// Connections that its accept queue holds at most: its program's backlog, or net.core.somaxconn where that is less.
    pub limit: Option<u64>,
    /// What it dropped between the snapshots, for whatever reason.
    pub drops: u64,
    /// Connections in its accept queue at the end.
    pub queued: Option<u64>,
    /// Listening sockets of its address in that namespace at the end, itself included (SO_REUSEPORT), and how many of them dropped something.
    pub group: (u64, u64),
    /// Processes of the others of its group.
    #[serde(skip)]
    pub beside: Vec<i32>,
    /// When its process read last, ns since the start of the recording, where that is known and others of its group's processes read later.
    pub read_last_ns: Option<i64>,
}

/// Most drops first.
pub(crate) fn refusing(capture: &Capture) -> Vec<Refusing> {
    let key = |l: &str| number(l, "netns").zip(hex(l, "cookie"));
    let drops = |when: SnapshotWhen| {
        let of = move |(_, l)| Some((key(l)?, (l, number(l, "mem.drops")?)));
        listening(capture, move |w| w == when).filter_map(of)
    };
    // One that was not there before had dropped nothing, or was not reached by the list from before.
    let before: BTreeMap<(u64, u64), u64> = drops(SnapshotWhen::Start).map(|(k, (_, n))| (k, n)).collect();
    if before.is_empty() {
        return vec![];
    }
    let tasks = processes(capture);
    let rose = |k: &(u64, u64), n: u64| n.checked_sub(before.get(k).copied().unwrap_or(0)).filter(|n| *n > 0);
    let process = |l: &str| -> Option<i32> { field(l, "pids").and_then(|p| p.split(',').next()?.parse().ok()) };
    let mut groups: BTreeMap<(u64, &str), (u64, u64, BTreeSet<i32>)> = BTreeMap::new();
    for (k, (l, n)) in drops(SnapshotWhen::End) {
        let of = groups.entry((k.0, field(l, "src").unwrap_or_default())).or_default();
        of.0 += 1;
        of.1 += u64::from(rose(&k, n).is_some());
        of.2.extend(process(l));
    }
    let mut all: Vec<Refusing> = drops(SnapshotWhen::End)
        .filter_map(|(k, (l, n))| {
            let drops = rose(&k, n)?;
            let local = field(l, "src").unwrap_or_default();
            let pid = process(l);
            let group = groups.get(&(k.0, local));
            let task = pid.map(|pid| match tasks.get(&pid) {
                Some((_, name)) if !name.is_empty() => format!("{}/{pid}", name.text()),
                _ => format!("process {pid}"),
            });
            Some(Refusing {
                netns: k.0,
                local: local.to_owned(),
                task: task.unwrap_or_default(),
                limit: number(l, "wqueue"),
                drops,
                queued: number(l, "rqueue"),
                group: group.map_or((1, 1), |g| (g.0, g.1)),
                beside: group.map_or_else(Vec::new, |g| g.2.iter().copied().filter(|p| Some(*p) != pid).collect()),
                read_last_ns: None,
            })
        })
        .collect();
    all.sort_by(|a, b| (b.drops, a.netns, &a.local).cmp(&(a.drops, b.netns, &b.local)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use netmortem_formats::capture::Snapshot;

    #[test]
    fn what_rose_between_the_snapshots_is_told_of_its_socket() {
        let mut capture = crate::testing::Script::new("6.18.44", &[]).capture();
        let line = |cookie: u32, port: u16, drops: u32, pids: &str| {
            format!(
                "netns=7 proto=tcp family=inet6 state=listen src=[::]:{port} dst=[::]:0 cookie={cookie:#x} wqueue=50 mem.drops={drops}{pids}\n"
            )
        };
        let snapshot = |what: &str, when, text: String| Snapshot {
            what: what.into(),
            when,
            text: text.into_bytes(),
        };
        let (start, end) = (SnapshotWhen::Start, SnapshotWhen::End);
        capture.snapshots = vec![
            snapshot(
                "sockets",
                start,
                line(1, 8080, 5, " pids=9") + &line(2, 80, 7, "") + &line(5, 22, 9, ""),
            ),
            snapshot(
                "sockets",
                end,
                line(1, 8080, 684, " pids=9")
                    + &line(2, 80, 7, "")
                    + &line(3, 81, 2, "")
                    + &line(4, 81, 0, "")
                    + &line(5, 22, 8, ""),
            ),
            snapshot("tasks", end, "9 9 java\n".into()),
        ];
        let got = refusing(&capture);
        let told: Vec<_> = got
            .iter()
            .map(|r| (r.local.as_str(), r.task.as_str(), r.limit, r.drops, r.group))
            .collect();
        assert_eq!(
            told,
            [
                ("[::]:8080", "java/9", Some(50), 679, (1, 1)),
                ("[::]:81", "", Some(50), 2, (2, 1))
            ]
        );
        // With no list from before, nothing is known of when they were dropped.
        capture.snapshots.remove(0);
        assert_eq!(refusing(&capture), []);
    }
}
