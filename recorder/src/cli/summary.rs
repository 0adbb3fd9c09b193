//! What was recorded, in the words of the terminal.

use crate::record::Summary;
use crate::units::size;

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
        "{} kinds of events enabled by {}, {} not on this kernel; the recorder used {:.2} CPU seconds\n",
        s.enabled,
        s.backend,
        s.absent,
        s.cpu_ns as f64 / 1e9
    );
    for p in &s.packets {
        out += &format!("{}: {} packets{}\n", p.name, p.packets, lost_packets(p));
    }
    if let Some(c) = &s.command {
        out += &match (c.exit_code, c.signal) {
            (Some(0), _) => "the command exited with status 0\n".to_owned(),
            (Some(n), _) => format!("the command exited with status {n}\n"),
            (_, Some(n)) => format!("the command was killed by signal {n}\n"),
            _ => "the command was still running\n".to_owned(),
        };
    }
    for n in &s.notes {
        out += &format!("note: {n}\n");
    }
    out
}

/// Losses of perf are a lower bound: some events it neither writes nor counts.
fn lost(s: &Summary) -> String {
    match (s.lost, s.backend) {
        (0, "perf") => "none lost that perf counted".to_owned(),
        (0, _) => "none lost".to_owned(),
        (n, "perf") => format!("at least {n} LOST"),
        (n, _) => format!("{n} LOST"),
    }
}

fn lost_packets(p: &netmortem_formats::bundle::TapEnd) -> String {
    p.dropped
        .map_or(", losses unknown".to_owned(), |n| format!(", {n} lost"))
}
