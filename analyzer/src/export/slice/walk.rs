//! Over the events: which others' packets stay for the subject's waits, and which events are left out.

use netmortem_formats::Capture;
use netmortem_formats::event_format::IntAccess;
use rustc_hash::FxHashMap;

use super::families::Families;
use super::owners::{Of, Owners};
use super::{Care, Cut, Drops};
use crate::facts::{Facts, SkbId};
use crate::ingest::{GapRow, Rec, Trace};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::skb::Identity;
use crate::reconstruct::skb::tables::{DeathKind, SkbClass};
use crate::reconstruct::tcp::Tcp;
use crate::table::Cell;

/// Systems whose events may be of one flow or device.
const NETWORK: [&str; 6] = ["net", "skb", "napi", "qdisc", "tcp", "sock"];
/// Of these, what stays in any case: rare, and what tells which socket an address is.
const KEPT: [&str; 7] = [
    "inet_sock_set_state",
    "tcp_set_state",
    "tcp_destroy_sock",
    "tcp_cong_state_set",
    "tcp_send_reset",
    "tcp_receive_reset",
    "tcp_retransmit_synack",
];
/// Companions of TCP originals that stay at least, whoever's they are: from them it is learned how far above its original a
/// companion lies (`reconstruct::skb::fclone` wants 32 frames).
const WITNESSES: usize = 64;
/// Fields that name a socket.
const SOCKETS: [&str; 2] = ["skaddr", "sk"];

/// What an event can say of whose it is.
#[derive(Debug, Clone, Copy)]
enum Class {
    /// It stays.
    Kept,
    /// What its skb, or its socket, says.
    Network(Option<IntAccess>),
    /// Ends what the last `*_entry` of that name on its CPU began (places in `Walk::pairs`).
    Exit(usize),
}

/// The samples of all sockets.
const SAMPLES: (&str, &str) = ("tcp", "tcp_probe");

/// Over one recording.
pub struct Walk<'w, 'c> {
    capture: &'c Capture,
    trace: &'w Trace<'c>,
    identity: &'w Identity,
    tcp: &'w Tcp,
    facts: &'w Facts,
    classes: FxHashMap<u16, Class>,
    /// Event id of an entry: its place among the names with an entry and an exit.
    entries: FxHashMap<u16, usize>,
}

impl<'w, 'c> Walk<'w, 'c> {
    /// Of a capture whose sockets and lives are known.
    pub fn new(
        capture: &'c Capture,
        trace: &'w Trace<'c>,
        identity: &'w Identity,
        tcp: &'w Tcp,
        facts: &'w Facts,
    ) -> Self {
        let (mut classes, mut entries) = (FxHashMap::default(), FxHashMap::default());
        for (i, f) in trace.schema.formats().iter().enumerate() {
            let network = NETWORK.contains(&f.system.as_str()) && !KEPT.contains(&f.name.as_str());
            let entry = f.name.strip_suffix("_exit").map(|stem| format!("{stem}_entry"));
            let entry = entry.and_then(|name| trace.schema.format(&f.system, &name));
            let class = match (network, entry) {
                (false, _) => Class::Kept,
                (true, Some(entry)) => {
                    entries.insert(entry.id, i);
                    Class::Exit(i)
                }
                (true, None) => {
                    let bound = SOCKETS.iter().find_map(|n| IntAccess::bind(f, n, trace.schema.endian));
                    Class::Network(bound)
                }
            };
            classes.entry(f.id).or_insert(class);
        }
        Walk {
            capture,
            trace,
            identity,
            tcp,
            facts,
            classes,
            entries,
        }
    }

    /// What is left out.
    pub fn run(&self, owners: &mut Owners, care: Care) -> Cut {
        let mut stays = self.stays(owners);
        if matches!(care, Care::ButPackets | Care::ButDrops) {
            stays.fill(true);
        }
        let samples = self.trace.schema.format(SAMPLES.0, SAMPLES.1).map(|f| f.id);
        let kept = samples.filter(|_| care != Care::Everything);
        let mut cut = Cut::default();
        for (id, (of, stays)) in owners.skbs.iter().zip(&stays).enumerate() {
            if *of == Of::Own {
                cut.lives.push(SkbId(id as u32));
            }
            let count = match (of, stays) {
                (Of::Own, _) => &mut cut.own,
                (Of::Unknown, _) => &mut cut.unknown,
                (Of::Other, true) => &mut cut.context,
                (Of::Other, false) => &mut cut.others,
            };
            *count += 1;
        }
        let mut chunks = vec![];
        for (s, stream) in self.capture.streams.iter().enumerate() {
            chunks.extend((0..stream.chunks.len()).map(|c| (s, c)));
        }
        let mut counts: FxHashMap<u16, u64> = FxHashMap::default();
        // Of every CPU and name, whether the entries that are open were left out.
        let mut open: FxHashMap<(u16, usize), Vec<bool>> = FxHashMap::default();
        let mut gaps = by_end(&self.trace.gaps).into_iter().peekable();
        for (i, r) in self.trace.recs.iter().enumerate() {
            // What began before a loss may have ended in it.
            while let Some(g) = gaps.next_if(|g| closes(g) <= Some(r.ts)) {
                open.retain(|(cpu, _), _| u32::from(*cpu) != g.cpu);
            }
            let dropped = owners.drops.get(&(i as u32)).map(|d| d.0);
            let gone = match self.classes.get(&r.kind) {
                _ if Some(r.kind) == kept => false,
                // Also of a packet that stays: its drop is another's.
                _ if dropped == Some(Of::Other) && care != Care::ButDrops => true,
                None | Some(Class::Kept) => false,
                Some(Class::Exit(name)) => {
                    let began = open.get_mut(&(r.cpu, *name)).and_then(Vec::pop);
                    let skb = self.identity.of(i as u32);
                    skb.map_or(began == Some(true), |s| !staying(&stays, s))
                }
                Some(Class::Network(socket)) => self.is_others(owners, &stays, i, r, socket.as_ref()),
            };
            if let Some(name) = self.entries.get(&r.kind) {
                open.entry((r.cpu, *name)).or_default().push(gone);
            }
            if gone && let Some(place) = chunks.get(r.block as usize) {
                cut.dropped.entry(*place).or_default().push(r.offset);
                *counts.entry(r.kind).or_default() += 1;
            }
        }
        cut.drops = self.count_drops(owners, care);
        for offsets in cut.dropped.values_mut() {
            offsets.sort_unstable();
        }
        for (id, n) in counts {
            let name = self
                .trace
                .schema
                .by_id(id)
                .map_or_else(|| format!("id:{id}"), |f| f.key());
            *cut.events.entry(name).or_default() += n;
        }
        cut
    }

    /// Whose drops there are.
    fn count_drops(&self, owners: &Owners, care: Care) -> Drops {
        let mut out = Drops::default();
        for (of, row) in owners.drops.values() {
            match of {
                Of::Own => out.own.push(*row),
                Of::Other if care == Care::ButDrops => out.others_kept += 1,
                Of::Other => out.others += 1,
                Of::Unknown => {
                    out.unknown += 1;
                    if let Some(d) = self.facts.drops.get(*row) {
                        *out.unknown_by.entry(self.place(d)).or_default() += 1;
                    }
                }
            }
        }
        out.own.sort_unstable();
        // Drops that cannot be told by their events.
        out.unknown += (self.facts.drops.len() as u64).saturating_sub(owners.drops.len() as u64);
        out
    }

    /// Reason and function of a drop.
    fn place(&self, d: &DropRow) -> String {
        let names = &self.facts.names;
        let text = |c: Cell<'_>| match c {
            Cell::Str(s) => s.into_owned(),
            _ => String::new(),
        };
        match (text(names.drop_reason(d.reason)), text(names.location(d.location))) {
            (reason, place) if reason.is_empty() || place.is_empty() => reason + &place,
            (reason, place) => format!("{reason} at {place}"),
        }
    }

    fn is_others(&self, owners: &Owners, stays: &[bool], i: usize, r: &Rec, socket: Option<&IntAccess>) -> bool {
        if let Some(skb) = self.identity.of(i as u32) {
            return !staying(stays, skb);
        }
        let probe = self.tcp.probes.binary_search_by_key(&(i as u32), |p| p.0).ok();
        let probe = probe.and_then(|at| self.tcp.probes.get(at)).map(|p| p.1);
        let named = || {
            let sk = socket?.u64(self.trace.payload(r))?;
            self.tcp.sockets.at(sk, r.ts)
        };
        let Some(connection) = probe.or_else(named) else {
            return false;
        };
        if owners.connections.get(connection.0 as usize) != Some(&Of::Other) {
            return false;
        }
        // What a thread of the subject did besides is part of why a packet waited for it.
        let event = self.trace.event(i);
        !event.is_some_and(|e| e.in_task() && owners.pids.contains(&e.pid))
    }

    /// Which lives stay, by `skb_id`.
    fn stays(&self, owners: &mut Owners) -> Vec<bool> {
        let own: Vec<bool> = owners.skbs.iter().map(|of| *of == Of::Own).collect();
        let mut stays: Vec<bool> = owners.skbs.iter().map(|of| *of != Of::Other).collect();
        self.beside(owners, &own, &mut stays);
        self.next_at_address(&mut stays);
        self.witnesses(&mut stays);
        whole(&mut owners.packets, &mut stays);
        stays
    }

    /// Others in the same softirq run or poll, or handled by a thread of the subject.
    fn beside(&self, owners: &Owners, own: &[bool], stays: &mut [bool]) {
        let runs = Runs::of(self.facts);
        let mut shared = vec![false; runs.spans.len()];
        for (i, r) in self.trace.recs.iter().enumerate() {
            if !self.identity.of(i as u32).is_some_and(|s| staying(own, s)) {
                continue;
            }
            for run in runs.at(r.cpu, r.ts) {
                if let Some(s) = shared.get_mut(run) {
                    *s = true;
                }
            }
        }
        for (i, r) in self.trace.recs.iter().enumerate() {
            let Some(skb) = self.identity.of(i as u32).filter(|s| !staying(stays, *s)) else {
                continue;
            };
            let mut here = runs.at(r.cpu, r.ts);
            let of_run = here.any(|run| shared.get(run) == Some(&true));
            let of_thread = || {
                let event = self.trace.event(i);
                event.is_some_and(|e| e.in_task() && owners.pids.contains(&e.pid))
            };
            if of_run || of_thread() {
                stay(stays, skb);
            }
        }
    }

    /// So many companions that the layout of TCP's skbs can be learned from the slice, too.
    fn witnesses(&self, stays: &mut [bool]) {
        let companions = || self.facts.skbs.iter().filter(|s| s.class == SkbClass::TxClone);
        let there = companions().filter(|s| staying(stays, s.skb_id)).count();
        let missing = WITNESSES.saturating_sub(there);
        let more: Vec<SkbId> = companions()
            .map(|s| s.skb_id)
            .filter(|s| !staying(stays, *s))
            .take(missing)
            .collect();
        more.into_iter().for_each(|skb| stay(stays, skb));
    }

    /// The end of a life that no event tells is the begin of the next one at its address.
    fn next_at_address(&self, stays: &mut [bool]) {
        let mut last: FxHashMap<u64, SkbId> = FxHashMap::default();
        let before = stays.to_vec();
        for life in &self.facts.skbs {
            let previous = last.insert(life.skbaddr, life.skb_id);
            let Some(previous) = previous.filter(|p| staying(&before, *p)) else {
                continue;
            };
            let seen = self.facts.skbs.get(previous.0 as usize).is_some_and(|p| {
                use DeathKind::{Consumed, Dropped, GroMerged, Segmented};
                matches!(p.death_kind, Consumed | Dropped | GroMerged | Segmented)
            });
            if !seen {
                stay(stays, life.skb_id);
            }
        }
    }
}

/// Gaps as they end: one that lasts must not hide that another CPU's is over.
pub(super) fn by_end(gaps: &[GapRow]) -> Vec<&GapRow> {
    let mut gaps: Vec<&GapRow> = gaps.iter().collect();
    gaps.sort_by_key(|g| closes(g));
    gaps
}

/// From when on nothing that began before the gap is open: its end, or its begin where no event of its stream follows.
fn closes(gap: &GapRow) -> Option<i64> {
    gap.end_ns.or(gap.start_ns)
}

fn staying(stays: &[bool], skb: SkbId) -> bool {
    stays.get(skb.0 as usize).copied().unwrap_or(true)
}

fn stay(stays: &mut [bool], skb: SkbId) {
    if let Some(s) = stays.get_mut(skb.0 as usize) {
        *s = true;
    }
}

/// Of a packet that stays, all lives stay.
fn whole(packets: &mut Families, stays: &mut [bool]) {
    let mut of = vec![false; stays.len()];
    for i in (0..stays.len()).filter(|i| stays.get(*i) == Some(&true)) {
        if let Some(f) = of.get_mut(packets.of(SkbId(i as u32))) {
            *f = true;
        }
    }
    for (i, s) in stays.iter_mut().enumerate() {
        *s |= of.get(packets.of(SkbId(i as u32))).copied().unwrap_or(false);
    }
}

/// Softirq runs, and polls outside of them: intervals of a CPU.
struct Runs {
    /// (cpu, first ns, last ns), ascending; those of one CPU do not overlap.
    spans: Vec<(u16, i64, i64)>,
}

impl Runs {
    fn of(facts: &Facts) -> Runs {
        let softirqs = facts.softirqs.iter().map(|s| (s.cpu, s.start_ns, s.end_ns));
        let polls = facts
            .polls
            .iter()
            .filter_map(|p| Some((p.cpu, p.start_ns?, p.flush_end_ns.or(Some(p.end_ns)))));
        let mut all: Vec<_> = softirqs.chain(polls).collect();
        all.sort_unstable();
        let mut spans: Vec<(u16, i64, i64)> = vec![];
        let mut next = all.iter().skip(1);
        for (cpu, from, to) in all.iter().copied() {
            // An end that was not seen is before the next begin at the latest.
            let next = next
                .next()
                .filter(|n| n.0 == cpu)
                .map_or(i64::MAX, |n| n.1.saturating_sub(1));
            let to = to.unwrap_or(next);
            match spans.last_mut() {
                Some(last) if last.0 == cpu && from <= last.2 => last.2 = last.2.max(to),
                _ => spans.push((cpu, from, to)),
            }
        }
        Runs { spans }
    }

    fn at(&self, cpu: u16, ts: i64) -> impl Iterator<Item = usize> {
        let i = self.spans.partition_point(|s| (s.0, s.1) <= (cpu, ts)).checked_sub(1);
        i.filter(|i| self.spans.get(*i).is_some_and(|s| s.0 == cpu && ts <= s.2))
            .into_iter()
    }
}
