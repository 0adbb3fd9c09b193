//! To which of its ports a bridge handed a thread's datagrams on, before and after some time.
//!
//! In: `tx`, `hops`, `skbs`, the lists of links. A bridge makes a clone for each port but the last, which gets the frame itself, in one go on one CPU
//! (net/bridge/br_forward.c `br_multicast_flood`, `deliver_clone`): lives that begin in a port's queue, of the frame's length but for the link header. Must not join two frames: another
//! one of the sender's on that CPU begins anew.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::transmit::tables::TxKind;

/// Longest time from one port to the next, ns.
const NEXT_NS: i64 = 1_000_000;
/// A link header, and one with a VLAN tag.
const LINK_HEADERS: [u32; 3] = [0, 14, 18];
/// A frame's own way ends within so many others.
const RECENT: usize = 64;
/// Fewest frames before and after, and in how many of them a port must be, of 100.
const FEWEST: usize = 20;
const MOSTLY: usize = 80;

/// What a bridge did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports {
    /// Its name.
    pub bridge: String,
    /// Its namespace's name; empty: not known.
    pub host: String,
    /// The port by which they came.
    pub by: String,
    /// Ports that got them before, and do since.
    pub before: Vec<String>,
    /// See `before`.
    pub since: Vec<String>,
    /// Of those that get them no more, those by which nothing else left since: they may be down.
    pub mute: Vec<String>,
}

struct Frame {
    skb: SkbId,
    at: i64,
    bytes: u32,
    by: Name,
    to: Vec<Name>,
}

/// A thread's datagrams that came by a device.
pub(super) struct Frames(Vec<Frame>);

impl Frames {
    pub(super) fn of(facts: &Facts, pid: i32) -> Frames {
        let sent = facts.tx.iter().filter(|t| t.kind == TxKind::Udp && t.pid == pid);
        let sent: FxHashSet<SkbId> = sent.map(|t| t.skb_id).collect();
        let mut all: Vec<Frame> = vec![];
        // The frame that a CPU is at.
        let mut on: FxHashMap<u16, usize> = FxHashMap::default();
        for h in facts.hops.iter().filter(|h| h.kind != "xmit") {
            let theirs = sent.contains(&h.skb_id);
            let known = || all.iter().rev().take(RECENT).any(|f| f.skb == h.skb_id);
            let anew = theirs && h.kind == "rx" && !known();
            let frame = on.get(&h.cpu).and_then(|n| all.get_mut(*n));
            let Some(bytes) = h.bytes else { continue };
            match (h.kind, frame) {
                ("queue", Some(f)) => {
                    let born = || {
                        let life = facts.skbs.get(h.skb_id.0 as usize);
                        life.is_some_and(|s| s.skb_id == h.skb_id && s.birth_ns == h.time_ns)
                    };
                    let itself = f.skb == h.skb_id;
                    let of_it = LINK_HEADERS.contains(&f.bytes.abs_diff(bytes))
                        && h.time_ns.saturating_sub(f.at) <= NEXT_NS
                        && !f.to.contains(&h.dev);
                    if of_it && h.dev != f.by && (itself || !theirs && born()) {
                        f.to.push(h.dev);
                        f.at = h.time_ns;
                    }
                    if itself {
                        on.remove(&h.cpu);
                    }
                }
                // The first device that it came by.
                ("rx", _) if anew => {
                    on.insert(h.cpu, all.len());
                    all.push(Frame {
                        skb: h.skb_id,
                        at: h.time_ns,
                        bytes,
                        by: h.dev,
                        to: vec![],
                    });
                }
                _ => {}
            }
        }
        Frames(all)
    }

    /// Ports until `first` and from `latest` on, of a bridge that hands them on to fewer since.
    pub(super) fn ports(&self, facts: &Facts, first: i64, latest: i64) -> Option<Ports> {
        let known = &facts.multicast;
        let by = self.0.first()?.by;
        let of = |when: &dyn Fn(i64) -> bool| {
            let frames: Vec<&Frame> = self.0.iter().filter(|f| when(f.at) && f.by == by).collect();
            let mut n: FxHashMap<Name, usize> = FxHashMap::default();
            frames
                .iter()
                .flat_map(|f| &f.to)
                .for_each(|dev| *n.entry(*dev).or_default() += 1);
            let mostly = |n: usize| n.saturating_mul(100) >= frames.len().saturating_mul(MOSTLY);
            let names = n
                .into_iter()
                .filter(|(_, n)| mostly(*n))
                .map(|(dev, _)| dev.text().into_owned());
            (frames.len() >= FEWEST).then(|| names.collect::<BTreeSet<String>>())
        };
        let (before, since) = of(&|at| at <= first).zip(of(&|at| at > latest))?;
        let by = by.text();
        let (netns, bridge) = known.devices.bridge(&by)?;
        let theirs = |dev: &String| known.devices.bridge(dev) == Some((netns, bridge));
        let fewer = since.is_subset(&before) && since.len() < before.len() && before.iter().all(theirs);
        let mut mute: BTreeSet<String> = before.difference(&since).cloned().collect();
        let later = facts.hops.iter().filter(|h| h.kind == "queue" && h.time_ns > latest);
        for dev in later.map(|h| h.dev.text()) {
            mute.remove(&*dev);
        }
        fewer.then(|| Ports {
            bridge: bridge.to_owned(),
            host: known.name(netns).unwrap_or_default().to_owned(),
            by: by.into_owned(),
            before: before.into_iter().collect(),
            since: since.into_iter().collect(),
            mute: mute.into_iter().collect(),
        })
    }
}
