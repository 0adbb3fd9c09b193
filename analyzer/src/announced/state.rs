//! What the host is known to be at a time, and what a notice changes of that.

use std::collections::{BTreeMap, BTreeSet};

use netmortem_formats::capture::SnapshotWhen;
use netmortem_formats::{Capture, Endian};

use super::links::Links;
use super::qdiscs::Qdiscs;
use super::routes::Routes;
use super::sysctls::Sysctls;
use super::tables::ChangeRow;
use crate::snapshots::{field, lines, number};

/// As the lists of the start say, and what was announced since.
pub struct State {
    links: Links,
    addresses: BTreeSet<(u64, u64, String)>,
    routes: Routes,
    qdiscs: Qdiscs,
    sysctls: Sysctls,
    /// Namespaces by name, that were there at the start.
    spaces: BTreeMap<u64, Option<String>>,
    own: Option<u64>,
    endian: Endian,
}

/// What a kind of notice says: of which, what changed, and whether it is of a device that came in the recording.
pub struct Said {
    /// Of which.
    pub of: String,
    /// What changed.
    pub says: String,
    /// The device came since, or goes.
    pub new_device: bool,
}

impl State {
    /// At the start.
    pub fn of(capture: &Capture) -> State {
        let start = |w: SnapshotWhen| w == SnapshotWhen::Start;
        let mut spaces = BTreeMap::new();
        let mut own = None;
        for l in lines(capture, "namespaces", start) {
            let Some(netns) = number(l, "netns") else { continue };
            if field(l, "own") == Some("yes") {
                own = Some(netns);
            }
            spaces.insert(netns, field(l, "name").map(str::to_owned));
        }
        let address = |l: &str| {
            Some((
                number(l, "netns")?,
                number(l, "ifindex")?,
                field(l, "address")?.to_owned(),
            ))
        };
        let endian = capture.endian;
        State {
            links: Links::of(lines(capture, "links", start)),
            addresses: lines(capture, "addresses", start).filter_map(address).collect(),
            routes: Routes::of(lines(capture, "routes", start)),
            qdiscs: Qdiscs::of(
                lines(capture, "qdiscs", start),
                lines(capture, "classes", start),
                endian,
            ),
            sysctls: Sysctls::of(capture, own),
            spaces,
            own,
            endian,
        }
    }

    /// With nothing known but names: what a change changes is not told.
    pub fn unknown(capture: &Capture) -> State {
        let of = State::of(capture);
        State {
            links: of.links.only_named(),
            addresses: BTreeSet::new(),
            routes: Routes::default(),
            qdiscs: Qdiscs::default(),
            sysctls: Sysctls::default(),
            ..of
        }
    }

    /// What a notice changes; `next` is the one that came with it.
    pub fn take(&mut self, at_ns: i64, line: &str, next: Option<&str>) -> Option<ChangeRow> {
        let (netns, gone) = (number(line, "netns")?, field(line, "did") == Some("del"));
        let (what, said) = match field(line, "what")? {
            "link" => ("link", self.links.take(netns, gone, line)?),
            "address" => ("address", self.address(netns, gone, line)?),
            "route" => ("route", self.routes.take((netns, gone), line, &self.links)?),
            "rule" => ("rule", rule(gone, line)),
            "qdisc" => (
                "qdisc",
                self.qdiscs
                    .take((netns, gone), line, next, (&self.links, self.endian))?,
            ),
            "class" => (
                "class",
                self.qdiscs.class((netns, gone), line, (&self.links, self.endian))?,
            ),
            "filter" => ("filter", self.filter(netns, gone, line)),
            "nexthop" => ("nexthop", self.nexthop(netns, gone, line)),
            "ruleset" => ("ruleset", ruleset(line)),
            "sysctl" => ("sysctl", self.sysctls.take(netns, line)?),
            _ => return None,
        };
        Some(ChangeRow {
            at_ns,
            netns,
            what,
            host: self.space(netns),
            says: said.says,
            of: said.of,
            took: gone,
            comes_and_goes: said.new_device || !self.spaces.contains_key(&netns),
            ..ChangeRow::default()
        })
    }

    /// `web`: where it is not the recorder's own.
    fn space(&self, netns: u64) -> String {
        match self.spaces.get(&netns) {
            _ if self.own == Some(netns) => String::new(),
            Some(Some(name)) => name.clone(),
            _ => format!("network namespace {netns}"),
        }
    }

    fn address(&mut self, netns: u64, gone: bool, line: &str) -> Option<Said> {
        let (ifindex, address) = (number(line, "ifindex")?, field(line, "address")?.to_owned());
        let key = (netns, ifindex, address.clone());
        let changed = match gone {
            true => self.addresses.remove(&key),
            false => self.addresses.insert(key),
        };
        let dev = self.links.name(netns, ifindex);
        // One that comes and goes with its link.
        let told = (changed || gone) && !address.starts_with("fe80:");
        told.then(|| Said {
            says: match gone {
                true => format!("address {address} was taken from {dev}"),
                false => format!("address {address} was given to {dev}"),
            },
            of: address,
            new_device: self.links.came(netns, ifindex),
        })
    }

    fn filter(&self, netns: u64, gone: bool, line: &str) -> Said {
        let ifindex = number(line, "ifindex").unwrap_or(0);
        let dev = self.links.name(netns, ifindex);
        let kind = field(line, "kind").unwrap_or("?");
        let pref = number(line, "pref").unwrap_or(0);
        let did = if gone { "was removed from" } else { "was set on" };
        Said {
            says: format!("filter {kind} (pref {pref}) {did} {dev}"),
            of: dev,
            new_device: self.links.came(netns, ifindex),
        }
    }

    fn nexthop(&self, netns: u64, gone: bool, line: &str) -> Said {
        let id = number(line, "id").unwrap_or(0);
        let via = field(line, "via").map_or(String::new(), |v| format!(" via {v}"));
        let dev = number(line, "ifindex").map_or(String::new(), |n| format!(" dev {}", self.links.name(netns, n)));
        let blackhole = if field(line, "blackhole").is_some() {
            " blackhole"
        } else {
            ""
        };
        Said {
            of: id.to_string(),
            says: match gone {
                true => format!("nexthop {id} was removed"),
                false => format!("nexthop {id} was set to{via}{dev}{blackhole}"),
            },
            new_device: false,
        }
    }
}

/// `rule 100: from 10.0.0.0/24 table 7`
fn rule(gone: bool, line: &str) -> Said {
    let part = |key: &str| field(line, key).map_or(String::new(), |v| format!(" {key} {v}"));
    let parts: String = ["from", "to", "iif", "oif", "fwmark", "table"].map(part).concat();
    // FR_ACT_*: to a table, goto, nop, -, -, blackhole, unreachable, prohibit.
    let action = match number(line, "action") {
        Some(6) => " blackhole",
        Some(7) => " unreachable",
        Some(8) => " prohibit",
        _ => "",
    };
    let priority = number(line, "priority").unwrap_or(0);
    let did = if gone { "was removed" } else { "was set" };
    Said {
        of: priority.to_string(),
        says: format!("routing rule {priority} ({}{action}) {did}", parts.trim_start()),
        new_device: false,
    }
}

fn ruleset(line: &str) -> Said {
    let count = |key: &str| number(line, key).unwrap_or(0);
    let pair = |(one, many): (&str, &str), new: &str, deleted: &str| {
        let of = |n: u64| format!("{n} {}", if n == 1 { one } else { many });
        match (count(new), count(deleted)) {
            (0, 0) => None,
            (new, 0) => Some(format!("{} added", of(new))),
            (0, gone) => Some(format!("{} deleted", of(gone))),
            (new, gone) => Some(format!("{} added, {gone} deleted", of(new))),
        }
    };
    let others = ("table, chain or set", "tables, chains or sets");
    let parts = [
        pair(("rule", "rules"), "new_rules", "deleted_rules"),
        pair(
            ("element of a set", "elements of sets"),
            "new_elements",
            "deleted_elements",
        ),
        pair(others, "new_others", "deleted_others"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let chains: Vec<&str> = crate::snapshots::words(line)
        .filter(|(k, _)| *k == "chain")
        .map(|(_, v)| v)
        .collect();
    let within = match chains.as_slice() {
        [] => String::new(),
        of => format!(" in {}", of.join(", ")),
    };
    Said {
        of: chains.first().map_or("nftables", |c| c).to_owned(),
        says: format!("nftables rules were changed ({}){within}", parts.join("; ")),
        new_device: false,
    }
}
