//! Sockets, samples, retransmits on recordings written by hand.

mod identity;
mod retransmits;
mod samples;

const T: u64 = 1_000_000_000;
