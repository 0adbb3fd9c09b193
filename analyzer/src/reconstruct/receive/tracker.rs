//! The machine's state, and how a unit leaves it.

use std::collections::VecDeque;

use netmortem_formats::kallsyms::Kallsyms;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::acks::Acks;
use super::aside::Look;
use super::cpu::CpuState;
use super::fifo::{Fifo, StreamBytes};
use super::first::Headers;
use super::ledger::{self, Asks};
use super::progress::Progress;
use super::reads::{Copied, Returning};
use super::tables::{Censored, RxEnd, RxRow};
use super::unit::Key;
use super::units::{UnitId, Units};
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::ingest::{Event, GapRow};
use crate::reconstruct::context::Cpus;
use crate::reconstruct::dispatch::Tracker;
use crate::reconstruct::skb::Identity;
use crate::reconstruct::skb::tables::BirthKind;
use crate::reconstruct::tcp::Tcp;

/// IPPROTO_TCP and IPPROTO_MPTCP: sockets whose units are claimed by tcp_probe.
pub(super) const TCP_PROTOCOLS: [u16; 2] = [6, 262];

/// An skb whose bytes were read as part of another: `tcp_try_coalesce` had put them there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalesced {
    /// The copy that took its last byte.
    pub ts_ns: i64,
    /// The skb that the copy named.
    pub head: SkbId,
    /// The one coalesced into it.
    pub tail: SkbId,
    /// Its payload.
    pub bytes: u32,
    /// By order of arrival, so strong at most.
    pub confidence: Confidence,
}

/// Bytes that an application read from a TCP socket at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// The socket.
    pub connection: ConnectionId,
    /// When it had them: `sock_recv_length`; where that is not recorded, the last copy.
    pub at_ns: i64,
    /// When the first and the last of them became readable; `None`: they were not seen to arrive.
    pub readable: Option<(i64, i64)>,
    /// Reading thread.
    pub pid: i32,
}

/// A packet that was queued on a socket other than TCP's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queued {
    /// The packet.
    pub skb_id: SkbId,
    /// Address of the socket.
    pub sk: u64,
    /// `sk_data_ready`.
    pub time_ns: i64,
    /// That it is this packet.
    pub confidence: Confidence,
}

/// What the tracker found.
#[derive(Debug, Default)]
pub struct Receive {
    /// View `rx`, by start.
    pub rows: Vec<RxRow>,
    /// Payload that TCP dropped after tcp_probe had counted it, bytes by connection.
    pub dropped_bytes: FxHashMap<ConnectionId, u64>,
    /// Payload that tcp_probe's 16 bits of length do not show, bytes by connection.
    pub unshown_bytes: FxHashMap<ConnectionId, u64>,
    /// Reads of TCP sockets, by time; those of kernel users and splice are not among them.
    pub reads: Vec<Read>,
    /// What was queued on sockets other than TCP's, by time.
    pub queued: Vec<Queued>,
    /// What was coalesced, by time.
    pub coalesced: Vec<Coalesced>,
    /// What arrived and what was read, by connection.
    pub streams: FxHashMap<ConnectionId, StreamBytes>,
    /// Received packets long enough to carry payload that no socket's event named, and no free ended.
    pub unclaimed: u64,
    /// What the capture lacks.
    pub missing: Vec<String>,
}

/// The machine's state.
pub(super) struct Ledger<'f> {
    pub(super) identity: &'f Identity,
    pub(super) tcp: &'f Tcp,
    pub(super) asks: Asks<'f>,
    pub(super) symbols: &'f Kallsyms,
    pub(super) acks: Acks,
    pub(super) cpus: Cpus,
    pub(super) states: Vec<CpuState>,
    pub(super) units: Units,
    /// Units by life, while it lasts.
    pub(super) open: FxHashMap<SkbId, UnitId>,
    /// Size of `open` at which lives that ended silently are looked for.
    pub(super) crowded: usize,
    pub(super) fifos: FxHashMap<Key, Fifo>,
    pub(super) copies: FxHashMap<i32, Vec<Copied>>,
    pub(super) returning: FxHashMap<i32, Returning>,
    pub(super) progress: FxHashMap<i32, Progress>,
    /// Copies that `tcp_rcv_space_adjust` should follow, by thread: of which socket, and the copy unless it was counted.
    pub(super) copying: FxHashMap<i32, (Key, Option<Copied>)>,
    /// Sockets whose copies it followed.
    pub(super) followed: FxHashSet<Key>,
    /// Bytes that a thread's call asked for, where it says.
    pub(super) asked: FxHashMap<i32, u64>,
    /// Datagrams freed by a thread inside its call.
    pub(super) consumed: FxHashMap<i32, (UnitId, i64)>,
    /// Whether a free location is the end of a datagram's read.
    pub(super) consume_udp: FxHashMap<u64, bool>,
    /// Units whose burst is over and that nothing claimed, in order of arrival.
    pub(super) aside: VecDeque<UnitId>,
    /// What sockets' packets look like.
    pub(super) looks: FxHashMap<ConnectionId, Look>,
    /// When what sockets processed last was received.
    pub(super) through: FxHashMap<ConnectionId, i64>,
    /// Units taken for read because a later one was, on kernels that do not say which were held.
    pub(super) passed: Vec<(UnitId, u32)>,
    /// Events were lost: sockets may hold what was not seen to arrive.
    pub(super) after_gap: bool,
    /// Largest headers of segments that were processed as they came, bytes.
    pub(super) headers: FxHashMap<ConnectionId, u32>,
    /// Of segments with data of all sockets.
    pub(super) any_header: Headers,
    /// Until then events of some CPU are missing: what a unit's read or arrival was, they could tell otherwise.
    pub(super) lost_until: i64,
    /// The event at hand, ns.
    pub(super) now: i64,
    /// The last of the recording, ns.
    pub(super) end_ns: i64,
    /// What ends the wait of the units being written unread, and when.
    pub(super) cut: Option<(Censored, i64)>,
    pub(super) probe_at: usize,
    pub(super) has_ready: bool,
    pub(super) has_length: bool,
    pub(super) has_probe: bool,
    /// softirq_entry and softirq_exit are recorded.
    pub(super) has_softirq: bool,
    pub(super) out: Receive,
}

/// Longer than a softirq run lasts (net.core.netdev_budget_usecs), where its end is not recorded.
pub(super) const RUN_NS: i64 = 20_000_000;

/// `open` is looked through when it has doubled, but not below this.
pub(super) const CROWDED: usize = 1024;

impl Tracker for Ledger<'_> {
    fn gap(&mut self, gap: &GapRow) {
        // Reads and arrivals may be missing: what waits is no longer known to wait, what is in flight no longer to be so.
        self.lost_until = self.lost_until.max(gap.end_ns.unwrap_or(i64::MAX));
        let began = gap.start_ns.unwrap_or(self.now).min(self.now);
        self.flush_queued(Some(began));
        self.flush_returning();
        self.after_gap = true;
        self.open.clear();
        self.units.clear();
        self.aside.clear();
        self.copies.clear();
        self.progress.clear();
        self.copying.clear();
        self.asked.clear();
        self.consumed.clear();
        self.states.clear();
        self.cpus.at(gap.cpu as u16).forget();
    }
}

impl Ledger<'_> {
    pub(super) fn state(&mut self, cpu: u16) -> &mut CpuState {
        let at = usize::from(cpu);
        if self.states.len() <= at {
            self.states.resize_with(at + 1, CpuState::default);
        }
        &mut self.states[at]
    }

    pub(super) fn unit_of(&self, e: &Event<'_>) -> Option<UnitId> {
        self.open.get(&self.identity.of(e.index)?).copied()
    }

    /// The queue of a socket.
    pub(super) fn fifo(&mut self, key: Key) -> &mut Fifo {
        let aligned = !self.after_gap;
        self.fifos.entry(key).or_insert_with(|| Fifo::new(aligned))
    }

    /// A unit's life is over: nothing names it any more.
    pub(super) fn close(&mut self, id: UnitId) {
        if let Some(u) = self.units.get_mut(id) {
            u.unclaimed = false;
            u.open = false;
            // A socket has it: its row is still to be written.
            if u.done || u.key.is_none() {
                self.units.remove(id);
            }
        }
    }

    /// Most TCP skbs die without an event: their lives say when nothing names them any more.
    pub(super) fn sweep(&mut self, now: i64) {
        if self.open.len() < self.crowded {
            return;
        }
        // Nothing names a datagram between its arrival and its announcement, which come in one softirq run.
        let before = now.saturating_sub(RUN_NS);
        let over = |id: &SkbId| self.identity.life(*id).is_none_or(|l| l.last_ns < before);
        let ended: Vec<(SkbId, UnitId)> = self.open.iter().filter(|o| over(o.0)).map(|o| (*o.0, *o.1)).collect();
        for (skb, unit) in ended {
            // What is being processed is not over, however long its CPU was held up.
            if self
                .units
                .get(unit)
                .is_some_and(|u| u.unclaimed && !u.aside && self.cpus.in_run(u.cpu, u.recv_softirq))
            {
                continue;
            }
            self.open.remove(&skb);
            self.lapse(unit);
        }
        self.crowded = (2 * self.open.len()).max(CROWDED);
    }

    /// Writes a unit's row.
    pub(super) fn emit(&mut self, id: UnitId, end: RxEnd, link: Confidence) {
        for tail in self.tails(id) {
            self.emit(tail, end, link);
        }
        let Some(u) = self.units.get_mut(id) else { return };
        u.link(link);
        if u.start < self.lost_until {
            u.link(Confidence::Weak);
        }
        let mut censored = None;
        if let Some(life) = self.identity.life(u.skb) {
            u.link(life.links);
            let cut = life.birth_kind == BirthKind::CensoredStart && life.birth_ns == u.start;
            censored = cut.then_some(Censored::Start);
        }
        let mut row = ledger::row(u, end, &self.asks);
        row.at_least_ns = censored.map(|_| row.total_ns);
        row.censored = censored;
        if let (RxEnd::Queued, Some((why, at))) = (end, self.cut) {
            row.censored = Some(why);
            row.at_least_ns = Some(
                at.max(row.start_ns.wrapping_add(row.total_ns))
                    .wrapping_sub(row.start_ns),
            );
        }
        self.out.rows.push(row);
        u.done = true;
        if end == RxEnd::Protocol {
            self.open.remove(&u.skb);
            u.open = false;
        }
        if !u.open {
            self.units.remove(id);
        }
    }

    /// What waits in sockets is written as it is: at the end of the recording, or where events are `lost` from a time on.
    pub(super) fn flush_queued(&mut self, lost: Option<i64>) {
        let mut waiting: Vec<(UnitId, Confidence)> = vec![];
        for (key, fifo) in std::mem::take(&mut self.fifos) {
            let (units, bytes) = fifo.drain(&self.units);
            waiting.extend(units);
            if let Key::Tcp(c) = key {
                let of = self.out.streams.entry(c).or_default();
                *of = StreamBytes {
                    arrived: of.arrived + bytes.arrived,
                    taken: of.taken + bytes.taken,
                    dropped: of.dropped + bytes.dropped,
                    waiting: of.waiting + bytes.waiting,
                    strange: of.strange + bytes.strange,
                    copied: of.copied + bytes.copied,
                    cut: of.cut || bytes.cut || lost.is_some(),
                };
            }
        }
        waiting.sort_unstable();
        for (u, of_queue) in waiting {
            // What a queue holds is not known since a loss: it may have been read in it.
            let (why, link) = match (lost, of_queue) {
                (Some(_), _) => (Censored::Loss, Confidence::Unknown),
                (None, Confidence::Unknown) => (Censored::Loss, of_queue),
                (None, _) => (Censored::End, of_queue),
            };
            let at = match (lost, why) {
                (Some(at), _) => at,
                (None, Censored::End) => self.end_ns,
                (None, _) => i64::MIN,
            };
            self.cut = Some((why, at));
            self.emit(u, RxEnd::Queued, link);
        }
        self.cut = None;
    }

    pub(super) fn finish(mut self) -> Receive {
        self.flush_progress();
        let passed = std::mem::take(&mut self.passed);
        self.flush_returning();
        self.flush_queued(None);
        self.unread(passed);
        self.give_up_all();
        // Almost in order: the rows themselves are moved but once.
        self.out.rows.par_sort_by_cached_key(|r| (r.start_ns, r.skb_id));
        self.out
    }
}
