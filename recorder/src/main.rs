//! `netmortem-record`.
fn main() {}
