//! Did frames go to a wrong link-layer address? Times for which an entry had another address than before, and what was sent then.
//!
//! In: rows of `neighbours`, `drops`, `hops`, `tx`. Out: [`Spell`], those first with which something went wrong. Limits: no event
//! tells which neighbour a frame was sent to, so that what went wrong has to do with the address is inferred, from the device and the time.
//!
//! ```text
//! entry (device, address):  aa ──────┬─ bb ────────────────┬─ aa ...       a spell: bb, from, to, before, after, who
//!                          update ──┘                     └── update, or the entry failed or was released
//! in it, on its device: frames that came to a device they were not addressed to (OTHERHOST), segments that were sent again
//! ```
//! An entry that is made while another of its device and address lives, or whose event tells another address than the one before
//! left, is one of another namespace: of such nothing is said.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyses::drops::reasons::OTHERHOST;
use crate::confidence::Confidence;
use crate::explain::{Id, Kind};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::TAPPED;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::neighbours::tables::{LinkAddr, NeighbourRow, state_word};
use crate::reconstruct::transmit::tables::TxRow;

mod circling;
mod flapping;
#[cfg(test)]
mod tests;

pub use circling::{Circling, circling};
pub(crate) use flapping::changes;
pub use flapping::{Flapping, flapping};

/// A time for which an entry had another address than before.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Spell {
    /// The event that set it.
    pub id: Option<Id>,
    /// Device.
    pub dev: String,
    /// Whose.
    pub address: String,
    /// Link-layer address that it had in that time.
    pub lladdr: String,
    /// State that it came with.
    pub state: String,
    /// The one before.
    pub before: String,
    /// The one after; empty: none was learnt.
    pub after: Option<String>,
    /// When it came, ns.
    pub from_ns: i64,
    /// When it went, ns; empty: it was still there when the recording ended.
    pub to_ns: Option<i64>,
    /// Who set it.
    pub by: String,
    /// Frames queued on the device in that time that were freed as OTHERHOST by a device of this recording, and are lost or may be.
    pub strayed: u64,
    /// Place of the first of them in the view `drops`.
    pub first_drop: Option<u64>,
    /// TCP segments queued on the device in that time that were sent again.
    pub resent: u64,
    /// How often in all: one may be sent again more than once.
    #[serde(skip)]
    pub again: u64,
    /// Of these, how often after that time.
    #[serde(skip)]
    pub after_it: u64,
    /// Of the address and its times: weak where events were lost, or only what was asked for is recorded.
    pub confidence: Confidence,
}

impl Spell {
    /// Whether something went wrong that the address can be the reason of.
    pub fn matters(&self) -> bool {
        self.strayed > 0 || self.resent > 0
    }
}

/// What an entry holds, while its events are read.
#[derive(Default)]
struct Entry<'r> {
    now: Option<LinkAddr>,
    last: Option<LinkAddr>,
    /// Its address came by this row, in place of another one.
    changed: Option<(LinkAddr, &'r NeighbourRow)>,
    found: Vec<Found<'r>>,
    /// Events of more than one entry.
    mixed: bool,
}

struct Found<'r> {
    before: LinkAddr,
    lladdr: LinkAddr,
    set: &'r NeighbourRow,
    to_ns: Option<i64>,
    after: Option<LinkAddr>,
}

impl<'r> Entry<'r> {
    fn event(&mut self, row: &'r NeighbourRow) {
        let told = row.before.and_then(|h| h.valid());
        match row.event {
            "create" => self.mixed |= self.now.is_some() && row.err == Some(0),
            "update" => {
                self.seen(told);
                match row.after.and_then(|h| h.valid()) {
                    Some(new) if row.err.unwrap_or(0) == 0 => self.learn(new, row),
                    None if row.err.unwrap_or(0) == 0 => self.end(row.time_ns),
                    _ => {}
                }
            }
            "cleanup_and_release" => self.end(row.time_ns),
            "timer_handler" if told.is_none() => self.end(row.time_ns),
            _ => self.seen(told),
        }
    }
    /// What an event says was there before it.
    fn seen(&mut self, told: Option<LinkAddr>) {
        match (self.now, told) {
            (None, Some(there)) if self.last.is_none() => (self.now, self.last) = (told, Some(there)),
            (now, told) => self.mixed |= now != told,
        }
    }
    fn learn(&mut self, new: LinkAddr, row: &'r NeighbourRow) {
        if self.now == Some(new) {
            return;
        }
        self.end(row.time_ns);
        let before = self.last.filter(|b| *b != new);
        let open = self.found.last_mut().filter(|f| f.after.is_none());
        self.changed = match open {
            // It went, and came again.
            Some(f) if f.lladdr == new => Some((f.before, row)),
            Some(f) => {
                f.after = Some(new);
                // Back to what it was is no spell.
                before.filter(|_| f.before != new).map(|b| (b, row))
            }
            None => before.map(|b| (b, row)),
        };
        (self.now, self.last) = (Some(new), Some(new));
    }
    fn end(&mut self, at: i64) {
        let Some(lladdr) = self.now.take() else { return };
        self.close(lladdr, Some(at));
    }
    fn close(&mut self, lladdr: LinkAddr, to_ns: Option<i64>) {
        if let Some((before, set)) = self.changed.take() {
            self.found.push(Found {
                before,
                lladdr,
                set,
                to_ns,
                after: None,
            });
        }
    }
}

/// Who asked for it.
fn by(row: &NeighbourRow) -> String {
    let task = match row.task.is_empty() {
        true => format!("thread {}", row.pid),
        false => format!("{} ({})", row.task.text(), row.pid),
    };
    match (row.netlink, row.pid) {
        (0, 0) => "the kernel, in a softirq".into(),
        (0, _) => format!("the kernel, in a call of {task}"),
        (port, 0) => format!("netlink port {port}"),
        _ => format!("{task}, over netlink"),
    }
}

/// Asks.
pub fn answer(facts: &Facts) -> Vec<Spell> {
    let mut entries: BTreeMap<(Name, IpAddr), Entry<'_>> = BTreeMap::new();
    for row in &facts.neighbours {
        entries.entry((row.dev, row.address)).or_default().event(row);
    }
    for e in entries.values_mut() {
        if let Some(lladdr) = e.now.take() {
            e.close(lladdr, None);
        }
    }
    let found = entries.into_values().filter(|e| !e.mixed).flat_map(|e| e.found);
    let mut found: Vec<Found<'_>> = found.collect();
    if found.is_empty() {
        return vec![];
    }
    let strayed = strayed(facts);
    found.sort_by_key(|f| f.set.time_ns);
    let mut spells: Vec<Spell> = found.iter().map(|f| f.spell(facts, &strayed)).collect();
    spells.sort_by_key(|s| (std::cmp::Reverse(s.strayed), std::cmp::Reverse(s.resent)));
    spells
}

/// A frame that came to a device that it was not addressed to.
struct Strayed {
    /// Place in `drops`.
    at: u64,
    /// On which it was sent last, and when.
    dev: Name,
    sent_ns: i64,
    connection: Option<ConnectionId>,
}

/// Whether two addresses are of one network, as networks are divided most (/24, /64).
fn near(a: IpAddr, b: IpAddr) -> bool {
    match (a.to_canonical(), b.to_canonical()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => a.octets()[..3] == b.octets()[..3],
        (IpAddr::V6(a), IpAddr::V6(b)) => a.octets()[..8] == b.octets()[..8],
        _ => false,
    }
}

/// All of them, but of devices that only listen.
fn strayed(facts: &Facts) -> Vec<Strayed> {
    let drops = (0u64..).zip(&facts.drops);
    let others = drops.filter(|(_, d)| {
        let reason = facts.names.drop_reason(d.reason);
        let seen_only = d.why == TAPPED;
        d.expected != Some(true) && !seen_only && matches!(reason, crate::table::Cell::Str(s) if s == OTHERHOST)
    });
    let connection = |d: &DropRow| d.owner.and_then(|o| o.connection);
    let others: Vec<_> = others
        .filter_map(|(at, d)| Some(((at, connection(d)), d.skb_id?, d.time_ns)))
        .collect();
    let mut last: FxHashMap<(SkbId, i64), (Name, i64)> = FxHashMap::default();
    let mut asked: FxHashMap<SkbId, Vec<i64>> = FxHashMap::default();
    for (_, skb, at) in &others {
        asked.entry(*skb).or_default().push(*at);
    }
    for h in facts.hops.iter().filter(|h| h.kind == "queue") {
        for at in asked
            .get(&h.skb_id)
            .into_iter()
            .flatten()
            .filter(|at| h.time_ns <= **at)
        {
            last.insert((h.skb_id, *at), (h.dev, h.time_ns));
        }
    }
    let sent = others.into_iter().filter_map(|((at, connection), skb, freed)| {
        let (dev, sent_ns) = *last.get(&(skb, freed))?;
        Some(Strayed {
            at,
            dev,
            sent_ns,
            connection,
        })
    });
    sent.collect()
}

/// How often something of the connections of these was sent again after a time: of each segment the first time was before it.
fn after_it<'f>(facts: &Facts, resent: impl Iterator<Item = &'f TxRow> + Clone, to: i64) -> u64 {
    let of: FxHashSet<ConnectionId> = resent.clone().filter_map(|t| t.connection).collect();
    let later = facts.retransmits.iter().filter(|r| r.time_ns > to);
    let later = later.filter(|r| r.connection.is_some_and(|c| of.contains(&c))).count() as u64;
    let more = resent.map(|t| u64::from(t.retransmits).saturating_sub(1)).sum();
    later.min(more)
}

impl Found<'_> {
    fn spell(&self, facts: &Facts, strayed: &[Strayed]) -> Spell {
        let (from, to) = (self.set.time_ns, self.to_ns.unwrap_or(i64::MAX));
        let within = |dev: Name, at: i64| dev == self.set.dev && (from..=to).contains(&at);
        // Of devices that have one name in several namespaces: of hosts of that neighbour's network.
        let one = !facts.routes.links.several(&self.set.dev.text());
        let theirs = |c: Option<ConnectionId>| {
            let saddr = c.and_then(|c| facts.connections.get(c.0 as usize)?.saddr);
            one || saddr.is_some_and(|a| near(a, self.set.address))
        };
        let own = strayed
            .iter()
            .filter(|s| within(s.dev, s.sent_ns) && theirs(s.connection));
        let resent = facts.tx.iter().filter(|t| t.connection.is_some() && t.retransmits > 0);
        let resent = resent.filter(|t| theirs(t.connection) && within(t.dev, t.t_sched_ns));
        Spell {
            id: Id::of_row(Kind::Neighbour, &facts.neighbours, self.set),
            dev: self.set.dev.text().into_owned(),
            address: self.set.address.to_string(),
            lladdr: self.lladdr.to_string(),
            state: self.set.after.map_or_else(String::new, |h| state_word(h.state)),
            before: self.before.to_string(),
            after: self.after.map(|a| a.to_string()),
            from_ns: from,
            to_ns: self.to_ns,
            by: by(self.set),
            strayed: own.clone().count() as u64,
            first_drop: own.map(|s| s.at).min(),
            resent: resent.clone().count() as u64,
            again: resent.clone().map(|t| u64::from(t.retransmits)).sum(),
            after_it: after_it(facts, resent, to),
            confidence: match facts.gaps.is_empty() {
                true => self.set.confidence,
                false => Confidence::Weak,
            },
        }
    }
}
