//! Which neighbour did not answer, or had too many packets waiting for its answer.
//!
//! Needs `drops`, `neighbours`. The queue of an entry is emptied in the timer that gives it up, and a packet too many is freed in the call that
//! asks for it; the event of either follows on the same CPU (net/core/neighbour.c `neigh_timer_handler`, `__neigh_event_send`).

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;

/// Longest time from a packet's free to the event of its neighbour, ns.
const NEXT_NS: i64 = 1_000_000;
/// Reasons of such frees, and the event that follows.
const FOLLOWS: [(&str, &str); 2] = [
    ("NEIGH_FAILED", "timer_handler"),
    ("NEIGH_QUEUEFULL", "event_send_done"),
];
/// Where a packet is freed at once, for an entry that is not to be asked for, and no event follows.
const AT_ONCE: &str = "__neigh_event_send";

/// The neighbour of most of a group's packets.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Unresolved {
    /// Its address.
    pub address: String,
    /// The device that asked for it.
    pub dev: String,
    /// Packets that waited for it.
    pub count: u64,
    /// Other neighbours that packets of the group waited for.
    pub others: u64,
}

pub(super) fn unresolved(facts: &Facts, reason: &str, rows: &[&DropRow]) -> Option<Unresolved> {
    let event = FOLLOWS.iter().find(|f| f.0 == reason)?.1;
    let of = facts.neighbours.iter().filter(|n| n.event == event);
    let mut events: Vec<(u16, i64, Name, IpAddr)> = of.map(|n| (n.cpu, n.time_ns, n.dev, n.address)).collect();
    events.sort_unstable_by_key(|e| (e.0, e.1));
    let mut by: BTreeMap<(IpAddr, Name), u64> = BTreeMap::new();
    let place = |row: &DropRow| facts.names.locations.get(&row.location).map(String::as_str);
    let followed = |row: &&&DropRow| event != "timer_handler" || place(row) != Some(AT_ONCE);
    for row in rows.iter().filter(followed) {
        let at = events.partition_point(|e| (e.0, e.1) < (row.cpu, row.time_ns));
        let next = events.get(at).filter(|e| e.0 == row.cpu);
        if let Some(e) = next.filter(|e| e.1.saturating_sub(row.time_ns) <= NEXT_NS) {
            *by.entry((e.3, e.2)).or_default() += 1;
        }
    }
    let others = (by.len() as u64).saturating_sub(1);
    let ((address, dev), count) = by.into_iter().max_by_key(|(_, n)| *n)?;
    Some(Unresolved {
        address: address.to_string(),
        dev: dev.text().into_owned(),
        count,
        others,
    })
}
