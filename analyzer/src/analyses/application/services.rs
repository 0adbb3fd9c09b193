//! Each service of this host by its own sockets, whether or not its clients are in the recording: how long it took to answer, and what its
//! threads did in the slow ones.
//!
//! Needs the view `turnarounds`. A turnaround is slow as an answer is (see `servers`); of the slow ones those with most of the time are told.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::cut::{least_of_slow, with_most};
use super::parts::Part;
use super::pools::{behind, solid};
use super::sockets::{Role, Socket};
use super::waited::{Waited, Waits};
use crate::analyses::tcp::label;
use crate::explain::{Id, Kind};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::stat::{Distribution, nearest_rank};

/// Services kept: those whose turnarounds took longest in all.
pub const SERVICES: usize = 20;

/// A service.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Service {
    /// `address:port` of its sockets.
    pub server: String,
    /// Its sockets with requests.
    pub connections: u64,
    /// Last byte of a request readable to the begin of the send that answers.
    pub turnaround: Distribution,
    /// The slowest of these.
    pub worst: Option<Id>,
    /// Time by which they took longer than their median, all in all, ns.
    pub over_ns: i64,
    /// The slow ones.
    pub slow: Option<SlowTurns>,
}

/// Slow turnarounds of a service.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SlowTurns {
    /// Requests.
    pub n: u64,
    /// Their median, ns.
    pub p50_ns: i64,
    /// The fastest and the slowest of them, ns.
    pub min_ns: i64,
    /// As said.
    pub max_ns: i64,
    /// What the threads did, largest first.
    pub parts: Vec<Part>,
    /// Task and thread with most of it, and its share.
    pub task: (String, f64),
    /// As `slowest_behind`.
    pub behind: Option<(String, f64)>,
    /// What they waited for.
    pub waited: Option<Waited>,
    /// When they became readable, ns since the start of the recording, in order.
    #[serde(skip)]
    pub times: Vec<i64>,
}

/// All of them, most time first.
pub(super) fn services(facts: &Facts, sockets: &[Socket<'_>], waits: &Waits<'_>) -> Vec<Service> {
    let mut by: BTreeMap<String, Vec<&TurnaroundRow>> = BTreeMap::new();
    for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Server) {
        let label = facts
            .connections
            .get(s.connection.0 as usize)
            .map_or_else(String::new, label);
        let here = label.split(" > ").next().unwrap_or_default().to_owned();
        by.entry(here).or_default().extend(s.judged_turnarounds());
    }
    let mut by: Vec<(String, Vec<&TurnaroundRow>)> = by.into_iter().filter(|(_, rows)| !rows.is_empty()).collect();
    by.sort_by_cached_key(|(_, rows)| {
        std::cmp::Reverse(rows.iter().fold(0i64, |sum, r| sum.saturating_add(r.total_ns())))
    });
    by.truncate(SERVICES);
    by.into_iter()
        .filter_map(|(name, rows)| of_service(facts, waits, name, rows))
        .collect()
}

fn of_service(facts: &Facts, waits: &Waits<'_>, server: String, rows: Vec<&TurnaroundRow>) -> Option<Service> {
    let (mut rows, ..) = solid(rows, |r| r.confidence.is_solid());
    rows.sort_by_key(|r| (std::cmp::Reverse(r.total_ns()), r.connection, r.send_ns));
    let turnaround = Distribution::of(rows.iter().map(|r| r.total_ns()).collect(), 0);
    let p50 = turnaround.p50_ns?;
    let worst = rows
        .first()
        .and_then(|r| Id::of_row(Kind::Turnaround, &facts.turnarounds, r));
    let over = rows.iter().map(|r| r.total_ns().saturating_sub(p50).max(0));
    let over_ns = over.fold(0i64, i64::saturating_add);
    let connections: FxHashSet<ConnectionId> = rows.iter().map(|r| r.connection).collect();
    let mut times: Vec<i64> = rows.iter().map(|r| r.total_ns()).collect();
    times.truncate(times.partition_point(|ns| *ns >= least_of_slow(p50)));
    rows.truncate(with_most(&times, p50));
    Some(Service {
        server,
        connections: connections.len() as u64,
        turnaround,
        worst,
        over_ns,
        slow: slow_turns(facts, waits, &rows),
    })
}

/// Slowest first.
fn slow_turns(facts: &Facts, waits: &Waits<'_>, rows: &[&TurnaroundRow]) -> Option<SlowTurns> {
    let (max_ns, min_ns) = (rows.first()?.total_ns(), rows.last()?.total_ns());
    let mut all: Vec<i64> = rows.iter().map(|r| r.total_ns()).collect();
    let start = facts.capture.start_ns.unwrap_or(0);
    let mut times: Vec<i64> = rows.iter().map(|r| r.start_ns().saturating_sub(start)).collect();
    times.sort_unstable();
    let (parts, task) = waits.doing(rows);
    Some(SlowTurns {
        n: rows.len() as u64,
        p50_ns: nearest_rank(&mut all, 50)?,
        min_ns,
        max_ns,
        parts,
        task,
        behind: behind(rows),
        waited: waits.waited(rows),
        times,
    })
}
