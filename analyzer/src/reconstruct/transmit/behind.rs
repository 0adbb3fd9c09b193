//! Small messages written while a large one of the same socket had not left.
//!
//! A stream leaves in the order in which it was written: what is written behind a large message waits for all of it, often in the large one's last segment.
//! So this asks for the last byte of each send call, where a row of `tx` is by the first byte of a segment. Must not take for a message what its thread writes at once before or behind a
//! large one: a length, a header, the end of a chunk, the last piece of a file.

use super::bytes::Bytes;
use super::flow::Flow;
use super::packet::Packet;
use super::sends::Call;
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::name::Name;
use crate::reconstruct::comms::Comms;

/// Payload of a call from which it is a large message, and up to which it is a small one.
const LARGE: u64 = 65_536;
const SMALL: u64 = 1_448;
/// Between two calls of a thread that write one message, at most, ns.
const AT_ONCE_NS: i64 = 1_000_000;

/// A small message that was written behind a large one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BehindRow {
    /// Socket.
    pub connection: ConnectionId,
    /// Thread that wrote it.
    pub pid: i32,
    /// Its name.
    pub task: Name,
    /// Begin of its send call, where that is known, else when its bytes were taken.
    pub at_ns: i64,
    /// When its last byte left.
    pub left_ns: i64,
    /// Begin of the large one.
    pub large_at_ns: i64,
    /// Payload of the large one.
    pub large_bytes: u64,
    /// When its last byte left.
    pub large_left_ns: i64,
    /// How sure it is which segments carried both.
    pub confidence: Confidence,
}

/// A send call.
#[derive(Debug, Clone, Copy)]
struct Sent {
    call: u32,
    at: i64,
    bytes: u64,
    /// When its last bytes were taken.
    taken: i64,
    left: i64,
    sure: Confidence,
}

/// Whether a call of a thread and its next one write one message.
fn one_message(a: &Sent, b: &Sent) -> bool {
    a.bytes.max(b.bytes) >= LARGE && b.at.saturating_sub(a.taken) <= AT_ONCE_NS
}

/// Those of one socket, in the order in which they were written.
pub(super) fn behind(
    connection: ConnectionId,
    bytes: &Bytes<'_>,
    flow: &Flow,
    packets: &[Packet],
    (calls, comms): (&[Call], &Comms),
) -> Vec<BehindRow> {
    let pid = |call: u32| calls.get(call as usize).map_or(0, |c| c.pid);
    let mut rows = vec![];
    let mut large: Option<Sent> = None;
    let one = |a: &Sent, b: &Sent| pid(a.call) == pid(b.call) && one_message(a, b);
    let mut before: Option<Sent> = None;
    let mut found = |s: Sent, next: Option<&Sent>| {
        let piece = before.is_some_and(|b| one(&b, &s)) || next.is_some_and(|n| one(&s, n));
        if s.bytes >= LARGE {
            large = Some(s);
        }
        let of = large.filter(|l| s.bytes <= SMALL && l.left > s.at && !piece);
        if let Some(l) = of {
            rows.push(BehindRow {
                connection,
                pid: pid(s.call),
                task: comms.at(pid(s.call), s.left),
                at_ns: s.at,
                left_ns: s.left,
                large_at_ns: l.at,
                large_bytes: l.bytes,
                large_left_ns: l.left,
                confidence: s.sure.min(l.sure),
            });
        }
        before = Some(s);
    };
    let mut last: Option<Sent> = None;
    bytes.left(flow, packets, |append, left, sure| {
        let enter = calls.get(append.call as usize).and_then(|c| c.enter);
        match &mut last {
            // A call whose bytes were taken in several steps.
            Some(s) if s.call == append.call => {
                s.bytes = s.bytes.saturating_add(append.bytes.into());
                (s.taken, s.left) = (s.taken.max(append.by), s.left.max(left));
                s.sure = s.sure.min(sure);
            }
            _ => {
                let next = Sent {
                    call: append.call,
                    at: enter.unwrap_or(append.from),
                    bytes: append.bytes.into(),
                    taken: append.by,
                    left,
                    sure: sure.min(calls.get(append.call as usize).map_or(Confidence::Unknown, |c| c.link)),
                };
                if let Some(s) = last.replace(next) {
                    found(s, Some(&next));
                }
            }
        }
    });
    if let Some(s) = last {
        found(s, None);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_before_its_body_is_no_message() {
        let call = |at: i64, bytes: u64, taken: i64| Sent {
            call: 0,
            at,
            bytes,
            taken,
            left: 900_000_000,
            sure: Confidence::Strong,
        };
        let (length, body) = (call(0, 4, 10_000), call(20_000, 1_000_000, 400_000_000));
        assert!(one_message(&length, &body));
        // What ends it is written when the call for the body, which slept, returns.
        assert!(one_message(&body, &call(400_500_000, 5, 400_510_000)));
        // A tick while the body is in the buffer; two small ones.
        assert!(!one_message(&body, &call(450_000_000, 90, 450_010_000)));
        assert!(!one_message(&length, &call(20_000, 90, 30_000)));
    }
}
