//! RSTs: those that sockets of this host sent, and those that came to them.
//!
//! In: tcp_send_reset, tcp_receive_reset. Out: rows of `resets` by time, and the sockets to which a RST came when their program had closed them: that is no connection cut off.
//! `tcp_reset` is also called for data that comes to a socket which its program has closed, though no RST came: the socket answers such data with a RST at once, on the same CPU. So
//! what came to a closing socket was a RST unless that follows. Source: net/ipv4/tcp_input.c `tcp_rcv_state_process`
//! (TCPABORTONDATA), net/ipv4/tcp_ipv4.c `tcp_v4_do_rcv`.

use std::collections::{BTreeMap, BTreeSet};

use netmortem_formats::sockaddr::SockAddr;
use netmortem_formats::tracepoints::tcp_send_reset::TcpSendReset;

use super::reset_reasons;
use super::tables::{ResetRow, Sender};
use super::tracker::Machine;
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::ingest::{Event, GapRow};
use crate::reconstruct::tcp::{Tuple, ends};

/// From such data to the RST that answers it, at most, ns.
const AT_ONCE_NS: i64 = 1_000_000;

/// What was found so far.
pub(super) struct Resets {
    /// RSTs that were sent are recorded.
    sends: bool,
    pub(super) rows: Vec<ResetRow>,
    /// Sockets that a RST came to when their program had closed them.
    to_closed: BTreeSet<ConnectionId>,
    /// By CPU, what came last to a closing socket: the socket's address, when, and which it is.
    doubtful: BTreeMap<u16, (u64, i64, ConnectionId)>,
}

impl Resets {
    pub(super) fn new(sends: bool) -> Resets {
        Resets {
            sends,
            rows: vec![],
            to_closed: BTreeSet::new(),
            doubtful: BTreeMap::new(),
        }
    }
    /// One came to a closing socket, or data that is dealt with alike.
    pub(super) fn came_late(&mut self, e: &Event<'_>, sk: u64, of: Option<ConnectionId>) {
        // Where RSTs that are sent are not recorded nothing tells the two apart.
        if let Some(of) = of.filter(|_| self.sends) {
            let before = self.doubtful.insert(e.cpu, (sk, e.ts, of));
            self.to_closed.extend(before.map(|d| d.2));
        }
    }
    fn sent(&mut self, e: &Event<'_>, sk: u64, row: ResetRow) {
        if let Some((of, came, connection)) = self.doubtful.remove(&e.cpu) {
            let answers = of == sk && e.ts.saturating_sub(came) <= AT_ONCE_NS;
            self.to_closed.extend((!answers).then_some(connection));
        }
        self.rows.push(row);
    }
    /// An answer may be among what was lost.
    pub(super) fn gap(&mut self, gap: &GapRow) {
        self.doubtful.retain(|cpu, _| u32::from(*cpu) != gap.cpu);
    }
    /// Sockets that a RST came to when their program had closed them.
    pub(super) fn take_closed(&mut self) -> BTreeSet<ConnectionId> {
        let rest = std::mem::take(&mut self.doubtful);
        self.to_closed.extend(rest.into_values().map(|d| d.2));
        std::mem::take(&mut self.to_closed)
    }
}

impl Machine<'_> {
    fn reset(&self, e: &Event<'_>, sk: u64, tuple: Option<Tuple>, sent: Option<u32>) -> ResetRow {
        let names = self.reasons.as_ref();
        let reason = sent.and_then(|r| names.and_then(|n| n.name(r.into())));
        ResetRow {
            time_ns: e.ts,
            received: false,
            // Nor is it one of those that had its memory before.
            connection: match tuple {
                _ if sk == 0 => None,
                Some(t) if t.dport == 0 => None,
                _ => self.sockets.at(sk, e.ts),
            },
            from: tuple.map(|t| (t.saddr, t.sport)),
            // A listener's own ends are not those of the segment that it answers.
            to: tuple.filter(|t| t.dport != 0).map(|t| (t.daddr, t.dport)),
            reason: reason.unwrap_or_default(),
            sender: Sender::Here,
            confidence: Confidence::Certain,
        }
    }
    /// One that came.
    pub(super) fn received(&mut self, e: &Event<'_>, sk: u64, tuple: Option<Tuple>) {
        let row = ResetRow {
            received: true,
            sender: Sender::Unknown,
            ..self.reset(e, sk, tuple, None)
        };
        self.resets.rows.push(row);
    }
    /// One that is sent.
    pub(super) fn sent(&mut self, e: &Event<'_>, p: &TcpSendReset<'_>) {
        let of_fields = || {
            let (sport, dport) = (p.sport?, p.dport?);
            let from = SockAddr::from_fields(p.family, sport, p.saddr, p.saddr_v6?)?;
            Some(ends(
                from,
                SockAddr::from_fields(p.family, dport, p.daddr, p.daddr_v6?)?,
            ))
        };
        let read = |bytes| SockAddr::read(bytes, self.endian);
        let tuple = match p.sport {
            Some(_) => of_fields(),
            None => read(p.saddr).zip(read(p.daddr)).map(|(s, d)| ends(s, d)),
        };
        let mut row = self.reset(e, p.skaddr, tuple, p.reason);
        if p.reason.is_none() {
            reset_reasons::of(p, e.in_task()).clone_into(&mut row.reason);
            row.confidence = Confidence::Strong;
        }
        self.resets.sent(e, p.skaddr, row);
    }
}
