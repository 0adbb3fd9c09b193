//! Which events the machine gets, and what is made of its turns when no event follows.

use netmortem_formats::Capture;
use netmortem_formats::tracepoints::Tracepoint;
use netmortem_formats::tracepoints::sk_data_ready::SkDataReady;
use netmortem_formats::tracepoints::sock_recv_length::SockRecvLength;
use netmortem_formats::tracepoints::sock_send_length::SockSendLength;
use rustc_hash::FxHashMap;

use super::calls::route;
use super::snapshot::sockets;
use super::tables::{Awaited, TurnEnd};
use super::tracker::{Found, Machine, Turn};
use super::untold::{self, Untold};
use super::whither::{self, Whithers};
use crate::confidence::Confidence;
use crate::ingest::Trace;
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::dispatch::{Lost, Routes, Walk, ready};
use crate::reconstruct::skb::Identity;
use crate::reconstruct::thread::Threads;

/// IPPROTO_UDP, IPPROTO_UDPLITE.
const UDP: [u16; 2] = [17, 136];

/// Of one in so many parts of a wait no event tells whether the thread slept: then it is weak, as of reads (`receive`).
const UNTOLD: i64 = 4;

/// Most times that a resolver asks the same on one socket, and the shortest time that it waits for an answer, ns.
const TIMES: u32 = 3;
const PATIENCE_NS: i64 = 900_000_000;
/// Of its waits the others differ from the first by no more than one part in so many.
const EVEN: u64 = 20;

/// Turns of one socket that may be one question, asked a few times.
struct Asked {
    times: u32,
    /// Payload and number of its datagrams.
    what: (u64, u32),
    /// Its first wait, ns.
    wait: i64,
    /// The same each time, with as long a wait in a poll of one descriptor until its time was over, and nothing came.
    alike: bool,
    /// After the last it was closed.
    gave_up: bool,
}

impl Asked {
    fn first(t: &Turn) -> Asked {
        Asked {
            times: 0,
            what: (t.row.bytes, t.row.sends),
            wait: t.one_ns,
            alike: true,
            gave_up: false,
        }
    }
    fn next(&mut self, t: &Turn) {
        self.times = self.times.saturating_add(1);
        let same = self.what == (t.row.bytes, t.row.sends);
        let ended = matches!(t.row.end, TurnEnd::AskedAgain | TurnEnd::Closed);
        let even = t.one_ns.abs_diff(self.wait).saturating_mul(EVEN) <= self.wait.unsigned_abs();
        self.alike &= same && ended && even && t.one_ns >= PATIENCE_NS && t.row.ready_ns.is_none();
        self.gave_up = t.row.gave_up;
    }
    fn in_vain(&self) -> bool {
        self.alike && self.gave_up && self.times <= TIMES
    }
}

impl Machine<'_> {
    fn finish(mut self, capture: &Capture, comms: &Comms, lost: &Lost, end_ns: i64, missing: Vec<String>) -> Found {
        let polled = std::mem::take(&mut self.polled);
        let threads = self.threads;
        // Who sends on one socket again and again and closes it when it ends has asked for nothing; who asks the same a few times has.
        let mut turns_of: FxHashMap<u32, (u32, bool)> = FxHashMap::default();
        let mut asked: FxHashMap<u32, Asked> = FxHashMap::default();
        for t in &self.turns {
            let of = turns_of.entry(t.row.socket).or_default();
            *of = (of.0 + 1, of.1 | t.elsewhere);
            asked.entry(t.row.socket).or_insert_with(|| Asked::first(t)).next(t);
        }
        let row = |t: Turn| {
            let (turns, elsewhere) = turns_of.get(&t.row.socket).copied().unwrap_or_default();
            let given_up = t.row.gave_up && (t.elsewhere || turns == 1);
            let given_up = given_up || asked.get(&t.row.socket).is_some_and(Asked::in_vain);
            let waited_for = t.waited();
            let mut row = t.row;
            row.task = comms.at(row.pid, row.start_ns);
            row.end_ns = row.end_ns.min(end_ns).max(row.sent_ns);
            let until = row.read_ns.unwrap_or(t.since).max(row.sent_ns);
            let waited = threads.split(row.pid, row.sent_ns, until);
            row.waited_ns = waited.asleep_ns;
            row.waited_in = (threads.slept_in(row.pid, row.sent_ns, until)).map_or(Name::default(), |s| s.call);
            row.awaited = match () {
                () if t.own_ns > 0 => Awaited::Receive,
                () if t.one_ns > 0 && (given_up || elsewhere || polled.contains_key(&row.socket)) => Awaited::Poll,
                () if t.several_ns > 0 && given_up => Awaited::Several,
                () if waited_for => Awaited::Perhaps,
                () => Awaited::No,
            };
            // No event tells how a thread came to its CPU now and then: some µs of a second change nothing.
            let untold = waited.unknown_ns.saturating_mul(UNTOLD) >= until.saturating_sub(row.sent_ns);
            if lost.within(row.start_ns, row.end_ns) || waited.unknown_ns > 0 && untold {
                row.confidence = Confidence::Weak;
            }
            row
        };
        let turns = self.turns.into_iter().map(row).collect();
        for s in &mut self.sockets {
            s.task = if s.pid > 0 {
                comms.at(s.pid, s.last_ns)
            } else {
                Name::default()
            };
            if lost.within(s.first_ns, s.last_ns) {
                s.confidence = Confidence::Weak;
            }
        }
        Found {
            turns,
            sockets: self.sockets,
            sends: self.sends,
            to: self.whithers.all,
            by_calls: self.untold.is_some(),
            taken: self.untold.map(|u| u.taken).unwrap_or_default(),
            lines: sockets(capture),
            processes: self.processes,
            missing,
        }
    }
}

/// Ready to be walked.
pub fn walk<'f>(
    trace: &'f Trace<'_>,
    capture: &'f Capture,
    identity: &'f Identity,
    (threads, comms): (&'f Threads, &'f Comms),
) -> impl Walk<Out = Found> + 'f {
    let s = &trace.schema;
    let mut r = Routes::<Machine<'f>>::new("datagrams");
    r.on::<SockSendLength<'static>>(s, |t, e, p| {
        if UDP.contains(&p.protocol) {
            t.sent(e, p.sk, p.ret);
        }
    });
    let needed = r.missing.len();
    r.on::<SockRecvLength<'static>>(s, |t, e, p| {
        if UDP.contains(&p.protocol) {
            t.read(e, p.sk, p.ret, p.flags);
        }
    });
    r.on::<SkDataReady<'static>>(s, |t, e, p| {
        if UDP.contains(&p.protocol) {
            t.arrived(e, p.skaddr);
        }
    });
    r.missing.truncate(needed);
    route(&mut r, s);
    whither::route(&mut r, s);
    let untold = s.format("sock", SockSendLength::NAME).is_none();
    if untold {
        r.missing.clear();
        untold::route(&mut r, s);
    }
    let machine = Machine {
        threads,
        processes: crate::snapshots::tasks::processes(capture),
        calls: FxHashMap::default(),
        fds: FxHashMap::default(),
        connected: FxHashMap::default(),
        live: FxHashMap::default(),
        sockets: vec![],
        queues: FxHashMap::default(),
        turns: vec![],
        last: FxHashMap::default(),
        last_of: FxHashMap::default(),
        waiting: FxHashMap::default(),
        polled: FxHashMap::default(),
        sends: vec![],
        now: i64::MIN,
        whithers: Whithers::default(),
        untold: untold.then(|| Untold::new(identity)),
    };
    let lost = Lost::of(&trace.gaps);
    let end_ns = trace.info.end_ns.unwrap_or(i64::MAX);
    ready(trace, r, machine, move |t, missing| {
        t.finish(capture, comms, &lost, end_ns, missing)
    })
}
