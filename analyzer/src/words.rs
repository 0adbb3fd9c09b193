//! Which values columns have that know few, so that a filter for another is a mistake and not an empty answer.
//!
//! A test reads every row of some samples for a value that is not here.

/// Values of a column, `None`: any. `confidence` is the same in all views.
pub fn of(view: &str, column: &str) -> Option<&'static [&'static str]> {
    if column == "confidence" || column.ends_with("_confidence") {
        return Some(&["certain", "strong", "weak", "unknown"]);
    }
    Some(match (view, column) {
        ("rx", "start") => &["irq", "netif_rx", "gro", "receive"],
        ("rx", "end") => &["read", "protocol", "queued", "closed"],
        ("rx" | "tx", "censored") => &["start", "end", "loss"],
        ("rx", "read_by") => &["copy", "recv_length", "splice", "space_adjust", "consume", "order"],
        ("tx", "kind") => &["tcp", "tcp_control", "tcp_unknown", "udp", "other"],
        ("tx", "start") => &["sendmsg", "write_queue", "queue"],
        ("tx", "end") => &["acked", "completed", "sent", "dropped", "open"],
        ("retransmits", "class") | ("tx", "recovery_by") => &[
            "fast",
            "rack_timer",
            "tlp",
            "rto",
            "loss_recovery",
            "pmtu",
            "syn",
            "unknown",
        ],
        ("connections", "role") => &["client", "server"],
        ("connections", "role_by") => &["handshake", "listens", "ports"],
        ("tcp_states", "kind") => &["cong", "sock"],
        ("opens", "end") => &[
            "established",
            "refused",
            "timed_out",
            "unreachable",
            "no_port",
            "given_up",
            "failed",
            "waiting",
        ],
        ("resets", "kind") => &["received", "sent"],
        ("resets", "sender") => &["peer", "between", "here"],
        ("xmits", "end") => &["sent", "completed", "dropped", "segmented", "consumed", "open"],
        ("txq_stops", "cause") => &["bql", "ring"],
        ("polls", "context") => &["softirq", "task", "unknown"],
        ("udp_turns", "end") => &[
            "answered",
            "refused",
            "asked_again",
            "other_thread",
            "closed",
            "lost",
            "recording_end",
        ],
        ("udp_turns", "awaited") => &["no", "perhaps", "several", "poll", "receive"],
        ("lineage", "conserved") => &["yes", "no", "unknown"],
        ("snapshots", "at") => &["both", "start", "end"],
        ("stats", "severity") => &["info", "warning", "error"],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::table::Cell;

    /// Every cell of a column that knows few values has one of them, and some recording has more than one.
    #[test]
    fn rows_have_no_other_values() {
        let (mut wrong, mut seen) = (vec![], std::collections::BTreeSet::new());
        for sample in ["rpc/rpc.nmb", "opens/opens.nmb", "tracedat-loopback/trace.dat"] {
            let facts = crate::tests::facts(sample);
            for t in facts.tables() {
                for (at, c) in t.columns().iter().enumerate() {
                    let Some(known) = super::of(t.name(), c.name) else {
                        continue;
                    };
                    for row in 0..t.len() {
                        match t.cell(row, at) {
                            Cell::Str(s) if known.contains(&s.as_ref()) => {
                                seen.insert((t.name(), c.name, s.into_owned()));
                            }
                            Cell::Null => {}
                            other => wrong.push(format!("{}.{}: {other:?}", t.name(), c.name)),
                        }
                    }
                }
            }
        }
        wrong.dedup();
        assert!(wrong.is_empty(), "{wrong:#?}");
        let of = |view: &str, column: &str| seen.iter().filter(|s| s.0 == view && s.1 == column).count();
        assert_eq!((of("connections", "role"), of("resets", "kind")), (2, 2));
        // Established, refused, no port, no route, given up.
        assert_eq!(of("opens", "end"), 5);
    }

    /// Each column is one of its view, and its meaning or that of another names its values.
    #[test]
    fn columns_are_there() {
        let none = crate::Facts::empty();
        let tables = none.tables();
        for (view, column) in [
            ("rx", "end"),
            ("tx", "recovery_by"),
            ("opens", "end"),
            ("udp_turns", "awaited"),
            ("txq_stops", "cause"),
        ] {
            let t = tables.iter().find(|t| t.name() == view).unwrap();
            assert!(t.columns().iter().any(|c| c.name == column), "{view}.{column}");
            assert!(super::of(view, column).is_some());
        }
    }
}
