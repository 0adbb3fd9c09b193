//! A program that tries many ports, a few times each, and is refused: a port scan.
//!
//! Needs `opens`. Must not take for one: a program whose few servers are down, however often it tries, or whose many servers are, each at the
//! same port.

use std::collections::{BTreeMap, BTreeSet};

use super::Failed;

/// Fewest ports, those of each address by themselves, and fewest port numbers.
const PORTS: usize = 20;
/// Most attempts at each.
const EACH: u64 = 3;

/// Attempts of one program that were refused at many ports.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Scan {
    /// `task/thread` of the first.
    pub task: String,
    /// Attempts.
    pub attempts: u64,
    /// Ports, those of each address by themselves.
    pub ports: u64,
    /// Addresses.
    pub addresses: u64,
    /// Most attempts at one port.
    pub each: u64,
    /// Begin of the first.
    pub first_ns: i64,
}

/// Takes them out of what failed; most attempts first.
pub(super) fn scans(failed: &mut Vec<Failed>) -> Vec<Scan> {
    let name = |f: &Failed| {
        f.task
            .rsplit_once('/')
            .map_or(f.task.as_str(), |(task, _)| task)
            .to_owned()
    };
    let of_one = |f: &Failed| f.end == "refused" && f.attempts <= EACH && !f.to.is_empty() && !f.task.is_empty();
    let port = |to: &str| to.rsplit_once(':').map_or(to, |(_, port)| port).to_owned();
    let mut ports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for f in failed.iter().filter(|f| of_one(f)) {
        ports.entry(name(f)).or_default().insert(port(&f.to));
    }
    let scanners: BTreeSet<String> = (ports.into_iter())
        .filter(|(_, to)| to.len() >= PORTS)
        .map(|(task, _)| task)
        .collect();
    if scanners.is_empty() {
        return vec![];
    }
    let (mut theirs, others): (Vec<Failed>, Vec<Failed>) = std::mem::take(failed)
        .into_iter()
        .partition(|f| of_one(f) && scanners.contains(&name(f)));
    *failed = others;
    theirs.sort_by_key(|f| f.first_ns);
    let mut found: BTreeMap<String, (Scan, BTreeSet<String>)> = BTreeMap::new();
    for f in &theirs {
        let (scan, addresses) = found.entry(name(f)).or_insert_with(|| {
            let scan = Scan {
                task: f.task.clone(),
                attempts: 0,
                ports: 0,
                addresses: 0,
                each: 0,
                first_ns: f.first_ns,
            };
            (scan, BTreeSet::new())
        });
        scan.attempts = scan.attempts.saturating_add(f.attempts);
        scan.ports += 1;
        scan.each = scan.each.max(f.attempts);
        addresses.insert(f.to.rsplit_once(':').map_or(f.to.as_str(), |(a, _)| a).to_owned());
        scan.addresses = addresses.len() as u64;
    }
    let mut all: Vec<Scan> = found.into_values().map(|f| f.0).collect();
    all.sort_by(|a, b| (b.attempts, &a.task).cmp(&(a.attempts, &b.task)));
    all
}
