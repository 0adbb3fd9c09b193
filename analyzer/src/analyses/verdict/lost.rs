//! What the line on UDP says of questions that were dropped on their way. No pause in it: the head of the page has all of it.

use super::sentences::{counted, duration};
use crate::analyses::datagrams::{Datagrams, Lost};
use crate::analyses::drops::Drops;

/// `168 of 951 datagrams that 2 threads of wlc-aaa sent to 172.20.50.18:1812 had no answer, ...`
pub(super) fn what(l: &Lost) -> String {
    let threads = match l.threads {
        1 => String::new(),
        n => format!("{n} threads "),
    };
    let bytes = match l.bytes {
        (_, 0) => String::new(),
        (least, most) if least == most => format!(" ({least} bytes)"),
        (least, most) => format!(" ({least} to {most} bytes)"),
    };
    let again = l.again.map_or_else(String::new, |(n, ns)| {
        let times = match l.times {
            0..=2 => String::new(),
            n => format!(", up to {n} times in all"),
        };
        format!(
            ", and {n} of them were asked again after p50 {}{times} (inferred by their sizes)",
            duration(ns)
        )
    });
    format!(
        "{} of {} that {threads}{} sent to {} had no answer, as this host dropped packets of theirs{bytes}{again}",
        l.sends,
        counted(l.of, "datagram", "datagrams"),
        l.task,
        l.to
    )
}

/// Some were missed, more than one.
pub(super) fn wrong(l: &Lost) -> bool {
    l.sends > 1 && l.again.is_some()
}

/// Nothing else is said of UDP first, and the line on drops names what dropped them.
pub(super) fn follow(u: &Datagrams, d: &Drops) -> bool {
    let other = u.in_vain.is_empty() && u.silent.is_empty() && u.alone.is_empty();
    !u.lost.is_empty() && other && d.groups.iter().flat_map(|g| &g.of).any(|l| l.carries == "datagram")
}
