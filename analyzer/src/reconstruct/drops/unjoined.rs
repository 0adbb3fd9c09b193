//! IPv4 multicast that the host where it came had not joined: it is dropped where its route is looked up, and the kernel gives no reason for that.
//!
//! In: reason, place and protocol of a free, the recording's own table of reasons. Out: the free judged. Since Linux 6.13 each other refusal of a route of input has a
//! reason of its own; who has one of these (`IP_LOCAL_SOURCE`) in its table is such a kernel. In older ones NOT_SPECIFIED is any of them, and stays unclear.
//! Rare others without a reason: a device without IPv4, IP options that are malformed. So it is inferred.
//!
//! Source: net/ipv4/ip_input.c `ip_rcv_finish_core`, net/ipv4/route.c `ip_route_input_rcu` (the branch of `ipv4_is_multicast`), `ip_check_mc_rcu`.

use netmortem_formats::event_format::ValueTable;

use crate::confidence::Confidence;
use crate::reconstruct::ETH_P_IP;

/// What is said of it.
pub const UNJOINED: &str = "for a multicast group that the host there had not joined, which a healthy network floods, too (inferred: this place gives a reason for all other refusals)";

/// Functions that free it, as compilers name them.
const PLACES: [&str; 2] = ["ip_rcv_finish_core", "ip_route_input"];
/// A reason that came with those of all other refusals.
const NEWER: &str = "IP_LOCAL_SOURCE";

/// Expected, why, how sure.
type Judged = (Option<bool>, &'static str, Confidence);

/// Whether the kernel gives reasons for all other refusals.
pub fn are_told_apart(reasons: Option<&ValueTable>) -> bool {
    let plain = |name: &str| name.trim_start_matches("SKB_DROP_REASON_") == NEWER;
    reasons.is_some_and(|t| t.entries.iter().any(|(_, name)| plain(name)))
}

/// Judges what nothing else judged.
pub fn judge(
    judged: Judged,
    (reason, location, protocol): (Option<&str>, Option<&str>, u16),
    told_apart: bool,
) -> Judged {
    let unspecified = reason.is_some_and(|r| r.trim_start_matches("SKB_DROP_REASON_") == "NOT_SPECIFIED");
    let here = location.is_some_and(|l| PLACES.iter().any(|p| l.starts_with(p)));
    match told_apart && judged.0.is_none() && unspecified && here && protocol == ETH_P_IP {
        true => (Some(true), UNJOINED, Confidence::Weak),
        false => judged,
    }
}
