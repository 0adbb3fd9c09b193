//! The sentence on a tunnel inside one TCP connection.

use super::sentences::counted;
use crate::analyses::transmit::{Inside, InsideTcp, Transmit};

/// `; 9 of 10 TCP connections inside sent 23 segments again as well`.
fn meanwhile(of: &Inside) -> String {
    let segments = counted(of.segments, "segment", "segments");
    match (of.sent_again, of.connections) {
        (0, 1) => "; the TCP connection inside sent none again".into(),
        (0, n) => format!("; of {n} TCP connections inside none sent a segment again"),
        (_, 1) => format!("; the TCP connection inside sent {segments} again as well"),
        (n, all) => format!("; {n} of {all} TCP connections inside sent {segments} again as well"),
    }
}

fn words(t: &InsideTcp) -> String {
    let task = if t.task.is_empty() { "a program" } else { &t.task };
    let again = match t.again {
        1 => "1 segment was retransmitted: all connections inside wait for it",
        n => &format!("{n} segments were retransmitted: all connections inside wait for each of them"),
    };
    format!(
        "packets of {} go through one TCP connection of {task} ({}), of which {again} (head-of-line blocking, TCP in TCP where they are TCP); a tunnel over UDP would hold up only the one whose packet was lost (inferred){}",
        t.dev,
        t.label,
        t.inside.as_ref().map_or_else(String::new, meanwhile),
    )
}

/// Of the tunnel that was found.
pub(super) fn inside_tcp(t: &Transmit) -> Option<String> {
    t.inside_tcp.as_ref().map(words)
}
