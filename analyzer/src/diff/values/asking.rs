//! What was asked of each server, and what came of it: answers, messages without one, openings that failed.
//!
//! In: sockets, payload, openings, ends of connections. Out: figures by server, as most of its clients tell them, or it itself; a rate of messages in vain. The last message on a
//! connection has no answer only where it waited longer than is usual, or where the server closed upon it and had said nothing before. Messages of a size that gets none ([`super::usual`]) ask
//! for nothing. Of a server's own end nobody tells a goodbye from a request. Where events were lost meanwhile nothing is known.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::attempts::{Came, attempts};
use super::counted::{Counted, Exposure, Key, Kind};
use super::talks::{ended, names, talks};
use crate::analyses::application::{Role, sockets};
use crate::analyses::verdict::{counted, duration};
use crate::diff::servers::answers::LEDGER;
use crate::diff::sides::options::{Recording, seconds};
use crate::reconstruct::dispatch::Lost;
use crate::stat::nearest_rank;

/// Connections that end with a message that waits before that is usual.
const MUTE_LEAST: u64 = 3;
/// Name of the rate of messages without an answer.
pub(in crate::diff) const UNANSWERED_RATE: &str = "unanswered";

/// What was asked of it on one side.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Asking {
    /// Answers.
    pub answers: u64,
    /// Time compared.
    pub seconds: f64,
    /// Connections on which something was asked.
    pub asked: u64,
    /// Connections whose last message got no answer, for longer than is usual or as the peer ended them.
    pub unanswered: u64,
    /// Connections whose last message got none, either, and is such that gets none.
    pub mute: u64,
    /// Of these such that were over before the recording: the server closed them, or their client gave them up.
    pub given_up: u64,
    /// The longest of these waits, ns.
    pub longest_ns: i64,
    /// Connections of which nothing is known, as events were lost while their last message waited.
    pub unknown: u64,
    /// Attempts to open a connection of which it is known what came.
    pub opens: u64,
    /// Of these refused.
    pub refused: u64,
    /// Without an answer.
    pub no_answer: u64,
    /// Failed otherwise.
    pub failed: u64,
    /// Attempts besides these that a program gave up, so soon that an answer may have been on its way.
    pub opens_given_up: u64,
    /// How long it waited for half of these, ns.
    pub opens_given_up_p50_ns: i64,
    /// RSTs that this server's host sent for what came to it.
    pub resets: u64,
    /// Time of an answer, median, ns; 0: of none it is known.
    #[serde(skip)]
    pub(in crate::diff) took_p50_ns: i64,
}

impl Asking {
    pub(in crate::diff) fn per_second(&self) -> f64 {
        self.answers as f64 / self.seconds.max(1e-9)
    }
    pub(in crate::diff) fn failed_opens(&self) -> u64 {
        self.refused + self.no_answer + self.failed
    }
    pub(in crate::diff) fn in_vain(&self) -> u64 {
        self.unanswered + self.failed_opens()
    }
    /// What was in vain, and is over.
    pub(in crate::diff) fn over(&self) -> u64 {
        self.given_up.saturating_add(self.failed_opens())
    }
    /// Of several together.
    pub(in crate::diff) fn sum<'a>(all: impl Iterator<Item = &'a Asking>) -> Asking {
        all.fold(Asking::default(), |s, a| Asking {
            answers: s.answers.saturating_add(a.answers),
            seconds: a.seconds,
            asked: s.asked.saturating_add(a.asked),
            unanswered: s.unanswered.saturating_add(a.unanswered),
            mute: s.mute.saturating_add(a.mute),
            given_up: s.given_up.saturating_add(a.given_up),
            longest_ns: s.longest_ns.max(a.longest_ns),
            unknown: s.unknown.saturating_add(a.unknown),
            opens: s.opens.saturating_add(a.opens),
            refused: s.refused.saturating_add(a.refused),
            no_answer: s.no_answer.saturating_add(a.no_answer),
            failed: s.failed.saturating_add(a.failed),
            opens_given_up: s.opens_given_up.saturating_add(a.opens_given_up),
            opens_given_up_p50_ns: s.opens_given_up_p50_ns.max(a.opens_given_up_p50_ns),
            resets: s.resets.saturating_add(a.resets),
            took_p50_ns: s.took_p50_ns.max(a.took_p50_ns),
        })
    }
}

/// Of one server.
#[derive(Default)]
pub(in crate::diff) struct Of {
    pub asking: Asking,
    /// Times of its answers.
    pub took: Vec<i64>,
    /// When these were asked for.
    at: Vec<i64>,
    /// Units of payload that it sent.
    pub heard: u64,
    /// How long the last message to it on each connection waited, and what ended that.
    waits: Vec<Wait>,
    /// How long programs waited that gave an opening up too soon to tell.
    given_up: Vec<i64>,
    /// Tenths of a recording's time in which openings failed.
    pub tenths: BTreeSet<i64>,
}

/// How long a message waited in vain, and what ended that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wait {
    at: i64,
    ns: i64,
    by: Until,
    /// The server had said something on this connection.
    heard: bool,
    /// Messages of its size get no answer.
    mute: bool,
}

impl Of {
    /// Of one that was asked nothing.
    pub(in crate::diff) fn none(seconds: f64) -> Of {
        let mut out = Of::default();
        out.asking.seconds = seconds;
        out
    }
}

impl Wait {
    /// Nobody waits so long for what is usual; or the server closed, and had answered nothing. One who closes upon the last word of a talk refuses nothing.
    fn long(&self, usual_ns: i64) -> bool {
        self.by != Until::Lost && (self.ns > usual_ns || self.by == Until::Server && !self.heard)
    }
    fn in_vain(&self, usual_ns: i64) -> bool {
        !self.mute && self.long(usual_ns)
    }
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

pub(in crate::diff) type Side = BTreeMap<String, Of>;

/// What one end's sockets tell of a server, in one recording.
#[derive(Default)]
struct End {
    asked: u64,
    /// When it was asked, and how long the answer took.
    took: Vec<(i64, i64)>,
    heard: u64,
    waits: Vec<Wait>,
}

fn add(r: &Recording<'_>, out: &mut Side) {
    let (facts, names) = (r.facts, names(r));
    let mut ends: BTreeMap<&str, [End; 2]> = BTreeMap::new();
    let at = |role: Role| usize::from(role == Role::Server);
    for s in sockets(facts).iter().filter(|s| s.in_turns) {
        let Some((name, role)) = names.get(&s.connection) else {
            continue;
        };
        let Some(end) = ends.entry(name).or_default().get_mut(at(*role)) else {
            continue;
        };
        let responses = s.judged_responses().map(|(ns, x)| (x.send_ns, ns));
        let responses = responses.filter(|(at, _)| r.has(*at));
        let turnarounds = s.judged_turnarounds().map(|t| (t.start_ns(), t.total_ns()));
        let turnarounds = turnarounds.filter(|(at, _)| r.has(*at));
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
        if let Some((asked, bytes)) = talk.asked.filter(|(t, _)| talk.heard.is_none_or(|h| h < *t)) {
            let of = ended.get(c).copied().filter(|(until, _)| *until <= r.to_ns);
            let until = of.map_or(r.to_ns, |e| e.0);
            let by = match of {
                _ if lost.within(asked, until) => Until::Lost,
                None => Until::Recording,
                Some((_, true)) if *role == Role::Client => Until::Server,
                Some(_) => Until::Closed,
            };
            end.waits.push(Wait {
                at: asked,
                ns: until.saturating_sub(asked),
                by,
                heard: talk.heard.is_some(),
                mute: r.usual.is_some_and(|u| u.mute(name, bytes)),
            });
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
        let told = if client.took.is_empty() { own.took } else { client.took };
        for (at, ns) in told {
            of.at.push(at);
            of.took.push(ns);
        }
    }
    for a in attempts(r) {
        let whole = out.entry(a.server).or_default();
        let of = &mut whole.asking;
        of.opens += u64::from(a.came.failed().is_some());
        let slot = match a.came {
            Came::Stood | Came::UnderWay => continue,
            Came::GivenUp => {
                whole.given_up.push(a.took_ns);
                continue;
            }
            Came::Refused => &mut of.refused,
            Came::NoAnswer => &mut of.no_answer,
            Came::Failed => &mut of.failed,
        };
        *slot += 1;
        let width = (r.duration_ns() / 10).max(1);
        whole.tenths.insert(a.at_ns.saturating_sub(r.from_ns) / width);
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

pub(in crate::diff) fn side(all: &[Recording<'_>]) -> Side {
    let mut out = Side::new();
    for r in all {
        add(r, &mut out);
    }
    let seconds = seconds(all);
    out.values_mut().for_each(|of| of.asking.seconds = seconds);
    out
}

/// What it was asked in vain, where so long a wait is not usual. Where most of its talks end so on the side that answers (`mute`), it is no request that does.
pub(in crate::diff) fn asking(of: &Of, usual_ns: i64, mute: bool) -> Asking {
    let waits = || of.waits.iter();
    let in_vain = waits().filter(|w| !mute && w.in_vain(usual_ns));
    let silent = waits().filter(|w| (mute || w.mute) && w.long(usual_ns));
    Asking {
        unanswered: in_vain.clone().count() as u64,
        mute: silent.count() as u64,
        given_up: in_vain.clone().filter(|w| w.by != Until::Recording).count() as u64,
        longest_ns: in_vain.map(|w| w.ns).max().unwrap_or(0),
        unknown: waits().filter(|w| w.by == Until::Lost).count() as u64,
        opens_given_up: of.given_up.len() as u64,
        opens_given_up_p50_ns: nearest_rank(&mut of.given_up.clone(), 50).unwrap_or(0),
        took_p50_ns: nearest_rank(&mut of.took.clone(), 50).unwrap_or(0),
        ..of.asking.clone()
    }
}

/// Whether half of the connections on which it is asked, or more, end with a message that waits longer than is usual, and its size does not tell why: a subscription.
pub(in crate::diff) fn ends_mute(of: &Of, usual_ns: i64) -> bool {
    let silent = of.waits.iter().filter(|w| w.in_vain(usual_ns)).count() as u64;
    silent >= MUTE_LEAST && silent.saturating_mul(2) >= of.asking.asked
}

/// Counts messages that got no answer, where their client gave them up or the server closed upon them.
pub(in crate::diff) fn unanswered(r: &Recording<'_>, out: &mut Counted, block: impl Fn(i64) -> Option<usize>) {
    let mut all = Side::new();
    add(r, &mut all);
    for (server, of) in all {
        let Some(usual) = r.usual.and_then(|u| u.answer(&server)) else {
            continue;
        };
        let per = Exposure::Asked(server);
        for b in of.at.iter().filter_map(|at| block(*at)) {
            out.expose(per.clone(), b, 1.0);
        }
        let given_up = of.waits.iter().filter(|w| w.by != Until::Recording && w.in_vain(usual));
        for b in given_up.filter_map(|w| block(w.at)) {
            out.expose(per.clone(), b, 1.0);
            out.count(key(&per), per.clone(), b, 1.0);
        }
    }
}

/// Name of the rate of these messages.
pub(in crate::diff) fn key(of: &Exposure) -> Key {
    let meaning = "last messages of connections that got no answer, given up or closed upon, per message that was answered or was not";
    let name = format!("{LEDGER}.{UNANSWERED_RATE}{}", of.whose());
    Key::new(name, meaning, Kind::Units, true).needs(&["sock:inet_sock_set_state"])
}

impl Asking {
    /// `20 refused, 10 without an answer`.
    pub(in crate::diff) fn how_failed(&self) -> String {
        let how = [
            (self.refused, "refused"),
            (self.no_answer, "without an answer"),
            (self.failed, "failed otherwise"),
        ];
        let how = how.iter().filter(|(n, _)| *n > 0).map(|(n, w)| format!("{n} {w}"));
        how.collect::<Vec<_>>().join(", ")
    }
    /// What came of what was asked.
    pub(in crate::diff) fn came(&self) -> String {
        let mut all: Vec<String> = vec![];
        if self.unanswered > 0 {
            all.push(format!(
                "{} to it got no answer (the longest waited {})",
                counted(self.unanswered, "message", "messages"),
                duration(self.longest_ns)
            ));
        }
        let failed = self.failed_opens();
        if failed > 0 {
            let opens = counted(self.opens, "opening", "openings");
            let how = self.how_failed();
            all.push(format!("{failed} of {opens} of connections to it failed ({how})"));
        }
        if self.opens_given_up > 0 {
            let opens = counted(self.opens_given_up, "opening", "openings");
            let were = if self.opens_given_up == 1 { "was" } else { "were" };
            let after = duration(self.opens_given_up_p50_ns);
            all.push(format!(
                "{opens} of connections to it {were} given up after p50 {after}"
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
        if self.mute > 0 {
            let last = counted(self.mute, "connection", "connections");
            all.push(format!(
                "the last message on {last} to it got no answer, as others like it get none"
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
