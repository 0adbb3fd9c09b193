//! The rows: reads and sends of a socket in order of time, and the turns between them.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::tables::{AsleepOn, Peer, ResponseRow, TurnaroundRow};
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::receive::Read;
use crate::reconstruct::tcp::Sockets;
use crate::reconstruct::thread::{Slept, Split, Threads};
use crate::reconstruct::transmit::Send;

/// What it is computed from.
pub struct Inputs<'f> {
    /// Reads.
    pub reads: &'f [Read],
    /// Sends.
    pub sends: &'f [Send],
    /// Sockets.
    pub sockets: &'f Sockets,
    /// What threads did.
    pub threads: &'f Threads,
    /// What they are called.
    pub comms: &'f Comms,
    /// Process and name of each, by the snapshots.
    pub processes: &'f FxHashMap<i32, (i32, Name)>,
    /// Process that listens at a port, by the same.
    pub listening: &'f FxHashMap<u16, i32>,
    /// Times in which events were lost.
    pub lost: &'f Lost,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Application {
    /// View `turnarounds`, by socket and time.
    pub turnarounds: Vec<TurnaroundRow>,
    /// View `responses`, by socket and time.
    pub responses: Vec<ResponseRow>,
}

/// One socket's reads and sends.
#[derive(Default)]
struct Of<'f> {
    reads: Vec<&'f Read>,
    sends: Vec<&'f Send>,
}

/// All rows.
pub fn compute(inputs: &Inputs<'_>) -> Application {
    let mut of: FxHashMap<ConnectionId, Of<'_>> = FxHashMap::default();
    for r in inputs.reads {
        of.entry(r.connection).or_default().reads.push(r);
    }
    for s in inputs.sends {
        // A socket that is never read has no turns.
        if let Some(of) = of.get_mut(&s.connection) {
            of.sends.push(s);
        }
    }
    let mut of: Vec<(ConnectionId, Of<'_>)> = of.into_iter().filter(|(_, of)| !of.sends.is_empty()).collect();
    of.sort_unstable_by_key(|o| o.0);
    let mut parts: Vec<Application> = of.into_par_iter().map(|(_, of)| turns(of, inputs)).collect();
    let mut turnarounds: Vec<TurnaroundRow> = parts
        .iter_mut()
        .flat_map(|p| std::mem::take(&mut p.turnarounds))
        .collect();
    let mut responses: Vec<ResponseRow> = parts.into_iter().flat_map(|p| p.responses).collect();
    super::meanwhile::name(&mut turnarounds, inputs);
    pair(&mut responses, &turnarounds, inputs.sockets);
    Application { turnarounds, responses }
}

/// Pauses between sends from which on it is asked what the thread did, ns.
const PAUSE_NS: i64 = 10_000_000;

/// Something at a time.
trait At {
    fn at_ns(&self) -> i64;
}

impl At for Read {
    fn at_ns(&self) -> i64 {
        self.at_ns
    }
}

impl At for Send {
    fn at_ns(&self) -> i64 {
        self.at_ns
    }
}

/// Reads, or sends, without one of the others between them.
#[derive(Clone, Copy)]
struct Run<'f, T> {
    last: &'f T,
    count: u32,
    first_ns: i64,
    /// Longest time from one to the next: begin and end.
    pause: (i64, i64),
}

impl<'f, T: At> Run<'f, T> {
    fn grown(run: Option<Run<'f, T>>, by: &'f T) -> Run<'f, T> {
        let at = by.at_ns();
        let Some(run) = run else {
            return Run {
                last: by,
                count: 1,
                first_ns: at,
                pause: (at, at),
            };
        };
        let long = |p: (i64, i64)| p.1.saturating_sub(p.0);
        let pause = (run.last.at_ns(), at);
        Run {
            last: by,
            count: run.count.saturating_add(1),
            first_ns: run.first_ns,
            pause: if long(pause) > long(run.pause) {
                pause
            } else {
                run.pause
            },
        }
    }
}

/// The rows of one socket. Of a read and a send at one time the read comes first.
fn turns(of: Of<'_>, inputs: &Inputs<'_>) -> Application {
    let Of { mut reads, mut sends } = of;
    reads.sort_by_key(|r| r.at_ns);
    sends.sort_by_key(|s| s.at_ns);
    let mut out = Application::default();
    let (mut reads, mut sends) = (reads.into_iter().peekable(), sends.into_iter().peekable());
    let (mut read, mut sent): (Option<Run<'_, Read>>, Option<Run<'_, Send>>) = (None, None);
    loop {
        let next_is_read = match (reads.peek(), sends.peek()) {
            (None, None) => return out,
            (Some(r), Some(s)) => r.at_ns <= s.at_ns,
            (r, _) => r.is_some(),
        };
        if next_is_read {
            let Some(r) = reads.next() else { continue };
            if let Some(asked) = sent.take() {
                let row = inputs.response(asked, r);
                // The request before the send was not alone.
                if let Some(t) = out.turnarounds.last_mut().filter(|_| row.overlap) {
                    t.overlap = true;
                }
                out.responses.push(row);
                read = None;
            } else if let Some(row) = out.responses.last_mut() {
                // More of the same answer.
                row.complete_ns = r.readable.map(|t| t.1).max(row.complete_ns);
                row.reads = row.reads.saturating_add(1);
            }
            read = Some(Run::grown(read, r));
        } else {
            let Some(s) = sends.next() else { continue };
            if let Some(asked) = read.take() {
                out.turnarounds.push(inputs.turnaround(asked, s));
                sent = None;
            }
            // Where events were lost since the send before, an answer may have come: a request of its own.
            let one = sent.filter(|run| !inputs.lost.within(run.last.at_ns, s.at_ns));
            sent = Some(Run::grown(one, s));
        }
    }
}

impl Inputs<'_> {
    fn turnaround(&self, asked: Run<'_, Read>, s: &Send) -> TurnaroundRow {
        let r = asked.last;
        let ready_ns = r.readable.map(|t| t.1);
        let from = ready_ns.unwrap_or(r.at_ns);
        let unread = self.threads.split(r.pid, from, r.at_ns);
        let think = self.threads.split(s.pid, r.at_ns, s.at_ns);
        let each = [(r.pid, from, r.at_ns), (s.pid, r.at_ns, s.at_ns)];
        let slept = each.map(|(pid, a, b)| self.threads.slept_in(pid, a, b));
        let slept = match slept {
            [Some(a), Some(b)] if a.call == b.call => Slept {
                ns: a.ns.saturating_add(b.ns),
                woken_by: [a.woken_by, b.woken_by].into_iter().flatten().max_by_key(|w| w.1),
                woken_at: match b.woken_by.map(|w| w.1) >= a.woken_by.map(|w| w.1) {
                    true => b.woken_at,
                    false => a.woken_at,
                },
                read: [a.read, b.read].into_iter().flatten().max_by_key(|r| r.ns),
                ..a
            },
            [Some(a), Some(b)] if a.ns > b.ns => a,
            [a, b] => b.or(a).unwrap_or_default(),
        };
        let (woken_by_pid, woken_by_ns) = slept.woken_by.unwrap_or_default();
        let waited = each
            .into_iter()
            .filter_map(|(pid, a, b)| self.threads.ran_instead(pid, a, b));
        let instead = waited.max_by_key(|(_, ns)| *ns);
        let order = match r.pid == s.pid && !self.lost.within(from, s.at_ns) {
            true => Confidence::Strong,
            false => Confidence::Weak,
        };
        TurnaroundRow {
            connection: r.connection,
            pid: r.pid,
            task: self.comms.at(r.pid, r.at_ns),
            sender_pid: s.pid,
            sender: self.comms.at(s.pid, s.at_ns),
            ready_ns,
            read_ns: r.at_ns,
            send_ns: s.at_ns,
            reads: asked.count,
            split: sum(&unread, &think),
            asleep_in: slept.call,
            asleep_in_ns: slept.ns,
            held_ns: each.map(|(pid, a, b)| self.threads.held_in(pid, a, b)).iter().sum(),
            woken_by: match woken_by_pid {
                0 => Name::default(),
                pid => self.comms.at(pid, s.at_ns),
            },
            woken_by_pid,
            woken_by_ns,
            woken_at_ns: slept.woken_at,
            ran_meanwhile: Name::default(),
            ran_meanwhile_pid: 0,
            ran_meanwhile_ns: 0,
            asleep_on: slept.read.and_then(|r| {
                Some(AsleepOn {
                    connection: self.sockets.at(r.sk, r.to)?,
                    from_ns: r.from,
                    to_ns: r.to,
                    ns: r.ns,
                })
            }),
            run_queue_task: instead.map_or_else(Name::default, |(who, _)| self.comms.ran(who, s.at_ns)),
            overlap: false,
            confidence: order.min(s.link),
        }
    }

    fn response(&self, asked: Run<'_, Send>, r: &Read) -> ResponseRow {
        let s = asked.last;
        let ready_ns = r.readable.map(|t| t.0);
        let until = ready_ns.unwrap_or(r.at_ns);
        let order = match self.lost.within(s.at_ns.min(until), until.max(r.at_ns)) {
            true => Confidence::Weak,
            false => Confidence::Strong,
        };
        let (from, to) = asked.pause;
        let pause_ns = to.saturating_sub(from);
        let slept = (pause_ns >= PAUSE_NS).then(|| self.threads.slept_in(s.pid, from, to));
        ResponseRow {
            sending_ns: s.at_ns.saturating_sub(asked.first_ns),
            pause_ns,
            paused_in: slept.flatten().map_or(Name::default(), |s| s.call),
            connection: r.connection,
            pid: r.pid,
            task: self.comms.at(r.pid, r.at_ns),
            send_ns: s.at_ns,
            ready_ns,
            read_ns: r.at_ns,
            complete_ns: r.readable.map(|t| t.1),
            reads: 1,
            sends: asked.count,
            peer: None,
            overlap: ready_ns.is_some_and(|t| t < s.at_ns),
            confidence: order.min(s.link),
        }
    }
}

fn sum(a: &Split, b: &Split) -> Split {
    Split {
        asleep_ns: a.asleep_ns.wrapping_add(b.asleep_ns),
        waking_ns: a.waking_ns.wrapping_add(b.waking_ns),
        idle_exit_ns: a.idle_exit_ns.wrapping_add(b.idle_exit_ns),
        run_queue_ns: a.run_queue_ns.wrapping_add(b.run_queue_ns),
        running_ns: a.running_ns.wrapping_add(b.running_ns),
        unknown_ns: a.unknown_ns.wrapping_add(b.unknown_ns),
    }
}

/// Finds the one turnaround of the peer's socket that lies in each response; several, or none, tell nothing.
fn pair(responses: &mut [ResponseRow], turnarounds: &[TurnaroundRow], sockets: &Sockets) {
    let mut by_socket: FxHashMap<ConnectionId, &[TurnaroundRow]> = FxHashMap::default();
    for of in turnarounds.chunk_by(|a, b| a.connection == b.connection) {
        if let Some(first) = of.first() {
            by_socket.insert(first.connection, of);
        }
    }
    for of in responses.chunk_by_mut(|a, b| a.connection == b.connection) {
        let here = of.first().and_then(|r| sockets.all.get(r.connection.0 as usize));
        let Some(connection) = here.and_then(|s| s.row.peer) else {
            continue;
        };
        let theirs = by_socket.get(&connection).copied().unwrap_or_default();
        for r in of {
            let Some(ready_ns) = r.ready_ns.filter(|_| !r.overlap) else {
                continue;
            };
            let from = theirs.partition_point(|t| t.send_ns < r.send_ns);
            let mut inside = theirs
                .get(from..)
                .unwrap_or_default()
                .iter()
                .take_while(|t| t.send_ns <= ready_ns);
            let (Some(t), None) = (inside.next(), inside.next()) else {
                continue;
            };
            let Some(asked) = t.ready_ns.filter(|at| *at >= r.send_ns && !t.overlap) else {
                continue;
            };
            r.peer = Some(Peer {
                connection,
                there_ns: asked.wrapping_sub(r.send_ns),
                turnaround_ns: t.total_ns(),
                back_ns: ready_ns.wrapping_sub(t.send_ns),
            });
        }
    }
}
