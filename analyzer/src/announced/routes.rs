//! Routes: set, replaced, removed. Those that the kernel makes of addresses are left out.

use std::collections::BTreeMap;

use super::links::Links;
use super::state::Said;
use crate::snapshots::{field, number, words};

/// RTPROT_KERNEL.
const BY_KERNEL: u64 = 2;
/// RT_TABLE_MAIN.
const MAIN: u64 = 254;
/// What tells one route from another.
const NAMED: [&str; 6] = ["netns", "family", "to", "table", "tos", "metric"];
/// What is told of a route besides its way.
const TOLD: [&str; 8] = [
    "src", "mtu", "initcwnd", "cwnd", "initrwnd", "advmss", "rto_min", "cong",
];
/// RTN_*.
const KINDS: [(u64, &str); 4] = [(6, "blackhole"), (7, "unreachable"), (8, "prohibit"), (9, "throw")];

/// Ways of routes by what they are called.
#[derive(Default)]
pub struct Routes(BTreeMap<String, String>);

fn name(line: &str) -> String {
    let part = |key: &&str| format!("{}/", field(line, key).unwrap_or(""));
    NAMED.iter().map(part).collect()
}

fn is_kernels(line: &str) -> bool {
    number(line, "protocol") == Some(BY_KERNEL)
}

/// The words that say where it leads, in order.
fn way(line: &str) -> String {
    let keys = ["via", "ifindex", "hop", "nexthop", "type"];
    let kept = words(line).filter(|(k, _)| keys.contains(k) || TOLD.contains(k));
    let kept: Vec<String> = kept.map(|(k, v)| format!("{k}={v}")).collect();
    kept.join(" ")
}

/// `blackhole `, where it is not one that leads on.
fn kind(way: &str) -> String {
    let kind = field(way, "type").and_then(|v| v.parse::<u64>().ok());
    let known = KINDS.iter().find(|(n, _)| Some(*n) == kind);
    known.map_or(String::new(), |(_, name)| format!("{name} "))
}

/// `via 10.0.0.1 dev eth0`
fn said(way: &str, netns: u64, links: &Links) -> String {
    let mut parts = vec![];
    for (key, value) in words(way) {
        match key {
            "ifindex" => parts.push(format!("dev {}", links.name(netns, value.parse().unwrap_or(0)))),
            "type" => {}
            "hop" => {
                let mut of = value.split(',');
                let (via, dev) = (
                    of.next().unwrap_or("-"),
                    of.next().and_then(|n| n.parse().ok()).unwrap_or(0),
                );
                let weight = of.next().unwrap_or("1");
                parts.push(format!("nexthop {via} dev {} weight {weight}", links.name(netns, dev)));
            }
            _ => parts.push(format!("{key} {value}")),
        }
    }
    parts.join(" ")
}

impl Routes {
    /// Of the list.
    pub fn of<'c>(lines: impl Iterator<Item = &'c str>) -> Routes {
        Routes(lines.map(|l| (name(l), way(l))).collect())
    }

    /// What a notice changes.
    pub fn take(&mut self, (netns, gone): (u64, bool), line: &str, links: &Links) -> Option<Said> {
        let (name, new) = (name(line), way(line));
        let beside = field(line, "append").is_some();
        let old = match gone {
            // Of several with that name another stays.
            true if self.0.get(&name).is_some_and(|of| *of != new) => None,
            true => self.0.remove(&name),
            // Beside others of that name.
            false if beside => {
                self.0.entry(name).or_insert(new.clone());
                None
            }
            false => self.0.insert(name, new.clone()),
        };
        if is_kernels(line) || (!gone && old.as_ref() == Some(&new)) {
            return None;
        }
        let to = field(line, "to").filter(|to| !to.is_empty())?.to_owned();
        let table = number(line, "table").filter(|t| *t != MAIN);
        let table = table.map_or(String::new(), |t| format!(" in table {t}"));
        let words = |of: &str| (kind(of) + &said(of, netns, links)).trim_end().to_owned();
        let way = said(&new, netns, links);
        let way = if way.is_empty() { way } else { format!(" {way}") };
        let route = format!("route {}{to}{way}", kind(&new));
        let says = match (gone, old) {
            (true, _) => format!("{route} was removed{table}"),
            (false, None) => format!("{route} was set{table}"),
            (false, Some(old)) => format!("route {to} became {} (before: {}){table}", words(&new), words(&old)),
        };
        // Of a container that comes there is one to its address; a wider one by a new device (a VPN) may take others' way.
        let one = to.ends_with("/32") || to.ends_with("/128");
        let by = one && number(line, "ifindex").is_some_and(|n| links.came(netns, n));
        Some(Said {
            of: to,
            says,
            new_device: by,
        })
    }
}
