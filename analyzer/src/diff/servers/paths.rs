//! Another way: devices that requests to a server pass on one side alone, as after another route, a tunnel or a host in between.
//!
//! In: `tx` of clients' sockets, the hops of these packets, lives, `links` of the snapshots. Out: a sentence for each server whose requests nearly all pass, or all but none of them, a device.
//! By names: devices that were renamed are others, but for pairs and bridges, which containers name at random: of these one in another's place is the same. Not where the sides'
//! recordings have not the same events of devices, and without packets that were cut on the way: their parts are other lives. What is beyond the recorded hosts no event tells.
//! Not judged: a way is neither better nor worse.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::answers::server;
use crate::analyses::application::Role;
use crate::diff::sides::options::Recording;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::lineage::tables::LineageKind;
use crate::reconstruct::skb::tables::DeathKind;
use crate::reconstruct::transmit::tables::TxKind;
use crate::snapshots::field;

/// Fewest packets of a side.
const LEAST: usize = 30;
/// Part of them that pass a device, and that do not.
const NEARLY_ALL: f64 = 0.9;
const NEARLY_NONE: f64 = 0.02;
/// Devices named.
const NAMED: usize = 4;
/// Events that tell a packet's devices.
const TOLD_BY: [&str; 9] = [
    "net:net_dev_queue",
    "net:net_dev_start_xmit",
    "net:net_dev_xmit",
    "net:netif_rx",
    "net:netif_rx_entry",
    "net:netif_receive_skb",
    "net:netif_receive_skb_entry",
    "net:napi_gro_receive_entry",
    "net:napi_gro_frags_entry",
];
/// Kinds of links that get names at random, and how these begin.
const AT_RANDOM: [(&str, &str); 2] = [("veth", "veth"), ("bridge", "br-")];

/// Of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::diff) struct Way {
    /// `address:port`.
    pub server: String,
    /// Without its end.
    pub sentence: String,
}

/// Packets to a server, and how many pass each device, with the place at which they do so first.
#[derive(Default)]
struct Passed {
    n: usize,
    devs: BTreeMap<Name, (usize, usize)>,
}

/// By client and server.
type Side = BTreeMap<(IpAddr, String), Passed>;

/// Packets that were cut on the way.
fn cut(facts: &Facts) -> FxHashSet<SkbId> {
    let cut = facts.lineage.iter();
    let cut = cut.filter(|l| matches!(l.kind, LineageKind::Gso | LineageKind::QdiscSegment));
    let ended = facts.skbs.iter().filter(|s| s.death_kind == DeathKind::Segmented);
    cut.map(|l| l.parent).chain(ended.map(|s| s.skb_id)).collect()
}

fn side(all: &[Recording<'_>]) -> Side {
    let mut out = Side::new();
    for r in all {
        // Hosts of one recording have ways of their own: by client and server, of each connection once.
        let mut keys: BTreeMap<(IpAddr, String), usize> = BTreeMap::new();
        let mut places: FxHashMap<ConnectionId, Option<usize>> = FxHashMap::default();
        let mut place = |c: ConnectionId| {
            let row = r.facts.connections.get(c.0 as usize)?;
            let to = server(r, row.connection, Role::Client);
            let to = to.filter(|_| row.role().0 == Role::Client)?;
            let next = keys.len();
            Some(*keys.entry((row.saddr?.to_canonical(), to)).or_insert(next))
        };
        let cut = cut(r.facts);
        let mut of: FxHashMap<SkbId, usize> = FxHashMap::default();
        let sent = r
            .facts
            .tx
            .iter()
            .filter(|t| t.kind == TxKind::Tcp && r.has(t.start_ns) && t.bytes != Some(0));
        for t in sent.filter(|t| !cut.contains(&t.skb_id)) {
            let at = t.connection.and_then(|c| *places.entry(c).or_insert_with(|| place(c)));
            of.extend(at.map(|at| (t.skb_id, at)));
        }
        let mut sums: Vec<Passed> = keys.iter().map(|_| Passed::default()).collect();
        for at in of.values() {
            if let Some(passed) = sums.get_mut(*at) {
                passed.n += 1;
            }
        }
        let mut steps: FxHashMap<SkbId, usize> = FxHashMap::default();
        let mut seen: FxHashSet<(SkbId, Name)> = FxHashSet::default();
        for h in &r.facts.hops {
            let Some(passed) = of.get(&h.skb_id).and_then(|at| sums.get_mut(*at)) else {
                continue;
            };
            let step = steps.entry(h.skb_id).or_default();
            *step += 1;
            if seen.insert((h.skb_id, h.dev)) {
                let dev = passed.devs.entry(h.dev).or_insert((0, *step));
                dev.0 += 1;
            }
        }
        for (key, at) in keys {
            let passed = sums.get_mut(at).map(std::mem::take).unwrap_or_default();
            let sum = out.entry(key).or_default();
            sum.n += passed.n;
            for (dev, (n, step)) in passed.devs {
                sum.devs.entry(dev).or_insert((0, step)).0 += n;
            }
        }
    }
    out
}

/// Devices that nearly all of `here` pass and nearly none of `there`, in the order of the way, with their places.
fn alone(here: &Passed, there: &Passed) -> Vec<(usize, Name)> {
    let part = |of: &Passed, dev: &Name| of.devs.get(dev).map_or(0.0, |(n, _)| *n as f64 / of.n.max(1) as f64);
    let own = |(dev, _): &(&Name, &(usize, usize))| part(here, dev) >= NEARLY_ALL && part(there, dev) <= NEARLY_NONE;
    let mut all: Vec<(usize, Name)> = here.devs.iter().filter(own).map(|(dev, d)| (d.1, *dev)).collect();
    all.sort_unstable();
    all
}

/// Kinds of links, by name; of one that is of several nothing.
struct Kinds<'f>(BTreeMap<&'f str, Option<&'f str>>);

impl<'f> Kinds<'f> {
    fn of(all: &[Recording<'f>]) -> Kinds<'f> {
        let mut out = BTreeMap::new();
        let lines = all
            .iter()
            .flat_map(|r| &r.facts.snapshots)
            .filter(|s| s.what == "links");
        for (name, kind) in lines.filter_map(|s| Some((field(&s.line, "name")?, field(&s.line, "kind")))) {
            let of = out.entry(name).or_insert(kind);
            *of = of.filter(|of| Some(*of) == kind);
        }
        Kinds(out)
    }

    /// The kind of one that may have got its name at random; where the list lacks it, which was read before it was made, by its name.
    fn at_random(&self, dev: Name) -> Option<&'static str> {
        let name = dev.text();
        let listed = self.0.get(name.as_ref());
        let is = |(kind, begins): &&(&str, &str)| match listed {
            Some(of) => *of == Some(*kind),
            None => name.starts_with(begins),
        };
        AT_RANDOM.iter().find(is).map(|(kind, _)| *kind)
    }
}

/// Without devices that got another name, in the same place of the way.
fn renamed(gone: &mut Vec<(usize, Name)>, new: &mut Vec<(usize, Name)>, (before, after): (&Kinds<'_>, &Kinds<'_>)) {
    gone.retain(|(step, dev)| {
        let kind = before.at_random(*dev);
        let same = |(at, dev): &(usize, Name)| at == step && kind.is_some() && after.at_random(*dev) == kind;
        match new.iter().position(same) {
            Some(at) => {
                new.remove(at);
                false
            }
            None => true,
        }
    });
}

fn words(devs: &[(usize, Name)]) -> String {
    let more = if devs.len() > NAMED { " and others" } else { "" };
    let named: Vec<String> = devs.iter().take(NAMED).map(|d| d.1.text().into_owned()).collect();
    format!("{}{more}", named.join(", "))
}

/// Whether all recordings tell a packet's devices by the same events.
fn same_events(mut all: impl Iterator<Item = [bool; TOLD_BY.len()]>) -> bool {
    let first = all.next();
    all.all(|of| Some(of) == first)
}

/// Servers that packets reach by another way; none where names are pseudonyms.
pub(in crate::diff) fn of(before: &[Recording<'_>], after: &[Recording<'_>], hidden: bool) -> Vec<Way> {
    let told = |r: &Recording<'_>| TOLD_BY.map(|key| r.facts.capture.recorded(key));
    if hidden || !same_events(before.iter().chain(after).map(told)) {
        return vec![];
    }
    let kinds = (&Kinds::of(before), &Kinds::of(after));
    let (before, after) = (side(before), side(after));
    let both = before.iter().filter_map(|(name, b)| Some((name, b, after.get(name)?)));
    let enough = both.filter(|(_, b, a)| b.n >= LEAST && a.n >= LEAST);
    let way = |((from, to), b, a): (&(IpAddr, String), &Passed, &Passed)| {
        let (mut gone, mut new) = (alone(b, a), alone(a, b));
        renamed(&mut gone, &mut new, kinds);
        let said = match (gone.is_empty(), new.is_empty()) {
            (true, true) => return None,
            (false, true) => format!("no longer pass {}", words(&gone)),
            (true, false) => format!("now pass {}", words(&new)),
            (false, false) => format!("now pass {}, and no longer {}", words(&new), words(&gone)),
        };
        Some(Way {
            server: to.clone(),
            sentence: format!("Packets of {from} to {to} take another way: they {said}"),
        })
    };
    enough.filter_map(way).collect()
}
