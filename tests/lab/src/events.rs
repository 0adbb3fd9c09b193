//! What this kernel's tracepoints can tell. A rig whose plant they cannot says why: nothing, or a weak answer, is right then.

/// Whether there is such an event, `group/name`, with such a field.
pub fn tell(event: &str, field: &str) -> bool {
    let format = std::fs::read_to_string(format!("/sys/kernel/tracing/events/{event}/format"));
    format.is_ok_and(|f| {
        f.lines()
            .any(|l| l.contains(&format!(" {field};")) || l.contains(&format!("*{field};")))
    })
}

/// Why nothing tells when a segment or a datagram became readable; empty where something does (since 6.3).
pub fn readable() -> String {
    match tell("sock/sk_data_ready", "skaddr") {
        true => String::new(),
        false => "no event tells when a socket becomes readable".into(),
    }
}

/// Why nothing tells which segment comes out of a socket's backlog; empty where something does (since 6.9).
pub fn processed() -> String {
    match tell("tcp/tcp_probe", "skbaddr") {
        true => String::new(),
        false => "tcp_probe names no segment".into(),
    }
}
