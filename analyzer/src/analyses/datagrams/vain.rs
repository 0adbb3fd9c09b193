//! Turns whose thread waited in vain for what came of them.

use super::{OPEN_NS, WAIT_NS, untold};
use crate::facts::Facts;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::{Awaited, TurnEnd, TurnRow};

/// Whether its thread waited in vain for what came of it.
pub(super) fn in_vain(t: &TurnRow, s: &SocketRow) -> bool {
    let awaited = match t.awaited {
        Awaited::Poll | Awaited::Several => true,
        // A server waits in receive calls, too: not one that connects, or sends again, or gives its socket up.
        Awaited::Receive => s.connected || t.gave_up || t.end == TurnEnd::AskedAgain,
        Awaited::Perhaps | Awaited::No => false,
    };
    let least = match t.end {
        TurnEnd::AskedAgain | TurnEnd::Closed => WAIT_NS,
        TurnEnd::RecordingEnd => OPEN_NS,
        _ => return false,
    };
    awaited && !s.served && t.ready_ns.is_none() && t.waited_ns >= least
}

/// All that surely are such.
pub(crate) fn turns_in_vain(facts: &Facts) -> impl Iterator<Item = &TurnRow> {
    let told = untold(facts).is_none();
    facts.udp_turns.iter().filter(move |t| {
        let socket = facts.udp_sockets.get(t.socket as usize);
        told && t.confidence.is_solid() && socket.is_some_and(|s| in_vain(t, s))
    })
}
