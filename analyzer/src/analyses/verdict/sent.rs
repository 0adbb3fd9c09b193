//! The verdict's line on sent segments: how long until their ACK, and what held them, of which connection.

use super::sentences::{counted, duration, or_dash, pick};
use super::{OPEN_NOTICE_NS, SENDER_FLOOR_NS, SENDER_NOTICE_NS, SENDER_NOTICE_SHARE, Tone, UNTOLD_SHARE};
use crate::analyses::transmit::Transmit;

/// What holds a segment, as a person calls it.
fn limiter(stage: &str) -> &str {
    match stage {
        "sndbuf" => "its send buffer",
        "rwnd" => "the peer's receive window",
        "cwnd" => "its congestion window",
        "nagle" => "Nagle, a cork or TSO deferral",
        "pacing" => "pacing",
        "pacing_slip" => "a late pacing timer",
        "tsq" => "TCP small queues",
        "neighbour" => "neighbour resolution",
        "qdisc" => "the queueing discipline",
        "bql" => "byte queue limits",
        "ring" => "the driver's full ring",
        "recovery" => "loss, until it was sent again",
        other => other,
    }
}

/// The connection that was held longest, and by what.
fn most_held(t: &Transmit) -> String {
    let most = t.most_held().and_then(|c| Some((c, c.held_by?)));
    most.map_or_else(String::new, |(c, by)| {
        format!("; most held: {} by {}", c.label, limiter(by))
    })
}

/// No segment has a time: why not, and whether that is news.
fn none_acked(t: &Transmit) -> (Tone, String) {
    let others: u64 = t.others.values().sum();
    // Whether they left the host is not told by that: a driver may have dropped them.
    let sent = counted(
        others.saturating_add(t.open).saturating_add(t.dropped),
        "packet was queued on a device",
        "packets were queued on devices",
    );
    let because: Vec<&str> = t.no_acks().iter().map(|r| r.because.as_str()).collect();
    if !because.is_empty() {
        let s = format!(
            "How long sent TCP segments took is not known, because {}; {sent}.",
            because.join("; ")
        );
        return (Tone::Unknown, s);
    }
    let cut: u64 = ["censored_start", "loss"]
        .iter()
        .filter_map(|w| t.excluded.get(w))
        .sum();
    let unknown = t.others.get("tcp_unknown").copied().unwrap_or(0);
    if t.open > 0 || t.dropped > 0 || cut > 0 {
        let oldest = t.open_at_least_ns.map_or_else(String::new, |ns| {
            format!(", the oldest unanswered for at least {}", duration(ns))
        });
        let s = format!("No TCP segment with payload was seen acknowledged from its start on; {sent}{oldest}.");
        return (Tone::Notice, s);
    }
    let s = format!("No TCP segment with payload was seen acknowledged; {sent}");
    match unknown {
        0 => (Tone::Ok, format!("{s}.")),
        n => {
            let s = format!("{s}, of {n} it is not known whether they carry payload.");
            (Tone::Notice, s)
        }
    }
}

pub(super) fn transmit(t: &Transmit) -> (Tone, String) {
    if t.acked == 0 {
        return none_acked(t);
    }
    // Where nothing is sure, what is less so is said, and that it is.
    let sure = t.total.solid.n > 0;
    let total = pick(&t.total, sure);
    let top = t
        .stages
        .iter()
        .chain([&t.unattributed])
        .max_by_key(|s| pick(s, sure).sum_ns);
    let top = top.filter(|_| total.sum_ns > 0);
    let of_whole = |ns: i64| {
        if total.sum_ns > 0 {
            ns as f64 / total.sum_ns as f64
        } else {
            0.0
        }
    };
    let said = top.map_or_else(String::new, |s| {
        format!(
            "; {:.0} % of that time: {}",
            of_whole(s.solid.sum_ns) * 100.0,
            s.meaning
        )
    });
    let all = &t.total.all;
    let weak = match all.n.saturating_sub(total.n) {
        _ if !sure => "; all of them less certain".into(),
        0 => String::new(),
        n => format!("; {n} less certain, with them max {}", or_dash(all.max_ns)),
    };
    let open = match (t.open, t.open_at_least_ns) {
        (0, _) => String::new(),
        (n, None) => format!("; {n} not acknowledged at the end"),
        (n, Some(ns)) => format!("; {n} not acknowledged at the end, one for at least {}", duration(ns)),
    };
    let p99 = t.held.solid.p99_ns.max(t.held.all.p99_ns);
    let reached = |ns: i64| p99.is_some_and(|v| v >= ns);
    let share = of_whole(t.held.solid.sum_ns).max(t.held.share);
    let held = reached(SENDER_NOTICE_NS) || reached(SENDER_FLOOR_NS) && share >= SENDER_NOTICE_SHARE;
    let by = match held {
        true => format!(
            "; held p99 {} by this host or the peer's window, {:.0} % of the time{}",
            or_dash(p99),
            share * 100.0,
            most_held(t)
        ),
        false => String::new(),
    };
    // Then no wait of the sender's has a name.
    let queued = t.starts.get("queue").copied().unwrap_or(0);
    let blind = queued.saturating_mul(2) > t.acked;
    let by = match blind {
        true => format!("; what held most of them before their queue is not known{by}"),
        false => by,
    };
    let in_none = of_whole(pick(&t.unattributed, sure).sum_ns) >= UNTOLD_SHARE;
    let stuck = t.open_at_least_ns.is_some_and(|ns| ns >= OPEN_NOTICE_NS);
    // Where send calls were not recorded, what was before the device is not known.
    let from = match t.starts.get("sendmsg").copied().unwrap_or(0) {
        n if n == t.acked => "their send call began".to_string(),
        0 => "their first event (their send calls were not seen)".to_string(),
        n => format!("their first event ({n} of {}: the send call)", t.acked),
    };
    let sentence = format!(
        "Sent TCP segments were acknowledged p50 {}, p99 {}, max {} after {from} (n {}){said}{by}{weak}{open}.",
        or_dash(total.p50_ns),
        or_dash(total.p99_ns),
        or_dash(total.max_ns),
        total.n,
    );
    let notice = held || in_none || stuck || blind || !sure;
    (if notice { Tone::Notice } else { Tone::Ok }, sentence)
}
