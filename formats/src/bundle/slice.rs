//! `slice` of `manifest.json`: that a bundle is a part of a recording, and which.
//!
//! Read from any file: a value that is no such number or text counts as not known, never as 0, and does not make the manifest
//! unreadable.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a slice was cut to and what was cut, of all cuts since the recording together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Value")]
pub struct Slice {
    /// First and last moment that stayed, in units of `clocks.trace_clock`; an open end is 0 or 2^64 - 1. `None`: not cut in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<[u64; 2]>,
    /// Flows and devices in words, an entry for each cut; `(redacted)` where the words held names. Empty: not cut by them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subject: Vec<String>,
    /// Events in the bundle when it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events_kept: Option<u64>,
    /// Events cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events_cut: Option<u64>,
    /// Whose packets (lives of sk_buffs) are; of a cut by flow or device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<Whose>,
    /// Whose drops are; of a cut by flow or device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drops: Option<Whose>,
    /// Whether `packets` and `drops` were counted before a cut in time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counted_before_time: bool,
    /// Events that the kernel counted as lost and that may be of this slice or of what was cut: nothing tells when they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_at_unknown_time: Option<u64>,
}

/// Whose something in a slice is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whose {
    /// Of what was asked for.
    pub own: u64,
    /// Of others, and kept.
    pub others_kept: u64,
    /// Kept, because nothing tells whose they are.
    pub unknown: u64,
    /// Of others, and cut.
    pub others_cut: u64,
}

impl Slice {
    /// Whether it says by what it was cut.
    pub fn says_by_what(&self) -> bool {
        self.time.is_some() || !self.subject.is_empty()
    }

    /// This, cut once more: what stays is common to both, what was cut adds up. Where one does not say how much, the sum is
    /// not known.
    #[must_use]
    pub fn then(mut self, more: Slice) -> Slice {
        self.time = match (self.time, more.time) {
            (Some([a, b]), Some([c, d])) if a.max(c) <= b.min(d) => Some([a.max(c), b.min(d)]),
            (_, Some(later)) => Some(later),
            (earlier, None) => earlier,
        };
        self.counted_before_time = match more.subject.is_empty() {
            true => self.counted_before_time || more.time.is_some() && !self.subject.is_empty(),
            false => more.counted_before_time,
        };
        if !more.subject.is_empty() {
            let first = self.subject.is_empty();
            let sum = |of: Option<Whose>, more: Option<Whose>| match first {
                true => more,
                false => of.zip(more).map(|(of, more)| Whose {
                    others_cut: of.others_cut.saturating_add(more.others_cut),
                    ..more
                }),
            };
            self.packets = sum(self.packets, more.packets);
            self.drops = sum(self.drops, more.drops);
        }
        self.subject.extend(more.subject);
        let lost = [self.lost_at_unknown_time, more.lost_at_unknown_time];
        self.lost_at_unknown_time = lost.into_iter().flatten().reduce(u64::saturating_add);
        self.events_kept = more.events_kept;
        self.events_cut = self.events_cut.zip(more.events_cut).map(|(a, b)| a.saturating_add(b));
        self
    }
}

impl From<Value> for Slice {
    fn from(value: Value) -> Slice {
        let whose = |key: &str| -> Option<Whose> { serde_json::from_value(value.get(key)?.clone()).ok() };
        let number = |key: &str| value.get(key).and_then(Value::as_u64);
        let time = || -> Option<[u64; 2]> { serde_json::from_value(value.get("time")?.clone()).ok() };
        let words = value.get("subject").and_then(Value::as_array);
        Slice {
            time: time().filter(|[from, to]| from <= to),
            subject: words
                .into_iter()
                .flatten()
                .filter_map(|w| w.as_str().map(str::to_owned))
                .collect(),
            events_kept: number("events_kept"),
            events_cut: number("events_cut"),
            packets: whose("packets"),
            drops: whose("drops"),
            counted_before_time: value.get("counted_before_time") == Some(&Value::Bool(true)),
            lost_at_unknown_time: number("lost_at_unknown_time"),
        }
    }
}

/// A flag that is true only where it says so.
pub(super) fn is_true<'de, D: serde::Deserializer<'de>>(of: D) -> Result<bool, D::Error> {
    Ok(Value::deserialize(of)? == Value::Bool(true))
}

/// Texts; what is none says nothing.
pub fn texts_of(of: &Value) -> Vec<String> {
    let all = of.as_array().into_iter().flatten();
    all.filter_map(|v| Some(v.as_str()?.to_owned())).collect()
}

/// The same of a field.
pub(super) fn texts<'de, D: serde::Deserializer<'de>>(of: D) -> Result<Vec<String>, D::Error> {
    Ok(texts_of(&Value::deserialize(of)?))
}
