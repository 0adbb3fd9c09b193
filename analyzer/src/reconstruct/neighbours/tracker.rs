//! The machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netmortem_formats::tracepoints::neigh_cleanup_and_release::NeighCleanupAndRelease;
use netmortem_formats::tracepoints::neigh_create::NeighCreate;
use netmortem_formats::tracepoints::neigh_event_send_dead::NeighEventSendDead;
use netmortem_formats::tracepoints::neigh_event_send_done::NeighEventSendDone;
use netmortem_formats::tracepoints::neigh_timer_handler::NeighTimerHandler;
use netmortem_formats::tracepoints::neigh_update::NeighUpdate;
use netmortem_formats::tracepoints::neigh_update_done::NeighUpdateDone;

use super::tables::{Held, LinkAddr, NeighbourRow};
use crate::confidence::Confidence;
use crate::ingest::{Event, GapRow, Trace};
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::dispatch::{Routes, Tracker};

/// AF_INET, AF_INET6.
const FAMILIES: (u32, u32) = (2, 10);
/// What `___neigh_create` gives back where it made no entry.
const ENOBUFS: i32 = -105;

/// Updates under way at one time, at most.
const OPEN: usize = 256;

struct Neighbours<'c> {
    comms: &'c Comms,
    rows: Vec<NeighbourRow>,
    /// Updates under way: CPU and place in `rows`.
    open: Vec<(u16, usize)>,
}

impl Tracker for Neighbours<'_> {
    fn gap(&mut self, gap: &GapRow) {
        self.open.retain(|(cpu, _)| u32::from(*cpu) != gap.cpu);
    }
}

/// Of an IPv4 entry `v4`, of an IPv6 entry `v6`; other tables have no addresses of hosts.
fn address(family: u32, v4: &[u8], v6: &[u8]) -> Option<IpAddr> {
    match family {
        f if f == FAMILIES.0 => <[u8; 4]>::try_from(v4).ok().map(|b| Ipv4Addr::from(b).into()),
        f if f == FAMILIES.1 => <[u8; 16]>::try_from(v6).ok().map(|b| Ipv6Addr::from(b).into()),
        _ => None,
    }
}

impl Neighbours<'_> {
    fn row(&self, e: &Event<'_>, event: &'static str, dev: &[u8], address: IpAddr) -> NeighbourRow {
        let pid = if e.in_task() { e.pid.max(0) } else { 0 };
        NeighbourRow {
            time_ns: e.ts,
            cpu: e.cpu,
            event,
            dev: Name::new(dev),
            address,
            before: None,
            after: None,
            err: None,
            netlink: 0,
            task: if pid == 0 {
                Name::default()
            } else {
                self.comms.at(pid, e.ts)
            },
            pid,
            confidence: Confidence::Certain,
        }
    }
    fn create(&mut self, e: &Event<'_>, p: &NeighCreate<'_>) {
        let Some(of) = address(p.family, p.primary_key4, p.primary_key6) else {
            return;
        };
        let err = if p.created == 0 { ENOBUFS } else { 0 };
        self.rows.push(NeighbourRow {
            err: Some(err),
            ..self.row(e, "create", p.dev, of)
        });
    }
    fn update(&mut self, e: &Event<'_>, p: &NeighUpdate<'_>) {
        let Some(of) = address(p.family, p.primary_key4, p.primary_key6) else {
            return;
        };
        let before = Held {
            lladdr: LinkAddr::of(p.lladdr, p.lladdr_len),
            state: p.nud_state,
        };
        let wanted = Held {
            lladdr: LinkAddr::of(p.new_lladdr, p.lladdr_len).or(before.lladdr),
            state: p.new_state,
        };
        // Those whose end was told on another CPU stay: few of them at a time are real.
        if self.open.len() >= OPEN {
            self.open.remove(0);
        }
        self.open.push((e.cpu, self.rows.len()));
        self.rows.push(NeighbourRow {
            before: Some(before),
            after: Some(wanted),
            netlink: p.pid,
            confidence: Confidence::Weak,
            ..self.row(e, "update", p.dev, of)
        });
    }
    fn done(&mut self, e: &Event<'_>, p: &NeighUpdateDone<'_>) {
        let Some(of) = address(p.family, p.primary_key4, p.primary_key6) else {
            return;
        };
        let (dev, rows) = (Name::new(p.dev), &self.rows);
        let own = |(cpu, at): &(u16, usize)| {
            let row = rows.get(*at);
            *cpu == e.cpu && row.is_some_and(|r| r.dev == dev && r.address == of)
        };
        let Some(at) = self.open.iter().rposition(own) else {
            return;
        };
        let (_, place) = self.open.remove(at);
        if let Some(row) = self.rows.get_mut(place) {
            row.after = Some(Held {
                lladdr: LinkAddr::of(p.lladdr, p.lladdr_len),
                state: p.nud_state,
            });
            (row.err, row.confidence) = (Some(p.err as i32), Confidence::Certain);
        }
    }
}

/// Reads the trace; rows in time order.
pub fn walk(trace: &Trace<'_>, comms: &Comms) -> Vec<NeighbourRow> {
    let mut routes = Routes::<Neighbours<'_>>::new("neighbours");
    let s = &trace.schema;
    routes.on::<NeighCreate<'static>>(s, |t, e, p| t.create(e, &p));
    routes.on::<NeighUpdate<'static>>(s, |t, e, p| t.update(e, &p));
    routes.on::<NeighUpdateDone<'static>>(s, |t, e, p| t.done(e, &p));
    // Events that have the entry and a result.
    macro_rules! entry {
        ($event:ty, $word:literal) => {
            routes.on::<$event>(s, |t, e, p| {
                if let Some(of) = address(p.family, p.primary_key4, p.primary_key6) {
                    let held = Held {
                        lladdr: LinkAddr::of(p.lladdr, p.lladdr_len),
                        state: p.nud_state,
                    };
                    let row = t.row(e, $word, p.dev, of);
                    t.rows.push(NeighbourRow {
                        before: Some(held),
                        err: Some(p.err as i32),
                        ..row
                    });
                }
            });
        };
    }
    entry!(NeighEventSendDone<'static>, "event_send_done");
    entry!(NeighEventSendDead<'static>, "event_send_dead");
    entry!(NeighTimerHandler<'static>, "timer_handler");
    entry!(NeighCleanupAndRelease<'static>, "cleanup_and_release");
    if routes.is_empty() {
        return vec![];
    }
    let mut t = Neighbours {
        comms,
        rows: vec![],
        open: vec![],
    };
    routes.run(trace, &mut t);
    t.rows
}
