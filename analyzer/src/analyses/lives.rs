//! From when until when each connection stood, and which end closed it first.
//!
//! Needs `tcp_states`, with the thread of each change. Of one that is older than the recording the begin is not known.

use rustc_hash::FxHashMap;

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::states::{CLOSE, CLOSE_WAIT, ESTABLISHED, FIN_WAIT1};

/// How one ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// By a call of this end.
    Own,
    /// By the peer's FIN.
    Peer,
    /// Nothing tells, or by no call.
    Other,
}

/// Of one end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Life {
    /// ESTABLISHED.
    pub(super) stood: Option<i64>,
    /// The first state behind that.
    pub(super) ended: Option<(i64, By)>,
}

pub(super) fn lives(facts: &Facts) -> FxHashMap<ConnectionId, Life> {
    let mut lives: FxHashMap<ConnectionId, Life> = FxHashMap::default();
    for s in facts.tcp_states.iter().filter(|s| s.kind == "sock") {
        let of = lives.entry(s.connection).or_default();
        let by = match s.state {
            ESTABLISHED => {
                of.stood = Some(s.time_ns);
                continue;
            }
            FIN_WAIT1 if s.in_task => By::Own,
            CLOSE_WAIT => By::Peer,
            FIN_WAIT1 | CLOSE => By::Other,
            _ => continue,
        };
        of.ended = of.ended.or(Some((s.time_ns, by)));
    }
    lives
}
