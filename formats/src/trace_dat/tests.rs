//! Tests of trace.dat: against trace-cmd's own reading of a real recording (`oracle`), of the same recording rewritten in
//! every variant (`variants`), and of damaged files (`hostile`).

#![allow(clippy::arithmetic_side_effects)] // numbers of our own fixtures

mod conversions;
mod hostile;
mod oracle;
mod parts;
mod prefixes;
mod raw_fields;
mod variants;
mod walk;
mod writer;
