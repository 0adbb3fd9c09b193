//! What is said of multicast that is sent on and comes to nobody any more.

use super::address;
use crate::analyses::datagrams::{Ceased, Ports};
use crate::analyses::verdict::sentences::per_second;
use crate::analyses::verdict::spells::listed;

/// Streams named one by one, and receivers of each.
const NAMED: usize = 3;
const READERS: usize = 4;

fn many(all: &[String], most: usize) -> String {
    let mut words: Vec<String> = all.iter().take(most).cloned().collect();
    let more = all.len().saturating_sub(most);
    if more > 0 {
        words.push(format!("{more} more"));
    }
    listed(&words)
}

/// `239.10.1.1:30001 to riskd/12 (since 7.3 s), while feed/20 of 10.80.4.10 sends on (85 a second)`
fn stream(c: &Ceased) -> String {
    let readers = c.readers.iter();
    let readers: Vec<String> = readers
        .map(|(who, at)| format!("{who} (since {:.1} s)", *at as f64 / 1e9))
        .collect();
    let from = match c.from.as_str() {
        "" => String::new(),
        from => format!(" of {from}"),
    };
    let per_s = c.sent.0 as f64 * 1e9 / c.sent.1.max(1) as f64;
    format!(
        "{} to {}, while {}{from} sends on ({} a second)",
        address(&c.to),
        many(&readers, READERS),
        c.sender,
        per_second(per_s)
    )
}

fn ports(p: &Ports) -> String {
    let host = match p.host.as_str() {
        "" => String::new(),
        host => format!(" of {host}"),
    };
    let since = match p.since.as_slice() {
        [] => "to none since".to_owned(),
        some => format!("to {} alone since", listed(some)),
    };
    let before: Vec<String> = p.before.iter().filter(|dev| !p.since.contains(dev)).cloned().collect();
    let also = if p.since.is_empty() { "" } else { "also " };
    format!(
        "the bridge {}{host} gets them at its port {} still and hands them on {since}, where it was {also}to {} before",
        p.bridge,
        p.by,
        listed(&before)
    )
}

/// What they have in common, and what may be why.
fn why(all: &[Ceased]) -> String {
    // Of one bridge that is left with the same ports it is said once.
    let mut bridges: Vec<Ports> = vec![];
    for p in all.iter().filter_map(|c| c.ports.as_ref()) {
        let same = |b: &&mut Ports| (&b.bridge, &b.host, &b.by, &b.since) == (&p.bridge, &p.host, &p.by, &p.since);
        match bridges.iter_mut().find(same) {
            Some(b) => {
                b.before.extend(p.before.iter().cloned());
                b.mute.extend(p.mute.iter().cloned());
            }
            None => bridges.push(p.clone()),
        }
    }
    for b in &mut bridges {
        b.before.sort();
        b.before.dedup();
    }
    let mut mute: Vec<String> = bridges.iter().flat_map(|b| b.mute.iter().cloned()).collect();
    mute.sort();
    mute.dedup();
    let bridges: Vec<String> = bridges.iter().map(ports).collect();
    let mut members: Vec<String> = all.iter().flat_map(|c| &c.members).cloned().collect();
    members.sort();
    members.dedup();
    let one = members.len() == 1;
    let (is, they) = if one { ("is", "it has") } else { ("are", "they have") };
    let still = format!(
        "{} {is} in {} still",
        many(&members, READERS),
        if all.len() == 1 { "this group" } else { "these groups" }
    );
    let see = "inferred; see bridge -d -s mdb show, and mcast_querier of the bridge or of its router";
    match bridges.join("; ").as_str() {
        // Nothing tells where.
        "" => format!(
            "{still}, and no drop of this host accounts for it: lost on the way, as where a switch that snoops IGMP forgot that {they} joined, since no querier asked for it again, or a link is down ({see})"
        ),
        seen if !mute.is_empty() => format!(
            "{seen}; {still}, and nothing else left by {} since either: that port is down or blocked (bridge -d link show), or it forgot that {they} joined ({see})",
            listed(&mute)
        ),
        seen => format!(
            "{seen}; {still}: it forgot that {they} joined, as one that snoops IGMP does where no querier asks for it again ({see})"
        ),
    }
}

/// All of them.
pub(super) fn words(all: &[Ceased]) -> Option<String> {
    if all.is_empty() {
        return None;
    }
    let each: Vec<String> = all.iter().take(NAMED).map(stream).collect();
    let more = match all.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!("; {n} more such"),
    };
    Some(format!(
        "no datagram comes any more for {}{more}: {}",
        each.join(", nor for "),
        why(all)
    ))
}
