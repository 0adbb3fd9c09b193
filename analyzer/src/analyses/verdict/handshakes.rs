//! Causes of connections that open late or not at all which have a name: half-open ones that filled a queue, TCP_DEFER_ACCEPT.

use super::sentences::{counted, or_dash};
use crate::analyses::opens::{HalfOpen, Late, Opens};

fn half_open(h: &HalfOpen) -> String {
    format!(
        "{} refused at a listening socket because the queue of half-open connections was full, not the accept queue ({}): {} retransmitted, to {} that never answered ({})",
        counted(h.refused, "SYN was", "SYNs were"),
        h.listener,
        counted(h.synacks, "SYN-ACK was", "SYN-ACKs were"),
        counted(h.addresses, "address", "addresses"),
        h.from,
    )
}

fn late(l: &Late) -> String {
    let why = match (l.deferred, l.overflows) {
        (Some(n), _) => format!(
            "the kernel counted TCPDeferAcceptDrop {n}: TCP_DEFER_ACCEPT lets the server's socket wait for the client to speak first"
        ),
        (None, Some(n)) => format!("{} refused for a full accept queue (ListenOverflows)", counted(n, "handshake was", "handshakes were")),
        (None, None) => "the last ACK of the handshake was lost on its way or refused, which of these no counter of this recording tells".into(),
    };
    format!(
        "{} to {} {} open at the client for p50 {}, max {} before the server's socket was ({} retransmitted): {why}",
        counted(l.connections, "connection", "connections"),
        l.to,
        if l.connections == 1 { "was" } else { "were" },
        or_dash(l.behind.p50_ns),
        or_dash(l.behind.max_ns),
        counted(l.synacks, "SYN-ACK was", "SYN-ACKs were"),
    )
}

/// What refused the SYNs that were sent again.
pub(super) fn refused(o: &Opens) -> String {
    o.paws_timewait.map_or_else(String::new, |n| {
        format!(
            ": {} refused by sockets in TIME_WAIT for older timestamps (PAWSTimewait), as come from several hosts behind one NAT address",
            counted(n, "segment was", "segments were")
        )
    })
}

/// One sentence of each, without its point.
pub(super) fn causes(o: &Opens) -> Vec<String> {
    let half = o.half_open.as_ref().map(half_open);
    half.into_iter().chain(o.late.as_ref().map(late)).collect()
}
