//! Whose each life and each connection is.

use rustc_hash::{FxHashMap, FxHashSet};

use super::drops::{Drop, drops};
use super::families::Families;
use super::subject::{Ends, Subject};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::ingest::Trace;
use crate::reconstruct::lineage::tables::LineageKind;
use crate::reconstruct::skb::Identity;
use crate::reconstruct::tcp::Tcp;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::tables::TxKind;

/// Whose something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Of {
    /// The subject's.
    Own,
    /// Proven to be another's.
    Other,
    /// Nothing tells.
    #[default]
    Unknown,
}

/// Whose everything is.
#[derive(Debug)]
pub struct Owners {
    /// By `skb_id`.
    pub skbs: Vec<Of>,
    /// By `connection`.
    pub connections: Vec<Of>,
    /// Threads that read or sent what is the subject's.
    pub pids: FxHashSet<i32>,
    /// Lives that are one packet: copies, segments and parts merged by GRO, but not neighbours in a receive queue.
    pub packets: Families,
    /// Of each `kfree_skb`, by its place in the merged sequence: whose packet it freed, and its row of `drops`.
    pub drops: FxHashMap<u32, (Of, usize)>,
}

/// What is known by one of the two questions (which flow, which device), spread over families.
struct Marks {
    of: Vec<Of>,
}

impl Marks {
    fn new(lives: usize) -> Marks {
        Marks {
            of: vec![Of::Unknown; lives],
        }
    }

    /// `Own` is never taken back.
    fn set(&mut self, skb: SkbId, of: Of) {
        if let Some(mark) = self.of.get_mut(skb.0 as usize).filter(|m| **m != Of::Own) {
            *mark = of;
        }
    }

    /// The subject's when any relative is; another's when a relative by solid edges is.
    fn spread(self, all: &mut Families, solid: &mut Families) -> Vec<Of> {
        let lives = self.of.len();
        let (mut own, mut other) = (vec![false; lives], vec![false; lives]);
        for (i, mark) in self.of.iter().enumerate() {
            let id = SkbId(i as u32);
            let (marks, family) = match mark {
                Of::Own => (&mut own, all.of(id)),
                Of::Other => (&mut other, solid.of(id)),
                Of::Unknown => continue,
            };
            if let Some(m) = marks.get_mut(family) {
                *m = true;
            }
        }
        let told = |marks: &[bool], family: usize| marks.get(family).copied().unwrap_or(false);
        let ids = (0..lives).map(|i| SkbId(i as u32));
        ids.map(|id| match (told(&own, all.of(id)), told(&other, solid.of(id))) {
            (true, _) => Of::Own,
            (_, true) => Of::Other,
            _ => Of::Unknown,
        })
        .collect()
    }
}

impl Owners {
    /// Asks the tables, and the events of drops.
    pub fn of(read: (&Trace<'_>, &Identity, &Tcp), facts: &Facts, subject: &Subject, ends: &[Ends]) -> Owners {
        let lives = facts.skbs.len();
        let (mut all, mut solid, mut packets) = (Families::new(lives), Families::new(lives), Families::new(lives));
        for edge in &facts.lineage {
            all.join(edge.parent, edge.child);
            if edge.confidence.is_solid() {
                solid.join(edge.parent, edge.child);
            }
            if edge.kind != LineageKind::Coalesce {
                packets.join(edge.parent, edge.child);
            }
        }
        for (skb, original, solidly) in
            (facts.tx.iter()).filter_map(|r| Some((r.skb_id, r.original?, r.confidence.is_solid())))
        {
            all.join(skb, original);
            packets.join(skb, original);
            if solidly {
                solid.join(skb, original);
            }
        }
        let mut connections = by_ends(facts, ends);
        let mut dropped = drops(read, facts, subject, ends, &connections);
        let mut flow = flows(facts, &connections, ends, &dropped).spread(&mut all, &mut solid);
        // The other end inside this host, where addresses were translated between them: it has packets of the flow.
        let mut found = false;
        for (skb, c) in named(facts) {
            let own = flow.get(skb.0 as usize) == Some(&Of::Own);
            if let Some(of) = connections.get_mut(c.0 as usize).filter(|of| own && **of != Of::Own) {
                (*of, found) = (Of::Own, true);
            }
        }
        if found {
            // What names that end, or its socket, is the subject's too.
            let own = |c: &&ConnectionRow| connections.get(c.connection.0 as usize) == Some(&Of::Own);
            let theirs = facts.connections.iter().filter(own).filter_map(Ends::of);
            let all_ends: Vec<Ends> = ends.iter().copied().chain(theirs).collect();
            dropped = drops(read, facts, subject, &all_ends, &connections);
            flow = flows(facts, &connections, ends, &dropped).spread(&mut all, &mut solid);
        }
        let dev = devices(facts, subject).spread(&mut all, &mut solid);
        let skbs: Vec<Of> = flow.iter().zip(&dev).map(|(f, d)| both(*f, *d)).collect();
        if !subject.devs.is_empty() {
            // A connection is of the device when a packet of it is; of others when it has packets, and all are.
            let mut of: Vec<Option<Of>> = vec![None; connections.len()];
            for (skb, c) in named(facts) {
                let packet = dev.get(skb.0 as usize).copied().unwrap_or_default();
                if let Some(of) = of.get_mut(c.0 as usize) {
                    *of = Some(match (*of, packet) {
                        (Some(Of::Own), _) | (_, Of::Own) => Of::Own,
                        (Some(Of::Unknown), _) | (_, Of::Unknown) => Of::Unknown,
                        _ => Of::Other,
                    });
                }
            }
            for (c, of) in connections.iter_mut().zip(of) {
                *c = both(*c, of.unwrap_or_default());
            }
        }
        let mut pids = FxHashSet::default();
        let own = |c: Option<ConnectionId>| c.is_some_and(|c| connections.get(c.0 as usize) == Some(&Of::Own));
        pids.extend(facts.rx.iter().filter(|r| own(r.connection)).map(|r| r.pid));
        pids.extend(facts.tx.iter().filter(|r| own(r.connection)).map(|r| r.pid));
        pids.extend(
            facts
                .connections
                .iter()
                .filter(|c| own(Some(c.connection)))
                .map(|c| c.pid),
        );
        // 0 is nobody known.
        pids.remove(&0);
        let whose = |d: &Drop| match d.skb.and_then(|s| skbs.get(s.0 as usize)) {
            Some(of) => *of,
            None => both(d.flow, d.dev),
        };
        let drops = dropped.iter().map(|d| (d.index, (whose(d), d.row))).collect();
        Owners {
            skbs,
            connections,
            pids,
            packets,
            drops,
        }
    }
}

/// The subject's when it is by both; another's when it is by either.
fn both(flow: Of, dev: Of) -> Of {
    match (flow, dev) {
        (Of::Other, _) | (_, Of::Other) => Of::Other,
        (Of::Own, Of::Own) => Of::Own,
        _ => Of::Unknown,
    }
}

fn by_ends(facts: &Facts, ends: &[Ends]) -> Vec<Of> {
    let count = facts.connections.iter().map(|c| c.connection.0 as usize + 1).max();
    let mut out = vec![Of::Unknown; count.unwrap_or(0)];
    for c in &facts.connections {
        let own = ends.is_empty() || ends.iter().any(|e| e.are_of(c));
        // Listening sockets, and those seen before they had both ends, may be the subject's.
        let whole = c.sport != 0 && c.dport != 0 && c.confidence.is_solid();
        if let Some(of) = out.get_mut(c.connection.0 as usize) {
            *of = match (own, whole) {
                (true, _) => Of::Own,
                (_, true) => Of::Other,
                _ => Of::Unknown,
            };
        }
    }
    out
}

/// Packets and the socket they are of.
fn named(facts: &Facts) -> impl Iterator<Item = (SkbId, ConnectionId)> {
    let rx = facts.rx.iter().filter(|r| r.confidence.is_solid());
    let tx = facts.tx.iter().filter(|r| r.confidence.is_solid());
    let rx = rx.filter_map(|r| Some((r.skb_id, r.connection?)));
    rx.chain(tx.filter_map(|r| Some((r.skb_id, r.connection?))))
}

fn flows(facts: &Facts, connections: &[Of], ends: &[Ends], dropped: &[Drop]) -> Marks {
    let mut marks = Marks::new(facts.skbs.len());
    if ends.is_empty() {
        marks.of.fill(Of::Own);
        return marks;
    }
    for d in dropped.iter().filter(|d| d.flow != Of::Unknown) {
        if let Some(skb) = d.skb {
            marks.set(skb, d.flow);
        }
    }
    // Flows are TCP's.
    let datagrams = facts
        .tx
        .iter()
        .filter(|r| r.kind == TxKind::Udp && r.confidence.is_solid());
    datagrams.for_each(|r| marks.set(r.skb_id, Of::Other));
    let rx = facts.rx.iter().map(|r| (r.skb_id, r.connection, r.confidence));
    let tx = facts.tx.iter().map(|r| (r.skb_id, r.connection, r.confidence));
    for (skb, connection, confidence) in rx.chain(tx) {
        let of = connection.and_then(|c| connections.get(c.0 as usize)).copied();
        match of {
            Some(Of::Own) => marks.set(skb, Of::Own),
            Some(Of::Other) if confidence.is_solid() => marks.set(skb, Of::Other),
            _ => {}
        }
    }
    marks
}

fn devices(facts: &Facts, subject: &Subject) -> Marks {
    let mut marks = Marks::new(facts.skbs.len());
    if subject.devs.is_empty() {
        marks.of.fill(Of::Own);
        return marks;
    }
    for h in facts.hops.iter().filter(|h| !h.dev.is_empty()) {
        let own = subject.devs.iter().any(|d| *d == h.dev.text());
        match own {
            true => marks.set(h.skb_id, Of::Own),
            false if h.confidence.is_solid() => marks.set(h.skb_id, Of::Other),
            false => {}
        }
    }
    marks
}
