//! New connections that a server closed, in order and at once, upon the first message of their client, for a time: its program refuses them, as where as many
//! stand as it allows. And who holds most of those that stood then, without using them.
//!
//! Needs `tcp_states` with the thread of each change, `rx`, `tx`, `connections`; no lost events. By the server's end and the length of the first message.
//!
//! ```text
//! refused    stands ─ at most one message ─ a short answer ─ the server's program closes, all within SOON_NS
//! otherwise  stands ─ as long a message ─ another answer ─ and so on, of clients that were refused, too
//! ```
//! Must not take for one: a server that ends each connection by its nature (none of them goes on), a client that closes first, an answer that is given to
//! others as well, and then ends (a server that is being drained, `Connection: close`), a TLS alert, refusals among many that go on (a few errors), such
//! from the begin of the recording to its end (a check), or of a moment (all came again at once, behind an outage). That the program has a limit no event tells.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyses::lives::{By, Life, lives};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::tcp::role::{Role, RoleBy};
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::stat::nearest_rank;

/// Longest life of one that is refused, ns.
const SOON_NS: i64 = 200_000_000;
/// Most bytes and segments of the answer.
const SHORT: u64 = 1_024;
const SEGMENTS: u32 = 2;
/// Bytes of an alert in the clear: a handshake of TLS that failed.
const ALERT: u64 = 7;
/// Fewest that were refused, and fewest of the same clients that began alike and went on; of these before and after.
const FEWEST: usize = 10;
const WENT_ON: usize = 10;
/// From the first to the last of them, at least, ns: a moment's are what follows where all come at once, as behind an outage.
const TIME_NS: i64 = 1_000_000_000;
/// One in so many of those that came meanwhile was refused, at least.
const PART: usize = 3;
/// One in so many of those that went on may have got as long a first answer.
const ALIKE: usize = 20;
/// What carried nothing for so long is idle, ns; the fewest such of one client that are told.
const IDLE_NS: i64 = 1_000_000_000;
const HELD: usize = 10;
/// Fewest that began in the recording, for a rate.
const RATED: usize = 5;
/// These were closed together, ns.
const TOGETHER_NS: i64 = 1_000_000_000;
/// Lengths of first messages that are looked at, of those most frequently refused.
const KINDS: usize = 8;
/// Clients that are named.
const NAMED: usize = 3;

/// What is told of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Refuses {
    /// The server's end.
    pub at: String,
    /// Its task; empty: several, or not known.
    pub task: String,
    /// Connections refused.
    pub connections: u64,
    /// All that stood from the first to the last of them and began alike.
    pub of: u64,
    /// From the handshake to the close, median, ns.
    pub lived_ns: i64,
    /// Bytes of the one message of the client; `None`: they were closed before any.
    pub asked: Option<u32>,
    /// Bytes of the answer, median.
    pub answer: i64,
    /// When the first and the last stood, ns since the start of the recording.
    pub within_ns: (i64, i64),
    /// Others that began alike before and after, and went on.
    pub went_on: u64,
    /// Tasks (where not known, addresses) that were refused, and how often; most first.
    pub clients: Vec<(String, u64)>,
    /// Connections that stood there when the last one was refused.
    pub stood: u64,
    /// Who held most of these.
    pub holder: Option<Holder>,
}

/// A client of which more connections stood idle than all others had.
#[derive(Debug, Clone, PartialEq)]
pub struct Holder {
    /// Its address.
    pub address: String,
    /// Its task; empty: several, or not known.
    pub task: String,
    /// Its connections on which nothing went on.
    pub idle: u64,
    /// So many a second it opened until the first was refused, of those that began in the recording; `None`: few.
    pub per_second: Option<f64>,
    /// When they were closed, all together, ns since the start of the recording.
    pub closed_ns: Option<i64>,
    /// Connections that began alike after that and went on.
    pub after: u64,
    /// None was closed at all.
    pub kept: bool,
}

/// What was said on one.
#[derive(Default, Clone, Copy)]
struct Talk {
    asked: u32,
    first_asked: Option<(i64, u32)>,
    answered: u32,
    first_answer: Option<(i64, u32)>,
    answer_bytes: u64,
}

/// A connection to the end.
struct One<'f> {
    row: &'f ConnectionRow,
    serves: bool,
    /// When it stood; `None`: before the recording.
    stood: Option<i64>,
    ended: Option<(i64, By)>,
    talk: Talk,
}

impl One<'_> {
    fn client(&self) -> Option<IpAddr> {
        let of = if self.serves { self.row.daddr } else { self.row.saddr };
        of.map(|a| a.to_canonical())
    }

    /// Bytes of the first message where that is known.
    fn kind(&self) -> Option<u32> {
        self.talk.first_asked.map(|f| f.1)
    }

    fn soon(&self) -> Option<i64> {
        let (at, by) = self.ended?;
        let lived = at.saturating_sub(self.stood?);
        let server = by == if self.serves { By::Own } else { By::Peer };
        (server && lived <= SOON_NS).then_some(lived)
    }

    fn refused(&self) -> bool {
        let t = &self.talk;
        let short = (1..=SEGMENTS).contains(&t.answered) && t.answer_bytes <= SHORT && t.answer_bytes != ALERT;
        t.asked <= 1 && short && self.soon().is_some()
    }

    fn went_on(&self) -> bool {
        self.talk.asked >= 2 && self.talk.answered >= 2
    }

    fn stands(&self, at: i64) -> bool {
        self.stood.is_none_or(|s| s <= at) && self.ended.is_none_or(|(e, _)| e > at)
    }
}

/// Connections by the server's end, of those with enough that were closed soon.
fn ends(facts: &Facts) -> BTreeMap<SocketAddr, Vec<One<'_>>> {
    let lives = lives(facts);
    let mut by: BTreeMap<SocketAddr, Vec<One<'_>>> = BTreeMap::new();
    for row in &facts.connections {
        let (role, told_by) = row.role();
        let serves = role == Role::Server;
        let at = if serves { row.local() } else { row.remote() };
        // Of both ends the server's is looked at.
        let Some(at) = at.filter(|_| serves || row.peer.is_none()) else {
            continue;
        };
        let Life { stood, ended } = lives.get(&row.connection).copied().unwrap_or_default();
        by.entry(at).or_default().push(One {
            row,
            serves,
            stood: stood.filter(|_| told_by == RoleBy::Handshake),
            ended,
            talk: Talk::default(),
        });
    }
    by.retain(|_, of| of.iter().filter(|o| o.soon().is_some()).count() >= FEWEST);
    by
}

/// Fills in what was said.
fn talked(facts: &Facts, ends: &mut BTreeMap<SocketAddr, Vec<One<'_>>>) {
    let serves = ends.values().flatten().map(|o| (o.row.connection, o.serves));
    let serves: FxHashMap<ConnectionId, bool> = serves.collect();
    let mut talks: FxHashMap<ConnectionId, Talk> = FxHashMap::default();
    let came = facts.rx.iter().map(|r| (r.connection, r.bytes, r.start_ns, true));
    let sent = facts.tx.iter().map(|t| (t.connection, t.bytes, t.start_ns, false));
    for (c, bytes, at, came) in came.chain(sent) {
        let (Some(c), Some(bytes)) = (c, bytes.filter(|n| *n > 0)) else {
            continue;
        };
        let Some(serves) = serves.get(&c) else { continue };
        let of = talks.entry(c).or_default();
        let earlier = |first: Option<(i64, u32)>| match first {
            Some(f) if f.0 <= at => Some(f),
            _ => Some((at, bytes)),
        };
        if *serves == came {
            of.asked = of.asked.saturating_add(1);
            of.first_asked = earlier(of.first_asked);
        } else {
            of.answered = of.answered.saturating_add(1);
            of.first_answer = earlier(of.first_answer);
            of.answer_bytes = of.answer_bytes.saturating_add(bytes.into());
        }
    }
    for one in ends.values_mut().flatten() {
        one.talk = talks.get(&one.row.connection).copied().unwrap_or_default();
    }
}

/// The server that refused most.
pub(super) fn refuses(facts: &Facts) -> Option<Refuses> {
    if !facts.gaps.is_empty() {
        return None;
    }
    let mut ends = ends(facts);
    if ends.is_empty() {
        return None;
    }
    talked(facts, &mut ends);
    let of_end = |(at, all): (&SocketAddr, &Vec<One<'_>>)| {
        let mut kinds: BTreeMap<Option<u32>, usize> = BTreeMap::new();
        for o in all.iter().filter(|o| o.refused()) {
            *kinds.entry(o.kind()).or_default() += 1;
        }
        let mut kinds: Vec<(Option<u32>, usize)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        let told = kinds
            .iter()
            .take(KINDS)
            .filter_map(|(kind, _)| told(facts, *at, all, *kind));
        told.max_by_key(|r| r.connections)
    };
    ends.iter().filter_map(of_end).max_by_key(|r| r.connections)
}

fn told(facts: &Facts, at: SocketAddr, all: &[One<'_>], kind: Option<u32>) -> Option<Refuses> {
    let refused: Vec<&One<'_>> = all.iter().filter(|o| o.refused() && o.kind() == kind).collect();
    let times = || refused.iter().filter_map(|o| o.stood);
    let (first, last) = (times().min()?, times().max()?);
    // Where the server speaks first, how a client would begin is not known.
    let alike: Vec<&One<'_>> = all
        .iter()
        .filter(|o| o.stood.is_some() && (kind.is_none() || o.kind() == kind))
        .collect();
    let meanwhile = |o: &One<'_>| o.stood.is_some_and(|s| (first..=last).contains(&s));
    let of = alike.iter().filter(|o| meanwhile(o)).count();
    let clients: BTreeSet<IpAddr> = refused.iter().filter_map(|o| o.client()).collect();
    let went: Vec<&&One<'_>> = alike
        .iter()
        .filter(|o| o.went_on() && o.client().is_some_and(|c| clients.contains(&c)))
        .collect();
    let outside = went.iter().filter(|o| !meanwhile(o)).count();
    let mut answers: Vec<i64> = refused
        .iter()
        .filter_map(|o| i64::try_from(o.talk.answer_bytes).ok())
        .collect();
    let answer = nearest_rank(&mut answers, 50)?;
    let same = went
        .iter()
        .filter(|o| o.talk.first_answer.is_some_and(|f| i64::from(f.1) == answer));
    if refused.len() < FEWEST
        || last.saturating_sub(first) < TIME_NS
        || outside < WENT_ON
        || refused.len().saturating_mul(PART) < of
        || same.count().saturating_mul(ALIKE) > went.len()
    {
        return None;
    }
    let start = facts.capture.start_ns.unwrap_or(0);
    let mut lived: Vec<i64> = refused.iter().filter_map(|o| o.soon()).collect();
    Some(Refuses {
        at: at.to_string(),
        task: one_task(all.iter().filter(|o| o.serves).map(|o| o.row.task)),
        connections: refused.len() as u64,
        of: of as u64,
        lived_ns: nearest_rank(&mut lived, 50)?,
        asked: kind,
        answer,
        within_ns: (first.saturating_sub(start), last.saturating_sub(start)),
        went_on: outside as u64,
        clients: named(facts, &refused),
        stood: all.iter().filter(|o| o.stands(last)).count() as u64,
        holder: holder(facts, all, (first, last)).map(|h| after(h, &went, start)),
    })
}

fn one_task(tasks: impl Iterator<Item = Name>) -> String {
    let tasks: FxHashSet<Name> = tasks.filter(|t| !t.is_empty()).collect();
    match (tasks.iter().next(), tasks.len()) {
        (Some(task), 1) => task.text().into_owned(),
        _ => String::new(),
    }
}

/// The client's task: of the other end where the server's is looked at.
fn task(facts: &Facts, o: &One<'_>) -> Name {
    match o.serves {
        true => (o.row.peer)
            .and_then(|p| facts.connections.get(p.0 as usize))
            .map_or_else(Name::default, |p| p.task),
        false => o.row.task,
    }
}

fn named(facts: &Facts, refused: &[&One<'_>]) -> Vec<(String, u64)> {
    let mut by: BTreeMap<String, u64> = BTreeMap::new();
    for o in refused {
        let task = task(facts, o);
        let name = match task.is_empty() {
            true => o.client().map(|c| c.to_string()).unwrap_or_default(),
            false => task.text().into_owned(),
        };
        *by.entry(name).or_default() += 1;
    }
    let mut by: Vec<(String, u64)> = by.into_iter().collect();
    by.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    by.truncate(NAMED);
    by
}

/// The client with more idle connections at a moment than all others had.
fn holder(facts: &Facts, all: &[One<'_>], (first, at): (i64, i64)) -> Option<Holder> {
    let quiet = at.saturating_sub(IDLE_NS);
    let then = |time_ns: i64| (quiet..=at).contains(&time_ns);
    let came = facts
        .rx
        .iter()
        .filter(|r| then(r.start_ns) && r.bytes.is_some_and(|n| n > 0));
    let sent = facts
        .tx
        .iter()
        .filter(|t| then(t.start_ns) && t.bytes.is_some_and(|n| n > 0));
    let busy: FxHashSet<ConnectionId> = (came.filter_map(|r| r.connection))
        .chain(sent.filter_map(|t| t.connection))
        .collect();
    let idle = |o: &One<'_>| o.stood.is_none_or(|s| s <= quiet) && !busy.contains(&o.row.connection);
    let standing: Vec<&One<'_>> = all.iter().filter(|o| o.stands(at)).collect();
    let mut by: BTreeMap<IpAddr, Vec<&One<'_>>> = BTreeMap::new();
    for o in standing.iter().filter(|o| idle(o)) {
        by.entry(o.client()?).or_default().push(o);
    }
    let (address, held) = by.into_iter().max_by_key(|(_, of)| of.len())?;
    if held.len() < HELD || held.len().saturating_mul(2) <= standing.len() {
        return None;
    }
    let begun: Vec<i64> = held.iter().filter_map(|o| o.stood).filter(|s| *s <= first).collect();
    let span = (begun.iter().max().zip(begun.iter().min())).map_or(0, |(b, a)| b.saturating_sub(*a));
    let rated = begun.len() >= RATED && span > 0;
    let closes: Vec<i64> = held.iter().filter_map(|o| o.ended.map(|e| e.0)).collect();
    let (from, to) = (closes.iter().min().copied(), closes.iter().max().copied());
    let together = to
        .zip(from)
        .is_some_and(|(to, from)| to.saturating_sub(from) <= TOGETHER_NS);
    let closed_ns = from.filter(|_| together && closes.len() == held.len());
    Some(Holder {
        address: address.to_string(),
        task: one_task(held.iter().map(|o| task(facts, o))),
        idle: held.len() as u64,
        per_second: rated.then(|| begun.len().saturating_sub(1) as f64 * 1e9 / span as f64),
        closed_ns,
        after: 0,
        kept: closes.is_empty(),
    })
}

/// With what came after its end, which is by the recording's own clock.
fn after(mut holder: Holder, went: &[&&One<'_>], start: i64) -> Holder {
    let closed = holder.closed_ns;
    let then = |o: &One<'_>| o.stood.zip(closed).is_some_and(|(s, closed)| s > closed);
    holder.after = went.iter().filter(|o| then(o)).count() as u64;
    holder.closed_ns = closed.map(|ns| ns.saturating_sub(start));
    holder
}
