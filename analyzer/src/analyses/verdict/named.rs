//! Causes that have a name: a connection without window scaling, slow start after idle, small segments. Each with its figures.

use super::sent::size;
use super::sentences::{counted, duration, moment, or_dash, rate, times};
use super::vanished::vanished;
use super::windows::{disagreed, grouped, unscaled, window};
use crate::analyses::transmit::{Blocked, Class, DeviceQueue, Sender, Transmit};

/// Classes of a queue said one by one.
const CLASSES: usize = 4;
/// A receiver for which others wait.
fn blocked(b: &Blocked) -> String {
    let slept = match b.times {
        1 => format!("for {}", duration(b.longest_ns)),
        n => format!(
            "{n} times, {} in all, {} at most,",
            duration(b.sum_ns),
            duration(b.longest_ns)
        ),
    };
    let window = if b.window {
        ", whose peer's receive window was full"
    } else {
        ""
    };
    format!(
        "{} slept {slept} in sends on {}{window}, first at {:.3} s, and sent nothing meanwhile on {} others that it serves",
        b.task,
        b.label,
        b.first_ns as f64 / 1e9,
        b.others
    )
}

fn restarts(s: &Sender) -> Option<String> {
    let r = s.restarts.as_ref().filter(|r| r.matter())?;
    Some(format!(
        "{} starts slowly after idle (net.ipv4.tcp_slow_start_after_idle): in {} of {} pauses of {} or more its congestion window fell, without loss, from {} to {} segments, and what it sent then waited {} in all for it to grow again",
        s.label,
        r.restarts,
        r.pauses,
        duration(r.shortest_ns),
        r.before,
        r.after,
        duration(r.wait_ns),
    ))
}

fn small(s: &Sender) -> Option<String> {
    let m = s.small.as_ref()?;
    let mtu = match m.dev.as_str() {
        "" => format!("the path's MTU of {}", grouped(m.mtu)),
        dev => format!("the MTU of {dev}, {},", grouped(m.mtu)),
    };
    Some(format!(
        "{} sends segments of {} bytes where {mtu} allows {}: its MSS was clamped by the peer, on the way or by a limit of its own; {:.0} % of each full frame is headers instead of {:.1} %",
        s.label,
        grouped(m.mss),
        grouped(m.allowed),
        m.headers_of(m.mss) * 100.0,
        m.headers_of(m.allowed) * 100.0,
    ))
}

fn initial(t: &Transmit) -> Option<String> {
    let i = t.initial.as_ref()?;
    let which = match (i.connections, i.of) {
        (1, 1) => "the connection".to_owned(),
        (n, of) if n == of => format!("each of {n} connections"),
        (n, of) => format!("{n} of {of} connections"),
    };
    let of = if i.accepted { "of " } else { "" };
    let route = i
        .route
        .as_ref()
        .map_or_else(String::new, |to| format!("; the route {to} has initcwnd {}", i.cwnd));
    let segments = |n: u32| counted(n.into(), "segment", "segments");
    let cost = i.rounds.filter(|r| r.took > r.usual).map_or_else(String::new, |r| {
        format!(
            ": {} took {} flights, each a round trip after the other, where {} from 10 segments on, doubled each time",
            segments(r.segments),
            r.took,
            match r.usual {
                1 => "1 does".into(),
                n => format!("{n} do"),
            }
        )
    });
    Some(format!(
        "{which} {of}{} began with a congestion window of {} (Linux begins with 10{route}){cost}",
        i.label,
        segments(i.cwnd),
    ))
}

fn clamped(t: &Transmit) -> Option<String> {
    let c = t.clamped.as_ref()?;
    let (whose, they, them) = match c.connections {
        1 => ("the connection".to_owned(), "it sent", "it"),
        n => (format!("{n} connections"), "they sent", "them"),
    };
    let route = c.route.as_ref().map_or_else(
        || "a route's metric (cwnd with lock) or a program of BPF clamps it, or its congestion control holds it there by delay, as vegas does (inferred)".to_owned(),
        |to| format!("the route {to} has cwnd {}", c.cwnd),
    );
    let others = c.others.map_or_else(String::new, |n| {
        format!("; other connections of that address had up to {n}")
    });
    Some(format!(
        "the congestion window of {whose} of {} to {} stood at {}, full for most of the time in which {they}, though nothing was lost, so that it holds {them} to that much a round trip: {route}{others}",
        c.from,
        c.to,
        counted(c.cwnd.into(), "segment", "segments"),
    ))
}

fn marked(s: &Sender) -> Option<String> {
    let m = s.marked.as_ref()?;
    let came = m.came.map(|n| {
        format!(
            "{} that came to the namespaces recorded had ECN's CE mark (IpExtInCEPkts)",
            counted(n, "packet", "packets")
        )
    });
    let acked = m.delivered_ce.map(|n| {
        format!(
            "the ACKs of {} told of ECN's CE mark (delivered_ce)",
            counted(n.into(), "segment", "segments")
        )
    });
    let told: Vec<String> = came.into_iter().chain(acked).collect();
    let left = s
        .flight
        .map_or_else(String::new, |f| format!(" (median {} segments)", f.snd_cwnd));
    let inferred = if m.inferred { " (inferred: it fell)" } else { "" };
    Some(format!(
        "the congestion window of {}{left} was reduced {} without loss{inferred}: {}, set on the way where something marks packets instead of dropping them",
        s.label,
        times(m.reductions),
        told.join(", "),
    ))
}

fn backoff(s: &Sender) -> Option<String> {
    let b = s.backoff.as_ref()?;
    let before = match b.dropped_until_ns {
        Some(ns) => format!(
            "what it sent was dropped by this host for {}, then it sent nothing for {}",
            duration(ns),
            duration(b.silent_ns)
        ),
        None => format!(
            "what it sent had no answer, and at last it sent nothing for {}",
            duration(b.silent_ns)
        ),
    };
    let doubled = times(b.timeouts.saturating_sub(1));
    Some(format!(
        "{} stalled for {}: {before}, until its retransmission timer, backed off {doubled}, fired and that retransmission was acknowledged",
        s.label,
        duration(b.end_ns.saturating_sub(b.start_ns)),
    ))
}

fn paced(s: &Sender) -> Option<String> {
    let p = s.paced.as_ref()?;
    let allowed = p.allowed_mbit_per_s.map(rate);
    let why = match &allowed {
        Some(allowed) => format!("its program allows {allowed} (SO_MAX_PACING_RATE)"),
        None => "as a rate that a program sets does (SO_MAX_PACING_RATE; inferred)".into(),
    };
    let unused = s.flight.as_ref().map_or_else(String::new, |f| {
        format!(", with {} in flight and {} segments allowed", size(f.bytes), f.snd_cwnd)
    });
    Some(format!(
        "{} was paced at an even {}, nine of ten gaps between its segments alike within {:.1} %{unused}: {why}",
        s.label,
        rate(p.mbit_per_s),
        (p.spread * 100.0).max(0.1)
    ))
}

/// ` (feedd)`, where it is known.
fn of(task: &str) -> String {
    match task {
        "" => String::new(),
        _ => format!(" ({task})"),
    }
}

/// How many of them may be another call's bytes.
fn unsure(n: u64) -> String {
    match n {
        0 => String::new(),
        n => format!(" (of {n} it is less certain whose bytes they are)"),
    }
}

/// `24 small messages of 10.0.0.1:9100 > 10.0.0.2:40000 (feedd) lay p50 240.00 ms, max 390.00 ms in their own socket behind 4 large ones ...`
fn own_line(t: &Transmit) -> Option<String> {
    let o = t.own_line.as_ref()?;
    Some(format!(
        "{} small messages of {}{} lay p50 {}, max {}{}, in their own socket behind {} that had been written to the same connection before ({} p50, which took {} to leave): head-of-line blocking in the send buffer, not in any queue of a device",
        o.wait.n,
        o.label,
        of(&o.task),
        or_dash(o.wait.p50_ns),
        or_dash(o.wait.max_ns),
        unsure(o.unsure),
        counted(o.large, "large one", "large ones"),
        size(o.large_bytes),
        duration(o.large_ns),
    ))
}

/// `174 segments of 10.0.0.1:8081 (statementd) lay p50 205.90 ms in their own socket with nothing in flight ...`
fn corked(t: &Transmit) -> Option<String> {
    let c = t.corked.as_ref()?;
    Some(format!(
        "{} of {} segments of {}{} lay p50 {}, max {}, in their own socket{} with nothing in flight and no window full, until the kernel's timer of 200 ms sent them: TCP_CORK or MSG_MORE, not cleared when an answer is complete (inferred); none of that time is the network's or the peer's",
        c.wait.n,
        c.of,
        c.by,
        of(&c.task),
        or_dash(c.wait.p50_ns),
        or_dash(c.wait.max_ns),
        unsure(c.unsure),
    ))
}

fn late_acks(t: &Transmit) -> Option<String> {
    let a = t.late_acks.as_ref()?;
    let kind = match a.qdisc.as_str() {
        "" => String::new(),
        kind => format!(" ({kind})"),
    };
    let filled = a.filled_by.as_ref().map_or_else(String::new, |(who, share)| {
        format!(
            ", behind {who} ({:.0} % of the bytes that left it meanwhile)",
            share * 100.0
        )
    });
    let data = a.data_wait_ns.map_or_else(String::new, |ns| {
        format!(", while its data waited p50 {}", duration(ns))
    });
    let rates = a.mbit_per_s.map_or_else(String::new, |(before, meanwhile)| {
        format!(": it sent {} before and {} meanwhile", rate(before), rate(meanwhile))
    });
    Some(format!(
        "the ACKs for {} waited in the queue of {}{kind} from {} to {}, p50 {}, max {} (n {}){filled}{data}{rates}",
        a.data,
        a.dev,
        moment(a.within_ns.0),
        moment(a.within_ns.1),
        or_dash(a.wait.p50_ns),
        or_dash(a.wait.max_ns),
        a.wait.n,
    ))
}

/// `1:20 (rate 16 kbit/s, ceil 8.0 Mbit/s)`.
fn class(c: &Class) -> String {
    let bits = |name, bits: Option<u64>| bits.map(|b| format!("{name} {}", rate(b as f64 / 1e6)));
    let said: Vec<String> = bits("rate", c.rate_bit_s)
        .into_iter()
        .chain(bits("ceil", c.ceil_bit_s))
        .collect();
    match said.is_empty() {
        true => c.class.clone(),
        false => format!("{} ({})", c.class, said.join(", ")),
    }
}

fn starved(t: &Transmit) -> Option<String> {
    let (q, s) = t.queues.iter().find_map(|q| Some((q, q.starved.as_ref()?)))?;
    let of = |number: &str| q.classes.iter().find(|c| c.class == number).map(class);
    let others = match s.others.as_deref().and_then(of) {
        Some(other) => format!("class {other}"),
        None => "the others".into(),
    };
    Some(format!(
        "{} waited in class {} of {} ({}), held to that rate, p50 {}, max {} (n {}, from {} to {}), while {others} sent {}",
        s.label,
        of(&s.class)?,
        q.dev,
        q.qdisc,
        or_dash(s.wait.p50_ns),
        or_dash(s.wait.max_ns),
        s.wait.n,
        moment(s.within_ns.0),
        moment(s.within_ns.1),
        rate(s.others_bit_s / 1e6),
    ))
}

/// The classes of a queue in which nobody is known to have been starved, and what they sent.
pub(super) fn classes(q: &DeviceQueue) -> String {
    let most: Vec<String> = q
        .classes
        .iter()
        .filter(|_| q.starved.is_none())
        .take(CLASSES)
        .map(|c| format!("{} sent {}", class(c), size(i64::try_from(c.bytes).unwrap_or(i64::MAX))))
        .collect();
    let more = match q.classes.len().saturating_sub(CLASSES) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    match most.is_empty() {
        true => String::new(),
        false => format!(", of its classes {}{more}", most.join(", ")),
    }
}

/// One sentence of each, without its point: of the connection with most bytes, or most waiting.
pub(in crate::analyses) fn causes(t: &Transmit) -> Vec<String> {
    let most = |has: &dyn Fn(&Sender) -> Option<i64>| {
        let of = t.connections.iter().filter_map(|s| Some((has(s)?, s)));
        of.max_by_key(|(n, s)| (*n, std::cmp::Reverse(s.connection)))
            .map(|x| x.1)
    };
    let bytes = |s: &Sender| i64::try_from(s.bytes).unwrap_or(i64::MAX);
    let of_window = most(&|s| s.unscaled.as_ref().map(|_| bytes(s)))
        .and_then(unscaled)
        .or_else(|| window(t));
    let of_window = disagreed(t).into_iter().chain(of_window);
    let of_idle = most(&|s| s.restarts.filter(|r| r.matter()).map(|r| r.wait_ns)).and_then(restarts);
    let of_size = most(&|s| s.small.as_ref().map(|_| bytes(s))).and_then(small);
    let of_marks = most(&|s| s.marked.map(|_| bytes(s))).and_then(marked);
    let of_timer = most(&|s| s.backoff.map(|b| b.end_ns.saturating_sub(b.start_ns))).and_then(backoff);
    let of_rate = most(&|s| s.paced.map(|_| bytes(s))).and_then(paced);
    let of_tunnel = super::inside_tcp::inside_tcp(t);
    let of_queues = of_tunnel.into_iter().chain(t.blocked.as_ref().map(blocked));
    let of_queues = t.naps.as_ref().map(super::naps::naps).into_iter().chain(of_queues);
    let of_queues = of_queues
        .chain(corked(t))
        .chain(own_line(t))
        .chain(starved(t))
        .chain(late_acks(t));
    let of_path = t.black_hole.as_ref();
    // Of the same device it says more.
    let vanished = t
        .vanished
        .as_ref()
        .filter(|v| of_path.is_none_or(|b| b.dev != v.dev))
        .map(vanished);
    let of_path = of_path.map(super::black_hole::black_hole);
    let of_queues = of_path.into_iter().chain(of_queues);
    of_queues
        .chain(of_window)
        .chain(clamped(t))
        .chain(of_idle)
        .chain(of_size)
        .chain(initial(t))
        .chain(vanished)
        .chain(of_marks)
        .chain(of_timer)
        .chain(of_rate)
        .collect()
}
