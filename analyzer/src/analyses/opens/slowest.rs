//! Attempts that took longest.

use crate::explain::Id;

/// An attempt that took long.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SlowOpen {
    /// What `netmortem explain` takes.
    pub id: Option<Id>,
    /// As in the view `connections`.
    pub connection: Option<u32>,
    /// Remote end.
    pub to: String,
    /// `task/thread`.
    pub task: String,
    /// Begin of the call.
    pub start_ns: i64,
    /// Until it was decided.
    pub total_ns: i64,
    /// As in the view.
    pub end: &'static str,
    /// SYNs retransmitted; empty: not recorded.
    pub syns_again: Option<u32>,
}
