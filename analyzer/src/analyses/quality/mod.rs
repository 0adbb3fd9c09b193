//! Can this capture be trusted? Losses, damage, coverage and clock, from the capture's own statements.
//!
//! Good: complete, nothing lost. Degraded: lost events below [`BAD_LOSS_SHARE`] of all, a format text missing,
//! a slice of a recording, losses of which it is not known whether they are of the slice, or bytes that do not add up.
//! Bad: more lost than that, cut, or a clock that does not measure time. A loss the kernel did not flag is told where packets
//! have no end (`untold.rs`).

use crate::analyses::verdict::counted;
use crate::facts::Facts;
use crate::ingest::{GapRow, StreamInfo};
use crate::reconstruct::observer::tables::MARKED_SHARE;
use crate::reconstruct::skew::ClockError;
use crate::told::Told;

mod conservation;
pub(super) mod profile;
pub mod short;
mod taps;
#[cfg(test)]
mod tests;
mod untold;

pub use conservation::{Balance, Links, UNEXPLAINED_SHARE, Unexplained};
pub use untold::Untold;
pub(crate) use untold::{asked, unseen};

/// Share of events lost from which the capture is called bad.
pub const BAD_LOSS_SHARE: f64 = 0.01;

/// Share of packets that leave a device unseen, without a loss, from which it is called bad.
pub const BAD_UNTOLD_SHARE: f64 = 0.1;

/// Share of a byte balance that is unexplained from which it is called bad.
pub const BAD_UNEXPLAINED_SHARE: f64 = 0.1;

/// Level of trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Everything asked for is there.
    Good,
    /// Answers stand, some are weaker.
    Degraded,
    /// Answers may be wrong where they touch what is missing.
    Bad,
}

/// How the sentence on a slice begins.
pub(super) const SLICE: &str = "A slice of a recording, not all of it";
/// How it begins where nothing was lost that an answer uses.
pub(super) const COMPLETE: &str = "Complete";

/// The answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Quality {
    /// Level of trust.
    pub level: Level,
    /// The same without what the balances say: an imbalance of what is reconstructed is nobody's incident.
    #[serde(skip)]
    pub of_capture: Level,
    /// One sentence that says why.
    pub sentence: String,
    /// Share of events lost: lost / (lost + recorded).
    pub lost_share: f64,
    /// Share of (CPU x time) that lies in a gap of known extent.
    pub gap_share: f64,
    /// Packets whose further events are missing, though nothing is told as lost.
    pub untold: Option<Untold>,
    /// The error bar of intervals between CPUs.
    pub clocks: ClockError,
    /// What recording one event added, ns, estimated; `None` when the recording does not tell.
    pub event_cost_ns: Option<i64>,
    /// Stages of which more than [`MARKED_SHARE`] is the recording's own cost, as `ledger stage`, with the share.
    pub costly_stages: Vec<(String, f64)>,
    /// Byte conservation by kind, and by how far the comparison can be trusted.
    pub balances: Vec<Balance>,
    /// Balances of the whole recording that leave much unexplained, by kind.
    pub unexplained: Vec<Unexplained>,
    /// Links between lives of skbs, by kind.
    pub links: Vec<Links>,
    /// What the recording says of itself in sentences, and what became of packets joined to it.
    pub told: Told,
    /// Everything `check` prints.
    pub capture: crate::ingest::CaptureInfo,
    /// The counters that are not zero.
    pub stats: Vec<crate::ingest::StatRow>,
}

/// Asks.
pub fn answer(facts: &Facts) -> Quality {
    let c = &facts.capture;
    // Losses of ring buffers that the answers do not use weaken no answer: they are told, not judged.
    // What a capture claims to have lost may be any number.
    let sum = |used: bool, of: fn(&StreamInfo) -> u64| {
        let streams = c.streams.iter().filter(|s| s.used == used);
        streams.map(of).fold(0u64, u64::saturating_add)
    };
    let lost = sum(true, |s| s.lost_events);
    let lost_unknown = sum(true, |s| s.losses_of_unknown_size);
    let lost_elsewhere = sum(false, |s| s.lost_events.saturating_add(s.losses_of_unknown_size));
    let events = sum(true, |s| s.events);
    let lost_share = if lost == 0 {
        0.0
    } else {
        lost as f64 / lost.saturating_add(events) as f64
    };
    let whole = c.duration_ns as f64 * f64::from(c.cpus.max(1));
    let in_gaps: i64 = facts
        .gaps
        .iter()
        .filter_map(|g| Some(g.end_ns.or(c.end_ns)? - g.start_ns.or(c.start_ns)?))
        .fold(0, |sum, d| sum.saturating_add(d.max(0)));
    let gap_share = if whole > 0.0 {
        (in_gaps as f64 / whole).min(1.0)
    } else {
        0.0
    };
    let mut says: Vec<String> = vec![];
    let mut level = Level::Good;
    if c.total_events == 0 {
        level = Level::Bad;
        says.push("there is no event in it".into());
    }
    if !c.clock_is_ns {
        level = Level::Bad;
        says.push(format!("the trace clock '{}' does not measure time in ns", c.clock));
    }
    if !c.complete {
        level = Level::Bad;
        says.push("the file is cut or damaged".into());
    }
    if let Some((bad, words)) = short::told(c) {
        level = if bad { Level::Bad } else { level.max(Level::Degraded) };
        says.push(words);
    }
    // What a ring that does not reach back held is told of it.
    let of_short = |g: &&GapRow| g.start_ns.is_none() && c.short_rings.iter().any(|r| r.cpu == g.cpu);
    let others = facts.gaps.iter().any(|g| !of_short(&g));
    if lost > 0 || lost_unknown > 0 || others {
        level = level.max(match lost_share < BAD_LOSS_SHARE {
            true => Level::Degraded,
            false => Level::Bad,
        });
        let unknown = match lost_unknown {
            0 => String::new(),
            n => format!(" and {} of unknown size", counted(n, "loss", "losses")),
        };
        let share = lost_share * 100.0;
        if lost == 0 && lost_unknown == 0 {
            says.push("what the gaps held is not known".into());
        } else {
            says.push(format!(
                "{} lost{unknown} ({share:.3} % of all)",
                counted(lost, "event was", "events were")
            ));
        }
    }
    if c.lost_at_unknown_time > 0 {
        level = match level {
            Level::Good => Level::Degraded,
            other => other,
        };
        says.push(unplaced(c.lost_at_unknown_time));
    }
    let untold = untold::untold(facts);
    if let Some(u) = &untold {
        level = match level {
            Level::Good if u.share() < BAD_UNTOLD_SHARE => Level::Degraded,
            _ => Level::Bad,
        };
        says.push(untold_words(u, &c.format));
    }
    let events_whole = says.is_empty();
    if let Some(words) = taps::told(c) {
        level = level.max(Level::Degraded);
        says.push(words);
    }
    if let Some(words) = short::late(c) {
        level = level.max(Level::Degraded);
        says.push(words);
    }
    let balances = conservation::balances(facts);
    let unexplained = conservation::unexplained(&balances);
    let of_capture = level;
    for u in &unexplained {
        level = level.max(match u.share < BAD_UNEXPLAINED_SHARE {
            true => Level::Degraded,
            false => Level::Bad,
        });
        says.push(u.words());
    }
    if events_whole && !says.is_empty() {
        says.push(match lost_elsewhere {
            0 => "of the events none was lost".into(),
            _ => "of the events that answers use none was lost".into(),
        });
    }
    let clocks = ClockError::of(&facts.clock_skew);
    let mut sentence = match (says.is_empty(), lost_elsewhere > 0) {
        (true, false) => format!("{COMPLETE}: no event was lost, every stream was read to its end."),
        (true, true) => format!("{COMPLETE} in what the answers use; a ring buffer that none uses lost events."),
        (false, elsewhere) => {
            if elsewhere {
                says.push("a ring buffer that no answer uses lost events too".into());
            }
            format!("Mind that {}.", says.join("; "))
        }
    };
    if c.cpus > 1 && c.clock_is_ns {
        sentence = format!("{sentence} {}", clocks.short());
    }
    let marked = facts.observer.iter().filter(|o| o.marked());
    let costly_stages: Vec<(String, f64)> = marked
        .filter_map(|o| Some((format!("{} {}", o.ledger, o.stage), o.share?)))
        .collect();
    if let (Some(ns), n @ 1..) = (facts.event_cost_ns, costly_stages.len()) {
        // Which they are is in the view `observer`: a line of the verdict is for a terminal.
        sentence = format!(
            "{sentence} Recording cost (about {ns} ns an event) is over {:.0} % of {}, see `netmortem show observer INPUT`.",
            MARKED_SHARE * 100.0,
            counted(n as u64, "stage", "stages")
        );
    }
    let stats = facts.stats.iter().filter(|s| s.value > 0).cloned().collect();
    Quality {
        level,
        of_capture,
        sentence,
        lost_share,
        gap_share,
        untold,
        clocks,
        event_cost_ns: facts.event_cost_ns,
        costly_stages,
        balances,
        unexplained,
        links: conservation::links(facts),
        told: Told::default(),
        capture: c.clone(),
        stats,
    }
}

/// `2241 of 3849 packets queued on wan0 were never seen to leave it ...`
fn untold_words(u: &Untold, format: &str) -> String {
    let perf = match format {
        "perf.data" => {
            " (of CPUs or processes that were not recorded, or of interrupts that come while a CPU idles, which perf leaves out on some kernels)"
        }
        _ => "",
    };
    format!(
        "{} of {} queued on {} were never seen to leave it, nor to be dropped: events are missing that are not told as lost{perf}",
        u.packets,
        counted(u.of, "packet", "packets"),
        u.dev
    )
}

/// Losses of which it is not known whether they are of a slice.
pub(crate) fn unplaced(n: u64) -> String {
    format!(
        "of {} that the kernel counted as lost it is not known whether they are of this time",
        counted(n, "event", "events")
    )
}

impl Quality {
    /// With what the recording says of itself: a slice is not a whole recording, however complete it is.
    #[must_use]
    pub fn told(mut self, told: Told) -> Quality {
        if !told.slice.is_empty() {
            self.level = self.level.max(Level::Degraded);
            self.of_capture = self.of_capture.max(Level::Degraded);
            self.sentence = format!("{SLICE}. {}", self.sentence);
        }
        self.told = told;
        self
    }
}
