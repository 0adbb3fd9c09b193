//! Questions that came to a socket that nobody read, while the one that answers them was still there: two sockets are bound to one port.
//!
//! ```text
//! asked   answered by S ─── S ─── S │ T, unread ── T ── T ── T │ S ─── S        T: destroyed, or there until the end
//!                                first_ns                   to_ns
//! ```
//! Needs `udp_turns`, `udp_sockets`; the end of T by the frees of what was in it. Inferred: the kernel gives a datagram to the socket bound last of those that share a port (SO_REUSEADDR), or spreads them
//! (SO_REUSEPORT); net/ipv4/udp.c `udp4_lib_lookup2`. Must not be said where T was ever read, S is not known to be there behind it, or more than a tenth came to S at that time.

use super::who;
use crate::facts::Facts;
use crate::reconstruct::datagrams::tables::{TurnEnd, TurnRow};

/// Fewest questions that came to it, and that were answered before.
const FEWEST: usize = 3;
/// Of those asked meanwhile all but one in so many came to it.
const BUT: usize = 10;

/// The socket that took their port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usurped {
    /// `task/thread` of the socket that answered before.
    pub whose: String,
    /// When the first datagram came to the other one, ns since the start of the recording.
    pub from_ns: i64,
    /// When that was destroyed; `None`: not in the recording.
    pub to_ns: Option<i64>,
    /// Questions that were answered before it came, and after it was destroyed.
    pub before: u64,
    /// As said.
    pub after: u64,
    /// That came to the first one meanwhile, whatever address of its host was asked.
    pub got: u64,
}

/// Of questions in vain that came to one socket.
pub(super) fn usurped(facts: &Facts, there: Option<u32>, vain: &[&TurnRow]) -> Option<Usurped> {
    let there = there?;
    let of = |n: u32| facts.udp_sockets.get(n as usize);
    let taker = of(there).filter(|s| s.received == 0 && s.sent == 0)?;
    let to = vain.first()?.whither(&facts.udp_sockets)?;
    let (first, last) = (taker.first_arrived_ns?, taker.last_arrived_ns?);
    let asked = facts
        .udp_turns
        .iter()
        .filter(|t| t.whither(&facts.udp_sockets) == Some(to));
    let (mut before, mut after) = (0usize, 0usize);
    let mut whose = None;
    for t in asked.filter(|t| t.there.is_some_and(|n| n != there)) {
        let answered = t.end == TurnEnd::Answered;
        match t.start_ns {
            at if at < first && answered => {
                before += 1;
                whose = t.there;
            }
            at if at > last => after += usize::from(answered),
            _ => {}
        }
    }
    // A process that ended closes none by a call: that it lived is known by what it did later.
    let owner = whose.and_then(of).filter(|s| s.last_ns > last)?;
    let meanwhile = facts.udp_turns.iter().filter(|t| t.there == whose);
    let got = meanwhile.filter(|t| (first..=last).contains(&t.start_ns)).count();
    let many = vain.len() >= FEWEST && before >= FEWEST && got.saturating_mul(BUT) <= vain.len();
    let start = facts.capture.start_ns.unwrap_or(0);
    many.then(|| Usurped {
        whose: who(&owner.task, owner.pid),
        from_ns: first.saturating_sub(start),
        to_ns: taker.destroyed_ns.map(|ns| ns.saturating_sub(start)),
        before: before as u64,
        after: after as u64,
        got: got as u64,
    })
}
