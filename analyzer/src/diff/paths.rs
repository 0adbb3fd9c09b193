//! Another way: devices that requests to a server pass on one side alone, as after another route, a tunnel or a host in between.
//!
//! In: `tx` of clients' sockets, the hops of these packets. Out: a sentence for each server whose requests nearly all pass, or all but none of them, a device.
//! By names: devices that were renamed are others. What is beyond the recorded hosts no event tells. Not judged: a way is neither better nor worse.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::answers::server;
use super::options::Recording;
use crate::analyses::application::Role;
use crate::facts::SkbId;
use crate::name::Name;
use crate::reconstruct::tcp::role::role;
use crate::reconstruct::transmit::tables::TxKind;

/// Fewest packets of a side.
const LEAST: usize = 30;
/// Part of them that pass a device, and that do not.
const NEARLY_ALL: f64 = 0.9;
const NEARLY_NONE: f64 = 0.02;
/// Devices named.
const NAMED: usize = 4;

/// Of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Way {
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

fn side(all: &[Recording<'_>]) -> Side {
    let mut out = Side::new();
    for r in all {
        let mut of: FxHashMap<SkbId, (IpAddr, String)> = FxHashMap::default();
        let sent = r
            .facts
            .tx
            .iter()
            .filter(|t| t.kind == TxKind::Tcp && r.has(t.start_ns) && t.bytes != Some(0));
        for t in sent {
            let Some(row) = t.connection.and_then(|c| r.facts.connections.get(c.0 as usize)) else {
                continue;
            };
            if role(row.born, row.sport, row.dport).0 == Role::Client
                && let Some(to) = server(r.facts, row.connection, Role::Client)
                && let Some(from) = row.saddr
            {
                // Hosts of one recording have ways of their own.
                let key = (from.to_canonical(), to);
                out.entry(key.clone()).or_default().n += 1;
                of.insert(t.skb_id, key);
            }
        }
        let mut steps: FxHashMap<SkbId, usize> = FxHashMap::default();
        let mut seen: FxHashSet<(SkbId, Name)> = FxHashSet::default();
        for h in r.facts.hops.iter().filter(|h| of.contains_key(&h.skb_id)) {
            let step = steps.entry(h.skb_id).or_default();
            *step += 1;
            if seen.insert((h.skb_id, h.dev))
                && let Some(passed) = of.get(&h.skb_id).and_then(|key| out.get_mut(key))
            {
                let dev = passed.devs.entry(h.dev).or_insert((0, *step));
                dev.0 += 1;
            }
        }
    }
    out
}

/// Devices that nearly all of `here` pass and nearly none of `there`, in the order of the way.
fn alone(here: &Passed, there: &Passed) -> Vec<String> {
    let part = |of: &Passed, dev: &Name| of.devs.get(dev).map_or(0.0, |(n, _)| *n as f64 / of.n.max(1) as f64);
    let devs: BTreeSet<&Name> = here.devs.keys().collect();
    let own = |dev: &&&Name| part(here, dev) >= NEARLY_ALL && part(there, dev) <= NEARLY_NONE;
    let mut all: Vec<&Name> = devs.iter().filter(own).copied().collect();
    all.sort_by_key(|dev| (here.devs.get(*dev).map_or(0, |d| d.1), **dev));
    all.iter().map(|dev| dev.text().into_owned()).collect()
}

fn words(devs: &[String]) -> String {
    let more = if devs.len() > NAMED { " and others" } else { "" };
    let named: Vec<&str> = devs.iter().take(NAMED).map(String::as_str).collect();
    format!("{}{more}", named.join(", "))
}

/// Servers that packets reach by another way; none where names are pseudonyms.
pub(super) fn of(before: &[Recording<'_>], after: &[Recording<'_>], hidden: bool) -> Vec<Way> {
    if hidden {
        return vec![];
    }
    let (before, after) = (side(before), side(after));
    let both = before.iter().filter_map(|(name, b)| Some((name, b, after.get(name)?)));
    let enough = both.filter(|(_, b, a)| b.n >= LEAST && a.n >= LEAST);
    let way = |((from, to), b, a): (&(IpAddr, String), &Passed, &Passed)| {
        let (gone, new) = (alone(b, a), alone(a, b));
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
