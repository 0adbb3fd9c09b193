//! Tests over the whole of netmortem, in one binary: every figure is compared with an oracle that is not our code.
#![allow(clippy::unwrap_used)] // helpers of tests are not under #[test], where clippy.toml allows it

mod contract;
mod cpu;
mod determinism;
mod flight_beside;
mod hostile;
mod mtu;
mod neighbour;
mod older_kernel;
mod opens;
mod overlay;
mod prefixes;
mod retransmits;
mod rpc;
mod samples;
mod sawtooth;
mod tree;
mod xmits;
