//! The fixed list of verdict sentences.

use super::{RCVQ_NOTICE_NS, SENDER_NOTICE_SHARE, SOFTIRQ_NOTICE_SHARE, SOFTIRQ_WAIT_NOTICE_NS, Tone};
use crate::analyses::drops::Drops;
use crate::analyses::napi::Napi;
use crate::analyses::receive::Receive;
use crate::analyses::tcp::Tcp;
use crate::analyses::transmit::Transmit;
use crate::facts::Reason;

/// Share of time in no stage from which the stages are no answer.
const UNTOLD_SHARE: f64 = 0.5;
/// Fewest delays of a CPU whose p99 is judged.
const WAITS: u64 = 100;

/// ns as a person reads them.
pub fn duration(ns: i64) -> String {
    let v = ns as f64;
    match ns.unsigned_abs() {
        0..=9_999 => format!("{:.2} µs", v / 1e3),
        10_000..=999_999 => format!("{:.1} µs", v / 1e3),
        1_000_000..=999_999_999 => format!("{:.2} ms", v / 1e6),
        _ => format!("{:.3} s", v / 1e9),
    }
}

/// `1 packet`, `2 packets`: a count with its noun.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn or_dash(ns: Option<i64>) -> String {
    ns.map_or_else(|| "–".into(), duration)
}

pub(super) fn unknown(subject: &str, why: &[Reason]) -> String {
    let why: Vec<&str> = why.iter().map(|r| r.because.as_str()).collect();
    match why.split_first() {
        Some((first, rest)) if rest.len() > 1 => {
            format!(
                "No answer on {subject}, because {first}, and {} more reasons.",
                rest.len()
            )
        }
        _ => format!("No answer on {subject}, because {}.", why.join("; ")),
    }
}

pub(super) fn receive(r: &Receive) -> (Tone, String) {
    if r.read == 0 {
        return (
            Tone::Notice,
            format!(
                "No received packet was read by a task; {} were processed.",
                r.protocol_only
            ),
        );
    }
    let total = &r.total.solid;
    let top = r.stages.iter().chain([&r.unattributed]).max_by_key(|s| s.solid.sum_ns);
    // Of the same units as the percentiles: `share` is of all, and the weak ones may be slow for another reason.
    let top = top.filter(|_| total.sum_ns > 0).map_or_else(String::new, |s| {
        let share = s.solid.sum_ns as f64 / total.sum_ns as f64;
        format!("; {:.0} % of that time: {}", share * 100.0, s.meaning)
    });
    let all = &r.total.all;
    let weak = match all.n.saturating_sub(total.n) {
        0 => String::new(),
        n => format!("; {n} less certain, with them max {}", or_dash(all.max_ns)),
    };
    let slow = r.rcvq.solid.p99_ns.is_some_and(|v| v >= RCVQ_NOTICE_NS);
    // Where most of the time is in no stage, the question is not answered.
    let in_none = total.sum_ns > 0 && r.unattributed.solid.sum_ns as f64 >= UNTOLD_SHARE * total.sum_ns as f64;
    let sentence = format!(
        "Received packets reached their reader in p50 {}, p99 {}, max {} (n {}){top}{weak}.",
        or_dash(total.p50_ns),
        or_dash(total.p99_ns),
        or_dash(total.max_ns),
        total.n,
    );
    (
        if slow || in_none || total.n == 0 {
            Tone::Notice
        } else {
            Tone::Ok
        },
        sentence,
    )
}

/// Time in the network or in the program's own call is no wait of the host's queues.
const NOT_QUEUED: [&str; 2] = ["network", "send"];

pub(super) fn transmit(t: &Transmit) -> (Tone, String) {
    let total = &t.total.solid;
    if t.acked == 0 {
        let others: u64 = t.others.values().sum();
        let no_acks = t.no_acks();
        if !no_acks.is_empty() {
            let why: Vec<&str> = no_acks.iter().map(|r| r.because.as_str()).collect();
            let s = format!(
                "How long sent TCP segments took is not known, because {}; {} sent.",
                why.join("; "),
                counted(others + t.open + t.dropped, "packet was", "packets were")
            );
            return (Tone::Unknown, s);
        }
        let s = format!(
            "No TCP segment with payload was seen acknowledged; {} sent.",
            counted(others + t.open + t.dropped, "packet was", "packets were")
        );
        return (Tone::Ok, s);
    }
    let top = t.stages.iter().chain([&t.unattributed]).max_by_key(|s| s.solid.sum_ns);
    let top = top.filter(|_| total.sum_ns > 0);
    let share = top.map_or(0.0, |s| s.solid.sum_ns as f64 / total.sum_ns as f64);
    let said = top.map_or_else(String::new, |s| {
        format!("; {:.0} % of that time: {}", share * 100.0, s.meaning)
    });
    let all = &t.total.all;
    let weak = match all.n.saturating_sub(total.n) {
        0 => String::new(),
        n => format!("; {n} less certain, with them max {}", or_dash(all.max_ns)),
    };
    let open = match t.open {
        0 => String::new(),
        n => format!("; {n} not acknowledged at the end"),
    };
    let held = top.is_some_and(|s| !NOT_QUEUED.contains(&s.stage)) && share >= SENDER_NOTICE_SHARE;
    // Where send calls were not recorded, what was before the device is not known.
    let from = match t.starts.get("sendmsg").copied().unwrap_or(0) {
        n if n == t.acked => "their send call began".to_string(),
        0 => "their first event (their send calls were not seen)".to_string(),
        n => format!("their first event ({n} of {}: the send call)", t.acked),
    };
    let sentence = format!(
        "Sent TCP segments were acknowledged p50 {}, p99 {}, max {} after {from} (n {}){said}{weak}{open}.",
        or_dash(total.p50_ns),
        or_dash(total.p99_ns),
        or_dash(total.max_ns),
        total.n,
    );
    let tone = if held || total.n == 0 { Tone::Notice } else { Tone::Ok };
    (tone, sentence)
}

pub(super) fn drops(d: &Drops) -> (Tone, String) {
    let rest = format!(
        "{} normal, {} unclear",
        counted(d.expected, "free was", "frees were"),
        d.unclear
    );
    if d.total == 0 && !d.recorded {
        let s = "Drops are not known: there is no kfree_skb in the recording, and nothing says that it was recorded.";
        return (Tone::Unknown, s.into());
    }
    match d.groups.iter().find(|g| g.expected == Some(false)) {
        None if d.unclear > 0 => (
            Tone::Notice,
            format!("No packet is known to be lost in this host; {rest}."),
        ),
        None => (Tone::Ok, format!("No packet was dropped in this host; {rest}.")),
        Some(g) => {
            let place = if g.location.is_empty() {
                String::new()
            } else {
                format!(" at {}", g.location)
            };
            let s = format!(
                "{} dropped in this host, most for {}{place} ({}); {rest}.",
                counted(d.lost, "packet was", "packets were"),
                g.reason,
                g.count
            );
            (Tone::Bad, s)
        }
    }
}

pub(super) fn tcp(t: &Tcp) -> (Tone, String) {
    let n: u64 = t.retransmits.values().sum();
    let sockets = t.connections.len();
    if n == 0 && !t.retransmits_recorded {
        let s = "Retransmits are not known: there is no tcp_retransmit_skb in the recording, and nothing says that it was recorded.";
        return (Tone::Unknown, s.into());
    }
    if n == 0 {
        return (
            Tone::Ok,
            format!(
                "No TCP segment was retransmitted on {}.",
                counted(sockets as u64, "socket", "sockets")
            ),
        );
    }
    let by: Vec<String> = t.retransmits.iter().map(|(k, v)| format!("{v} {k}")).collect();
    let most = t.connections.iter().max_by_key(|c| c.retransmits);
    let most = most.map_or_else(String::new, |c| {
        format!("; most ({}) on {}", c.retransmits.unwrap_or(0), c.label)
    });
    (
        Tone::Notice,
        format!(
            "{n} TCP segments were retransmitted on {sockets} sockets: {}{most}.",
            by.join(", ")
        ),
    )
}

pub(super) fn napi(n: &Napi) -> (Tone, String) {
    let rx: Vec<_> = n.cpus.iter().filter(|c| c.vector == "NET_RX").collect();
    let Some(busiest) = rx.iter().max_by(|a, b| a.share.total_cmp(&b.share)) else {
        return (Tone::Unknown, "No NET_RX softirq was recorded.".into());
    };
    // The p99 of a few runs is only the largest of them.
    let often = rx.iter().filter(|c| c.wait.n >= WAITS);
    let late = often.filter_map(|c| c.wait.p99_ns).max().or(busiest.wait.p99_ns);
    let exhausted: u64 = n.devices.iter().map(|d| d.exhausted).sum();
    let polls: u64 = n.devices.iter().map(|d| d.polls).sum();
    let bad = busiest.share >= SOFTIRQ_NOTICE_SHARE || late.is_some_and(|w| w >= SOFTIRQ_WAIT_NOTICE_NS);
    let sentence = format!(
        "NET_RX took at most {:.1} % of a CPU (CPU {}), where it started p99 {}, max {} after its raise (n {}); {exhausted} of {polls} polls used their whole budget.",
        busiest.share * 100.0,
        busiest.cpu,
        or_dash(busiest.wait.p99_ns),
        or_dash(busiest.wait.max_ns),
        busiest.wait.n,
    );
    (if bad { Tone::Notice } else { Tone::Ok }, sentence)
}
