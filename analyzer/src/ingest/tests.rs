//! Decoding, clocks, gaps and counts on recordings written by hand.

mod clock;
mod gaps;
mod instances;
mod order;

use super::Trace;
use crate::testing::{Ctx, N, Script};

const POLL: &str = "napi:napi_poll";

fn script() -> Script {
    Script::new("6.18.44", &[])
}
/// A poll whose work is a label that the order can be read by.
fn poll(s: &mut Script, ts: u64, cpu: usize, label: u64) {
    s.ev(ts, cpu, Ctx::Task(1), POLL, &[("work", N(label))]);
}
/// (time, CPU, label) of the merged events.
fn merged(t: &Trace<'_>) -> Vec<(i64, u16, u32)> {
    let f = t.schema.format("napi", "napi_poll").unwrap();
    let at = f.field("work").unwrap().offset as usize;
    t.events(|_| true)
        .map(|e| {
            (
                e.ts,
                e.cpu,
                u32::from_le_bytes(e.payload[at..at + 4].try_into().unwrap()),
            )
        })
        .collect()
}
