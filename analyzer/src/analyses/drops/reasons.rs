//! Reasons of drops that more than one rule asks for.

/// A rule dropped it.
pub(crate) const RULES: &str = "NETFILTER_DROP";
/// A queue refused it.
pub(crate) const QUEUE_FULL: &str = "QDISC_DROP";
/// It came to a host that it is not addressed to.
pub(crate) const OTHERHOST: &str = "OTHERHOST";
/// Its neighbour did not answer.
pub(crate) const UNRESOLVED: &str = "NEIGH_FAILED";
