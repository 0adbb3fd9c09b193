//! What the line on connections says of a source that a rule lets have so many connections.

use super::sentences::{counted, duration, moment};
use crate::analyses::opens::{Limited, Opens};

fn limited(l: &Limited) -> String {
    let delayed = match l.delayed {
        0 => String::new(),
        n => format!(
            ", so that {} took up to {}",
            counted(n, "connection", "connections"),
            duration(l.longest_ns)
        ),
    };
    let failed = match (l.failed, l.delayed) {
        (0, _) => String::new(),
        (n, 0) => format!(
            ", so that {} did not come to be",
            counted(n, "connection", "connections")
        ),
        (n, _) => format!(" and {n} did not come to be"),
    };
    let of = (l.holder.as_ref()).map_or_else(String::new, |(task, n)| format!(" ({n} of {task})"));
    let stood = match l.stood {
        (median, most) if median == most => most.to_string(),
        (median, most) => format!("{median} to {most}"),
    };
    format!(
        "{} of {} to {} were dropped by this host for {} from {} to {}{delayed}{failed}, while {} of others opened there at once; {stood} connections of {} stood there then{of}, and fewer when others of it opened at once: a limit of connections per source (inferred)",
        counted(l.syns, "SYN", "SYNs"),
        l.source,
        l.to,
        l.place,
        moment(l.within_ns.0),
        moment(l.within_ns.1),
        counted(l.others, "connection", "connections"),
        l.source,
    )
}

/// What has a name.
pub(super) fn causes(o: &Opens) -> Option<String> {
    o.limited.as_ref().map(limited)
}
