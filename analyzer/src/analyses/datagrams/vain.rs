//! Datagrams to which nothing came while their thread waited: which these are, and what is told of them.

use super::beside::Beside;
use super::beyond::Beyond;
use super::meanwhile::Pause;
use super::onward::Onward;
use super::usurped::Usurped;
use super::{OPEN_NS, WAIT_NS, untold};
use crate::explain::Id;
use crate::facts::Facts;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::{Awaited, TurnEnd, TurnRow};
use crate::stat::Distribution;

/// Datagrams of a process to which nothing came while the threads that sent them waited.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct InVain {
    /// `task/thread` that sent; `task/process` of several threads, `task` of several processes.
    pub task: String,
    /// Processes.
    pub processes: u64,
    /// Threads.
    pub threads: u64,
    /// Where they were sent to; where that is not known, where they came to, or the peer of its socket; empty: not recorded.
    pub to: String,
    /// Where they came to, if that is another address than they were sent to: translated on the way (inferred); empty: the same, or not known.
    pub came_to: String,
    /// The socket of this recording to which they came, place in `udp_sockets`.
    pub socket: Option<u32>,
    /// `task/process` that holds or `task/thread` that reads it; empty: not known.
    pub holder: String,
    /// What ties that socket to its address: `port`, `task`, `queue`; empty: it has none.
    pub named_by: &'static str,
    /// Datagrams that got no answer.
    pub sends: u64,
    /// All that these threads sent there.
    pub of: u64,
    /// Of them, those that seem to have had no answer, too, less certainly: not among `sends`.
    pub less_certain: u64,
    /// Turns that they are.
    pub turns: u64,
    /// Time that the thread waited in each.
    pub waited: Distribution,
    /// The call in which it waited longest.
    pub waited_in: String,
    /// Turns that were still waiting when the recording ended.
    pub open: u64,
    /// Datagrams that came to a socket of this recording.
    pub landed: u64,
    /// Of them, those not read when it ended, or their socket was destroyed.
    pub unread: u64,
    /// Turns that were answered by who read them, while they waited, by a datagram that no socket took; inferred.
    pub untaken: u64,
    /// Turns after which it asked again at once, and of these such that were answered.
    pub again: u64,
    /// As said.
    pub again_answered: u64,
    /// Of them, those that were waited for in vain, too; of others it is not known.
    #[serde(skip)]
    pub again_in_vain: u64,
    /// The longest of these answers, ns.
    pub again_longest_ns: Option<i64>,
    /// Where the first of these went, when all went to one place that is known.
    pub again_to: String,
    /// Nearly all of them right behind another question that was answered.
    pub beside: Option<Beside>,
    /// What those who read them sent on for them in vain, step by step.
    pub onward: Vec<Onward>,
    /// Where nothing ties what these asked to these: whom they asked in vain meanwhile, and not before; inferred.
    #[serde(skip)]
    pub beyond: Option<Beyond>,
    /// They came to a socket that nobody read, beside the one that answers them; inferred.
    #[serde(skip)]
    pub usurped: Option<Usurped>,
    /// When the socket to which they came was destroyed with them, ns since the start of the recording.
    #[serde(skip)]
    pub left_ns: Option<i64>,
    /// Turns of programs of its name there that were answered before the first of these, where a good part of those behind it is in vain.
    #[serde(skip)]
    pub answered_before: u64,
    /// Begin of the first of these, ns since the start of the recording.
    #[serde(skip)]
    pub since_ns: i64,
    /// Meanwhile its process opened no connection, for far longer than usual; inferred.
    pub pause: Option<Pause>,
    /// The first of these turns.
    pub first: Option<Id>,
    /// Its begin.
    pub first_ns: i64,
    /// Its packet, as in `tx`.
    pub skb_id: Option<u32>,
}

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
    awaited && !s.served && !t.reply && t.ready_ns.is_none() && t.waited_ns >= least
}

/// All that surely are such.
pub(crate) fn turns_in_vain(facts: &Facts) -> impl Iterator<Item = &TurnRow> {
    let told = untold(facts).is_none();
    facts.udp_turns.iter().filter(move |t| {
        let socket = facts.udp_sockets.get(t.socket as usize);
        told && t.confidence.is_solid() && socket.is_some_and(|s| in_vain(t, s))
    })
}
