//! What was changed on the host while it was recorded, as the kernel announced it: links, addresses, routes, rules, qdiscs, nftables' rules, settings.
//!
//! In: the lists of the start, and `notices` of the readings (docs/bundle.md, "Seconds"). Out: rows of the view `changes`, in order of time. It must not say that a
//! change is why something happened, nor tell as a change what was so before. What the kernel announces of itself because something else changed (routes of the kernel's
//! own, link-local addresses, what is as it was) is left out.
//!
//! ```text
//! snapshots/*/start -> State;  notices in order -> State.take -> what it was before -> sentence -> ChangeRow
//! ```

use netmortem_formats::Capture;
use netmortem_formats::bundle::{NOTICES, seconds};

mod links;
mod qdiscs;
mod routes;
mod state;
mod sysctls;
pub mod tables;
#[cfg(test)]
mod tests;

use crate::ingest::TraceClock;
use crate::reconstruct::comms::Comms;
use crate::snapshots::{field, number};
use state::State;
use tables::ChangeRow;

/// No more rows than these: a router whose routes come and go has any number.
const MOST: usize = 20_000;
/// And no more readings and bytes than any recorder writes.
const MOST_READINGS: usize = 50_000;
const MOST_BYTES: usize = 256 << 20;
const MOST_LINES: usize = 1_000_000;

/// What was announced.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Announced {
    /// View `changes`.
    pub rows: Vec<ChangeRow>,
    /// A recorder listened: none is none.
    pub heard: bool,
    /// Times that something was announced and lost, or left out.
    pub lost: u64,
}

/// When the lists of the start of a flight were read, after its trigger, on the trace clock.
fn read_late(capture: &Capture, clock: &TraceClock) -> Option<i64> {
    let pair = capture.manifest.as_ref()?.pointer("/flight/start_snapshots")?;
    clock.of_pair(&serde_json::from_value(pair.clone()).ok()?)
}

/// Of one recording; of several that were joined nothing, as the lists of the start are the first one's.
pub(crate) fn of_one(capture: &Capture, one: bool, comms: &Comms) -> Announced {
    let ran = |pid: u32, at: i64| {
        let name = comms.at(i32::try_from(pid).ok()?, at);
        (!name.is_empty()).then(|| name.text().into_owned())
    };
    // Elsewhere the number may be of another pid namespace.
    match one {
        true => of(capture, &ran),
        false => Announced::default(),
    }
}

/// Reads them. `ran` names a process at a time.
pub fn of(capture: &Capture, ran: &dyn Fn(u32, i64) -> Option<String>) -> Announced {
    let mut out = Announced::default();
    let clock = TraceClock::of(capture);
    let mut lines: Vec<(i64, String)> = vec![];
    let mut bytes = 0usize;
    for second in seconds(capture).take(MOST_READINGS).flatten() {
        let Some((_, text)) = second.texts.iter().find(|(what, _)| what == NOTICES) else {
            continue;
        };
        bytes = bytes.saturating_add(text.len());
        let Some(at) = clock.of_pair(&second.clock).filter(|_| bytes <= MOST_BYTES) else {
            out.lost += 1;
            continue;
        };
        let ahead = at.saturating_sub(second.clock.monotonic_ns);
        for line in String::from_utf8_lossy(text).lines() {
            if lines.len() >= MOST_LINES {
                out.lost += 1;
                break;
            }
            if let Some(at) = field(line, "at").and_then(|a| a.parse::<i64>().ok()) {
                lines.push((at.saturating_add(ahead), line.to_owned()));
            }
        }
    }
    if lines.is_empty() {
        return out;
    }
    out.heard = true;
    lines.sort_by_key(|(at, _)| *at);
    // A slice has what was announced before it, for what was so then.
    let time = capture
        .manifest
        .as_ref()
        .and_then(|m| m.pointer("/slice/time").cloned());
    let time: Option<[u64; 2]> = time.and_then(|t| serde_json::from_value(t).ok());
    let [from, to] = time
        .unwrap_or([0, u64::MAX])
        .map(|t| i64::try_from(t).unwrap_or(i64::MAX));
    let mut state = State::of(capture);
    // What was so before a change that is older than the lists is not known.
    let mut unknown = read_late(capture, &clock).map(|at| (at, State::unknown(capture)));
    let mut rest = lines.iter().peekable();
    while let Some((at, line)) = rest.next() {
        // What takes another's place is announced in one message, behind the other's end.
        let next = rest.peek().filter(|(of, _)| of == at).map(|(_, l)| l.as_str());
        if matches!(field(line, "what"), Some("lost" | "left_out")) {
            out.lost += u64::from((from..=to).contains(at));
            continue;
        }
        let state = match &mut unknown {
            Some((until, unknown)) if at < until => unknown,
            _ => &mut state,
        };
        let Some(mut row) = state.take(*at, line, next) else {
            continue;
        };
        if !(from..=to).contains(at) {
            continue;
        }
        if out.rows.len() >= MOST {
            out.lost += 1;
            continue;
        }
        row.by = number(line, "by").and_then(|n| u32::try_from(n).ok());
        let comm = field(line, "program")
            .or_else(|| field(line, "comm"))
            .map(str::to_owned);
        row.late = field(line, "late").is_some();
        row.program = comm.or_else(|| ran(row.by?, *at).filter(|_| row.host.is_empty()));
        out.rows.push(row);
    }
    out
}
