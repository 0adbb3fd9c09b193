//! Tests over the whole of netmortem, in one binary: every figure is compared with an oracle that is not our code.

mod contract;
mod determinism;
mod prefixes;
mod rpc;
mod samples;
mod sawtooth;
mod tree;
