//! Finds the pairs and keeps the smallest latency of each two CPUs.

use netmortem_formats::tracepoints::consume_skb::ConsumeSkb;
use netmortem_formats::tracepoints::kfree_skb::KfreeSkb;
use netmortem_formats::tracepoints::net_dev_start_xmit::NetDevStartXmit;
use netmortem_formats::tracepoints::netif_receive_skb::NetifReceiveSkb;
use netmortem_formats::tracepoints::netif_rx::NetifRx;
use netmortem_formats::tracepoints::sched_switch::SchedSwitch;
use netmortem_formats::tracepoints::sched_waking::SchedWaking;
use rustc_hash::FxHashMap;

use super::bound::paths;
use super::tables::SkewRow;
use crate::ingest::{Event, GapRow, Trace};
use crate::reconstruct::dispatch::{Routes, Tracker, Walk, ready};

/// Clocks further apart than this are not called skewed: what looks so is another waking.
const MOST_SKEW_NS: i64 = 10_000_000;

/// One or two wakings, of so many pairs, that look late are wakings of a thread that had not slept yet, and woke of something else (one lock handed to and fro, in 21,576 pairs one).
const RARE: (u64, u64) = (2, 250);

#[derive(Debug, Clone, Copy)]
struct Point {
    cpu: u16,
    ts: i64,
}

impl From<&Event<'_>> for Point {
    fn from(e: &Event<'_>) -> Point {
        Point { cpu: e.cpu, ts: e.ts }
    }
}

/// From one sleep of a thread to its next.
#[derive(Debug, Clone, Copy, Default)]
struct Wake {
    wakings: u32,
    waking: Option<Point>,
    first_in: Option<Point>,
    /// The sleep before had one waking: none was missed, none came early.
    before_was_one: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Least {
    n: u64,
    /// Of those not below 0; of the others.
    min: Option<(i64, &'static str)>,
    below: Option<(i64, &'static str)>,
    negative: u64,
}

impl Least {
    /// Without what looks negative and is too rare for it.
    fn believed(self) -> Least {
        let wakes = self.below.is_some_and(|(_, kind)| kind == "wake");
        match wakes && self.negative <= RARE.0 && self.n >= RARE.1 {
            true => Least {
                n: self.n.saturating_sub(self.negative),
                below: None,
                negative: 0,
                ..self
            },
            false => self,
        }
    }
    fn least(&self) -> Option<(i64, &'static str)> {
        self.below.or(self.min)
    }
}

#[derive(Default)]
struct Pairs {
    wakes: FxHashMap<i32, Wake>,
    queued: FxHashMap<u64, Point>,
    sent: FxHashMap<u64, Point>,
    least: FxHashMap<(u16, u16), Least>,
}

impl Tracker for Pairs {
    fn gap(&mut self, _: &GapRow) {
        self.wakes.clear();
        self.queued.clear();
        self.sent.clear();
    }
}

impl Pairs {
    fn pair(&mut self, kind: &'static str, cause: Point, effect: Point) {
        if cause.cpu == effect.cpu {
            return;
        }
        let ns = effect.ts.saturating_sub(cause.ts);
        let of = self.least.entry((cause.cpu, effect.cpu)).or_default();
        let least = if ns < 0 { &mut of.below } else { &mut of.min };
        if least.is_none_or(|(had, _)| ns < had) {
            *least = Some((ns, kind));
        }
        of.n += 1;
        of.negative += u64::from(ns < 0);
    }
    fn waking(&mut self, e: &Event<'_>, pid: i32) {
        if let Some(w) = self.wakes.get_mut(&pid) {
            w.wakings += 1;
            w.waking = w.waking.or(Some(e.into()));
        }
    }
    fn switch(&mut self, e: &Event<'_>, prev: i32, prev_sleeps: bool, next: i32) {
        if prev_sleeps && prev > 0 {
            let ended = self.wakes.insert(prev, Wake::default());
            let one = ended.is_some_and(|w| w.wakings == 1 && w.first_in.is_some());
            if let Some(w) = ended {
                self.woken(&w, e.ts);
            }
            if let Some(w) = self.wakes.get_mut(&prev) {
                w.before_was_one = one;
            }
        }
        if let Some(w) = self.wakes.get_mut(&next) {
            w.first_in = w.first_in.or(Some(e.into()));
        }
    }
    /// A thread sleeps again: what woke it lies between.
    fn woken(&mut self, w: &Wake, sleeps: i64) {
        let (Some(waking), Some(first_in), 1) = (w.waking, w.first_in, w.wakings) else {
            return;
        };
        let early = waking.ts.saturating_sub(first_in.ts);
        // A waking recorded behind the switch-in: skew, unless it is the next one, which came just before the thread slept.
        let skew = w.before_was_one && early < MOST_SKEW_NS && early < sleeps.saturating_sub(waking.ts);
        if early <= 0 || skew {
            self.pair("wake", waking, first_in);
        }
    }
}

/// Reads the trace; rows by CPU.
pub fn walk(trace: &Trace<'_>) -> impl Walk<Out = Vec<SkewRow>> {
    let mut routes = Routes::<Pairs>::new("clock_skew");
    // With one CPU there is nothing to compare.
    if trace.recs.cpus().len() > 1 {
        route(trace, &mut routes);
    }
    ready(trace, routes, Pairs::default(), |t, _| rows(&t.least))
}

fn route(trace: &Trace<'_>, routes: &mut Routes<Pairs>) {
    let s = &trace.schema;
    routes.on::<SchedWaking<'static>>(s, |t, e, p| t.waking(e, p.pid));
    routes.on::<SchedSwitch<'static>>(s, |t, e, p| {
        t.switch(e, p.prev_pid, p.prev_state & 0xff != 0, p.next_pid);
    });
    routes.on::<NetifRx<'static>>(s, |t, e, p| {
        t.queued.insert(p.skbaddr, e.into());
    });
    routes.on::<NetifReceiveSkb<'static>>(s, |t, e, p| {
        if let Some(cause) = t.queued.remove(&p.skbaddr) {
            t.pair("queue", cause, e.into());
        }
    });
    routes.on::<NetDevStartXmit<'static>>(s, |t, e, p| {
        t.sent.insert(p.skbaddr, e.into());
    });
    let freed = |t: &mut Pairs, e: &Event<'_>, skb: u64| {
        t.queued.remove(&skb);
        if let Some(cause) = t.sent.remove(&skb) {
            t.pair("transmit", cause, e.into());
        }
    };
    routes.on::<ConsumeSkb<'static>>(s, move |t, e, p| freed(t, e, p.skbaddr));
    routes.on::<KfreeSkb<'static>>(s, move |t, e, p| freed(t, e, p.skbaddr));
}

fn rows(least: &FxHashMap<(u16, u16), Least>) -> Vec<SkewRow> {
    let least: FxHashMap<(u16, u16), Least> = least.iter().map(|(of, l)| (*of, l.believed())).collect();
    let edges = least.iter().filter_map(|((a, b), l)| Some((*a, *b, l.least()?.0)));
    let mut edges: Vec<(u16, u16, i64)> = edges.collect();
    edges.sort_unstable();
    let paths = paths(&edges);
    let mut pairs: Vec<(u16, u16)> = edges.iter().map(|e| (e.0.min(e.1), e.0.max(e.1))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let row = |(a, b): (u16, u16)| {
        let (ab, ba) = (least.get(&(a, b)).copied(), least.get(&(b, a)).copied());
        let most = paths.dist.get(&(a, b)).copied();
        let lowest = paths.dist.get(&(b, a)).map(|d| d.saturating_neg());
        let of = |l: Option<Least>| l.unwrap_or_default();
        let said = |l: Option<Least>| l.and_then(|l| l.least());
        let negative = [ab, ba].into_iter().filter_map(said).map(|l| l.0.min(0)).min();
        SkewRow {
            cpu_a: a,
            cpu_b: b,
            pairs_ab: of(ab).n,
            pairs_ba: of(ba).n,
            min_ab_ns: said(ab).map(|l| l.0),
            min_ba_ns: said(ba).map(|l| l.0),
            kind_ab: said(ab).map_or("", |l| l.1),
            kind_ba: said(ba).map_or("", |l| l.1),
            ahead_least_ns: lowest,
            ahead_most_ns: most,
            // The value nearest to 0 between the two; where they cross, either is wrong, and `consistent` says so.
            offset_ns: lowest.unwrap_or(i64::MIN).max(most.map_or(0, |m| m.min(0))),
            residual_ns: negative.unwrap_or(0).saturating_neg(),
            negative: of(ab).negative + of(ba).negative,
            consistent: ![a, b].iter().any(|c| paths.contradicted.contains(c)),
        }
    };
    pairs.into_iter().map(row).collect()
}
