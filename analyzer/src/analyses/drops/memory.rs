//! Segments for which there was no memory: whether TCP's memory of the whole host was used up, and by whom.
//!
//! Needs `drops`, `counters`, settings, `rx`, `connections`, lists of sockets. Sources: net/ipv4/tcp_input.c `tcp_data_queue` (PROTO_MEM: what
//! `tcp_try_rmem_schedule` refuses, because of tcp_mem, a cgroup's limit, or the socket's own buffer; of the last alone `tcp_prune_queue` counts RcvPruned), net/ipv4/tcp.c
//! `tcp_enter_memory_pressure` (TCPMemoryPressures: tcp_mem, or an allocation that failed). That it was tcp_mem is inferred. Who had most unread is measured in payload: the memory for it is larger.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Full;
use super::full::MOSTLY;
use crate::analyses::verdict::{counted, duration, size};
use crate::counters::tables::refused;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::receive::tables::RxEnd;
use crate::snapshots::memory::Holder;

/// Three sizes in pages: from the second on TCP is under pressure, and more than the third it does not take.
const LIMITS: &str = "net.ipv4.tcp_mem";
const PAGE: i64 = 4096;
/// Who is named has so much of what lay unread, as a part of all.
const MOST: f64 = 0.5;

/// A sentence without its begin; whether the kernel counted what it says.
pub(super) fn full(facts: &Facts, rows: &[&DropRow]) -> Option<Full> {
    let counter = |name: &str| refused(&facts.counters, |source, n| source == "netstat" && n == name);
    let own = counter("TcpExtRcvPruned");
    if own > 0 && own as f64 >= MOSTLY * rows.len() as f64 {
        let says = format!("the socket's own receive buffer was full, by the kernel's counter RcvPruned ({own})");
        return Some(Full { says, counted: true });
    }
    let holder = unread(facts, rows).or_else(|| at_the_end(facts, rows));
    match pressed(facts, holder.clone()) {
        Some(says) => Some(Full { says, counted: true }),
        None => Some(Full {
            says: format!("shared by all sockets of the host or the cgroup: {}", holder?),
            counted: false,
        }),
    }
}

/// That it was TCP's memory, where the kernel counted pressure; with who held most.
pub(super) fn pressed(facts: &Facts, holder: Option<String>) -> Option<String> {
    let counter = |name: &str| refused(&facts.counters, |source, n| source == "netstat" && n == name);
    if counter("TcpExtTCPMemoryPressures") == 0 {
        return None;
    }
    let pages = facts.settings.0.get(LIMITS);
    let most: Option<i64> = pages.and_then(|p| p.split_whitespace().nth(2)?.parse().ok());
    let limit = most.map_or_else(String::new, |pages| {
        let bytes = size(pages.saturating_mul(PAGE));
        format!(", {LIMITS} allows {pages} pages, {bytes} where a page is 4 KiB")
    });
    // In ms, counted when it ends: it may have begun before.
    let ms = i64::try_from(counter("TcpExtTCPMemoryPressuresChrono")).unwrap_or(i64::MAX);
    let long = ms.saturating_mul(1_000_000);
    let long = match () {
        () if long == 0 => String::new(),
        () if long > facts.capture.duration_ns => ", since before the recording".to_owned(),
        () => format!(" for {}", duration(long)),
    };
    let holder = holder.map_or_else(String::new, |h| format!(": {h}"));
    Some(format!(
        "the memory that all TCP sockets of this host share was short (inferred: the kernel counted pressure{long}{limit}){holder}"
    ))
}

/// A process, or where it listens, and what of its had come and was not read at a time.
struct Unread {
    first: ConnectionId,
    bytes: u64,
    sockets: BTreeSet<ConnectionId>,
}

/// Who had most unread in the middle of these drops, where that is most of all.
fn unread(facts: &Facts, rows: &[&DropRow]) -> Option<String> {
    // A read that was lost is none.
    if !facts.gaps.is_empty() {
        return None;
    }
    let mut times: Vec<i64> = rows.iter().map(|d| d.time_ns).collect();
    times.sort_unstable();
    let at = *times.get(times.len() / 2)?;
    let mut by: BTreeMap<(i32, Option<IpAddr>, u16), Unread> = BTreeMap::new();
    let mut all = 0u64;
    for r in facts.rx.iter().filter(|r| r.start_ns <= at) {
        let lies = match r.end {
            RxEnd::Read => r.start_ns.saturating_add(r.total_ns) > at,
            RxEnd::Queued => true,
            _ => false,
        };
        let (Some(bytes), Some(c)) = (r.bytes.filter(|_| lies), r.connection) else {
            continue;
        };
        let Some(row) = facts.connections.get(c.0 as usize) else {
            continue;
        };
        // Sockets of a process together, others by their port.
        let key = match row.pid {
            0 => (0, row.saddr, row.sport),
            pid => (pid, None, 0),
        };
        let of = by.entry(key).or_insert_with(|| Unread {
            first: c,
            bytes: 0,
            sockets: BTreeSet::new(),
        });
        of.bytes = of.bytes.saturating_add(u64::from(bytes));
        of.sockets.insert(c);
        all = all.saturating_add(u64::from(bytes));
    }
    let of = by.into_values().max_by_key(|of| of.bytes)?;
    let row = facts.connections.get(of.first.0 as usize)?;
    let end = row.local();
    let end = end.map_or_else(|| format!("*:{}", row.sport), |end| end.to_string());
    let who = match (row.task.is_empty(), row.pid) {
        (true, _) | (_, 0) => format!("the process at {end}"),
        (false, pid) => format!("{}/{pid} at {end}", row.task.text()),
    };
    (of.bytes as f64 >= MOST * all as f64).then(|| {
        format!(
            "in the middle of these drops {who} had {} unread on {}, of {} on all",
            size(i64::try_from(of.bytes).unwrap_or(i64::MAX)),
            counted(of.sockets.len() as u64, "socket", "sockets"),
            size(i64::try_from(all).unwrap_or(i64::MAX))
        )
    })
}

/// Who held most of the memory of receive queues in the namespace that these came to, when the recording ended.
fn at_the_end(facts: &Facts, rows: &[&DropRow]) -> Option<String> {
    let to = rows.iter().find_map(|d| {
        let c = d.owner.as_ref()?.connection?;
        facts.routes.namespace(facts.connections.get(c.0 as usize)?.daddr?)
    });
    let netns = to.or_else(|| {
        let first = facts.memory.first()?.netns;
        facts.memory.iter().all(|h| h.netns == first).then_some(first)
    })?;
    held(facts.memory.iter().find(|h| h.netns == netns)?, false)
}

/// The same of a namespace, with where it is reached.
pub(super) fn holder(facts: &Facts, netns: Option<u64>) -> Option<String> {
    held(facts.memory.iter().find(|h| Some(h.netns) == netns)?, true)
}

fn held(most: &Holder, at: bool) -> Option<String> {
    let who = match most.task.as_str() {
        "" => format!("a process at {}", most.local),
        who if at => format!("{who} at {}", most.local),
        who => who.to_owned(),
    };
    Some(format!(
        "when the recording ended {who} held {} of it unread on {}",
        size(i64::try_from(most.bytes).unwrap_or(i64::MAX)),
        counted(most.sockets, "socket", "sockets")
    ))
}
