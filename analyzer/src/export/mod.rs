//! Facts in the formats of other tools.
//!
//! In: [`Facts`](crate::Facts) and the capture they are of. Out: bytes. Must not reconstruct or judge.
//!
//! ```text
//! Facts   -> perfetto   a trace of slices, arrows and counters
//!         -> packets    the bundle's packets as pcapng, each with what the kernel did with it as its comment
//! Capture -> bundle     the bundle cut to a window, to flows or devices, or with pseudonyms
//! Facts   -> slice      which events are of other flows or devices, for bundle
//! ```

pub mod bundle;
pub mod packets;
pub mod perfetto;
pub mod slice;
#[cfg(test)]
mod tests;
