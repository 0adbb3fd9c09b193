//! GRO: which head took a packet in. Entries and exits pair as a stack per CPU; heads are held per NAPI.

use rustc_hash::FxHashMap;

use super::tables::{Conserved, LineageKind, LineageRow, Rule};
use super::unit::{Unit, UnitKind};
use super::why::Why;
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::name::Name;
use crate::reconstruct::receive::payload;

/// `gro_result`: merged into a frag_list, merged and freed, held as a head.
const MERGED: i32 = 0;
const MERGED_FREE: i32 = 1;
const HELD: i32 = 2;
/// Entries nest no deeper: an exit was lost.
const DEPTH: usize = 16;
/// Heads that one NAPI holds at most (GRO_HASH_BUCKETS * MAX_GRO_SKBS).
const HEADS: usize = 64;
/// Without exits: packets given to GRO and not delivered, per NAPI.
const PENDING: usize = 1024;
/// Network and transport headers: smallest (IPv4 and UDP) and largest taken for one.
const HEADERS: std::ops::RangeInclusive<u32> = 28..=140;
/// Heads delivered that no tcp_probe has named yet.
const FRESH: usize = 65_536;

/// Where packets meet: a NAPI instance, or where it has no id, a device on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// `napi_id`, 0 for none.
    pub napi_id: u32,
    /// CPU, when it has none.
    pub cpu: u16,
    /// Device.
    pub dev: Name,
}

/// A packet given to GRO.
#[derive(Debug, Clone, Copy)]
pub struct Given {
    /// Life.
    pub skb: SkbId,
    /// Bytes without link header.
    pub len: u32,
    /// Flow hash, 0 when not computed.
    pub hash: u32,
    /// Where.
    pub place: Place,
}

/// A head, from when it is held until its delivery.
#[derive(Debug, Clone)]
struct Head {
    given: Given,
    /// Members: edges, by position, and the sum of their lengths.
    edges: Vec<u32>,
    sum: u64,
    /// Length at delivery.
    grown: Option<u32>,
}

impl Head {
    fn of(given: Given) -> Head {
        Head {
            given,
            edges: Vec::new(),
            sum: 0,
            grown: None,
        }
    }
    fn growth(&self) -> Option<u64> {
        self.grown.map(|g| u64::from(g.saturating_sub(self.given.len)))
    }
    /// Headers that make `extra` more bytes in `n` more packets add up to the growth.
    fn headers(&self, n: u64, extra: u64) -> Option<u32> {
        let n = n + self.edges.len() as u64;
        let rest = (self.sum + extra).checked_sub(self.growth()?)?;
        let h = u32::try_from(rest.checked_div(n)?).ok()?;
        (rest % n == 0 && h % 4 == 0 && HEADERS.contains(&h)).then_some(h)
    }
}

#[derive(Debug)]
struct Entry {
    given: Given,
    /// Heads delivered while it was open, as positions in `done`.
    delivered: Vec<u32>,
}

/// A head that was delivered having grown, until the headers of its flow are known.
#[derive(Debug)]
struct Done {
    head: Head,
    headers: Option<u32>,
    connection: Option<ConnectionId>,
}

/// The machine of all CPUs.
#[derive(Debug, Default)]
pub struct Gro {
    /// The capture has exit events.
    pub has_exit: bool,
    /// The capture has `netif_receive_skb`.
    pub has_receive: bool,
    open: Vec<Vec<Entry>>,
    held: FxHashMap<Place, Vec<Head>>,
    /// Where a head is held, or without exits, where a packet was given.
    holder: FxHashMap<SkbId, Place>,
    pending: FxHashMap<Place, Vec<Given>>,
    done: Vec<Done>,
    /// Delivered and not yet seen by TCP: position in `done`.
    fresh: FxHashMap<SkbId, u32>,
    /// Lengths of members, as their edges.
    lens: Vec<u32>,
    rows: Vec<LineageRow>,
}

impl Gro {
    fn stack(&mut self, cpu: u16) -> Option<&mut Vec<Entry>> {
        let at = usize::from(cpu);
        if self.open.len() <= at {
            self.open.resize_with(at + 1, Vec::new);
        }
        self.open.get_mut(at)
    }

    /// Events were lost: what is held and open is not known any more.
    pub fn forget(&mut self) {
        self.open.clear();
        self.held.clear();
        self.holder.clear();
        self.pending.clear();
    }

    /// `napi_gro_receive_entry`, `napi_gro_frags_entry`.
    pub fn entry(&mut self, cpu: u16, given: Given) {
        if !self.has_exit {
            let of = self.pending.entry(given.place).or_default();
            if of.len() >= PENDING {
                for g in of.drain(..PENDING / 2) {
                    self.holder.remove(&g.skb);
                }
            }
            self.holder.insert(given.skb, given.place);
            return of.push(given);
        }
        if let Some(s) = self.stack(cpu) {
            if s.len() >= DEPTH {
                s.clear();
            }
            let delivered = Vec::new();
            s.push(Entry { given, delivered });
        }
    }

    /// Its exit: what became of the innermost open entry.
    pub fn exit(&mut self, ts: i64, cpu: u16, ret: i32) {
        let Some(entry) = self.stack(cpu).and_then(Vec::pop) else {
            return;
        };
        let given = entry.given;
        match ret {
            HELD if self.has_receive => {
                self.holder.insert(given.skb, given.place);
                let of = self.held.entry(given.place).or_default();
                of.push(Head::of(given));
                if of.len() > HEADS {
                    let lost = of.remove(0); // its delivery was not seen
                    self.holder.remove(&lost.given.skb);
                }
            }
            MERGED | MERGED_FREE => self.member(ts, given, ret, &entry.delivered),
            _ => {}
        }
    }

    /// The head that took it in: one delivered meanwhile that lacks its bytes, else one that is held.
    fn member(&mut self, ts: i64, given: Given, ret: i32, delivered: &[u32]) {
        let same = |h: &Head| h.given.place == given.place && h.given.hash == given.hash;
        let lacking = delivered.iter().copied().find(|i| {
            let head = self.done.get(*i as usize).map(|d| &d.head);
            head.is_some_and(|h| same(h) && h.headers(0, 0).is_none() && h.headers(1, given.len.into()).is_some())
        });
        let done = lacking.and_then(|i| self.done.get_mut(i as usize)).map(|d| &mut d.head);
        let held = self.held.get_mut(&given.place).map_or(&mut [][..], |h| h);
        let n = held.iter().filter(|h| same(h)).count();
        let young = held.iter_mut().rev().find(|h| same(h));
        let (head, rule, confidence) = match (done, young, n) {
            (Some(h), _, _) => (h, Rule::GroOpenEntry, Confidence::Certain),
            (None, Some(h), 1) => (h, Rule::GroExit, Confidence::Certain),
            (None, Some(h), _) => (h, Rule::GroExitOneOfMany, Confidence::Weak),
            (None, None, _) => {
                // One delivered meanwhile all the same, though lengths do not show it.
                let last = delivered.iter().rev().find(|i| {
                    let head = self.done.get(**i as usize).map(|d| &d.head);
                    head.is_some_and(same)
                });
                match last.and_then(|i| self.done.get_mut(*i as usize)) {
                    Some(d) => (&mut d.head, Rule::GroOpenEntry, Confidence::Weak),
                    None => return,
                }
            }
        };
        head.edges.push(self.rows.len() as u32);
        head.sum += u64::from(given.len);
        self.lens.push(given.len);
        self.rows.push(LineageRow {
            ts_ns: ts,
            parent: head.given.skb,
            child: given.skb,
            kind: if ret == MERGED {
                LineageKind::FragList
            } else {
                LineageKind::GroMerge
            },
            rule,
            bytes: None,
            conserved: Conserved::Unknown,
            why: Why::default(),
            confidence,
        });
    }

    /// `netif_receive_skb`.
    pub fn receive(&mut self, ts: i64, cpu: u16, skb: SkbId, len: u32) {
        let Some(place) = self.holder.remove(&skb) else { return };
        if !self.has_exit {
            return self.receive_without_exits(ts, skb, len, place);
        }
        let held = self.held.get_mut(&place);
        let Some(mut head) = held.and_then(|of| {
            let at = of.iter().position(|h| h.given.skb == skb)?;
            Some(of.remove(at))
        }) else {
            return;
        };
        head.grown = Some(len);
        if let Some(i) = self.deliver(head)
            && let Some(open) = self.stack(cpu).and_then(|s| s.last_mut())
        {
            open.delivered.push(i);
        }
    }

    /// Before 5.0: what was given after a head and is not delivered itself, as long as it makes up the head's growth.
    fn receive_without_exits(&mut self, ts: i64, skb: SkbId, len: u32, place: Place) {
        let Some(of) = self.pending.get_mut(&place) else { return };
        let Some(i) = of.iter().position(|g| g.skb == skb) else {
            return;
        };
        let mut head = Head::of(of.remove(i));
        head.grown = Some(len);
        if head.growth() == Some(0) {
            return;
        }
        // The fewest followers of its flow that add up.
        let mut sum = 0u64;
        let mut followers = vec![];
        let mut adds_up = false;
        for (n, g) in of.iter().enumerate().skip(i).filter(|(_, g)| g.hash == head.given.hash) {
            sum += u64::from(g.len);
            followers.push(n);
            adds_up = head.headers(followers.len() as u64, sum).is_some();
            if adds_up
                || head
                    .growth()
                    .is_some_and(|g| sum > g + u64::from(*HEADERS.end()) * followers.len() as u64)
            {
                break;
            }
        }
        if !adds_up {
            followers.clear();
        }
        let members: Vec<Given> = followers.iter().rev().map(|n| of.remove(*n)).collect();
        for g in members.into_iter().rev() {
            self.holder.remove(&g.skb);
            head.edges.push(self.rows.len() as u32);
            head.sum += u64::from(g.len);
            self.lens.push(g.len);
            self.rows.push(LineageRow {
                ts_ns: ts,
                parent: skb,
                child: g.skb,
                kind: LineageKind::GroMerge,
                rule: Rule::GroGrowth,
                bytes: None,
                conserved: Conserved::Unknown,
                why: Why::default(),
                confidence: Confidence::Strong,
            });
        }
        self.deliver(head);
    }

    fn deliver(&mut self, head: Head) -> Option<u32> {
        if head.edges.is_empty() && head.growth().unwrap_or(0) == 0 {
            return None;
        }
        if self.fresh.len() >= FRESH {
            self.fresh.clear(); // no tcp_probe names them
        }
        let i = self.done.len() as u32;
        self.fresh.insert(head.given.skb, i);
        self.done.push(Done {
            head,
            headers: None,
            connection: None,
        });
        Some(i)
    }

    /// `tcp_probe` of a head: its payload, so its headers.
    pub fn probe(&mut self, skb: SkbId, data_len: u16, connection: Option<ConnectionId>) {
        let Some(i) = self.fresh.remove(&skb) else { return };
        if let Some(d) = self.done.get_mut(i as usize) {
            d.connection = connection;
            d.headers = d.head.grown.map(|g| g - payload(data_len, Some(g)).min(g));
        }
    }

    /// Edges with their bytes, and the heads.
    pub fn finish(mut self) -> (Vec<LineageRow>, Vec<Unit>) {
        // The headers of a flow's packets are of one length, mostly: what most of its heads say.
        let mut votes: FxHashMap<(Place, u32), FxHashMap<u32, u32>> = FxHashMap::default();
        for d in &self.done {
            if let Some(h) = d.headers.or_else(|| d.head.headers(0, 0)) {
                let flow = votes.entry((d.head.given.place, d.head.given.hash)).or_default();
                *flow.entry(h).or_insert(0) += 1;
            }
        }
        let flows: FxHashMap<(Place, u32), u32> = votes
            .into_iter()
            .filter_map(|(k, v)| {
                let best = v.into_iter().max_by_key(|(h, n)| (*n, std::cmp::Reverse(*h)))?;
                Some((k, best.0))
            })
            .collect();
        let mut units = Vec::with_capacity(self.done.len());
        for d in std::mem::take(&mut self.done) {
            let flow = (d.head.given.place, d.head.given.hash);
            let headers = d.headers.or_else(|| flows.get(&flow).copied());
            units.push(self.settle(&d, headers));
        }
        (self.rows, units)
    }

    fn settle(&mut self, d: &Done, headers: Option<u32>) -> Unit {
        let n = d.head.edges.len() as u64;
        let found = headers.and_then(|h| d.head.sum.checked_sub(n * u64::from(h)));
        let growth = d.head.growth();
        let conserved = match (growth, found) {
            (Some(g), Some(f)) if g == f => Conserved::Yes,
            // Members of which nothing is known explain nothing.
            (Some(_), Some(_)) => Conserved::No,
            (Some(_), None) if n == 0 => Conserved::No,
            _ => Conserved::Unknown,
        };
        for i in &d.head.edges {
            let (Some(row), Some(len)) = (self.rows.get_mut(*i as usize), self.lens.get(*i as usize)) else {
                continue;
            };
            row.bytes = headers.and_then(|h| len.checked_sub(h));
            row.conserved = conserved;
            row.confidence = match conserved {
                Conserved::Yes if row.rule == Rule::GroExitOneOfMany => Confidence::Strong,
                Conserved::Yes => row.confidence,
                Conserved::Unknown => row.confidence.min(Confidence::Strong),
                Conserved::No => row.confidence.min(Confidence::Weak),
            };
        }
        Unit {
            kind: UnitKind::GroHead,
            skb: d.head.given.skb,
            connection: d.connection,
            edges: n as u32,
            expected: growth.unwrap_or(0),
            found: found.unwrap_or(0),
            conserved,
            why: Why::default(),
        }
    }
}
