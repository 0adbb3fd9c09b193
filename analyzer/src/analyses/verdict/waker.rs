//! What is said of who woke a thread, and had itself to wait.

use crate::analyses::application::{Part, WakerHeld};
use crate::reconstruct::thread::{STOPPED, TRACED, UNINTERRUPTIBLE, UNRECORDED};

/// What a reader did in a call.
fn slept(call: &str) -> String {
    match call {
        UNRECORDED => "slept in no recorded system call".into(),
        UNINTERRUPTIBLE => "was in uninterruptible sleep (state D)".into(),
        STOPPED => "was stopped by a signal (SIGSTOP)".into(),
        TRACED => "was stopped by its tracer".into(),
        call => format!("slept in {call}"),
    }
}

fn words(h: &WakerHeld) -> String {
    let share = format!("{:.0} % of that time", h.share * 100.0);
    let reader = h.reader.as_ref();
    let reader = reader.map_or_else(String::new, |(who, call)| format!("; its reader {who} {}", slept(call)));
    let (did, why) = match h.by {
        "rwnd" => ("could not send", "the peer's receive window"),
        "recovery" => ("waited for what it had sent", "lost, until it was sent again"),
        _ => ("could not send", "its send buffer was full"),
    };
    format!(
        ", whose process itself {did} to {} meanwhile ({why}, {share}{reader}; that it waited for this is inferred)",
        h.to
    )
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
    format!("{}{held}{in_state_d}", p.woken())
}
