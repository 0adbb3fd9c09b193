//! How many exchanges, of a request and its answer, connections have: one more of each is a round trip more, whatever each of them takes.
//!
//! In: responses of sockets that speak in turns, their openings and closes. Out: servers of whose connections the median number differs, and words.
//! Only connections that were opened and ended in the recording, as of clients that open one for each task, and no longer ones.
//! Judged are the times of the answers; and, where the number differs though as much is asked of each connection, how long such a conversation takes
//! from its opening to its last answer (`app.conversation`): answers that are each as quick as before do not show the round trip.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::answers::{LEDGER, openings, server};
use super::clients::server_of;
use crate::analyses::application::{Role, Socket, sockets};
use crate::diff::sides::options::{Recording, seconds};
use crate::diff::values::metrics::{Filling, Which};
use crate::facts::ConnectionId;
use crate::reconstruct::opens::tables::OpenEnd;
use crate::reconstruct::tcp::states::{CLOSE, ESTABLISHED};
use crate::stat::nearest_rank;

/// Connections that a server must have on each side.
const LEAST: usize = 20;
/// Exchanges of a connection at most, to be one of these.
const FEW: i64 = 8;
/// Share of its connections that have the median number.
const MOSTLY: f64 = 0.75;
/// By so much the exchanges of all connections may differ where as much is asked.
const KEPT: f64 = 0.2;
/// The stage of `app` that is a whole conversation.
pub(in crate::diff) const CONVERSATION: &str = "conversation";
/// Ports at which TLS is spoken.
pub(in crate::diff) const TLS: [&str; 5] = [":443", ":465", ":636", ":853", ":8443"];

/// Of one server.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::diff) struct Exchanges {
    pub server: String,
    /// Exchanges of most connections.
    pub before: i64,
    pub after: i64,
    /// Connections.
    pub n: (usize, usize),
    /// The same per second.
    per_second: (f64, f64),
}

/// Sockets of clients that were opened and ended in a recording, and their server.
fn whole<'f>(r: &Recording<'f>) -> Vec<(Socket<'f>, String)> {
    // With events lost, an exchange may be among them.
    if !r.facts.gaps.is_empty() {
        return vec![];
    }
    let stood = r
        .facts
        .opens
        .iter()
        .filter(|o| o.end == OpenEnd::Established && r.has(o.start_ns));
    let opened: FxHashSet<ConnectionId> = stood.filter_map(|o| o.connection).collect();
    let mut last: FxHashMap<ConnectionId, (i32, i64)> = FxHashMap::default();
    for s in r.facts.tcp_states.iter().filter(|s| s.kind == "sock") {
        last.insert(s.connection, (s.state, s.time_ns));
    }
    // One that its program closes is in the states behind ESTABLISHED.
    let ended = |c: &ConnectionId| {
        last.get(c)
            .is_some_and(|(state, at)| (*state == CLOSE || *state > ESTABLISHED) && r.has(*at))
    };
    let here = r.connections();
    let counts = |s: &Socket<'_>| {
        let turns = s.in_turns && s.role == Role::Client;
        turns
            && opened.contains(&s.connection)
            && ended(&s.connection)
            && here.as_ref().is_none_or(|h| h.contains(&s.connection))
    };
    let all = sockets(r.facts).into_iter().filter(counts);
    all.filter_map(|s| {
        let server = server(r, s.connection, s.role)?;
        Some((s, server))
    })
    .collect()
}

fn side(all: &[Recording<'_>]) -> BTreeMap<String, Vec<i64>> {
    let mut out: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for (s, server) in all.iter().flat_map(whole) {
        out.entry(server).or_default().push(s.responses.len() as i64);
    }
    out
}

/// Fills in how long conversations took, by server: from the begin of the opening to the last answer.
pub(in crate::diff) fn durations(f: &mut Filling<'_, '_>) {
    let opened = openings(f.of.facts);
    for (s, server) in whole(f.of) {
        let began = opened.get(&s.connection).filter(|(_, stood)| stood.is_some());
        let few = (1..=FEW).contains(&(s.responses.len() as i64));
        let (Some((began, _)), Some(last), true) = (began, s.responses.last(), few) else {
            continue;
        };
        let which = Which::new(LEDGER, CONVERSATION).of_service(&server);
        match last.confidence.is_solid() {
            true => f.put(&which, *began, Some(last.read_ns.saturating_sub(*began))),
            false => f.exclude(&which, *began),
        }
    }
}

/// Conversations are compared where their number of exchanges differs, and not because they are kept for more or fewer requests.
pub(in crate::diff) fn chosen(names: &mut BTreeSet<&Which>, all: &[Exchanges]) {
    let differ: BTreeSet<&str> = all.iter().filter(|e| !e.is_kept()).map(|e| e.server.as_str()).collect();
    let of = |w: &Which| w.service.as_deref().is_some_and(|s| differ.contains(server_of(s)));
    names.retain(|w| w.ledger != LEDGER || w.stage != CONVERSATION || of(w));
}

/// The number that most of them have.
fn most(of: &[i64]) -> Option<i64> {
    let n = nearest_rank(&mut of.to_vec(), 50).filter(|n| (1..=FEW).contains(n))?;
    let same = of.iter().filter(|v| **v == n).count();
    (of.len() >= LEAST && same as f64 >= MOSTLY * of.len() as f64).then_some(n)
}

/// Servers whose connections have more, or fewer; most connections first.
pub(in crate::diff) fn of(before: &[Recording<'_>], after: &[Recording<'_>], hidden: bool) -> Vec<Exchanges> {
    if hidden {
        return vec![];
    }
    let (b, a) = (side(before), side(after));
    let seconds = (seconds(before).max(1e-9), seconds(after).max(1e-9));
    let both = b.into_iter().filter_map(|(server, x)| {
        let y = a.get(&server)?;
        let (before, after) = (most(&x)?, most(y)?);
        (before != after).then_some(Exchanges {
            server,
            before,
            after,
            n: (x.len(), y.len()),
            per_second: (x.len() as f64 / seconds.0, y.len() as f64 / seconds.1),
        })
    });
    let mut all: Vec<Exchanges> = both.collect();
    all.sort_by_key(|e| std::cmp::Reverse(e.n.0 + e.n.1));
    all
}

impl Exchanges {
    pub(in crate::diff) fn grown(&self) -> bool {
        self.after > self.before
    }
    /// As much is asked on fewer connections, or on more: in the same time.
    fn is_kept(&self) -> bool {
        let (b, a) = (
            self.per_second.0 * self.before as f64,
            self.per_second.1 * self.after as f64,
        );
        let fewer = self.per_second.1 < self.per_second.0;
        self.per_second.0 != self.per_second.1 && fewer == self.grown() && (a - b).abs() <= KEPT * b
    }
    /// `most connections that speak in turns with 10.0.0.1:443 have 3 exchanges where they had 2: a round trip more each (n 327 -> 327) ...`
    pub(in crate::diff) fn words(&self) -> String {
        let by = (self.after - self.before).abs();
        let trips = match (by, self.grown()) {
            (1, true) => "a round trip more each".to_owned(),
            (1, false) => "a round trip less each".to_owned(),
            (n, true) => format!("{n} round trips more each"),
            (n, false) => format!("{n} round trips less each"),
        };
        let tls = TLS.iter().any(|port| self.server.ends_with(port)) && by == 1;
        let why = match (self.is_kept(), tls, self.grown()) {
            (true, _, true) => ", as where connections are kept for more requests (inferred)",
            (true, _, false) => ", as where connections are kept for fewer requests (inferred)",
            (false, false, _) => "",
            (false, true, true) => {
                ", as where TLS sessions are no longer resumed and each handshake is a full one (up to TLS 1.2), or each asks once more (inferred)"
            }
            (false, true, false) => {
                ", as where TLS sessions are resumed (up to TLS 1.2), or each asks once less (inferred)"
            }
        };
        format!(
            "most connections that speak in turns with {} have {} exchanges where they had {}: {trips}{why} (n {} -> {})",
            self.server, self.after, self.before, self.n.0, self.n.1
        )
    }
}
