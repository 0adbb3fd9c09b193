//! A path MTU black hole, in words.

use super::sentences::{counted, moment};
use crate::analyses::transmit::{BlackHole, Transmit};

/// Part of what was sent again that makes the line on it only its consequence.
const NEARLY_ALL: f64 = 0.9;

/// `none of 47 segments of more than 180 bytes from 10.0.0.1:80 to 10.0.0.2 was acknowledged: ...`
pub(in crate::analyses) fn black_hole(b: &BlackHole) -> String {
    let (least, most) = b.bytes;
    let bytes = match least == most {
        true => format!("{most} bytes"),
        false => format!("{least} to {most} bytes"),
    };
    let since = b
        .since_ns
        .map_or_else(String::new, |ns| format!("from {} on ", moment(ns)));
    let (at_once, later, never) = b.small;
    let later = (later > 0).then(|| format!(", {later} after being sent again"));
    let never = (never > 0).then(|| format!(", {never} never though sent again"));
    let came: String = later.into_iter().chain(never).collect();
    let small = b.small_bytes;
    let elsewhere = match (b.elsewhere, b.others.as_slice()) {
        (0, _) | (_, []) => String::new(),
        (n, peers) => format!("; {n} as large arrived at {}", peers.join(" and ")),
    };
    let place = match b.dev.is_empty() {
        true => "a path MTU black hole (inferred)".to_owned(),
        false => format!(
            "a path MTU black hole beyond {}, by which they were seen to leave last (inferred)",
            b.dev
        ),
    };
    let mtu = b.mtu.map(|mtu| format!("the MTU of {} is {mtu}", b.dev));
    let probing = b.probing.map(|p| format!("tcp_mtu_probing is {p}"));
    let icmp = b
        .icmp_told
        .then(|| "no ICMP message made TCP send smaller ones".to_owned());
    let known: Vec<String> = icmp.into_iter().chain(mtu).chain(probing).collect();
    let known = match known.is_empty() {
        true => String::new(),
        false => format!("; {}", known.join(", ")),
    };
    format!(
        "{since}none of {} segments of more than {small} bytes from {} to {} was acknowledged: {} of {bytes} on {} were retransmitted {} times in vain, while of those of at most {small} bytes {at_once} were acknowledged at once{came}, and handshakes or small segments of {} of these connections came through{elsewhere}: {place}{known}",
        b.of,
        b.from,
        b.to,
        b.lost,
        counted(b.connections, "connection", "connections"),
        b.again,
        b.alive,
    )
}

/// Behind the headline on what was sent again, where nearly all of so many calls were such segments: `, all of them to 10.0.0.2`.
pub(super) fn sent_again(t: &Transmit, calls: u64) -> Option<String> {
    let b = t.black_hole.as_ref()?;
    let nearly = b.calls > 0 && b.calls as f64 >= NEARLY_ALL * calls as f64;
    nearly.then(|| match b.calls == calls {
        true => format!(", all of them to {}", b.to),
        false => format!(", {} of these {calls} calls to {}", b.calls, b.to),
    })
}

/// Whether `saddr:sport > daddr:dport` is to that peer.
pub(super) fn to_its_peer(t: &Transmit, label: &str) -> bool {
    let to = label.rsplit(" > ").next().and_then(|end| end.rsplit_once(':'));
    let to = to.map(|(address, _)| address.trim_matches(['[', ']']));
    t.black_hole.as_ref().is_some_and(|b| to == Some(b.to.as_str()))
}
