//! The machine: see the diagram in `mod.rs`.

use netmortem_formats::sockaddr::SockAddr;
use netmortem_formats::tracepoints::accept_queue::AcceptQueue;
use netmortem_formats::tracepoints::backlog::Backlog;
use netmortem_formats::tracepoints::getaddrinfo::Getaddrinfo;
use netmortem_formats::tracepoints::getaddrinfo_return::GetaddrinfoReturn;
use netmortem_formats::tracepoints::inet_sock_set_state::InetSockSetState;
use rustc_hash::FxHashMap;

use super::tables::{AcceptRow, BacklogRow, LookupRow};
use crate::ingest::{Event, GapRow, Trace};
use crate::reconstruct::comms::Comms;
use crate::reconstruct::dispatch::{Routes, Tracker};
use crate::reconstruct::tcp::Sockets;

/// States of net/tcp_states.h.
const ESTABLISHED: i32 = 1;
const SYN_RECV: i32 = 3;
/// The new socket becomes established in the same run of its softirq, some us later.
const SOON_NS: i64 = 1_000_000;
/// Rows of a view above this are left out.
const MOST: usize = 200_000;

/// What the probes told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Probes {
    /// View `accept_queues`.
    pub accepts: Vec<AcceptRow>,
    /// View `socket_backlogs`, most memory first.
    pub backlogs: Vec<BacklogRow>,
    /// View `name_lookups`, in the order of their ends.
    pub lookups: Vec<LookupRow>,
}

struct Machine<'c> {
    comms: &'c Comms,
    sockets: &'c Sockets,
    out: Probes,
    /// By CPU the connection whose state is next.
    joining: FxHashMap<u16, usize>,
    backlogs: FxHashMap<(u64, Option<u32>), BacklogRow>,
    /// By thread.
    asking: FxHashMap<i32, i64>,
}

impl Tracker for Machine<'_> {
    fn gap(&mut self, gap: &GapRow) {
        self.joining.retain(|cpu, _| u32::from(*cpu) != gap.cpu);
        // A return may be among what was lost: the next one of the thread would make a lookup of two.
        self.asking.clear();
    }
}

impl Machine<'_> {
    fn accept(&mut self, e: &Event<'_>, p: &AcceptQueue<'_>) {
        self.joining.remove(&e.cpu);
        if self.out.accepts.len() >= MOST {
            return;
        }
        self.joining.insert(e.cpu, self.out.accepts.len());
        self.out.accepts.push(AcceptRow {
            time_ns: e.ts,
            cpu: e.cpu,
            sk: p.sk,
            local: None,
            waiting: p.waiting.saturating_add(1),
            limit: p.limit,
        });
    }

    fn state(&mut self, e: &Event<'_>, p: &InetSockSetState<'_>) {
        let Some(row) = self.joining.remove(&e.cpu).and_then(|at| self.out.accepts.get_mut(at)) else {
            return;
        };
        let joins = (p.oldstate, p.newstate) == (SYN_RECV, ESTABLISHED) && e.ts.saturating_sub(row.time_ns) <= SOON_NS;
        let local = SockAddr::from_fields(Some(p.family), p.sport, p.saddr, p.saddr_v6).map(SockAddr::canonical);
        row.local = local.filter(|_| joins).map(|local| (local.ip, local.port));
    }

    fn backlog(&mut self, e: &Event<'_>, p: &Backlog<'_>) {
        let connection = self.sockets.at(p.sk, e.ts);
        let key = (p.sk, connection.map(|c| c.0));
        if self.backlogs.len() >= MOST && !self.backlogs.contains_key(&key) {
            return;
        }
        let row = self.backlogs.entry(key).or_insert(BacklogRow {
            sk: p.sk,
            connection,
            segments: 0,
            most_backlog: (0, e.ts),
            most_rmem: (0, e.ts),
            rcvbuf: 0,
        });
        // What is negative was changed meanwhile by another CPU.
        let bytes = |n: i32| u64::try_from(n).unwrap_or(0);
        row.segments = row.segments.saturating_add(1);
        if bytes(p.backlog) > row.most_backlog.0 {
            row.most_backlog = (bytes(p.backlog), e.ts);
        }
        if bytes(p.rmem) >= row.most_rmem.0 {
            (row.most_rmem, row.rcvbuf) = ((bytes(p.rmem), e.ts), bytes(p.rcvbuf));
        }
    }

    fn asks(&mut self, e: &Event<'_>) {
        // One that never returned: its thread was cancelled, or left by longjmp.
        if let Some(start) = self.asking.insert(e.pid, e.ts) {
            self.lookup(e.pid, Some(start), None);
        }
    }

    fn answered(&mut self, e: &Event<'_>) {
        let start = self.asking.remove(&e.pid);
        self.lookup(e.pid, start, Some(e.ts));
    }

    fn lookup(&mut self, pid: i32, start_ns: Option<i64>, end_ns: Option<i64>) {
        if self.out.lookups.len() < MOST {
            let task = self.comms.at(pid, end_ns.or(start_ns).unwrap_or(0));
            self.out.lookups.push(LookupRow {
                start_ns,
                end_ns,
                pid,
                task,
            });
        }
    }
}

/// Reads the trace; nothing where no probe of ours was recorded.
pub fn walk(trace: &Trace<'_>, sockets: &Sockets, comms: &Comms) -> Probes {
    let mut routes = Routes::<Machine<'_>>::new("probes");
    let s = &trace.schema;
    let accepts = routes.on::<AcceptQueue<'static>>(s, |t, e, p| t.accept(e, &p));
    let backlogs = routes.on::<Backlog<'static>>(s, |t, e, p| t.backlog(e, &p));
    let lookups = routes.on::<GetaddrinfoReturn<'static>>(s, |t, e, _| t.answered(e));
    if !(accepts || backlogs || lookups) {
        return Probes::default();
    }
    if accepts {
        routes.on_states(s, |t, e, p| t.state(e, &p));
    }
    routes.on::<Getaddrinfo<'static>>(s, |t, e, _| t.asks(e));
    let mut machine = Machine {
        comms,
        sockets,
        out: Probes::default(),
        joining: FxHashMap::default(),
        backlogs: FxHashMap::default(),
        asking: FxHashMap::default(),
    };
    routes.run(trace, &mut machine);
    let mut under_way: Vec<(i64, i32)> = machine.asking.drain().map(|(pid, start)| (start, pid)).collect();
    under_way.sort_unstable();
    for (start, pid) in under_way {
        machine.lookup(pid, Some(start), None);
    }
    let mut out = machine.out;
    out.backlogs = machine.backlogs.into_values().collect();
    out.backlogs
        .sort_by_key(|r| (std::cmp::Reverse(r.most_backlog.0), r.sk, r.connection.map(|c| c.0)));
    out
}
