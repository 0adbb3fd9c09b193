//! `struct tcp_info` as `name=value` (include/uapi/linux/tcp.h). It only ever grows at its end: the kernel's length says
//! which fields there are, and what is newer than this table is kept as hex.

use std::fmt::Write;

use super::netlink::hex;

/// Fields in order with their bytes; all lie at multiples of their size, without holes.
const FIELDS: &[(&str, usize)] = &[
    ("state", 1),
    ("ca_state", 1),
    ("retransmits", 1),
    ("probes", 1),
    ("backoff", 1),
    ("options", 1),
    // Two bit fields each, in the compiler's order: split below.
    ("wscale", 1),
    ("flags", 1),
    ("rto", 4),
    ("ato", 4),
    ("snd_mss", 4),
    ("rcv_mss", 4),
    ("unacked", 4),
    ("sacked", 4),
    ("lost", 4),
    ("retrans", 4),
    ("fackets", 4),
    ("last_data_sent", 4),
    ("last_ack_sent", 4),
    ("last_data_recv", 4),
    ("last_ack_recv", 4),
    ("pmtu", 4),
    ("rcv_ssthresh", 4),
    ("rtt", 4),
    ("rttvar", 4),
    ("snd_ssthresh", 4),
    ("snd_cwnd", 4),
    ("advmss", 4),
    ("reordering", 4),
    ("rcv_rtt", 4),
    ("rcv_space", 4),
    ("total_retrans", 4),
    ("pacing_rate", 8),
    ("max_pacing_rate", 8),
    ("bytes_acked", 8),
    ("bytes_received", 8),
    ("segs_out", 4),
    ("segs_in", 4),
    ("notsent_bytes", 4),
    ("min_rtt", 4),
    ("data_segs_in", 4),
    ("data_segs_out", 4),
    ("delivery_rate", 8),
    ("busy_time", 8),
    ("rwnd_limited", 8),
    ("sndbuf_limited", 8),
    ("delivered", 4),
    ("delivered_ce", 4),
    ("bytes_sent", 8),
    ("bytes_retrans", 8),
    ("dsack_dups", 4),
    ("reord_seen", 4),
    ("rcv_ooopack", 4),
    ("snd_wnd", 4),
    ("rcv_wnd", 4),
    ("rehash", 4),
    ("total_rto", 2),
    ("total_rto_recoveries", 2),
    ("total_rto_time", 4),
];

/// Appends ` tcp.rtt=31 ...`; fields that the kernel did not send are left out.
pub fn append(info: &[u8], out: &mut String) {
    let mut rest = info;
    for (name, size) in FIELDS {
        let Some((field, after)) = rest.split_at_checked(*size) else {
            break;
        };
        rest = after;
        let value = unsigned(field);
        match *name {
            "wscale" => {
                let (snd, rcv) = halves(value);
                _ = write!(out, " tcp.snd_wscale={snd} tcp.rcv_wscale={rcv}");
            }
            "flags" => {
                let limited = match cfg!(target_endian = "big") {
                    true => value >> 7,
                    false => value & 1,
                };
                _ = write!(out, " tcp.delivery_rate_app_limited={limited}");
            }
            _ => _ = write!(out, " tcp.{name}={value}"),
        }
    }
    if !rest.is_empty() {
        _ = write!(out, " tcp.more={}", hex(rest));
    }
}

/// Bit fields fill a byte from its least significant bit on little-endian machines, from the other end on big-endian.
fn halves(byte: u64) -> (u64, u64) {
    match cfg!(target_endian = "big") {
        true => (byte >> 4, byte & 15),
        false => (byte & 15, byte >> 4),
    }
}

fn unsigned(field: &[u8]) -> u64 {
    let mut wide = [0u8; 8];
    let at = if cfg!(target_endian = "big") {
        8 - field.len().min(8)
    } else {
        0
    };
    if let Some(place) = wide.get_mut(at..at + field.len()) {
        place.copy_from_slice(field);
    }
    u64::from_ne_bytes(wide)
}
