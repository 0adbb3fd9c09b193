//! What the line on retransmissions says of remote hosts to which nearly all of them were.

use super::Tone;
use super::sentences::{counted, moment};
use super::spells::listed;
use crate::analyses::tcp::{LossyHosts, Tcp};

/// `from 2.200 s on 115 of 121 calls that sent segments again are to 10.18.3.13 (on 24 of 127 connections), ...`
fn clause(u: &LossyHosts) -> String {
    let mut hosts: Vec<String> = vec![];
    for h in &u.hosts {
        let connections = if hosts.is_empty() { " connections" } else { "" };
        hosts.push(format!("{} (on {} of {}{connections})", h.host, h.lossy, h.connections));
    }
    hosts.extend((u.others > 0).then(|| counted(u.others, "other host", "other hosts")));
    let way = u.network.as_deref().unwrap_or("them");
    let one = match u.by_connection() {
        true => format!(
            ", some connections sending again {:.1} times each and {} of {} not at all, as where one of several ways that is chosen by connection loses (ECMP, one link of a LAG; inferred)",
            u.again as f64 / u.lossy.max(1) as f64,
            u.clean,
            u.clean.saturating_add(u.lossy)
        ),
        false => String::new(),
    };
    format!(
        "from {} on {} of {} calls that sent segments again are to {}, to {} hardly any: these segments, or what answers them, are lost on the way to {way} or back (inferred){one}",
        moment(u.since_ns),
        u.again,
        u.of,
        listed(&hosts),
        counted(u.clean_hosts, "other host", "other hosts")
    )
}

/// Before what is said of them all. What came, and was sent again without need, was not lost.
pub(super) fn with(t: &Tcp, (tone, said): (Tone, String)) -> (Tone, String) {
    let needless = t.mostly_needless().is_some();
    let Some(u) = t.lossy_hosts.as_ref().filter(|_| !needless) else {
        return (tone, said);
    };
    let clause = clause(u);
    match u.wrong() {
        true => (Tone::Bad, format!("{clause}; {said}")),
        false => (tone, format!("{}; {clause}.", said.trim_end_matches('.'))),
    }
}
