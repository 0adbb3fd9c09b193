//! Answers that a server lets go at its own even pace, for one client's address: a rate limit that delays.
//!
//! Needs `turnarounds`, `connections`. What is above the rate waits; so while any waits, answers leave one each so often, whatever they ask for. Must not take
//! for one: a server whose one thread takes as long for each (it runs), or whose own server does (then the others wait as well); a client that asks at an even pace
//! (answers leave as they come, unless the wait of the first of them was seen to grow, all at that pace: who asks again when he is answered comes at it, too); a lock or a worker that takes as long for each (another thread wakes them; of a limit a timer does).
//!
//! ```text
//! 192.0.2.50   asks ||| | || |||| |      answers   |     |     |     |     |      one each EACH
//! others       ask   |   |      |        answers    |   |      |                  at once
//! ```
//! Source: nginx, ngx_http_limit_req_module (`delay` without `nodelay`); the same with a token bucket whose callers wait.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::tcp::role::Role;
use crate::stat::nearest_rank;

/// Fewest answers of each: so held back, and of others.
const FEWEST: usize = 20;
/// The others wait for this part of it at most.
const FAR_LESS: i64 = 4;
/// Shortest pace, ns: below it a thread's own work is one.
const EACH_NS: i64 = 2_000_000;
/// Times between two answers are the pace when they are this near to it: one part in so many.
const NEAR: i64 = 5;
/// Answers whose wait is seen to grow.
const GROWN: usize = 3;
/// So many of them, of the time for which the threads slept, and of the slow answers' time at one address.
const MOSTLY: f64 = 0.9;

/// At which pace.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Metered {
    /// Address of the client.
    pub client: String,
    /// Answers that were so held back.
    pub n: u64,
    /// From one to the next, median, ns.
    pub each_ns: i64,
    /// What answers to other addresses took meanwhile, median, ns.
    pub others_p50_ns: i64,
    /// How many these were.
    pub others: u64,
}

fn near(ns: i64, each_ns: i64) -> bool {
    ns.saturating_sub(each_ns).saturating_abs() <= each_ns / NEAR
}

/// Times from one to the next.
struct Pace {
    /// Median, ns.
    each_ns: i64,
    /// Share of them that are near it, 0 to 1.
    even: f64,
}

impl Pace {
    /// Of moments in their order; two or more.
    fn of(at: impl Iterator<Item = i64> + Clone) -> Option<Pace> {
        let next = at.clone().skip(1);
        let mut apart: Vec<i64> = at.zip(next).map(|(a, b)| b.saturating_sub(a)).collect();
        let each_ns = nearest_rank(&mut apart, 50)?;
        let even = apart.iter().filter(|ns| near(**ns, each_ns)).count();
        Some(Pace {
            each_ns,
            even: even as f64 / apart.len() as f64,
        })
    }
}

fn client(facts: &Facts, c: ConnectionId) -> Option<IpAddr> {
    facts.connections.get(c.0 as usize)?.daddr.map(|a| a.to_canonical())
}

/// Whether the first answers waited less and less short, each longer by the pace or less, and all of them leave at it: a queue that fills.
fn grown(mut all: Vec<&TurnaroundRow>, each_ns: i64, p50: i64) -> bool {
    all.sort_by_key(|t| t.send_ns);
    let even = Pace::of(all.iter().map(|t| t.send_ns)).is_some_and(|p| p.even >= MOSTLY && near(p.each_ns, each_ns));
    let short = all.iter().take_while(|t| t.total_ns() <= p50 / 2).count();
    let waits = all.iter().take(short + 1).map(|t| t.total_ns());
    let step = |(a, b): (i64, i64)| (1..=each_ns + each_ns / NEAR).contains(&b.saturating_sub(a));
    let grows = waits.clone().zip(waits.skip(1)).all(step);
    even && short >= GROWN && grows
}

/// Of these slow answers.
pub(super) fn metered(facts: &Facts, slow: &[&TurnaroundRow]) -> Option<Metered> {
    let mut by: BTreeMap<IpAddr, Vec<&TurnaroundRow>> = BTreeMap::new();
    for t in slow {
        by.entry(client(facts, t.connection)?).or_default().push(t);
    }
    let time = |of: &[&TurnaroundRow]| of.iter().map(|t| t.total_ns()).fold(0i64, i64::saturating_add);
    // By time: where most answers are held back, those of others are among these, too.
    let (address, mut theirs) = by.into_iter().max_by_key(|(_, of)| time(of))?;
    if theirs.len() < FEWEST || (time(&theirs) as f64) < MOSTLY * time(slow) as f64 {
        return None;
    }
    let sum = |of: &dyn Fn(&TurnaroundRow) -> i64| theirs.iter().map(|t| of(t)).fold(0i64, i64::saturating_add);
    if (sum(&|t| t.split.asleep_ns) as f64) < MOSTLY * sum(&TurnaroundRow::total_ns) as f64 {
        return None;
    }
    let woken = |t: &&&TurnaroundRow| t.woken_by_pid != 0 && t.woken_by_ns.saturating_mul(2) >= t.total_ns();
    if theirs.iter().filter(woken).count().saturating_mul(2) >= theirs.len() {
        return None;
    }
    theirs.sort_by_key(|t| t.start_ns());
    let come = Pace::of(theirs.iter().map(|t| t.start_ns()))?;
    theirs.sort_by_key(|t| t.send_ns);
    let go = Pace::of(theirs.iter().map(|t| t.send_ns))?;
    let each_ns = Some(go.each_ns).filter(|ns| *ns >= EACH_NS)?;
    let as_they_come = come.even >= MOSTLY && near(come.each_ns, each_ns);
    let mut waits: Vec<i64> = theirs.iter().map(|t| t.total_ns()).collect();
    let p50 = nearest_rank(&mut waits, 50)?;
    let end = |c: ConnectionId| facts.connections.get(c.0 as usize).map(|r| (r.saddr, r.sport));
    let of = end(theirs.first()?.connection)?;
    let its = |t: &&TurnaroundRow| end(t.connection) == Some(of) && client(facts, t.connection) == Some(address);
    // Several wait at a time: else it is their client's pace.
    if go.even < MOSTLY || p50 < each_ns.saturating_mul(2) {
        return None;
    }
    if as_they_come && !grown(facts.turnarounds.iter().filter(its).collect(), each_ns, p50) {
        return None;
    }
    let (first, last) = (theirs.first()?.send_ns, theirs.last()?.send_ns);
    let others = facts.turnarounds.iter().filter(|t| {
        let served = facts
            .connections
            .get(t.connection.0 as usize)
            .is_some_and(|r| r.role().0 == Role::Server);
        let meanwhile = (first..=last).contains(&t.send_ns);
        served && meanwhile && end(t.connection) == Some(of) && client(facts, t.connection) != Some(address)
    });
    let mut others: Vec<i64> = others.map(TurnaroundRow::total_ns).collect();
    let others_p50_ns = nearest_rank(&mut others, 50).filter(|ns| ns.saturating_mul(FAR_LESS) <= p50)?;
    (others.len() >= FEWEST).then(|| Metered {
        client: address.to_string(),
        n: theirs.len() as u64,
        each_ns,
        others_p50_ns,
        others: others.len() as u64,
    })
}
