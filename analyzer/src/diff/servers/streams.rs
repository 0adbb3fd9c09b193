//! Streams that a server sends without being asked (events, prices, logs): on one side each piece as it comes, on the other many at once after a long time, as
//! a proxy that buffers or compresses sends them. That is in no answer's time. No test of chance is asked: five times as long from send to send, and three
//! times as much at once.
//!
//! In: rows of `tx` and `rx` of sockets that accepted their connection. Must not take for it: a source that has less to say (its sends are no larger).

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::answers::server;
use crate::analyses::application::Role;
use crate::analyses::verdict::duration;
use crate::diff::sides::options::Recording;
use crate::facts::ConnectionId;
use crate::name::Name;
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::{TxKind, TxStart};
use crate::stat::nearest_rank;

/// Sends closer than this are one, ns.
const ONE_NS: i64 = 20_000_000;
/// Fewest times from one to the next, of a side.
const LEAST: usize = 10;
/// So many times as long, and as much.
const LONGER: i64 = 5;
const LARGER: i64 = 3;
/// So many times as much per time at most.
const SAME: f64 = 2.0;
/// Longest time on the side that holds back below which nobody minds, ns.
const NOTICE_NS: i64 = 500_000_000;

/// A server that holds back on one side.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::diff) struct Streams {
    /// It holds back after, and did not before.
    pub worse: bool,
    /// Without its end.
    pub sentence: String,
}

/// Of one server.
#[derive(Default)]
struct Sends {
    gaps: Vec<i64>,
    bytes: Vec<i64>,
    connections: usize,
    /// Who sent last.
    task: Name,
}

type Side = BTreeMap<String, Sends>;

/// Of one connection: sends (begin, end, bytes), and who sent last.
type Sent = (Vec<(i64, i64, i64)>, Name);

fn side(all: &[Recording<'_>]) -> Side {
    let mut out = Side::new();
    for r in all {
        let serves = |c: ConnectionId| {
            let row = r.facts.connections.get(c.0 as usize);
            row.is_some_and(|row| row.role().0 == Role::Server)
        };
        // Those that are one, as one.
        let mut sent: FxHashMap<ConnectionId, Sent> = FxHashMap::default();
        let mut rows: Vec<(ConnectionId, i64, i64, Name)> = (r.facts.tx.iter())
            .filter(|t| t.kind == TxKind::Tcp && t.start == TxStart::Sendmsg && r.has(t.start_ns) && t.bytes != Some(0))
            .filter_map(|t| Some((t.connection?, t.start_ns, i64::from(t.bytes.unwrap_or(0)), t.task)))
            .filter(|t| serves(t.0))
            .collect();
        rows.sort_unstable_by_key(|t| (t.0, t.1));
        for (c, at, bytes, task) in rows {
            let of = sent.entry(c).or_default();
            of.1 = task;
            match of.0.last_mut() {
                Some(last) if at.saturating_sub(last.1) < ONE_NS => {
                    (last.1, last.2) = (at, last.2.saturating_add(bytes))
                }
                _ => of.0.push((at, at, bytes)),
            }
        }
        // Who has no room to send waits for his reader, or for the network.
        let held = r
            .facts
            .tx
            .iter()
            .filter(|t| t.stage(Stage::Sndbuf).is_some_and(|ns| ns > 0));
        let held: FxHashSet<ConnectionId> = held.filter_map(|t| t.connection).collect();
        // What was asked is not known where nothing received is told.
        let told = r.facts.rx.iter().any(|x| x.bytes.is_some_and(|n| n > 0));
        sent.retain(|c, of| of.0.len() > 2 && told && !held.contains(c));
        // Who is asked between two sends answers.
        let mut asked: FxHashMap<ConnectionId, usize> = FxHashMap::default();
        for x in r.facts.rx.iter().filter(|x| x.bytes != Some(0)) {
            let Some((c, of)) = x.connection.and_then(|c| Some((c, sent.get(&c)?))) else {
                continue;
            };
            let after = of.0.first().is_some_and(|first| x.start_ns > first.0);
            *asked.entry(c).or_default() += usize::from(after);
        }
        for (c, of) in sent.into_iter().filter(|(c, _)| asked.get(c).is_none_or(|n| *n == 0)) {
            let Some(name) = server(r, c, Role::Server) else {
                continue;
            };
            let sum = out.entry(name).or_default();
            (sum.connections, sum.task) = (sum.connections + 1, of.1);
            let gaps = of.0.windows(2).filter_map(|w| match w {
                [a, b] => Some(b.0.saturating_sub(a.0)),
                _ => None,
            });
            sum.gaps.extend(gaps);
            sum.bytes.extend(of.0.iter().skip(1).map(|s| s.2));
        }
    }
    out
}

/// Those with the longest times first; none where names are pseudonyms.
pub(in crate::diff) fn of(before: &[Recording<'_>], after: &[Recording<'_>], hidden: bool) -> Vec<Streams> {
    if hidden {
        return vec![];
    }
    let (before, after) = (side(before), side(after));
    let mut found: Vec<(i64, Streams)> = vec![];
    for (name, b) in &before {
        let Some(a) = after.get(name) else { continue };
        let p50 = |v: &[i64]| nearest_rank(&mut v.to_vec(), 50).unwrap_or(0);
        let (gaps, bytes) = ((p50(&b.gaps), p50(&a.gaps)), (p50(&b.bytes), p50(&a.bytes)));
        let worse = gaps.1 > gaps.0;
        let held = |less: (i64, i64), more: (i64, i64)| {
            // As much in the same time, or less where it is compressed: another source says more.
            let rate = |of: (i64, i64)| of.1 as f64 / of.0.max(1) as f64;
            let longer = more.0 >= NOTICE_NS && more.0 >= less.0.saturating_mul(LONGER);
            longer && more.1 >= less.1.saturating_mul(LARGER) && rate(more) <= SAME * rate(less)
        };
        let step = match worse {
            true => held((gaps.0, bytes.0), (gaps.1, bytes.1)),
            false => held((gaps.1, bytes.1), (gaps.0, bytes.0)),
        };
        if !step || b.gaps.len().min(a.gaps.len()) < LEAST {
            continue;
        }
        let who = match a.task.is_empty() {
            true => "The program".to_owned(),
            false => a.task.text().into_owned(),
        };
        let sentence = format!(
            "{who} {} what it streams on {name}: p50 {} -> {} from one send to the next, {} -> {} bytes at once ({} -> {} sends on {} -> {} connections on which nobody asks); that is in no answer's time",
            if worse { "holds back" } else { "no longer holds back" },
            duration(gaps.0),
            duration(gaps.1),
            bytes.0,
            bytes.1,
            b.bytes.len(),
            a.bytes.len(),
            b.connections,
            a.connections,
        );
        found.push((gaps.0.max(gaps.1), Streams { worse, sentence }));
    }
    found.sort_by(|x, y| y.0.cmp(&x.0).then_with(|| x.1.sentence.cmp(&y.1.sentence)));
    found.into_iter().map(|f| f.1).collect()
}
