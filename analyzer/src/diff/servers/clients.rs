//! Servers whose answers are compared by client: where those of one address take many times as long as another's and their shares changed, all of
//! a server's answers together would show the change of the mixture (of clients that ask one after the other, who is answered sooner asks more often).
//!
//! In: answers of both sides. Out: servers, and of each the addresses. Times alone are compared so; counts are of all clients.

use std::collections::{BTreeMap, BTreeSet};

use super::answers::{LEAST, server};
use crate::analyses::application::{Role, sockets};
use crate::diff::sides::options::Recording;
use crate::facts::{ConnectionId, Facts};
use crate::stat::nearest_rank;

/// Part of a server's answers that clients which are compared must have on each side: of the others nothing would be said.
const MOST: f64 = 0.9;
/// Times by which medians of two clients differ.
const DIFFER: i64 = 3;
/// By so much the share of a client's answers must have changed.
const SHARE: f64 = 0.05;

/// Between the server and the client in a name.
const FROM: &str = " from ";

/// Times by client address.
type Clients = BTreeMap<String, Vec<i64>>;

/// The servers that are compared so.
#[derive(Debug, Clone, Default)]
pub(in crate::diff) struct Apart(BTreeSet<String>);

/// Address of the client of a socket.
fn client(facts: &Facts, connection: ConnectionId) -> Option<String> {
    let row = facts.connections.get(connection.0 as usize)?;
    Some(row.saddr?.to_canonical().to_string())
}

fn side(all: &[Recording<'_>]) -> BTreeMap<String, Clients> {
    let mut out: BTreeMap<String, Clients> = BTreeMap::new();
    for r in all {
        let here = r.connections();
        let takes = |c: &ConnectionId| here.as_ref().is_none_or(|h| h.contains(c));
        for s in sockets(r.facts).iter().filter(|s| s.in_turns && s.role == Role::Client) {
            let (true, Some(server), Some(client)) = (
                takes(&s.connection),
                server(r, s.connection, s.role),
                client(r.facts, s.connection),
            ) else {
                continue;
            };
            let solid = s
                .judged_responses()
                .filter(|(_, row)| row.confidence.is_solid() && r.has(row.send_ns));
            let of = out.entry(server).or_default().entry(client).or_default();
            of.extend(solid.map(|(ns, _)| ns));
        }
    }
    out
}

/// Whether one of these takes many times as long as another.
fn differ(of: &[&Vec<i64>]) -> bool {
    let medians = of.iter().filter_map(|v| nearest_rank(&mut (*v).clone(), 50));
    let medians: Vec<i64> = medians.collect();
    let (least, most) = (medians.iter().min(), medians.iter().max());
    least.zip(most).is_some_and(|(l, m)| *m >= l.saturating_mul(DIFFER))
}

fn apart(before: &Clients, after: &Clients) -> bool {
    let both: Vec<&String> = before
        .iter()
        .filter(|(c, v)| v.len() >= LEAST && after.get(*c).is_some_and(|v| v.len() >= LEAST))
        .map(|(c, _)| c)
        .collect();
    let of = |side: &Clients| -> f64 { side.values().map(Vec::len).sum::<usize>().max(1) as f64 };
    let whole = (of(before), of(after));
    let share = |side: &Clients, c: &String, of: f64| side.get(c).map_or(0, Vec::len) as f64 / of;
    let shares = both
        .iter()
        .map(|c| (share(before, c, whole.0), share(after, c, whole.1)));
    let (b, a) = shares.clone().fold((0.0, 0.0), |sum, s| (sum.0 + s.0, sum.1 + s.1));
    if b < MOST || a < MOST {
        return false;
    }
    let moved = shares.clone().any(|(b, a)| (b - a).abs() >= SHARE);
    let times = |side: &Clients| differ(&both.iter().filter_map(|c| side.get(*c)).collect::<Vec<_>>());
    both.len() > 1 && moved && (times(before) || times(after))
}

/// The server of such a name.
pub(in crate::diff) fn server_of(name: &str) -> &str {
    name.split_once(FROM).map_or(name, |(server, _)| server)
}

/// The client of such a name, where it has one.
pub(in crate::diff) fn client_of(name: &str) -> Option<&str> {
    name.split_once(FROM).map(|(_, client)| client)
}

impl Apart {
    pub(in crate::diff) fn of(before: &[Recording<'_>], after: &[Recording<'_>]) -> Apart {
        let (b, a) = (side(before), side(after));
        let both = b
            .iter()
            .filter(|(server, of)| a.get(*server).is_some_and(|after| apart(of, after)));
        Apart(both.map(|(server, _)| server.clone()).collect())
    }
    /// What a client's socket is compared as: its server, or that and its own address.
    pub(in crate::diff) fn name(&self, facts: &Facts, connection: ConnectionId, server: &str) -> String {
        let of = client(facts, connection).filter(|_| self.0.contains(server));
        of.map_or_else(|| server.to_owned(), |c| format!("{server}{FROM}{c}"))
    }
}
