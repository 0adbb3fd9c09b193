//! Which servers answer what is asked of one address, where something on the way shares connections out (DNAT, a balancer of layer 4): servers that came to it, or went, and
//! what they get of the requests. It shares out connections, not requests: who keeps his connections stays where he was.
//!
//! In: `responses` with both ends in the recording. Out: sentences; no verdict. Must not take for it: an address that always stood for one server alone.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::answers::server;
use super::divided::Divided;
use crate::analyses::application::Role;
use crate::diff::sides::options::Recording;
use crate::facts::{ConnectionId, Facts};

/// Fewest answers of a side.
const LEAST: u64 = 30;
/// Smallest change of one server's share that is said, and fewest connections of a server that came, or went, or of each side where shares moved.
const MOVED: f64 = 0.2;
const CONNECTIONS: usize = 5;
/// Share of the answers over connections from before the recording from which these are what counts.
const MOSTLY: f64 = 0.9;
/// Servers that are named.
const NAMED: usize = 4;

/// An end, as a person reads it.
type Name = String;

/// What one server got of what was asked of the address.
#[derive(Debug, Default)]
struct Got {
    answers: u64,
    connections: BTreeSet<(usize, u32)>,
    /// Of these, over connections that stood when the recording began.
    old: (u64, BTreeSet<(usize, u32)>),
}

type Side = BTreeMap<Name, BTreeMap<Name, Got>>;

fn add(side: &mut Side, at: usize, r: &Recording<'_>) {
    let facts: &Facts = r.facts;
    let opened: FxHashSet<ConnectionId> = facts.opens.iter().filter_map(|o| o.connection).collect();
    // Whom both ends say it is, once for each connection.
    let mut ends: FxHashMap<(ConnectionId, ConnectionId), Option<(Name, Name)>> = FxHashMap::default();
    for a in facts.responses.iter().filter(|a| !a.overlap && r.has(a.send_ns)) {
        let Some(peer) = a.peer.map(|p| p.connection) else {
            continue;
        };
        let both = ends.entry((a.connection, peer)).or_insert_with(|| {
            let asked = server(r, a.connection, Role::Client)?;
            Some((asked, server(r, peer, Role::Server)?))
        });
        let Some((asked, server)) = both.clone() else { continue };
        let of = side.entry(asked).or_default().entry(server).or_default();
        let connection = (at, a.connection.0);
        of.answers += 1;
        of.connections.insert(connection);
        if !opened.contains(&a.connection) {
            of.old.0 += 1;
            of.old.1.insert(connection);
        }
    }
}

fn side(recordings: &[Recording<'_>]) -> Side {
    let mut side = Side::new();
    for (at, r) in recordings.iter().enumerate() {
        add(&mut side, at, r);
    }
    side
}

fn answers(of: &BTreeMap<Name, Got>) -> u64 {
    of.values().map(|g| g.answers).sum()
}

/// Those of most answers first.
pub(in crate::diff) fn of(before: &[Recording<'_>], after: &[Recording<'_>]) -> Vec<Divided> {
    let (b, a) = (side(before), side(after));
    let mut found: Vec<(u64, Divided)> = vec![];
    for (asked, now) in &a {
        let Some(then) = b.get(asked) else { continue };
        let (n, m) = (answers(then), answers(now));
        let names: BTreeSet<&Name> = then.keys().chain(now.keys()).collect();
        if n.min(m) < LEAST || names.len() < 2 {
            continue;
        }
        let share = |of: &BTreeMap<Name, Got>, all: u64, server: &Name| {
            of.get(server).map_or(0.0, |g| g.answers as f64 / all.max(1) as f64)
        };
        let connections = |of: &BTreeMap<Name, Got>| of.values().map(|g| g.connections.len()).sum::<usize>();
        let many = connections(then).min(connections(now)) >= CONNECTIONS;
        let moved = many
            && names
                .iter()
                .any(|s| (share(then, n, s) - share(now, m, s)).abs() >= MOVED);
        // A stray connection brings no server.
        let only = |one: &BTreeMap<Name, Got>, other: &BTreeMap<Name, Got>| {
            let mut apart = one.iter().filter(|(s, _)| !other.contains_key(*s));
            apart.any(|(_, g)| g.connections.len() >= CONNECTIONS)
        };
        if !moved && !only(now, then) && !only(then, now) {
            continue;
        }
        let mut order: Vec<&Name> = names.into_iter().collect();
        order.sort_by(|x, y| share(now, m, y).total_cmp(&share(now, m, x)).then(x.cmp(y)));
        let percent = |share: f64| format!("{:.1}", share * 100.0);
        let each = order.iter().take(NAMED).map(|s| match then.contains_key(*s) {
            true => format!("{s} {} -> {} %", percent(share(then, n, s)), percent(share(now, m, s))),
            false => format!("{s} new {} %", percent(share(now, m, s))),
        });
        let each: Vec<String> = each.collect();
        let more = match order.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let sentence = format!(
            "What is asked of {asked} is shared out otherwise over servers: {}{more} (of {n} -> {m} answers){}",
            each.join(", "),
            kept(now, m)
        );
        found.push((n.saturating_add(m), Divided { sentence, gone: vec![] }));
    }
    found.sort_by(|x, y| y.0.cmp(&x.0).then_with(|| x.1.sentence.cmp(&y.1.sentence)));
    found.into_iter().map(|f| f.1).collect()
}

/// `; 22 connections older than the recording have 98.0 % of the answers, all from 10.0.0.1:80: ...`
fn kept(now: &BTreeMap<Name, Got>, all: u64) -> String {
    let old: Vec<(&Name, &Got)> = now.iter().filter(|(_, g)| g.old.0 > 0).collect();
    let of_old: u64 = old.iter().map(|(_, g)| g.old.0).sum();
    let connections: usize = old.iter().map(|(_, g)| g.old.1.len()).sum();
    let others = now.values().filter(|g| g.old.0 == 0);
    let opened: usize = others.map(|g| g.connections.len()).sum();
    if (of_old as f64) < MOSTLY * all as f64 || old.len() >= now.len() {
        return String::new();
    }
    let from: Vec<&str> = old.iter().map(|(s, _)| s.as_str()).collect();
    format!(
        "; {connections} connections that are older than the recording carry {:.1} % of the answers, all from {}, and only {opened} opened since lead to others: connections are shared out, and who keeps his own stays where he was",
        of_old as f64 / all as f64 * 100.0,
        from.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn got(answers: u64, connections: u32, old: (u64, u32)) -> Got {
        let ids = |n: u32| (0..n).map(|c| (0, c)).collect();
        Got {
            answers,
            connections: ids(connections),
            old: (old.0, ids(old.1)),
        }
    }

    /// What is said of old connections needs that they carry nearly all, and lead to fewer servers than there are.
    #[test]
    fn old_connections_are_told_where_they_keep_new_servers_idle() {
        let of = |all: Vec<(&str, Got)>| {
            all.into_iter()
                .map(|(s, g)| (s.to_owned(), g))
                .collect::<BTreeMap<_, _>>()
        };
        let idle = of(vec![("a:1", got(1_700, 29, (1_690, 22))), ("b:1", got(7, 7, (0, 0)))]);
        let said = "; 22 connections that are older than the recording carry 99.0 % of the answers, all from a:1, and only 7 opened since lead to \
                    others: connections are shared out, and who keeps his own stays where he was";
        assert_eq!(kept(&idle, 1_707), said);
        let fresh = of(vec![("a:1", got(900, 40, (500, 10))), ("b:1", got(800, 40, (0, 0)))]);
        assert_eq!(kept(&fresh, 1_700), "");
        let both = of(vec![("a:1", got(900, 10, (900, 10))), ("b:1", got(800, 10, (800, 10)))]);
        assert_eq!(kept(&both, 1_700), "");
    }
}
