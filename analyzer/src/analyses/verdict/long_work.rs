//! Whose long requests others waited behind, in words.

use super::sentences::{counted, duration};
use crate::analyses::application::LongWork;

/// Part that is written as all.
const ALL: f64 = 0.995;

/// `, 97 % of it 7 requests of 10.0.0.77 (p50 239.63 ms each, in at least 99 % of which it ran, one every 1.531 s, on connections with 33 bytes a request)`
pub(in crate::analyses) fn long_work(w: &LongWork) -> String {
    let every = w.every_ns.map(|ns| format!(", one every {}", duration(ns)));
    let bytes = w
        .bytes
        .map(|n| format!(", on connections with {} a request", counted(n, "byte", "bytes")));
    let percent = w.running * 100.0;
    let running = match w.running < ALL {
        true => format!("at least {:.0} %", percent.floor()),
        false => format!("{percent:.0} %"),
    };
    format!(
        ", {:.0} % of it {} of {} (p50 {} each, in {running} of which it ran{}{})",
        w.share * 100.0,
        counted(w.requests, "request", "requests"),
        w.of,
        duration(w.p50_ns),
        every.unwrap_or_default(),
        bytes.unwrap_or_default()
    )
}
