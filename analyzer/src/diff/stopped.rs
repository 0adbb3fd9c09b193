//! Servers that answer on one side alone: one that hangs, refuses, or is asked no more. There are no times to compare then, and what is compared of others
//! would pass for good news.
//!
//! In: answers, payload and openings of both sides. Out: figures, and a sentence for each server with [`LEAST`] answers or more on one side, and a tenth of
//! that per second at most on the other, where as many would have been [`EXPECTED`]. What was asked of it there, and what came of that, is said. Who waits when
//! the recording ends has no answer only where he waited longer than is usual on the other side. Many requests in vain are worse (or better) without a test of
//! chance; else nothing is judged, and the answer is no good news.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use super::answers::{LEAST, server};
use super::attempts::{Came, attempts};
use super::ends::known;
use super::options::Recording;
use crate::analyses::application::{Role, sockets};
use crate::analyses::verdict::{counted, duration};
use crate::facts::ConnectionId;
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::receive::tables::RxEnd;
use crate::reconstruct::tcp::states::{CLOSE_WAIT, ESTABLISHED};
use crate::reconstruct::transmit::tables::TxKind;
use crate::stat::nearest_rank;

/// Part of the answers per second, and of what was sent with them, that the other side has at most.
const FEW: f64 = 0.1;
/// Answers that it would have at least, were it as before.
const EXPECTED: f64 = 10.0;
/// So many times as long as ninety-nine of a hundred answers took, nobody waits for one that is usual.
const USUAL: i64 = 2;
/// Requests and openings in vain from which it is worse.
const MANY: u64 = 10;
/// Servers told.
const TOLD: usize = 2;
/// Lengths of recordings within this factor are not told.
const LENGTHS: f64 = 1.1;
/// Without one of these on one side alone, nothing is known of answers there.
const TOLD_BY: [&str; 6] = [
    "skb:skb_copy_datagram_iovec",
    "sock:sock_send_length",
    "sock:sock_recv_length",
    "sock:inet_sock_set_state",
    "net:netif_receive_skb",
    "tcp:tcp_probe",
];

/// A server that answers on one side alone.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Stopped {
    /// `address:port`.
    pub server: String,
    /// Before.
    pub before: Asking,
    /// After.
    pub after: Asking,
}

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
    /// The longest of these waits, ns.
    pub longest_ns: i64,
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
    fn per_second(&self) -> f64 {
        self.answers as f64 / self.seconds.max(1e-9)
    }
    fn failed_opens(&self) -> u64 {
        self.refused + self.no_answer + self.failed
    }
    fn in_vain(&self) -> u64 {
        self.unanswered + self.failed_opens()
    }
}

/// Of one server.
#[derive(Default)]
struct Of {
    asking: Asking,
    /// Times of its answers.
    took: Vec<i64>,
    /// Units of payload that it sent.
    heard: u64,
    /// What its last request on each connection waited for, and whether the peer ended it.
    waits: Vec<(i64, bool)>,
}

type Side = BTreeMap<String, Of>;

/// One end of a connection: the last request, and the last of what the server sent.
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
    waits: Vec<(i64, bool)>,
}

fn talks(r: &Recording<'_>, names: &FxHashMap<ConnectionId, (String, Role)>) -> FxHashMap<ConnectionId, Talk> {
    let mut out: FxHashMap<ConnectionId, Talk> = FxHashMap::default();
    let rx = r.facts.rx.iter().filter(|x| x.end != RxEnd::Protocol && x.bytes != Some(0));
    let rx = rx.filter_map(|x| Some((x.connection?, x.start_ns, false)));
    let tx = r.facts.tx.iter().filter(|t| t.kind == TxKind::Tcp && t.bytes != Some(0));
    let tx = tx.filter_map(|t| Some((t.connection?, t.start_ns, true)));
    for (c, at, sent) in rx.chain(tx) {
        let Some((_, role)) = names.get(&c) else { continue };
        let of = out.entry(c).or_default();
        match (*role == Role::Client) == sent {
            true => of.asked = of.asked.max(Some(at)),
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
    let states = r.facts.tcp_states.iter().filter(|s| s.kind == "sock" && s.state != ESTABLISHED);
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
        if let Some((role, name)) = known(facts, c).filter(|_| on).and_then(|x| Some((x, server(facts, c, x)?))) {
            names.insert(c, (name, role));
        }
    }
    let mut ends: BTreeMap<&str, [End; 2]> = BTreeMap::new();
    let at = |role: Role| usize::from(role == Role::Server);
    for s in sockets(facts).iter().filter(|s| s.in_turns) {
        let Some((name, role)) = names.get(&s.connection) else { continue };
        let Some(end) = ends.entry(name).or_default().get_mut(at(*role)) else { continue };
        let responses = s.judged_responses().filter(|(_, x)| r.has(x.send_ns)).map(|(ns, _)| ns);
        let turnarounds = s.judged_turnarounds().filter(|t| r.has(t.start_ns())).map(|t| t.total_ns());
        match role {
            Role::Client => end.took.extend(responses),
            Role::Server => end.took.extend(turnarounds),
        }
    }
    let (talks, lost) = (talks(r, &names), Lost::of(&facts.gaps));
    let ended = ended(r, &talks);
    for (c, talk) in &talks {
        let Some((name, role)) = names.get(c) else { continue };
        let Some(end) = ends.entry(name).or_default().get_mut(at(*role)) else { continue };
        end.heard += talk.units;
        let last = talk.asked.filter(|t| r.has(*t));
        end.asked += u64::from(last.is_some());
        if let Some(asked) = last.filter(|t| talk.heard.is_none_or(|h| h < *t)) {
            let (until, by_peer) = ended.get(c).copied().unwrap_or((r.to_ns, false));
            let until = until.min(r.to_ns);
            if !lost.within(asked, until) {
                end.waits.push((until.saturating_sub(asked), by_peer));
            }
        }
    }
    for (name, [client, own]) in ends {
        let of = out.entry(name.to_owned()).or_default();
        // What its clients tell is told once.
        of.asking.answers += client.took.len().max(own.took.len()) as u64;
        of.heard += client.heard.max(own.heard);
        of.asking.asked += client.asked.max(own.asked);
        of.waits.extend(if client.asked > 0 { client.waits } else { own.waits });
        of.took.extend(if client.took.is_empty() { own.took } else { client.took });
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
    let sent = facts.resets.iter().filter(|x| !x.received && x.connection.is_none() && r.has(x.time_ns));
    for (address, port) in sent.filter_map(|x| x.from) {
        let name = SocketAddr::new(address.to_canonical(), port).to_string();
        out.entry(name).or_default().asking.resets += 1;
    }
}

fn side(all: &[Recording<'_>]) -> Side {
    let mut out = Side::new();
    for r in all {
        add(r, &mut out);
    }
    let seconds = all.iter().map(Recording::duration_ns).sum::<i64>() as f64 / 1e9;
    out.values_mut().for_each(|of| of.asking.seconds = seconds);
    out
}

/// What it was asked in vain, where so long a wait is not usual.
fn asking(of: &Of, usual_ns: i64) -> Asking {
    let in_vain = of.waits.iter().filter(|(ns, by_peer)| *by_peer || *ns > usual_ns);
    Asking {
        unanswered: in_vain.clone().count() as u64,
        longest_ns: in_vain.map(|w| w.0).max().unwrap_or(0),
        ..of.asking.clone()
    }
}

/// Those that were asked in vain first, then those with most answers; none where names are pseudonyms or others were cut.
pub(super) fn of(before: &[Recording<'_>], after: &[Recording<'_>], hidden: bool) -> Vec<Stopped> {
    let told = |r: &Recording<'_>| TOLD_BY.map(|key| r.facts.capture.recorded(key));
    let ways: BTreeSet<[bool; 6]> = before.iter().chain(after).map(told).collect();
    if hidden || ways.len() > 1 {
        return vec![];
    }
    let (b, a) = (side(before), side(after));
    let seconds = |all: &[Recording<'_>]| all.iter().map(Recording::duration_ns).sum::<i64>() as f64 / 1e9;
    let none = |seconds| Of {
        asking: Asking {
            seconds,
            ..Asking::default()
        },
        ..Of::default()
    };
    let nothing = [none(seconds(before)), none(seconds(after))];
    let names: BTreeSet<&String> = b.keys().chain(a.keys()).collect();
    let one = |server: &String| {
        let sides = [b.get(server).unwrap_or(&nothing[0]), a.get(server).unwrap_or(&nothing[1])];
        let [x, y] = sides;
        let (high, low) = match x.asking.per_second() >= y.asking.per_second() {
            true => (x, y),
            false => (y, x),
        };
        let (rate, time) = (high.asking.per_second(), low.asking.seconds);
        let heard = |of: &Of| of.heard as f64 / of.asking.seconds.max(1e-9);
        let few = low.asking.per_second() <= FEW * rate && heard(low) <= FEW * heard(high);
        if !few || high.asking.answers < LEAST as u64 || rate * time < EXPECTED {
            return None;
        }
        let usual = nearest_rank(&mut high.took.clone(), 99)?.saturating_mul(USUAL);
        let [before, after] = sides.map(|of| asking(of, usual));
        Some(Stopped {
            server: server.clone(),
            before,
            after,
        })
    };
    let mut all: Vec<Stopped> = names.into_iter().filter_map(one).collect();
    all.sort_by_key(|s| {
        let (high, low) = s.sides();
        (std::cmp::Reverse((low.in_vain(), high.answers)), s.server.clone())
    });
    all
}

impl Stopped {
    /// It answers after, and not before.
    fn starts(&self) -> bool {
        self.after.per_second() > self.before.per_second()
    }
    /// The side that answers, and the other.
    fn sides(&self) -> (&Asking, &Asking) {
        match self.starts() {
            true => (&self.after, &self.before),
            false => (&self.before, &self.after),
        }
    }
    /// It was asked in vain.
    pub(super) fn in_vain(&self) -> bool {
        self.sides().1.in_vain() > 0
    }
    /// So often that no test of chance is asked, and on the other side not.
    pub(super) fn worse(&self) -> Option<bool> {
        let (high, low) = self.sides();
        let n = low.in_vain();
        (n >= MANY && high.in_vain() as f64 <= FEW * n as f64).then_some(!self.starts())
    }
    /// `After, 10.0.0.1:80 answered nothing: 500 answers before, 0 after; 12 requests to it got no answer (the longest waited 4.20 s)`.
    pub(super) fn sentence(&self) -> String {
        let (_, low) = self.sides();
        let when = if self.starts() { "Before" } else { "After" };
        let what = if low.answers == 0 { "nothing" } else { "hardly anything" };
        let (b, a) = (&self.before, &self.after);
        let lengths = match b.seconds.max(a.seconds) > LENGTHS * b.seconds.min(a.seconds) {
            true => format!(" (in {:.1} and {:.1} s)", b.seconds, a.seconds),
            false => String::new(),
        };
        format!(
            "{when}, {} answered {what}: {} before, {} after{lengths}; {}",
            self.server,
            counted(b.answers, "answer", "answers"),
            a.answers,
            low.came()
        )
    }
}

impl Asking {
    /// What came of what was asked.
    fn came(&self) -> String {
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
            all.push(format!("{failed} of {opens} of connections to it failed ({})", how.join(", ")));
        }
        if self.resets > 0 {
            let rsts = counted(self.resets, "segment", "segments");
            all.push(format!("{rsts} to it found no socket and got a RST"));
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

/// Sentences: of those that were asked in vain, and of the others.
pub(super) fn said(all: &[Stopped]) -> (Vec<String>, Vec<String>) {
    let end = |s: &Stopped| format!("{}.", s.sentence());
    let (vain, others): (Vec<&Stopped>, Vec<&Stopped>) = all.iter().partition(|s| s.in_vain());
    let sentences = |of: Vec<&Stopped>, how: &str| -> Vec<String> {
        let left = of.len().saturating_sub(TOLD);
        let more = match left {
            0 => None,
            1 => Some(format!("1 more server answers on one side alone{how}.")),
            n => Some(format!("{n} more servers answer on one side alone{how}.")),
        };
        of.into_iter().take(TOLD).map(end).chain(more).collect()
    };
    (sentences(vain, ", asked in vain"), sentences(others, ""))
}
