//! Datagrams that came to a socket twice, and where their copies were made.

use std::collections::BTreeMap;

use super::{GROUPS, holder, who};
use crate::facts::Facts;
use crate::reconstruct::datagrams::sockets::CopyRow;

/// Datagrams that came to a socket twice.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Copied {
    /// The socket to which they came, place in `udp_sockets`.
    pub socket: u32,
    /// `task/thread` that reads it, or `task/process` that holds it; empty: not known.
    pub reader: String,
    /// Its address; empty: not known.
    pub local: String,
    /// Copies that came to it.
    pub copies: u64,
    /// All that came to it.
    pub arrived: u64,
    /// Device in whose queue the copies were first seen.
    pub dev: String,
    /// Made in the sender's own call; else on the way.
    pub in_call: bool,
    /// `task/thread` that sent the datagrams, when it is one; empty: several, or not known.
    pub sender: String,
    /// Datagrams sent on its socket; empty with it, and where events were lost.
    pub sent: Option<u64>,
    /// The first copy, ns.
    pub first_ns: i64,
    /// Its packet, as in `skbs`.
    pub copy: u32,
    /// What it is a copy of.
    pub skb_id: u32,
    /// No events were lost meanwhile that could tell otherwise.
    pub sure: bool,
}

/// By socket and place.
pub(super) fn copied(facts: &Facts) -> Vec<Copied> {
    // A send that is not told leaves a packet of nobody.
    if !facts.gaps.is_empty() {
        return vec![];
    }
    let mut groups: BTreeMap<(u32, String, bool), Vec<&CopyRow>> = BTreeMap::new();
    for c in facts.udp_copies.iter().filter(|c| c.confidence.is_solid()) {
        let key = (c.socket, c.dev.text().into_owned(), c.in_call);
        groups.entry(key).or_default().push(c);
    }
    let group = |((socket, dev, in_call), of): ((u32, String, bool), Vec<&CopyRow>)| {
        let (first, at) = (of.first()?, facts.udp_sockets.get(socket as usize)?);
        let mut turns: Vec<_> = (of.iter())
            .map(|c| c.turn.and_then(|t| facts.udp_turns.get(t as usize)))
            .collect();
        turns.dedup_by_key(|t| t.map(|t| (t.socket, t.pid)));
        let sender = match turns.as_slice() {
            [Some(one)] => Some(*one),
            _ => None,
        };
        let sure = facts.gaps.is_empty();
        let from = sender.and_then(|t| facts.udp_sockets.get(t.socket as usize));
        Some(Copied {
            socket,
            reader: holder(at),
            local: at.local.clone(),
            copies: of.len() as u64,
            arrived: at.arrived,
            dev,
            in_call,
            sender: sender.map_or_else(String::new, |t| who(&t.task, t.pid)),
            sent: from.filter(|_| sure).map(|s| s.sent),
            first_ns: first.time_ns,
            copy: first.copy.0,
            skb_id: first.skb_id.0,
            sure,
        })
    };
    let mut all: Vec<Copied> = groups.into_iter().filter_map(group).collect();
    all.sort_by_key(|c| (std::cmp::Reverse(c.copies), c.first_ns));
    all.truncate(GROUPS);
    all
}
