//! The verdict's line on received packets.

use super::sentences::{counted, duration, or_dash, pick};
use super::{RCVQ_NOTICE_NS, Tone, UNREAD_NOTICE_NS, UNTOLD_SHARE};
use crate::analyses::receive::Receive;

pub(super) fn receive(r: &Receive) -> (Tone, String) {
    let waits = match (r.queued, r.unread_at_least_ns) {
        (0, _) => String::new(),
        (n, Some(ns)) => format!("; {n} not seen read at the end, one for at least {}", duration(ns)),
        (n, None) => format!("; {n} not seen read at the end"),
    };
    let stuck = r.unread_at_least_ns.is_some_and(|ns| ns >= UNREAD_NOTICE_NS);
    if r.read == 0 {
        if !r.lacks.is_empty() {
            let s = format!(
                "How long received packets waited for their reader is not known, because {}; {} processed{waits}.",
                r.lacks.join("; "),
                counted(r.protocol_only, "was", "were")
            );
            return (Tone::Unknown, s);
        }
        let s = format!(
            "No received packet was read by a task; {} processed{waits}.",
            counted(r.protocol_only, "was", "were")
        );
        return (Tone::Notice, s);
    }
    // Where nothing is sure, what is less so is said, and that it is.
    let sure = r.total.solid.n > 0;
    let total = pick(&r.total, sure);
    let top = r
        .stages
        .iter()
        .chain([&r.unattributed])
        .max_by_key(|s| pick(s, sure).sum_ns);
    // Of the same units as the percentiles: `share` is of all, and the weak ones may be slow for another reason.
    let top = top.filter(|_| total.sum_ns > 0).map_or_else(String::new, |s| {
        let share = pick(s, sure).sum_ns as f64 / total.sum_ns as f64 * 100.0;
        match share.round() >= 1.0 {
            true => format!("; {share:.0} % of that time: {}", s.meaning),
            false => String::new(),
        }
    });
    let all = &r.total.all;
    let weak = match all.n.saturating_sub(total.n) {
        _ if !sure => "; all of them less certain".into(),
        0 => String::new(),
        n => format!("; {n} less certain, with them max {}", or_dash(all.max_ns)),
    };
    let lacks = match r.lacks.is_empty() {
        true => String::new(),
        false => format!("; not all of them are here, because {}", r.lacks.join("; ")),
    };
    let late = |p99: Option<i64>| p99.is_some_and(|v| v >= RCVQ_NOTICE_NS);
    let slow = late(r.rcvq.solid.p99_ns) || late(total.p99_ns);
    // Where most of the time is in no stage, the question is not answered.
    let in_none = total.sum_ns > 0 && pick(&r.unattributed, sure).sum_ns as f64 >= UNTOLD_SHARE * total.sum_ns as f64;
    let sentence = format!(
        "Received packets reached their reader in p50 {}, p99 {}, max {} (n {}){top}{weak}{waits}{lacks}.",
        or_dash(total.p50_ns),
        or_dash(total.p99_ns),
        or_dash(total.max_ns),
        total.n,
    );
    let notice = slow || in_none || stuck || !sure || !r.lacks.is_empty();
    (if notice { Tone::Notice } else { Tone::Ok }, sentence)
}
