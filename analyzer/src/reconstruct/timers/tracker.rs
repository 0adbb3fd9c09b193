//! The machine.

use netmortem_formats::kallsyms::Kallsyms;
use netmortem_formats::tracepoints::hrtimer_expire_entry::HrtimerExpireEntry;
use netmortem_formats::tracepoints::hrtimer_start::HrtimerStart;
use netmortem_formats::tracepoints::timer_expire_entry::TimerExpireEntry;
use netmortem_formats::tracepoints::timer_start::TimerStart;
use rustc_hash::{FxHashMap, FxHashSet};

use super::learn::{Distance, distance};
use crate::ingest::{Event, GapRow, Trace};
use crate::reconstruct::dispatch::{Routes, Tracker};

/// What a timer is for, by its callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `tcp_write_timer`: RTO, TLP, RACK reordering, zero-window probe.
    Write,
    /// `tcp_delack_timer`.
    DelayedAck,
    /// `tcp_keepalive_timer`.
    Keepalive,
    /// `tcp_pace_kick`: internal pacing.
    Pace,
    /// `tcp_compressed_ack_kick`.
    CompressedAck,
    /// `qdisc_watchdog`: a qdisc that holds packets until a time (fq, tbf, netem).
    Qdisc,
    /// `napi_watchdog`: a device's next poll, where `napi_defer_hard_irqs` and `gro_flush_timeout` put it off.
    Napi,
}

impl Kind {
    /// Whether it is a field of a `struct sock`.
    pub fn of_socket(self) -> bool {
        !matches!(self, Kind::Qdisc | Kind::Napi)
    }
    const ALL: [(&'static str, Kind); 7] = [
        ("tcp_write_timer", Kind::Write),
        ("tcp_delack_timer", Kind::DelayedAck),
        ("tcp_keepalive_timer", Kind::Keepalive),
        ("tcp_pace_kick", Kind::Pace),
        ("tcp_compressed_ack_kick", Kind::CompressedAck),
        ("qdisc_watchdog", Kind::Qdisc),
        ("napi_watchdog", Kind::Napi),
    ];
    fn of(symbol: &str) -> Option<Kind> {
        // Compilers append .isra.0 and the like.
        let plain = symbol.split('.').next().unwrap_or(symbol);
        Kind::ALL.iter().find(|(n, _)| *n == plain).map(|(_, k)| *k)
    }
}

/// What happened to a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Armed; ns of its clock at which it is to expire; `None` for timers of the wheel (jiffies).
    Armed {
        /// ns of CLOCK_MONOTONIC.
        expires_ns: Option<i64>,
    },
    /// Its callback began; ns it came late, where it was seen armed and its clock counts ns.
    Expired {
        /// ns.
        slip_ns: Option<i64>,
    },
}

/// An arm or an expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerEvent {
    /// Position in the merged sequence.
    pub index: u32,
    /// When, ns.
    pub ts: i64,
    /// CPU.
    pub cpu: u16,
    /// What for.
    pub kind: Kind,
    /// Address of the `struct sock`; of the timer itself for [`Kind::Qdisc`] and [`Kind::Napi`].
    pub owner: u64,
    /// What happened.
    pub what: What,
}

/// Timers of sockets and qdiscs, in order.
#[derive(Debug, Default)]
pub struct Timers {
    /// Arms and expiries whose owner is known.
    pub events: Vec<TimerEvent>,
    /// Learned distances.
    pub distances: Vec<(Kind, Distance)>,
    /// Pacing timers were recorded, and it is known whose they are (or none was armed).
    pub pacing_told: bool,
    /// What the capture lacks.
    pub missing: Vec<String>,
    functions: FxHashMap<u64, Option<Kind>>,
    armed: FxHashMap<u64, i64>,
}

struct Machine<'k> {
    symbols: &'k Kallsyms,
    out: Timers,
}

impl Tracker for Machine<'_> {
    fn gap(&mut self, _: &GapRow) {
        // A re-arm may have been lost: the slip of what expires next is not known.
        self.out.armed.clear();
    }
}

impl Machine<'_> {
    fn event(&mut self, e: &Event<'_>, timer: u64, function: u64, what: What) {
        let symbols = self.symbols;
        let of = |f: u64| {
            symbols
                .resolve(f)
                .filter(|(_, at)| *at == 0)
                .and_then(|(n, _)| Kind::of(n))
        };
        let kind = *self.out.functions.entry(function).or_insert_with(|| of(function));
        let Some(kind) = kind else { return };
        let what = match what {
            What::Armed { expires_ns } => {
                if let Some(ns) = expires_ns {
                    self.out.armed.insert(timer, ns);
                }
                what
            }
            // The caller put the time of the expiry there.
            What::Expired { slip_ns: Some(now) } => What::Expired {
                slip_ns: self.out.armed.remove(&timer).map(|at| now.wrapping_sub(at)),
            },
            What::Expired { .. } => what,
        };
        self.out.events.push(TimerEvent {
            index: e.index,
            ts: e.ts,
            cpu: e.cpu,
            kind,
            owner: timer,
            what,
        });
    }
}

impl Timers {
    /// CPU and time of each expiry that began a device's poll.
    pub fn polls(&self) -> Vec<(u16, i64)> {
        let of = |e: &&TimerEvent| e.kind == Kind::Napi && matches!(e.what, What::Expired { .. });
        let mut all: Vec<(u16, i64)> = self.events.iter().filter(of).map(|e| (e.cpu, e.ts)).collect();
        all.sort_unstable();
        all
    }
    /// Reads the trace. `sockets`: addresses of all sockets that events name.
    pub fn read(trace: &Trace<'_>, symbols: &Kallsyms, sockets: &FxHashSet<u64>) -> Timers {
        let s = &trace.schema;
        let mut r = Routes::<Machine<'_>>::new("timers");
        r.on::<TimerStart<'static>>(s, |t, e, p| {
            t.event(e, p.timer, p.function, What::Armed { expires_ns: None });
        });
        r.on::<HrtimerStart<'static>>(s, |t, e, p| {
            let expires_ns = Some(p.expires);
            t.event(e, p.hrtimer, p.function, What::Armed { expires_ns });
        });
        r.on::<TimerExpireEntry<'static>>(s, |t, e, p| {
            t.event(e, p.timer, p.function.unwrap_or(0), What::Expired { slip_ns: None });
        });
        r.on::<HrtimerExpireEntry<'static>>(s, |t, e, p| {
            let slip_ns = Some(p.now);
            t.event(e, p.hrtimer, p.function.unwrap_or(0), What::Expired { slip_ns });
        });
        let mut m = Machine {
            symbols,
            out: Timers::default(),
        };
        r.run(trace, &mut m);
        m.out.missing = r.missing;
        m.out.pacing_told = trace.info.recorded("timer:hrtimer_start");
        m.out.own(sockets)
    }

    fn own(mut self, sockets: &FxHashSet<u64>) -> Timers {
        let mut addresses: Vec<u64> = sockets.iter().copied().collect();
        addresses.sort_unstable();
        let mut timers: FxHashMap<Kind, FxHashSet<u64>> = FxHashMap::default();
        for e in self.events.iter().filter(|e| e.kind.of_socket()) {
            timers.entry(e.kind).or_default().insert(e.owner);
        }
        for (_, kind) in Kind::ALL {
            let Some(of) = timers.get(&kind) else { continue };
            if let Some(d) = distance(of, &addresses) {
                self.distances.push((kind, d));
            }
        }
        let owned = self.distances.iter().any(|(k, _)| *k == Kind::Pace);
        self.pacing_told &= owned || !timers.contains_key(&Kind::Pace);
        let distances = &self.distances;
        let of = |kind: Kind| distances.iter().find(|(k, _)| *k == kind).map(|(_, d)| d.bytes);
        self.events.retain_mut(|e| {
            if !e.kind.of_socket() {
                return true;
            }
            let Some(sk) = of(e.kind).map(|d| e.owner.wrapping_sub(d)) else {
                return false;
            };
            e.owner = sk;
            sockets.contains(&sk)
        });
        self.events.shrink_to_fit();
        self
    }
}
