//! Attempts of clients to open connections, and those that failed: refused, or no answer to any SYN.
//!
//! In: `opens`. Out: attempts; a rate of those that failed, by server and of all (the empty name). An attempt that its program gave up, or that waits when the
//! recording ends, has failed where a SYN was sent again, as no answer came in a second; else nothing is known of it, and it is none.

use std::net::SocketAddr;

use super::answers::LEDGER;
use super::counted::{Counted, Exposure, Key, Kind};
use super::options::Recording;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

/// Name of the rate.
pub(super) const FAILED_RATE: &str = "failed_opens";
/// Attempts that a server must have on each side for those that failed to be compared.
pub(super) const LEAST: f64 = 10.0;

/// What came of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    Stood,
    Refused,
    NoAnswer,
    /// Unreachable, no port, another error.
    Failed,
}

/// An attempt.
pub(super) struct Attempt {
    /// `address:port`.
    pub server: String,
    pub at_ns: i64,
    pub came: Came,
}

fn came(o: &OpenRow) -> Option<Came> {
    let again = o.syns_again.is_some_and(|n| n > 0);
    Some(match o.end {
        OpenEnd::Established => Came::Stood,
        OpenEnd::Refused => Came::Refused,
        OpenEnd::TimedOut => Came::NoAnswer,
        OpenEnd::GivenUp | OpenEnd::Waiting if again => Came::NoAnswer,
        OpenEnd::GivenUp | OpenEnd::Waiting => return None,
        OpenEnd::Unreachable | OpenEnd::NoPort | OpenEnd::Failed => Came::Failed,
    })
}

/// All of a recording that are known to be of TCP.
pub(super) fn attempts(r: &Recording<'_>) -> Vec<Attempt> {
    let here = r.connections();
    let counts = |o: &&OpenRow| {
        let on = |c| here.as_ref().is_none_or(|h| h.contains(&c));
        o.connection.is_some_and(on) && o.confidence.is_solid() && r.has(o.start_ns)
    };
    let one = |o: &OpenRow| {
        let (address, port) = o.to?;
        Some(Attempt {
            server: SocketAddr::new(address.to_canonical(), port).to_string(),
            at_ns: o.start_ns,
            came: came(o)?,
        })
    };
    r.facts.opens.iter().filter(counts).filter_map(one).collect()
}

/// Counts those that failed.
pub(super) fn failed(r: &Recording<'_>, out: &mut Counted, block: impl Fn(i64) -> Option<usize>) {
    for a in attempts(r) {
        let Some(b) = block(a.at_ns) else { continue };
        for server in [a.server.as_str(), ""] {
            let per = Exposure::Attempts(server.to_owned());
            out.expose(per.clone(), b, 1.0);
            if a.came != Came::Stood {
                let name = match server {
                    "" => format!("{LEDGER}.{FAILED_RATE}"),
                    _ => format!("{LEDGER}.{FAILED_RATE}[{server}]"),
                };
                let meaning = "openings of connections that failed, per attempt of a client";
                let key = Key::new(name, meaning, Kind::Units, true).needs(&["sock:inet_sock_set_state"]);
                out.count(key, per, b, 1.0);
            }
        }
    }
}

/// Whether attempts to reach this server (empty: all) are compared by themselves.
pub(super) fn counts(server: &str, before: &[Counted], after: &[Counted], hidden: bool) -> bool {
    let n = |side: &[Counted], server: &str| -> f64 {
        let of = side.iter().map(|c| c.exposed(&Exposure::Attempts(server.to_owned())));
        of.sum()
    };
    let enough = |server: &str| n(before, server).min(n(after, server)) >= LEAST;
    let named = before.iter().flat_map(Counted::asked).any(enough);
    match server.is_empty() {
        true => (hidden || !named) && enough(""),
        false => !hidden && enough(server),
    }
}
