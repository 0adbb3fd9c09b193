//! That a slice would have nothing of what it is asked for, and what of it there is alone.

use rustc_hash::FxHashSet;

use super::{Cut, Subject};
use crate::analyses::verdict::counted;
use crate::facts::{ConnectionId, Facts};

/// Names of devices told.
const LISTED: usize = 6;

/// Why a slice of this window (trace clock) has nothing of the subject; `None`: it has something.
pub fn nothing(facts: &Facts, subject: &Subject, cut: &Cut, window: Option<(u64, u64)>) -> Option<String> {
    let during = |ns: i64| window.is_none_or(|(from, to)| u64::try_from(ns).is_ok_and(|ns| (from..=to).contains(&ns)));
    let lasts = |first: i64, last: i64| window.is_none_or(|(from, to)| first <= clamped(to) && last >= clamped(from));
    let lives = cut.lives.iter().filter_map(|skb| facts.skbs.get(skb.0 as usize));
    let packets = lives.filter(|l| lasts(l.birth_ns, l.death_ns.unwrap_or(l.last_ns).max(l.last_ns)));
    let drops = cut.drops.own.iter().filter_map(|row| facts.drops.get(*row));
    if packets.count() > 0 || drops.filter(|d| during(d.time_ns)).count() > 0 {
        return None;
    }
    let flow = Flow::of(facts, subject);
    let events = |own: &FxHashSet<ConnectionId>| {
        let samples = facts.tcp_samples.iter().map(|s| (s.connection, s.time_ns));
        let mut all = samples.chain(facts.tcp_states.iter().map(|s| (s.connection, s.time_ns)));
        all.any(|(c, ns)| own.contains(&c) && during(ns))
    };
    // Events of a socket pass no device. Where its packets passed the device at another time, one of those of which nothing tells
    // whose they are (a SYN) may be of it.
    if (subject.devs.is_empty() || !cut.lives.is_empty()) && flow.as_ref().is_some_and(|f| events(&f.own)) {
        return None;
    }
    let then = if window.is_some() { " in that time" } else { "" };
    let mut parts = vec![];
    if let Some(flow) = &flow {
        parts.push(flow.told(facts, during, then));
    }
    if !subject.devs.is_empty() {
        let hops = facts
            .hops
            .iter()
            .filter(|h| subject.devs.iter().any(|d| *d == h.dev.text()));
        let mut there: Vec<u32> = hops.filter(|h| during(h.time_ns)).map(|h| h.skb_id.0).collect();
        there.sort_unstable();
        there.dedup();
        parts.push(format!(
            "{} passed {}{then}",
            counted(there.len() as u64, "packet of any flow", "packets of any flow"),
            subject.devs.join(" or ")
        ));
    }
    Some(format!(
        "no packet{then} is known to be of {subject}: {}",
        parts.join("; ")
    ))
}

fn clamped(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// The flows asked for, whatever they passed.
struct Flow {
    own: FxHashSet<ConnectionId>,
}

impl Flow {
    fn of(facts: &Facts, subject: &Subject) -> Option<Flow> {
        let ends = subject.ends(facts).ok().filter(|e| !e.is_empty())?;
        let own = facts.connections.iter().filter(|c| ends.iter().any(|e| e.are_of(c)));
        Some(Flow {
            own: own.map(|c| c.connection).collect(),
        })
    }

    fn told(&self, facts: &Facts, during: impl Fn(i64) -> bool, then: &str) -> String {
        let own = |c: Option<ConnectionId>| c.is_some_and(|c| self.own.contains(&c));
        let rx = facts.rx.iter().filter(|r| own(r.connection));
        let tx = facts.tx.iter().filter(|r| own(r.connection));
        let all: Vec<_> = rx
            .map(|r| (r.start_ns, r.dev))
            .chain(tx.map(|r| (r.t_sched_ns, r.dev)))
            .collect();
        let mut devs = vec![];
        for (_, dev) in all.iter().filter(|r| during(r.0)) {
            let name = dev.text();
            if !name.is_empty() && !devs.contains(&name) {
                devs.push(name);
            }
        }
        let n = all.iter().filter(|r| during(r.0)).count();
        let rows = counted(n as u64, "row of rx and tx", "rows of rx and tx");
        let of = if devs.is_empty() { "" } else { ", of " };
        let more = if devs.len() > LISTED { " and others" } else { "" };
        devs.truncate(LISTED);
        let start = facts.capture.start_ns.unwrap_or(0);
        let since = |ns: i64| ns.saturating_sub(start) as f64 / 1e9;
        let (first, last) = (all.iter().map(|r| r.0).min(), all.iter().map(|r| r.0).max());
        let when = match (first.zip(last), then.is_empty()) {
            (Some((first, last)), false) => {
                format!(" ({} from {:.3}s to {:.3}s)", all.len(), since(first), since(last))
            }
            _ => String::new(),
        };
        format!("of the flow there are {rows}{then}{of}{}{more}{when}", devs.join(", "))
    }
}
