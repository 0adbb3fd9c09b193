//! What the kernel counted and no event tells: connections that a listener turned away.

use super::Tone;
use crate::analyses::counters::{Counters, Rise};

/// Counters of connections that never were; the first that rose says why best.
const TURNED_AWAY: [&str; 3] = ["TcpExtListenOverflows", "TcpExtTCPReqQFullDrop", "TcpExtListenDrops"];

fn most(counters: Option<&Counters>) -> Option<&Rise> {
    let rises = &counters?.rises;
    TURNED_AWAY
        .iter()
        .find_map(|name| rises.iter().find(|r| r.name == *name))
}

/// Adds them to the line on drops.
pub(super) fn with_the_counted((tone, sentence): (Tone, String), counters: Option<&Counters>) -> (Tone, String) {
    match most(counters) {
        None => (tone, sentence),
        Some(r) => {
            let sentence = sentence.replacen(
                "No packet was dropped in this host",
                "No event tells of a lost packet",
                1,
            );
            let s = format!("{sentence} {} rose by {}: {}.", r.name, r.rise, r.says);
            (Tone::Bad, s)
        }
    }
}

/// The same for the head of the page.
pub(super) fn headline(counters: Option<&Counters>) -> Option<String> {
    most(counters).map(|r| format!("{} {}", r.rise, super::sentences::first_words(r.says)))
}
