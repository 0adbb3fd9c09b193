//! Sockets, samples, retransmits on recordings written by hand.

mod identity;
mod reads;
mod retransmits;
mod samples;
mod timers;

const T: u64 = 1_000_000_000;
