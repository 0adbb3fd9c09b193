//! Why a segment was sent again, from the context in which it was sent.

use super::tables::RetransmitClass;
use crate::confidence::Confidence;
use crate::reconstruct::softirq::tables::NET_RX;

/// TIMER vector number (include/linux/interrupt.h).
const TIMER: u32 = 1;
/// TCP_SYN_SENT and TCP_SYN_RECV (include/net/tcp_states.h).
const SYN_STATES: [i32; 2] = [2, 3];
/// Congestion states (include/uapi/linux/tcp.h `enum tcp_ca_state`).
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

/// What was known when the event fired.
pub struct Situation {
    /// TCP state, where recorded.
    pub tcp_state: Option<i32>,
    /// Softirq vector and start of its run; `None` in task context, or when its entry was not seen.
    pub run: Option<(u32, i64)>,
    /// It happened in a softirq.
    pub in_softirq: bool,
    /// Last congestion state set on the socket and when.
    pub cong: Option<(u8, i64)>,
    /// That state was set by this very thread just before, in task context.
    pub cong_by_this_task: bool,
    /// Whether the capture has tcp_cong_state_set at all.
    pub has_cong: bool,
    /// Whether softirq events tell the context.
    pub has_softirq: bool,
}

/// Class and how sure it is.
pub fn classify(s: &Situation) -> (RetransmitClass, Confidence) {
    if s.tcp_state.is_some_and(|t| SYN_STATES.contains(&t)) {
        return (RetransmitClass::Syn, Confidence::Certain);
    }
    if !s.has_cong {
        return (RetransmitClass::Unknown, Confidence::Unknown);
    }
    let state = s.cong.map(|c| c.0);
    if let Some((TIMER, start)) = s.run {
        let set_in_run = s.cong.filter(|(_, at)| *at >= start).map(|c| c.0);
        return match set_in_run {
            Some(LOSS) => (RetransmitClass::Rto, Confidence::Certain),
            Some(RECOVERY) => (RetransmitClass::RackTimer, Confidence::Strong),
            _ => (RetransmitClass::Tlp, Confidence::Strong),
        };
    }
    let link = match s.run {
        Some((NET_RX, _)) => Confidence::Certain,
        // In a softirq whose entry was not seen: an ACK's or a timer's.
        None if s.in_softirq => Confidence::Weak,
        _ if s.has_softirq => Confidence::Strong,
        _ => Confidence::Weak,
    };
    match state {
        Some(RECOVERY) => (RetransmitClass::Fast, link),
        // A timer that found the socket locked is run by the owner when it lets go (`tcp_release_cb`).
        Some(LOSS) if s.cong_by_this_task => (RetransmitClass::Rto, Confidence::Weak),
        Some(LOSS) => (RetransmitClass::LossRecovery, link),
        _ => (RetransmitClass::Unknown, Confidence::Unknown),
    }
}
