//! What was recorded, in the words of the terminal.

use netmortem_formats::bundle::CommandEnd;

use crate::record::Summary;
use crate::units::size;

/// Events that are named of those that could not be recorded.
const ABSENT: usize = 6;

/// What was recorded, for a person.
pub fn summary_text(s: &Summary) -> String {
    let path = s
        .path
        .as_ref()
        .map_or("standard output".into(), |p| p.display().to_string());
    let mut out = format!(
        "{path}: {} events in {:.1} s, {} ({} in the ring buffers), {}; stopped by {}\n",
        s.events,
        s.elapsed.as_secs_f64(),
        size(s.bundle_bytes),
        size(s.ring_bytes),
        lost(s),
        s.stop_reason,
    );
    out += &format!(
        "{} kinds of events enabled by {}{}; the recorder used {:.2} CPU seconds\n",
        s.enabled,
        s.backend,
        absent(&s.absent),
        s.cpu_ns as f64 / 1e9
    );
    for p in &s.packets {
        out += &format!("{}: {} packets{}\n", p.name, p.packets, lost_packets(p));
    }
    if let Some(c) = &s.command {
        out += &command_text(c);
    }
    for n in &s.notes {
        out += &format!("note: {n}\n");
    }
    out
}

/// How the command ended.
pub fn command_text(c: &CommandEnd) -> String {
    match (c.exit_code, c.signal) {
        (Some(0), _) => "the command exited with status 0\n".to_owned(),
        (Some(n), _) => format!("the command exited with status {n}\n"),
        (_, Some(n)) => format!("the command was killed by signal {n}\n"),
        _ => "the command was still running\n".to_owned(),
    }
}

/// `, 3 wanted ones are not: tcp:tcp_cong_state_set, ... (why: plan.absent of the bundle)`
fn absent(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(ABSENT).map(String::as_str).collect();
    let more = match names.len().saturating_sub(ABSENT) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    match names.len() {
        0 => String::new(),
        n => format!(
            ", {n} wanted {} not: {}{more} (why: plan.absent in its manifest)",
            if n == 1 { "one is" } else { "ones are" },
            first.join(", ")
        ),
    }
}

/// Losses of perf are a lower bound: some events it neither writes nor counts.
fn lost(s: &Summary) -> String {
    let lost = match (s.lost, s.backend) {
        (0, "perf") => "none lost that perf counted".to_owned(),
        (0, _) => "none lost".to_owned(),
        (n, "perf") => format!("at least {n} LOST"),
        (n, _) => format!("{n} LOST"),
    };
    match s.short_rings {
        0 => lost,
        1 => format!("{lost} since, but the ring of 1 CPU does NOT REACH BACK to the begin"),
        n => format!("{lost} since, but the rings of {n} CPUs do NOT REACH BACK to the begin"),
    }
}

fn lost_packets(p: &netmortem_formats::bundle::TapEnd) -> String {
    p.dropped
        .map_or(", losses unknown".to_owned(), |n| format!(", {n} lost"))
}

#[cfg(test)]
mod tests {
    use super::absent;

    #[test]
    fn events_that_a_kernel_lacks_are_named() {
        let of = |n: usize| absent(&(0..n).map(|n| format!("net:e{n}")).collect::<Vec<_>>());
        assert_eq!(of(0), "");
        assert_eq!(
            of(1),
            ", 1 wanted one is not: net:e0 (why: plan.absent in its manifest)"
        );
        let says = ", 8 wanted ones are not: net:e0, net:e1, net:e2, net:e3, net:e4, net:e5 and 2 more (why: plan.absent in its manifest)";
        assert_eq!(of(8), says);
    }
}
