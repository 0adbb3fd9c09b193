//! By which way dropped packets came to where they were dropped, and who waited for them, in words.

use super::sentences::{counted, moment};
use crate::analyses::drops::{Group, Unmissed};

/// `a router passed 5 of them on and told their sender by an ICMP redirect, first at 6.026 s, ...`
pub(super) fn redirected(g: &Group) -> Option<String> {
    let r = g.redirected.as_ref()?;
    Some(format!(
        "a router passed {} of them on and told their sender by an ICMP redirect, first at {}, to send what is for there this way by itself: who accepts that (net.ipv4.conf.*.accept_redirects, secure_redirects) keeps to it for minutes, also when the router has its own way back",
        r.count,
        moment(r.first_ns)
    ))
}

/// `2909 of the 3020 packets that left by it came to a host that they are not for: ...`
pub(super) fn flooded(g: &Group) -> Option<String> {
    let f = g.flood?;
    Some(format!(
        "{} of the {} packets that left by it came to a host that they are not for: a bridge or switch sends them to every port, not knowing where their address is (flooding), or a mirror copies them there (inferred)",
        f.others, f.of
    ))
}

/// `768 FINs, 375 SYNs of a port scan`
pub(super) fn unmissed(u: &Unmissed) -> String {
    let all = [
        (u.fins, "FIN", "FINs"),
        (u.scans, "SYN of a port scan", "SYNs of a port scan"),
        (
            u.datagrams,
            "datagram of a thread that waited for no answer",
            "datagrams of threads that waited for no answer",
        ),
        (u.short, "too short for data", "too short for data"),
        (u.others, "other", "others"),
    ];
    let said = all
        .iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, one, many)| counted(*n, one, many));
    said.collect::<Vec<_>>().join(", ")
}
