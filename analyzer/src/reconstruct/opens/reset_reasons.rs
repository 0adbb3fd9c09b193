//! Why a RST was sent, on kernels that do not say (`reason` of tcp_send_reset came with Linux 6.10): by what it answered, in which state, in whose call.
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
use crate::ingest::Schema;
use crate::reconstruct::receive::tables::{RxEnd, RxRow};

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

/// Closes that had read everything were no closes with data unread. Returns whether the reasons are inferred.
pub fn by_reads(schema: &Schema, resets: &mut [ResetRow], rx: &[RxRow]) -> bool {
    let told = schema
        .format("tcp", "tcp_send_reset")
        .is_none_or(|f| f.field("reason").is_some());
    if !told {
        unread(resets, rx);
    }
    !told
}

fn unread(resets: &mut [ResetRow], rx: &[RxRow]) {
    let closed = |r: &ResetRow| r.reason == UNREAD;
    let asked: FxHashSet<ConnectionId> = resets
        .iter()
        .filter(|r| closed(r))
        .filter_map(|r| r.connection)
        .collect();
    if asked.is_empty() {
        return;
    }
    let left = [RxEnd::Queued, RxEnd::Closed];
    let unread = rx.iter().filter(|r| left.contains(&r.end) && r.bytes != Some(0));
    let unread: FxHashSet<ConnectionId> = unread
        .filter_map(|r| r.connection)
        .filter(|c| asked.contains(c))
        .collect();
    for r in resets.iter_mut().filter(|r| closed(r)) {
        match r.connection {
            Some(c) if unread.contains(&c) => {}
            Some(_) => LINGER.clone_into(&mut r.reason),
            None => r.reason.clear(),
        }
    }
}
