//! Connections whose congestion window was reduced for ECN's marks (RFC 3168), not for loss.
//!
//! Needs `tcp_states`, `retransmits`, and a witness of the marks: the kernel's counters of packets that came with the CE mark in a namespace of
//! this recording, or `tcpi_delivered_ce` of the socket, which is asked first: it is of this connection alone. The counters must tell of at least
//! as many as the windows of all such connections were reduced: state CWR is set for a queue of this host that was full, too
//! (net/ipv4/tcp_input.c `tcp_enter_cwr`).

use rustc_hash::FxHashMap;

use super::senders::Sender;
use crate::facts::{ConnectionId, Facts};

/// CWR, Recovery (`enum tcp_ca_state`).
const CWR: i32 = 2;
const RECOVERY: i32 = 3;
/// Fewest reductions that are told.
const LEAST: u64 = 2;

/// What marks did to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Marked {
    /// Its congestion window was reduced so often (state CWR).
    pub reductions: u64,
    /// Packets of whatever flow with the CE mark that came to the namespaces recorded (IpExtInCEPkts, Ip6InCEPkts); `None`: not told.
    pub came: Option<u64>,
    /// Segments whose ACKs told of a mark, since the connection was opened; `None`: in no list of sockets.
    pub delivered_ce: Option<u32>,
}

/// How often which window was reduced without a loss, and what the kernel counted.
pub(super) struct Reductions {
    by: FxHashMap<ConnectionId, u64>,
    /// Those of all connections.
    all: u64,
    came: Option<u64>,
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
        let marks = |name: &str| matches!(name, "IpExtInCEPkts" | "Ip6InCEPkts");
        let came = facts
            .counters
            .iter()
            .filter(|r| marks(&r.name))
            .filter_map(|r| r.rise());
        let by: FxHashMap<ConnectionId, u64> = by.into_iter().filter_map(calm).collect();
        Reductions {
            all: by.values().fold(0, |sum, n| sum.saturating_add(*n)),
            by,
            came: came.reduce(u64::saturating_add),
        }
    }
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
    })
}
