//! What did the kernel's own counters say, and do the events agree? In: view `counters`, `counters_over_time`, `drops`, `retransmits`, `cgroups`. Out: the
//! counters that rose and mean that something was lost, short or wrong, and when they did; and comparisons of a counter with the events that
//! should have told the same.
//!
//! Method: a rise is the difference of two snapshots that enclose the recording. So a counter may have risen by more than the events show
//! (before the first or after the last event), never by less, when no namespace was made, gone or left out meanwhile. A flight reads qdiscs,
//! cards and other namespaces for the first time after its trigger: these are not compared. Limit: rises before
//! a loss of events and after it are one number.

use std::collections::BTreeMap;

use crate::analyses::Outcome;
use crate::counters::tables::CounterRow;
use crate::facts::{Facts, Reason};
use crate::snapshots::cgroups::tables::CgroupRow;
use crate::snapshots::refusing::Refusing;
use crate::table::Cell;

mod meanings;
#[cfg(test)]
mod tests;
mod when;

pub use meanings::Meaning;
pub use when::When;

/// A counter that rose.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Rise {
    /// What a rise of it means.
    pub meaning: Meaning,
    /// Which text it is from.
    pub source: &'static str,
    /// Device, CPU or qdisc; empty for a whole namespace.
    pub of: String,
    /// Network namespaces (inodes) in which it rose.
    pub netns: Vec<u64>,
    /// Its name.
    pub name: String,
    /// By how much, all namespaces.
    pub rise: u64,
    /// When it rose, where readings of every second tell (of the recorder's own namespace).
    pub when: Option<When>,
    /// One sentence; empty where the name says it.
    pub says: &'static str,
}

/// How a counter and the events of the same thing compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// Equal.
    Equal,
    /// The counter rose by more: some were outside of the recording, or in a lost part of it.
    MoreCounted,
    /// The counter rose by more, and of some events it is not known how many they stand for: that tells nothing.
    SeveralEach,
    /// The events show more: a namespace was not read, was made or went meanwhile.
    MoreSeen,
}

/// A counter beside the events.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Check {
    /// Counters that were added up.
    pub counters: &'static str,
    /// Events that tell the same.
    pub events: &'static str,
    /// Rise.
    pub counted: u64,
    /// Events.
    pub seen: u64,
    /// How they compare.
    pub agreement: Agreement,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Counters {
    /// Counters that are in both snapshots.
    pub compared: u64,
    /// Counters that are in one snapshot only, or fell: nothing is known of their rise.
    pub not_compared: u64,
    /// Counters that rose.
    pub rose: u64,
    /// Those whose rise means something, the worst and largest first.
    pub rises: Vec<Rise>,
    /// Counters beside events.
    pub checks: Vec<Check>,
    /// TCP segments received (TcpInSegs), all namespaces; `None`: not counted.
    pub tcp_segments: Option<u64>,
    /// Listening sockets that turned connections away, by the snapshots of sockets; most first.
    pub refusing: Vec<Refusing>,
    /// Cgroups with a limit of CPU time, those stopped for longest first.
    pub cgroups: Vec<CgroupRow>,
}

impl Counters {
    /// Rises that say that packets were lost where no event tells: in a network card or its driver.
    pub fn lost_before_events(&self) -> impl Iterator<Item = &Rise> {
        self.rises.iter().filter(|r| r.meaning == Meaning::LostUnseen)
    }
}

/// Asks.
pub fn answer(facts: &Facts) -> Outcome<Counters> {
    let rises: Vec<(&CounterRow, u64)> = facts.counters.iter().filter_map(|r| Some((r, r.rise()?))).collect();
    if rises.is_empty() {
        let because = match facts.capture.joined.is_empty() {
            true => {
                "the recording has no counters of the kernel from before and after it: only a bundle has, and only when it was not cut off"
            }
            false => {
                "several recordings were joined: each has counters of its own time, and none of the time of all; ask each one alone"
            }
        };
        return Outcome::Unknown(vec![Reason {
            subject: "counters",
            because: because.into(),
        }]);
    }
    let when = when::all(facts);
    let mut by: BTreeMap<(&'static str, &str, &str), (u64, Vec<u64>)> = BTreeMap::new();
    for (row, rise) in rises.iter().filter(|(_, rise)| *rise > 0) {
        let (sum, spaces) = by.entry((row.source, &row.of, &row.name)).or_default();
        *sum = sum.saturating_add(*rise);
        spaces.extend(row.netns);
    }
    let meant = |(&(source, of, name), (rise, netns)): (&(&'static str, &str, &str), &(u64, Vec<u64>))| {
        // What a qdisc below the root drops is in the root's.
        if source == "qdisc" && !of.ends_with(" root") {
            return None;
        }
        let (meaning, says) = meanings::of(source, name)?;
        Some(Rise {
            meaning,
            source,
            of: of.to_owned(),
            netns: netns.clone(),
            name: name.to_owned(),
            rise: *rise,
            when: when.get(&(source, of, name)).cloned(),
            says,
        })
    };
    let mut meaningful: Vec<Rise> = by.iter().filter_map(meant).collect();
    meaningful.sort_by(|a, b| {
        (a.meaning, std::cmp::Reverse(a.rise), &a.name, &a.of).cmp(&(
            b.meaning,
            std::cmp::Reverse(b.rise),
            &b.name,
            &b.of,
        ))
    });
    Outcome::Findings(Counters {
        compared: rises.len() as u64,
        not_compared: facts
            .counters
            .iter()
            .filter(|r| r.is_counter() && r.rise().is_none())
            .count() as u64,
        rose: rises.iter().filter(|(_, rise)| *rise > 0).count() as u64,
        rises: meaningful,
        checks: checks(facts, &rises),
        tcp_segments: (rises.iter().filter(|(r, _)| r.name == "TcpInSegs"))
            .map(|(_, rise)| *rise)
            .reduce(u64::saturating_add),
        refusing: refusing(facts, &rises),
        cgroups: facts.cpu_limits.rows.iter().take(CGROUPS).cloned().collect(),
    })
}

/// What a listening socket counts beside the connections that it turned away, and what came between the two snapshots of a moment: one in so many.
const ABOUT: u64 = 20;
/// Listening sockets kept, those with most.
const KEPT: usize = 16;
/// Cgroups kept, those stopped for longest.
const CGROUPS: usize = 50;

/// Of each namespace only where its sockets dropped no more than the kernel counted as turned away there. More is something else: bare ACKs under
/// TCP_DEFER_ACCEPT, or the drops of a whole life, of a socket that the first list did not reach.
fn refusing(facts: &Facts, rises: &[(&CounterRow, u64)]) -> Vec<Refusing> {
    let mut left: BTreeMap<u64, i128> = BTreeMap::new();
    for (row, rise) in rises.iter().filter(|(r, _)| r.name == "TcpExtListenDrops") {
        let counted = left.entry(row.netns.unwrap_or(0)).or_default();
        *counted += i128::from(*rise) + i128::from(rise / ABOUT);
    }
    for r in &facts.refusing {
        *left.entry(r.netns).or_default() -= i128::from(r.drops);
    }
    let told = |r: &&Refusing| left.get(&r.netns).is_some_and(|n| *n >= 0);
    let mut told: Vec<Refusing> = facts.refusing.iter().filter(told).take(KEPT).cloned().collect();
    told.iter_mut().for_each(|r| r.read_last_ns = read_last(facts, r));
    told
}

/// When the process of one of several sockets of an address read last, where it stopped long before those of the others, and connections wait for it.
fn read_last(facts: &Facts, r: &Refusing) -> Option<i64> {
    let (_, pid) = (r.task.rsplit_once('/')).filter(|_| !r.beside.is_empty() && r.queued.is_some_and(|n| n > 0))?;
    let pid: i32 = pid.parse().ok()?;
    let (mut own, mut others) = (None, None);
    for row in facts.rx.iter().filter(|row| row.pid > 0) {
        let last = match facts.process(row.pid) {
            p if p == pid => &mut own,
            p if r.beside.contains(&p) => &mut others,
            _ => continue,
        };
        *last = Some(row.start_ns.saturating_add(row.total_ns)).max(*last);
    }
    let at: i64 = own?;
    let stopped = others.is_some_and(|o: i64| o.saturating_sub(at) >= STOPPED_NS);
    Some(at.saturating_sub(facts.capture.start_ns?)).filter(|_| stopped)
}

/// So long before the others.
const STOPPED_NS: i64 = 1_000_000_000;

/// What is compared: source and names of counters, the event that has to be recorded, how many of it were seen.
struct Pair {
    counters: &'static str,
    events: &'static str,
    key: &'static str,
    /// An event stands for one or more, of some it is not known how many.
    several: fn(&Facts) -> bool,
    is: fn(&CounterRow) -> bool,
    /// Counted by the same counter, and told by no event.
    less: fn(&CounterRow) -> bool,
    seen: fn(&Facts) -> u64,
}

const PAIRS: [Pair; 4] = [
    Pair {
        counters: "TcpRetransSegs - TcpExtTCPRetransFail",
        events: "segments of tcp_retransmit_skb (one, where not known) and tcp_retransmit_synack",
        key: "tcp:tcp_retransmit_skb",
        several: |f| f.retransmits.iter().any(|r| r.segments.is_none()),
        is: |r| r.source == "snmp" && r.name == "TcpRetransSegs",
        less: |r| r.name == "TcpExtTCPRetransFail",
        seen: |f| f.retransmits.iter().map(|r| u64::from(r.segments.unwrap_or(1))).sum(),
    },
    Pair {
        counters: "Udp(6)RcvbufErrors + Udp(6)MemErrors",
        events: "udp_fail_queue_rcv_skb",
        key: "udp:udp_fail_queue_rcv_skb",
        several: |_| false,
        is: |r| {
            matches!(
                r.name.as_str(),
                "UdpRcvbufErrors" | "Udp6RcvbufErrors" | "UdpMemErrors" | "Udp6MemErrors"
            )
        },
        less: |_| false,
        seen: |f| f.capture.events.get("udp:udp_fail_queue_rcv_skb").copied().unwrap_or(0),
    },
    Pair {
        counters: "softnet_stat dropped",
        events: "kfree_skb for CPU_BACKLOG",
        key: "skb:kfree_skb",
        several: |_| false,
        is: |r| r.source == "softnet" && r.name == "dropped",
        less: |_| false,
        seen: |f| freed_for(f, &["CPU_BACKLOG"]),
    },
    Pair {
        counters: "drops of root qdiscs",
        events: "kfree_skb for QDISC_…, FQ_…",
        key: "skb:kfree_skb",
        several: |_| false,
        is: |r| r.source == "qdisc" && r.name == "drops" && r.of.ends_with(" root"),
        less: |_| false,
        seen: |f| {
            freed_for(
                f,
                &[
                    "QDISC_DROP",
                    "QDISC_OVERLIMIT",
                    "QDISC_CONGESTED",
                    "CAKE_FLOOD",
                    "FQ_BAND_LIMIT",
                    "FQ_HORIZON_LIMIT",
                    "FQ_FLOW_LIMIT",
                ],
            )
        },
    },
];

/// Frees for one of these reasons, by the recording's own table.
fn freed_for(facts: &Facts, reasons: &[&str]) -> u64 {
    let named = |reason| match facts.names.drop_reason(reason) {
        Cell::Str(name) => reasons.contains(&name.as_ref()),
        _ => false,
    };
    facts.drops.iter().filter(|d| named(d.reason)).count() as u64
}

fn checks(facts: &Facts, rises: &[(&CounterRow, u64)]) -> Vec<Check> {
    let reasons_told = facts.names.drop_reasons.is_some() && !facts.names.reasons_by_place;
    let asked = |p: &&Pair| facts.capture.recorded(p.key) && (p.key != "skb:kfree_skb" || reasons_told);
    let check = |p: &Pair| {
        let sum = |of: fn(&CounterRow) -> bool| {
            rises
                .iter()
                .filter(|(r, _)| of(r))
                .map(|(_, rise)| *rise)
                .fold(0, u64::saturating_add)
        };
        if !rises.iter().any(|(r, _)| (p.is)(r)) {
            return None;
        }
        let (counted, seen) = (sum(p.is).saturating_sub(sum(p.less)), (p.seen)(facts));
        if counted == 0 && seen == 0 {
            return None;
        }
        let agreement = match counted.cmp(&seen) {
            std::cmp::Ordering::Equal => Agreement::Equal,
            std::cmp::Ordering::Greater if (p.several)(facts) => Agreement::SeveralEach,
            std::cmp::Ordering::Greater => Agreement::MoreCounted,
            std::cmp::Ordering::Less => Agreement::MoreSeen,
        };
        Some(Check {
            counters: p.counters,
            events: p.events,
            counted,
            seen,
            agreement,
        })
    };
    PAIRS.iter().filter(asked).filter_map(check).collect()
}
