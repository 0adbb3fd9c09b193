//! The machine.

use std::collections::BTreeSet;
use std::net::IpAddr;

use netmortem_formats::Endian;
use netmortem_formats::event_format::{IntAccess, ValueTable};
use netmortem_formats::sockaddr::{self, SockAddr};
use netmortem_formats::tracepoints::Tracepoint;
use netmortem_formats::tracepoints::icmp_send::IcmpSend;
use netmortem_formats::tracepoints::inet_sk_error_report::InetSkErrorReport;
use netmortem_formats::tracepoints::sys_exit::SysExit;
use netmortem_formats::tracepoints::tcp_receive_reset::TcpReceiveReset;
use netmortem_formats::tracepoints::tcp_retransmit_skb::TcpRetransmitSkb;
use netmortem_formats::tracepoints::tcp_send_reset::TcpSendReset;
use rustc_hash::{FxHashMap, FxHashSet};

use super::accepts::Accepts;
use super::listens::Listens;
use super::local::{Local, LocalConnects, is_local};
use super::resets::Resets;
use super::senders::senders;
use super::tables::{ListenRow, NotAccepted, OpenEnd, OpenRow, ResetRow, TimedOut, errno_of_message};
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::ingest::{Event, GapRow, Trace};
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::context::BH_OFF;
use crate::reconstruct::dispatch::{Lost, Routes, Tracker};
use crate::reconstruct::tcp::states::{
    CLOSE, CLOSE_WAIT, CLOSING, ESTABLISHED, FIN_WAIT1, FIN_WAIT2, LAST_ACK, LISTEN, SYN_RECV, SYN_SENT,
};
use crate::reconstruct::tcp::{Sockets, Tuple, ends};

/// IPPROTO_TCP: of MPTCP the subflow, which sends the SYN, and not the socket above it.
const TCP: u16 = 6;
/// Closed by one end.
const ENDING: [i32; 5] = [FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT, LAST_ACK, CLOSING];
/// Errors by which `connect` says that an answer is awaited, that it was called before, or that a signal came.
const NOT_DECIDED: [i32; 5] = [115, 114, 106, 4, 512];
/// Errors by which `connect` fails before a socket has a state: no route, not allowed, no address.
const BEFORE: [i32; 5] = [101, 113, 13, 1, 99];
/// ETIMEDOUT.
const TIMED_OUT: i32 = 110;
/// Longest time between a socket's end and what it is told of it, either first; and from the arrival of a RST that a socket sends by
/// itself, which is traced behind its transmit, to its event.
pub(super) const TOLD_NS: i64 = 1_000_000;

/// Longest time from an ICMP message to the end of an attempt that its program ends for it, ns: no further SYN was due in between.
const MESSAGE_NS: i64 = 1_000_000_000;

/// What was found.
#[derive(Debug, Default)]
pub struct Opens {
    /// View `opens`.
    pub opens: Vec<OpenRow>,
    /// View `resets`.
    pub resets: Vec<ResetRow>,
    /// Sockets that a RST came to when their program had closed them.
    pub reset_when_closed: BTreeSet<ConnectionId>,
    /// Calls of `accept` that failed.
    pub not_accepted: Vec<NotAccepted>,
    /// Calls of `connect` on sockets of AF_UNIX, by thread.
    pub local_connects: Vec<LocalConnects>,
    /// Sockets that began to listen, and such that were closed, by time.
    pub listens: Vec<ListenRow>,
    /// What sockets were told of time-outs, attempts to open one among them.
    pub timed_out: Vec<TimedOut>,
    /// What the capture lacks.
    pub missing: Vec<String>,
}

pub(super) struct Machine<'s> {
    pub(super) sockets: &'s Sockets,
    pub(super) endian: Endian,
    pub(super) reasons: Option<ValueTable>,
    /// SYNs retransmitted were recorded.
    tells_again: bool,
    opens: Vec<OpenRow>,
    pub(super) resets: Resets,
    accepts: Accepts,
    local: Local,
    listens: Listens,
    timed_out: Vec<TimedOut>,
    /// Calls of `connect` under way, by thread: begin, the attempt that began in it, whether it is of AF_UNIX.
    calls: FxHashMap<i32, (i64, Option<usize>, bool)>,
    /// Attempts that wait for an answer, by sock; whether a RST came.
    waiting: FxHashMap<u64, (usize, bool)>,
    /// Last state of each sock that closes.
    closing: FxHashSet<u64>,
    /// Last error that a socket was told on each CPU: before Linux 6.11 in front of its end.
    errors: FxHashMap<u16, (i64, Tuple, i32)>,
    /// Last ICMP message that came to a socket that waits: when, by remote end and local port.
    messages: FxHashMap<(IpAddr, u16, u16), i64>,
    /// Last ICMP message that a host of this recording made for a packet of IPv4, by source and destination: when, type and code.
    made: FxHashMap<(IpAddr, IpAddr), (i64, (i32, i32))>,
    /// Attempts that ended, by remote end and local port: what the socket is told comes behind.
    ended: FxHashMap<(IpAddr, u16, u16), usize>,
}

impl Tracker for Machine<'_> {
    fn gap(&mut self, gap: &GapRow) {
        self.calls.clear();
        self.resets.gap(gap);
    }
}

/// Local and remote end of an event that has the fields of the sock class.
macro_rules! tuple {
    ($p:expr, $family:expr) => {{
        let family = $family;
        let from = SockAddr::from_fields(family, $p.sport, $p.saddr, $p.saddr_v6);
        let to = SockAddr::from_fields(family, $p.dport, $p.daddr, $p.daddr_v6);
        from.zip(to).map(|(s, d)| ends(s, d))
    }};
}

impl Machine<'_> {
    fn call(&mut self, e: &Event<'_>, local: bool) {
        self.calls.insert(e.pid, (e.ts, None, local));
    }
    fn returned(&mut self, e: &Event<'_>, ret: i64) {
        let Some((begin, row, local)) = self.calls.remove(&e.pid) else {
            return;
        };
        if local && row.is_none() {
            return self.local.returned(e, begin, ret);
        }
        let error = i32::try_from(ret.wrapping_neg()).unwrap_or(0);
        if ret >= 0 || NOT_DECIDED.contains(&error) {
            return;
        }
        match row.and_then(|at| self.opens.get_mut(at)) {
            // The call knows better than the state: it closes the socket whatever went wrong.
            Some(row) if row.end != OpenEnd::Established => {
                row.error = Some(error);
                if row.end != OpenEnd::NoPort {
                    (row.end, row.confidence) = (OpenEnd::of(error), Confidence::Certain);
                }
                row.end_ns = row.end_ns.min(e.ts);
            }
            Some(_) => {}
            None if BEFORE.contains(&error) => self.opens.push(OpenRow {
                connection: None,
                from: None,
                to: None,
                pid: e.pid,
                task: Name::default(),
                start_ns: begin,
                end_ns: e.ts,
                end: OpenEnd::of(error),
                error: Some(error),
                message: false,
                syns_again: None,
                // Of which protocol the socket is, no event tells.
                confidence: Confidence::Weak,
            }),
            None => {}
        }
    }
    fn begins(&mut self, e: &Event<'_>, sk: u64) {
        let pid = if e.in_task() { e.pid.max(0) } else { 0 };
        let at = self.opens.len();
        let call = self.calls.get_mut(&pid).filter(|c| c.1.is_none());
        let start_ns = call.map_or(e.ts, |c| {
            c.1 = Some(at);
            c.0
        });
        self.opens.push(OpenRow {
            connection: self.sockets.at(sk, e.ts),
            from: None,
            to: None,
            pid,
            task: Name::default(),
            start_ns,
            end_ns: i64::MAX,
            end: OpenEnd::Waiting,
            error: None,
            message: false,
            syns_again: self.tells_again.then_some(0),
            confidence: Confidence::Certain,
        });
        self.waiting.insert(sk, (at, false));
    }
    fn ends(&mut self, e: &Event<'_>, sk: u64, state: i32, tuple: Option<Tuple>) {
        let Some((at, reset)) = self.waiting.remove(&sk) else {
            return;
        };
        let Some(row) = self.opens.get_mut(at) else { return };
        row.end_ns = e.ts;
        let told = self.errors.get(&e.cpu).copied().filter(|(t, of, _)| {
            let own = tuple.is_some_and(|tuple| *of == tuple);
            own && e.ts.saturating_sub(*t) <= TOLD_NS
        });
        let by_program = e.in_task() && e.flags & BH_OFF == 0;
        (row.end, row.error) = match (state, told) {
            (ESTABLISHED, _) => (OpenEnd::Established, None),
            (_, Some((_, _, error))) => (OpenEnd::of(error), Some(error)),
            (CLOSE, _) if reset => (OpenEnd::Refused, None),
            (CLOSE, _) if by_program && tuple.is_some_and(|t| t.sport == 0) => (OpenEnd::NoPort, None),
            (CLOSE, _) if by_program => (OpenEnd::GivenUp, None),
            (CLOSE, _) if row.syns_again.is_some_and(|n| n > 0) => (OpenEnd::TimedOut, None),
            _ => {
                // By a timer, or by a message that nothing tells.
                row.confidence = Confidence::Weak;
                (OpenEnd::Failed, None)
            }
        };
        let came = tuple.and_then(|t| self.messages.remove(&(t.daddr, t.dport, t.sport)));
        if let Some((at, t)) = came.zip(tuple).filter(|(at, _)| *at >= row.start_ns) {
            row.message = row.end != OpenEnd::Established && e.ts.saturating_sub(at) <= MESSAGE_NS;
            // A message that finds the socket in use by its own thread is kept as its soft error, which the program reads, and no event tells.
            let says = self
                .made
                .get(&(t.saddr, t.daddr))
                .filter(|(ns, _)| (row.start_ns..=at).contains(ns));
            let error = says.and_then(|(_, says)| errno_of_message(*says));
            if let (true, OpenEnd::GivenUp, Some(error)) = (row.message, row.end, error) {
                (row.end, row.error) = (OpenEnd::of(error), Some(error));
                row.confidence = row.confidence.min(Confidence::Strong);
            }
        }
        if let Some(t) = tuple {
            self.ended.insert((t.daddr, t.dport, t.sport), at);
        }
    }
    fn told(&mut self, e: &Event<'_>, tuple: Tuple, error: i32) {
        // Queued for the socket before its error is set, whatever that is (`ip_icmp_error`).
        if error == 0 && e.in_softirq() {
            self.messages.insert((tuple.daddr, tuple.dport, tuple.sport), e.ts);
        }
        if error > 0 {
            self.errors.insert(e.cpu, (e.ts, tuple, error));
        }
        if error == TIMED_OUT {
            let (from, to) = ((tuple.saddr, tuple.sport), (tuple.daddr, tuple.dport));
            let time_ns = e.ts;
            self.timed_out.push(TimedOut { time_ns, from, to });
        }
        let at = self.ended.get(&(tuple.daddr, tuple.dport, tuple.sport));
        let Some(row) = at.and_then(|at| self.opens.get_mut(*at)) else {
            return;
        };
        let at_once = e.ts.saturating_sub(row.end_ns) <= TOLD_NS;
        if at_once && error > 0 && row.error.is_none() && row.end != OpenEnd::Established {
            row.error = Some(error);
            if row.end != OpenEnd::NoPort {
                (row.end, row.confidence) = (OpenEnd::of(error), Confidence::Certain);
            }
        }
    }
}

/// Reads the trace.
pub fn walk(trace: &Trace<'_>, sockets: &Sockets, comms: &Comms) -> Opens {
    let s = &trace.schema;
    let mut r = Routes::<Machine<'_>>::new("opens");
    let states = r.on_states(s, |t, e, p| {
        if p.protocol != TCP {
            return;
        }
        match ENDING.contains(&p.newstate) {
            true => t.closing.insert(p.skaddr),
            false => t.closing.remove(&p.skaddr),
        };
        match (p.oldstate, p.newstate) {
            (_, SYN_SENT) => t.begins(e, p.skaddr),
            (CLOSE, LISTEN) | (LISTEN, CLOSE) => {
                t.listens
                    .changed(e, p.skaddr, tuple!(p, Some(p.family)), p.newstate == LISTEN);
            }
            // Both ends at once, or a socket to itself.
            (SYN_SENT, SYN_RECV) => {}
            (SYN_SENT | SYN_RECV, state) => t.ends(e, p.skaddr, state, tuple!(p, Some(p.family))),
            _ => {}
        }
    });
    let needed = r.missing.len();
    r.on::<TcpRetransmitSkb<'static>>(s, |t, _, p| {
        let at = t.waiting.get(&p.skaddr).map(|w| w.0);
        if let Some(row) = at.and_then(|at| t.opens.get_mut(at)) {
            let again = row.syns_again.get_or_insert(0);
            *again = again.saturating_add(u32::from(p.err.unwrap_or(0) == 0));
        }
    });
    r.on::<TcpReceiveReset<'static>>(s, |t, e, p| {
        if t.closing.contains(&p.skaddr) {
            let of = t.sockets.at(p.skaddr, e.ts);
            return t.resets.came_late(e, p.skaddr, of);
        }
        if let Some(w) = t.waiting.get_mut(&p.skaddr) {
            w.1 = true;
        }
        t.received(e, p.skaddr, tuple!(p, p.family));
    });
    r.on::<TcpSendReset<'static>>(s, |t, e, p| t.sent(e, &p));
    r.on::<InetSkErrorReport<'static>>(s, |t, e, p| {
        if let Some(tuple) = tuple!(p, Some(p.family)).filter(|_| p.protocol == TCP) {
            t.told(e, tuple, p.error);
        }
    });
    r.on::<IcmpSend<'static>>(s, |t, e, p| {
        if let Some(ends) = sockaddr::v4(p.saddr).zip(sockaddr::v4(p.daddr)) {
            t.made.insert(ends, (e.ts, (p.r#type, p.code)));
        }
    });
    for f in s.formats().iter().filter(|f| f.system == SysExit::SYSTEM) {
        match f.name.as_str() {
            "sys_enter_connect" => {
                let length = IntAccess::bind(f, "addrlen", s.endian);
                r.raw(f.id, move |t, e| {
                    t.call(
                        e,
                        length
                            .and_then(|l| l.u64(e.payload))
                            .is_some_and(|n| is_local(n as u32)),
                    );
                });
            }
            "sys_exit_connect" => {
                let Ok(b) = SysExit::bind(f, s.endian) else { continue };
                r.raw(f.id, move |t, e| {
                    if let Some(x) = SysExit::read(&b, e.payload) {
                        t.returned(e, x.ret);
                    }
                });
            }
            "sys_exit_accept" | "sys_exit_accept4" => {
                let Ok(b) = SysExit::bind(f, s.endian) else { continue };
                r.raw(f.id, move |t, e| {
                    if let Some(x) = SysExit::read(&b, e.payload) {
                        t.accepts.returned(e, x.ret);
                    }
                });
            }
            _ => {}
        }
    }
    r.missing.truncate(needed);
    if !states {
        return Opens {
            missing: r.missing,
            ..Opens::default()
        };
    }
    let mut t = Machine {
        sockets,
        endian: s.endian,
        reasons: s
            .format("tcp", TcpSendReset::NAME)
            .and_then(|f| ValueTable::of(f, "reason")),
        tells_again: trace.info.recorded("tcp:tcp_retransmit_skb"),
        opens: vec![],
        resets: Resets::new(trace.info.recorded("tcp:tcp_send_reset")),
        accepts: Accepts::default(),
        local: Local::default(),
        listens: Listens::default(),
        timed_out: vec![],
        calls: FxHashMap::default(),
        waiting: FxHashMap::default(),
        closing: FxHashSet::default(),
        errors: FxHashMap::default(),
        messages: FxHashMap::default(),
        made: FxHashMap::default(),
        ended: FxHashMap::default(),
    };
    r.run(trace, &mut t);
    let lost = Lost::of(&trace.gaps);
    let end_ns = trace.info.end_ns.unwrap_or(0);
    for row in &mut t.opens {
        row.end_ns = row.end_ns.min(end_ns.max(row.start_ns));
        row.task = comms.at(row.pid, row.start_ns);
        let ends = row
            .connection
            .and_then(|c| sockets.all.get(c.0 as usize))
            .map(|s| s.tuple);
        row.from = ends.map(|t| (t.saddr, t.sport));
        row.to = ends.map(|t| (t.daddr, t.dport));
        if lost.within(row.start_ns, row.end_ns) {
            row.confidence = row.confidence.min(Confidence::Weak);
        }
    }
    t.opens.sort_by_key(|r| r.start_ns);
    let reset_when_closed = t.resets.take_closed();
    let mut resets = t.resets.rows;
    senders(&mut resets, sockets, trace.info.recorded("tcp:tcp_send_reset"), &lost);
    Opens {
        opens: t.opens,
        resets,
        reset_when_closed,
        not_accepted: t.accepts.rows(comms),
        local_connects: t.local.rows(comms),
        listens: t.listens.rows(comms),
        timed_out: t.timed_out,
        missing: r.missing,
    }
}
