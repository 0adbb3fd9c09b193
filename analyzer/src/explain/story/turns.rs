//! A response and a turnaround: what one socket sent and read, and the other end's part.

use super::{Id, Kind, Pin, Story, places};
use crate::analyses::tcp::label;
use crate::analyses::verdict::{counted, duration};
use crate::explain::rows::rows;
use crate::explain::stages::{self, Step};
use crate::facts::ConnectionId;
use crate::name::Name;
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};
use crate::reconstruct::receive::tables::RxEnd;

/// Begin of a send: the call; where that was not seen, its last round.
pub(super) const SENDS: [&str; 3] = ["sys_enter_*", "tcp_sendmsg_locked", "sock_send_length"];
/// What makes bytes readable: the announcement, or the arrival or release of a segment of which no announcement was seen.
const READABLE: [&str; 4] = [
    "sk_data_ready",
    "tcp_probe",
    "netif_receive_skb*",
    "tcp_rcv_space_adjust",
];
/// A read: its length, or its last copy.
const READS: [&str; 2] = ["sock_recv_length", "skb_copy_datagram_iovec"];
/// Packets of one side that are listed with all their events.
const PACKETS: usize = 4;
/// Packets whose ids lead on.
const RELATED: usize = 10;

const THERE: &str = "send call here to request readable at the peer: both stacks and the network";
const PEER: &str = "the peer's application: its turnaround";
const BACK: &str = "the peer's send call to answer readable here";
const UNTOLD: &str = "from send to readable: no turnaround of the peer's socket lies in it, so no event tells more";

/// A thread in words; empty where it is not known.
pub(super) fn thread(task: &Name, pid: i32) -> String {
    match (task.is_empty(), pid) {
        (_, 0) => String::new(),
        (true, pid) => format!("thread {pid}"),
        (false, pid) => format!("{} (thread {pid})", task.text()),
    }
}

/// ` by NAME (thread 12)`.
pub(super) fn by(task: &Name, pid: i32) -> String {
    match thread(task, pid) {
        none if none.is_empty() => none,
        who => format!(" by {who}"),
    }
}

impl Story<'_, '_> {
    /// Address of a socket; `None` where no event named it.
    pub(super) fn sk(&self, c: ConnectionId) -> Option<u64> {
        let row = self.facts.connections.get(c.0 as usize)?;
        (row.skaddr != 0).then_some(row.skaddr)
    }

    pub(super) fn label(&self, c: ConnectionId) -> String {
        let row = self.facts.connections.get(c.0 as usize);
        row.map_or_else(|| format!("connection {}", c.0), label)
    }

    /// All events that name a connection's socket in an interval.
    pub(super) fn socket_in(&mut self, c: ConnectionId, from: i64, to: i64) {
        let sk = self.sk(c);
        self.wanted.sockets.extend(sk.map(|sk| (sk, from, to)));
    }

    /// Packets that a connection sent from calls that began in an interval: ids, and the first ones' events.
    fn sent_in(&mut self, c: ConnectionId, from: i64, to: i64) {
        let f = self.facts;
        let sent = (f.tx.iter()).filter(|t| t.connection == Some(c) && (from..=to).contains(&t.start_ns));
        for (nth, t) in sent.take(RELATED).enumerate() {
            self.related.push(Id::new(Kind::Tx, t.skb_id.0));
            if nth < PACKETS {
                let family = [Some(t.skb_id), t.original].into_iter().flatten();
                self.wanted.skbs_within.extend(family.map(|s| (s, from, t.t_sched_ns)));
            }
        }
    }

    /// Packets read on a connection that were readable first or last at these times: on the way then, or waiting for their read.
    fn read_with(&mut self, c: ConnectionId, from: i64, (first, last): (i64, i64)) {
        let f = self.facts;
        let over = |t: i64, r: &crate::reconstruct::receive::tables::RxRow| {
            (r.start_ns..=r.start_ns.saturating_add(r.total_ns)).contains(&t)
        };
        let read = f.rx.iter().filter(|r| r.connection == Some(c) && r.end == RxEnd::Read);
        let own = read.filter(|r| r.start_ns >= from && (over(first, r) || over(last, r)));
        for (nth, r) in own.take(RELATED).enumerate() {
            self.related.push(Id::new(Kind::Rx, r.skb_id.0));
            if nth < PACKETS {
                let end = r.start_ns.saturating_add(r.total_ns);
                // From the peer's device on, where that is in the recording.
                self.wanted.skbs_within.push((r.skb_id, from, end));
            }
        }
    }

    /// The thread that sent from a call.
    fn sender(&self, c: ConnectionId, at: i64) -> i32 {
        let mut sent = self.facts.tx.iter();
        sent.find(|t| t.connection == Some(c) && t.start_ns == at)
            .map_or(0, |t| t.pid)
    }

    pub(super) fn response(&mut self, n: usize) -> Option<()> {
        let f = self.facts;
        let r = f.responses.get(n)?;
        let theirs = peers_turn(&f.turnarounds, r);
        let steps = parts(r);
        let took = match (r.overlap, r.response_ns()) {
            (true, _) => "its first byte was readable before the send began: it is no answer to it".to_owned(),
            (false, Some(ns)) => format!(
                "{} from the begin of the send to its first byte readable{}",
                duration(ns),
                whose(r)
            ),
            (false, None) => "when it became readable was not seen".to_owned(),
        };
        let whole = r.whole_ns().filter(|w| !r.overlap && Some(*w) != r.response_ns());
        let whole = whole.map_or_else(String::new, |ns| format!(", {} to its last", duration(ns)));
        self.summary = format!(
            "What came after {} on {}, read{} in {}: {took}{whole}; confidence {}.",
            counted(r.sends.into(), "send", "sends"),
            self.label(r.connection),
            by(&r.task, r.pid),
            counted(r.reads.into(), "read", "reads"),
            r.confidence.word()
        );
        self.rows.extend(rows(f, "responses", &[n]));
        self.parts((r.send_ns, steps), r.confidence.word());
        let first = r.send_ns.saturating_sub(r.sending_ns);
        let last = r.complete_ns.unwrap_or(r.read_ns).max(r.read_ns);
        self.wanted.since = r.send_ns;
        let sender = self.sender(r.connection, r.send_ns);
        let sk = self.sk(r.connection);
        if first != r.send_ns {
            self.pin(Pin::new("the begin of the first send", first, &SENDS).of(sk));
        }
        self.pin(Pin::new("the begin of the send", r.send_ns, &SENDS).by(sender).of(sk));
        self.readable(r.ready_ns, "when its first byte was readable", sk);
        if r.complete_ns != r.ready_ns {
            self.readable(r.complete_ns, "when its last byte was readable", sk);
        }
        self.pin(Pin::new("its first read", r.read_ns, &READS).by(r.pid).of(sk));
        self.socket_in(r.connection, first.min(r.ready_ns.unwrap_or(first)), last);
        self.wanted.tasks.push((r.pid, r.send_ns, r.read_ns));
        self.sent_in(r.connection, first, r.send_ns);
        let ready = r.ready_ns.unwrap_or(r.read_ns);
        self.read_with(r.connection, r.send_ns, (ready, r.complete_ns.unwrap_or(ready)));
        self.related.push(Id::new(Kind::Conn, r.connection.0));
        match (r.peer, theirs) {
            (Some(p), Some(at)) => {
                self.rows.extend(rows(f, "turnarounds", &[at]));
                self.related.push(Id::new(Kind::Turnaround, at as u32));
                self.related.push(Id::new(Kind::Conn, p.connection.0));
                if let Some(t) = f.turnarounds.get(at) {
                    self.turn_of(t);
                }
            }
            _ if r.overlap => {}
            _ => self.notes.push(
                "the peer's part is not known: its socket is not in this recording, or not one turnaround of it lies in that time".into(),
            ),
        }
        Some(())
    }

    fn readable(&mut self, at: Option<i64>, what: &'static str, sk: Option<u64>) {
        match at {
            Some(at) => self.pin(Pin::new(what, at, &READABLE).of(sk)),
            None => self
                .notes
                .push(format!("{what} is not known: it was not seen to arrive")),
        }
    }

    /// The events of a turnaround.
    fn turn_of(&mut self, t: &TurnaroundRow) {
        let sk = self.sk(t.connection);
        self.readable(t.ready_ns, "when the last byte of the request was readable", sk);
        let read = Pin::new("the last read of the request", t.read_ns, &READS);
        self.pin(read.by(t.pid).of(sk));
        let send = Pin::new("the begin of the send that followed", t.send_ns, &SENDS);
        self.pin(send.by(t.sender_pid).of(sk));
        self.socket_in(t.connection, t.start_ns(), t.send_ns);
        self.wanted.tasks.push((t.pid, t.start_ns(), t.read_ns));
        self.wanted.tasks.push((t.sender_pid, t.read_ns, t.send_ns));
    }

    pub(super) fn turnaround(&mut self, n: usize) -> Option<()> {
        let f = self.facts;
        let r = f.turnarounds.get(n)?;
        let asleep = match r.asleep_in.is_empty() || r.asleep_in_ns.saturating_mul(2) < r.total_ns() {
            true => String::new(),
            false => format!(
                "; longest asleep in {} ({})",
                r.asleep_in.text(),
                duration(r.asleep_in_ns)
            ),
        };
        let sender = match r.pid == r.sender_pid {
            true => String::new(),
            false => format!(", sent{}", by(&r.sender, r.sender_pid)),
        };
        let steps = stages::states(r);
        self.summary = format!(
            "Turnaround on {}, read{} in {}{sender}: {} from {} to the begin of the send that followed; {}confidence {}{asleep}.",
            self.label(r.connection),
            by(&r.task, r.pid),
            counted(r.reads.into(), "read", "reads"),
            duration(r.total_ns()),
            match r.ready_ns {
                Some(_) => "the last byte of the request readable",
                None => "the last read (when it became readable was not seen)",
            },
            super::ledgers::most(&steps),
            r.confidence.word(),
        );
        if r.overlap {
            self.notes
                .push("what was read next was readable before the send: requests were not answered one by one".into());
        }
        self.rows.extend(rows(f, "turnarounds", &[n]));
        self.parts((r.start_ns(), steps), r.confidence.word());
        self.wanted.since = r.start_ns();
        self.turn_of(r);
        self.sent_in(r.connection, r.send_ns, r.send_ns);
        self.read_with(r.connection, i64::MIN, (r.start_ns(), r.start_ns()));
        self.related.push(Id::new(Kind::Conn, r.connection.0));
        let of = places(&f.responses, |x| is_peers(x, r));
        self.related
            .extend(of.iter().map(|at| Id::new(Kind::Response, *at as u32)));
        Some(())
    }
}

/// The parts of a response that is an answer, and was seen to arrive.
fn parts(r: &ResponseRow) -> Vec<Step> {
    let Some(ready) = r.ready_ns.filter(|_| !r.overlap) else {
        return vec![];
    };
    match r.peer {
        None => stages::chain(r.send_ns, &[("unattributed", UNTOLD, ready)]),
        Some(p) => {
            let asked = r.send_ns.wrapping_add(p.there_ns);
            let answered = asked.wrapping_add(p.turnaround_ns);
            stages::chain(
                r.send_ns,
                &[("there", THERE, asked), ("peer", PEER, answered), ("back", BACK, ready)],
            )
        }
    }
}

/// ` (peer 5 ms, the ways 0.1 ms)`
fn whose(r: &ResponseRow) -> String {
    r.peer.map_or_else(String::new, |p| {
        format!(
            " ({} there, {} in the peer's application, {} back)",
            duration(p.there_ns),
            duration(p.turnaround_ns),
            duration(p.back_ns)
        )
    })
}

/// Whether a turnaround is the one that lies in a response.
fn is_peers(r: &ResponseRow, t: &TurnaroundRow) -> bool {
    r.peer.is_some_and(|p| {
        let asked = r.send_ns.wrapping_add(p.there_ns);
        p.connection == t.connection && t.start_ns() == asked && t.total_ns() == p.turnaround_ns
    })
}

fn peers_turn(all: &[TurnaroundRow], r: &ResponseRow) -> Option<usize> {
    all.iter().position(|t| is_peers(r, t))
}
