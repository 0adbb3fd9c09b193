//! What windows held: no window scaling, a window that is small, one that is read otherwise than it was written.

use super::sent::size;
use super::sentences::{counted, duration, rate};
use crate::analyses::transmit::{OneSided, Reader, Rescaled, Sender, Transmit};

/// Fewest probes that say what window a connection had, and the shortest way on which its size is news, ns.
const PROBES: u64 = 20;
const FAR_NS: i64 = 1_000_000;
/// Share of the time that a window must hold a connection, and be filled; and of its most that it must have nearly always.
const MOSTLY: f64 = 0.5;
const FULL: f64 = 0.8;
const NEARLY: f64 = 0.9;
/// So many times the window that came must the reader's own socket have offered, or must its receive buffer be, to say that this is not what is
/// small: a window is half of the buffer or, of small segments, a quarter.
const SMALLER: i64 = 2;
const LARGE: i64 = 5;

/// `65535` as `65,535`.
pub(super) fn grouped(n: u32) -> String {
    match n {
        0..=999 => n.to_string(),
        _ => format!("{},{:03}", grouped(n / 1000), n % 1000),
    }
}

pub(super) fn unscaled(s: &Sender) -> Option<String> {
    let u = s.unscaled.as_ref()?;
    let reached = s
        .mbit_per_s
        .map_or_else(String::new, |r| format!(" (it reached {})", rate(r)));
    let offered = u.offered.map_or_else(String::new, |o| {
        format!("; the other end's socket would take {}", grouped(o))
    });
    Some(format!(
        "{} was opened without window scaling: at most 65,535 bytes in flight, with {} to the ACK {} at most{reached}{offered}",
        s.label,
        duration(u.rtt_ns),
        rate(u.most_mbit_per_s()),
    ))
}

/// Held by the size of a window that is at its most nearly always: who reads slowly lets it shrink.
pub(super) fn window(t: &Transmit) -> Option<String> {
    let s = t
        .most_held()
        .filter(|s| s.held_by == Some("rwnd") && s.unscaled.is_none() && !s.reader.is_some_and(|r| r.misread))?;
    let (by, share) = s.limiters.first()?;
    let f = s.flight.filter(|f| f.n >= PROBES && f.snd_wnd > 0)?;
    let full = f.bytes as f64 >= FULL * f.snd_wnd as f64;
    // Who reads late leaves it shut while nothing is in flight.
    let open = (f.shrunk as f64) <= (1.0 - NEARLY) * f.n as f64;
    let at_most = open && f.snd_wnd as f64 >= NEARLY * f.max_wnd as f64;
    // A window a round trip.
    let rate_of = s.mbit_per_s.filter(|r| *r > 0.0)?;
    let turn = (f.bytes as f64 * 8_000.0 / rate_of) as i64;
    let turn = Some(turn).filter(|ns| *ns >= FAR_NS)?;
    (*by == "rwnd" && *share >= MOSTLY && full && at_most).then(|| {
        let why = why_small(f.max_wnd, s.reader);
        format!(
            "{} was held {:.0} % of the time it was busy by the size of its peer's receive window: {} in flight of {}, once every {}: {}; {why}",
            s.label,
            share * 100.0,
            size(f.bytes),
            size(f.snd_wnd),
            duration(turn),
            rate(rate_of)
        )
    })
}

/// Why a window that stayed at its most, so many bytes, is small: by the reader's own socket, where that is in the recording.
fn why_small(max_wnd: i64, reader: Option<Reader>) -> String {
    let offered = reader.and_then(|r| r.offered).map(i64::from);
    let rcvbuf = reader.and_then(|r| r.rcvbuf).map(i64::from);
    if let Some(offered) = offered.filter(|o| *o >= max_wnd.saturating_mul(SMALLER)) {
        return format!(
            "its reader's own socket offered {}, so something between them made that window small (it rewrites windows, or their scale in SYNs; inferred)",
            size(offered)
        );
    }
    match rcvbuf.filter(|b| *b >= max_wnd.saturating_mul(LARGE)) {
        Some(b) => format!(
            "that window stayed at its most, so its reader keeps up, and its socket's receive buffer of {} is not what is small (a clamp of the window, or segments that take far more memory than their payload; inferred)",
            size(b)
        ),
        None => "that window stayed at its most, so its reader keeps up and the receive buffer is small (SO_RCVBUF, net.ipv4.tcp_rmem)".into(),
    }
}

/// `10.0.0.1 and 10.0.0.2`, of many the first ones.
fn listed(of: &[String]) -> String {
    match of {
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        [first, second, rest @ ..] => format!("{first}, {second} and {} more", rest.len()),
        [] => String::new(),
    }
}

/// `10.0.0.1:80 reads the receive windows of 10.0.1.2 128 times too small ...`
fn rescaled(r: &Rescaled) -> String {
    let (how, syn) = (
        if r.smaller() { "small" } else { "large" },
        if r.serves { "SYN" } else { "SYN-ACK" },
    );
    let bits = |of: Option<u8>| of.map_or("no window scale".to_owned(), |bits| format!("a window scale of {bits}"));
    let theirs = if r.peers.len() == 1 {
        "its socket uses"
    } else {
        "their sockets use"
    };
    let of = match r.connections == r.of {
        true => format!("each of {}", counted(r.of, "connection", "connections")),
        false => format!("{} of {} connections", r.connections, r.of),
    };
    let held = match &r.held {
        Some(h) => {
            let rate = h.mbit_per_s.map_or_else(String::new, |m| format!(", at {}", rate(m)));
            let others = match h.connections {
                0 | 1 => String::new(),
                n => format!(" (and {} more held so)", n - 1),
            };
            let flight = h.in_flight;
            let flight = flight.map_or_else(String::new, |b| format!(", with {} in flight", size(b)));
            format!(
                "; {} was held {:.0} % of the time it was busy by that{flight}{rate}{others}",
                h.label,
                h.share * 100.0
            )
        }
        None if r.smaller() => ", by which none of those that sent most was held up for long".into(),
        None => "; what is sent beyond the window is dropped there when its reader is slow (inferred)".into(),
    };
    format!(
        "{} reads the receive windows of {} {} times too {how}: the {syn} that reached it had {}, {theirs} {} ({of} whose two ends are in lists of sockets), so something between them changes or strips that option of the {syn} (a firewall, a load balancer, a WAN optimiser){held}",
        r.at,
        listed(&r.peers),
        r.times(),
        bits(r.heard),
        bits(r.used),
    )
}

fn one_sided(o: &OneSided) -> String {
    format!(
        "{} uses {}, and the other end of the connection does not ({}): something between them strips that option of a SYN or SYN-ACK",
        o.label,
        o.option,
        counted(o.connections, "connection", "connections")
    )
}

/// What both ends do not believe alike: of windows that were read too small, and too large, the first of each; of each option.
pub(super) fn disagreed(t: &Transmit) -> Vec<String> {
    let of = |smaller| t.disagreed.windows.iter().find(|r| r.smaller() == smaller);
    let windows = of(true).into_iter().chain(of(false)).map(rescaled);
    windows.chain(t.disagreed.options.iter().map(one_sided)).collect()
}

/// Windows that are read too small hold users up.
pub(super) fn holds_up(t: &Transmit) -> bool {
    t.disagreed.windows.iter().any(|r| r.held.is_some())
}
