//! Connections on which the server sends what others' requests made, and its client says that it has it: replication of a database, a subscription. Their turns are no requests and answers.
//!
//! Needs `turnarounds`, `responses` of the server's socket, `connections`. Inferred from three things together; each alone is met by servers that answer:
//!
//! ```text
//! another's request   read | ... | wakes          answer         nearly all that the server sends was begun by one
//! server                 asleep, until woken | sends        sends
//! client                                         says so at once      it speaks only when spoken to, and much sooner than the server does
//! ```
//! and in a part of the turns one end speaks several times in a row. Must not take for one: a server that waits for a lock which another's request holds, and is asked in
//! single messages. Where the client's side alone was recorded a stream is not told from a slow server that is asked in parts: then what is awaited at the end is no alarm, and no more.

use rustc_hash::{FxHashMap, FxHashSet};

use super::sockets::{Role, Socket};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};
use crate::stat::nearest_rank;

/// Fewest turns, and the shortest that are asked what began them, ns.
const TURNS: usize = 10;
const LEAST_NS: i64 = 1_000_000;
/// Part of them that are asleep for so much of their time, and that another's request began.
const NEARLY_ALL: f64 = 0.8;
const ASLEEP: f64 = 0.9;
/// A thread that wakes the sender has that request, or has answered it so long ago at most, ns.
const SOON_NS: i64 = 1_000_000;
/// The client answers in so small a part of what the server takes: its p90 of the server's median.
const PROMPT: i64 = 5;
/// Part of the turns in which one end spoke several times, and how far apart, ns.
const SEVERAL: f64 = 0.25;
const APART_NS: i64 = 100_000;

/// Requests by who has them: from when read to when answered, and on which connection.
type Having = FxHashMap<i32, Vec<(i64, i64, ConnectionId)>>;

/// All of these sockets, and both ends of each.
pub(super) fn streams(facts: &Facts, sockets: &[Socket<'_>]) -> FxHashSet<ConnectionId> {
    let likely: Vec<&Socket<'_>> = sockets
        .iter()
        .filter(|s| s.role == Role::Server && speaks_last(s))
        .collect();
    if likely.is_empty() {
        return FxHashSet::default();
    }
    let rows = || likely.iter().flat_map(|s| waited(s));
    let mut having: Having = rows()
        .flat_map(|r| [r.woken_by_pid, r.sender_pid])
        .filter(|pid| *pid != 0)
        .map(|pid| (pid, vec![]))
        .collect();
    for s in sockets.iter().filter(|s| s.role == Role::Server) {
        for t in s.turnarounds {
            for pid in [Some(t.pid), (t.sender_pid != t.pid).then_some(t.sender_pid)]
                .into_iter()
                .flatten()
            {
                if let Some(of) = having.get_mut(&pid) {
                    of.push((t.read_ns, t.send_ns, s.connection));
                }
            }
        }
    }
    having.values_mut().for_each(|of| of.sort_unstable());
    let is = |s: &&&Socket<'_>| {
        let rows: Vec<&TurnaroundRow> = waited(s).collect();
        let begun = rows.iter().filter(|r| begun_by_another(&having, r)).count();
        rows.len() >= TURNS && begun as f64 >= NEARLY_ALL * rows.len() as f64
    };
    let peer = |c: ConnectionId| facts.connections.get(c.0 as usize).and_then(|row| row.peer);
    let own: Vec<ConnectionId> = likely.iter().filter(is).map(|s| s.connection).collect();
    own.iter().flat_map(|c| [Some(*c), peer(*c)]).flatten().collect()
}

/// Turns long enough to be asked.
fn waited<'f>(s: &Socket<'f>) -> impl Iterator<Item = &'f TurnaroundRow> + use<'f> {
    s.judged_turnarounds().filter(|r| r.total_ns() >= LEAST_NS)
}

/// Whether the client speaks only when spoken to, at once, and one end several times in a row: by the server's socket.
fn speaks_last(s: &Socket<'_>) -> bool {
    let several = |r: &&ResponseRow| {
        let first = r.response_ns().unwrap_or(i64::MAX);
        let parts = r.whole_ns().map_or(0, |all| all.saturating_sub(first));
        parts >= APART_NS || r.sending_ns >= APART_NS
    };
    let times = || {
        let client = s.judged_responses().map(|r| r.0).collect();
        (client, s.judged_turnarounds().map(TurnaroundRow::total_ns).collect())
    };
    s.turnarounds.len() >= TURNS && often(s, several) && is_prompt(times())
}

/// The same by the client's socket, where the server's is not in the recording.
pub(super) fn may_be(s: &Socket<'_>) -> bool {
    let paired = || s.responses.iter().any(|r| r.peer.is_some());
    let times = || {
        let client = s.judged_turnarounds().map(TurnaroundRow::total_ns).collect();
        (client, s.judged_responses().map(|r| r.0).collect())
    };
    s.role == Role::Client && often(s, |r| r.sending_ns >= APART_NS) && !paired() && is_prompt(times())
}

fn often(s: &Socket<'_>, several: impl Fn(&&ResponseRow) -> bool) -> bool {
    s.responses.iter().filter(several).count() as f64 >= SEVERAL * s.responses.len() as f64
}

/// Times of both; those are put in order.
fn is_prompt((mut client, mut server): (Vec<i64>, Vec<i64>)) -> bool {
    let times = nearest_rank(&mut client, 90).zip(nearest_rank(&mut server, 50));
    server.len() >= TURNS && times.is_some_and(|(client, server)| client.saturating_mul(PROMPT) <= server)
}

/// Whether its threads slept until one that had another's request sent, or woke who did.
fn begun_by_another(having: &Having, r: &TurnaroundRow) -> bool {
    if (r.split.asleep_ns as f64) < ASLEEP * r.total_ns() as f64 {
        return false;
    }
    let at = |pid: i32, ns: i64| {
        let of = having.get(&pid).map(Vec::as_slice).unwrap_or_default();
        let until = of.partition_point(|(read, ..)| *read <= ns);
        // Of a thread with many connections the last few.
        of.iter()
            .take(until)
            .rev()
            .take(8)
            .any(|(read, send, c)| *c != r.connection && *read > r.read_ns && *send >= ns.saturating_sub(SOON_NS))
    };
    let woken = r.woken_by_pid != 0 && r.woken_by_pid != r.sender_pid;
    at(r.sender_pid, r.send_ns) || (woken && at(r.woken_by_pid, r.woken_at_ns))
}
