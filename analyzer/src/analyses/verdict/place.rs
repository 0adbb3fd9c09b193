//! Where slow requests or answers were on their way, in words.

use super::sentences::{duration, times};
use super::turns::busy;
use crate::analyses::application::{Application, LetGo, Place, Server, Slow};

/// Servers that are named beside one.
const NAMED: usize = 3;

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
                format!(", {:.0} % of whose bytes were {who}", part * 100.0)
            });
            format!(", {share:.0} % of it in the queue of {}{kind}{filled}", p.dev)
        }
        to => {
            let timer = p.timer_ns.map_or_else(String::new, |ns| {
                format!(
                    ", polled by its own timer (napi_watchdog) every {} (p50), not as packets come: gro_flush_timeout with napi_defer_hard_irqs",
                    duration(ns)
                )
            });
            let let_go = p.let_go.as_ref().map_or_else(String::new, let_go);
            format!(", {share:.0} % of it between {} and {to}{timer}{let_go}", p.dev)
        }
    }
}

/// `, where a queue of netfilter (NFQUEUE) had them until ips-engine/123 let them go (on a CPU for 98 % of that, ...)`
fn let_go(l: &LetGo) -> String {
    let silent = match l.times {
        0 => String::new(),
        n => format!(", {} silent for 5 ms or more while they waited", times(n)),
    };
    format!(
        ", where a queue of netfilter (NFQUEUE) had them until {} let them go (on a CPU for {:.0} % of that{silent})",
        l.by,
        l.running * 100.0
    )
}

/// `; the same held 34 of 953 answers from 10.41.8.10:8080 (p50 48.15 ms)`: of other servers, where the same program let their packets go.
pub(super) fn let_go_too(a: &Application, (s, first): (&Server, &Slow)) -> String {
    let who = |slow: &Slow| {
        slow.place
            .as_ref()
            .and_then(|p| p.let_go.as_ref())
            .map(|l| l.by.clone())
    };
    let Some(by) = who(first) else { return String::new() };
    let each = busy(a).into_iter().filter(|o| o.server != s.server).filter_map(|o| {
        let slow = o.slow.iter().find(|slow| who(slow).as_ref() == Some(&by))?;
        let all = o.response.n;
        Some(format!(
            "{} of {all} answers from {} (p50 {})",
            slow.n,
            o.server,
            duration(slow.p50_ns)
        ))
    });
    let each: Vec<String> = each.take(NAMED).collect();
    match each.is_empty() {
        true => String::new(),
        false => format!("; the same held {}", each.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_let_packets_go_is_said() {
        let p = Place {
            dev: "lan1".into(),
            qdisc: String::new(),
            to: "dc1".into(),
            share: 0.998,
            timer_ns: None,
            let_go: Some(LetGo {
                by: "ips-engine/7".into(),
                running: 0.98,
                times: 9,
            }),
            filled_by: None,
        };
        assert_eq!(
            place_words(Some(&p)),
            ", 100 % of it between lan1 and dc1, where a queue of netfilter (NFQUEUE) had them until ips-engine/7 let them go (on a CPU for 98 % of \
             that, 9 times silent for 5 ms or more while they waited)"
        );
    }
}
