//! Ends that do not believe the same of what their SYNs agreed on: something between them changes the options of SYNs.
//!
//! Needs `negotiated` with both ends. A window is divided by the scale that its own SYN told, and multiplied by the scale that the
//! other end heard: where the two are not the same, every window is read too small, or too large, by a power of two. SACK and
//! timestamps are in use at both ends or at neither.
//! Must not guess: of a connection one end of which is in no list nothing is told. Which machine does it no list tells.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::senders::Sender;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::negotiated::Ends;
use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::tcp::tables::ConnectionRow;

/// Share of its time, and time, ns, for which windows that are read too small must have held a connection to have held up its users:
/// no less than one persist timer of 200 ms.
const HELD: f64 = 0.25;
const HELD_NS: f64 = 200e6;

/// An end, what it and its peers believe of their windows.
#[derive(Debug, Clone, PartialEq)]
pub struct Rescaled {
    /// `10.0.0.1:80` where it serves there, else its address.
    pub at: String,
    /// It accepted the connections: what it heard was a SYN, else a SYN-ACK.
    pub serves: bool,
    /// The peers, in order.
    pub peers: Vec<String>,
    /// Connections whose ends do not believe the same.
    pub connections: u64,
    /// Of so many between the same two whose both ends are known.
    pub of: u64,
    /// Bits by which it multiplies its peers' windows; `None`: it believes that they have no scale.
    pub heard: Option<u8>,
    /// Bits by which they divide them; `None`: they do not.
    pub used: Option<u8>,
    /// Most held of those that it held up.
    pub held: Option<Held>,
}

/// A connection that windows held up which were read too small.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// `saddr:sport > daddr:dport`.
    pub label: String,
    /// Share of the time it was busy.
    pub share: f64,
    /// Median of what was in flight, bytes; `None`: nothing tells.
    pub in_flight: Option<i64>,
    /// Its rate while busy, Mbit/s.
    pub mbit_per_s: Option<f64>,
    /// How many were held so.
    pub connections: u64,
}

impl Rescaled {
    /// Windows are read smaller than they are.
    pub fn smaller(&self) -> bool {
        self.heard.unwrap_or(0) < self.used.unwrap_or(0)
    }

    /// By what they are.
    pub fn times(&self) -> u64 {
        1 << self.heard.unwrap_or(0).abs_diff(self.used.unwrap_or(0)).min(14)
    }
}

/// An option that one end uses and the other does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneSided {
    /// `SACK` or `timestamps`.
    pub option: &'static str,
    /// `saddr:sport > daddr:dport` of the end that uses it, of the first connection.
    pub label: String,
    /// Connections of which that is so.
    pub connections: u64,
}

/// Both, of all connections.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Disagreed {
    /// Those held up first, then those of most connections.
    pub windows: Vec<Rescaled>,
    /// One for each option.
    pub options: Vec<OneSided>,
}

/// By what ends are grouped: address, its port where it serves, and the two scales.
type Key = (IpAddr, u16, Option<u8>, Option<u8>);

fn scales(e: &Ends) -> (Option<u8>, Option<u8>) {
    let heard = e.own.window_scaling.then_some(e.own.snd_wscale);
    let used = e.peer.window_scaling.then_some(e.peer.rcv_wscale);
    (heard, used)
}

fn key(c: &ConnectionRow, e: &Ends) -> Option<Key> {
    let port = match c.role().0 {
        Role::Server => c.sport,
        Role::Client => 0,
    };
    let (heard, used) = scales(e);
    Some((c.saddr?, port, heard, used))
}

pub(super) fn disagreed(facts: &Facts, senders: &[Sender]) -> Disagreed {
    let both = |c: &ConnectionRow| facts.negotiated.get(&c.connection)?.ends;
    let known: Vec<(&ConnectionRow, Ends)> = facts.connections.iter().filter_map(|c| Some((c, both(c)?))).collect();
    let mut groups: BTreeMap<Key, Vec<&ConnectionRow>> = BTreeMap::new();
    for (c, e) in &known {
        let (heard, used) = scales(e);
        // No scale and a scale of 0 are one to who reads windows.
        if let Some(key) = key(c, e).filter(|_| heard.unwrap_or(0) != used.unwrap_or(0)) {
            groups.entry(key).or_default().push(c);
        }
    }
    let mut windows: Vec<Rescaled> = groups
        .into_iter()
        .map(|(key, of)| rescaled(key, &of, &known, senders))
        .collect();
    let held = |r: &Rescaled| r.held.as_ref().map_or(0, |h| h.connections);
    windows.sort_by_key(|r| std::cmp::Reverse((held(r), r.smaller(), r.connections)));
    let one_sided = |option, has: &dyn Fn(&Ends) -> (bool, bool)| {
        let of: Vec<&ConnectionRow> = known
            .iter()
            .filter(|(_, e)| has(e) == (true, false))
            .map(|k| k.0)
            .collect();
        Some(OneSided {
            option,
            label: crate::analyses::tcp::label(of.first()?),
            connections: of.len() as u64,
        })
    };
    let sack = one_sided("SACK", &|e| (e.own.sack, e.peer.sack));
    let timestamps = one_sided("timestamps", &|e| (e.own.timestamps, e.peer.timestamps));
    Disagreed {
        windows,
        options: sack.into_iter().chain(timestamps).collect(),
    }
}

fn rescaled(key: Key, of: &[&ConnectionRow], known: &[(&ConnectionRow, Ends)], senders: &[Sender]) -> Rescaled {
    let (address, port, heard, used) = key;
    let peers: BTreeSet<IpAddr> = of.iter().filter_map(|c| c.daddr).collect();
    let between = |c: &ConnectionRow, e: &Ends| {
        let same = self::key(c, e).is_some_and(|k| (k.0, k.1) == (address, port));
        same && c.daddr.is_some_and(|d| peers.contains(&d))
    };
    let numbers: BTreeSet<ConnectionId> = of.iter().map(|c| c.connection).collect();
    let mut r = Rescaled {
        at: match port {
            0 => address.to_string(),
            port => std::net::SocketAddr::new(address, port).to_string(),
        },
        serves: port != 0,
        peers: peers.iter().map(IpAddr::to_string).collect(),
        connections: of.len() as u64,
        of: known.iter().filter(|(c, e)| between(c, e)).count() as u64,
        heard,
        used,
        held: None,
    };
    if r.smaller() {
        let of = senders.iter().filter(|s| numbers.contains(&ConnectionId(s.connection)));
        r.held = held(of);
    }
    r
}

/// Share of its time, and time, ns, for which its peer's window held a sender.
fn by_window(s: &Sender) -> Option<(f64, f64)> {
    let (_, share) = *s.limiters.iter().find(|l| l.0 == "rwnd")?;
    let busy_ns = s.bytes as f64 * 8e3 / s.mbit_per_s.filter(|r| *r > 0.0)?;
    Some((share, share * busy_ns))
}

fn held<'s>(senders: impl Iterator<Item = &'s Sender>) -> Option<Held> {
    let long = senders.filter_map(|s| {
        let (share, ns) = by_window(s).filter(|(share, ns)| *share >= HELD && *ns >= HELD_NS)?;
        Some((ns, share, s))
    });
    let long: Vec<(f64, f64, &Sender)> = long.collect();
    let (_, share, s) = long
        .iter()
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.2.connection.cmp(&a.2.connection)))?;
    Some(Held {
        label: s.label.clone(),
        share: *share,
        in_flight: s.flight.map(|f| f.bytes),
        mbit_per_s: s.mbit_per_s,
        connections: long.len() as u64,
    })
}
