//! What the line on connections says of how some ended: late, for another process had a copy of their descriptors, or by the kernel itself.

use super::sentences::{counted, duration, moment};
use crate::analyses::opens::{Inherited, Opens, Orphans};

fn task(name: &str) -> String {
    match name {
        "" => String::new(),
        name => format!(" ({name})"),
    }
}

fn inherited(i: &Inherited) -> String {
    let server = if i.task.is_empty() {
        "its program"
    } else {
        i.task.as_str()
    };
    let waited = match i.waited {
        0 => String::new(),
        n if n == i.clients => {
            ", and all their clients closed at once then, as clients that read until EOF do".to_owned()
        }
        n => format!(
            ", and {n} of {} clients closed at once then, as clients that read until EOF do",
            i.clients
        ),
    };
    format!(
        "{} of {}{} got no FIN until {} (p50, max {}) after their last byte, when {}, which neither read nor sent on them, closed them, most likely by exiting{waited}: it held a copy of their descriptors, as a child started without close-on-exec does, so {server}'s own close ended nothing (inferred)",
        counted(i.connections, "connection", "connections"),
        i.at,
        task(&i.task),
        duration(i.held_ns),
        duration(i.longest_ns),
        i.by,
    )
}

fn orphans(o: &Orphans) -> String {
    let limit = match o.setting.as_str() {
        "" => "net.ipv4.tcp_max_orphans".to_owned(),
        setting => setting.to_owned(),
    };
    let why = match o.short_of_memory {
        _ if o.roomy => format!(
            "most likely there were more such orphans than net.ipv4.tcp_max_orphans allowed then, though it allowed far more than all sockets that were seen when the recording began ({limit}): it was lowered since, or TCP's memory was short (tcp_mem)"
        ),
        true => format!(
            "there were more such orphans than it allows ({limit}), or TCP's memory was short (tcp_mem), as it was meanwhile"
        ),
        false => format!("most likely there were more such orphans than it allows ({limit})"),
    };
    let more = match o.all.saturating_sub(o.connections) {
        0 => String::new(),
        n => format!(" (and {n} of others)"),
    };
    format!(
        "{} of {}{}{more} {} reset by the kernel itself, the first at {}, at or after their close (TCP_ABORT_ON_MEMORY), and what was still to be sent was lost, though its send had succeeded: {why}",
        counted(o.connections, "connection", "connections"),
        o.at,
        task(&o.task),
        super::attempts::was(o.connections),
        moment(o.first_ns),
    )
}

/// What has a name.
pub(super) fn causes(o: &Opens) -> Vec<String> {
    let own = o.orphans.as_ref().map(orphans).into_iter();
    own.chain(o.inherited.as_ref().map(inherited)).collect()
}
