//! Why a segment was sent again, from the context in which it was sent; how many were, and which calls were refused.

use super::states::{SYN_RECV, SYN_SENT};
use super::tables::RetransmitClass;
use super::tracker::Tcp;
use crate::confidence::Confidence;
use crate::reconstruct::softirq::tables::NET_RX;

/// TIMER vector number (include/linux/interrupt.h).
pub(super) const TIMER: u32 = 1;
/// States of a handshake.
const SYN_STATES: [i32; 2] = [SYN_SENT, SYN_RECV];
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
    /// Softirq vector in whose run that state was set.
    pub cong_vec: Option<u32>,
    /// A router in this recording had said, not long before that state was set, that a packet of this flow was too big.
    pub too_big: bool,
    /// As long before as an RTO lasts at least, the socket had its last ACK or retransmission.
    pub aged: bool,
    /// The socket's last sign was a retransmission by a timer: no ACK came since.
    pub by_timer_before: bool,
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
        return without_states(s);
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
        Some(LOSS) if s.cong_vec == Some(TIMER) => (RetransmitClass::LossRecovery, link),
        // `tcp_v4_mtu_reduced` -> `tcp_simple_retransmit`, in the ICMP's softirq or, when the socket was locked, by its owner.
        Some(LOSS) if s.too_big => (RetransmitClass::Pmtu, Confidence::Strong),
        // Without that message seen: nothing else sets Loss when a packet comes.
        Some(LOSS) if s.cong_vec == Some(NET_RX) => (RetransmitClass::Pmtu, Confidence::Weak),
        // A timer that found the socket locked is run by the owner when it lets go (`tcp_release_cb`).
        Some(LOSS) if s.cong_by_this_task && s.aged => (RetransmitClass::Rto, Confidence::Weak),
        Some(LOSS) if s.cong_by_this_task => (RetransmitClass::Unknown, Confidence::Unknown),
        // Who set it is not known: mostly an RTO.
        Some(LOSS) => (RetransmitClass::LossRecovery, link.min(Confidence::Weak)),
        _ => (RetransmitClass::Unknown, Confidence::Unknown),
    }
}

/// Before Linux 5.19 no event tells the congestion state: a timer's first is a loss probe, as kernels send by default (`net.ipv4.tcp_early_retrans`), and
/// what follows it without an ACK is an RTO; what an ACK makes sent again is fast recovery, unless it follows an RTO. All guessed.
fn without_states(s: &Situation) -> (RetransmitClass, Confidence) {
    match s.run {
        Some((TIMER, _)) if s.by_timer_before => (RetransmitClass::Rto, Confidence::Weak),
        Some((TIMER, _)) => (RetransmitClass::Tlp, Confidence::Weak),
        Some((NET_RX, _)) => (RetransmitClass::Fast, Confidence::Weak),
        _ => (RetransmitClass::Unknown, Confidence::Unknown),
    }
}

impl Tcp {
    /// A call that sent nothing. `err` above 0 is what a qdisc returned for the packet (NET_XMIT_DROP); below, it did not come
    /// that far, or was refused on the way (the original still queued: -EBUSY).
    pub(super) fn failed(&mut self, socket: Option<usize>, err: i32) {
        if let Some(s) = socket.and_then(|i| self.sockets.all.get_mut(i)).filter(|_| err > 0) {
            *s.row.retransmits_refused.get_or_insert(0) += 1;
        }
    }

    /// How many segments each call sent: `frames` is (row of `retransmits`, segments of its frame), ascending; without a frame
    /// a timer and a probe send one (`tcp_retransmit_timer`, `tcp_send_loss_probe`), and so does a SYN.
    pub fn count_segments(&mut self, frames: &[(u32, u32)], recorded: bool) {
        for (at, r) in (0u32..).zip(&mut self.retransmits) {
            let of_frame = frames.binary_search_by_key(&at, |f| f.0).ok();
            let of_frame = of_frame.and_then(|i| frames.get(i)).map(|f| f.1);
            let one = matches!(
                r.class,
                RetransmitClass::Syn | RetransmitClass::Tlp | RetransmitClass::Rto
            );
            r.segments = r
                .segments
                .or(of_frame)
                .or((one && r.confidence.is_solid()).then_some(1));
        }
        for s in self.sockets.all.iter_mut().filter(|_| recorded) {
            s.row.retransmit_segments = Some(0);
            if self.failures_told {
                s.row.retransmits_refused.get_or_insert(0);
            }
        }
        for r in &self.retransmits {
            let socket = r.connection.and_then(|c| self.sockets.all.get_mut(c.0 as usize));
            if let Some(s) = socket {
                let sum = s.row.retransmit_segments.zip(r.segments);
                s.row.retransmit_segments = sum.map(|(a, b)| a.saturating_add(b.into()));
            }
        }
    }
}
