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
    let mut bridges: Vec<String> = vec![];
    for said in all.iter().filter_map(|c| c.ports.as_ref()).map(ports) {
        if !bridges.contains(&said) {
            bridges.push(said);
        }
    }
    let mut members: Vec<String> = all.iter().flat_map(|c| &c.members).cloned().collect();
    members.sort();
    members.dedup();
    let one = members.len() == 1;
    let (is, its) = if one { ("is", "has") } else { ("are", "have") };
    let still = format!(
        "{} {is} in {} still",
        many(&members, READERS),
        if all.len() == 1 { "this group" } else { "these groups" }
    );
    let who = if bridges.is_empty() {
        "a switch on the way"
    } else {
        "it"
    };
    let forgot = format!(
        "{who} forgot that they {its} joined, as one that snoops IGMP does where no querier asks for it again (inferred; see bridge -d -s mdb show, and mcast_querier of the bridge or of its router)"
    )
    .replace("they has", "it has");
    let seen = bridges.join("; ");
    match seen.as_str() {
        "" => format!("{still}, and no drop of this host accounts for it: {forgot}"),
        seen => format!("{seen}; {still}: {forgot}"),
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
        each.join("; nor for "),
        why(all)
    ))
}
