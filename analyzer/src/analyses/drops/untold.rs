//! Segments that TCP dropped by itself on kernels that have no event for it (before Linux 5.17, `tcp_drop` freed silently), by the kernel's counters: with a wrong checksum,
//! and for want of memory. Of the first some may have an event without a reason: short ones, and those for a socket that is in use (`tcp_v4_rcv`).
//!
//! Needs `counters`, `retransmits`, `connections`, `rx`, settings, lists of sockets. Between which hosts segments were damaged is inferred: about as many were sent again on the
//! connections from the one to the other, in the namespace of which the counter rose. Must not say what drops with a reason say, nor anything where no counter rose.
//! Sources: net/ipv4/tcp_input.c `tcp_rcv_established` (`csum_error`), `tcp_data_queue` (TCPRcvQDrop, of what `tcp_try_rmem_schedule` refuses) of Linux 5.4 and 5.15.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::damaged::{self, Damaged};
use super::full::MOSTLY;
use super::memory;
use crate::counters::tables::CounterRow;
use crate::facts::Facts;
use crate::reconstruct::drops::CHECKSUM;

/// Fewest that are told.
const LEAST: u64 = 10;
/// What was sent again is what was damaged where it is so much of it at most, and at least.
const ALIKE: f64 = 0.9;

/// Of one counter.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Untold {
    /// As `nstat` names it.
    pub counter: &'static str,
    /// By how much it rose.
    pub rose: u64,
    /// What such a segment is.
    pub says: String,
    /// Which of several causes it was is said.
    #[serde(skip)]
    pub told: bool,
    /// Of segments with a wrong checksum: between which hosts they were damaged; inferred.
    pub damaged: Option<Damaged>,
}

const DAMAGED: &str = "TcpInCsumErrors";
const NO_MEMORY: &str = "TcpExtTCPRcvQDrop";
/// Beginning of what is said of its own buffer.
pub(crate) const OWN_BUFFER: &str = "the socket's own receive buffer was full";
/// Memory may have been short since before the recording, which is counted when it begins.
const OPEN: &str = "no memory to receive them: of the socket's own buffer, of all TCP sockets (net.ipv4.tcp_mem) or of a cgroup, which no counter tells";

/// What counters tell and no event.
pub(super) fn untold(facts: &Facts) -> Vec<Untold> {
    if !facts.names.reasons_by_place {
        return vec![];
    }
    [no_memory(facts), with_a_wrong_checksum(facts)]
        .into_iter()
        .flatten()
        .collect()
}

/// Namespaces in which one rose, and by how much.
fn rises<'f>(facts: &'f Facts, name: &'static str) -> impl Iterator<Item = (&'f CounterRow, u64)> {
    let of = facts.counters.iter().filter(move |c| c.name == name);
    of.filter_map(|c| Some((c, c.rise().filter(|n| *n > 0)?)))
}

fn with_a_wrong_checksum(facts: &Facts) -> Option<Untold> {
    let rose: u64 = rises(facts, DAMAGED).map(|(_, n)| n).fold(0, u64::saturating_add);
    let told = facts
        .drops
        .iter()
        .any(|d| d.expected == Some(false) && d.why == CHECKSUM);
    if rose < LEAST || told {
        return None;
    }
    // To the namespaces in which they came.
    let there =
        |to: IpAddr| rises(facts, DAMAGED).any(|(c, _)| c.netns.is_some() && c.netns == facts.spaces.of_address(to));
    let mut by: BTreeMap<(IpAddr, IpAddr), u64> = BTreeMap::new();
    for r in &facts.retransmits {
        let row = r.connection.and_then(|c| facts.connections.get(c.0 as usize));
        let way = row.and_then(|row| Some((row.daddr?.to_canonical(), row.saddr?.to_canonical())));
        if let Some(way) = way.filter(|(to, _)| there(*to)) {
            *by.entry(way).or_default() += u64::from(r.segments.unwrap_or(1));
        }
    }
    let again = by.values().fold(0u64, |sum, n| sum.saturating_add(*n));
    let (few, many) = (again.min(rose) as f64, again.max(rose) as f64);
    Some(Untold {
        counter: DAMAGED,
        rose,
        says: CHECKSUM.to_owned(),
        told: true,
        damaged: (few >= ALIKE * many)
            .then(|| damaged::between(facts, &by, again))
            .flatten(),
    })
}

/// What the counters beside it leave of its causes: `tcp_try_rmem_schedule` refuses a segment in sequence because of the socket's own buffer, of which alone, each time, RcvPruned is
/// counted (of segments out of sequence as well: TCPOFODrop), or because of the memory of all TCP sockets or of a cgroup, or for want of pages.
fn no_memory(facts: &Facts) -> Option<Untold> {
    let counter = |name| rises(facts, name).map(|(_, n)| n).fold(0, u64::saturating_add);
    let rose = counter(NO_MEMORY);
    if rose == 0 {
        return None;
    }
    let most = counter("TcpExtRcvPruned").min(rose);
    let least = counter("TcpExtRcvPruned")
        .saturating_sub(counter("TcpExtTCPOFODrop"))
        .min(rose);
    let netns = rises(facts, NO_MEMORY)
        .max_by_key(|(_, n)| *n)
        .and_then(|(c, _)| c.netns);
    let pressed = || memory::pressed(facts, memory::holder(facts, netns));
    let (says, told) = if least as f64 >= MOSTLY * rose as f64 {
        let of = if least < rose {
            format!(" for {least} of them at least")
        } else {
            String::new()
        };
        (format!("{OWN_BUFFER}{of}, by the kernel's counter RcvPruned"), true)
    } else if let Some(pressed) = pressed().filter(|_| (most as f64) < MOSTLY * rose as f64) {
        let own = match most {
            0 => String::new(),
            n => format!(", and for up to {n} of them {OWN_BUFFER} (RcvPruned)"),
        };
        (format!("{pressed}{own}"), true)
    } else {
        (OPEN.to_owned(), false)
    };
    Some(Untold {
        counter: NO_MEMORY,
        rose,
        says,
        told,
        damaged: None,
    })
}

#[cfg(test)]
mod tests;
