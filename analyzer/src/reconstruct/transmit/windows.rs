//! A socket's time between two probes: what `snd_nxt` advanced by is what its packets of that time carry.

use super::flow::{Of, Shared, carries_data, established};
use super::headers::{Window, calibrate};

/// The time between two probes of a socket, or between its birth and the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// Positions in the merged sequence.
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
    /// Data packets are later than this: the handshake is over.
    pub(super) after_ns: i64,
    /// What `snd_nxt` advanced by.
    pub(super) advanced: u64,
}

/// `snd_una` at the first probe of a socket that was seen to be born: nothing was acknowledged before it (each ACK is a
/// probe), so what `snd_nxt` is ahead of it is all that was sent.
pub(super) fn first_byte(of: &Of<'_>, established: Option<i64>, shared: &Shared<'_>) -> Option<u32> {
    let s = of.probes.first()?.1;
    established.filter(|t| !shared.lost(*t, s.time_ns)).map(|_| s.snd_una)
}

/// All spans of a socket in which `snd_nxt` did not go back.
pub(super) fn windows(of: &Of<'_>, shared: &Shared<'_>) -> Vec<Span> {
    let established = established(of);
    let after_ns = established.unwrap_or(i64::MIN);
    let mut last = first_byte(of, established, shared).map(|una| (0, after_ns, una));
    let mut out = vec![];
    for (to, s) in &of.probes {
        if let Some((from, from_ns, nxt)) = last {
            let advanced = s.snd_nxt.wrapping_sub(nxt);
            if advanced < 1 << 31 {
                out.push(Span {
                    from,
                    to: *to,
                    from_ns,
                    to_ns: s.time_ns,
                    after_ns,
                    advanced: u64::from(advanced),
                });
            }
        }
        last = Some((*to, s.time_ns, s.snd_nxt));
    }
    out
}

/// Header size of this socket's data packets: by windows between probes.
pub(super) fn header(of: &Of<'_>, shared: &Shared<'_>) -> Option<(u32, u64)> {
    let packets = of.packets.iter().filter_map(|i| shared.packets.get(*i as usize));
    let mut packets = packets.peekable();
    let mut out = vec![];
    for span in windows(of, shared) {
        let mut w = Window {
            packets: 0,
            len: 0,
            advanced: span.advanced,
        };
        while let Some(p) = packets.next_if(|p| p.index < span.to) {
            if p.index >= span.from && p.ts > span.after_ns && carries_data(p, None) {
                w.packets += 1;
                w.len += u64::from(p.len);
            }
        }
        out.push(w);
    }
    calibrate(&out)
}
