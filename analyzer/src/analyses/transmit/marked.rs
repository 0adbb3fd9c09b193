//! Connections whose congestion window was reduced for ECN's marks (RFC 3168), not for loss.
//!
//! Needs `tcp_states`, `retransmits`, and a witness of the marks: the kernel's counters of packets that came with the CE mark in a namespace of
//! this recording, or `tcpi_delivered_ce` of the socket, which is asked first: it is of this connection alone. The counters must tell of at least
//! as many as the windows of all such connections were reduced: state CWR is set for a queue of this host that was full, too
//! (net/ipv4/tcp_input.c `tcp_enter_cwr`). Before Linux 5.19 no event tells states: there a window that falls to three quarters within moments, without loss, was reduced
//! (inferred from `tcp_samples`; CUBIC leaves 0.7 of it, Reno 0.5; what a pause takes away comes behind one).

use rustc_hash::{FxHashMap, FxHashSet};

use super::senders::Sender;
use crate::facts::{ConnectionId, Facts};

/// CWR, Recovery (`enum tcp_ca_state`).
const CWR: i32 = 2;
const RECOVERY: i32 = 3;
/// Fewest reductions that are told.
const LEAST: u64 = 2;

/// The event of states.
const STATES: &str = "tcp:tcp_cong_state_set";
/// From one probe to the next of one fall: less than any retransmission timer, behind which a pause shrinks the window.
const AT_ONCE_NS: i64 = 150_000_000;

/// What marks did to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Marked {
    /// Its congestion window was reduced so often (state CWR).
    pub reductions: u64,
    /// Packets of whatever flow with the CE mark that came to the namespaces recorded (IpExtInCEPkts, Ip6InCEPkts); `None`: not told.
    pub came: Option<u64>,
    /// Segments whose ACKs told of a mark, since the connection was opened; `None`: in no list of sockets.
    pub delivered_ce: Option<u32>,
    /// No event tells the states of sockets: reductions are falls of the window.
    #[serde(skip)]
    pub inferred: bool,
}

/// How often which window was reduced without a loss, and what the kernel counted.
pub(super) struct Reductions {
    by: FxHashMap<ConnectionId, u64>,
    /// Those of all connections.
    all: u64,
    came: Option<u64>,
    inferred: bool,
}

impl Reductions {
    pub(super) fn of(facts: &Facts) -> Reductions {
        let mut by: FxHashMap<ConnectionId, (u64, bool)> = FxHashMap::default();
        for s in facts.tcp_states.iter().filter(|s| s.kind == "cong" && s.state >= CWR) {
            let (reduced, lost) = by.entry(s.connection).or_default();
            *reduced += u64::from(s.state == CWR);
            *lost |= s.state >= RECOVERY;
        }
        let calm = |(c, (n, lost)): (ConnectionId, (u64, bool))| {
            let row = facts.connections.get(c.0 as usize)?;
            (!lost && row.retransmits == Some(0)).then_some((c, n))
        };
        let inferred = by.is_empty() && !facts.capture.recorded(STATES);
        let by: FxHashMap<ConnectionId, u64> = match inferred {
            false => by.into_iter().filter_map(calm).collect(),
            true => falls(facts),
        };
        // Who sends is not marked by what comes to it.
        let to = |c: &ConnectionId| facts.spaces.of_address(facts.connections.get(c.0 as usize)?.daddr?);
        let peers: FxHashSet<u64> = by.keys().filter(|_| inferred).filter_map(to).collect();
        let marks = |name: &str| matches!(name, "IpExtInCEPkts" | "Ip6InCEPkts");
        let theirs = |netns: Option<u64>| !inferred || netns.is_some_and(|n| peers.contains(&n));
        let came = facts
            .counters
            .iter()
            .filter(|r| marks(&r.name) && theirs(r.netns))
            .filter_map(|r| r.rise());
        Reductions {
            all: by.values().fold(0, |sum, n| sum.saturating_add(*n)),
            inferred,
            by,
            came: came.reduce(u64::saturating_add),
        }
    }
}

/// How often the window of each connection fell that lost nothing.
fn falls(facts: &Facts) -> FxHashMap<ConnectionId, u64> {
    /// The last probe, and the window from which it falls.
    struct Last {
        ns: i64,
        cwnd: u32,
        from: u32,
        falls: u64,
    }
    let mut by: FxHashMap<ConnectionId, Last> = FxHashMap::default();
    for s in &facts.tcp_samples {
        let (ns, cwnd) = (s.time_ns, s.snd_cwnd);
        let first = Last {
            ns,
            cwnd,
            from: cwnd,
            falls: 0,
        };
        let last = by.entry(s.connection).or_insert(first);
        let fell = |from: u32, cwnd: u32| u64::from(cwnd) * 4 <= u64::from(from) * 3;
        if cwnd > last.cwnd || ns.saturating_sub(last.ns) > AT_ONCE_NS {
            last.from = cwnd;
        } else if fell(last.from, cwnd) && !fell(last.from, last.cwnd) {
            last.falls += 1;
        }
        (last.ns, last.cwnd) = (ns, cwnd);
    }
    let lost_nothing = |c: &ConnectionId| facts.connections.get(c.0 as usize).and_then(|r| r.retransmits) == Some(0);
    // BBR makes its window small by itself, and knows no marks.
    let own = |c: &ConnectionId| facts.negotiated.get(c).and_then(|n| n.own_window()) == Some(true);
    let told = (by.into_iter()).filter(|(c, last)| last.falls > 0 && lost_nothing(c) && !own(c));
    told.map(|(c, last)| (c, last.falls)).collect()
}

pub(super) fn marked(facts: &Facts, s: &Sender, of: &Reductions) -> Option<Marked> {
    let c = ConnectionId(s.connection);
    let reductions = of.by.get(&c).copied().filter(|n| *n >= LEAST)?;
    let delivered_ce = facts.negotiated.get(&c).and_then(|n| n.delivered_ce);
    let witnessed = match delivered_ce {
        Some(n) => u64::from(n) >= reductions,
        None => of.came.is_some_and(|n| n >= of.all),
    };
    let told = witnessed && s.held_by == Some("cwnd");
    told.then_some(Marked {
        reductions,
        came: of.came.filter(|n| *n > 0),
        delivered_ce: delivered_ce.filter(|n| *n > 0),
        inferred: of.inferred,
    })
}
