//! Where slow requests or answers were on their way, in words.

use super::sentences::duration;
use crate::analyses::application::Place;

/// Where a way was, in words.
pub(super) fn place_words(p: Option<&Place>) -> String {
    let Some(p) = p else { return String::new() };
    let share = p.share * 100.0;
    match p.to.as_str() {
        "" => {
            let kind = match p.qdisc.as_str() {
                "" => String::new(),
                kind => format!(" ({kind})"),
            };
            let filled = p.filled_by.as_ref().map_or_else(String::new, |(who, part)| {
                format!(", of whose bytes {:.0} % were {who}", part * 100.0)
            });
            format!(", {share:.0} % of it in the queue of {}{kind}{filled}", p.dev)
        }
        to => {
            let timer = p.timer_ns.map_or_else(String::new, |ns| {
                format!(
                    ", whose polls its own timer begins (napi_watchdog), {} apart (p50), and not the packets that come: gro_flush_timeout with napi_defer_hard_irqs",
                    duration(ns)
                )
            });
            format!(", {share:.0} % of it between {} and {to}{timer}", p.dev)
        }
    }
}
