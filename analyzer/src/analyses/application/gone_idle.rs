//! Requests that nothing acknowledged because something on the way had forgotten their idle connections: a firewall, a NAT, a load balancer.
//!
//! Needs `unanswered`, and first requests whose client closed the connection (sent again, never acknowledged), and what `drops::forgotten` needs. Must not take for one: a host that is gone (something came from
//! there on another connection while these tried), loss (busy connections are hit, too), what this host dropped itself.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Unanswered;
use super::left::left;
use crate::analyses::drops::{Forgotten, after_silence};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::tables::ConnectionRow;

/// Places that are looked at: those with most.
const PLACES: usize = 8;

/// Connections to one place that were forgotten.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct GoneIdle {
    /// `address:port`.
    pub to: String,
    /// How long they had been silent.
    #[serde(flatten)]
    pub silence: Forgotten,
}

/// Of the place with most of them.
pub(super) fn gone_idle(facts: &Facts, unanswered: &[Unanswered]) -> Option<GoneIdle> {
    if !facts.gaps.is_empty() {
        return None;
    }
    let lost = facts.drops.iter().filter(|d| d.expected == Some(false));
    let here: FxHashSet<ConnectionId> = lost.filter_map(|d| d.owner?.connection).collect();
    let mut by: BTreeMap<SocketAddr, (FxHashMap<ConnectionId, i64>, i64)> = BTreeMap::new();
    let vain = unanswered
        .iter()
        .filter(|u| u.retransmits > 0 && u.until != "peer_closed");
    let vain = vain.filter_map(|u| {
        let row = facts.connections.get(u.connection as usize)?;
        Some((row, u.send_ns, u.send_ns.saturating_add(u.waited_ns)))
    });
    for (row, sent, until) in vain.chain(given_up(facts)) {
        let to = row.daddr.filter(|_| !here.contains(&row.connection));
        if let Some(to) = to.map(|a| SocketAddr::new(a.to_canonical(), row.dport)) {
            let (first, last) = by.entry(to).or_default();
            first.entry(row.connection).or_insert(sent);
            *last = until.max(*last);
        }
    }
    // Each is looked for in all that was sent and came.
    let mut by: Vec<_> = by.into_iter().collect();
    by.sort_by_key(|(to, (first, _))| (std::cmp::Reverse(first.len()), *to));
    let found = by.into_iter().take(PLACES).filter_map(|(to, (first, until))| {
        let silence = after_silence(facts, &first)?;
        answered_meanwhile(facts, to, &first, until).then(|| GoneIdle {
            to: to.to_string(),
            silence,
        })
    });
    found.max_by_key(|g| g.silence.connections)
}

/// Connections on which nothing was read before their program closed them, whose request was sent again and never acknowledged: when it was sent, and the close.
fn given_up(facts: &Facts) -> impl Iterator<Item = (&ConnectionRow, i64, i64)> {
    let of: FxHashMap<ConnectionId, (i64, i64)> = match facts.tx.iter().any(|t| t.retransmits > 0) {
        false => FxHashMap::default(),
        true => left(facts)
            .into_iter()
            .filter_map(|(c, one)| Some((c, one.given_up()?)))
            .collect(),
    };
    let mut again: FxHashMap<ConnectionId, bool> = FxHashMap::default();
    for t in facts.tx.iter().filter(|t| t.bytes.is_some_and(|n| n > 0)) {
        let Some((c, (sent, _))) = t.connection.and_then(|c| Some((c, of.get(&c)?))) else {
            continue;
        };
        if t.start_ns >= *sent {
            let vain = again.entry(c).or_insert(true);
            *vain &= t.t_ack_ns.is_none() && t.retransmits > 0;
        }
    }
    let vain = again.into_iter().filter(|(_, vain)| *vain);
    vain.filter_map(move |(c, _)| {
        let (sent, until) = of.get(&c).copied()?;
        Some((facts.connections.get(c.0 as usize)?, sent, until))
    })
}

/// Whether something came from this place on another connection while those tried: it is not gone.
fn answered_meanwhile(facts: &Facts, to: SocketAddr, first: &FxHashMap<ConnectionId, i64>, until: i64) -> bool {
    // Behind all their first tries.
    let Some(from) = first.values().max() else { return false };
    let tried = *from..=until;
    let is_other = |c: ConnectionId| {
        let row = facts.connections.get(c.0 as usize);
        let at = row.and_then(|r| r.remote());
        at == Some(to) && !first.contains_key(&c)
    };
    let acked = facts.tx.iter().filter_map(|t| Some((t.connection?, t.t_ack_ns?)));
    let came = facts.rx.iter().filter(|r| r.bytes.is_some_and(|n| n > 0));
    let came = came.filter_map(|r| Some((r.connection?, r.start_ns)));
    acked.chain(came).any(|(c, at)| tried.contains(&at) && is_other(c))
}
