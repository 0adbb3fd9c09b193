//! Did the way to a remote host get longer? Round trips by remote address: when connections were answered, segments acknowledged and
//! requests answered, over time, and whether their least times rose or fell together.
//!
//! Needs the views `opens`, `tx`, `responses`, `connections`, `rx`, `xmits`. A handshake is answered by a kernel: no program is in it. An ACK is
//! an upper bound: it may wait for the delayed-ACK timer (40 ms on Linux) or ride on the answer of a program; so of a window of time the least is
//! taken. That both rose together is measured; that it is the way, or the remote kernel, and not this host, is inferred.
//!
//! ```text
//! samples of a host by when they were sent -> windows (samples.rs, levels.rs): the least of each
//!   low low low | high high high          rose          both sides: handshakes, ACKs, answers, own bytes in flight, this host's own part (change.rs)
//!   low | high high | low                 spell         other hosts in the same times: did they change, too?
//! ```
//! Limits: the two directions are not told apart, nor the way from the remote kernel and card. A flow that begins or ends is no change of the way: a connection
//! (else a remote port, or handshakes) must have been slow and not slow.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::explain::Id;
use crate::facts::Facts;

mod change;
mod filled;
mod levels;
mod samples;
#[cfg(test)]
mod tests;

pub use change::{Change, Evidence, Kind, Own, Sides};
pub use filled::{Direction, Filled};
pub use levels::Window;
pub(in crate::analyses) use levels::{Level, level};

use change::Beside;
use samples::{Of, Samples};

/// Hosts kept: those with most round trips.
pub const HOSTS: usize = 20;

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Paths {
    /// Remote hosts, most round trips first.
    pub hosts: Vec<Host>,
    /// Remote hosts left out.
    pub others: u64,
    /// A queue beyond this host that some connections fill and others wait in.
    pub filled: Option<Filled>,
    /// Start of the recording, ns.
    #[serde(skip)]
    pub start_ns: i64,
}

/// Round trips to a remote address.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Host {
    /// Address.
    pub host: String,
    /// It is a local address of a socket in the recording, or leads to one.
    pub recorded: bool,
    /// `connect` to established, of attempts that sent no SYN again.
    pub handshakes: Times,
    /// Device to ACK, of certain and strong segments sent once.
    pub acks: Times,
    /// Send to first byte of the answer readable.
    pub answers: Times,
    /// The longest of the handshakes and ACKs.
    pub worst: Option<Id>,
    /// Handshakes and ACKs by when they were sent.
    pub windows: Vec<Window>,
    /// When they rose or fell.
    pub change: Option<Change>,
}

/// Some times, summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Times {
    /// How many.
    pub n: u64,
    /// The least, ns.
    pub min_ns: Option<i64>,
    /// The median, ns.
    pub p50_ns: Option<i64>,
}

impl Times {
    fn of(mut all: Vec<i64>) -> Times {
        Times {
            n: all.len() as u64,
            min_ns: all.iter().min().copied(),
            p50_ns: crate::stat::nearest_rank(&mut all, 50),
        }
    }
}

/// Asks.
pub fn answer(facts: &Facts) -> Paths {
    // Addresses of sockets in the recording, and those that stand for such (NAT, a service's address).
    let inside: BTreeSet<IpAddr> = facts
        .connections
        .iter()
        .flat_map(|c| [c.saddr, c.daddr.filter(|_| c.peer.is_some())])
        .flatten()
        .map(|a| a.to_canonical())
        .collect();
    let (all, others) = samples::by_host(facts, HOSTS);
    let mut hosts: Vec<Host> = all
        .iter()
        .map(|(ip, s)| Host {
            host: ip.to_string(),
            recorded: inside.contains(ip),
            handshakes: s.times(Of::Handshake),
            acks: s.times(Of::Ack),
            answers: Times::of(s.answers.iter().map(|a| a.ns).collect()),
            worst: s.worst(),
            windows: levels::windows(&s.trips),
            change: None,
        })
        .collect();
    let end = facts.capture.end_ns.unwrap_or(i64::MAX);
    for (nth, (_, s)) in all.iter().enumerate() {
        let Some(host) = hosts.get(nth) else { continue };
        let found =
            levels::level(&host.windows, levels::LONGER_NS).and_then(|l| change::change(s, &host.windows, &l, end));
        let found = found.map(|mut c| {
            c.beside(beside(&all, nth, &c, &hosts, end));
            c
        });
        if let Some(host) = hosts.get_mut(nth) {
            host.change = found;
        }
    }
    Paths {
        hosts,
        others,
        filled: filled::answer(facts, &all, &inside),
        start_ns: facts.capture.start_ns.unwrap_or(0),
    }
}

/// What other hosts did in the times of a change.
fn beside(all: &[(IpAddr, Samples)], nth: usize, c: &Change, hosts: &[Host], end_ns: i64) -> Beside {
    let mut of = Beside::default();
    let here = hosts.get(nth).is_some_and(|h| h.recorded);
    for (other, (ip, s)) in all.iter().enumerate() {
        // A way inside the recorded host is no witness of one outside.
        if other == nth || hosts.get(other).is_some_and(|h| h.recorded != here) {
            continue;
        }
        let seen = c.seen_by(s);
        of.loaded |= seen != Some(false) && c.loaded(s, end_ns);
        match seen {
            Some(true) => of.also.push(ip.to_string()),
            Some(false) => of.not.push(ip.to_string()),
            None => {}
        }
    }
    of
}
