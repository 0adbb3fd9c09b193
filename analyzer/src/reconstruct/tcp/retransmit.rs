//! Why a segment was sent again, from the context in which it was sent; how many were, and which calls were refused.

use super::states::{SYN_RECV, SYN_SENT};
use super::tables::{RetransmitClass, RetransmitRow};
use super::tracker::Tcp;
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::ingest::Event;
use crate::reconstruct::softirq::tables::NET_RX;

/// TIMER vector number (include/linux/interrupt.h).
pub(super) const TIMER: u32 = 1;
/// States of a handshake.
const SYN_STATES: [i32; 2] = [SYN_SENT, SYN_RECV];
/// Congestion states (include/uapi/linux/tcp.h `enum tcp_ca_state`).
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

/// Longest time from a router's ICMP message to the Loss state that it sets.
const TOO_BIG_NS: i64 = 1_000_000_000;
/// TCP_RTO_MIN (include/net/tcp.h), less a jiffy at 250 Hz.
const RTO_MIN_NS: i64 = 196_000_000;
/// Longest time from the Loss state to the retransmit of a timer that a socket's owner runs for it.
const TASK_NS: i64 = 1_000_000;
/// The fclone companion lies at most this far above its original.
const FCLONE_REACH: u64 = 512;

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
/// what follows it without an ACK is an RTO; what an ACK makes sent again is fast recovery. All guessed: a first RTO, and what ACKs clock out behind one, are
/// told as the wrong one.
fn without_states(s: &Situation) -> (RetransmitClass, Confidence) {
    match s.run {
        Some((TIMER, _)) if s.by_timer_before => (RetransmitClass::Rto, Confidence::Weak),
        Some((TIMER, _)) => (RetransmitClass::Tlp, Confidence::Weak),
        Some((NET_RX, _)) => (RetransmitClass::Fast, Confidence::Weak),
        _ => (RetransmitClass::Unknown, Confidence::Unknown),
    }
}

impl Tcp {
    pub(super) fn retransmit(
        &mut self,
        e: &Event<'_>,
        i: Option<usize>,
        state: Option<i32>,
        err: Option<i32>,
        skb: Option<u64>,
    ) {
        let (era, run) = (self.era, self.cpus.at(e.cpu).run.filter(|_| e.in_softirq()));
        let socket = i.and_then(|i| self.sockets.all.get_mut(i));
        let cong = socket.as_ref().filter(|s| s.cong_era == era).and_then(|s| s.cong);
        let ends = socket.as_ref().and_then(|s| s.row.saddr.zip(s.row.daddr));
        let told = ends.and_then(|ends| self.too_big.get(&ends).copied());
        // The message may also be for a later packet of the same flight.
        let near = |(set, told): (i64, i64)| (set.saturating_sub(TOO_BIG_NS)..=e.ts).contains(&told);
        let situation = Situation {
            cong_vec: socket.as_ref().and_then(|s| s.cong_vec),
            too_big: cong.map(|c| c.1).zip(told).is_some_and(near),
            aged: socket
                .as_ref()
                .and_then(|s| s.last_sign_ns)
                .is_some_and(|t| e.ts.saturating_sub(t) >= RTO_MIN_NS),
            tcp_state: state,
            run: run.map(|r| (r.vec, r.start)),
            in_softirq: e.in_softirq(),
            cong,
            cong_by_this_task: e.in_task()
                && socket.as_ref().is_some_and(|s| {
                    s.cong_era == era
                        && s.cong_task == Some((e.cpu, e.pid))
                        && s.cong.is_some_and(|c| e.ts - c.1 < TASK_NS)
                }),
            by_timer_before: socket.as_ref().is_some_and(|s| s.by_timer),
            has_cong: self.has_cong,
            has_softirq: self.has_softirq,
        };
        if let Some(s) = socket {
            *s.row.retransmits.get_or_insert(0) += 1;
            (s.last_sign_ns, s.by_timer) = (Some(e.ts), run.is_some_and(|r| r.vec == TIMER));
        }
        let (class, mut confidence) = classify(&situation);
        // While a CPU's events are missing, the congestion state may have changed there.
        if self.lost_until.is_some_and(|t| e.ts < t) && class != RetransmitClass::Syn {
            confidence = confidence.min(Confidence::Weak);
        }
        // The event follows its transmit: the frame queued last on this CPU is the original's clone.
        let queued = self.last_queued.get(usize::from(e.cpu)).copied().flatten();
        let bytes = queued.zip(skb).and_then(|((clone, len), original)| {
            let d = clone.wrapping_sub(original);
            (1..=FCLONE_REACH).contains(&d).then_some(len)
        });
        self.retransmits.push(RetransmitRow {
            original: None,
            index: e.index,
            time_ns: e.ts,
            connection: i.map(|i| ConnectionId(i as u32)),
            synack: None,
            class,
            err,
            bytes,
            segments: None,
            confidence,
        });
    }

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
