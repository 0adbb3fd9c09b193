//! Which other connections readers were at, on a CPU, while packets lay in a receive queue: the application was busy elsewhere.
//!
//! Needs read units of `rx` (`busy_ns`, `busy_on`), `connections`. Told by the reader's own calls on other sockets; what it ran for between calls on
//! different sockets is nobody's.

use std::collections::BTreeMap;

use crate::analyses::tcp::as_opened;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::receive::tables::{RxRow, Stage};

/// Share of the time in which readers ran from which these are named.
const MOSTLY: f64 = 0.5;

/// Those connections, and who was at them.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BusyWith {
    /// `task/thread` that was at others for longest while what it read later lay there.
    pub task: String,
    /// How many connections units name: of each, the one with most of the time.
    pub connections: u64,
    /// The one with most, as who opened it writes it: `10.0.0.3:40000 > 10.0.0.1:443`; empty: none is TCP's.
    pub first: String,
    /// Time of units for which their readers were at others, ns.
    pub ns: i64,
    /// Of that, at the first of these connections.
    pub first_ns: i64,
    /// Of that, at the connections that units name.
    #[serde(skip)]
    pub connections_ns: i64,
    /// Share of all time of units in which their readers ran, 0 to 1.
    pub share: f64,
}

/// Of all read units.
pub(super) fn busy_with(facts: &Facts, read: &[&RxRow]) -> Option<BusyWith> {
    let (mut all, mut ns) = (0i64, 0i64);
    let mut at: BTreeMap<ConnectionId, i64> = BTreeMap::new();
    let mut by: BTreeMap<i32, (i64, Name)> = BTreeMap::new();
    for r in read {
        all = all.saturating_add(r.stage(Stage::ReaderRunning).unwrap_or(0));
        if r.busy_ns > 0 {
            ns = ns.saturating_add(r.busy_ns);
            let of = by.entry(r.pid).or_insert((0, r.task));
            of.0 = of.0.saturating_add(r.busy_ns);
        }
        if let Some(c) = r.busy_on {
            let of = at.entry(c).or_insert(0);
            *of = of.saturating_add(r.busy_on_ns);
        }
    }
    let share = ns as f64 / all.max(1) as f64;
    let (pid, (_, task)) = by.into_iter().max_by_key(|(pid, of)| (of.0, std::cmp::Reverse(*pid)))?;
    if share < MOSTLY {
        return None;
    }
    let first = at.iter().max_by_key(|(c, ns)| (**ns, std::cmp::Reverse(**c)));
    let row = first.and_then(|(c, _)| facts.connections.get(c.0 as usize));
    Some(BusyWith {
        task: format!("{}/{pid}", task.text()),
        connections: at.len() as u64,
        first: row.map(as_opened).unwrap_or_default(),
        ns,
        first_ns: first.map_or(0, |f| *f.1),
        connections_ns: at.values().fold(0, |sum, ns| sum.saturating_add(*ns)),
        share,
    })
}
