//! Deaths: which free ends which life, and what is left at the end.

use rustc_hash::FxHashMap;

use super::frees::FreePlace;
use super::identity::Identity;
use super::life::Phase;
use super::tables::{BirthKind, DeathKind, SkbClass, SkbRow};
use super::tracker::Skbs;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::ingest::{Event, Severity, StatRow};
use crate::name::Name;

/// Families whose sockets are read packets of devices: AF_INET, AF_INET6.
const PACKET_FAMILIES: [u16; 2] = [2, 10];
/// Copies of one read at most.
const COPIES: usize = 65_536;

/// A copy, and the life it was taken for as it was before.
pub(super) struct CopyOf {
    addr: u64,
    id: SkbId,
    phase: Phase,
    last: (i64, u16),
    index: u32,
}

/// Copies by thread, until its sock_recv_length names the socket's family.
pub(super) type Copies = FxHashMap<i32, Vec<CopyOf>>;

impl Skbs<'_> {
    /// `skb_copy_datagram_iovec`: of a unix or netlink socket too, as its sock_recv_length tells afterwards.
    pub(super) fn copy(&mut self, e: &Event<'_>, addr: u64) {
        let Some(l) = self.open.get(&addr) else { return };
        if !matches!(l.phase, Phase::TcpData | Phase::Copied | Phase::Received) {
            return;
        }
        let (id, phase, last, index) = (l.id, l.phase, (l.last_ns, l.last_cpu), e.index);
        let of = self.copied.entry(e.pid).or_default();
        if of.len() >= COPIES {
            of.clear(); // sock_recv_length is not recorded
        }
        of.push(CopyOf {
            addr,
            id,
            phase,
            last,
            index,
        });
        self.touch(e, addr, Phase::Copied, Confidence::Certain);
    }

    /// `sock_recv_length`: copies for a socket of no device's packets were of re-used addresses, whose lives had ended.
    pub(super) fn copied_for(&mut self, pid: i32, family: u16) {
        let Some(copies) = self.copied.remove(&pid) else { return };
        if PACKET_FAMILIES.contains(&family) {
            return;
        }
        for c in copies.into_iter().rev() {
            self.undo(&c);
            if self.open.get(&c.addr).is_some_and(|l| l.id == c.id) {
                self.evict(c.addr, false);
            }
        }
    }

    /// The copy was of another skb at the same address.
    fn undo(&mut self, c: &CopyOf) {
        if let Some(slot) = self.ids.get_mut(c.index as usize) {
            *slot = u32::MAX;
        }
        if let Some(l) = self.open.get_mut(&c.addr).filter(|l| l.id == c.id) {
            (l.phase, (l.last_ns, l.last_cpu)) = (c.phase, c.last);
        }
    }

    /// A reader frees an skb of a unix or netlink socket right after it copied it, before its sock_recv_length.
    fn undo_copies_of(&mut self, pid: i32, addr: u64) {
        let Some(copies) = self.copied.get_mut(&pid) else {
            return;
        };
        let of = copies.extract_if(.., |c| c.addr == addr).collect::<Vec<_>>();
        for c in of.iter().rev() {
            self.undo(c);
        }
    }

    /// How a life begins whose first event is not its first: near the recording's start, or a loss, it may be older.
    pub(super) fn first_sight(&self, e: &Event<'_>) -> BirthKind {
        if e.ts < self.horizon {
            BirthKind::CensoredStart
        } else {
            BirthKind::Seen
        }
    }

    pub(super) fn consume(&mut self, e: &Event<'_>, addr: u64, location: u64) {
        let place = self.frees.place(location);
        if place == FreePlace::Tap {
            return self.tapped(e, addr, location);
        }
        let kind = if place == FreePlace::Segmenter {
            DeathKind::Segmented
        } else {
            DeathKind::Consumed
        };
        self.free(e, addr, location, place, kind);
    }

    pub(super) fn kfree(&mut self, e: &Event<'_>, addr: u64, location: u64, protocol: u16) {
        // protocol 0: unix, netlink, vsock; such an skb is none of the lives that packets open.
        let place = match protocol {
            0 => FreePlace::Elsewhere,
            _ => self.frees.place(location),
        };
        self.free(e, addr, location, place, DeathKind::Dropped);
    }

    /// A packet capture lets go: of the last reference to a received packet, or of its own copy of a frame being sent,
    /// whose birth no event told.
    fn tapped(&mut self, e: &Event<'_>, addr: u64, location: u64) {
        let open = self.open.get(&addr);
        let received = open.is_some_and(|l| l.phase == Phase::Received && self.still(e, l));
        if received {
            return self.free(e, addr, location, FreePlace::Network, DeathKind::Consumed);
        }
        let unnamed = (Name::default(), None);
        self.birth(e, addr, SkbClass::Tap, Phase::TxQueued, BirthKind::Inferred, unnamed);
        if let Some(life) = self.open.remove(&addr) {
            self.put(life.row(DeathKind::Consumed, Some(e.ts), location, Confidence::Certain));
        }
    }

    pub(super) fn free(&mut self, e: &Event<'_>, addr: u64, location: u64, place: FreePlace, kind: DeathKind) {
        let Some(life) = self.open.get(&addr) else {
            self.untracked_frees += 1;
            return;
        };
        let link = super::frees::link(life, place, kind, e.ts, self.probe_names_skb);
        let Some(link) = link else {
            self.untracked_frees += 1;
            if place == FreePlace::Elsewhere {
                self.undo_copies_of(e.pid, addr);
            }
            self.evict(addr, false);
            return;
        };
        let after_loss = life.last_ns < self.barrier;
        // What TCP and its readers were done with goes back to the CPU that allocated it, some time later: the memory
        // lives until then, the packet does not.
        if place == FreePlace::Deferred && life.phase >= Phase::TcpDone {
            self.evict_deferred(e, addr, location);
            return;
        }
        if let Some(life) = self.open.remove(&addr) {
            let id = life.id;
            self.mark(e, id);
            let sent = life.phase == Phase::TxStarted && kind == DeathKind::Consumed;
            if sent && self.devices.of_a_program(life.last_dev) {
                self.programs.took(e, life.last_dev, life.last_len.unwrap_or(0));
            }
            let link = if after_loss { link.min(Confidence::Weak) } else { link };
            if kind == DeathKind::Dropped && life.phase == Phase::TxQueued {
                self.refused(e, addr, id, life.last_dev);
            }
            self.put(life.row(kind, Some(e.ts), location, link));
        }
    }

    pub(super) fn evict_deferred(&mut self, e: &Event<'_>, addr: u64, location: u64) {
        if let Some(life) = self.open.remove(&addr) {
            self.mark(e, life.id);
            let row = match life.phase {
                _ if life.last_ns < self.barrier => life.row(DeathKind::Lost, None, location, Confidence::Unknown),
                Phase::TcpData => life.row(DeathKind::Deferred, None, location, Confidence::Certain),
                _ => SkbRow {
                    death_location: location,
                    ..life.end_silently(false)
                },
            };
            self.put(row);
        }
    }

    pub(super) fn finish(mut self) -> Identity {
        let rest: Vec<u64> = self.open.keys().copied().collect();
        for addr in rest {
            self.evict(addr, true);
        }
        let untracked = StatRow {
            name: "untracked_frees",
            value: self.untracked_frees,
            severity: Severity::Info,
            advice: "frees of skbs that no network event introduced (unix, netlink, tap clones); they end no life",
        };
        Identity {
            ids: self.ids,
            // Every life is put when it ends, so none is missing here.
            lives: self.rows.into_iter().flatten().collect(),
            hops: self.hops,
            fclone_distance: self.layout.distance,
            hashed: self.layout.hashed,
            clones: self.clones,
            reborn: self.reborn,
            missing: vec![],
            stats: vec![untracked],
            programs: self.programs.finish(),
            reinjected: self.verdicts.rows,
            pauses: self.verdicts.pauses,
            forwarded: self.forwards.all(),
        }
    }
}
