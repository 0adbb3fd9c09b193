//! RSTs by which a peer's kernel says that its program closed a connection with data unread.
//!
//! Needs `resets` with their reasons, `connections` of both ends. net/ipv4/tcp.c `__tcp_close`: what was received and not read makes
//! the close a RST, and who sends still gets ECONNRESET, whatever answer lies before it.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::opens::tables::{End, ResetRow, Sender};
use crate::reconstruct::tcp::role::Role;
use crate::stat::nearest_rank;

/// The kernel's word for it.
const REASON: &str = "TCP_ABORT_ON_CLOSE";
/// From the event of the close to the arrival of its RST, at least and at most, ns. The kernel writes the event when the RST has been sent
/// (net/ipv4/tcp_output.c `tcp_send_active_reset`), so on a veth or the loopback it has come before.
const ARRIVES_NS: std::ops::RangeInclusive<i64> = -5_000_000..=1_000_000_000;

/// Of the RSTs of a group.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Aborted {
    /// Task that closed them; empty: several, or not known.
    pub by: String,
    /// How many.
    pub count: u64,
    /// The kernel does not say why these RSTs were sent.
    pub inferred: bool,
    /// All of them had accepted these connections.
    pub server: bool,
    /// What it had sent on each, median, bytes.
    pub answered_bytes: i64,
    /// What it had got and not read, median of those of which both are known, bytes.
    pub unread_bytes: Option<i64>,
}

/// The peers' closes, by the ends of the one that gets the RST: when, and the peer's socket.
pub(super) struct Closes(FxHashMap<(End, End), (i64, ConnectionId)>);

impl Closes {
    pub(super) fn of(facts: &Facts) -> Closes {
        let closes = facts
            .resets
            .iter()
            .filter(|r| !r.received && r.reason.ends_with(REASON));
        let of = closes.filter_map(|r| Some(((r.to?, r.from?), (r.time_ns, r.connection?))));
        Closes(of.collect())
    }
    /// The peer's socket, where the RST that came is of its close.
    pub(super) fn peer(&self, r: &ResetRow) -> Option<ConnectionId> {
        let (at, peer) = self.0.get(&(r.from?, r.to?))?;
        let soon = ARRIVES_NS.contains(&r.time_ns.saturating_sub(*at));
        (r.received && r.sender == Sender::Peer && soon).then_some(*peer)
    }
}

/// What is said of these peers' sockets.
pub(super) fn told(facts: &Facts, peers: &[ConnectionId]) -> Option<Aborted> {
    let rows = || peers.iter().filter_map(|c| facts.connections.get(c.0 as usize));
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let mut answered: Vec<i64> = rows().map(|c| signed(c.bytes_out)).collect();
    let mut unread: Vec<i64> = rows()
        .filter_map(|c| Some(signed(c.bytes_in.saturating_sub(c.bytes_read?))))
        .collect();
    let by: BTreeSet<Name> = rows().map(|c| c.task).filter(|t| !t.is_empty()).collect();
    Some(Aborted {
        by: by
            .first()
            .filter(|_| by.len() == 1)
            .map_or_else(String::new, |t| t.text().into_owned()),
        server: rows().all(|c| c.role().0 == Role::Server),
        count: peers.len() as u64,
        inferred: facts.names.reset_reasons_inferred,
        answered_bytes: nearest_rank(&mut answered, 50)?,
        unread_bytes: nearest_rank(&mut unread, 50),
    })
}
