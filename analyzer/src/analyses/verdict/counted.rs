//! What the kernel counted and no event tells: connections that a listener turned away.

use super::{Line, Tone};
use crate::analyses::counters::{Counters, Rise};
use crate::snapshots::refusing::Refusing;

/// Counters of connections that never were; the first that rose says why best.
const TURNED_AWAY: [&str; 3] = ["TcpExtListenOverflows", "TcpExtTCPReqQFullDrop", "TcpExtListenDrops"];

/// Listening sockets that are named.
const TOLD: usize = 2;

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
                "No packet was dropped by this host",
                "No event tells of a lost packet",
                1,
            );
            let counted = format!("{} rose by {}: {}.", r.name, r.rise, says(r, counters));
            // What is well stands behind what is not.
            let said = match tone {
                Tone::Bad => format!("{sentence} {counted}"),
                _ => format!("{counted} {sentence}"),
            };
            (Tone::Bad, said)
        }
    }
}

/// Counter of segments behind a hole.
const BEHIND_A_HOLE: &str = "TcpExtTCPOFOQueue";
/// One in so many received is worth a look, as of those that events tell (docs/reconstruction/receive.md).
const FEW_HOLES: u64 = 200;
/// And no fewer than these.
const HOLES: u64 = 100;

/// The line on received packets where their way was not recorded, and the kernel counted what came behind a missing segment.
pub(super) fn holes(line: Line, counters: Option<&Counters>) -> Line {
    let rises = counters.map_or(&[][..], |c| &c.rises);
    let of = counters.and_then(|c| c.tcp_segments).unwrap_or(u64::MAX);
    let many = |r: &Rise| r.rise >= HOLES && r.rise.saturating_mul(FEW_HOLES) >= of;
    let rise = rises.iter().find(|r| r.name == BEHIND_A_HOLE && many(r));
    let Some(r) = rise.filter(|_| line.tone == Tone::Unknown) else {
        return line;
    };
    let said = format!("{} of {of} {} ({}, counted by the kernel)", r.rise, r.says, r.name);
    Line {
        tone: Tone::Notice,
        sentence: format!("{said}. {}", line.sentence),
        headline: said,
        ..line
    }
}

/// The same for the head of the page.
pub(super) fn headline(counters: Option<&Counters>) -> Option<String> {
    most(counters).map(|r| format!("{} {}", r.rise, super::sentences::first_words(&says(r, counters))))
}

/// With where that was: `... every try of a connection (679 at [::]:8080 of java/18280, whose queue holds 50): the listener accepts too slowly, ...`
fn says(r: &Rise, counters: Option<&Counters>) -> String {
    let of = counters.map_or(&[][..], |c| &c.refusing);
    let one = |r: &Refusing| {
        let whose = match r.task.as_str() {
            "" => String::new(),
            task => format!(" of {task}"),
        };
        let holds = r.limit.map_or_else(String::new, |n| format!(", whose queue holds {n}"));
        let alone = match alone(r) {
            true => among(r),
            false => String::new(),
        };
        format!("{} at {}{whose}{holds}{alone}", r.drops, r.local)
    };
    let told: Vec<String> = of.iter().take(TOLD).map(one).collect();
    let more = match of.len().saturating_sub(TOLD) {
        0 => String::new(),
        n => format!(
            " and {}",
            super::sentences::counted(n as u64, "socket more", "sockets more")
        ),
    };
    if told.is_empty() {
        return r.says.to_owned();
    }
    let end = r.says.find([':', ';']).unwrap_or(r.says.len());
    let (what, why) = r.says.split_at(end);
    let why = match of.iter().take(TOLD).all(alone) {
        true => ": what it serves is held up, not all of that port",
        false => why,
    };
    format!("{what} ({}{more}){why}", told.join(", "))
}

/// Whether most of the listening sockets of its address had room.
fn alone(r: &Refusing) -> bool {
    r.group.1.saturating_mul(2) <= r.group.0 && r.group.0 > 1
}

/// `, one of 8 listening sockets there, whose others dropped none; it held 9 at the end, and its process read nothing after 2.406 s, while the others did`
fn among(r: &Refusing) -> String {
    let (all, dropping) = r.group;
    let others = match dropping {
        1 => "the others dropped none".to_owned(),
        n => format!("{} of which dropped none", all - n),
    };
    let held = r.queued.filter(|n| *n > 0);
    let held = held.map_or_else(String::new, |n| format!("; it held {n} at the end"));
    let read = r.read_last_ns.map_or_else(String::new, |at| {
        format!(
            "; its process read nothing after {}, while processes of the others did",
            super::sentences::moment(at)
        )
    });
    format!(", one of {all} listening sockets there (SO_REUSEPORT), {others}{held}{read}")
}
