//! How sure a link or interval is. A chain has the least of its links.

/// Confidence label; ordered so that `min` of a chain is its weakest link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// No claim.
    Unknown,
    /// Timing or order only.
    Weak,
    /// A structural invariant of the kernel holds.
    Strong,
    /// A single event, or a pointer identity with a unique successor.
    #[default]
    Certain,
}

impl Confidence {
    /// The word in tables: `certain`, `strong`, `weak`, `unknown`.
    pub fn word(self) -> &'static str {
        match self {
            Confidence::Certain => "certain",
            Confidence::Strong => "strong",
            Confidence::Weak => "weak",
            Confidence::Unknown => "unknown",
        }
    }
    /// Certain or strong: counted in the headline percentiles.
    pub fn is_solid(self) -> bool {
        self >= Confidence::Strong
    }
}

/// Whether `solid` certain and strong ones speak for `all`: a few of them say nothing of the many others.
pub fn speak_for_all(solid: u64, all: u64) -> bool {
    solid > 0 && solid.saturating_mul(2) >= all
}
