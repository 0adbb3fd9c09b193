//! Deaths: which free ends which life, and what is left at the end.

use super::frees::FreePlace;
use super::identity::Identity;
use super::life::Phase;
use super::tables::{DeathKind, SkbRow};
use super::tracker::Skbs;
use crate::confidence::Confidence;
use crate::ingest::{Event, Severity, StatRow};

impl Skbs<'_> {
    pub(super) fn consume(&mut self, e: &Event<'_>, addr: u64, location: u64) {
        let place = self.frees.place(location);
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

    pub(super) fn free(&mut self, e: &Event<'_>, addr: u64, location: u64, place: FreePlace, kind: DeathKind) {
        let Some(life) = self.open.get(&addr) else {
            self.untracked_frees += 1;
            return;
        };
        let link = super::frees::link(life, place, kind, e.ts);
        let Some(link) = link else {
            self.untracked_frees += 1;
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
            let link = if after_loss { link.min(Confidence::Weak) } else { link };
            self.put(life.row(kind, Some(e.ts), location, link));
        }
    }

    pub(super) fn evict_deferred(&mut self, e: &Event<'_>, addr: u64, location: u64) {
        if let Some(life) = self.open.remove(&addr) {
            self.mark(e, life.id);
            let row = match life.phase {
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
            fclone_distance: self.distance,
            missing: vec![],
            stats: vec![untracked],
        }
    }
}
