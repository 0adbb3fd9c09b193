//! Tables of the kernel that were full, where its own counters tell; else how large they may be, where their being full is one of the causes.
//!
//! Needs `counters`, settings. Sources: net/netfilter/nf_conntrack_core.c (`drop`: a packet was dropped because its connection could not be
//! entered), net/core/neighbour.c `neigh_alloc` (`table_fulls`).

use super::counted::Counted;
use super::reasons::{QUEUE_FULL, RULES};
use super::{Full, Group, clash, memory, refused};
use crate::facts::Facts;
use crate::reconstruct::drops::tables::DropRow;

/// A table, what the kernel counts when it is full, and the setting of its size.
struct Table {
    source: &'static str,
    counter: &'static str,
    setting: &'static str,
    was_full: &'static str,
}

const CONNECTIONS: Table = Table {
    source: "nf_conntrack",
    counter: "drop",
    setting: "net.netfilter.nf_conntrack_max",
    was_full: "connection tracking had no room for a new connection",
};
const NEIGHBOURS: Table = Table {
    source: "arp_cache",
    counter: "table_fulls",
    setting: "net.ipv4.neigh.default.gc_thresh3",
    was_full: "the neighbour table was full",
};
const NEIGHBOURS6: Table = Table {
    source: "ndisc_cache",
    counter: "table_fulls",
    setting: "net.ipv6.neigh.default.gc_thresh3",
    was_full: "the IPv6 neighbour table was full",
};
/// Reason of a segment for which there is no memory (tcp_mem, or the limit of a cgroup).
const MEMORY: &str = "PROTO_MEM";
/// Part of a group's drops that the kernel must have counted for them to be these; and of what it counted, in whatever namespace, that they must be.
pub(super) const MOSTLY: f64 = 0.5;

/// `connection tracking had no room for a new connection: its counter drop rose by 72, net.netfilter.nf_conntrack_max = 1700`, and whether that is counted; or the setting
/// alone.
pub(super) fn full(facts: &Facts, g: &Group, rows: &[&DropRow]) -> Option<Full> {
    if g.reason == MEMORY {
        // UDP and packet sockets have limits of their own.
        if !g.location.starts_with("tcp_") {
            return None;
        }
        return memory::full(facts, rows);
    }
    if g.reason == QUEUE_FULL && !g.dev.is_empty() {
        return refused::refused(facts, g, rows);
    }
    let of = match (g.reason.as_str(), g.location.as_str()) {
        (RULES, "nf_hook_slow") => match clash::clashes(facts, rows) {
            Some(clashes) => return Some(clashes),
            None => &CONNECTIONS,
        },
        ("NEIGH_CREATEFAIL", at) if at.starts_with("ip6_") => &NEIGHBOURS6,
        ("NEIGH_CREATEFAIL", _) => &NEIGHBOURS,
        _ => return None,
    };
    let size = facts.settings.0.get(of.setting);
    let size = size.map(|size| format!("{} = {size}", of.setting));
    let beside = Counted::of(facts, rows, of.source);
    let (rise, count) = (
        |counter: &str| beside.rise(of.source, counter),
        beside.rows.len() as f64,
    );
    // Two packets of one new connection at once (questions for A and AAAA): counted as both, and no table was full.
    let rose = rise(of.counter).saturating_sub(rise("insert_failed"));
    let counted = beside.is_of_most() && rose > 0 && rose as f64 >= MOSTLY * count && rose as f64 * MOSTLY <= count;
    let says = match (counted, size) {
        (true, size) => {
            let size = size.map_or_else(String::new, |s| format!(", {s}"));
            let (was_full, source, counter) = (of.was_full, of.source, of.counter);
            format!(
                "{was_full}: {source} counted {rose} more {counter}{}{size}",
                beside.when()
            )
        }
        (false, size) => size?,
    };
    Some(Full { says, counted })
}
