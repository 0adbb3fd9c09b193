//! What came to a socket, was read there, or refused.

use std::collections::VecDeque;

use super::calls::Use;
use super::tables::TurnEnd;
use super::tracker::{MSG_ERRQUEUE, Machine};
use crate::ingest::Event;
use crate::reconstruct::tcp::MSG_PEEK;

/// ENETUNREACH, ECONNREFUSED, EHOSTUNREACH: what an ICMP message makes of a call on a connected socket.
const REFUSED: [i32; 3] = [101, 111, 113];
/// Arrivals of a socket that are remembered.
const ARRIVALS: usize = 65_536;

impl Machine<'_> {
    pub(super) fn refused(&mut self, e: &Event<'_>, n: u32, ret: i32) {
        let error = ret.wrapping_neg();
        let Some(at) = self.last.get(&n).copied().filter(|_| REFUSED.contains(&error)) else {
            return;
        };
        if let Some(t) = self.turns.get_mut(at).filter(|t| t.open) {
            t.row.error = Some(error);
        }
        self.end(at, TurnEnd::Refused, e.ts);
    }
    pub(super) fn read(&mut self, e: &Event<'_>, sk: u64, ret: i32, flags: i32) {
        let (n, _) = self.used(e, sk, Use::Receive);
        if flags & (MSG_PEEK | MSG_ERRQUEUE) != 0 {
            return;
        }
        if ret < 0 {
            self.refused(e, n, ret);
            return;
        }
        let arrived = self.queues.get_mut(&n).and_then(VecDeque::pop_front);
        self.took(e, n, arrived);
    }
    /// A datagram was read on a socket, which had come then.
    pub(super) fn took(&mut self, e: &Event<'_>, n: u32, arrived: Option<i64>) {
        if let Some(s) = self.sockets.get_mut(n as usize) {
            s.received += 1;
        }
        let Some(at) = self.last.get(&n).copied() else { return };
        let Some(t) = self.turns.get_mut(at) else { return };
        // What had come before it was sent is no answer to it.
        if arrived.is_some_and(|a| a < t.row.start_ns) {
            return;
        }
        t.row.reads += 1;
        t.row.last_read_ns = Some(e.ts);
        if t.open {
            t.row.read_ns = Some(e.ts);
            // By calls it is only known when it was not there yet.
            if self.untold.is_none() {
                t.row.ready_ns = t.row.ready_ns.or(arrived);
            }
            if t.one_ns > 0 {
                self.polled.insert(n, ());
            }
            self.end(at, TurnEnd::Answered, e.ts);
        }
    }
    pub(super) fn arrived(&mut self, e: &Event<'_>, sk: u64) {
        self.now = e.ts;
        let n = self.socket(e, sk);
        let Some(s) = self.sockets.get_mut(n as usize) else {
            return;
        };
        s.came(e.ts);
        let queue = self.queues.entry(n).or_default();
        if queue.len() < ARRIVALS {
            queue.push_back(e.ts);
        }
        let turn = self.last.get(&n).and_then(|at| self.turns.get_mut(*at));
        if let Some(t) = turn.filter(|t| t.open) {
            t.row.ready_ns = t.row.ready_ns.or(Some(e.ts));
        }
    }
}
