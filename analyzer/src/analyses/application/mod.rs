//! Is it the network or the application? On every TCP socket that speaks in turns: how long requests waited for their answer,
//! and how much of that the application took.
//!
//! Needs the views `turnarounds`, `responses`, `connections`, `tcp_states`, `tcp_samples`, `tx`, `halts`. A socket whose reads were readable before
//! the send in front of them in more than [`OVERLAP_SHARE`] of its turns sends and receives at once (pipelining, two streams):
//! its turns are counted and no more. What a client does between an answer and its next request is nobody's wait: it is kept by thread (`askers`).
//! The server is who did not open the connection; where that was not seen, who has the lower port.
//! Limits: requests of a multiplexed stream are not told apart, and a worker that answers is tied to its request by order alone.

use crate::analyses::tcp::{as_opened, label};
use crate::analyses::{Outcome, not_recorded};
use crate::explain::{Id, Kind};
use crate::facts::{Facts, Reason};
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};
use crate::stat::Distribution;

mod apart;
mod asked_bytes;
mod awaited_end;
mod awaited_peer;
mod blocked;
mod by_udp;
mod cut;
mod fresh;
mod given_up;
mod gone_idle;
mod half_open;
mod handed;
mod hedged;
mod held;
mod holder;
mod holds;
mod itself;
mod kept;
mod left;
mod left_unread;
mod limits;
mod long_work;
mod metered;
mod nature;
mod one_line;
mod opening;
mod others;
mod parts;
mod patience;
mod paused;
mod pools;
mod released;
mod replaced;
mod servers;
mod services;
mod shift;
mod silence;
mod sockets;
mod spans;
mod stood;
mod streams;
#[cfg(test)]
pub(super) mod tests;
mod threads;
mod turned_away;
mod unanswered;
mod waited;
mod waits_for_itself;
mod waker;
mod waker_read;
mod way;
mod work;

pub use apart::Apart;
pub use awaited_end::AwaitedEnd;
pub use awaited_peer::AwaitedPeer;
pub use blocked::Silent;
pub use given_up::GivenUp;
pub(crate) use given_up::{asked, unanswered};
pub use gone_idle::GoneIdle;
pub use half_open::HalfOpen;
pub use held::Held;
pub use holds::Holds;
pub use itself::ByItself;
pub use kept::Kept;
pub use left_unread::LeftUnread;
pub use limits::Limit;
pub use long_work::LongWork;
pub use metered::Metered;
pub use nature::Nature;
pub use one_line::OneLine;
pub use opening::Opening;
pub(crate) use others::Calls;
pub use parts::{FOR_A_THREAD, Part, Parts};
pub use patience::Patience;
pub use paused::{LEAST_NS as PAUSED_NS, Paused};
pub(crate) use paused::{paused, tells};
pub use pools::{Answered, Awaited};
pub use released::Released;
pub use replaced::Replaced;
pub use servers::{Server, Slow};
pub use services::{Service, SlowTurns};
pub use shift::Shift;
pub use silence::Silence;
pub use sockets::{Role, RoleBy};
pub(crate) use sockets::{Socket, sockets};
pub(crate) use spans::Spans;
pub use stood::Stood;
pub use threads::{Asker, HELD_OFF_NS, Serving};
pub use turned_away::TurnedAway;
pub use unanswered::Unanswered;
pub(crate) use unanswered::{most_asked, without_answer};
pub use waited::Waited;
pub(crate) use waited::{by_thread, server};
pub use waits_for_itself::WaitsForItself;
pub use waker::WakerHeld;
pub use waker_read::WakerRead;
pub(crate) use way::filled_by;
pub use way::{LetGo, Place};
pub(crate) use work::FOR_ANY;
pub use work::ForWork;

/// Share of a socket's turns that may overlap for it to speak in requests and answers.
pub const OVERLAP_SHARE: f64 = 0.1;
/// Turns of a socket from which it is told that its requests cannot be.
const MANY_TURNS: u64 = 50;
/// Connections kept: those with most time.
pub const CONNECTIONS: usize = 100;
/// Slowest rows kept of each view.
pub const WORST: usize = 8;

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Application {
    /// Sockets with turns, most time first.
    pub connections: Vec<Connection>,
    /// Sockets with turns left out.
    pub others: u64,
    /// Sockets that sent and received at once.
    pub both_ways: u64,
    /// Sockets that were never read and sent on in turn.
    pub one_way: u64,
    /// Servers: requests and how long the application took to answer.
    pub answered: Option<Answered>,
    /// Clients: requests and how long their answer took.
    pub awaited: Option<Awaited>,
    /// Servers as clients of this host saw them, most time first.
    pub servers: Vec<Server>,
    /// Services of this host by their own sockets, most time first.
    pub services: Vec<Service>,
    /// Threads of servers that answered requests of several connections, most time first.
    pub serving: Vec<Serving>,
    /// Threads of clients, most time between an answer and the next request first.
    pub askers: Vec<Asker>,
    /// Programs that ask only so many at a time while requests wait in them.
    pub limits: Vec<Limit>,
    /// A proxy that for some time asked nobody.
    pub by_itself: Option<ByItself>,
    /// A peer that answers waited for.
    pub awaited_peer: Option<AwaitedPeer>,
    /// Another server's answer of which more was awaited than came.
    pub awaited_end: Option<AwaitedEnd>,
    /// A server whose threads wait for requests that only they could answer.
    pub waits_for_itself: Option<WaitsForItself>,
    /// A reader that left data in its sockets until more came.
    pub left_unread: Option<LeftUnread>,
    /// A server all of whose processes were replaced at once.
    pub replaced: Option<Replaced>,
    /// Requests of clients that got no answer, the longest first.
    pub unanswered: Vec<Unanswered>,
    /// Of these, such that wait on connections whose peer is gone.
    pub half_open: Option<HalfOpen>,
    /// Of these, such whose connections something on the way had forgotten (inferred).
    pub gone_idle: Option<GoneIdle>,
    /// Requests that clients gave up, by program and server, most first.
    pub given_up: Vec<GivenUp>,
    /// Requests in place of whose answer the server ended the connection, by program and server, most first.
    pub turned_away: Vec<TurnedAway>,
    /// Requests that clients sent in parts, with a pause between them, by program and server, most time first.
    pub paused: Vec<Paused>,
    /// Requests that were sent over a connection while answers to earlier ones were still on their way over it (inferred).
    pub one_line: Option<OneLine>,
    /// A host outside the recording that fell silent.
    pub silence: Option<Silence>,
    /// Slowest turnarounds of servers.
    pub slow_turnarounds: Vec<SlowTurnaround>,
    /// Slowest responses of clients.
    pub slow_responses: Vec<SlowResponse>,
    /// Sockets with many turns of which no single request can be told, and the one with most; among `both_ways`.
    #[serde(skip)]
    pub mixed: Option<(u64, String)>,
    /// Connections on which the server sends what others' requests made, and the one with most turns; their sockets are among `both_ways` (inferred).
    #[serde(skip)]
    pub streams: Option<(u64, String)>,
    /// Length of the recording, ns.
    #[serde(skip)]
    pub duration_ns: i64,
}

/// A socket.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Connection {
    /// As in the view `connections`.
    pub connection: u32,
    /// `saddr:sport > daddr:dport`.
    pub label: String,
    /// Which end it is.
    pub role: Role,
    /// What says so.
    pub role_by: RoleBy,
    /// Whether it speaks in requests and answers.
    pub in_turns: bool,
    /// The server sends there what others' requests made: not in turns (inferred).
    #[serde(skip)]
    pub stream: bool,
    /// Turns, and of these such that overlapped.
    pub turns: u64,
    /// As said.
    pub overlaps: u64,
    /// Task and thread that sent most; of a socket without turnarounds, that read most.
    pub task: String,
    /// Last byte readable to send.
    pub turnaround: Distribution,
    /// Where turnarounds passed, largest first.
    pub parts: Vec<Part>,
    /// Send to first byte readable.
    pub response: Distribution,
    /// Responses whose turnaround at the peer is in the recording.
    pub paired: u64,
    /// Share of their time in the peer's application; `None` when there is none.
    pub peer_share: Option<f64>,
}

/// A turnaround.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SlowTurnaround {
    /// What `netmortem explain` takes.
    pub id: Option<Id>,
    /// As in the view `connections`.
    pub connection: u32,
    /// When the request was readable (or, where that is not known, read).
    pub start_ns: i64,
    /// `task/thread` that sent.
    pub task: String,
    /// The whole.
    pub turnaround_ns: i64,
    /// Readable to read; `None`: not known.
    pub unread_ns: Option<i64>,
    /// Where it passed, largest first.
    pub parts: Vec<Part>,
    /// Of the row.
    pub confidence: &'static str,
}

/// A response.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SlowResponse {
    /// What `netmortem explain` takes.
    pub id: Option<Id>,
    /// As in the view `connections`.
    pub connection: u32,
    /// Begin of the send.
    pub start_ns: i64,
    /// `task/thread` that read.
    pub task: String,
    /// The whole.
    pub response_ns: i64,
    /// To the peer's socket; `None` with the next two: the peer is not in the recording.
    pub there_ns: Option<i64>,
    /// In the peer's application.
    pub peer_ns: Option<i64>,
    /// Back.
    pub back_ns: Option<i64>,
    /// Of the row.
    pub confidence: &'static str,
}

/// Asks.
pub fn answer(facts: &Facts) -> Outcome<Application> {
    let keys = ["skb:skb_copy_datagram_iovec", "sock:sock_send_length"];
    if facts.turnarounds.is_empty()
        && facts.responses.is_empty()
        && let Some(because) = not_recorded(facts, &keys)
    {
        let subject = "application";
        return Outcome::Unknown(vec![Reason { subject, because }]);
    }
    let all = sockets::sockets(facts);
    let waits = waited::Waits::of(facts, &all);
    let mut out = Application {
        both_ways: all.iter().filter(|s| !s.in_turns).count() as u64,
        one_way: facts.connections.len().saturating_sub(all.len()) as u64,
        answered: pools::answered(facts, &all, &waits),
        awaited: pools::awaited(facts, &all),
        servers: servers::servers(facts, &all, &waits),
        services: services::services(facts, &all, &waits),
        serving: threads::serving(facts, &all, &waits.others),
        askers: threads::askers(facts, &all),
        by_itself: itself::by_itself(facts, &all),
        awaited_peer: awaited_peer::awaited_peer(facts, &all),
        awaited_end: awaited_end::awaited_end(facts, &all),
        waits_for_itself: waits_for_itself::waits_for_itself(facts, &all),
        left_unread: left_unread::left_unread(facts),
        replaced: replaced::replaced(facts, &all),
        one_line: one_line::one_line(facts, &all),
        silence: silence::silence(facts),
        given_up: given_up::given_up(facts),
        turned_away: turned_away::turned_away(facts),
        paused: paused::all(facts, &all),
        unanswered: unanswered::unanswered(facts, &all),
        duration_ns: facts.capture.duration_ns,
        ..Application::default()
    };
    out.limits = limits::limits(facts, &all, &out.servers);
    out.half_open = half_open::half_open(facts, &all, &out.unanswered);
    out.gone_idle = gone_idle::gone_idle(facts, &out.unanswered);
    let (servers, clients) = all
        .iter()
        .filter(|s| s.in_turns)
        .partition::<Vec<_>, _>(|s| s.role == Role::Server);
    let mut turnarounds: Vec<&TurnaroundRow> = servers.iter().flat_map(|s| s.judged_turnarounds()).collect();
    turnarounds.sort_by_key(|r| (std::cmp::Reverse(r.total_ns()), r.send_ns));
    out.slow_turnarounds = turnarounds
        .into_iter()
        .take(WORST)
        .map(|r| slow_turnaround(facts, r))
        .collect();
    let mut responses: Vec<(i64, &ResponseRow)> = clients.iter().flat_map(|s| s.judged_responses()).collect();
    responses.sort_by_key(|(ns, r)| (std::cmp::Reverse(*ns), r.send_ns));
    out.slow_responses = responses
        .into_iter()
        .take(WORST)
        .map(|r| slow_response(facts, r))
        .collect();
    out.connections = all.iter().map(|s| s.connection(facts, label)).collect();
    let streams = || out.connections.iter().filter(|c| c.stream && c.role == Role::Server);
    out.streams = streams().max_by_key(|c| (c.turns, c.connection)).map(|c| {
        let row = facts.connections.get(c.connection as usize);
        (streams().count() as u64, row.map_or_else(String::new, as_opened))
    });
    let mixed = (out.connections.iter()).filter(|c| !c.in_turns && !c.stream && c.turns >= MANY_TURNS);
    let first = mixed.clone().max_by_key(|c| (c.turns, c.connection));
    out.mixed = first.map(|c| (mixed.count() as u64, c.label.clone()));
    let time = |c: &Connection| c.turnaround.sum_ns.saturating_add(c.response.sum_ns);
    out.connections
        .sort_by_key(|c| (!c.in_turns, std::cmp::Reverse(time(c)), c.connection));
    out.others = out.connections.len().saturating_sub(CONNECTIONS) as u64;
    out.connections.truncate(CONNECTIONS);
    Outcome::Findings(out)
}

/// Who has a connection, such as the other end of one; empty: it is not in the recording, or not known.
pub(crate) fn who_has(facts: &Facts, connection: Option<crate::facts::ConnectionId>) -> String {
    let of = connection.and_then(|c| facts.connections.get(c.0 as usize));
    of.filter(|c| c.pid > 0)
        .map_or_else(String::new, |c| task(&c.task, c.pid))
}

pub(crate) fn task(name: &crate::Name, pid: i32) -> String {
    match (name.is_empty(), pid) {
        (true, 0) => String::new(),
        (true, pid) => format!("thread {pid}"),
        (false, pid) => format!("{}/{pid}", name.text()),
    }
}

fn slow_turnaround(facts: &Facts, r: &TurnaroundRow) -> SlowTurnaround {
    let mut parts = Parts::default();
    parts.add(r);
    SlowTurnaround {
        id: Id::of_row(Kind::Turnaround, &facts.turnarounds, r),
        connection: r.connection.0,
        start_ns: r.start_ns(),
        task: task(&r.sender, r.sender_pid),
        turnaround_ns: r.total_ns(),
        unread_ns: r.ready_ns.map(|t| r.read_ns.wrapping_sub(t)),
        parts: parts.largest(),
        confidence: r.confidence.word(),
    }
}

fn slow_response(facts: &Facts, (response_ns, r): (i64, &ResponseRow)) -> SlowResponse {
    SlowResponse {
        id: Id::of_row(Kind::Response, &facts.responses, r),
        connection: r.connection.0,
        start_ns: r.send_ns,
        task: task(&r.task, r.pid),
        response_ns,
        there_ns: r.peer.map(|p| p.there_ns),
        peer_ns: r.peer.map(|p| p.turnaround_ns),
        back_ns: r.peer.map(|p| p.back_ns),
        confidence: r.confidence.word(),
    }
}
