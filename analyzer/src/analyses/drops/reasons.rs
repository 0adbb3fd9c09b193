//! Reasons of drops that more than one rule asks for.

use crate::facts::Facts;
use crate::reconstruct::drops::in_words;
use crate::reconstruct::drops::tables::DropRow;
use crate::table::Cell;

/// A rule dropped it.
pub(crate) const RULES: &str = "NETFILTER_DROP";
/// A queue refused it.
pub(crate) const QUEUE_FULL: &str = "QDISC_DROP";
/// The receive buffer of its socket had no room.
pub(crate) const SOCKET_FULL: &str = "SOCKET_RCVBUFF";
/// A device had no room for it, as the ring of a tap whose program does not read.
pub(crate) const RING_FULL: &str = "FULL_RING";
/// It came to a host that it is not addressed to.
pub(crate) const OTHERHOST: &str = "OTHERHOST";
/// No route to where it should go, when it was sent, and when it came in.
pub(crate) const NO_ROUTE: &str = "IP_OUTNOROUTES";
pub(crate) const NO_ROUTE_IN: &str = "IP_INNOROUTES";
/// Frames at a bridge's port that does not forward.
pub(crate) const STP: &str = "BRIDGE_INGRESS_STP_STATE";
/// A bridge has no port to send it by.
pub(crate) const NO_PORT: &str = "NO_TX_TARGET";
/// Its neighbour did not answer.
pub(crate) const UNRESOLVED: &str = "NEIGH_FAILED";

/// What a name is, where one is known.
pub(crate) fn text(c: Cell<'_>) -> String {
    match c {
        Cell::Str(s) => s.into_owned(),
        _ => String::new(),
    }
}

/// What the place and the reason of a drop mean, in words; empty: nothing tells.
pub(crate) fn why(facts: &Facts, d: &DropRow) -> String {
    let (reason, at) = (facts.names.drop_reason(d.reason), facts.names.location(d.location));
    in_words(&text(reason), &text(at), d.why)
}

/// Of a kernel without reasons, where none can be inferred.
pub(crate) const UNRECORDED: &str = "no recorded reason";

/// `IP_INHDR at ip_forward on eth0`.
pub(crate) fn place(facts: &Facts, d: &DropRow) -> String {
    let (reason, at) = (facts.names.drop_reason(d.reason), facts.names.location(d.location));
    let on = if d.dev.is_empty() { "" } else { " on " };
    let reason = match text(reason) {
        none if none.is_empty() => UNRECORDED.to_owned(),
        reason if facts.names.reasons_by_place => format!("{reason} (inferred)"),
        reason => reason,
    };
    format!("{reason} at {}{on}{}", text(at), d.dev.text())
}
