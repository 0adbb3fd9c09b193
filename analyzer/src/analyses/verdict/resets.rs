//! What the line on connections says of RSTs: who sent them, and of what.

use super::attempts::was;
use super::sent::size;
use super::sentences::{counted, duration};
use super::spells::spells;
use crate::analyses::opens::{Opens, Reset};

/// Reasons of a RST for what came to a connection in TIME_WAIT, or after a close (include/net/rstreason.h).
const CLOSED: [&str; 2] = ["TIMEWAIT", "TCP_ABORT_ON_DATA"];

/// `1 connection (10.0.0.1:40000 > 10.0.0.2:80)`
fn which(r: &Reset) -> String {
    let n = counted(r.resets, "connection", "connections");
    match r.resets {
        1 => format!("{n} ({})", r.label),
        _ => format!("{n} (first {})", r.label),
    }
}

/// Of resets that a program notices.
pub(super) fn reset(r: &Reset) -> Option<String> {
    if r.complete {
        return None;
    }
    let n = which(r);
    let was = was(r.resets);
    match (r.received, r.sender) {
        (true, _) if !r.untranslated.is_empty() => Some(format!("{n} {was} reset {}", untranslated(r))),
        (true, _) if r.elsewhere => Some(format!("{n} {was} reset {}", elsewhere(r))),
        (true, "between") if r.twin || r.listens => Some(format!("{n} {was} reset {}", by_twin(r))),
        (true, "between") if r.rejected.is_some() => Some(format!("{n} {was} reset {}", by_rule(r))),
        (true, "between") => Some(format!(
            "{n} {was} reset by a RST that its peer's TCP, which is in this recording, did not send: a firewall between, or another host with its address"
        )),
        (true, "peer") => Some(format!("{n} {was} reset by the peer{}", aborted(r))),
        (true, _) => Some(format!("{n} {was} reset by a RST from the peer's address")),
        (false, _) => None,
    }
}

/// What is said behind a median, where it is of more than one.
fn middle(n: u64) -> &'static str {
    if n == 1 { "" } else { " (p50)" }
}

/// `, as nginx closed them with 64 kB unread (p50, TCP_ABORT_ON_CLOSE) ...`. No pause in it.
fn aborted(r: &Reset) -> String {
    let Some(a) = &r.aborted else { return String::new() };
    let by = if a.by.is_empty() {
        "whose program"
    } else {
        a.by.as_str()
    };
    let which = match (a.count == r.resets, a.count) {
        (true, 1) => "it".to_owned(),
        (true, _) => "them".to_owned(),
        (false, n) => format!("{n} of them"),
    };
    let inferred = if a.inferred { ", inferred" } else { "" };
    // A client that has read enough of a download does the same.
    let early = match a.answered_bytes {
        n if n == 0 || !a.server => String::new(),
        n => format!(
            ", after it had sent {} on each{}, as a server that answers and closes before it has the whole request, such as one that is too large, so a client still sending gets the RST instead of the answer (inferred)",
            size(n),
            middle(a.count)
        ),
    };
    format!(
        ", as {by} closed {which} with {} (TCP_ABORT_ON_CLOSE{inferred}){early}",
        a.unread_bytes.map_or_else(
            || "data unread".into(),
            |n| format!("{} unread{}", size(n), middle(a.count))
        )
    )
}

/// It came, and the peer's TCP did not send it.
pub(super) fn not_by_peer(r: &Reset) -> bool {
    r.received && (r.sender == "between" || r.elsewhere || !r.untranslated.is_empty())
}

/// By a rule that rejects.
fn by_rule(r: &Reset) -> String {
    let Some(of) = &r.rejected else { return String::new() };
    format!(
        "not by its peer but by a rule of a host of this recording, as nftables' and iptables' REJECT with tcp-reset does: the RST came just as a packet of the connection was dropped for {} ({} of {}; inferred by their times)",
        of.place, of.count, r.resets
    )
}

/// By another server than theirs.
fn elsewhere(r: &Reset) -> String {
    let when = spells(&r.times, r.duration_ns);
    format!(
        "not by the peer, which is in this recording and sent none, but by another listener of its port, that did not know them{when}: what they sent went to another server from then on, so the address translation (NAT, a service's) of established connections changed or was lost (inferred)"
    )
}

/// Untranslated.
fn untranslated(r: &Reset) -> String {
    let when = spells(&r.times, r.duration_ns);
    format!(
        "not by the peer's program, but because the client's host knew no such connection: what the server had sent came untranslated from its own address, {}, and was answered by a RST{when}, so the address translation (NAT, a service's) of established connections was missing then, as while its rules are loaded anew in several steps, a flush before the new ones, or where its entries are flushed, age out or do not survive a failover (inferred)",
        r.untranslated
    )
}

/// By another host that has the peer's address.
fn by_twin(r: &Reset) -> String {
    let (own, peer) = r.label.split_once(" > ").unwrap_or_default();
    let port = |end: &str| end.rsplit_once(':').and_then(|(_, p)| p.parse::<u16>().ok());
    // Of a server's connections the peers are several.
    let at = if port(own) < port(peer) {
        "the peer's address"
    } else {
        peer
    };
    let when = spells(&r.times, r.duration_ns);
    let ways = r
        .moved
        .iter()
        .map(|m| format!("{} in place of {} ({})", m.after, m.before, m.count));
    let ways: Vec<String> = ways.collect();
    let changes = r.flapped;
    match (ways.is_empty(), r.listens) {
        _ if changes > 0 => {
            let ways = match ways.is_empty() {
                true => String::new(),
                false => format!(": what they sent went by {} then", ways.join(", ")),
            };
            format!(
                "not by the peer but by another host of this recording that has {at} too and did not know them{when}{ways}; meanwhile its link-layer address went there and back ({changes} changes), so two hosts hold that address, at once or in turns (two masters of VRRP, a failover that goes to and fro; inferred)"
            )
        }
        (false, _) => format!(
            "not by the peer but by another host of this recording that has {at} too and did not know them{when}: what they sent went by {} then, so the route to an address that several hosts have changed under its connections (ECMP hashed anew, anycast, a failover; inferred)",
            ways.join(", ")
        ),
        (true, true) => format!(
            "not by the peer but by another host of this recording that listens at {at} too and did not know them{when}: two hosts have that address, or what was sent to it goes to another one now (inferred)"
        ),
        (true, false) => format!(
            "not by the peer but by another host of this recording that has {at}, too, and no such socket{when}: two hosts have that address"
        ),
    }
}

/// At the head of the page.
pub(super) fn between_words(r: &Reset) -> String {
    let (n, was) = (which(r), was(r.resets));
    if r.elsewhere {
        return format!("{n} {was} reset, {}", elsewhere(r));
    }
    if !r.untranslated.is_empty() {
        return format!("{n} {was} reset {}", untranslated(r));
    }
    if r.rejected.is_some() {
        return format!("{n} {was} reset {}", by_rule(r));
    }
    match r.twin || r.listens {
        true => format!("{n} {was} reset {}", by_twin(r)),
        false => format!("{n} {was} reset, and not by the peer"),
    }
}

/// A RST that a program at the other end notices: what it sent had no reader any more.
pub(super) fn unread(r: &Reset) -> bool {
    !r.received && CLOSED.iter().any(|reason| r.reason.contains(reason))
}

/// Such RSTs, and how many.
pub(super) fn closed_before(o: &Opens) -> Option<(String, u64)> {
    let mut all = o.resets.iter().filter(|r| unread(r));
    let first = all.next()?;
    let label = &first.label;
    let n = first.resets + all.map(|r| r.resets).sum::<u64>();
    let said = match n {
        1 => format!(
            "1 RST was sent by this host for a segment of a connection that it had already closed itself ({label})"
        ),
        n => format!(
            "{n} RSTs were sent by this host for as many segments of connections that it had already closed itself (first {label})"
        ),
    };
    Some((said, n))
}

/// What has a name: `10.104.0.1:8443 (device-api) closed 38 connections after 1.000 s without a request ...`
pub(super) fn causes(o: &Opens) -> Option<String> {
    let r = o.raced.as_ref()?;
    let by = match r.by.as_str() {
        "" => String::new(),
        task => format!(" ({task})"),
    };
    Some(format!(
        "{}{by} closed {} after {} without a request (p50, all alike: its own keep-alive time-out, inferred) just as the next request was under way: it came {} later (p50), met a closed socket and got a RST, so it is lost unless its client sends it again; clients must drop idle connections sooner than the server does",
        r.at,
        counted(r.connections, "connection", "connections"),
        duration(r.idle_ns),
        duration(r.behind_ns)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyses::opens::Aborted;

    #[test]
    fn only_a_server_answers_before_the_end() {
        let said = |server, answered_bytes| {
            let r = Reset {
                received: true,
                sender: "peer",
                label: "10.0.0.1:40000 > 10.0.0.2:80".into(),
                reason: String::new(),
                resets: 2,
                first: None,
                first_ns: 0,
                sure: true,
                twin: false,
                listens: false,
                moved: vec![],
                flapped: 0,
                elsewhere: false,
                untranslated: String::new(),
                times: vec![],
                duration_ns: 0,
                rejected: None,
                aborted: Some(Aborted {
                    inferred: false,
                    by: "nginx".into(),
                    server,
                    count: 2,
                    answered_bytes,
                    unread_bytes: Some(2_900),
                }),
                complete: false,
                by: String::new(),
            };
            reset(&r).unwrap()
        };
        let closed = "2 connections (first 10.0.0.1:40000 > 10.0.0.2:80) were reset by the peer, as nginx closed them with 2.9 kB unread (p50) \
                      (TCP_ABORT_ON_CLOSE)";
        assert_eq!(said(false, 348), closed);
        assert_eq!(said(true, 0), closed);
        assert!(said(true, 348).starts_with(&format!(
            "{closed}, after it had sent 348 bytes on each (p50), as a server that"
        )));
    }
}
