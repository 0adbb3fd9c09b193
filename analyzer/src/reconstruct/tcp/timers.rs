//! Which timer sent again, on kernels whose events do not tell congestion states (before Linux 5.19), where the kernel's counters leave one cause.
//!
//! In: retransmissions that were guessed, counters of each namespace. Out: the same, named. What sends again in a run of the timers' softirq is a timeout, a loss probe, or the
//! reordering timer of RACK (net/ipv4/tcp_timer.c `tcp_write_timer_handler`), and the kernel counts each:
//!
//! ```text
//! tcp_send_loss_probe                            TCPLossProbes                       did not rise: there was no probe
//! tcp_rack_reo_timeout, ACKs: recovery           TCPFastRetrans, TCPSlowStartRetrans rose by no more than ACKs sent again: there was no such timer
//! tcp_retransmit_timer                           TCPTimeouts                         rose by as many as are left, or more: timeouts
//! ```
//! TCPTimeouts alone says nothing: the timers of SYN-ACKs count there, too (`tcp_syn_ack_timeout`), whether they send or not; timers that a socket's owner runs for it, timeouts
//! that sent nothing (some are in no counter: no route any more) and what came between a reading and the recording.

use rustc_hash::FxHashMap;

use super::tables::{RetransmitClass, RetransmitRow};
use super::tracker::Tcp;
use crate::confidence::Confidence;
use crate::counters::tables::{CounterRow, read_everywhere};
use crate::facts::ConnectionId;
use crate::snapshots::spaces::Spaces;

const TIMEOUTS: &str = "TcpExtTCPTimeouts";
const PROBES: &str = "TcpExtTCPLossProbes";
/// What `tcp_xmit_retransmit_queue` counts of each segment that it sends again.
const RECOVERY: [&str; 2] = ["TcpExtTCPFastRetrans", "TcpExtTCPSlowStartRetrans"];
/// Counted beside it where the timer ran out and sent nothing: the connection was given up, or the segment refused, or still in a queue of this host
/// (net/ipv4/tcp_output.c `skb_still_in_host_queue`).
const SENT_NOTHING: [&str; 3] = [
    "TcpExtTCPAbortOnTimeout",
    "TcpExtTCPRetransFail",
    "TcpExtTCPSpuriousRtxHostQueues",
];

/// A retransmission, for this question.
#[derive(Debug, Clone, Copy)]
pub(super) struct Again {
    pub class: RetransmitClass,
    /// Of a SYN-ACK.
    pub synack: bool,
    /// Segments, one at least.
    pub segments: u64,
    /// Namespace; `None`: not known.
    pub place: Option<u64>,
}

impl Tcp {
    /// Names the guessed probes of namespaces in which every one was a timeout.
    pub fn timers_by_counters(&mut self, counters: &[CounterRow], spaces: impl FnOnce() -> Spaces) {
        // What was lost to the recording was counted, too.
        if self.has_cong || self.retransmits.is_empty() || self.era > 0 || !read_everywhere(counters) {
            return;
        }
        let (spaces, all) = (spaces(), &self.sockets.all);
        let of = |c: ConnectionId| spaces.of_address(all.get(c.0 as usize)?.row.saddr?);
        let again = |r: &RetransmitRow| Again {
            class: r.class,
            synack: r.synack.is_some(),
            segments: r.segments.unwrap_or(1).max(1).into(),
            place: r.connection.and_then(of),
        };
        let rows: Vec<Again> = self.retransmits.iter().map(again).collect();
        for (at, confidence) in by_counters(&rows, counters) {
            if let Some(r) = self.retransmits.get_mut(at) {
                (r.class, r.confidence) = (RetransmitClass::Rto, confidence);
            }
        }
    }
}

/// What a namespace's rows say.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    /// Sent by timers, of SYNs too.
    timers: u64,
    /// Segments that nothing but recovery sent.
    recovery: u64,
}

/// Those that were timeouts, and how sure that is.
pub(super) fn by_counters(rows: &[Again], counters: &[CounterRow]) -> Vec<(usize, Confidence)> {
    let guessed = |class: RetransmitClass| matches!(class, RetransmitClass::Tlp | RetransmitClass::Rto);
    let mut seen: FxHashMap<u64, Seen> = FxHashMap::default();
    for r in rows.iter().filter(|r| !r.synack) {
        let timer = guessed(r.class) || r.class == RetransmitClass::Syn;
        match r.place {
            Some(netns) => {
                let of = seen.entry(netns).or_default();
                of.timers += u64::from(timer);
                // What is unknown may be a timeout that a socket's owner ran.
                of.recovery += r.segments * u64::from(!timer && r.class != RetransmitClass::Unknown);
            }
            // It may be of any.
            None if timer => return vec![],
            None => {}
        }
    }
    // One that is 0 has no row; `None`: it was not read at both ends.
    let rise = |netns: u64, name: &str| {
        let of = counters.iter().find(|c| c.netns == Some(netns) && c.name == name);
        of.map_or(Some(0), CounterRow::rise)
    };
    let sum = |netns: u64, names: &[&str]| names.iter().try_fold(0u64, |n, name| n.checked_add(rise(netns, name)?));
    let label = |netns: u64, of: Seen| {
        let sent = rise(netns, TIMEOUTS)?.checked_sub(sum(netns, &SENT_NOTHING)?)?;
        if rise(netns, PROBES)? > 0 || sent < of.timers {
            return None;
        }
        Some(match sum(netns, &RECOVERY)? <= of.recovery {
            true => Confidence::Strong,
            false => Confidence::Weak,
        })
    };
    let labels: FxHashMap<u64, Confidence> = (seen.iter())
        .filter_map(|(netns, of)| Some((*netns, label(*netns, *of)?)))
        .collect();
    let all = rows.iter().enumerate().filter(|(_, r)| guessed(r.class) && !r.synack);
    all.filter_map(|(at, r)| Some((at, *labels.get(&r.place?)?))).collect()
}
