//! How clients' sockets were left: what was sent and came last on each, and whether it was its program that closed it.
//!
//! Needs `tcp_states`, `tx`, `rx`, `connections`, `resets`. Sources: as of `given_up.rs`.

use rustc_hash::{FxHashMap, FxHashSet};

use super::given_up::LEAST_NS;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::End;
use crate::reconstruct::receive::tables::RxEnd;
use crate::reconstruct::tcp::states::{CLOSE, CLOSE_WAIT, ESTABLISHED, FIN_WAIT1, FIN_WAIT2, SYN_RECV, SYN_SENT};
use crate::reconstruct::transmit::tables::{TxKind, TxStart};

/// Longest time in FIN_WAIT2 of a socket without a program, ns.
const ORPHAN_NS: i64 = 50_000;

/// Bytes of a last message that may be a farewell, behind answers: below this.
const FAREWELL: u64 = 40;

/// A client's socket.
#[derive(Default)]
pub(super) struct One {
    /// When it was connected.
    pub(super) opened: Option<i64>,
    left: Option<(i64, i32)>,
    fin_wait2: Option<i64>,
    orphan: bool,
    /// Begin of its last send, and the bytes of that.
    pub(super) sent: Option<(i64, u64)>,
    came: Option<i64>,
    read_on: bool,
    reset: bool,
    aborted: bool,
    /// It was answered when it was closed.
    pub(super) later: bool,
    /// RSTs for what came then.
    pub(super) rsts: u64,
    /// What it sent last was acknowledged before it closed.
    heard: bool,
}

impl One {
    fn state(&mut self, at: i64, state: i32) {
        match (state, self.left) {
            (SYN_SENT, None) => self.opened = Some(at),
            (ESTABLISHED | SYN_RECV, _) => {}
            (_, None) => self.left = Some((at, state)),
            (FIN_WAIT2, Some((_, FIN_WAIT1))) => self.fin_wait2 = Some(at),
            (CLOSE, Some((_, FIN_WAIT1))) => {
                self.orphan |= self.fin_wait2.is_some_and(|t| at.saturating_sub(t) <= ORPHAN_NS);
            }
            _ => {}
        }
    }
    /// Its last request's begin, and when the peer's FIN came, behind which and before which not a byte came.
    pub(super) fn turned_away(&self) -> Option<(i64, i64)> {
        let ((sent, bytes), (left, state)) = (self.sent?, self.left?);
        let silent = self.came.is_none_or(|came| came < sent);
        // A farewell: TLS' close_notify, MQTT's DISCONNECT, COM_QUIT.
        if self.came.is_some() && bytes < FAREWELL {
            return None;
        }
        (state == CLOSE_WAIT && sent <= left && silent && !self.read_on && !self.reset).then_some((sent, left))
    }
    /// Its request's begin and its close.
    pub(super) fn given_up(&self) -> Option<(i64, i64)> {
        let ((sent, _), (left, state)) = (self.sent?, self.left?);
        let own = match state {
            // A FIN that nobody acknowledges leaves the socket there: of a request that was not either, nobody knows.
            FIN_WAIT1 => self.orphan || self.aborted || !self.heard && self.fin_wait2.is_none(),
            CLOSE => self.aborted,
            _ => false,
        };
        let silent = self.came.is_none_or(|came| came < sent);
        let waited = left.saturating_sub(sent) >= LEAST_NS;
        (own && silent && waited && !self.read_on && !self.reset).then_some((sent, left))
    }
}

/// Sockets of clients: those opened here, and others to the addresses of these.
pub(super) fn left(facts: &Facts) -> FxHashMap<ConnectionId, One> {
    let mut all = clients(facts);
    look(facts, &mut all);
    all
}

fn clients(facts: &Facts) -> FxHashMap<ConnectionId, One> {
    let socks = || facts.tcp_states.iter().filter(|s| s.kind == "sock");
    let to = |c: ConnectionId| {
        let row = facts.connections.get(c.0 as usize)?;
        Some((row.daddr?.to_canonical(), row.dport))
    };
    let opened: FxHashSet<ConnectionId> = socks().filter(|s| s.state == SYN_SENT).map(|s| s.connection).collect();
    let servers: FxHashSet<End> = opened.iter().filter_map(|c| to(*c)).collect();
    let ours = facts.connections.iter().map(|r| r.connection);
    let ours = ours.filter(|c| opened.contains(c) || to(*c).is_some_and(|end| servers.contains(&end)));
    let mut all: FxHashMap<ConnectionId, One> = ours.map(|c| (c, One::default())).collect();
    for s in socks() {
        if let Some(one) = all.get_mut(&s.connection) {
            one.state(s.time_ns, s.state);
        }
    }
    all
}

/// What was sent, came, and was reset on them.
fn look(facts: &Facts, all: &mut FxHashMap<ConnectionId, One>) {
    // Answers of a server of this recording, by its client.
    let peers: FxHashMap<ConnectionId, ConnectionId> = (facts.connections.iter())
        .filter(|r| all.contains_key(&r.connection))
        .filter_map(|r| Some((r.peer?, r.connection)))
        .collect();
    let sent = (facts.tx.iter()).filter(|t| t.kind == TxKind::Tcp && t.start == TxStart::Sendmsg && t.bytes != Some(0));
    for t in sent {
        let Some(c) = t.connection else { continue };
        if let Some(one) = all.get_mut(&c) {
            let bytes = u64::from(t.bytes.unwrap_or(0));
            let heard = t
                .t_ack_ns
                .is_some_and(|ack| one.left.is_none_or(|(left, _)| ack <= left));
            if one.sent.is_none_or(|s| s.0 <= t.start_ns) {
                one.heard = heard;
            }
            one.sent = match one.sent {
                Some((at, of)) if at == t.start_ns => Some((at, of.saturating_add(bytes))),
                before => before.max(Some((t.start_ns, bytes))),
            };
        }
        if let Some(one) = peers.get(&c).and_then(|client| all.get_mut(client)) {
            one.later |= one.left.is_some_and(|(left, _)| t.start_ns > left);
        }
    }
    for r in facts
        .rx
        .iter()
        .filter(|r| r.bytes != Some(0) && r.end != RxEnd::Protocol)
    {
        let Some(one) = r.connection.and_then(|c| all.get_mut(&c)) else {
            continue;
        };
        let left = one.left.map_or(i64::MAX, |l| l.0);
        if r.start_ns <= left {
            one.came = one.came.max(Some(r.start_ns));
        }
        one.read_on |= r.end == RxEnd::Read && r.start_ns.saturating_add(r.total_ns) > left;
    }
    // By both ends, the sockets of one after the other; a RST for one in TIME_WAIT is of no socket.
    let mut ends: FxHashMap<(End, End), Vec<(i64, ConnectionId)>> = FxHashMap::default();
    for (c, one) in all.iter() {
        let row = facts.connections.get(c.0 as usize);
        if let Some(((left, _), row)) = one.left.zip(row)
            && let (Some(from), Some(to)) = (row.saddr, row.daddr)
        {
            let key = ((from.to_canonical(), row.sport), (to.to_canonical(), row.dport));
            ends.entry(key).or_default().push((left, *c));
        }
    }
    ends.values_mut().for_each(|of| of.sort_unstable());
    for r in &facts.resets {
        let canonical = |end: Option<End>| end.map(|(a, p)| (a.to_canonical(), p));
        let by_ends = || {
            let of = ends.get(&canonical(r.from).zip(canonical(r.to))?)?;
            of.get(of.partition_point(|o| o.0 <= r.time_ns).checked_sub(1)?)
                .map(|o| o.1)
        };
        let Some(one) = r.connection.or_else(by_ends).and_then(|c| all.get_mut(&c)) else {
            continue;
        };
        match r.received {
            true => one.reset |= one.left.is_none_or(|l| r.time_ns <= l.0 || l.1 == CLOSE),
            // Its own time-out is not its program's.
            false if r.reason.contains("TIMEOUT") => {}
            false => {
                let data = ["ABORT_ON_DATA", "TIMEWAIT"].iter().any(|why| r.reason.contains(why));
                one.aborted = true;
                let later = data && one.left.is_some_and(|l| r.time_ns > l.0);
                one.later |= later;
                one.rsts += u64::from(later);
            }
        }
    }
}
