//! Data in the segment that completes a handshake: of a listener that waits for some (TCP_DEFER_ACCEPT, as web servers set it), of TCP Fast Open, or where
//! the ACK before it was lost.
//!
//! In: inet_sock_set_state SYN_RECV -> ESTABLISHED in a softirq, and the units received in its run. Out: the socket's first unit; no `tcp_probe` fires
//! for it (net/ipv4/tcp_input.c `tcp_rcv_state_process` queues it, not `tcp_rcv_established`). Must not take for it: data in a batch with the
//! ACK that completes the handshake, one of two segments in a batch, or an ACK with more options than others have. Its payload is its length without headers, where
//! all others of its family have the same: strong at most.

use super::tracker::Ledger;
use super::unit::Key;
use crate::confidence::Confidence;
use crate::ingest::Event;

/// Headers of IP without options, and the longest of TCP, bytes.
const IPV4_HEADER: u32 = 20;
const IPV6_HEADER: u32 = 40;
const TCP_HEADER_MOST: u32 = 60;

/// Smallest and largest headers of segments with data that were processed as they came, IPv4 and IPv6, bytes.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Headers([Option<(u32, u32)>; 2]);

impl Headers {
    pub(super) fn seen(&mut self, v4: bool, header: u32) {
        if let Some(of) = self.0.get_mut(usize::from(!v4)) {
            let (least, most) = of.unwrap_or((header, header));
            *of = Some((least.min(header), most.max(header)));
        }
    }
    fn of(&self, v4: bool) -> Option<(u32, u32)> {
        self.0.get(usize::from(!v4)).copied().flatten()
    }
}

impl Ledger<'_> {
    /// A handshake is complete.
    pub(super) fn established(&mut self, e: &Event<'_>, sk: u64) {
        if !e.in_softirq() {
            return;
        }
        let Some(c) = self.tcp.sockets.at(sk, e.ts) else { return };
        let Some(v4) = self.is_v4(c) else { return };
        let Some((least, most)) = self.any_header.of(v4) else {
            return;
        };
        let all = self.candidates(e, |u| u.recv_len.is_some());
        let len = |id| self.units.get(id).and_then(|u| u.recv_len).unwrap_or(0);
        // An ACK without data among them is the one that completes it.
        if all.iter().any(|id| len(*id) <= most) {
            return;
        }
        // A guess would shift all that the socket is given later; an ACK of other options than those seen is no longer than this.
        let headers = if v4 { IPV4_HEADER } else { IPV6_HEADER } + TCP_HEADER_MOST;
        let id = match all.as_slice() {
            [one] if least == most && len(*one) > headers => *one,
            _ => return,
        };
        let bytes = len(id).saturating_sub(least);
        let received = self.units.get(id).and_then(|u| u.recv);
        if let Some(t) = received {
            self.through.insert(c, t);
        }
        let key = Key::Tcp(c);
        let Some(u) = self.units.get_mut(id).filter(|u| u.key.is_none()) else {
            return;
        };
        (u.proto, u.connection, u.unclaimed) = (Some(e.ts), Some(c), false);
        (u.bytes, u.left, u.key) = (Some(bytes), bytes, Some(key));
        u.link(Confidence::Strong);
        *self.out.unshown_bytes.entry(c).or_insert(0) += u64::from(bytes);
        let st = self.state(e.cpu);
        (*st.probed(e), *st.last(e)) = (Some(id), Some(id));
        self.fifo(key);
        let Some(fifo) = self.fifos.get_mut(&key) else { return };
        match self.has_ready {
            true => fifo.hold(id, &mut self.units),
            false => fifo.push(id, &mut self.units),
        }
    }
}
