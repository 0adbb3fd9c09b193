//! Whose long requests others waited behind, in words.

use super::sentences::{counted, duration};
use crate::analyses::application::LongWork;

/// `, 97 % of it 7 requests of 10.0.0.77 (p50 239.63 ms each, in 99 % of which it ran, one each 1.531 s, of 33 bytes)`
pub(in crate::analyses) fn long_work(w: &LongWork) -> String {
    let every = w.every_ns.map(|ns| format!(", one each {}", duration(ns)));
    let bytes = w.bytes.map(|n| format!(", of {}", counted(n, "byte", "bytes")));
    format!(
        ", {:.0} % of it {} of {} (p50 {} each, in {:.0} % of which it ran{}{})",
        w.share * 100.0,
        counted(w.requests, "request", "requests"),
        w.of,
        duration(w.p50_ns),
        w.running * 100.0,
        every.unwrap_or_default(),
        bytes.unwrap_or_default()
    )
}
