//! The sections of the report: from the answers (and, where a picture needs rows, the fact tables) to blocks.
//!
//! ```text
//! Facts, Answers -> SECTIONS in order, each `section(&Input) -> Section` -> Document
//! ```
//! A section chooses and words; it computes no statistic (those come in [`Answers`]) and draws nothing. Adding one is a folder, a `mod`
//! line and a line in [`SECTIONS`]; a test walks the folders.

pub mod application;
pub mod changes;
pub mod counters;
pub mod datagrams;
pub mod drops;
mod exemplars;
mod groups;
mod ledger;
pub mod method;
pub mod napi;
pub mod opens;
pub mod over_time;
pub mod placement;
pub mod quality;
pub mod receive_path;
pub(crate) mod shared;
pub(crate) use shared::figure;
pub mod skb_lifetimes;
pub mod tcp;
pub mod transmit_path;
pub mod verdict;

use netmortem_analyzer::Facts;
use netmortem_analyzer::analyses::Answers;

use crate::clean::Text;
use crate::document::{Document, Section};
use crate::format;

/// What sections read.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The fact tables.
    pub facts: &'a Facts,
    /// The answers computed from them.
    pub answers: &'a Answers,
}

impl Input<'_> {
    /// A moment of the trace clock as nanoseconds since the start of the recording.
    #[must_use]
    pub fn since_start(&self, trace_ns: i64) -> i64 {
        trace_ns.saturating_sub(self.facts.capture.start_ns.unwrap_or(0))
    }
}

/// A section: its folder and its builder.
pub struct Registered {
    /// Name of its folder.
    pub folder: &'static str,
    /// Builds it.
    pub build: fn(&Input<'_>) -> Section,
}

/// Every section, in reading order.
pub static SECTIONS: [Registered; 16] = [
    Registered {
        folder: "verdict",
        build: verdict::section,
    },
    Registered {
        folder: "over_time",
        build: over_time::section,
    },
    Registered {
        folder: "changes",
        build: changes::section,
    },
    Registered {
        folder: "opens",
        build: opens::section,
    },
    Registered {
        folder: "datagrams",
        build: datagrams::section,
    },
    Registered {
        folder: "application",
        build: application::section,
    },
    Registered {
        folder: "receive_path",
        build: receive_path::section,
    },
    Registered {
        folder: "transmit_path",
        build: transmit_path::section,
    },
    Registered {
        folder: "skb_lifetimes",
        build: skb_lifetimes::section,
    },
    Registered {
        folder: "napi",
        build: napi::section,
    },
    Registered {
        folder: "placement",
        build: placement::section,
    },
    Registered {
        folder: "drops",
        build: drops::section,
    },
    Registered {
        folder: "tcp",
        build: tcp::section,
    },
    Registered {
        folder: "counters",
        build: counters::section,
    },
    Registered {
        folder: "quality",
        build: quality::section,
    },
    Registered {
        folder: "method",
        build: method::section,
    },
];

/// The whole report.
#[must_use]
pub fn document(facts: &Facts, answers: &Answers) -> Document {
    let input = Input { facts, answers };
    let capture = &facts.capture;
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let when = capture
        .realtime_offset_ns
        .zip(capture.start_ns)
        .map(|(offset, start)| format::utc(offset.saturating_add(start)));
    let parts = [
        known(&capture.hostname).map(|host| format!("host {host}")),
        known(&capture.kernel_release).map(|kernel| format!("Linux {kernel}")),
        known(&capture.machine),
        Some(shared::counted(u64::from(capture.cpus), "CPU")),
        Some(format::duration(capture.duration_ns)),
        when.map(|when| format!("from {when}")),
    ];
    let mut document = Document {
        title: Text::from(format!("Postmortem of {}", file_name(&capture.source))),
        subtitle: Text::from(parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")),
        sections: SECTIONS.iter().map(|registered| (registered.build)(&input)).collect(),
        footer: Text::from(concat!(
            "Made by netmortem ",
            env!("CARGO_PKG_VERSION"),
            " from the recording alone; times are since the start of the recording."
        )),
        input: None,
        one_recording: true,
    };
    // An id of joined recordings is another one's in the first of them alone.
    if capture.joined.is_empty() {
        let part = capture.selected.as_ref().map(|s| s.option.as_str());
        crate::commands::name(&mut document, &capture.source, part);
    }
    document
}

/// The last part of a path; the whole path stands among the facts on the recording.
fn file_name(source: &str) -> Text {
    let last = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
    if last.is_empty() {
        "a recording".into()
    } else {
        Text::name(last)
    }
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
