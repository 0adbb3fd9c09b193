//! `netmortem`.
fn main() {}
