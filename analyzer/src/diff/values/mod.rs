//! What each side has, from the tables of facts: durations, counts, and whose they are.

pub(in crate::diff) mod again;
pub(in crate::diff) mod asking;
pub(in crate::diff) mod attempts;
pub(in crate::diff) mod breakdown;
pub(in crate::diff) mod counted;
pub(in crate::diff) mod ends;
pub(in crate::diff) mod forwarding;
pub(in crate::diff) mod gather;
pub(in crate::diff) mod metrics;
pub(in crate::diff) mod moves;
pub(in crate::diff) mod rtt;
pub(in crate::diff) mod service;
pub(in crate::diff) mod speed;
pub(in crate::diff) mod talks;
pub(in crate::diff) mod usual;
