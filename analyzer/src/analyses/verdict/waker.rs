//! What is said of who woke a thread, and had itself to wait.

use std::fmt::Write as _;

use crate::analyses::application::{Part, Slow, WakerHeld, WakerRead};
use crate::reconstruct::thread::{STOPPED, TRACED, UNINTERRUPTIBLE, UNRECORDED};

/// What a reader did in a call.
fn slept(call: &str) -> String {
    match call {
        UNRECORDED => "slept in no recorded syscall".into(),
        UNINTERRUPTIBLE => "was in uninterruptible sleep (state D)".into(),
        STOPPED => "was stopped by a signal (SIGSTOP)".into(),
        TRACED => "was stopped by its tracer".into(),
        call => format!("slept in {call}"),
    }
}

/// `, whose reader in:imtcp/7 slept in sendto, as its process could not send to 10.0.0.3:601 (the peer's receive window, 99 % of that time; inferred), whose reader ...`
fn reader(h: &WakerHeld) -> String {
    let mut out = String::new();
    let mut at = Some(h);
    while let Some((h, (who, call))) = at.and_then(|h| Some((h, h.reader.as_ref()?))) {
        let _ = write!(out, ", whose reader {who} {}", slept(call));
        at = h.next.as_deref();
        if let Some(n) = at {
            let ((did, why), share) = (held(n), n.share * 100.0);
            let _ = write!(
                out,
                ", as its process {did} to {} ({why}, {share:.0} % of that time; inferred)",
                n.to
            );
        }
    }
    out
}

/// What could not be done, and why.
fn held(h: &WakerHeld) -> (&'static str, &'static str) {
    match h.by {
        "rwnd" => ("could not send", "the peer's receive window"),
        "recovery" => ("waited for what it had sent", "lost, until retransmitted"),
        _ => ("could not send", "its send buffer was full"),
    }
}

fn words(h: &WakerHeld) -> String {
    let share = format!("{:.0} % of that time", h.share * 100.0);
    let (did, why) = held(h);
    format!(
        ", whose process itself {did} to {} meanwhile ({why}, {share}; that it waited for this is inferred){}",
        h.to,
        reader(h)
    )
}

/// `, which had read what came from 10.0.0.3:40000 of postgres/7 right before, before 5 of the 6 that it woke: ...`
fn read(r: &WakerRead) -> String {
    let by = match r.by.as_str() {
        "" => String::new(),
        by => format!(" of {by}"),
    };
    let of = match r.n == r.of {
        true => String::new(),
        false => format!(", before {} of the {} that it woke", r.n, r.of),
    };
    format!(
        ", which had read what came from {}{by} right before{of}: they waited until that came, most likely (inferred)",
        r.from
    )
}

/// Behind what a server's threads did: who woke them, where that one was held.
pub(super) fn woken_by_who_was_held(p: &Part) -> String {
    match p.waker_held.is_some() || p.waker_read.is_some() {
        true => woken(p),
        false => String::new(),
    }
}

/// Who woke it, and what held that one.
pub(super) fn woken(p: &Part) -> String {
    let held = p.waker_held.as_ref().map_or_else(String::new, words);
    let in_state_d = p.waker_in_state_d.map_or_else(String::new, |share| {
        format!(
            ", who themselves slept in state D (a disk, most likely), one behind the other, in {:.0} % of that time (that they hold the lock is inferred)",
            share * 100.0
        )
    });
    let read = p.waker_read.as_ref().map_or_else(String::new, read);
    format!("{}{held}{read}{in_state_d}", p.woken())
}

/// Whether it is known of these answers whose process could not send: of their own threads, or of those behind them.
pub(super) fn names_a_hold(slow: &Slow) -> bool {
    let first = slow.waited.as_ref();
    let behind = std::iter::successors(first, |w| w.next.as_deref()).filter_map(|w| w.there.as_ref());
    let mut parts = slow.parts.iter().take(1).chain(behind.map(|t| &t.1));
    parts.any(|p| p.waker_held.is_some())
}
