//! Where slow requests or answers were on their way, in words.

use super::sentences::{counted, duration};
use crate::analyses::application::{LetGo, Place};

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
            let let_go = p.let_go.as_ref().map_or_else(String::new, let_go);
            format!(", {share:.0} % of it between {} and {to}{timer}{let_go}", p.dev)
        }
    }
}

/// `, where netfilter gives them to a program and waits for its word (NFQUEUE): ips-engine/123, on a CPU 97 % of that time; ...`
fn let_go(l: &LetGo) -> String {
    let at_once = match l.times {
        0 => String::new(),
        n => format!(
            "; {} it let none go for 5 ms or more while they waited, whosever they were",
            counted(n, "time", "times")
        ),
    };
    format!(
        ", where a queue of netfilter (NFQUEUE) had them until {} let them go, which was on a CPU for {:.0} % of that{at_once}",
        l.by,
        l.running * 100.0
    )
}
