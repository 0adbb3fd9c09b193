//! Readers of one server of which some leave what it sends lying for long, while others of the same kind read theirs at once: work is handed out ahead to who is busy.
//!
//! ```text
//! server   send to A    send to B    send to A    send to C
//! A        reads, at work ─────────────────────── reads the next: it lay all that time
//! B, C     read at once, and wait for more
//! ```
//! Needs `rx`, `connections`. By the server's address and port, readers of one name. Must not take for one: transfers (large units), readers that are all slow, clients of a server whose connections are their own matter
//! (each of another task, or few units).

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::super::units::Units;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::receive::tables::RxRow;

/// What lies so long is late, ns; and what all of a quick reader's is read within.
const LATE_NS: i64 = 50_000_000;
const QUICK_NS: i64 = 10_000_000;
/// Fewest late ones of a reader, and one in so many of its units; fewest units of a quick one.
const LATE: usize = 5;
const PART: usize = 20;
const QUICK: usize = 10;
/// Most bytes of a message, on average.
const MESSAGE: u64 = 16_384;

/// Of one server.
#[derive(Debug, Clone, PartialEq)]
pub struct Uneven {
    /// `address:port` of the server.
    pub of: String,
    /// `task/thread at address` of those at which it lay, most first.
    pub late: Vec<String>,
    /// Units that lay for 50 ms or longer, and all of theirs.
    pub units: (u64, u64),
    /// The longest, ns.
    pub longest_ns: i64,
    /// Begin of the first of them, ns since the start of the recording.
    pub first_ns: i64,
    /// The call in which most of that passed; empty: in none.
    pub asleep_in: String,
    /// Readers that read all of theirs at once.
    pub quick: Vec<String>,
    /// Their units, and the longest that one lay, ns.
    pub quick_units: u64,
    /// As said.
    pub quick_longest_ns: i64,
}

#[derive(Default)]
struct Reader<'f> {
    rows: Vec<&'f RxRow>,
    bytes: u64,
}

/// The server with most late units.
pub(super) fn uneven(facts: &Facts, units: &Units<'_, RxRow>) -> Option<Uneven> {
    let mut by: BTreeMap<(IpAddr, u16, Name), BTreeMap<ConnectionId, Reader<'_>>> = BTreeMap::new();
    for r in units.rows() {
        let row = r.connection.and_then(|c| facts.connections.get(c.0 as usize));
        let end = row.and_then(|row| Some((row.daddr?, row.dport)));
        if let (Some((ip, port)), Some(c), Some(_), true) = (end, r.connection, r.rcvq_ns, r.pid > 0) {
            let of = by
                .entry((ip.to_canonical(), port, r.task))
                .or_default()
                .entry(c)
                .or_default();
            of.bytes = of.bytes.saturating_add(r.bytes.unwrap_or(0).into());
            of.rows.push(r);
        }
    }
    let found = by
        .into_iter()
        .filter_map(|((ip, port, _), of)| one(facts, (ip, port), &of));
    found.max_by_key(|u| u.units.0)
}

fn one(facts: &Facts, (ip, port): (IpAddr, u16), of: &BTreeMap<ConnectionId, Reader<'_>>) -> Option<Uneven> {
    let lay = |r: &&&RxRow| r.rcvq_ns >= Some(LATE_NS);
    let longest = |r: &Reader<'_>| r.rows.iter().filter_map(|r| r.rcvq_ns).max().unwrap_or(0);
    let small = |r: &Reader<'_>| r.bytes <= MESSAGE.saturating_mul(r.rows.len() as u64);
    let is_late = |r: &Reader<'_>| {
        let n = r.rows.iter().filter(lay).count();
        n >= LATE && n * PART >= r.rows.len() && small(r)
    };
    let mut late: Vec<(&ConnectionId, &Reader<'_>)> = of.iter().filter(|(_, r)| is_late(r)).collect();
    late.sort_by_key(|(c, r)| (std::cmp::Reverse(r.rows.iter().filter(lay).count()), **c));
    let all = || late.iter().flat_map(|(_, r)| r.rows.iter().filter(lay));
    let (from, to) = (all().map(|r| r.start_ns).min()?, all().map(|r| r.start_ns).max()?);
    // Others that had work meanwhile.
    let meanwhile = |r: &Reader<'_>| {
        let n = r.rows.iter().filter(|r| r.start_ns >= from && r.start_ns <= to).count();
        n >= QUICK && longest(r) < QUICK_NS && small(r)
    };
    let quick: Vec<(&ConnectionId, &Reader<'_>)> = of.iter().filter(|(_, r)| meanwhile(r)).collect();
    let speaks = |(c, _): &(&ConnectionId, &Reader<'_>)| {
        let out = facts.connections.get(c.0 as usize).map_or(0, |row| row.bytes_out);
        out > 0
    };
    // Workers say something there when they are done; who only listens is slow for its own reasons.
    if quick.is_empty() || !late.iter().all(speaks) {
        return None;
    }
    let name = |(c, r): &(&ConnectionId, &Reader<'_>)| {
        let first = r
            .rows
            .first()
            .map_or_else(String::new, |r| format!("{}/{}", r.task.text(), r.pid));
        let at = facts.connections.get(c.0 as usize).and_then(|row| row.saddr);
        at.map_or(first.clone(), |at| format!("{first} at {at}"))
    };
    let mut calls: BTreeMap<Name, i64> = BTreeMap::new();
    for r in all().filter(|r| !r.asleep_in.is_empty()) {
        let of = calls.entry(r.asleep_in).or_default();
        *of = of.saturating_add(r.asleep_in_ns);
    }
    let waited = all().filter_map(|r| r.rcvq_ns).fold(0i64, i64::saturating_add);
    let most = calls.into_iter().max_by_key(|(_, ns)| *ns);
    let most = most.filter(|(_, ns)| ns.saturating_mul(2) >= waited);
    let start = facts.capture.start_ns.unwrap_or(0);
    Some(Uneven {
        of: std::net::SocketAddr::new(ip, port).to_string(),
        units: (
            all().count() as u64,
            late.iter().map(|(_, r)| r.rows.len() as u64).sum(),
        ),
        longest_ns: late.iter().map(|(_, r)| longest(r)).max().unwrap_or(0),
        first_ns: from.saturating_sub(start),
        asleep_in: most.map_or_else(String::new, |(call, _)| call.text().into_owned()),
        quick_units: quick.iter().map(|(_, r)| r.rows.len() as u64).sum(),
        quick_longest_ns: quick.iter().map(|(_, r)| longest(r)).max().unwrap_or(0),
        late: late.iter().map(name).collect(),
        quick: quick.iter().map(name).collect(),
    })
}
