//! The verdict's line on sent segments: how long until their ACK, and what held them, of which connection.

use super::sentences::{
    apart, capital, certainty, counted, duration, first_words, less_certain, or_dash, pick, rate, speak, stands_out,
};
use super::{
    OPEN_NOTICE_NS, OUTLIER_NOTICE_NS, SENDER_FLOOR_NS, SENDER_NOTICE_NS, SENDER_NOTICE_SHARE, Tone, UNTOLD_SHARE,
    slowest,
};
use crate::analyses::breakdown::Group;
use crate::analyses::transmit::{DeviceQueue, Sender, Transmit};
use crate::reconstruct::transmit::Stage;
use crate::stat::Distribution;

/// What holds a segment, as a person calls it.
pub(crate) fn limiter(stage: &str) -> &str {
    match stage {
        "sndbuf" => "its send buffer",
        "rwnd" => "the peer's receive window",
        "cwnd" => "its congestion window",
        "nagle" => "Nagle, a cork or TSO deferral",
        "pacing" => "pacing",
        "pacing_slip" => "a late pacing timer",
        "tsq" => "TCP small queues",
        "refused" => "refusals of this host's own queue",
        "neighbour" => "neighbour resolution",
        "qdisc" => "the queueing discipline",
        "bql" => "byte queue limits",
        "ring" => "the driver's full ring",
        "recovery" => "loss, until retransmitted",
        other => other,
    }
}

/// The connection that was held longest, and by what. That is of all acknowledged segments, the less certain too: `apart`
/// says that the sentence before is of fewer.
fn most_held(t: &Transmit, apart: bool) -> String {
    let most = t.most_held().and_then(|c| Some((c, c.held_by?)));
    let whom = match apart {
        true => format!("most held of all {}", t.acked),
        false => "most held".into(),
    };
    most.map_or_else(String::new, |(c, by)| {
        format!("; {whom}: {} by {}{}", c.label, limiter(by), by_hand(c, by))
    })
}

/// What an engineer would work out: how much of the connection's time, what was in flight of which window, how long to the
/// ACK, and the rate of it all.
fn by_hand(c: &Sender, by: &str) -> String {
    let share = c.limiters.first().filter(|_| c.mbit_per_s.is_some());
    let share = share.map_or_else(String::new, |(_, of)| {
        format!(", {:.0} % of the time it was busy", of * 100.0)
    });
    let mut said = vec![];
    if let Some(f) = c.flight {
        said.push(match by {
            "rwnd" => format!("{} in flight of {}", size(f.bytes), size(f.snd_wnd)),
            "cwnd" => format!(
                "{} in flight, the congestion window is {} segments",
                size(f.bytes),
                f.snd_cwnd
            ),
            _ => format!(
                "at most {} in flight (the peer's window is {}, the congestion window {} segments)",
                size(f.max_bytes),
                size(f.snd_wnd),
                f.snd_cwnd
            ),
        });
    }
    if let Some(ns) = c.rtt.p50_ns.filter(|_| !said.is_empty()) {
        said.push(format!("{} to the ACK (n {})", duration(ns), c.rtt.n));
    }
    said.extend(c.mbit_per_s.map(|r| format!("{} while busy", rate(r))));
    match said.is_empty() {
        true => share,
        false => format!("{share}: {}", said.join(", ")),
    }
}

/// Bytes as a person reads them.
pub(crate) fn size(bytes: i64) -> String {
    match bytes {
        n if n >= 1_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        n if n >= 1_000 => format!("{:.1} kB", n as f64 / 1e3),
        n => format!("{n} bytes"),
    }
}

/// The part of a whole's time that another time of the same segments is.
fn part(of: &Distribution, whole: &Distribution) -> f64 {
    match whole.sum_ns > 0 {
        true => of.sum_ns as f64 / whole.sum_ns as f64,
        false => 0.0,
    }
}

/// Whether this host or the peer's window held the segments worth a look, and how long: of the segments that the percentiles
/// are of; where these were not held and all together were, of all, and that is said.
fn held_by_sender(t: &Transmit, sure: bool) -> (bool, String) {
    let worth = |held: &Distribution, again: &Distribution, whole: &Distribution| {
        let reached = |of: &Distribution, ns: i64| of.p99_ns.is_some_and(|v| v >= ns);
        let share = part(held, whole);
        let large = share >= SENDER_NOTICE_SHARE;
        // What was sent again without need held nothing; of the rest a large share is worth a look as before.
        let long = reached(again, SENDER_NOTICE_NS) && reached(held, SENDER_FLOOR_NS);
        (long || reached(again, SENDER_FLOOR_NS) && large).then(|| {
            format!(
                "held p99 {} by this host or the peer's window, {:.0} % of their time",
                or_dash(held.p99_ns),
                share * 100.0
            )
        })
    };
    let apart = t.total.all.n != pick(&t.total, sure).n;
    let again = &t.held_or_again;
    let picked = worth(pick(&t.held, sure), pick(again, sure), pick(&t.total, sure));
    let said = match (picked, worth(&t.held.all, &again.all, &t.total.all)) {
        (Some(held), _) => held,
        (None, Some(held)) => format!("with the less certain ones (n {}): {held}", t.total.all.n),
        (None, None) => return (false, String::new()),
    };
    (true, format!("; {said}{}", most_held(t, apart)))
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
    let cut: u64 = ["censored_start", "loss", "ack_not_told"]
        .iter()
        .filter_map(|w| t.excluded.get(w))
        .sum();
    let unknown = t.others.get("tcp_unknown").copied().unwrap_or(0);
    if t.open > 0 || t.dropped > 0 || cut > 0 {
        let oldest = t.open_at_least_ns.map_or_else(String::new, |ns| {
            format!(", the oldest unanswered for at least {}", duration(ns))
        });
        let s = format!("No TCP segment with payload was seen acknowledged from its start on{oldest}; {sent}.");
        let stuck = t.open_at_least_ns.is_some_and(|ns| ns >= OPEN_NOTICE_NS);
        return (if stuck { Tone::Bad } else { Tone::Notice }, s);
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

/// The queue whose packets waited longest, when that is worth a look.
fn longest(t: &Transmit) -> Option<&DeviceQueue> {
    let first = t.queues.first();
    first.filter(|q| q.wait.p99_ns.is_some_and(|ns| ns >= SENDER_NOTICE_NS))
}

fn named(q: &DeviceQueue) -> String {
    match q.qdisc.is_empty() {
        true => q.dev.clone(),
        false => format!("{} ({})", q.dev, q.qdisc),
    }
}

fn queue(t: &Transmit) -> String {
    longest(t).map_or_else(String::new, |q| {
        let rate = q
            .mbit_per_s()
            .map_or_else(String::new, |r| format!(", gave {} while it held any", rate(r)));
        format!(
            "; longest queue: {}, packets waited in it p99 {}, max {} (n {}){rate}{}",
            named(q),
            or_dash(q.wait.p99_ns),
            or_dash(q.wait.max_ns),
            q.wait.n,
            super::named::classes(q)
        )
    })
}

/// Fewest segments of a connection whose p99 is compared.
const SEGMENTS: u64 = 20;

/// A connection of few segments does not show in sums: the one whose segments took longest, when it is another than the one
/// that was held most, and why.
fn slowest(t: &Transmit, connections: &[Group]) -> String {
    let most = t.most_held().map(|c| format!("conn:{}", c.connection));
    let many = connections
        .iter()
        .filter(|g| g.n >= SEGMENTS && Some(&g.name) != most.as_ref());
    // That the other side answers late is said of all.
    let held = many.filter(|g| {
        let counts = |s: &&Stage| s.holds() && !(t.needless && **s == Stage::Recovery);
        g.top
            .is_some_and(|(stage, _)| Stage::ALL.iter().filter(counts).any(|s| s.name() == stage))
    });
    let slow = held.filter(|g| g.p99_ns.is_some_and(|ns| ns >= SENDER_NOTICE_NS));
    let worst = slow.max_by_key(|g| (g.p99_ns, std::cmp::Reverse(&g.name)));
    let label = |g: &Group| {
        t.connections
            .iter()
            .find(|c| format!("conn:{}", c.connection) == g.name)
    };
    let named = worst.and_then(|g| Some((g, label(g)?, g.top?)));
    named.map_or_else(String::new, |(g, c, (stage, share))| {
        format!(
            "; of the others that were held {} took longest, p99 {}, {:.0} % of its time by {}",
            c.label,
            or_dash(g.p99_ns),
            share * 100.0,
            limiter(stage)
        )
    })
}

/// What is worth a look, for the head of the page.
pub(super) fn headline(t: &Transmit) -> String {
    if let Some(said) = super::unacked::unacked(t) {
        return said;
    }
    if t.acked == 0 {
        return first_words(&none_acked(t).1);
    }
    let held = held_by_sender(t, speak(&t.total)).0;
    // Where nothing else is worth a look.
    let stuck = t.open_at_least_ns.is_some_and(|ns| ns >= OPEN_NOTICE_NS);
    let late = stands_out(pick(&t.total, speak(&t.total)), OUTLIER_NOTICE_NS) || longest(t).is_some();
    if let Some(tiny) = tiny(t).filter(|_| !held && !stuck && !late) {
        return tiny;
    }
    let sure = speak(&t.total);
    let total = pick(&t.total, sure);
    let held = t.most_held().and_then(|c| Some((c, c.held_by?)));
    // Not twice.
    let held = held.filter(|(c, by)| *by != Stage::Recovery.name() || !super::black_hole::to_its_peer(t, &c.label));
    let held = held.filter(|_| {
        held_by_sender(t, speak(&t.total)).0 && super::windows::window(t).is_none() && !super::windows::holds_up(t)
    });
    let whose = if sure { &t.slowest.solid } else { &t.slowest.all };
    let held = slowest::held(held, whose.as_deref());
    let stuck = t.open_at_least_ns.filter(|ns| *ns >= OPEN_NOTICE_NS);
    let stuck = stuck.map_or_else(String::new, |ns| slowest::open(ns, t.open_of.as_deref()));
    let queue = longest(t).map_or_else(String::new, |q| {
        let (how, ns) = match q.busy_ns {
            Some(_) => ("up to", q.wait.max_ns),
            // Where packets leave unseen, the longest of the others may be two at one address.
            None => ("p99", q.wait.p99_ns),
        };
        format!("; packets waited {how} {} in the queue of {}", or_dash(ns), named(q))
    });
    let took = format!(
        "sent segments took up to {}{} to be ACKed{held}{stuck}{queue}",
        or_dash(total.max_ns),
        certainty(sure)
    );
    apart(super::named::causes(t).into_iter().chain([took]))
}

/// A sender whose packets are nearly all header.
fn tiny(t: &Transmit) -> Option<String> {
    let tiny = t.tiny.as_ref()?;
    Some(format!(
        "{} sent {} segments with p50 {} of payload each on {}, {:.0} a second, without waiting for answers or for more to send",
        tiny.task,
        tiny.segments,
        counted(u64::from(tiny.p50_bytes), "byte", "bytes"),
        tiny.label,
        tiny.per_s
    ))
}

/// Network or peer, where the peers' sockets are in the recording too.
fn whose(t: &Transmit) -> String {
    let network = t.stages.iter().find(|s| s.stage == Stage::Network.name());
    let all = network.map_or(0, |s| s.all.n);
    t.peer.as_ref().map_or_else(String::new, |p| {
        let share = p.application_ns as f64 * 100.0 / p.network_ns.max(1) as f64;
        let of = match p.segments == all {
            true => String::new(),
            false => format!(", of {} segments whose peers are in this recording,", p.segments),
        };
        format!(" ({share:.0} % of it{of} while the peer's application had data and had not answered)")
    })
}

/// `connections`: whole times of segments by connection.
pub(super) fn transmit(t: &Transmit, connections: &[Group]) -> (Tone, String) {
    let (tone, sentence) = of_all(t, connections);
    match super::unacked::unacked(t) {
        Some(said) => (Tone::Bad, format!("{}. {sentence}", capital(&said))),
        None => (tone, sentence),
    }
}

fn of_all(t: &Transmit, connections: &[Group]) -> (Tone, String) {
    if t.acked == 0 {
        return none_acked(t);
    }
    // Where few are sure, what is less so is said, and that it is.
    let sure = speak(&t.total);
    let total = pick(&t.total, sure);
    let top = t
        .stages
        .iter()
        .chain([&t.unattributed])
        .max_by_key(|s| pick(s, sure).sum_ns);
    // Of the same segments as the percentiles; what is 0 % of their time is not named.
    let top = top.map(|s| (part(pick(s, sure), total), s));
    let said = top
        .filter(|(share, _)| (share * 100.0).round() >= 1.0)
        .map_or_else(String::new, |(share, s)| {
            let split = if s.stage == Stage::Network.name() {
                whose(t)
            } else {
                String::new()
            };
            format!("; {:.0} % of that time: {}{split}", share * 100.0, s.meaning)
        });
    let weak = less_certain(&t.total, sure);
    let open = match (t.open, t.open_at_least_ns) {
        (0, _) => String::new(),
        (n, None) => format!("; {n} not acknowledged at the end"),
        (n, Some(ns)) => format!(
            "; {n} not acknowledged at the end, one at least {} after it was queued on its device",
            duration(ns)
        ),
    };
    let (held, by) = held_by_sender(t, sure);
    // Then no wait of the sender's has a name.
    let queued = t.starts.get("queue").copied().unwrap_or(0);
    let blind = queued.saturating_mul(2) > t.acked;
    let by = match blind {
        true => format!(
            "; of {queued} of all {} acknowledged it is not known what held them before their queue{by}",
            t.acked
        ),
        false => by,
    };
    let in_none = part(pick(&t.unattributed, sure), total) >= UNTOLD_SHARE;
    let stuck = t.open_at_least_ns.is_some_and(|ns| ns >= OPEN_NOTICE_NS);
    // Where send calls were not recorded, what was before the device is not known.
    let from = match t.starts.get("sendmsg").copied().unwrap_or(0) {
        n if n == t.acked => "their send call began".to_string(),
        0 => "their first event (their send calls were not seen)".to_string(),
        n => format!(
            "their first event (of {n} of all {} acknowledged: the send call)",
            t.acked
        ),
    };
    let sentence = format!(
        "Sent TCP segments were acknowledged p50 {}, p99 {}, max {} after {from} (n {}){said}{by}{}{}{weak}{open}.",
        or_dash(total.p50_ns),
        or_dash(total.p99_ns),
        or_dash(total.max_ns),
        total.n,
        slowest(t, connections),
        queue(t),
    );
    let causes = super::named::causes(t);
    let named = !causes.is_empty();
    let sentence = causes
        .into_iter()
        .chain(tiny(t))
        .fold(sentence, |all, more| format!("{all} {}.", capital(&more)));
    let late = stands_out(total, OUTLIER_NOTICE_NS) || longest(t).is_some();
    // Short times are no news because less is certain of them.
    let doubtful = !sure && total.max_ns >= Some(SENDER_NOTICE_NS);
    let notice = held || in_none || doubtful || stuck || blind || late || t.tiny.is_some() || named;
    let bad = t.black_hole.is_some() || super::windows::holds_up(t) || super::naps::most_of_it(t);
    let tone = match (bad, notice) {
        (true, _) => Tone::Bad,
        (false, true) => Tone::Notice,
        (false, false) => Tone::Ok,
    };
    (tone, sentence)
}
