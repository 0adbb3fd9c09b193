//! What was sent on a UDP socket and what came of it; the socket.

use super::turns::{by, thread};
use super::{Id, Kind, Pin, Story, places};
use crate::analyses::verdict::{counted, duration};
use crate::explain::rows::rows;
use crate::explain::stages::{self, Step};
use crate::facts::Facts;
use crate::reconstruct::datagrams::tables::{Awaited, TurnEnd, TurnRow};

const CALL: [&str; 2] = ["sys_enter_*", "sock_send_length"];
const SENT: [&str; 1] = ["sock_send_length"];
const ARRIVED: [&str; 1] = ["sk_data_ready"];
const READ: [&str; 1] = ["sock_recv_length"];
const REFUSED: [&str; 2] = ["sock_send_length", "sock_recv_length"];
const CLOSED: [&str; 1] = ["sys_enter_close"];
/// Turns of a socket that lead on.
const RELATED: usize = 10;

const THERE: &str = "begin of the send to the arrival at the host that is asked";
const UNREAD: &str = "from there to its read by who is asked";
const WORK: &str = "who is asked at work: read to the begin of its send";
const BACK: &str = "the answer: begin of its send to its arrival here";
const UNTOLD: &str = "begin of the send to the arrival of the first answer: who was asked is not in this recording, or its part is not told";
const WAITS: &str = "it lay in the receive queue here until it was read";
const NOTHING: &str = "begin of the send to its end: nothing came";

impl Story<'_, '_> {
    pub(super) fn udp_turn(&mut self, n: usize) -> Option<()> {
        let f = self.facts;
        let r = f.udp_turns.get(n)?;
        let s = f.udp_sockets.get(r.socket as usize);
        let reply = reply(f, r);
        let to = r.peer(&f.udp_sockets);
        let to = if to.is_empty() {
            String::new()
        } else {
            format!(" to {to}")
        };
        self.summary = format!(
            "{} ({}) sent{} on UDP socket {}{to}: {}{}; confidence {}.",
            counted(r.sends.into(), "datagram", "datagrams"),
            counted(r.bytes, "byte", "bytes"),
            by(&r.task, r.pid),
            r.socket,
            came(r),
            waited(r),
            r.confidence.word()
        );
        self.rows.extend(rows(f, "udp_turns", &[n]));
        if s.is_some() {
            self.rows.extend(rows(f, "udp_sockets", &[r.socket as usize]));
        }
        self.wanted.since = r.start_ns;
        self.parts((r.start_ns, parts(f, r, reply)), r.confidence.word());
        let sk = s.map(|s| s.sk);
        self.pin(Pin::new("the begin of the first send", r.start_ns, &CALL).by(r.pid));
        self.pin(Pin::new("the end of the last send", r.sent_ns, &SENT).by(r.pid).of(sk));
        let moments = [
            (r.ready_ns, "the arrival of the first answer", &ARRIVED),
            (r.read_ns, "its read", &READ),
            (r.last_read_ns.filter(|t| Some(*t) != r.read_ns), "the last read", &READ),
        ];
        for (at, what, names) in moments {
            if let Some(at) = at {
                self.pin(Pin::new(what, at, names).of(sk));
            }
        }
        self.turn_end(r, sk);
        let until = r.last_read_ns.unwrap_or(r.end_ns).max(r.end_ns);
        self.wanted.sockets.extend(sk.map(|sk| (sk, r.start_ns, until)));
        self.wanted.tasks.push((r.pid, r.start_ns, r.end_ns));
        self.related.push(Id::new(Kind::UdpSocket, r.socket));
        self.related.extend(r.again.map(|at| Id::new(Kind::UdpTurn, at)));
        match r.skb_id {
            None => self.notes.push("which packet it was is not known".into()),
            Some(skb) => {
                self.wanted.skbs_within.push((skb, r.start_ns, until));
                self.related.push(Id::new(Kind::Tx, skb.0));
                let came = f.rx.iter().any(|x| x.skb_id == skb);
                self.related.extend(came.then(|| Id::new(Kind::Rx, skb.0)));
                let drops = places(&f.drops, |d| d.skb_id == Some(skb));
                self.related
                    .extend(drops.iter().map(|at| Id::new(Kind::Drop, *at as u32)));
            }
        }
        self.related.extend(r.there.map(|at| Id::new(Kind::UdpSocket, at)));
        if let Some(t) = reply.and_then(|at| f.udp_turns.get(at)) {
            self.related.extend(reply.map(|at| Id::new(Kind::UdpTurn, at as u32)));
            self.pin(Pin::new("the begin of the send of the answer", t.start_ns, &CALL).by(t.pid));
            if let Some(there) = f.udp_sockets.get(t.socket as usize) {
                self.wanted.sockets.push((there.sk, r.start_ns, t.sent_ns));
            }
            if let Some(skb) = t.skb_id {
                self.wanted.skbs_within.push((skb, t.start_ns, until));
            }
        }
        Some(())
    }

    /// The event that ended a turn.
    fn turn_end(&mut self, r: &TurnRow, sk: Option<u64>) {
        let note = match r.end {
            // Its read.
            TurnEnd::Answered => return,
            TurnEnd::Refused => {
                let end = Pin::new("the call that gave the error", r.end_ns, &REFUSED);
                return self.pin(end.of(sk));
            }
            TurnEnd::AskedAgain => {
                let end = Pin::new("the begin of the next send", r.end_ns, &CALL);
                return self.pin(end.by(r.pid).of(sk));
            }
            TurnEnd::OtherThread => {
                return self.pin(Pin::new("the begin of the other thread's send", r.end_ns, &CALL).of(sk));
            }
            TurnEnd::Closed => return self.pin(Pin::new("the close of the socket", r.end_ns, &CLOSED)),
            TurnEnd::Lost => "events were lost at its end: no event tells what came then",
            TurnEnd::RecordingEnd => "the recording ended: no event ends it",
        };
        self.notes.push(note.into());
    }

    pub(super) fn udp_socket(&mut self, n: usize) -> Option<()> {
        let f = self.facts;
        let s = f.udp_sockets.get(n)?;
        let who = match thread(&s.task, s.pid) {
            none if none.is_empty() => match thread(&s.holder_task, s.holder) {
                none if none.is_empty() => "nobody that is known".into(),
                holder => format!("{holder}, by a snapshot"),
            },
            who => who,
        };
        let or = |of: &str| {
            if of.is_empty() {
                "not known".to_owned()
            } else {
                of.to_owned()
            }
        };
        self.summary = format!(
            "UDP socket of {who} (address {}, peer {}): {} sent, {} arrived, {} read, {} unread; confidence {}.",
            or(&s.local),
            or(&s.remote),
            counted(s.sent, "datagram", "datagrams"),
            s.arrived,
            s.received,
            s.unread,
            s.confidence.word()
        );
        self.rows.extend(rows(f, "udp_sockets", &[n]));
        self.wanted.since = s.first_ns;
        self.wanted.sockets.push((s.sk, s.first_ns, s.last_ns));
        let turns = places(&f.udp_turns, |t| t.socket as usize == n);
        self.related
            .extend(turns.iter().take(RELATED).map(|at| Id::new(Kind::UdpTurn, *at as u32)));
        if turns.len() > RELATED {
            let more = turns.len() - RELATED;
            self.notes.push(format!(
                "{more} more of its turns are not named here: netmortem show udp_turns INPUT --filter socket={n}"
            ));
        }
        let twice = f.udp_copies.iter().filter(|c| c.socket as usize == n);
        let twice = twice.take(RELATED).flat_map(|c| [c.skb_id, c.copy]);
        self.related.extend(twice.map(|skb| Id::new(Kind::Skb, skb.0)));
        Some(())
    }
}

/// What came of a turn, in words.
fn came(r: &TurnRow) -> String {
    let after = |at: i64| duration(at.saturating_sub(r.start_ns));
    match (r.end, r.ready_ns) {
        (TurnEnd::Answered, Some(at)) => format!(
            "an answer came after {}, read after {}",
            after(at),
            r.read_ns.map_or_else(|| "an unknown time".into(), after)
        ),
        (TurnEnd::Answered, None) => format!(
            "answered (when that arrived is not known), read after {}",
            after(r.end_ns)
        ),
        (TurnEnd::Refused, _) => format!("refused after {}", after(r.end_ns)),
        (end, ready) => format!(
            "{}, {} after {}",
            if ready.is_some() {
                "what came was not read"
            } else {
                "nothing came"
            },
            match end {
                TurnEnd::AskedAgain => "asked again",
                TurnEnd::OtherThread => "another thread sent",
                TurnEnd::Closed => "closed",
                TurnEnd::Lost => "events lost",
                _ => "the recording ended",
            },
            after(r.end_ns)
        ),
    }
}

fn waited(r: &TurnRow) -> String {
    let slept = match (r.waited_ns, r.waited_in.is_empty()) {
        (0, _) => return String::new(),
        (ns, true) => format!("; its thread slept {}", duration(ns)),
        (ns, false) => format!("; its thread slept {}, longest in {}", duration(ns), r.waited_in.text()),
    };
    match r.awaited {
        Awaited::Perhaps => format!("{slept} (whether for this socket no event tells)"),
        _ => slept,
    }
}

/// The turn by which a socket of this recording answered: its first send to the asker's socket after the question was read.
fn reply(f: &Facts, r: &TurnRow) -> Option<usize> {
    let (there, ready) = (r.there?, r.ready_ns?);
    let (_, read) = asked(f, r)?;
    let of = f.udp_turns.iter().enumerate();
    let mut of = of.filter(|(_, t)| t.socket == there && t.there == Some(r.socket));
    of.find(|(_, t)| t.start_ns >= read && t.start_ns <= ready)
        .map(|(at, _)| at)
}

/// Arrival and read of the question.
fn asked(f: &Facts, r: &TurnRow) -> Option<(i64, i64)> {
    let rx = f.rx.iter().find(|x| Some(x.skb_id) == r.skb_id && x.pid != 0)?;
    let (came, read) = (rx.start_ns, rx.start_ns.saturating_add(rx.total_ns));
    (r.start_ns <= came && came <= read).then_some((came, read))
}

fn parts(f: &Facts, r: &TurnRow, reply: Option<usize>) -> Vec<Step> {
    let Some(ready) = r.ready_ns else {
        return stages::chain(r.start_ns, &[("unattributed", NOTHING, r.end_ns)]);
    };
    let mut all = match (reply.and_then(|at| f.udp_turns.get(at)), asked(f, r)) {
        (Some(t), Some((came, read))) => vec![
            ("there", THERE, came),
            ("unread", UNREAD, read),
            ("work", WORK, t.start_ns),
            ("back", BACK, ready),
        ],
        _ => vec![("unattributed", UNTOLD, ready)],
    };
    let until = r.read_ns.unwrap_or(r.end_ns);
    if until > ready {
        all.push(("queued", WAITS, until));
    }
    stages::chain(r.start_ns, &all)
}
