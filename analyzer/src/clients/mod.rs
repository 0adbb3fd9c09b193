//! Who asked whom, how long it took, and when: the views `clients` and `clients_by_second`.
//!
//! In: the views `connections`, `responses`, `turnarounds`, `opens`, `resets` and what clients left without an answer. Out: rows, made when
//! somebody asks for the view and not before. Must not judge: what is slow is said by [`SLOW_TIMES`] and [`SLOW_NS`] alone.
//!
//! ```text
//! client's socket in the recording: its responses  ─┐
//! else: the server's turnarounds (without the way) ─┴> one request each -> by client address and server end -> by second
//! ```
//! A connection both ends of which are recorded is the client's alone, so each request is counted once. A turn in which more was readable before
//! the send in front of it (`overlap`) is no request of its own and is counted beside them.

mod gather;
pub mod tables;
#[cfg(test)]
mod tests;

pub use tables::{BY_SECOND, CLIENTS, ClientRow, SecondRow};

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::analyses::datagrams::{SLOW_NS, SLOW_TIMES};
use crate::facts::Facts;
use crate::stat::nearest_rank;
use gather::{Of, Request};

/// Rows of the view `clients`, by server and client.
pub fn clients(facts: &Facts) -> Vec<ClientRow> {
    let all = gather::all(facts);
    let mut by_server: BTreeMap<SocketAddr, Vec<i64>> = BTreeMap::new();
    for (key, of) in &all {
        by_server.entry(key.server).or_default().extend(of.times());
    }
    let slow: BTreeMap<SocketAddr, i64> = by_server
        .into_iter()
        .filter_map(|(server, mut times)| {
            let median = nearest_rank(&mut times, 50)?;
            Some((server, median.saturating_mul(SLOW_TIMES).max(SLOW_NS)))
        })
        .collect();
    let start = facts.capture.start_ns.unwrap_or(0);
    all.into_iter()
        .map(|(key, of)| {
            let least = slow.get(&key.server).copied().unwrap_or(i64::MAX);
            let is_slow = |r: &&Request| r.took_ns.is_some_and(|took| took >= least);
            let slow_at = || {
                let of = of.requests.iter().filter(is_slow);
                of.map(|r| r.at_ns.saturating_sub(start))
            };
            let mut times: Vec<i64> = of.times().collect();
            let mut rank = |percent| nearest_rank(&mut times, percent);
            ClientRow {
                client: key.client,
                server: key.server,
                p50_ns: rank(50),
                p95_ns: rank(95),
                p99_ns: rank(99),
                max_ns: rank(100),
                slow: slow_at().count() as u64,
                first_slow_after_ns: slow_at().min(),
                last_slow_after_ns: slow_at().max(),
                slow_from_ns: slow.get(&key.server).copied(),
                of,
            }
        })
        .collect()
}

/// Rows of the view `clients_by_second`, by server, client and second.
pub fn by_second(facts: &Facts) -> Vec<SecondRow> {
    let start = facts.capture.start_ns.unwrap_or(0);
    let second = |at: i64| at.saturating_sub(start).div_euclid(1_000_000_000);
    let mut out = vec![];
    for (key, of) in gather::all(facts) {
        let mut seconds: BTreeMap<i64, Of> = BTreeMap::new();
        for r in of.requests {
            seconds.entry(second(r.at_ns)).or_default().requests.push(r);
        }
        for at in of.failed {
            seconds.entry(second(at)).or_default().failed.push(at);
        }
        out.extend(seconds.into_iter().map(|(second, of)| {
            let mut times: Vec<i64> = of.times().collect();
            SecondRow {
                client: key.client,
                server: key.server,
                second,
                requests: of.requests.len() as u64,
                answered: of.answered(),
                failed: of.failed.len() as u64,
                p50_ns: nearest_rank(&mut times, 50),
                max_ns: times.into_iter().max(),
            }
        }));
    }
    out
}
