//! What was asked of each server, and what came of it: answers, requests without one, openings that failed.
//!
//! In: sockets, payload, openings, ends of connections. Out: figures by server, as most of its clients tell them, or it itself. Who waits when the recording ends has no answer only where
//! he waited longer than is usual; nor has one that the server closed. Of a server's own end nobody tells a goodbye from a request. Where events were lost meanwhile nothing is known.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use super::answers::server;
use super::attempts::{Came, attempts};
use super::ends::known;
use super::options::{Recording, seconds};
use crate::analyses::application::{Role, sockets};
use crate::analyses::verdict::{counted, duration};
use crate::facts::ConnectionId;
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::receive::tables::RxEnd;
use crate::reconstruct::tcp::states::{CLOSE_WAIT, ESTABLISHED};
use crate::reconstruct::transmit::tables::TxKind;

/// What was asked of it on one side.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Asking {
    /// Answers.
    pub answers: u64,
    /// Time compared.
    pub seconds: f64,
    /// Connections on which something was asked.
    pub asked: u64,
    /// Connections whose last request got no answer, for longer than is usual or as the peer ended them.
    pub unanswered: u64,
    /// Of these such that were over before the recording: the server closed them, or their client gave them up.
    pub given_up: u64,
    /// The longest of these waits, ns.
    pub longest_ns: i64,
    /// Connections of which nothing is known, as events were lost while their last request waited.
    pub unknown: u64,
    /// Attempts to open a connection.
    pub opens: u64,
    /// Of these refused.
    pub refused: u64,
    /// Without an answer.
    pub no_answer: u64,
    /// Failed otherwise.
    pub failed: u64,
    /// RSTs that this server's host sent for what came to it.
    pub resets: u64,
}

impl Asking {
    pub(super) fn per_second(&self) -> f64 {
        self.answers as f64 / self.seconds.max(1e-9)
    }
    pub(super) fn failed_opens(&self) -> u64 {
        self.refused + self.no_answer + self.failed
    }
    pub(super) fn in_vain(&self) -> u64 {
        self.unanswered + self.failed_opens()
    }
}

/// Of one server.
#[derive(Default)]
pub(super) struct Of {
    pub asking: Asking,
    /// Times of its answers.
    pub took: Vec<i64>,
    /// Units of payload that it sent.
    pub heard: u64,
    /// How long its last request on each connection waited, and what ended that.
    pub waits: Vec<Wait>,
}

/// How long a request waited in vain, and what ended that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wait {
    ns: i64,
    by: Until,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// The recording ended.
    Recording,
    /// Its client closed, or gave up.
    Closed,
    /// The server closed.
    Server,
    /// Events were lost.
    Lost,
}

pub(super) type Side = BTreeMap<String, Of>;

/// One end of a connection: the last request of the part compared, and the last of what the server sent, whenever that was.
#[derive(Default, Clone, Copy)]
struct Talk {
    asked: Option<i64>,
    heard: Option<i64>,
    units: u64,
}

/// What one end's sockets tell of a server, in one recording.
#[derive(Default)]
struct End {
    asked: u64,
    took: Vec<i64>,
    heard: u64,
    waits: Vec<Wait>,
}

fn talks(r: &Recording<'_>, names: &FxHashMap<ConnectionId, (String, Role)>) -> FxHashMap<ConnectionId, Talk> {
    let mut out: FxHashMap<ConnectionId, Talk> = FxHashMap::default();
    let rx = r
        .facts
        .rx
        .iter()
        .filter(|x| x.end != RxEnd::Protocol && x.bytes != Some(0));
    let rx = rx.filter_map(|x| Some((x.connection?, x.start_ns, false)));
    let tx = r
        .facts
        .tx
        .iter()
        .filter(|t| t.kind == TxKind::Tcp && t.bytes != Some(0));
    let tx = tx.filter_map(|t| Some((t.connection?, t.start_ns, true)));
    for (c, at, sent) in rx.chain(tx) {
        let Some((_, role)) = names.get(&c) else { continue };
        let of = out.entry(c).or_default();
        match (*role == Role::Client) == sent {
            true => of.asked = of.asked.max(Some(at).filter(|at| r.has(*at))),
            false => {
                of.heard = of.heard.max(Some(at));
                of.units += u64::from(r.has(at));
            }
        }
    }
    out
}

/// When each left the established state first behind its last request, and whether the peer made it.
fn ended(r: &Recording<'_>, talks: &FxHashMap<ConnectionId, Talk>) -> FxHashMap<ConnectionId, (i64, bool)> {
    let mut out: FxHashMap<ConnectionId, (i64, bool)> = FxHashMap::default();
    let behind = |c: &ConnectionId, at: i64| talks.get(c).and_then(|t| t.asked).is_some_and(|asked| at >= asked);
    let states = r
        .facts
        .tcp_states
        .iter()
        .filter(|s| s.kind == "sock" && s.state != ESTABLISHED);
    let states = states.map(|s| (s.connection, s.time_ns, s.state == CLOSE_WAIT));
    let resets = r.facts.resets.iter().filter(|x| x.received);
    let resets = resets.filter_map(|x| Some((x.connection?, x.time_ns, true)));
    for (c, at, by_peer) in states.chain(resets).filter(|(c, at, _)| behind(c, *at)) {
        let of = out.entry(c).or_insert((at, by_peer));
        if (at, !by_peer) < (of.0, !of.1) {
            *of = (at, by_peer);
        }
    }
    out
}

fn add(r: &Recording<'_>, out: &mut Side) {
    let (facts, here) = (r.facts, r.connections());
    let mut names: FxHashMap<ConnectionId, (String, Role)> = FxHashMap::default();
    for c in (0..facts.connections.len() as u32).map(ConnectionId) {
        let on = here.as_ref().is_none_or(|h| h.contains(&c));
        if let Some((role, name)) = known(facts, c)
            .filter(|_| on)
            .and_then(|x| Some((x, server(facts, c, x)?)))
        {
            names.insert(c, (name, role));
        }
    }
    let mut ends: BTreeMap<&str, [End; 2]> = BTreeMap::new();
    let at = |role: Role| usize::from(role == Role::Server);
    for s in sockets(facts).iter().filter(|s| s.in_turns) {
        let Some((name, role)) = names.get(&s.connection) else {
            continue;
        };
        let Some(end) = ends.entry(name).or_default().get_mut(at(*role)) else {
            continue;
        };
        let responses = s.judged_responses().filter(|(_, x)| r.has(x.send_ns)).map(|(ns, _)| ns);
        let turnarounds = s
            .judged_turnarounds()
            .filter(|t| r.has(t.start_ns()))
            .map(|t| t.total_ns());
        match role {
            Role::Client => end.took.extend(responses),
            Role::Server => end.took.extend(turnarounds),
        }
    }
    let (talks, lost) = (talks(r, &names), Lost::of(&facts.gaps));
    let ended = ended(r, &talks);
    for (c, talk) in &talks {
        let Some((name, role)) = names.get(c) else { continue };
        let Some(end) = ends.entry(name).or_default().get_mut(at(*role)) else {
            continue;
        };
        end.heard += talk.units;
        end.asked += u64::from(talk.asked.is_some());
        if let Some(asked) = talk.asked.filter(|t| talk.heard.is_none_or(|h| h < *t)) {
            let of = ended.get(c).copied().filter(|(until, _)| *until <= r.to_ns);
            let until = of.map_or(r.to_ns, |e| e.0);
            let by = match of {
                _ if lost.within(asked, until) => Until::Lost,
                None => Until::Recording,
                Some((_, true)) if *role == Role::Client => Until::Server,
                Some(_) => Until::Closed,
            };
            let ns = until.saturating_sub(asked);
            end.waits.push(Wait { ns, by });
        }
    }
    for (name, [client, own]) in ends {
        let of = out.entry(name.to_owned()).or_default();
        // What its clients tell is told once.
        of.asking.answers += client.took.len().max(own.took.len()) as u64;
        of.heard += client.heard.max(own.heard);
        of.asking.asked += client.asked.max(own.asked);
        of.waits.extend(if client.asked >= own.asked {
            client.waits
        } else {
            own.waits
        });
        of.took
            .extend(if client.took.is_empty() { own.took } else { client.took });
    }
    for a in attempts(r) {
        let of = &mut out.entry(a.server).or_default().asking;
        of.opens += 1;
        let slot = match a.came {
            Came::Stood => continue,
            Came::Refused => &mut of.refused,
            Came::NoAnswer => &mut of.no_answer,
            Came::Failed => &mut of.failed,
        };
        *slot += 1;
    }
    let sent = facts
        .resets
        .iter()
        .filter(|x| !x.received && x.connection.is_none() && x.to.is_some() && r.has(x.time_ns));
    for (address, port) in sent.filter_map(|x| x.from) {
        let name = SocketAddr::new(address.to_canonical(), port).to_string();
        out.entry(name).or_default().asking.resets += 1;
    }
}

pub(super) fn side(all: &[Recording<'_>]) -> Side {
    let mut out = Side::new();
    for r in all {
        add(r, &mut out);
    }
    let seconds = seconds(all);
    out.values_mut().for_each(|of| of.asking.seconds = seconds);
    out
}

/// What it was asked in vain, where so long a wait is not usual.
pub(super) fn asking(of: &Of, usual_ns: i64) -> Asking {
    let waits = || of.waits.iter();
    let in_vain = waits().filter(|w| w.by != Until::Lost && (w.by == Until::Server || w.ns > usual_ns));
    Asking {
        unanswered: in_vain.clone().count() as u64,
        given_up: in_vain.clone().filter(|w| w.by != Until::Recording).count() as u64,
        longest_ns: in_vain.map(|w| w.ns).max().unwrap_or(0),
        unknown: waits().filter(|w| w.by == Until::Lost).count() as u64,
        ..of.asking.clone()
    }
}

impl Asking {
    /// What came of what was asked.
    pub(super) fn came(&self) -> String {
        let mut all: Vec<String> = vec![];
        if self.unanswered > 0 {
            all.push(format!(
                "{} to it got no answer (the longest waited {})",
                counted(self.unanswered, "request", "requests"),
                duration(self.longest_ns)
            ));
        }
        let failed = self.failed_opens();
        if failed > 0 {
            let how = [
                (self.refused, "refused"),
                (self.no_answer, "without an answer"),
                (self.failed, "failed otherwise"),
            ];
            let how = how.iter().filter(|(n, _)| *n > 0).map(|(n, w)| format!("{n} {w}"));
            let how: Vec<String> = how.collect();
            let opens = counted(self.opens, "opening", "openings");
            all.push(format!(
                "{failed} of {opens} of connections to it failed ({})",
                how.join(", ")
            ));
        }
        if self.resets > 0 {
            let rsts = counted(self.resets, "segment", "segments");
            all.push(format!("{rsts} to it found no socket and got a RST"));
        }
        if self.unknown > 0 {
            let connections = counted(self.unknown, "connection", "connections");
            all.push(format!(
                "of {connections} to it nothing is known, as events were lost meanwhile"
            ));
        }
        match (all.is_empty(), self.asked) {
            (false, _) => all.join("; "),
            (true, 0) => "no request to it was recorded there".into(),
            (true, n) => format!(
                "it was asked on {}, and none waited longer than is usual",
                counted(n, "connection", "connections")
            ),
        }
    }
}
