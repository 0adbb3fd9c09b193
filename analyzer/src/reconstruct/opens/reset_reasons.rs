//! Why a RST was sent, on kernels that do not say (`reason` of tcp_send_reset came with Linux 6.10): by what it answered, in which state, in whose call.
//!
//! (Before 6.10 mainline traces no RST of a socket in TIME_WAIT, nor one of none: only kernels with that change brought back do.)
//!
//! In: tcp_send_reset; received segments, once their ends are known. Out: the names that later kernels give, where only one fits. Inferred.
//!
//! ```text
//! answers no segment, in a task ─────────────┬ something unread ─> TCP_ABORT_ON_CLOSE   (net/ipv4/tcp.c `__tcp_close`)
//!                                            └ nothing ─────────> TCP_STATE            (`tcp_disconnect`: SO_LINGER of 0)
//! answers one of a socket that it closes ───> TCP_ABORT_ON_DATA    (net/ipv4/tcp_input.c `tcp_rcv_state_process`: its program had closed)
//! of one in TIME_WAIT ──────────────────────> TCP_TIMEWAIT_SOCKET
//! of none ──────────────────────────────────> NO_SOCKET
//! ```

use netmortem_formats::tracepoints::tcp_send_reset::TcpSendReset;
use rustc_hash::FxHashSet;

use super::tables::ResetRow;
use crate::facts::ConnectionId;
use crate::ingest::Trace;
use crate::reconstruct::receive::tables::{RxEnd, RxRow};
use crate::reconstruct::tcp::states::{ESTABLISHED, SYN_RECV, SYN_SENT};
use crate::reconstruct::tcp::tables::ConnectionRow;

/// States (include/net/tcp_states.h).
const TIME_WAIT: i32 = 6;
const CLOSE: i32 = 7;

const UNREAD: &str = "TCP_ABORT_ON_CLOSE";
const LINGER: &str = "TCP_STATE";

/// Of one that is sent; that of a close is one with data unread until that is known.
pub(super) fn of(p: &TcpSendReset<'_>, in_task: bool) -> &'static str {
    match (p.skbaddr, p.skaddr, p.state) {
        (0, 1.., _) if in_task => UNREAD,
        (1.., 0, _) => "NO_SOCKET",
        (1.., _, Some(TIME_WAIT)) => "TCP_TIMEWAIT_SOCKET",
        (1.., _, Some(CLOSE)) => "TCP_ABORT_ON_DATA",
        _ => "",
    }
}

/// What was read, and whose, where reads are recorded and no event is lost.
type Reads<'r> = Option<(&'r [RxRow], &'r [ConnectionRow])>;

/// Closes that had read everything were no closes with data unread. Returns whether the reasons are inferred.
pub fn by_reads(trace: &Trace<'_>, resets: &mut [ResetRow], (rx, connections): (&[RxRow], &[ConnectionRow])) -> bool {
    let event = trace.schema.format("tcp", "tcp_send_reset");
    let told = event.is_none_or(|f| f.field("reason").is_some());
    if !told {
        let read = trace.gaps.is_empty() && trace.info.recorded("skb:skb_copy_datagram_iovec");
        unread(resets, read.then_some((rx, connections)));
    }
    !told
}

fn unread(resets: &mut [ResetRow], reads: Reads<'_>) {
    let closed = |r: &ResetRow| r.reason == UNREAD;
    let asked = resets.iter().filter(|r| closed(r)).filter_map(|r| r.connection);
    let asked: FxHashSet<ConnectionId> = asked.collect();
    if asked.is_empty() {
        return;
    }
    let left = [RxEnd::Queued, RxEnd::Closed];
    let (rx, connections) = reads.unwrap_or_default();
    let unread = rx.iter().filter(|r| left.contains(&r.end) && r.bytes != Some(0));
    let unread = unread.filter_map(|r| r.connection).filter(|c| asked.contains(c));
    let unread: FxHashSet<ConnectionId> = unread.collect();
    // What lay there before the recording began no event tells: its first state is that of a beginning.
    let begins = [ESTABLISHED, SYN_SENT, SYN_RECV].map(Some);
    let whole = |c: ConnectionId| connections.get(c.0 as usize).is_some_and(|r| begins.contains(&r.born));
    for r in resets.iter_mut().filter(|r| closed(r)) {
        match r.connection {
            Some(c) if unread.contains(&c) => {}
            Some(c) if whole(c) => LINGER.clone_into(&mut r.reason),
            _ => r.reason.clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confidence::Confidence;
    use crate::reconstruct::opens::tables::Sender;

    fn told(born: Option<i32>, reads: bool) -> String {
        let mut row = crate::testing::tcp::connection(0);
        row.born = born;
        let mut reset = ResetRow {
            time_ns: 5,
            received: false,
            connection: Some(ConnectionId(0)),
            from: None,
            to: None,
            reason: UNREAD.into(),
            sender: Sender::Here,
            confidence: Confidence::Strong,
        };
        unread(std::slice::from_mut(&mut reset), reads.then_some((&[], &[row])));
        reset.reason
    }

    #[test]
    fn a_close_without_data_unread_is_known_of_a_whole_life_alone() {
        assert_eq!(told(Some(SYN_SENT), true), LINGER);
        // Its first event is its close; reads are not recorded.
        assert_eq!(told(Some(CLOSE), true), "");
        assert_eq!(told(None, true), "");
        assert_eq!(told(Some(SYN_SENT), false), "");
    }
}
