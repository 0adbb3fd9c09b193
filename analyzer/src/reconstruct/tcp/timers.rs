//! Which timer sent again, on kernels whose events do not tell congestion states (before Linux 5.19), where the kernel's counters leave one cause.
//!
//! In: retransmissions that were guessed, counters of each namespace. Out: the same, named. `TCPTimeouts` counts each run of the retransmission timer (net/ipv4/tcp_timer.c
//! `tcp_retransmit_timer`), SYNs' too, and no loss probe: where it rose by as many as a namespace's timers sent segments again, none of these was a probe.

use rustc_hash::FxHashMap;

use super::tables::{RetransmitClass, RetransmitRow};
use super::tracker::Tcp;
use crate::confidence::Confidence;
use crate::counters::tables::{CounterRow, read_everywhere};
use crate::facts::ConnectionId;
use crate::snapshots::spaces::Spaces;

const TIMEOUTS: &str = "TcpExtTCPTimeouts";
/// Counted beside it where the timer ran out and sent nothing: the connection was given up, or the segment refused, or still in a queue of this host
/// (net/ipv4/tcp_output.c `skb_still_in_host_queue`).
const SENT_NOTHING: [&str; 3] = [
    "TcpExtTCPAbortOnTimeout",
    "TcpExtTCPRetransFail",
    "TcpExtTCPSpuriousRtxHostQueues",
];

impl Tcp {
    /// Names the guessed probes of namespaces in which every one was a timeout.
    pub fn timers_by_counters(&mut self, counters: &[CounterRow], spaces: impl FnOnce() -> Spaces) {
        // What was lost to the recording was counted, too.
        if self.has_cong || self.retransmits.is_empty() || self.era > 0 || !read_everywhere(counters) {
            return;
        }
        let (spaces, all) = (spaces(), &self.sockets.all);
        let of = |c: ConnectionId| spaces.of_address(all.get(c.0 as usize)?.row.saddr?);
        let places: Vec<Option<u64>> = self.retransmits.iter().map(|r| of(r.connection?)).collect();
        // A SYN-ACK's timer is another one.
        let class = |r: &RetransmitRow| match r.synack {
            Some(_) => RetransmitClass::Unknown,
            None => r.class,
        };
        let classes: Vec<RetransmitClass> = self.retransmits.iter().map(class).collect();
        for at in by_counters(&classes, &places, counters) {
            if let Some(r) = self.retransmits.get_mut(at) {
                (r.class, r.confidence) = (RetransmitClass::Rto, Confidence::Strong);
            }
        }
    }
}

/// Those that were timeouts, by class and namespace.
pub(super) fn by_counters(classes: &[RetransmitClass], places: &[Option<u64>], counters: &[CounterRow]) -> Vec<usize> {
    let guessed = |class: &RetransmitClass| matches!(class, RetransmitClass::Tlp | RetransmitClass::Rto);
    let mut timers: FxHashMap<u64, u64> = FxHashMap::default();
    for (class, place) in classes.iter().zip(places) {
        let timer = guessed(class) || *class == RetransmitClass::Syn;
        match place {
            Some(netns) if timer => *timers.entry(*netns).or_default() += 1,
            // It may be of any.
            None if timer => return vec![],
            _ => {}
        }
    }
    let rise = |netns: u64, name: &str| {
        let of = counters.iter().find(|c| c.netns == Some(netns) && c.name == name);
        of.and_then(CounterRow::rise).unwrap_or(0)
    };
    let alone = |netns: u64| SENT_NOTHING.iter().all(|name| rise(netns, name) == 0);
    timers.retain(|netns, n| rise(*netns, TIMEOUTS) == *n && alone(*netns));
    let all = classes.iter().zip(places).enumerate();
    let named = all.filter(|(_, (class, place))| guessed(class) && place.is_some_and(|n| timers.contains_key(&n)));
    named.map(|(at, _)| at).collect()
}
