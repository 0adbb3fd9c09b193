//! Connections that a kernel of this recording reset by itself for want of memory or of orphans: sockets that a program has closed, whose data is not out yet.
//!
//! Needs `resets` with the kernel's own reasons (since Linux 6.12), `connections`, settings, `counters`. net/ipv4/tcp.c `__tcp_close` (`tcp_check_oom`): at more orphans
//! than `tcp_max_orphans`, or while TCP's memory is short, the close sends a RST, and what was not acknowledged yet is lost, though the program's
//! send had succeeded.

use std::collections::BTreeMap;

use super::end;
use crate::counters::tables::risen;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::tcp::role::Role;

/// The kernel's word for it.
const REASON: &str = "TCP_ABORT_ON_MEMORY";
/// A socket counts for so many orphans at most (net/ipv4/tcp_timer.c `tcp_out_of_resources`).
const PENALTY: u64 = 4;
const SETTING: &str = "net.ipv4.tcp_max_orphans";
/// What the kernel counts when TCP's memory is short.
const SHORT: &str = "TcpExtTCPMemoryPressures";

/// What is told of them.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Orphans {
    /// The server's end, of most.
    pub at: String,
    /// Task that used most of those last, of the end that was closed; empty: not known.
    pub task: String,
    /// Connections of that end.
    pub connections: u64,
    /// All, those of other ends among them.
    pub all: u64,
    /// `net.ipv4.tcp_max_orphans = 8192`, of every namespace that has another; empty: not recorded.
    pub setting: String,
    /// TCP's memory was short meanwhile (TcpExtTCPMemoryPressures): the limit of orphans may not be why.
    pub short_of_memory: bool,
    /// That limit, as it was when the recording began, is far above all sockets that were seen: it was another one then, or not why.
    #[serde(skip)]
    pub roomy: bool,
    /// From the begin of the recording to the first of them.
    #[serde(skip)]
    pub first_ns: i64,
}

/// The server with most of them.
pub(super) fn orphans(facts: &Facts) -> Option<Orphans> {
    // Those that a server closed come first: their clients miss the rest of an answer.
    let mut by: BTreeMap<(bool, String), BTreeMap<Name, u64>> = BTreeMap::new();
    let (mut all, mut first) = (0u64, i64::MAX);
    for r in facts
        .resets
        .iter()
        .filter(|r| !r.received && r.reason.ends_with(REASON))
    {
        let row = r.connection.and_then(|c| facts.connections.get(c.0 as usize));
        let server = row.is_none_or(|row| row.role().0 == Role::Server);
        let task = row.map_or(Name::default(), |row| row.task);
        let at = end(if server { r.from } else { r.to });
        *by.entry((server, at)).or_default().entry(task).or_default() += 1;
        all += 1;
        first = first.min(r.time_ns);
    }
    let ((_, at), tasks) = by
        .into_iter()
        .max_by_key(|((server, _), tasks)| (*server, tasks.values().sum::<u64>()))?;
    let task = tasks.iter().filter(|(t, _)| !t.is_empty()).max_by_key(|(_, n)| **n);
    let values = facts.settings.0.iter().filter(|(k, _)| k.starts_with(SETTING));
    let sockets = (facts.connections.len() as u64).saturating_mul(PENALTY);
    let roomy = |limit: &String| limit.parse::<u64>().is_ok_and(|n| n > sockets);
    let mut limits = values.clone().map(|(_, limit)| limit).peekable();
    let roomy = limits.peek().is_some() && limits.all(roomy);
    let setting: Vec<String> = values.map(|(k, v)| format!("{k} = {v}")).collect();
    Some(Orphans {
        at,
        task: task.map_or_else(String::new, |(t, _)| t.text().into_owned()),
        connections: tasks.values().sum(),
        all,
        setting: setting.join(", "),
        short_of_memory: risen(&facts.counters, SHORT).is_some_and(|n| n > 0),
        roomy,
        first_ns: first.saturating_sub(facts.capture.start_ns.unwrap_or(0)),
    })
}
