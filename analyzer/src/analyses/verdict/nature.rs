//! What is said of slow answers that only waited for a server all of whose answers take that long.

use super::sentences::{counted, duration};
use crate::analyses::application::{Application, Nature, Server};

/// One sentence a server in front.
pub(super) fn nature(a: &Application) -> Vec<String> {
    let of = a.servers.iter().filter(|s| !s.nature.is_empty());
    of.map(words).collect()
}

fn words(s: &Server) -> String {
    let each = s.nature.iter().map(|n: &Nature| {
        format!(
            "{} (p50 {}) waited for {}, all of whose answers take long (p50 {}, n {})",
            counted(n.n, "other", "others"),
            duration(n.p50_ns),
            n.of,
            duration(n.all_p50_ns),
            n.all
        )
    });
    let each: Vec<String> = each.collect();
    format!(
        "besides these, of {}, {}, while it slept: long polls, or what is slow by nature (inferred)",
        s.server,
        each.join(", ")
    )
}
