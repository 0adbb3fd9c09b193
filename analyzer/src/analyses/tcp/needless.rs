//! Segments that were sent again without need: the peers said, by DSACK, that they had them already.
//!
//! Needs `retransmits`, counters of the kernel before and after. A count of all namespaces: which segments these were no event tells.

use crate::counters::tables::risen_at_least;
use crate::facts::Facts;

/// So many segments at least, as the kernel counted; `None` where no snapshot tells.
pub(super) fn needless(facts: &Facts) -> Option<u64> {
    let told = risen_at_least(&facts.counters, &["TcpExtTCPDSACKRecv"])?;
    let dubious = risen_at_least(&facts.counters, &["TcpExtTCPDSACKIgnoredDubious"]);
    Some(told.saturating_sub(dubious.unwrap_or(0)))
}

/// Whether that is all that was sent again: then no segment waited for a loss to be repaired. Of one connection: the counters are of all, and those of another, or of
/// packets that the network made twice, are no word about a loss.
pub(crate) fn all_needless(facts: &Facts) -> bool {
    let first = facts.retransmits.first().and_then(|r| r.connection);
    if first.is_none() || facts.retransmits.iter().any(|r| r.connection != first) {
        return false;
    }
    let mut sizes = facts.retransmits.iter().map(|r| r.segments);
    let segments = sizes.try_fold(0u64, |sum, n| Some(sum.saturating_add(n?.into())));
    segments.is_some_and(|n| n > 0 && needless(facts).is_some_and(|known| known >= n))
}
