//! What came of listening sockets that were closed, in words.

use super::sentences::{counted, duration, moment};
use crate::analyses::opens::{Opens, TakenOver, ToItself, Unheard};

/// Moments that are named.
const NAMED: usize = 4;

/// `32 connections to 198.51.100.2:80 were reset in 4 bursts, each within 31 ms after haproxy closed a listening socket there (at 2.163 s, ...) ...`
fn taken_over(t: &TakenOver) -> String {
    let what = match t.clients {
        0 => format!(
            "{} sent for connections to {}",
            counted(t.resets, "RST was", "RSTs were"),
            t.at
        ),
        n => format!(
            "{} to {} {} reset",
            counted(n, "connection", "connections"),
            t.at,
            if n == 1 { "was" } else { "were" }
        ),
    };
    let moments: Vec<String> = t.closed_ns.iter().take(NAMED).map(|ns| moment(*ns)).collect();
    let more = if t.times > NAMED as u64 { ", ..." } else { "" };
    let within = duration(t.within_ns);
    let by = if t.by.is_empty() { "a program" } else { &t.by };
    let closed = format!("{by} closed a listening socket there");
    let when = match t.times {
        1 => format!("within {within} after {closed} at {}", moments.join(", ")),
        n => format!(
            "in {n} bursts, each within {within} after {closed} (at {}{more})",
            moments.join(", ")
        ),
    };
    let other = match t.taken_by.is_empty() {
        true => "another one listened".to_owned(),
        false => format!("another one ({}) listened already", t.taken_by),
    };
    format!(
        "{what} {when} while {other}{}: with it went the handshakes and connections not accepted yet, as on a reload that does not hand its sockets over (net.ipv4.tcp_migrate_req = 1 moves them)",
        doubted(t.doubt),
    )
}

/// ` (inferred: events were lost meanwhile)`
fn doubted(doubt: Option<&str>) -> String {
    doubt.map_or_else(String::new, |why| format!(" (inferred: {why})"))
}

/// `agent/7 connected to itself at 6.580 s (127.0.0.1:40800 > 127.0.0.1:40800): ...`
fn to_itself(t: &ToItself) -> String {
    let more = match t.sockets {
        1 => String::new(),
        n => format!(", and {} later", counted(n - 1, "socket more", "sockets more")),
    };
    format!(
        "{} connected to itself at {}{more} ({at} > {at}): nothing listened there, and the kernel gave the socket that very port as its own; while it is open no server can listen at the port (EADDRINUSE), and others are refused (net.ipv4.ip_local_reserved_ports keeps a port out of ip_local_port_range)",
        if t.task.is_empty() { "a program" } else { &t.task },
        moment(t.since_ns),
        at = t.at,
    )
}

/// `, nobody listens there since 2.160 s, when ledgerd/7 closed its socket or ended`
pub(super) fn unheard(u: &Unheard) -> String {
    let by = if u.by.is_empty() { "a program" } else { &u.by };
    let since = moment(u.since_ns);
    let doubt = doubted(u.doubt);
    match u.until_ns {
        None => format!(", nobody listens there since {since}, when {by} closed its socket or ended{doubt}"),
        Some(ns) => format!(
            ", nobody listened there from {since}, when {by} closed its socket or ended, to {}{doubt}",
            moment(ns)
        ),
    }
}

pub(super) fn causes(o: &Opens) -> Vec<String> {
    let own = o.to_itself.as_ref().map(to_itself);
    own.into_iter().chain(o.taken_over.as_ref().map(taken_over)).collect()
}
