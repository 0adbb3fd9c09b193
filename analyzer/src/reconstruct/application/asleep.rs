//! What a thread that owed an answer slept for.

use crate::facts::ConnectionId;

/// The socket that a thread slept for in a receive call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsleepOn {
    /// Its number.
    pub connection: ConnectionId,
    /// Asleep since; may be before the turnaround began.
    pub from_ns: i64,
    /// Woken; may be after it ended.
    pub to_ns: i64,
    /// The part of it that lies in the turnaround, ns.
    pub ns: i64,
}
